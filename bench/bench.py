#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make bench: Faultline's costs beside the tools that a user would take instead.

Every figure is the median of interleaved runs: one round runs each variant once, so a noisy moment
hits all of them alike. Prints a table and writes build/bench.csv:
name,value,unit,peer,peer_value,ratio. Nothing here passes or fails.
"""
import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
FAULTLINE = os.path.abspath("faultline")
INJECT = os.path.abspath("faultline-inject")
STORM = os.path.abspath("build/bench/storm")
TRACEPOINT = "exceptions:page_fault_user"
rows = []


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def add(name, value, unit, peer="", peer_value=None):
    ratio = value / peer_value if peer_value else None
    rows.append((name, value, unit, peer, peer_value, ratio))


def run(command, **options):
    """Runs to completion; returns (stdout, wall seconds, CPU seconds of it and its children)."""
    begin, before = time.monotonic(), os.times()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          **options)
    after = os.times()
    cpu = (after.children_user - before.children_user) + (
        after.children_system - before.children_system)
    if done.returncode not in (0, 5):
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")
    return done.stdout, time.monotonic() - begin, cpu


def interleave(variants):
    """variants: {name: function() -> dict of numbers}. Medians per variant and number."""
    samples = {name: [] for name in variants}
    for number in range(ROUNDS):
        note(f"round {number + 1} of {ROUNDS}: {', '.join(variants)}")
        for name, function in variants.items():
            samples[name].append(function())
    return {
        name: {key: statistics.median(s[key] for s in taken) for key in taken[0]}
        for name, taken in samples.items()
    }


def storm_variants(kind, pages, rounds, scratch):
    storm = [STORM, kind, str(pages), str(rounds)]

    def measure(command):
        output, _, cpu = run(command, cwd=scratch)
        numbers = re.search(r"^(\d+) (\d+)$", output, re.M)
        return {"faults": int(numbers[1]), "ns": int(numbers[2]), "cpu": cpu}

    def alone():
        return measure(storm)

    def faultline():
        if os.path.exists(f"{scratch}/storm.flt"):
            os.unlink(f"{scratch}/storm.flt")
        taken = measure([FAULTLINE, "record", "--as-root", "-o", "storm.flt", "--"] + storm)
        taken["bytes"] = os.path.getsize(f"{scratch}/storm.flt")
        return taken

    def perf():
        taken = measure(["perf", "record", "-q", "-m", "8192", "-e", TRACEPOINT, "-o",
                         "perf.data"] + storm)
        taken["bytes"] = os.path.getsize(f"{scratch}/perf.data")
        return taken

    def bpftrace():
        return measure(["bpftrace", "-e",
                        f"tracepoint:{TRACEPOINT} /pid == cpid/ {{ @ = count(); }}",
                        "-c", " ".join(storm)])

    return {"alone": alone, "faultline": faultline, "perf": perf, "bpftrace": bpftrace}


def recorded_events(scratch):
    output, _, _ = run([FAULTLINE, "report", "--json", "storm.flt"], cwd=scratch)
    facts = json.loads(output)
    loss = {row["name"]: row["value"] for row in facts["tables"]["loss"]} \
        if "name" in facts["tables"]["loss"][0] else facts["tables"]["loss"][0]
    return loss


def perf_events(scratch):
    output, _, _ = run(["perf", "report", "--stats", "-i", "perf.data"], cwd=scratch)
    samples = re.search(r"SAMPLE events:\s+(\d+)", output)
    lost = re.search(r"LOST(?:_SAMPLES)? events:\s+(\d+)", output)
    return int(samples[1]) if samples else 0, int(lost[1]) if lost else 0


def bench_storm(scratch):
    for kind in ("anon", "shmem"):
        pages, storm_rounds = 100003, 7
        medians = interleave(storm_variants(kind, pages, storm_rounds, scratch))
        faults = pages * storm_rounds
        base = medians["alone"]["ns"] / faults
        cost = {name: m["ns"] / faults - base for name, m in medians.items()}
        add(f"storm_{kind}_fault_alone", base, "ns")
        add(f"storm_{kind}_added_per_fault", cost["faultline"], "ns", "perf record", cost["perf"])
        add(f"storm_{kind}_added_per_fault_vs_count", cost["faultline"], "ns", "bpftrace count",
            cost["bpftrace"])
        loss = recorded_events(scratch)
        kept, _ = perf_events(scratch)
        add(f"storm_{kind}_events_kept", float(loss["received"]), "events", "perf record",
            float(kept))
        add(f"storm_{kind}_events_lost", float(loss["lost"]), "events")
        add(f"storm_{kind}_cpu", medians["faultline"]["cpu"] - medians["alone"]["cpu"], "s",
            "perf record", medians["perf"]["cpu"] - medians["alone"]["cpu"])
        add(f"storm_{kind}_bytes_per_event", medians["faultline"]["bytes"] / loss["received"],
            "bytes", "perf.data", medians["perf"]["bytes"] / max(1, kept))

        def report():
            return {"s": run([FAULTLINE, "report", "storm.flt"], cwd=scratch)[1]}

        def script():
            return {"s": run(["perf", "script", "-i", "perf.data"], cwd=scratch)[1]}

        medians = interleave({"report": report, "script": script})
        add(f"report_{kind}_events_per_s", loss["received"] / medians["report"]["s"], "events/s",
            "perf script", kept / medians["script"]["s"])


def bench_program(name, scratch):
    """The C benchmarks print lines `NAME VALUE UNIT [PEER PEER_VALUE]`."""
    program = os.path.abspath(f"build/bench/{name}")
    if not os.path.exists(program):
        return
    samples = {}
    for _ in range(ROUNDS):
        for line in run([program], cwd=scratch)[0].splitlines():
            fields = line.split()
            if len(fields) not in (3, 5):
                continue
            value = (float(fields[1]), float(fields[4]) if len(fields) == 5 else 0.0)
            samples.setdefault((fields[0], fields[2], fields[3] if len(fields) == 5 else ""),
                               []).append(value)
    for (what, unit, peer), values in samples.items():
        add(what, statistics.median(v[0] for v in values), unit, peer,
            statistics.median(v[1] for v in values) or None)


def job_row(job, scratch, settings=()):
    command = [INJECT, "run", job, "--csv"]
    for setting in settings:
        command += ["--set", setting]
    output, _, _ = run(command, cwd=scratch)
    return next(csv.DictReader(output.splitlines()))


def number(row, *names):
    for name in names:
        for key, value in row.items():
            if key == name or key.startswith(name + "_"):
                return float(value) if value else float("nan")
    raise KeyError(f"none of {names} in {list(row)}")


def bench_block(scratch):
    """The emulated block device without faults beside fio: same file, pattern, depth, size."""
    job = os.path.abspath("bench/block.ini")
    disk = f"{scratch}/disk"
    with open(disk, "wb") as file:
        file.write(os.urandom(1 << 20) * 64)

    def emulated():
        row = job_row(job, scratch, [f"device.file={disk}"])
        return {"iops": number(row, "iops")}

    def fio():
        output, _, _ = run(["fio", "--name=peer", f"--filename={disk}", "--rw=randread",
                            "--bs=4k", "--ioengine=psync", "--direct=0", "--numjobs=1",
                            "--runtime=3", "--time_based", "--output-format=json",
                            "--norandommap", "--thread"], cwd=scratch)
        return {"iops": json.loads(output)["jobs"][0]["read"]["iops"]}

    medians = interleave({"emulated": emulated, "fio": fio})
    add("block_4k_random_read", medians["emulated"]["iops"], "IO/s", "fio psync",
        medians["fio"]["iops"])


def bench_round_trip(scratch):
    """An emulated fault, nothing injected, beside the CPU's own fault on shared memory."""
    job = os.path.abspath("bench/round-trip.ini")

    def emulated():
        row = job_row(job, scratch)
        return {"p50": number(row, "fault_p50"), "p99": number(row, "fault_p99")}

    def cpu():
        output, _, _ = run([STORM, "shmem", "100003", "1"])
        faults, ns = map(int, output.split())
        return {"mean": ns / faults}

    medians = interleave({"emulated": emulated, "cpu fault": cpu})
    add("fault_round_trip_p50", medians["emulated"]["p50"], "ns", "CPU fault on shmem",
        medians["cpu fault"]["mean"])
    add("fault_round_trip_p99", medians["emulated"]["p99"], "ns", "CPU fault on shmem",
        medians["cpu fault"]["mean"])


def human(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main():
    if os.geteuid() != 0:
        print("bench: run as root (BPF, perf)", file=sys.stderr)
        return 4
    if not os.path.ismount("/sys/kernel/tracing"):
        subprocess.run(["mount", "-t", "tracefs", "nodev", "/sys/kernel/tracing"], check=False)
    scratch = tempfile.mkdtemp(prefix="faultline-bench.", dir="/var/tmp")
    wanted = sys.argv[1:]
    parts = {
        "storm": bench_storm,
        "lookup": lambda s: bench_program("lookup_bench", s),
        "trace": lambda s: bench_program("trace_bench", s),
        "block": bench_block,
        "round-trip": bench_round_trip,
    }
    try:
        for name, part in parts.items():
            if not wanted or name in wanted:
                note(name)
                part(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs("build", exist_ok=True)
    with open("build/bench.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "value", "unit", "peer", "peer_value", "ratio"])
        for row in rows:
            writer.writerow(["" if cell is None else cell for cell in row])
    print(f"{'name':<34}{'value':>13} {'unit':<9} {'peer':<19}{'its value':>13}{'ratio':>8}")
    for name, value, unit, peer, peer_value, ratio in rows:
        print(f"{name:<34}{human(value):>13} {unit:<9} {peer:<19}{human(peer_value):>13}"
              f"{'' if ratio is None else format(ratio, '.3g'):>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
