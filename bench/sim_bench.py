# SPDX-License-Identifier: GPL-2.0
"""How many translations faultline sim simulates in a second, and that being measured changes nothing."""
import csv
import hashlib
import json
import os
import statistics
import subprocess
import time

from measure import FAULTLINE, ROUNDS, Samples, add, note, run
from sim_peers import bench_recorded, cachegrind, instructions

TENANTS = 1024
DESIGNS = ("base", "hypertrio")
ORDERS = {"rr1": "rr", "rand1": "rand"}
FEW, MANY = 200000, 2200000


def options(design, *settings):
    return [f"--preset={design}", *(f"--set={setting}" for setting in settings)]


def sim(scratch, *arguments):
    """Returns (standard output, CPU seconds)."""
    return run([FAULTLINE, "sim", *arguments], scratch)


def digest(output):
    return hashlib.sha256(output.encode()).hexdigest()


def plain(scratch, design, *settings):
    """The same job as a user would run it: from a file, with as many threads as it takes."""
    sections = {}
    for setting in (f"preset.design={design}", *settings):
        where, value = setting.split("=")
        sections.setdefault(where.split(".")[0], []).append((where.split(".")[1], value))
    with open(f"{scratch}/plain.ini", "w", encoding="ascii") as file:
        for section, values in sections.items():
            file.write(f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in values))
    return sim(scratch, "--json", "plain.ini")[0]


def timed(scratch, design, *settings):
    """M translations a CPU-second between a short and a long run, which start and end alike; keeps
    the long one's output."""
    runs = []
    for packets in (FEW, MANY):
        output, cpu = sim(scratch, "-j1", "--json",
                          *options(design, f"trace.packets={packets}", *settings))
        runs.append((json.loads(output)["tables"]["results"][0], cpu, output))
    (few, few_cpu, _), (many, many_cpu, output) = runs
    return {"rate": (many["translations"] - few["translations"]) / (many_cpu - few_cpu) / 1e6,
            "row": many, "digest": digest(output)}


def same_as_plain(name, samples, variant, scratch, design, *settings):
    seen = set(samples.of[variant]["digest"])
    expected = digest(plain(scratch, design, f"trace.packets={MANY}", *settings))
    if seen != {expected}:
        raise RuntimeError(f"{name}: a plain run's output has sha256 {expected}, the measured "
                           f"runs' {', '.join(sorted(seen))}")
    note(f"{name}: sha256 {expected}, as a plain run's")


def bench_designs(scratch):
    jobs = {f"sim_{design}_{name}": (design, f"trace.order={order}")
            for design in DESIGNS for name, order in ORDERS.items()}
    note(f"{', '.join(jobs)}: {MANY - FEW} packets, {ROUNDS} rounds beside cachegrind")
    variants = {name: lambda job=job: timed(scratch, *job) for name, job in jobs.items()}
    variants["cachegrind"] = lambda: cachegrind(scratch)
    s = Samples(variants)
    for name, job in jobs.items():
        same_as_plain(name, s, name, scratch, *job)
        add(name, s.median(name, "rate"), "M/CPU-s", "cachegrind, data",
            s.median("cachegrind", "rate"))
        row = s.of[name]["row"][0]
        add(f"{name}_devtlb_hit", 100 * row["devtlb_hit"], "%")
        if job[0] == "hypertrio":
            add(f"{name}_buffer_hit", 100 * row["buffer_hit"], "%")
        add(f"{name}_executed", executed(scratch, *job), "instructions")


def executed(scratch, design, *settings):
    """Instructions a translation: no noise."""
    few, many = (instructions([FAULTLINE, "sim", "-j1", "--json",
                               *options(design, f"trace.packets={packets}", *settings)], scratch)
                 for packets in (30000, 60000))
    return (many - few) / 30000 / 3


def bench_tables(scratch):
    """Walks of real page tables beside counted ones, which must come to the same."""
    for design in DESIGNS:
        name = f"sim_{design}_tables"
        jobs = {tables: (design, "preset.walk=table2-literal", f"walk.tables={tables}")
                for tables in ("yes", "no")}
        note(f"{name}: real page tables beside counting")
        s = Samples({tables: lambda job=job: timed(scratch, *job)
                     for tables, job in jobs.items()})
        for tables, job in jobs.items():
            same_as_plain(f"{name}={tables}", s, tables, scratch, *job)
        if s.of["yes"]["digest"] != s.of["no"]["digest"]:
            raise RuntimeError(f"{name}: counted walks give another output than real ones")
        add(name, s.median("yes", "rate"), "M/CPU-s", "counted", s.median("no", "rate"))


def peak(pid):
    """The most memory that a process has had so far, in MiB; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return max((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:")),
                       default=0)
    except OSError:
        return 0


def watched(scratch, *arguments):
    """Wall and CPU seconds, peak memory as of the last 10 ms, and the row of results. What
    getrusage() says of a child's memory includes Python's before it became another program."""
    with open(f"{scratch}/watched.csv", "w+", encoding="ascii") as output:
        begin, rss = time.monotonic(), 0
        process = subprocess.Popen([FAULTLINE, "sim", "-j1", "--csv=-", "--table=results",
                                    *arguments], cwd=scratch, stdout=output)
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            rss = max(rss, peak(process.pid))
            time.sleep(0.01)
        wall = time.monotonic() - begin
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(process.args)}: exit {process.returncode}")
        output.seek(0)
        return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss": rss,
                "row": next(csv.DictReader(output))}


def bench_long(scratch):
    """As many translations as iperf3's 1024 tenants have in table III."""
    for design in DESIGNS:
        name = f"sim_{design}_69.7M"
        note(f"{name}: iperf3 until the first of {TENANTS} tenants has no more, 3 runs")
        lengths = {"short": 1000000, "long": 0}
        s = Samples({length: lambda packets=packets: watched(
            scratch, *options(design, "trace.workload=iperf3", f"trace.packets={packets}"))
            for length, packets in lengths.items()}, 3)
        add(f"{name}", s.median("long", "wall"), "s")
        add(f"{name}_cpu", s.median("long", "cpu"), "CPU-s")
        add(f"{name}_translations", int(s.of["long"]["row"][0]["translations"]), "")
        add(f"{name}_memory", s.median("long", "rss"), "MiB", "of 3 M", s.median("short", "rss"))


def bench_sweep(scratch):
    """Sixteen points that are alike, one at a time and on all CPUs."""
    points, cpus = 16, len(os.sched_getaffinity(0))
    seeds = ",".join(str(seed) for seed in range(1, points + 1))
    arguments = [*options("hypertrio", "trace.order=rand", "trace.packets=400000"),
                 f"--sweep=trace.seed={seeds}", "--csv=-", "--table=results"]
    outputs = set()

    def measure(threads):
        begin = time.monotonic()
        outputs.add(sim(scratch, f"-j{threads}", *arguments)[0])
        return {"wall": time.monotonic() - begin}

    note(f"sim_sweep: {points} points one at a time and {cpus} at a time")
    s = Samples({"one": lambda: measure(1), "all": lambda: measure(cpus)}, 3)
    if len(outputs) != 1:
        raise RuntimeError("sim_sweep: the output depends on the number of threads")
    add("sim_sweep_16", s.median("all", "wall"), "s", "one at a time", s.median("one", "wall"))
    add("sim_sweep_16_speed-up",
        statistics.median(a / b for a, b in zip(s.of["one"]["wall"], s.of["all"]["wall"])),
        "times", "CPUs", cpus)


def bench_sim(scratch):
    bench_designs(scratch)
    bench_tables(scratch)
    bench_long(scratch)
    bench_sweep(scratch)
    bench_recorded(scratch)
