# SPDX-License-Identifier: GPL-2.0
"""What else simulates caches, measured in the same run as faultline sim: the slow model of
tests/reference and, if HYPERSIO says where it is, HyperSIO's hypersio-perf on one trace of HyperSIO's
own records; and cachegrind on a loop of loads."""
import csv
import os
import random
import re
import struct
import subprocess

from measure import FAULTLINE, ROOT, Samples, add, note, run

TENANTS = 1024
PACKETS = 100000
RUN = 1500
RING, DATA, MAILBOX = 0x34800000, 0xbbe00000, 0xf0000000
DATA_PAGES = 32
NEVER = (1 << 64) - 1
CONFIGURATION = """CC
size:1536
assoc:1536
groups:1
IOTLB
size:64
assoc:8
groups:{devtlb}
L2PAGE
size:512
assoc:16
groups:{level2}
L3PAGE
size:1024
assoc:16
groups:{level3}
PREFETCH
size:{prefetch}
assoc:2
histlen:48
"""
PARTITIONS = {"base": {"devtlb": 1, "level2": 1, "level3": 1, "prefetch": 0},
              "hypertrio": {"devtlb": 8, "level2": 32, "level3": 64, "prefetch": 8}}


def record(tenant, address, level):
    mask = NEVER << (3 + 9 * level) & NEVER
    return struct.pack("<IHHQQQQQ", 1, tenant, tenant, address, mask, level, 0, NEVER)


def write_trace(path):
    """Tenants in turn: ring, one of 32 data pages in runs from anywhere, mailbox (figure 8)."""
    draw = random.Random(1)
    start = [draw.randrange(DATA_PAGES * RUN) for _ in range(TENANTS)]
    with open(path, "wb") as file:
        for packet in range(PACKETS):
            turn, tenant = divmod(packet, TENANTS)
            page = (start[tenant] + turn) // RUN % DATA_PAGES
            file.write(record(tenant, RING, 1) + record(tenant, DATA + (page << 21), 2) +
                       record(tenant, MAILBOX, 1))


def faultline(design, trace, scratch):
    output, cpu = run([FAULTLINE, "sim", "-j1", f"--preset={design}", f"--trace={trace}",
                       "--set=trace.as_recorded=yes", "--csv=-", "--table=results"], scratch)
    row = next(csv.DictReader(output.splitlines()))
    return cpu, tuple(int(row[column]) for column in ("translations", "time_ps", "drops"))


def slow_model(design, trace, scratch):
    output, cpu = run([f"{ROOT}/build/bench/slow_model_bench", design, trace], scratch)
    return cpu, tuple(map(int, output.split()))


def hypersio(design, trace, scratch):
    """HyperSIO finds its traces by an environment variable and their names."""
    home = f"{scratch}/hypersio"
    traces = f"{home}/build/hypersio_traces"
    os.makedirs(traces, exist_ok=True)
    for name in ("cc_data", "slpt_data"):
        with open(f"{traces}/bench_{name}.bin", "wb"):
            pass
    if not os.path.exists(f"{traces}/bench_iotlb_trace.bin"):
        os.symlink(trace, f"{traces}/bench_iotlb_trace.bin")
    with open(f"{home}/{design}.cfg", "w", encoding="ascii") as file:
        file.write(CONFIGURATION.format(**PARTITIONS[design]))
    command = [os.path.abspath(os.environ["HYPERSIO"]), "--run", "--config", f"{home}/{design}.cfg", "--prefix",
               "bench", "--tqueue", "32" if design == "hypertrio" else "1", "--tenantnum",
               str(TENANTS), "--iotlbrepl", "lfu", "--linkbwgbps", "200"]
    output, cpu = run(["env", f"HYPERSIO_HOME={home}", *command], scratch)
    # It leaves with 0 whatever went wrong.
    translated = re.search(r"^Requests translated: +(\d+)$", output, re.M)
    if not translated or int(translated[1]) != PACKETS * 3:
        raise RuntimeError(f"{command[0]} did not translate the {PACKETS * 3} requests")
    return cpu, None


def bench_recorded(scratch):
    """One trace of HyperSIO's records; whole processes, reading included."""
    trace = f"{scratch}/hypersio.trace"
    write_trace(trace)
    simulators = {"faultline": faultline, "slow model": slow_model}
    if "HYPERSIO" in os.environ:
        simulators["HyperSIO"] = hypersio
    for design in PARTITIONS:
        note(f"sim_recorded_{design}: {PACKETS * 3} translations by {', '.join(simulators)}")
        results = {}

        def variant(name, simulate):
            cpu, results[name] = simulate(design, trace, scratch)
            return {"rate": PACKETS * 3 / cpu / 1e6}

        s = Samples({name: lambda name=name, simulate=simulate: variant(name, simulate)
                     for name, simulate in simulators.items()}, 3)
        if results["faultline"] != results["slow model"]:
            raise RuntimeError(f"{design}: faultline and the slow model differ: {results}")
        for peer in list(simulators)[1:]:
            add(f"sim_recorded_{design}", s.median("faultline", "rate"), "M/CPU-s", peer,
                s.median(peer, "rate"))


def cachegrind(scratch):
    """Millions of data references that cachegrind simulates in a CPU-second, without its start and
    without the loop's own time."""
    few, many = 1000000, 101000000

    def measure(loads):
        loop = [f"{ROOT}/build/bench/references", str(loads)]
        _, alone = run(loop, scratch)
        _, cpu = run(["valgrind", "--tool=cachegrind", "--cache-sim=yes",
                      "--cachegrind-out-file=/dev/null", "--log-file=cachegrind.log", *loop],
                     scratch)
        with open(f"{scratch}/cachegrind.log", encoding="ascii") as file:
            references = re.search(r"D +refs: +([\d,]+)", file.read())[1]
        return int(references.replace(",", "")), cpu - alone

    references, cpu = (b - a for a, b in zip(measure(few), measure(many)))
    return {"rate": references / cpu / 1e6}


def instructions(command, scratch):
    """That callgrind counts."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           *command], cwd=scratch, text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not collected:
        raise RuntimeError(f"callgrind: {' '.join(command)}: {done.stderr[-500:]}")
    return int(collected[1])
