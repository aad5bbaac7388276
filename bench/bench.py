#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make bench: Faultline's costs beside the tools that a user would take instead.

Every figure is the median of interleaved runs: a round runs each variant once, in an order that
rotates, so that a noisy moment hits all of them alike. What a tool adds is the median of the
differences within a round. Prints a table and writes build/bench.csv:
name,value,unit,peer,peer_value,ratio. Nothing here passes or fails; docs/performance.md explains
the rows.

    bench/bench.py [PART ...]       parts: storm programs lookup trace block round-trip nic sim
                                    protect fleet fabric smartio hyv faults start-stop rxe parquet perfetto page serve vm
"""
import csv
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from fabric_bench import bench_fabric
from faults_bench import bench_faults
from fleet_bench import bench_fleet
from hyv_bench import bench_hyv
from measure import (FAULTLINE, ROOT, ROUNDS, Samples, add, fresh, job, note, program_lines, rows,
                     run)
from page_bench import bench_page
from parquet_bench import bench_parquet
from perfetto_bench import bench_perfetto
from rxe_bench import bench_rxe
from serve_bench import bench_serve
from sim_bench import bench_sim
from smartio_bench import bench_smartio
from start_stop_bench import bench_start_stop
from vm_bench import bench_vm

PAGES = 100003
PASSES = 7
FAULTS = PAGES * PASSES
TRACEPOINT = "exceptions:page_fault_user"
STORM = f"{ROOT}/build/bench/storm"


def storm_variants(storm, scratch):
    """The same storm alone and under each tool. Its last line says: faults, ns, CPU ns."""
    recording, data = f"{scratch}/storm.flt", f"{scratch}/perf.data"

    def measure(command):
        output, cpu = run(command, scratch)
        faults, ns, cpu_ns = map(int, re.search(r"^(\d+) (\d+) (\d+)$", output, re.M).groups())
        return {"wall": ns / faults, "thread": cpu_ns / faults, "cpu": cpu}

    def alone():
        return measure(storm)

    def faultline():
        fresh(recording)
        taken = measure([FAULTLINE, "record", "--as-root", "-o", recording, "--"] + storm)
        output, _ = run([FAULTLINE, "report", "--json", "--table", "loss", recording], scratch)
        loss = {row["what"]: row["count"] for row in json.loads(output)["tables"]["loss"]}
        taken.update(kept=loss["received"], lost=loss["lost"] + loss["missed"],
                     bytes=os.path.getsize(recording) / loss["received"])
        return taken

    def perf():
        fresh(data)
        taken = measure(["perf", "record", "-q", "-m", "8192", "-e", TRACEPOINT, "-o", data,
                         "--"] + storm)
        output, _ = run(["perf", "report", "--stats", "-i", data], scratch)
        kept = int(re.search(r"SAMPLE events:\s+(\d+)", output)[1])
        taken.update(kept=kept, lost=max(0, FAULTS - kept), bytes=os.path.getsize(data) / kept)
        return taken

    def bpftrace():
        program = f"tracepoint:{TRACEPOINT} /pid == cpid/ {{ @ = count(); }}"
        return measure(["bpftrace", "-e", program, "-c", " ".join(storm)])

    return {"alone": alone, "faultline": faultline, "perf": perf, "bpftrace": bpftrace}


def add_report(name, scratch):
    """Reading what the last round has recorded."""
    samples = Samples({
        "report": lambda: {"cpu": run([FAULTLINE, "report", "storm.flt"], scratch)[1]},
        "script": lambda: {"cpu": run(["perf", "script", "-i", "perf.data"], scratch)[1]},
    })
    add(f"{name}_report_rate", FAULTS / samples.median("report", "cpu"), "events/CPU-s",
        "perf script", FAULTS / samples.median("script", "cpu"))


def bench_storm(scratch):
    storms = {"anon": ["anon"], "shmem": ["shmem"], "scattered": ["anon", "--scatter"]}
    for kind, (memory, *options) in storms.items():
        name = f"storm_{kind}"
        storm = [STORM, memory, str(PAGES), str(PASSES), *options]
        note(f"{name}: {FAULTS} faults alone, recorded, under perf record and bpftrace")
        s = Samples(storm_variants(storm, scratch))
        add(f"{name}_fault", s.median("alone", "wall"), "ns")
        for tool, peer in (("perf", "perf record"), ("bpftrace", "bpftrace count")):
            add(f"{name}_added_per_fault", s.added("faultline", "alone", "thread"), "CPU-ns",
                peer, s.added(tool, "alone", "thread"))
        add(f"{name}_slowdown", s.median("faultline", "wall") / s.median("alone", "wall"), "times",
            "perf record", s.median("perf", "wall") / s.median("alone", "wall"))
        add(f"{name}_cpu_added", s.added("faultline", "alone", "cpu"), "CPU-s", "perf record",
            s.added("perf", "alone", "cpu"))
        add(f"{name}_events_kept", s.median("faultline", "kept"), "events", "perf record",
            s.median("perf", "kept"))
        add(f"{name}_events_lost", s.total("faultline", "lost"), "all runs", "perf record",
            s.total("perf", "lost"))
        add(f"{name}_size", s.median("faultline", "bytes"), "bytes/event", "perf.data",
            s.median("perf", "bytes"))
        add_report(name, scratch)


def bench_program(name, scratch):
    note(f"{name}: {ROUNDS} runs")
    samples = {}
    for _ in range(ROUNDS):
        for what, value, unit, peer, peer_value in program_lines(name, scratch):
            samples.setdefault((what, unit, peer), []).append((value, peer_value))
    for (what, unit, peer), values in samples.items():
        add(what, statistics.median(v for v, _ in values), unit, peer.replace("_", " "),
            statistics.median(v for _, v in values) if peer else None)


def bench_nic(scratch):
    """Programs that go round their variants themselves, and tell medians."""
    for name in ("nic_bench", "rdma_bench", "tap_bench"):
        note(f"{name}: {ROUNDS} rounds of all variants")
        for what, value, unit, peer, peer_value in program_lines(name, scratch, str(ROUNDS)):
            add(what, value, unit, peer.replace("_", " "), peer_value)


def bench_trace(scratch):
    bench_program("trace_bench", scratch)
    bench_program("merge_bench", scratch)
    # The faults of a storm are only counted; those of devices are put together stage by stage.
    events = 3000017
    run([f"{ROOT}/build/bench/trace_bench", str(events), "iofault", "iofault.flt"], scratch)
    s = Samples({"report": lambda: {
        "cpu": run([FAULTLINE, "report", "iofault.flt"], scratch)[1]}})
    add("iofault_report_rate", events / s.median("report", "cpu"), "events/CPU-s")


def bench_block(scratch):
    """The emulated disk without faults beside fio: same file, same pattern, size and depth."""
    disk = f"{scratch}/disk"
    with open(disk, "wb") as file:
        file.write(os.urandom(1 << 20) * 64)

    def emulated(depth):
        row = job("block", scratch, f"disk.file={disk}", f"reader.depth={depth}")
        return {"iops": float(row["iops_per_s"])}

    def fio(engine, depth, *options):
        output, _ = run(["fio", "--name=peer", f"--filename={disk}", "--rw=randread", "--bs=4k",
                         f"--ioengine={engine}", f"--iodepth={depth}", "--runtime=1",
                         "--time_based", "--norandommap", "--thread", "--output-format=json",
                         *options], scratch)
        # Some engines print notes before the document.
        return {"iops": json.loads(output[output.index("{"):])["jobs"][0]["read"]["iops"]}

    for depth in (1, 32):
        note(f"block device, depth {depth}, beside fio")
        variants = {
            "emulated": lambda: emulated(depth),
            "fio posixaio": lambda: fio("posixaio", depth),
            "fio psync": lambda: fio("psync", 1),
        }
        s = Samples(variants)
        for peer in list(variants)[1:]:
            add(f"block_4k_depth_{depth}", s.median("emulated", "iops"), "IO/s", peer,
                s.median(peer, "iops"))


def bench_round_trip(scratch):
    """An emulated I/O page fault, nothing slowed down, beside CPU faults."""
    note("round trip of a fault, nothing injected into it")

    def emulated():
        row = job("round-trip", scratch)
        return {"p50": float(row["round_trip_p50_ns"]), "p90": float(row["round_trip_p90_ns"])}

    def userfaultfd():
        return {what.split("_")[1]: value
                for what, value, *_ in program_lines("userfaultfd_bench", scratch)}

    def cpu():
        _, ns, _ = map(int, run([STORM, "shmem", str(PAGES), "1"], scratch)[0].split())
        return {"mean": ns / PAGES}

    s = Samples({"emulated": emulated, "userfaultfd": userfaultfd, "cpu": cpu})
    for point in ("p50", "p90"):
        add(f"round_trip_{point}", s.median("emulated", point), "ns", "userfaultfd",
            s.median("userfaultfd", point))
    add("round_trip_p50", s.median("emulated", "p50"), "ns", "CPU fault, shmem",
        s.median("cpu", "mean"))


def bench_programs(scratch):
    """What one hit of each probe's BPF program takes, beside the least that counts by process."""
    note("programs: each BPF program alone")
    output, _ = run([f"{ROOT}/build/bench/programs_bench"], scratch)
    lines = [line.split() for line in output.splitlines()]
    peer = next(float(ns) for name, mode, ns, *_ in lines if (name, mode) == ("count", "peer"))
    for name, mode, ns, _, instructions, _ in lines:
        if mode == "peer":
            continue
        add(f"{name}_{mode}", float(ns), "ns", "@[pid] = count()", peer)
        if mode == "counted":
            add(f"{name}_size", float(instructions), "instructions")


PARTS = {
    "storm": bench_storm,
    "programs": bench_programs,
    "lookup": lambda scratch: bench_program("lookup_bench", scratch),
    "trace": bench_trace,
    "block": bench_block,
    "round-trip": bench_round_trip,
    "nic": bench_nic,
    "sim": bench_sim,
    "protect": lambda scratch: bench_program("protect_bench", scratch),
    "fleet": bench_fleet,
    "fabric": bench_fabric,
    "cluster": lambda scratch: bench_program("cluster_bench", scratch),
    "smartio": bench_smartio,
    "hyv": bench_hyv,
    "faults": bench_faults,
    "start-stop": bench_start_stop,
    "rxe": bench_rxe,
    "parquet": bench_parquet,
    "perfetto": bench_perfetto,
    "page": bench_page,
    "serve": lambda scratch: bench_serve(ROOT, add),
    "vm": bench_vm,
}


def measure_all(wanted):
    """Runs the parts; one that cannot be measured here is told and the others go on."""
    scratch = tempfile.mkdtemp(prefix="faultline-bench.", dir="/var/tmp")
    complete = True
    try:
        for name in wanted:
            try:
                PARTS[name](scratch)
            except (RuntimeError, OSError, ValueError, KeyError, TypeError) as reason:
                note(f"{name}: cannot be measured: {reason}")
                complete = False
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return complete


def human(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def write_results():
    with open(f"{ROOT}/build/bench.csv", "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "value", "unit", "peer", "peer_value", "ratio"])
        writer.writerows(rows)
    print(f"{'name':<31}{'value':>12} {'unit':<13}{'peer':<17}{'its value':>12}{'ratio':>8}")
    for name, value, unit, peer, peer_value, ratio in rows:
        print(f"{name:<31}{human(value):>12} {unit:<13}{peer:<17}{human(peer_value):>12}"
              f"{'' if ratio is None else format(ratio, '.3g'):>8}".rstrip())


def stop(number, _):
    raise SystemExit(128 + number)


def main():
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        print(f"bench: {unknown[0]}: no such part; choose from {' '.join(PARTS)}",
              file=sys.stderr)
        return 2
    if os.geteuid():
        print("bench: watching the kernel needs root; run it with sudo", file=sys.stderr)
        return 4
    signal.signal(signal.SIGTERM, stop)
    tracing = "/sys/kernel/tracing"
    mounted = not os.path.ismount(tracing) and not subprocess.run(
        ["mount", "-t", "tracefs", "nodev", tracing], check=False).returncode
    try:
        complete = measure_all(wanted)
    except KeyboardInterrupt:
        return 130
    finally:
        if mounted:
            subprocess.run(["umount", tracing], check=False)
    write_results()
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
