#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds explanations of faults against the truth log of the emulated machine.

    compare_explained.py EXPLANATION CSVDIR TRUTH CAUSE...

EXPLANATION is the table of `faultline explain FILE --all --csv=FILE --raw-time`, CSVDIR what `report FILE --csv=CSVDIR
--raw-time` wrote, TRUTH the log of the one machine that ran (docs/truth-log.md). Every fault is explained;
the cause of each stage, and of the fault, is one that the log's own times, threads, places in the queue and injections
allow; the faults that a handler was busy with, or that were ahead in the queue, are those of the log; the I/Os that met
a fault are exactly those of the log, and whoever is said to have queued behind it had been due by then.

Expected is what the log's times say, or the table's, whose stages suite truth holds between those of the log: a thread
may have lost its CPU between the two stamps. Where times leave open which of two it was (both take about the half, an
injection began or ended within 2 ms), both will do. How many stages left nothing open is told. CAUSE: some fault must have it. Prints "ok - ..." lines.
"""
import collections
import csv
import json
import sys

from verdict import closing, result, table

STAGES = ("detect", "request", "isr", "handler", "resolved", "mapped", "response", "resume")
INTERVALS = ("request", "delivery", "dispatch", "resolve", "map", "respond", "resume")
DELAYED = {"delivery": 0, "dispatch": 1, "resolve": 2, "respond": 3}
LOST, FAILURE, OVERFLOW, EVICT = 4, 5, 6, 12
EDGE = 2 * 10**6
STAMPS = 2 * 10**4
SHORT = 10**5
FAULTED = 16


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def whole(text):
    return int(text, 0) if text else None


class Log:
    def __init__(self, path):
        self.stages = collections.defaultdict(dict)
        self.where, self.tids, self.places, self.codes, self.groups = {}, {}, {}, {}, {}
        self.major, self.automatic = set(), set()
        self.injections, self.evicted = [], collections.defaultdict(list)
        self.tenants, self.evictors, self.kinds = {}, {}, {}
        self.done, self.sent = collections.defaultdict(list), collections.defaultdict(list)
        for record in map(json.loads, open(path)):
            self.take(record, record["what"], record["fault"], record["time_ns"])
        self.members = collections.defaultdict(list)
        self.queues = collections.defaultdict(list)
        for fault in self.where:
            self.members[self.group(fault)].append(fault)
            self.queues[self.where[fault][0], self.where[fault][4]].append(fault)
        self.at_place = {place: fault for fault, place in self.places.items()}

    def take(self, record, what, fault, now):
        if what in STAGES or what in ("overflow", "void", "abandon", "held"):
            self.stages[fault][what] = now
        if what == "detect":
            self.where[fault] = (record["device"], record["pasid"], record["group"], record["address"], record["queue"])
            self.tenants[fault] = record["tenant"]
        elif what == "handler":
            self.tids[fault] = record["tid"]
        elif what == "isr":
            self.places[fault] = record["value"]
        elif what == "resolved" and record["flags"] & 32:
            self.major.add(fault)
        elif what == "response":
            self.codes[fault] = record["code"]
        elif what == "invalidate_start":
            # An eviction that finds its page gone, or in use, has taken it from the device all the same.
            for address in range(record["address"], record["address"] + max(record["length"], 1), 4096):
                self.evicted[record["tenant"], address].append((now, record["flags"] & 32, record["tid"]))
        elif what == "inject_start":
            if record["code"] == EVICT:
                self.evictors[record["value"]] = record["tid"]
            self.injections.append([record["code"], record["device"], now, 1 << 64])
        elif what == "inject_stop":
            for injection in self.injections:
                if injection[:2] == [record["code"], record["device"]] and injection[3] == 1 << 64:
                    injection[3] = now
        elif what == "io":
            self.done[record["device"], record["queue"]].append(record)
        elif what == "guest_io":
            self.sent[record["device"], record["queue"]].append(record)

    def evicted_by(self, fault):
        """The injections whose own threads evict as the fault's page was last evicted: None without one, or where the last ones differ: of a page that is gone already no device is told."""
        when = self.stages[fault]["detect"]
        self.kinds = self.kinds or {tid: kind for them in self.evicted.values() for _, kind, tid in them}
        all_of = self.evicted[self.tenants[fault], self.where[fault][3]]
        near = [one for one in all_of if abs(one[0] - when) <= EDGE]
        before = [one for one in all_of if one[0] < when - EDGE][-2:]
        if len({kind for _, kind, _ in near + before}) != 1:
            return None
        return {str(number) for number, tid in self.evictors.items() if self.kinds.get(tid) == (near + before)[0][1]}

    def group(self, fault):
        """All of one group become known at one time."""
        device, pasid, group, _, _ = self.where[fault]
        return device, pasid, group, self.stages[fault].get("handler", self.stages[fault]["detect"])

    def injected(self, fault, point, now):
        """Whether an injection was under way: None near its edges."""
        device = self.where[fault][0]
        for code, whom, start, stop in self.injections:
            if code != point or whom not in (device, None):
                continue
            if abs(now - start) < EDGE or abs(now - stop) < EDGE:
                return None
            if start < now < stop:
                return True
        return False

    def state(self, fault):
        stages = self.stages[fault]
        if "overflow" in stages:
            return "overflow"
        if "void" in stages:
            return "discarded"
        if "abandon" in stages:
            return "response_lost" if stages.get("response", 1 << 64) < stages["abandon"] else "no_response"
        return None

    def end(self, fault):
        stages = self.stages[fault]
        return stages.get("abandon") or stages.get("resume") or 1 << 64


def mostly(part, whole_ns):
    """True, False, or None where it is about the half, or a few stamps decide."""
    return True if part - STAMPS > 0.6 * whole_ns else False if part + STAMPS < 0.4 * whole_ns else None


def choose(answers):
    """The causes that are allowed: of (cause, True/False/None) the first that is sure, and those open before it."""
    allowed = set()
    for cause, sure in answers:
        if sure is not False:
            allowed.add(cause)
        if sure:
            break
    return allowed


class Judge:
    """What one source of times says: fault -> stage -> time."""

    def __init__(self, log, stages):
        self.log, self.stages = log, stages
        self.runs = collections.defaultdict(set)  # thread -> (from, to, group)
        for fault, tid in log.tids.items():
            mine = stages.get(fault, {})
            if "handler" in mine:
                self.runs[tid].add((mine["handler"], mine.get("response", mine["handler"]), log.group(fault)))

    def stage(self, fault, begin, end, name):
        """The causes that are allowed; None: it has not seen the stage."""
        mine = self.stages.get(fault, {})
        if begin not in mine or end not in mine:
            return None
        return getattr(self, name)(fault, mine[begin], mine[end])

    def others(self, fault):
        return [one for one in self.log.members[self.log.group(fault)] if one != fault]

    def last_of(self, times, start, end):
        return max((t for t in times if start < t <= end), default=start) - start

    def request(self, fault, start, end):
        return {"held_back"} if "held" in self.log.stages[fault] else {"unknown"}

    def delivery(self, fault, start, end):
        place = self.log.places[fault]
        before = self.log.at_place.get(place - 1)
        behind = self.stages.get(before, {}).get("isr", start) - start
        return choose([("injection", self.log.injected(fault, 0, start)),
                       ("queue_order", mostly(max(behind, 0), end - start)), ("unknown", True)])

    def busy(self, fault, start, end):
        return [(run, min(run[1], end) - max(run[0], start)) for run in self.runs[self.log.tids[fault]]
                if run[0] < end and run[1] > start and run[2] != self.log.group(fault)]

    def dispatch(self, fault, start, end):
        group = self.last_of((self.stages.get(one, {}).get("isr", 0) for one in self.others(fault)), start, end)
        busy = sum(ns for _, ns in self.busy(fault, start, end))
        injected = self.log.injected(fault, 1, start + group)
        late = mostly(busy, end - start)
        answers = [("group", mostly(group, end - start))]
        answers.append(("injection", injected))
        answers += [("busy_handler", late), ("cpu_wait", None), ("unknown", True)]
        return choose(answers)

    def resolve(self, fault, start, end):
        group = self.last_of((self.stages.get(one, {}).get("mapped", 0) for one in self.others(fault)), start, end)
        effort = "storage" if fault in self.log.major else "memory"
        injected = self.log.injected(fault, 2, start + group)
        return choose([("group", mostly(group, end - start)), ("injection", injected), (effort, True)])

    def map(self, fault, start, end):
        return {"unknown"}

    def respond(self, fault, start, end):
        group = self.last_of((self.stages.get(one, {}).get("mapped", 0) for one in self.others(fault)), start, end)
        return choose([("group", mostly(group, end - start)),
                       ("injection", self.log.injected(fault, 3, start + group)), ("unknown", True)])

    def resume(self, fault, start, end):
        device, _, _, _, queue = self.log.where[fault]
        others = [self.stages.get(one, {}) for one in self.log.queues[device, queue]
                  if self.log.group(one) != self.log.group(fault)]
        peers = self.last_of((s.get("response") or s.get("abandon") or 0 for s in others), start, end)
        return choose([("other_groups", mostly(peers, end - start)), ("unknown", True)])


def row_times(row):
    """Stage -> time, of those that were seen, and when its device gave up."""
    times, now = {"detect": int(row["start_ns"])}, int(row["start_ns"])
    for stage, interval in zip(STAGES[1:], INTERVALS):
        if row[f"{interval}_ns"]:
            now += int(row[f"{interval}_ns"])
            times[stage] = now
    if row["abandoned_ns"]:
        times["abandon"] = int(row["abandoned_ns"])
    return times


def match(log, rows, sources, problems):
    """Row number -> the log's fault."""
    keyed, matched = collections.defaultdict(list), {}
    for fault, (device, pasid, group, address, _) in sorted(log.where.items()):
        keyed[device, pasid, group, address].append(fault)
    found = collections.defaultdict(list)
    for number, row in enumerate(rows, 1):
        found[sources[row["handle"]], whole(row["pasid"]), int(row["group"]), int(row["address"], 16)].append(
            (int(row["instance"]), number))
    for key in keyed.keys() | found.keys():
        if len(keyed[key]) != len(found[key]):
            problems.append(f"{key}: {len(keyed[key])} happened, {len(found[key])} in the table")
        for fault, (_, number) in zip(keyed[key], sorted(found[key])):
            matched[number] = fault
    return matched


def judge_stages(log, judges, fault, row, mine, problems):
    """How many of its stages left nothing open."""
    sure = 0
    sentences = {item["stage"]: item for item in mine if item["part"] == "stage" and item["text"]}
    for begin, end, name in zip(STAGES, STAGES[1:], INTERVALS):
        if not row[f"{name}_ns"]:
            if name in sentences:
                problems["stages"].append(f"row {fault}: {name} was not measured and is explained")
            continue
        if name not in sentences:
            problems["stages"].append(f"fault {fault}: {name} is not explained")
            continue
        allowed = set().union(*(judge.stage(fault, begin, end, name) or () for judge in judges))
        if not allowed:
            continue
        sure += len(allowed) == 1
        if sentences[name]["cause"] not in allowed:
            problems["stages"].append(f"fault {fault} {log.where[fault]}: {name} of {row[f'{name}_ns']} ns is put down to "
                                      f"{sentences[name]['cause']}, the log says {sorted(allowed)}")
    return sure


def judge_cause(log, fault, row, mine, problems):
    causes = [item for item in mine if item["part"] == "cause" and item["text"]]
    if len(causes) != 1:
        problems["cause"].append(f"fault {fault}: {len(causes)} causes")
        return
    cause, state = causes[0], log.state(fault)
    lengths = {name: int(row[f"{name}_ns"] or 0) for name in INTERVALS}
    if state and cause["cause"] != state:
        problems["cause"].append(f"fault {fault}: {cause['cause']}, the log says {state}")
    if not state:
        longest = max(lengths, key=lambda name: lengths[name])
        of_stage = {item["stage"]: item["cause"] for item in mine if item["part"] == "stage" and item["text"]}
        if cause["stage"] != longest or cause["cause"] != of_stage[longest]:
            problems["cause"].append(f"fault {fault}: {cause['stage']}: {cause['cause']}, longest is {longest}: {of_stage}")
    said = {item["evidence"] for item in mine if item["part"] == "cause"}
    stages = log.stages[fault]
    forced = {"overflow": OVERFLOW, "response_lost": LOST}.get(state) or (FAILURE if log.codes.get(fault) == 15 else None)
    if forced and state != "overflow":
        now = stages.get("response", stages.get("overflow"))
        injected = log.injected(fault, forced, now)
        if injected is not None and injected != ("injection" in said):
            problems["cause"].append(f"fault {fault}: {state or 'failed'}, injected: {injected}, evidence: {said}")


def judge_injected(log, fault, mine, problems):
    """Who evicted its page; who delayed the others of its group."""
    told = {item["number"] for item in mine if item["part"] == "memory" and item["evidence"] == "injection"}
    true = log.evicted_by(fault)
    if true is not None and told != true:
        problems["evictions"].append(f"fault {fault}: evicted by {sorted(told)}, the log says {sorted(true)}")
    resolve = [item for item in mine if item["part"] == "stage" and item["stage"] == "resolve"]
    if resolve and resolve[0]["cause"] == "group" and log.injected(fault, 2, log.stages[fault]["handler"]) and \
            not any(item["evidence"] == "injection" for item in resolve):
        problems["evictions"].append(f"fault {fault}: an injection delayed its group and is not named")


def judge_shares(fault, mine, problems):
    """Of one base, which holds all stages."""
    shares = [float(item["share_percent"] or 0) for item in mine if item["part"] == "stage" and item["text"]]
    if shares and abs(sum(shares) - 100) > 0.01:
        problems["shares"].append(f"fault {fault}: stages are {shares} % of it")
    for item in mine:
        if float(item["share_percent"] or 0) > 100.01:
            problems["shares"].append(f"fault {fault}: {item['share_percent']} %: {item['text']}")


def judge_named(log, judges, fault, mine, devices, problems):
    """The other groups that a handler was busy with; who was the last ahead in the queue."""
    named = {(devices[item["of_handle"]], int(item["of_group"])) for item in mine
             if item["part"] == "stage" and item["cause"] == "busy_handler"}
    if named:
        true, sure = set(), None
        for judge in judges:
            stages = judge.stages.get(fault, {})
            busy = judge.busy(fault, stages["isr"], stages["handler"])
            true |= {run[2][0:3:2] for run, _ in busy}
            long = {run[2][0:3:2] for run, ns in busy if ns > SHORT}
            sure = long if sure is None else sure & long
        if not (sure <= named <= true):
            problems["busy"].append(f"fault {fault}: busy with {sorted(named)}, the log says {sorted(true)}")
    first = next((item for item in mine if item["part"] == "stage" and item["cause"] == "queue_order" and item["text"]), None)
    if first:
        before = log.at_place[log.places[fault] - 1]
        told = devices[first["of_handle"]], int(first["of_group"])
        if told != log.group(before)[0:3:2]:
            problems["busy"].append(f"fault {fault}: behind {told} in the queue, the log says {log.group(before)}")
    return bool(named), first is not None


def judge_ios(log, fault, mine, problems, named):
    device, _, _, _, queue = log.where[fault]
    begin, end = log.stages[fault]["detect"], log.end(fault)
    true = {io["time_ns"] for io in log.done[device, queue]
            if io["time_ns"] >= begin and io["time_ns"] - io["value"] <= end}
    told = {int(item["to_ns"]) for item in mine if item["evidence"] == "io"}
    behind = {int(item["to_ns"]) for item in mine if item["evidence"] == "io_behind"}
    if told != true:
        problems["ios"].append(f"fault {fault}: met by I/Os that ended at {sorted(told)}, the log says {sorted(true)}")
    named |= {(device, queue, when) for when in told | behind}
    due = {io["time_ns"]: guest["time_ns"] - guest["value"]
           for io, guest in zip(log.done[device, queue], log.sent[device, queue]) if io["time_ns"] in behind}
    for when in behind:
        if when not in due or due[when] > end:
            problems["behind"].append(f"fault {fault}: {when} queued behind it, but was due at {due.get(when)}")
    return len(told), len(behind)


def main(explanation_path, directory, truth_path, causes):
    log = Log(truth_path)
    faults, explained = table(directory, "faults"), collections.defaultdict(list)
    sources = {row["handle"]: whole(row["source_id"]) for row in table(directory, "devices")}
    for item in rows_of(explanation_path):
        explained[int(item["row"])].append(item)
    problems, named = collections.defaultdict(list), set()
    counts = collections.Counter()
    matched = match(log, faults, sources, problems["rows"])
    judges = (Judge(log, log.stages),
              Judge(log, {matched[number]: row_times(row) for number, row in enumerate(faults, 1) if number in matched}))
    for number, row in enumerate(faults, 1):
        mine, fault = explained.pop(number, []), matched.get(number)
        parts = {item["part"] for item in mine}
        if fault is None or not {"who", "memory", "outcome", "cause", "waited", "help"} <= parts:
            problems["rows"].append(f"row {number}: {sorted(parts)}")
            continue
        counts["stages"] += judge_stages(log, judges, fault, row, mine, problems)
        judge_cause(log, fault, row, mine, problems)
        busy, order = judge_named(log, judges, fault, mine, sources, problems)
        met, behind = judge_ios(log, fault, mine, problems, named)
        judge_injected(log, fault, mine, problems)
        judge_shares(fault, mine, problems)
        counts.update(busy=busy, order=order, ios=met, behind=behind)
        counts[f"cause {next(item['cause'] for item in mine if item['part'] == 'cause')}"] += 1
        for item in mine:
            counts["evictions"] += item["part"] == "memory" and item["evidence"] == "injection"
    marked = {(device, queue, io["time_ns"]) for (device, queue), ios in log.done.items() for io in ios if io["code"] & FAULTED}
    result(f"every fault is explained, and no other ({len(faults)})",
           problems["rows"] + [f"rows {sorted(explained)}" for _ in explained])
    result(f"why each stage took its time, of {counts['stages']} beyond doubt", problems["stages"])
    result("the cause is that of the longest stage, or of what became of it", problems["cause"])
    result(f"whom its handler was busy with ({counts['busy']}), who was ahead in the queue ({counts['order']})",
           problems["busy"])
    result(f"I/Os that met each fault ({counts['ios']})", problems["ios"])
    result(f"I/Os that queued behind it had been due by then ({counts['behind']})", problems["behind"])
    result(f"each I/O that met a fault, or queued behind one, is named ({len(marked)})",
           [f"{one}" for one in sorted(marked - named)])
    for cause in causes:
        result(f"some faults are put down to {cause} ({counts['cause ' + cause]})", [] if counts["cause " + cause] else ["none"])
    result(f"evictions, and delays of a group, are named with the injection ({counts['evictions']})",
           problems["evictions"])
    result("shares are of one time that holds all stages", problems["shares"])
    return closing()


sys.exit(main(*sys.argv[1:4], sys.argv[4:]))
