#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What devices with a mode and their guests did against what was recorded of it.

    compare_verbs.py TRUTH RECORDING TABLES DEVICE=MODE,... [PROBE,PROBE...]

TRUTH is the log of `faultline-inject run --truth`, TABLES a directory of `faultline report --csv`; the devices are those of the
job, in its order. First the truth by itself: what each role has pinned is what is registered, whenever that is told. Then
each probe, from the recording's events and frames alone, then the tables. With probes named, those must be missed, and no
other.
"""
import collections
import csv
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import flt_read
from recorded import EVENT, KINDS, ROW, end, end_without, equal, text

ROLES = "guest", "remap", "driver"
CAUSES = "kick", "inject", "inject event", "forwarded post"
OPCODES = "send", "write", "read", "receive"
STAGES = "syscall queue kick filter pin remap driver install reply wake".split()
WORK = "post doorbell dma completion reaped total".split()
REMAP, WAKE, TOTAL = STAGES.index("remap"), STAGES.index("wake"), WORK.index("total")
FOLLOW = {"hybrid": {0, 1, 2}, "odp": {0, 1, 2}, "native": {2}, "passthrough": {2}}
VERBS = {int(number): name for number, name in re.findall(r"^VERB_KIND\(\w+, (\d+), \"(\w+)\"\)", text("bpf/verb_kinds.def"), re.M)}


class Recording:
    def __init__(self, path):
        self.devices = {}
        self.events = collections.defaultdict(list)
        self.rows = collections.defaultdict(list)
        for call, fields in flt_read.read(path):
            if call == "device":
                self.devices[fields[0]] = bytes.fromhex(fields[2]).decode()
            elif call == "event":
                event = dict(zip(EVENT, fields))
                self.events[KINDS.get(event["kind"], "")].append(event)
            elif call == "row":
                row = dict(zip(ROW, fields))
                self.rows[KINDS.get(row["kind"], "")].append(row)

    def name(self, event):
        return self.devices.get(event["device"], "-")


class Truth:
    def __init__(self, path, devices):
        self.devices = [name for name, _ in devices]
        self.modes = dict(devices)
        self.records = collections.defaultdict(list)
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                self.records[record["what"]].append(record)

    def name(self, record):
        return self.devices[record["device"]]

    def of(self, *kinds):
        """In the order in which they were told, which is that of their times but for what one thread tells at one time."""
        return sorted((r for kind in kinds for r in self.records[kind]), key=lambda r: r["time_ns"])


def check_truth(t):
    now, seen = collections.Counter(), collections.Counter()
    differed, registered = [], collections.Counter()
    for r in t.of("pinned", "unpinned", "registered"):
        name = t.name(r)
        if r["what"] != "registered":
            now[name, r["code"]] = r["value"]
            continue
        registered[name] = r["value"]
        for role in FOLLOW[t.modes[name]]:
            seen[name] += 1
            if now[name, role] != r["value"]:
                differed.append((name, ROLES[role], now[name, role], r["value"]))
    equal("in each role what is pinned is what is registered", differed, [])
    equal("of every device that registered anything", set(seen), set(registered))
    equal("nothing stays registered or pinned", {key: n for key, n in {**registered, **now}.items() if n}, {})


def compare_verbs(r, t):
    got = collections.Counter((r.name(e), e["group"], e["code"], e["queue"], e["length"], e["instance"], e["address"])
                              for e in r.events["verb"])
    want = collections.Counter((t.name(v), v["fault"], v["code"], v["queue"], v["length"], v["group"], v["address"])
                               for v in t.records["verb"])
    equal("verb", got, want, "verb")
    told = {(t.name(v), v["fault"], v["address"]): v for v in t.records["verb"]}
    first = {}
    for s in t.of("verb_stage"):
        first.setdefault((t.name(s), s["fault"]), s["time_ns"])
    wrong = []
    for e in r.events["verb"]:
        v = told.get((r.name(e), e["group"], e["address"]))
        # Its stages are no longer than all of it by the log's own clock; its probe lies between what the log tells.
        if v and not (e["value"] <= v["value"] and v["time_ns"] <= e["time"] <= first.get((r.name(e), e["group"]), e["time"])):
            wrong.append((e, v))
    equal("verb: between the log's records, its stages within it", wrong, [], "verb")
    most = 2**32 - 1
    got = collections.Counter((r.name(e), e["group"], e["queue"], e["code"], e["value"]) for e in r.events["verb_stage"])
    want = collections.Counter((t.name(s), s["fault"], s["code"], s["group"], min(s["value"], most)) for s in t.records["verb_stage"])
    equal("verb_stage", got, want, "verb_stages")
    sums = collections.Counter()
    for e in r.events["verb_stage"]:
        sums[r.name(e), e["group"]] += e["value"]
    whole = {(r.name(e), e["group"]): e["value"] for e in r.events["verb"]}
    if r.events["verb"] and r.events["verb_stage"]:
        equal("verb: is its stages", {k: n for k, n in whole.items() if n < most}, {k: sums[k] for k, n in whole.items() if n < most})
    got = collections.Counter((r.name(e), e["group"], e["code"], e["value"], e["address"]) for e in r.events["verb_woken"])
    want = collections.Counter((t.name(w), w["fault"], w["code"], w["value"], w["address"]) for w in t.records["verb_woken"])
    equal("verb_woken", got, want, "verb_woken")


def by_device(pairs):
    lists = collections.defaultdict(list)
    for name, value in pairs:
        lists[name].append(value)
    return dict(lists)


def compare_pins(r, t):
    signed = {"pinned": 1, "unpinned": -1}
    got = by_device((r.name(e), (e["code"], -e["length"] if e["group"] else e["length"], e["value"], e["address"], e["queue"]))
                    for e in r.events["pinned"])
    want = by_device((t.name(p), (p["code"], signed[p["what"]] * p["length"], p["value"], p["address"], p["group"]))
                     for p in t.of("pinned", "unpinned"))
    equal("pinned, one after the other", got, want, "pinned")
    got = by_device((r.name(e), e["value"]) for e in r.events["registered"])
    equal("registered, one after the other", got, by_device((t.name(g), g["value"]) for g in t.of("registered")), "registered")


def compare_guests(r, t):
    got = by_device((r.name(e), (e["value"], e["length"], e["address"], e["group"])) for e in r.events["guest_exits"])
    told = by_device((t.name(x), x["value"]) for x in t.of("guest_exits"))
    want = {name: [(v[i], v[i + 1], v[i + 2], v[i + 3]) for i in range(0, len(v), 4)] for name, v in told.items()}
    equal("guest_exits, one after the other", got, want, "guest_exits")
    got = by_device((r.name(e), (e["code"], e["value"], e["length"])) for e in r.events["guest_state"])
    want = by_device((t.name(g), (int(g["what"] == "guest_began"), g["value"], g["length"])) for g in t.of("guest_began", "guest_ended"))
    equal("guest_state", got, want, "guest_state")


def work_told(r, t):
    """Of each device, opcode and stage: how many, their time, their bytes, how many failed."""
    got = collections.defaultdict(lambda: [0, 0, 0, 0])
    for e in r.rows["work_request"] + r.events["work_request"]:
        sums = got[r.name(e), e["queue"], e["code"]]
        count = e.get("count", 1)
        sums[0] += count
        sums[1] += e.get("sum", e.get("value"))
        sums[2] += e.get("bytes", e.get("length"))
        sums[3] += count if e["flags"] & 32 and e["code"] == TOTAL else 0
    want = collections.defaultdict(lambda: [0, 0, 0, 0])
    for w in t.records["work_stage"]:
        sums = want[t.name(w), w["code"], w["address"]]
        sums[0] += 1
        sums[1] += w["value"]
    for w in t.records["work_request"]:
        sums = want[t.name(w), w["code"], TOTAL]
        for i, more in enumerate((1, w["value"], w["length"], w["address"] != 0)):
            sums[i] += more
    return dict(got), dict(want)


def compare_work(r, t):
    got, want = work_told(r, t)
    equal("work_request, by stage: how many, ns, bytes, failed", got, want, "work_request")
    return want


def table(directory, name):
    with open(os.path.join(directory, name + ".csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def compare_tables(directory, t, work):
    count, errors, stages = collections.Counter(), collections.Counter(), collections.defaultdict(lambda: [0, 0])
    for v in t.records["verb"]:
        count[t.name(v), VERBS[v["code"]]] += 1
        errors[t.name(v), VERBS[v["code"]]] += v["queue"] != 0
    for s in t.records["verb_stage"]:
        sums = stages[t.name(s), VERBS[s["code"]], STAGES[s["group"]]]
        sums[0] += 1
        sums[1] += s["value"]
    for w in t.records["verb_woken"]:
        sums = stages[t.name(w), VERBS[w["code"]], "wake"]
        sums[0] += 1
        sums[1] += w["value"]
    rows = table(directory, "verbs")
    equal("table verbs", {(row["device"], row["verb"]): (int(row["count"]), int(row["errors"])) for row in rows if row["stage"] == "total"},
          {key: (count[key], errors[key]) for key in count})
    equal("table verbs: stages", {(row["device"], row["verb"], row["stage"]): [int(row["count"]), int(row["sum_ns"])]
                                  for row in rows if row["stage"] != "total"}, dict(stages))
    most, refused, registered = collections.Counter(), collections.Counter(), collections.Counter()
    asked = collections.Counter()
    for p in t.of("pinned", "unpinned", "registered"):
        name = t.name(p)
        if p["what"] == "pinned" and p["group"]:
            refused[name] += 1
            asked[name] += p["length"]
        if p["what"] == "registered":
            registered[name] = max(registered[name], p["value"])
        else:
            most[name, ROLES[p["code"]]] = max(most[name, ROLES[p["code"]]], p["value"])
    rows = table(directory, "pins")
    equal("table pins: most", {(row["device"], role): int(row[role + "_most_bytes"]) for row in rows for role in ROLES
                               if row[role + "_most_bytes"]}, dict(most))
    equal("table pins: registered", {row["device"]: int(row["registered_most_bytes"] or 0) for row in rows if row["registered_most_bytes"]},
          {name: n for name, n in registered.items() if n or name in {t.name(g) for g in t.records["registered"]}})
    equal("table pins: bytes refused", {row["device"]: int(row["refused_size_bytes"]) for row in rows if int(row["refused_size_bytes"] or 0)}, dict(+asked))
    equal("table pins: refused", {row["device"]: int(row["refused"]) for row in rows if int(row["refused"])}, dict(+refused))
    equal("table pins: nothing is left, nothing differed, nothing faulted",
          {tuple(int(row[c] or 0) for c in ("left_bytes", "differed", "faults")) for row in rows}, {(0, 0, 0)})
    last = {(t.name(x), CAUSES[x["code"]]): x["value"] for x in t.of("guest_exits")}
    equal("table exits", {(row["device"], row["cause"]): int(row["exits"]) for row in table(directory, "exits")}, last)
    rows = {(row["device"], row["opcode"], row["stage"]): (int(row["count"]), int(row["sum_ns"])) for row in table(directory, "work_requests")}
    equal("table work_requests", rows, {(name, OPCODES[opcode], WORK[stage]): (sums[0], sums[1])
                                        for (name, opcode, stage), sums in work.items()})


def main():
    truth, recording, tables = sys.argv[1:4]
    devices = [tuple(word.split("=")) for word in sys.argv[4].split(",")]
    absent = set(sys.argv[5].split(",")) if len(sys.argv) > 5 else None
    r, t = Recording(recording), Truth(truth, devices)
    if absent is None:
        check_truth(t)
    compare_verbs(r, t)
    compare_pins(r, t)
    compare_guests(r, t)
    work = compare_work(r, t)
    if absent is None:
        compare_tables(tables, t, work)
        end("compare_verbs")
    end_without(absent)


main()
