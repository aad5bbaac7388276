#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds recorded page requests against the log of the module that raised them.

    compare_requests.py CSVDIR TRUTH... [--reuse N] [--overtaking] [--shared] [--causes A,B,...]
                        [--no-timing] [--discards] [--lacks STAGE] [--program NAME]

CSVDIR is what `faultline report --csv=CSVDIR --raw-time` wrote; TRUTH are the logs of
`faultline-inject iopf --truth`, which nothing of Faultline's takes part in. Every request that the
module gave to the kernel must be one fault, none invented; each must stand in the right group, with
the response, the process and the time that the module saw. --reuse: each group number of a device
must have been used that often; --overtaking: groups must have been answered in another order than
they were reported; --shared: PASIDs must be on two devices at least; --discards: the host must
have thrown requests away. --lacks: that stage must be missing in every fault. --program: who raised
them, as the kernel names it. Prints "ok - ..." and "not ok - ..." lines.
"""
import argparse
import collections
import csv
import json
import statistics
import sys

RESPONSES = {0: "success", 1: "invalid", 2: "failure"}
INTERVALS = ("request", "delivery", "dispatch", "resolve", "map", "respond", "resume")
TIMING_NS = 30_000
TIMING_PART = 0.05
PROGRAM = "faultline-injec"  # the kernel keeps 15 characters
PASID_LIMIT = 1 << 16  # the module gives out PASIDs below: others are nobody's

failed = 0


def result(name, problems):
    global failed
    if not problems:
        print(f"ok - {name}")
        return
    failed += 1
    print(f"not ok - {name}: {len(problems)} problems")
    for problem in problems[:8]:
        print(f"    {problem}")


def whole(text):
    return int(text, 0) if text else None


def read_faults(directory):
    with open(f"{directory}/faults.csv", newline="") as file:
        return list(csv.DictReader(file))


def read_truth(paths):
    entries = []
    for path in paths:
        with open(path) as file:
            entries += [json.loads(line) for line in file]
    return [e for e in entries if e["kind"] == "request" and e["reported_ns"]]


def key_of_fault(fault):
    pasid = whole(fault["pasid"])
    return fault["device"], pasid, whole(fault["address"]) >> 12


def key_of_truth(entry):
    pasid = None if entry["no_pasid"] else entry["pasid"]
    return entry["device"], pasid, entry["address"] >> 12


def pair(faults, truth):
    """A device asks for a page once, or again later: so pages pair by time."""
    problems, pairs = [], []
    ours, theirs = collections.defaultdict(list), collections.defaultdict(list)
    for fault in faults:
        ours[key_of_fault(fault)].append(fault)
    for entry in truth:
        theirs[key_of_truth(entry)].append(entry)
    for key in ours.keys() | theirs.keys():
        mine = sorted(ours.get(key, []), key=lambda f: whole(f["start_ns"]))
        its = sorted(theirs.get(key, []), key=lambda e: e["reported_ns"])
        if len(mine) != len(its):
            problems.append(f"{key}: recorded {len(mine)}, raised {len(its)}")
        pairs += zip(mine, its)
    return pairs, problems


def about(fault):
    return f"{fault['device']} group {fault['group']}.{fault['instance']} {fault['address']}"


def expected_state(entry):
    return {"answered": "complete", "discarded": "discarded"}.get(entry["state"], "unfinished")


def compare_one_by_one(pairs, program):
    wrong = collections.defaultdict(list)
    for fault, entry in pairs:
        name = about(fault)
        start, total = whole(fault["start_ns"]), whole(fault["total_ns"])
        if whole(fault["group"]) != entry["group"]:
            wrong["group"].append(f"{name}: the module's was {entry['group']}")
        if not entry["reported_ns"] <= start <= entry["returned_ns"]:
            wrong["report"].append(f"{name}: {start} is not within the module's call "
                                   f"{entry['reported_ns']} to {entry['returned_ns']}")
        if fault["state"] != expected_state(entry):
            wrong["state"].append(f"{name}: {fault['state']}, the module says {entry['state']}")
        owned = entry["pasid"] < PASID_LIMIT and not entry["no_pasid"]
        who = (whole(fault["pid"]), fault["comm"])
        if who != ((entry["pid"], program) if owned else (None, "-")):
            wrong["process"].append(f"{name}: of {who}, raised by {entry['pid']}")
        if entry["state"] != "answered":
            continue
        if fault["response"] != RESPONSES[entry["code"]]:
            wrong["response"].append(f"{name}: {fault['response']}, the module got {entry['code']}")
        times = [whole(fault[f"{stage}_ns"]) for stage in INTERVALS]
        if total is None or sum(t for t in times if t is not None) != total:
            wrong["sum"].append(f"{name}: stages {times}, total {total}")
    for what, label in (("group", "every request has its group's number"),
                        ("report", "every report lies within the module's call"),
                        ("state", "every fault ends as the module says"),
                        ("process", "every request has its process"),
                        ("response", "every response is the one that the module got"),
                        ("sum", "stages are in order and sum to the total")):
        result(label, wrong[what])


def compare_groups(pairs):
    """Requests of one group are of one instance, those of two are of two."""
    problems = []
    forth, back = {}, {}
    for fault, entry in pairs:
        if entry["result"]:
            continue  # answered one by one, within the report
        ours = fault["device"], fault["instance"]
        its = entry["device"], entry["instance"]
        if forth.setdefault(its, ours) != ours or back.setdefault(ours, its) != its:
            problems.append(f"{about(fault)}: the module's group {its} is also {forth[its]}")
    result(f"{len(forth)} groups, none mixed up with another", problems)


def compare_timing(pairs):
    differences, wanted = [], []
    for fault, entry in pairs:
        if entry["state"] != "answered" or entry["result"] or not fault["total_ns"]:
            continue
        wanted.append(entry["responded_ns"] - entry["reported_ns"])
        differences.append(abs(whole(fault["total_ns"]) - wanted[-1]))
    if not wanted:
        return
    middle, off = statistics.median(wanted), statistics.median(differences)
    allowed = max(TIMING_NS, TIMING_PART * middle)
    result(f"totals agree with the module's clock: off by {off / 1000:.1f} us of "
           f"{middle / 1000:.1f} us at the median",
           [] if off <= allowed else [f"allowed are {allowed / 1000:.1f} us"])


def check_reuse(truth, least):
    used = collections.defaultdict(set)
    for entry in truth:
        used[entry["device"], entry["group"]].add(entry["instance"])
    fewest = min(len(instances) for instances in used.values())
    result(f"{len(used)} group numbers, each used at least {fewest} times",
           [] if fewest >= least else [f"wanted are {least}"])


def check_overtaking(truth):
    last = {}
    for entry in truth:
        if entry["state"] == "answered":
            last[entry["device"], entry["instance"]] = entry["reported_ns"], entry["responded_ns"]
    answers = [responded for _, responded in sorted(last.values())]
    overtaken, latest = 0, 0
    for answer in answers:
        overtaken += answer < latest
        latest = max(latest, answer)
    result(f"{overtaken} of {len(answers)} groups overtook another",
           [] if overtaken else ["all were answered in order: nothing was put to the test"])


def check_shared(truth):
    devices = collections.defaultdict(set)
    for entry in truth:
        devices[entry["pasid"]].add(entry["device"])
    shared = sum(len(d) > 1 for d in devices.values())
    result(f"{shared} PASIDs were used by several devices", [] if shared else ["none"])


def check_causes(pairs, allowed):
    counts = collections.Counter(f["cause"] for f, e in pairs
                                 if e["state"] == "answered" and e["code"] == 0)
    result("pages came as expected: " + ", ".join(f"{n} {c}" for c, n in sorted(counts.items())),
           [f"{n} were {c}" for c, n in counts.items() if c not in allowed])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("truth", nargs="+")
    parser.add_argument("--reuse", type=int)
    parser.add_argument("--overtaking", action="store_true")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--causes")
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--discards", action="store_true")
    parser.add_argument("--lacks")
    parser.add_argument("--program", default=PROGRAM)
    options = parser.parse_args()
    faults, truth = read_faults(options.directory), read_truth(options.truth)
    pairs, problems = pair(faults, truth)
    result(f"{len(truth)} requests reported, {len(faults)} recorded, page by page", problems)
    compare_one_by_one(pairs, options.program)
    compare_groups(pairs)
    if not options.no_timing:
        compare_timing(pairs)
    if options.reuse:
        check_reuse(truth, options.reuse)
    if options.overtaking:
        check_overtaking(truth)
    if options.shared:
        check_shared(truth)
    if options.causes:
        check_causes(pairs, options.causes.split(","))
    if options.discards:
        discards = sum(entry["state"] == "discarded" for entry in truth)
        result(f"{discards} requests were discarded", [] if discards else ["none"])
    if options.lacks:
        result(f"no fault has the stage {options.lacks}",
               [about(f) for f in faults if f[f"{options.lacks}_ns"]])
    return 1 if failed else 0


sys.exit(main())
