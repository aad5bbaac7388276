#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds a reconstruction against the truth log of the emulated machine.

    compare_truth.py CSVDIR TRUTH... [--evictions-race] [--apart=NS]

CSVDIR is what `faultline report --csv=CSVDIR --raw-time` wrote; each TRUTH is one machine's log
(docs/truth-log.md). Every fault must be there, none invented, every stage seen and in order, every
count equal, every timestamp between two that the log took elsewhere, and every resolved fault has
exactly one CPU fault, inside its handler; one that was asked for again, as the device had given the first up, may
have none if the late answer to the first brought its page. With --evictions-race, where a page may be taken again
while its handler brings it, or be there already for a duplicate, only faults that read storage are
held to that. With --apart log and probe of each stage must be so far from each other in every fault: an
emulator that waits between the two is being looked at (wait_mutant.py). Prints "ok - ..."/"not ok - ..." lines and the plain closing line.
"""
import bisect
import collections
import itertools
import json
import sys

from verdict import closing, result, table

STAGES = ("detect", "request", "isr", "handler", "resolved", "mapped", "response", "resume")
INTERVALS = ("request", "delivery", "dispatch", "resolve", "map", "respond", "resume")
STATES = ("complete", "unfinished", "inconsistent", "overflowed", "discarded", "abandoned")
APART_FAULTS = 20
FAULTED = 16  # of an I/O's code
LATEST = 1 << 64
CAUSES = {0: "-", 10: "permission"}
RESPONSES = {0: "success", 1: "invalid", 15: "failure", 16: "automatic"}
# A probe's time lies between two of the log's, taken elsewhere by the same or the next to act
# (docs/truth-log.md): the last of the first that there is, and the first of the second.
BETWEEN = {
    "detect": (("detect",), ("held", "overflow", "request")),
    "request": (("request",), ("isr",)),
    "isr": (("isr",), ("void", "handler")),
    "handler": (("handler",), ("resolved", "response")),
    "resolved": (("resolved",), ("mapped",)),
    "mapped": (("mapped",), ("response",)),
    "response": (("handler", "mapped"), ("response",)),
    "resume": (("resume",), ()),
}
# Kinds counted one to one: truth's word, the event's.
COUNTED = {
    "detect": "fault detected", "request": "page request", "isr": "page request interrupt",
    "resolved": "fault resolved", "mapped": "fault mapped",
    "overflow": "page request queue overflow", "void": "page request discarded",
    "invalidate_start": "invalidation started", "invalidate_device": "invalidation sent",
    "invalidate_ack": "invalidation acknowledged",
    "invalidate_freed": "invalidated memory freed",
    "inject_start": "injection started", "inject_stop": "injection stopped",
}
# Events of a group stand for every request in it: truth has one record a request, all of one time.
PER_GROUP = {"handler": "fault handler started", "response": "page response",
             "resume": "device resumed", "abandon": "fault abandoned"}


def whole(text):
    return int(text, 0) if text else None


class TruthLog:
    """One machine's log. A request has an id of its own, `fault`."""

    def __init__(self, path):
        self.requests = collections.defaultdict(dict)  # fault -> stage -> time
        self.where, self.code, self.cause = {}, {}, {}
        self.major, self.automatic = set(), set()
        self.counts = collections.Counter()
        self.apart = collections.defaultdict(list)  # stage -> between log and probe, a fault each
        self.groups = collections.defaultdict(set)  # stage of groups -> (time, group)
        self.ios = collections.Counter()  # device -> I/Os
        self.queues = {}  # fault -> (device, queue)
        self.done = collections.defaultdict(list)  # (device, queue) -> I/Os as the device had them
        self.sent = collections.defaultdict(list)  # the same as the guest had them
        self.pages = collections.defaultdict(set)  # (device, queue, time) -> what I/Os that were done then touched
        self.rated = set()  # devices whose I/Os are due at times of their own
        self.driven = set()  # devices with a guest of ours, which logs its side; a stock guest's driver does not
        self.places = {"request": [], "isr": []}  # in the queue, in the order of time
        times = []
        with open(path) as file:
            for line in file:
                record = json.loads(line)
                what = record["what"]
                times.append(record["time_ns"])
                self.counts[what] += 1
                if what in self.places:
                    self.places[what].append((record["value"], record["time_ns"]))
                if what in ("io", "io_part"):
                    first, last = record["address"] >> 12, (record["address"] + record["length"] - 1) >> 12
                    self.pages[record["device"], record["queue"], record["time_ns"]].update(range(first, last + 1))
                if what == "io":
                    self.ios[record["device"]] += 1
                    self.done[record["device"], record["queue"]].append(record)
                elif what == "guest_io":
                    self.sent[record["device"], record["queue"]].append(record)
                    self.driven.add(record["device"])
                elif what == "guest_start":
                    self.driven.add(record["device"])
                    if record["value"]:
                        self.rated.add(record["device"])
                elif what in ("overflow", "void", "held"):
                    self.requests[record["fault"]][what] = record["time_ns"]
                elif what in STAGES or what == "abandon":
                    self.request(record, what)
        self.begin, self.end = min(times, default=0), max(times, default=0)

    def request(self, record, what):
        fault = record["fault"]
        self.requests[fault][what] = record["time_ns"]
        if what == "detect":
            self.where[fault] = (record["device"], record["pasid"], record["group"],
                                 record["address"])
            self.queues[fault] = (record["device"], record["queue"])
        if what == "resolved":
            self.cause[fault] = CAUSES.get(record["code"], "?")
            if record["flags"] & 32:
                self.major.add(fault)
        if what in PER_GROUP:
            self.groups[what].add((record["time_ns"], record["device"], record["pasid"],
                                   record["group"]))
        if what in ("response", "resume"):
            self.code[fault] = RESPONSES.get(record["code"], "?")
            if what == "resume" and self.code[fault] == "automatic":
                self.automatic.add(fault)

    def state(self, fault):
        if "overflow" in self.requests[fault]:
            return "overflowed"
        if "void" in self.requests[fault]:
            return "discarded"
        if "abandon" in self.requests[fault]:
            return "abandoned"
        return "complete" if "resume" in self.requests[fault] else "unfinished"

    def effort(self, fault):
        """Whether storage was read: not known before the page is there, or has been refused."""
        stages = self.requests[fault]
        if "overflow" in stages or "void" in stages or "abandon" in stages:
            return "-"
        if fault in self.major:
            return "major"
        refused = "response" in stages and self.code[fault] != "success"
        return "minor" if refused or "resolved" in stages else "unknown"

    def brought_by_another(self, fault):
        """Another fault's handler brought the page while this one waited for its own."""
        stages, (device, pasid, _, address) = self.requests[fault], self.where[fault]
        return "handler" in stages and any(
            other != fault and (where[0], where[1], where[3]) == (device, pasid, address) and "abandon" in self.requests[other] and
            stages["detect"] < self.requests[other].get("resolved", 0) < stages["handler"] for other, where in self.where.items())

    def keyed(self):
        """(device, pasid, group, address) -> requests in the order in which they were raised."""
        keyed = collections.defaultdict(list)
        for request, where in self.where.items():
            keyed[where].append(request)
        for requests in keyed.values():
            requests.sort()
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


def compare_faults(log, rows, sources, alone):
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
        # By the order in which they got their group index, not by their beginnings: some waited for it.
        found.sort(key=lambda row: int(row["instance"]))
        if len(ids) > len(found):
            problems["missed"].append(f"{key}: {len(ids)} happened, {len(found)} reconstructed")
        if len(ids) < len(found):
            problems["invented"].append(f"{key}: {len(ids)} happened, {len(found)} reconstructed")
        for fault, row in zip(ids, found):
            compare_fault(log, fault, row, problems, alone)
    return problems


def compare_fault(log, request, row, problems, alone):
    truth, times = log.requests[request], row_times(row)
    for stage in STAGES:
        if stage in times and stage in truth:
            log.apart[stage].append(abs(times[stage] - truth[stage]))
    name = f"request {request} {log.where[request]}"
    lacking = [stage for stage in STAGES if stage in truth and stage not in times]
    extra = [stage for stage in STAGES if stage in times and stage not in truth]
    if lacking or extra:
        problems["stages"].append(f"{name}: lacking {lacking}, invented {extra}, "
                                  f"{row['state']}")
    if row["state"] != log.state(request):
        problems["state"].append(f"{name}: {log.state(request)}, but is {row['state']}")
    order = [times[stage] for stage in STAGES if stage in times]
    if order != sorted(order):
        problems["order"].append(f"{name}: {times}")
    code = log.code.get(request, "-")
    if row["response"] != code:
        problems["response"].append(f"{name}: {row['response']}, sent {code}")
    if row["cause"] != log.cause.get(request, "-"):
        problems["cause"].append(f"{name}: {row['cause']}, not {log.cause.get(request)}")
    if row["kind"] != log.effort(request):
        problems["kind"].append(f"{name}: {row['kind']}, not {log.effort(request)}")
    if log.cause.get(request) == "permission" and row["cpu_faults"] != "0":
        problems["cpu"].append(f"{name}: {row['cpu_faults']} CPU faults for a page that was there")
    elif "request" not in truth and "handler" not in truth and "resolved" in truth:
        # Found by the kernel (lookup=uffd): the CPU's fault comes first, and no handler has one.
        if row["cpu_faults"] != "0":
            problems["cpu"].append(f"{name}: {row['cpu_faults']} CPU faults of a fault without a handler")
    elif request in log.major or (alone and log.cause.get(request) == "-"):
        inside = row["cpu_fault_ns"] and "handler" in times and "resolved" in times and (
            times["handler"] <= int(row["cpu_fault_ns"]) <= times["resolved"])
        if (row["cpu_faults"] != "1" or not inside) and not (row["cpu_faults"] == "0" and log.brought_by_another(request)):
            problems["cpu"].append(f"{name}: {row['cpu_faults']} CPU faults, {times}, "
                                   f"at {row['cpu_fault_ns']}")
    if bool(row["held_back_ns"]) != ("held" in truth):
        problems["held"].append(f"{name}: held back {row['held_back_ns']}, {truth.get('held')}")
    if bool(row["abandoned_ns"]) != ("abandon" in truth) or (
            row["abandoned_ns"] and not truth["abandon"] <= int(row["abandoned_ns"]) <= log.end):
        problems["abandoned"].append(f"{name}: at {row['abandoned_ns']}, not after "
                                     f"{truth.get('abandon')}")
    for stage, (before, after) in BETWEEN.items():
        earliest = max((truth[mark] for mark in before if mark in truth), default=log.begin)
        latest = min((truth[mark] for mark in after if mark in truth), default=log.end)
        if stage in times and not earliest <= times[stage] <= latest:
            problems["times"].append(f"{name}: {stage} at {times[stage]}, not between {earliest} "
                                     f"and {latest}")


def compare_apart(logs, apart_ns):
    problems = []
    for stage in STAGES:
        apart = [ns for log in logs for ns in log.apart[stage]]
        if len(apart) < APART_FAULTS:
            problems.append(f"{stage}: of {len(apart)} faults only")
        elif min(apart) < apart_ns:
            problems.append(f"{stage}: {min(apart)} ns apart in one of {len(apart)} faults")
    return problems


def compare_counts(logs, directory):
    problems = []
    seen = {row["kind"]: int(row["events"]) for row in table(directory, "events")}
    total = sum((log.counts for log in logs), collections.Counter())
    for word, kind in COUNTED.items():
        if seen.get(kind, 0) != total[word]:
            problems.append(f"{kind}: {seen.get(kind, 0)} seen, {total[word]} happened")
    for word, kind in PER_GROUP.items():
        happened = sum(len(log.groups[word]) for log in logs)
        if seen.get(kind, 0) != happened:
            problems.append(f"{kind}: {seen.get(kind, 0)} seen, {happened} groups")
    if total["handler"] and not seen.get("fault handler running", 0):
        problems.append("no handler thread was seen being scheduled")
    return problems


def compare_order(logs):
    """Requests get their places in the queue in the order of time, none is left out, and the interrupt
    handler takes them one after the other."""
    problems = []
    for log in logs:
        for what, places in log.places.items():
            ordered = sorted(places)
            if [place for place, _ in ordered] != list(range(len(ordered))):
                problems.append(f"the places of requests at {what} are not 0, 1, 2 ...")
            problems += [f"{what} of place {place} at {now}, of the one before at {before}"
                         for (_, before), (place, now) in zip(ordered, ordered[1:])
                         if now < before]
    return problems


def compare_summary(logs, directory):
    """The sums that a reader sees, by state; a request is one of them and counts once."""
    rows = table(directory, "summary")
    # What is told as unknown is no number that could have happened.
    found = {state: sum(int(row[state] or -1) for row in rows) for state in STATES}
    states = collections.Counter(log.state(fault) for log in logs for fault in log.where)
    happened = {state: states[state] for state in STATES}
    found["faults"] = sum(int(row["faults"] or -1) for row in rows)
    happened["faults"] = sum(states.values())
    return [] if found == happened else [f"{found}, happened {happened}"]


def compare_bursts(rows, directory):
    """More than 5 faults of a device within a second, from all of them in the order of their begin; sets
    that share a fault are one burst."""
    begins, expected = collections.defaultdict(list), []
    for row in rows:
        begins[row["device"], row["handle"]].append(int(row["start_ns"] or 0))
    # Machines that run one after the other have devices of one name, each its own.
    for (device, _), times in begins.items():
        times.sort()
        last = -1
        for i in range(len(times) - 5):
            if times[i + 5] - times[i] >= 10**9:
                continue
            if i > last:
                expected.append([device, times[i], 0, 0])
            expected[-1][2] = times[i + 5] - expected[-1][1]
            expected[-1][3] += i + 5 - max(last, i - 1)
            last = i + 5
    found = [[row["device"], int(row["from_ns"]), int(row["duration_ns"]), int(row["faults"])]
             for row in table(directory, "bursts")]
    problems = [f"burst {burst}" for burst in found if burst not in expected]
    problems += [f"no burst {burst}" for burst in expected if burst not in found]
    firsts = sorted((device, min(times)) for (device, _), times in begins.items())
    told = sorted((row["device"], int(row["first_ns"] or -1)) for row in table(directory, "summary"))
    if firsts != told:
        problems.append(f"first faults {told}, not {firsts}")
    return len(expected), problems


def compare_ios(logs, devices, directory):
    """I/Os that the access logs told against those that the device engines logged. Loss is counted in
    accesses, of which an I/O has one for each range of memory."""
    emulated = {row["device"] for row in devices.values() if row["kind"] == "emulated"}
    done = sum(sum(log.ios.values()) for log in logs)
    parts = sum(log.counts["io_part"] for log in logs)
    loss = {row["what"]: int(row["count"]) for row in table(directory, "loss")}
    told = loss["access_received"] + loss["access_lost"]
    if told != done + parts:
        return [f"{told} accesses received or lost, {done + parts} made"]
    seen = sum(int(row["ios"]) for row in table(directory, "io_devices")
               if row["device"] in emulated)
    if not done - loss["access_lost"] <= seen <= done or (not parts and
                                                          seen + loss["access_lost"] != done):
        return [f"{seen} seen, {loss['access_lost']} accesses lost, {done} done"]
    return []


def open_faults(log):
    """(device, queue) -> (began, was open until here at least, was over by here at the latest)."""
    faults = collections.defaultdict(list)
    for fault, where in log.queues.items():
        stages = log.requests[fault]
        over = max(stages.get("resume", 0), stages.get("abandon", 0)) or log.end
        # What the IOMMU answered itself may still go through the host's stages, and be answered once more.
        until = ("detect", "request", "overflow", *([] if fault in log.automatic else ["response"]))
        sure = stages.get("abandon") or max(stages.get(stage, 0) for stage in until)
        faults[where].append((stages["detect"], sure, over))
    return faults


def met(faults, begin, end, which):
    """Whether one of a queue's faults was open between the two; `faults` in the order of their begin."""
    began = bisect.bisect_right(faults, (end, LATEST))
    return began > 0 and which[began - 1] >= begin


def compare_stock(log, where, done, faults):
    """The same of a stock guest's queue, of which only the device knows: it went on with others while one waited, so that an
    I/O is sure to be marked for a fault on a page of its own, from beginning to end within it. Returns (marked, problems)."""
    mine = sorted(faults[where])
    over = list(itertools.accumulate((fault[2] for fault in mine), max))
    on_page = collections.defaultdict(list)
    for fault, (device, _, _, address) in log.where.items():
        if log.queues[fault] == where and "resume" in log.requests[fault]:
            on_page[device, address >> 12].append((log.requests[fault]["detect"], log.requests[fault]["resume"]))
    marked, problems = 0, []
    for io in done:
        end, begin = io["time_ns"], io["time_ns"] - io["value"]
        pages = log.pages[where[0], where[1], end]
        own = [span for page in pages for span in on_page[where[0], page] if begin <= span[0] and span[1] <= end]
        if io["code"] & FAULTED:
            marked += 1
            if not met(mine, begin, end, over):
                problems.append(f"{where}: an I/O from {begin} to {end} is marked, no fault was open")
        elif own:
            problems.append(f"{where}: an I/O from {begin} to {end} is not marked, a fault of its own was open")
    return marked, problems


def compare_faulted(logs):
    """I/Os marked as faulted against the faults of their queue between submission and completion. A queue
    completes in the order in which the guest submits. With a rate the guest's time begins when the I/O was due, which
    may be before it was submitted: sure is only that it was when the device fetched it."""
    compared = marked = 0
    problems = []
    for log in logs:
        faults = open_faults(log)
        for where, done in log.done.items():
            if where[0] not in log.driven:
                met_some, wrong = compare_stock(log, where, done, faults)
                compared, marked, problems = compared + len(done), marked + met_some, problems + wrong
                continue
            sent, mine = log.sent[where], sorted(faults[where])
            if len(sent) != len(done):
                problems.append(f"{where}: {len(done)} I/Os done, {len(sent)} of them seen by the guest")
            sure = list(itertools.accumulate((fault[1] for fault in mine), max))
            over = list(itertools.accumulate((fault[2] for fault in mine), max))
            for io, guest in zip(done, sent):
                end, due = io["time_ns"], guest["time_ns"] - guest["value"]
                submitted = end - io["value"] if where[0] in log.rated else due
                faulted = bool(io["code"] & FAULTED)
                compared, marked = compared + 1, marked + faulted
                if faulted and not met(mine, due, end, over):
                    problems.append(f"{where}: an I/O from {due} to {end} is marked, no fault was open")
                if not faulted and met(mine, submitted, end, sure):
                    problems.append(f"{where}: an I/O from {submitted} to {end} is not marked, a fault was open")
    return compared, marked, problems


def main(arguments):
    alone = "--evictions-race" not in arguments
    directory, *paths = [a for a in arguments if not a.startswith("--")]
    logs = [TruthLog(path) for path in paths]
    devices = {row["handle"]: row for row in table(directory, "devices")}
    sources = {handle: whole(row["source_id"]) for handle, row in devices.items()}
    rows = table(directory, "faults")
    problems, claimed = collections.defaultdict(list), 0
    for log in logs:
        # One machine runs at a time: its faults began within its log's times.
        mine = [row for row in rows
                if log.begin - 10**6 <= int(row["start_ns"] or 0) <= log.end + 10**6]
        claimed += len(mine)
        for check, found in compare_faults(log, mine, sources, alone).items():
            problems[check] += found
    if claimed != len(rows):
        problems["invented"].append(f"{len(rows) - claimed} faults outside every machine's life")
    happened = sum(len(log.where) for log in logs)
    result(f"every fault reconstructed ({happened})", problems["missed"])
    result("none invented", problems["invented"])
    result("every stage seen", problems["stages"])
    result("stages in order", problems["order"])
    result("every timestamp between those of the log", problems["times"])
    result("when devices gave up", problems["abandoned"])
    held = sum("held" in stages for log in logs for stages in log.requests.values())
    result(f"what devices held back ({held})", problems["held"])
    result("finished and unfinished told apart", problems["state"])
    result("response codes", problems["response"])
    result("minor and major told apart", problems["kind"])
    result("what was missing, page or permission", problems["cause"])
    held = sum(len(log.major) if not alone else
               sum("resolved" in stages for stages in log.requests.values()) for log in logs)
    result(f"one CPU fault inside each {'resolved' if alone else 'major'} fault's handler ({held})",
           problems["cpu"])
    result(f"requests in the order of the queue ({sum(len(log.places['request']) for log in logs)})",
           compare_order(logs))
    result("what the report says in all", compare_summary(logs, directory))
    bursts, wrong = compare_bursts(rows, directory)
    result(f"bursts by the begin of faults ({bursts})", wrong)
    result("counts of every kind", compare_counts(logs, directory))
    result(f"I/Os of the access log ({sum(sum(log.ios.values()) for log in logs)})",
           compare_ios(logs, devices, directory))
    compared, marked, wrong = compare_faulted(logs)
    result(f"I/Os that met a fault, or queued behind one ({marked} of {compared})", wrong)
    for option in arguments:
        if option.startswith("--apart="):
            result("log and probe of each stage are stamped apart",
                   compare_apart(logs, int(option.removeprefix("--apart="))))
    return closing()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
