#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds a reconstruction against the truth log of the emulated machine.

    compare_truth.py CSVDIR TRUTH... [--timing]

CSVDIR is what `faultline report --csv CSVDIR --raw-time` wrote; each TRUTH is one machine's log
(docs/truth-log.md). Every fault must be there, none invented, every stage seen and in order, every
page that came from storage resolved by exactly one CPU fault inside its handler, every count equal.
With --timing each timestamp must also agree within 5 us or 2% of the fault's age, at the 99th
percentile. Prints "ok - ..."/"not ok - ..." lines and the plain closing line.
"""
import collections
import csv
import json
import sys

STAGES = ("detect", "request", "isr", "handler", "resolved", "mapped", "response", "resume")
INTERVALS = ("request", "delivery", "dispatch", "resolve", "map", "respond", "resume")
PASID_NONE, QUEUE_NONE = "", ""
RESPONSES = {0: "success", 1: "invalid", 15: "failure"}
# Kinds counted one to one: truth's word, the event's.
COUNTED = {
    "detect": "fault detected", "request": "page request", "isr": "page request interrupt",
    "resolved": "fault resolved", "mapped": "fault mapped",
    "overflow": "page request queue overflow",
    "invalidate_start": "invalidation started", "invalidate_device": "invalidation sent",
    "invalidate_ack": "invalidation acknowledged",
    "invalidate_freed": "invalidated memory freed",
    "inject_start": "injection started", "inject_stop": "injection stopped",
}
# Events of a group stand for every request in it: truth has one record a request or one a group.
PER_GROUP = {"handler": "fault handler started", "response": "page response",
             "resume": "device resumed"}

passed = failed = 0


def result(name, problems):
    global passed, failed
    if not problems:
        passed += 1
        print(f"ok - {name}")
        return
    failed += 1
    print(f"not ok - {name}: {len(problems)} problems")
    for problem in problems[:8]:
        print(f"    {problem}")


def table(directory, name):
    with open(f"{directory}/{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def whole(text):
    return int(text, 0) if text else None


class TruthLog:
    """One machine's log: its faults by id and its counts."""

    def __init__(self, path):
        self.faults = collections.defaultdict(dict)
        self.where = {}
        self.code = {}
        self.major = set()
        self.counts = collections.Counter()
        self.groups = collections.Counter()
        self.ios = collections.Counter()
        self.page_ins = 0
        times = []
        with open(path) as file:
            for line in file:
                record = json.loads(line)
                what = record["what"]
                times.append(record["time_ns"])
                self.counts[what] += 1
                if what == "io":
                    self.ios[record["device"]] += 1
                elif what == "page_in":
                    self.page_ins += 1
                elif what in STAGES:
                    self.stage(record, what)
        self.begin, self.end = min(times, default=0), max(times, default=0)

    def stage(self, record, what):
        fault = record["fault"]
        self.faults[fault].setdefault(what, record["time_ns"])
        if what == "detect":
            self.where[fault] = (record["device"], record["pasid"], record["group"],
                                 record["address"], record["queue"])
        if what == "resolved" and record["flags"] & 32:
            self.major.add(fault)
        if what == "response":
            self.code[fault] = RESPONSES.get(record["code"], "?")

    def keyed(self):
        """(device, pasid, group, address) -> fault ids in order of detection."""
        keyed = collections.defaultdict(list)
        for fault, (device, pasid, group, address, _) in self.where.items():
            keyed[(device, pasid, group, address)].append(fault)
        for ids in keyed.values():
            ids.sort(key=lambda fault: self.faults[fault]["detect"])
        return keyed


def row_times(row):
    """Stage name -> reconstructed time; stages that were not seen are left out."""
    times, now = {"detect": int(row["start_ns"])}, int(row["start_ns"])
    for stage, interval in zip(STAGES[1:], INTERVALS):
        length = row[f"{interval}_ns"]
        if length == "":
            continue
        now += int(length)
        times[stage] = now
    return times


def compare_faults(log, rows, sources, differences):
    """rows: the reconstruction's faults of this machine. Returns lists of problems by check."""
    problems = collections.defaultdict(list)
    reconstructed = collections.defaultdict(list)
    for row in rows:
        key = (sources[row["handle"]], whole(row["pasid"]), int(row["group"]),
               int(row["address"], 16))
        reconstructed[key].append(row)
    truth = log.keyed()
    for key in truth.keys() | reconstructed.keys():
        ids, found = truth.get(key, []), reconstructed.get(key, [])
        found.sort(key=lambda row: int(row["start_ns"]))
        if len(ids) > len(found):
            problems["missed"].append(f"{key}: {len(ids)} happened, {len(found)} reconstructed")
        if len(ids) < len(found):
            problems["invented"].append(f"{key}: {len(ids)} happened, {len(found)} reconstructed")
        for fault, row in zip(ids, found):
            compare_fault(log, fault, row, problems, differences)
    return problems


def compare_fault(log, fault, row, problems, differences):
    truth, times = log.faults[fault], row_times(row)
    name = f"fault {fault} {log.where[fault]}"
    lacking = [stage for stage in STAGES if stage in truth and stage not in times]
    extra = [stage for stage in STAGES if stage in times and stage not in truth]
    if lacking or extra:
        problems["stages"].append(f"{name}: lacking {lacking}, invented {extra}")
    finished = "resume" in truth
    if finished and row["state"] != "complete":
        problems["state"].append(f"{name}: resumed, but is {row['state']}")
    if not finished and row["state"] == "complete":
        problems["state"].append(f"{name}: never resumed, but is complete")
    order = [times[stage] for stage in STAGES if stage in times]
    if order != sorted(order):
        problems["order"].append(f"{name}: {times}")
    if fault in log.code and row["response"] != log.code[fault]:
        problems["response"].append(f"{name}: {row['response']}, sent {log.code[fault]}")
    if (row["kind"] == "major") != (fault in log.major) and "resolved" in truth:
        problems["kind"].append(f"{name}: {row['kind']}")
    if fault in log.major:
        inside = row["cpu_fault_ns"] and "handler" in times and "resolved" in times and (
            times["handler"] <= int(row["cpu_fault_ns"]) <= times["resolved"])
        if row["cpu_faults"] != "1" or not inside:
            problems["cpu"].append(f"{name}: {row['cpu_faults']} CPU faults, {times}, "
                                   f"at {row['cpu_fault_ns']}")
    for stage in STAGES:
        if stage in truth and stage in times:
            age = truth[stage] - truth["detect"]
            differences.append((abs(times[stage] - truth[stage]), age, stage))


def compare_counts(logs, directory):
    problems = []
    seen = {row["kind"]: int(row["events"]) for row in table(directory, "events")}
    total = sum((log.counts for log in logs), collections.Counter())
    for word, kind in COUNTED.items():
        if seen.get(kind, 0) != total[word]:
            problems.append(f"{kind}: {seen.get(kind, 0)} seen, {total[word]} happened")
    for word, kind in PER_GROUP.items():
        if total[word] and not 0 < seen.get(kind, 0) <= total[word]:
            problems.append(f"{kind}: {seen.get(kind, 0)} seen, {total[word]} requests")
    if total["handler"] and not seen.get("fault handler running", 0):
        problems.append("no handler thread was seen being scheduled")
    return problems


def compare_ios(logs, machines, directory):
    """I/Os that the access log told against those that the engines logged, device by device."""
    wanted = {}
    for log, handles in zip(logs, machines):
        for handle, index in handles.items():
            wanted[handle] = log.ios[index]
    problems = []
    loss = {row["what"]: int(row["count"]) for row in table(directory, "loss")}
    total = sum(int(row["ios"]) for row in table(directory, "io_devices"))
    if total + loss["access_lost"] != sum(wanted.values()):
        problems.append(f"{total} seen, {loss['access_lost']} lost, {sum(wanted.values())} done")
    return problems


def percentile(values, percent):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * percent / 100))] if values else 0


def compare_timing(differences):
    problems = []
    for stage in STAGES:
        # The allowance: 5 us or 2% of the time since detection, whichever is larger.
        excess = [d - max(5000, age // 50) for d, age, s in differences if s == stage]
        if not excess:
            continue
        worst = percentile(excess, 99)
        middle = percentile([d for d, _, s in differences if s == stage], 50)
        print(f"    {stage}: {len(excess)} compared, median difference {middle} ns, "
              f"p99 {'beyond' if worst > 0 else 'within'} the allowance by {abs(worst)} ns")
        if worst > 0:
            problems.append(f"{stage}: p99 is {worst} ns beyond 5 us or 2%")
    return problems


def main(arguments):
    timing = "--timing" in arguments
    directory, *paths = [a for a in arguments if not a.startswith("--")]
    logs = [TruthLog(path) for path in paths]
    devices = {row["handle"]: row for row in table(directory, "devices")}
    sources = {handle: whole(row["source_id"]) for handle, row in devices.items()}
    rows = table(directory, "faults")
    problems, differences, claimed = collections.defaultdict(list), [], 0
    machines = []
    for log in logs:
        # One machine runs at a time: its faults began within its log's times.
        mine = [row for row in rows
                if log.begin - 10**8 <= int(row["start_ns"]) <= log.end + 10**8]
        claimed += len(mine)
        machines.append({row["handle"]: sources[row["handle"]] for row in mine})
        for check, found in compare_faults(log, mine, sources, differences).items():
            problems[check] += found
    if claimed != len(rows):
        problems["invented"].append(f"{len(rows) - claimed} faults outside every machine's life")
    happened = sum(len(log.where) for log in logs)
    result(f"every fault reconstructed ({happened})", problems["missed"])
    result("none invented", problems["invented"])
    result("every stage seen", problems["stages"])
    result("stages in order", problems["order"])
    result("finished and unfinished told apart", problems["state"])
    result("response codes", problems["response"])
    result("minor and major told apart", problems["kind"])
    result(f"one CPU fault inside each major fault's handler "
           f"({sum(len(log.major) for log in logs)})", problems["cpu"])
    result("counts of every kind", compare_counts(logs, directory))
    result(f"I/Os of the access log ({sum(sum(log.ios.values()) for log in logs)})",
           compare_ios(logs, machines, directory))
    if timing:
        result("timestamps within 5 us or 2% at p99", compare_timing(differences))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
