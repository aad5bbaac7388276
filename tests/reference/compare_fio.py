#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what fio in a virtual machine's guest says of a disk to what we say of it.

    compare_fio.py RESULTS.csv TRUTH CONSOLE CSVDIR DELAY_US QUEUES [--in-order]

RESULTS.csv has one row, TRUTH is the log of that run, CSVDIR what `report --csv=CSVDIR --raw-time` wrote of its recording. CONSOLE has
what the guest has printed (`run --console`): the disk's counters of the guest's kernel, what fio says as JSON, its log of latencies
(--write_lat_log, --log_offset=1), and the counters once more. Page requests were delayed by DELAY_US. --in-order: fio had one I/O
under way at a time.

I/Os and bytes are compared exactly, by operation and size. An I/O takes as long for the guest as for the device at least, so that the
n-th longest of the guest's is no shorter than that of the device's, whatever n, but for the difference of their clocks. How many the
guest alone found slow is told, and not judged: its CPU is emulated. Prints "ok - ..."/"not ok - ..." lines and the closing line.
"""
import collections
import csv
import json
import re
import sys

from compare_results import Truth
from compare_vm import times
from verdict import closing, result, table

FAULTED, ERROR = 16, 1  # of an I/O's code
WRITES = 2  # of its flags: the device writes to memory, the guest reads
CLOCKS = 0.98  # the guest measures its clock's rate itself as it boots
READ, WRITE = 0, 1  # as fio's log has them

Io = collections.namedtuple("Io", "kind bytes ns waited")


def by_fio(path):
    """The kernel's counters before and after, fio's summary, its I/Os."""
    text = [re.sub(r"^\S+: ", "", line.rstrip("\r\n")) for line in open(path, errors="replace")]
    counters = [list(map(int, line.split())) for line in text if re.fullmatch(r"( *\d+){11,}", line)]
    summary = json.loads("\n".join(text[text.index("{"):text.index("}") + 1]))
    logged = [list(map(int, line.split(", "))) for line in text if re.fullmatch(r"\d+(, \d+){5}", line)]
    return counters, summary["jobs"], [Io(kind, length, ns, None) for _, ns, kind, length, *_ in logged]


def by_device(log):
    """Its I/Os in the order of their end, whose ranges are records of their own, the last of them the I/O's."""
    ios, ranges = [], collections.Counter()
    for r in log.of("io_part", "io"):
        ranges[r["device"], r["queue"]] += r["length"]
        if r["what"] == "io":
            length = ranges.pop((r["device"], r["queue"]))
            ios.append(Io(READ if r["flags"] & WRITES else WRITE, length, r["value"], bool(r["code"] & FAULTED)))
    return ios, sum(r["code"] & ERROR for r in log.of("io"))


def classes(ios):
    sorts = collections.defaultdict(list)
    for io in ios:
        sorts[io.kind, io.bytes].append(io.ns)
    return {sort: sorted(waits, reverse=True) for sort, waits in sorts.items()}


def name(sort):
    return f"{'read write'.split()[sort[0]]} {sort[1]}"


def shorter(guest, device):
    """Places at which what the guest saw is shorter than what the device saw, both from the longest on."""
    return [f"the {n + 1}th longest took {theirs} ns, for the device {ours}"
            for n, (theirs, ours) in enumerate(zip(guest, device)) if theirs < ours * CLOCKS]


def compare_counts(guest, device, jobs, counters):
    theirs, ours = classes(guest), classes(device)
    result(f"as many I/Os of each kind and size ({len(device)}, of {len(ours)})",
           [f"{name(s)}: {len(theirs.get(s, []))} by fio, {len(ours.get(s, []))} by the device" for s in {*theirs, *ours}
            if len(theirs.get(s, [])) != len(ours.get(s, []))])
    problems = []
    for kind, (word, ios, sectors) in enumerate((("read", 0, 2), ("write", 4, 6))):
        mine = [io.bytes for io in device if io.kind == kind]
        for what, count in (("fio's summary", (sum(job[word]["total_ios"] for job in jobs), sum(job[word]["io_bytes"] for job in jobs))),
                            ("the guest's kernel", (counters[1][ios] - counters[0][ios],
                                                    (counters[1][sectors] - counters[0][sectors]) * 512))):
            if count != (len(mine), sum(mine)):
                problems.append(f"{word}: {count} I/Os and bytes by {what}, {len(mine), sum(mine)} by the device")
    result(f"and as many bytes, by fio and by the guest's kernel ({sum(io.bytes for io in device)})", problems)
    result("no I/O failed", [job["jobname"] for job in jobs if job["error"]])


def compare_latencies(guest, device, jobs):
    theirs, ours = classes(guest), classes(device)
    result("every quantile of the guest's latencies is at least the device's, of each kind and size",
           [f"{name(s)}: {problem}" for s in sorted(ours) for problem in shorter(theirs.get(s, []), ours[s])])
    problems = []
    for kind, word in enumerate(("read", "write")):
        waits = sorted(io.ns for io in device if io.kind == kind)
        for percent, ns in jobs[0][word].get("clat_ns", {}).get("percentile", {}).items() if len(jobs) == 1 else ():
            rank = max(1, -(-len(waits) * int(float(percent) * 10000) // 1000000))
            if ns < waits[rank - 1] * CLOCKS:
                problems.append(f"{word}: p{float(percent):g} of {ns} ns by fio, {waits[rank - 1]} by the device")
    result("and so is every percentile that fio prints", problems)


def compare_waits(guest, device, delay_ns, in_order):
    waited = [n for n, io in enumerate(device) if io.waited and io.ns >= delay_ns]
    slow = [n for n, io in enumerate(guest) if io.ns >= delay_ns * CLOCKS]
    problems = [] if len(waited) > 10 else [f"{len(waited)} have waited: too few"]
    if in_order:
        problems += [f"the {n + 1}th I/O waited {device[n].ns} ns, and took {guest[n].ns} for fio" for n in waited if n not in set(slow)]
        problems += [f"the {n + 1}th I/O is a {name(io)} for fio, a {name(device[n])} for the device"
                     for n, io in enumerate(guest) if io[:2] != device[n][:2]]
    elif len(slow) < len(waited):
        problems.append(f"fio found {len(slow)} slow")
    result(f"each I/O that waited for a page was slow for fio ({len(waited)}; fio's beyond the delay: {len(slow)} of {len(guest)})", problems)


def named(row):
    """Where others have the name, too, a process follows it."""
    return row["device"].split("#")[0] == "vm/disk"


def compare_report(directory, row, all_ios, guest, before):
    devices = [r for r in table(directory, "io_devices") if named(r)]
    faulted = [r for r in table(directory, "ios") if named(r) and r["faulted"] == "yes"]
    marked = sum(io.waited for io in all_ios)
    bytes_done = sum(io.bytes for io in all_ios)
    result(f"the report has all I/Os and bytes, and the I/Os that waited ({len(all_ios)}, {bytes_done}, {marked})",
           [f"{what}: {seen}, {done} by the log" for what, seen, done in (
               ("I/Os", sum(int(r["ios"]) for r in devices), len(all_ios)),
               ("bytes", sum(int(r["transferred_bytes"]) for r in devices), bytes_done),
               ("I/Os that waited", sum(int(r["faulted"]) for r in devices), marked),
               ("one by one", len(faulted), marked), ("I/Os of the results", row["ios"], len(all_ios)),
               ("bytes of the results", round(row["throughput_bytes_per_s"] * row["duration_s"]), bytes_done)) if seen != done])
    # Those of the guest's kernel before fio began are none of fio's.
    told = sorted((int(r["latency_ns"]) for r in faulted), reverse=True)
    first = sum(io.waited for io in all_ios[:before])
    result("none that it says waited was shorter for fio",
           shorter(sorted((io.ns for io in guest), reverse=True), told[first:]))


def main(results, truth, console, directory, delay_us, queues, *how):
    with open(results, newline="") as file:
        row = {key: float(value) if re.fullmatch(r"[\d.]+", value) else value for key, value in next(csv.DictReader(file)).items()}
    log = Truth(truth)
    counters, jobs, guest = by_fio(console)
    all_ios, failed = by_device(log)
    before = counters[0][0] + counters[0][4]
    device = all_ios[before:]
    compare_counts(guest, device, jobs, counters)
    compare_latencies(guest, device, jobs)
    compare_waits(guest, device, int(delay_us) * 1000, "--in-order" in how)
    compare_report(directory, row, all_ios, guest, before)
    result("latencies of the results are those of the log, and the share of time that queues were blocked",
           times(row, log, int(queues)) + ([f"{failed} failed"] if failed or row["errors"] else []))
    return closing()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
