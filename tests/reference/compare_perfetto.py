#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Holds a Perfetto trace against the tables of the same recording: compare_perfetto.py LIBRARY TRACE TEXT CSV [WALL [UNTIL]]

What it has is asked of Perfetto's own trace processor (LIBRARY), and read once more from what `protoc --decode` made
of it (TEXT). CSV has the tables of report and slo with raw times, WALL those of report with wall-clock times.
"""
import calendar
import re
import sys
import time
from collections import Counter, defaultdict

from trace_processor import TraceProcessor
from verdict import closing, result, table

STAGES = ("request", "delivery", "dispatch", "resolve", "map", "respond", "resume")
SECOND = 1_000_000_000
OPEN_WINDOW = 10_000_000

# A slice with what is above it, and all that was told of it.
SLICES = """select s.id, s.ts, s.dur, s.depth, s.name, s.category, s.track_id, s.parent_id, s.arg_set_id, t.name as lane,
    p.name as place, q.name as above from slice s join track t on t.id = s.track_id left join track p on
    p.id = t.parent_id left join track q on q.id = p.parent_id"""


class Trace:
    def __init__(self, library, path):
        self.tp = TraceProcessor(library, path)
        arguments = defaultdict(dict)
        for row in self.tp.query("select arg_set_id, key, int_value, string_value, real_value from args"):
            value = next((row[kind] for kind in ("int_value", "string_value", "real_value") if row[kind] is not None), None)
            arguments[row["arg_set_id"]][row["key"].removeprefix("debug.")] = value
        self.slices = self.tp.query(SLICES)
        self.of = defaultdict(list)
        self.by_id = {}
        for s in self.slices:
            s["from"], s["to"] = int(s["ts"]), int(s["ts"]) + int(s["dur"])
            s["args"] = arguments[s["arg_set_id"]] if s["arg_set_id"] else {}
            self.of[s["category"]].append(s)
            self.by_id[s["id"]] = s

    def counters(self, name):
        """device: [(time, value)]"""
        points = defaultdict(list)
        for row in self.tp.query(f"""select c.ts, c.value, p.name as device from counter c join track t on t.id = c.track_id
            join track p on p.id = t.parent_id where t.name = '{name}' order by c.ts"""):
            points[row["device"]].append((int(row["ts"]), float(row["value"])))
        return points

    def flows(self):
        """Groups of slices that are joined: the number of its group by slice."""
        group = {}

        def find(x):
            while group.setdefault(x, x) != x:
                x = group[x]
            return x

        for row in self.tp.query("select slice_out, slice_in from flow"):
            group[find(row["slice_out"])] = find(row["slice_in"])
        return find


def queue_of(slice_):
    return slice_["place"].removeprefix("queue ") if slice_["place"] != "no queue known" else ""


def compare_health(trace):
    bad = trace.tp.query("select name, value from stats where severity in ('error', 'data_loss') and value != 0")
    result("the trace processor met no error and lost nothing", bad)
    problems = [s for s in trace.slices if int(s["dur"]) < 0]
    lanes = defaultdict(list)
    for s in trace.slices:
        parent = trace.by_id.get(s["parent_id"])
        if parent and not (parent["from"] <= s["from"] and s["to"] <= parent["to"]):
            problems.append(("sticks out", s))
        lanes[s["track_id"], s["depth"]].append((s["from"], s["to"]))
    for spans in lanes.values():
        spans.sort()
        problems += [("overlap", a, b) for a, b in zip(spans, spans[1:]) if b[0] < a[1]]
    deep = {"fault": "0", "stage": "1", "io": "0", "invalidation": "0", "interval": "1", "stall": "0"}
    problems += [("depth", s) for s in trace.slices if s["depth"] != deep.get(s["category"], s["depth"])]
    result("slices end, nest and do not overlap on their track", problems)


def stage_of(slice_):
    """The time of a merged one counts as that of the stage that ended it, as in the table."""
    return slice_["name"].rsplit("+")[-1]


def compare_stages(trace, tables):
    groups = defaultdict(list)
    merged = Counter()
    for s in trace.of["stage"]:
        fault = trace.by_id[s["parent_id"]]
        if fault["args"]["state"] != "complete":
            continue
        for key in ("all", ""), (fault["above"], ""), (fault["above"], queue_of(fault) or None):
            groups[(*key, stage_of(s))].append(int(s["dur"]))
            merged[(*key, stage_of(s))] += "+" in s["name"]
    for fault in trace.of["fault"]:
        if fault["args"]["state"] == "complete":
            for key in ("all", ""), (fault["above"], ""), (fault["above"], queue_of(fault) or None):
                groups[(*key, "total")].append(int(fault["dur"]))
    ours = {key: (len(times), sum(times), max(times), merged[key]) for key, times in groups.items() if key[1] is not None}
    theirs = {(row["device"], row["queue"], row["stage"]):
              tuple(int(row[c]) for c in ("count", "sum_ns", "max_ns", "merged"))
              for row in tables("stages") if row["kind"] == "all"}
    result(f"counts, sums and maxima of {len(theirs)} rows of stages are the table's",
           [(key, ours.get(key), theirs.get(key)) for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
           + ([] if theirs else ["no row"]))
    least = {stage: min((int(row[f"{stage}_ns"]) for row in tables("faults") if row["state"] == "complete"
                         and row[f"{stage}_ns"]), default=None) for stage in (*STAGES, "total")}
    mine = {stage: min(groups.get(("all", "", stage), [None])) for stage in (*STAGES, "total")}
    result("minima are those of the faults", [] if mine == least else [mine, least])


def compare_faults(trace, tables):
    """Each of them, with its stages, when it was given up and what is told of it."""
    stages = defaultdict(list)
    for s in trace.of["stage"]:
        stages[s["parent_id"]].append(s)
    ours = Counter()
    problems = []
    for f in trace.of["fault"]:
        a, inside = f["args"], stages[f["id"]]
        merged = " ".join(stage_of(s) for s in inside if "+" in s["name"])
        told = " ".join(stage_of(s) for s in inside if s["args"].get("merged") == "1")
        if merged != told or (a["state"] != "complete") != f["name"].startswith(a["state"] + " "):
            problems.append(f)
        total = str(f["dur"]) if a["state"] == "complete" else ""
        given_up = str(f["from"] + int(a["abandoned_ns"])) if "abandoned_ns" in a else ""
        ours[f["ts"], f["above"], queue_of(f), a.get("pasid", ""), a["group"], a["instance"], int(a["address"]), a["length"],
             a.get("access", "-"), a.get("kind", "-"), a["state"], a.get("response", "-"), a.get("cause", "-"), total, given_up, merged,
             tuple((stage_of(s), s["dur"]) for s in inside if a["state"] != "inconsistent")] += 1
    theirs = Counter()
    for r in tables("faults"):
        times = tuple((stage, r[f"{stage}_ns"]) for stage in STAGES if r[f"{stage}_ns"])
        theirs[r["start_ns"], r["device"], r["queue"], r["pasid"], r["group"], r["instance"], int(r["address"], 16),
               r["length_bytes"], r["access"], r["kind"], r["state"], r["response"], r["cause"],
               r["total_ns"] if r["state"] == "complete" else "", r["abandoned_ns"], r["merged"],
               times if r["state"] != "inconsistent" else ()] += 1
    problems += list((ours - theirs).items()) + list((theirs - ours).items())
    result(f"{sum(theirs.values())} faults are those of the table, each with its stages, merged ones marked", problems)
    result("CPU faults of handlers are those of the faults",
           [] if len(trace.of["cpu_fault"]) >= sum(int(r["cpu_faults"]) for r in tables("faults")) else [len(trace.of["cpu_fault"])])


def compare_ios(trace, tables):
    ours = Counter((str(s["to"]), s["above"], queue_of(s), s["dur"], "yes" if "met a fault" in s["name"] else "no",
                    s["args"]["length"]) for s in trace.of["io"])
    rows = tables("ios")
    theirs = Counter((r["completed_ns"], r["device"], r["queue"], r["latency_ns"], r["faulted"], r["length_bytes"])
                     for r in rows)
    result(f"{len(rows)} I/Os recorded one by one are those of the table", list((ours - theirs) + (theirs - ours)))
    find, problems, joined = trace.flows(), [], 0
    faults, by_flow = defaultdict(list), defaultdict(list)
    for f in trace.of["fault"]:
        faults[f["above"], f["place"]].append(f)
        by_flow[find(f["id"])].append(f)
    for io in trace.of["io"]:
        if "met a fault" not in io["name"]:
            continue
        ended = [f for f in faults[io["above"], io["place"]] if f["to"] <= io["to"]]
        begin, end = int(io["args"]["address"]), int(io["args"]["address"]) + int(io["args"]["length"])
        own = [f for f in ended if f["to"] >= io["from"] and int(f["args"]["address"]) < end
               and begin < int(f["args"]["address"]) + int(f["args"]["length"])]
        last = max((f["to"] for f in own or ended), default=0)
        if ended and not any(f["to"] == last and f in (own or ended) for f in by_flow[find(io["id"])]):
            problems.append((io["from"], io["to"], io["args"], len(own), len(ended)))
        joined += bool(ended)
    result(f"{joined} I/Os that met faults are joined to the one with which they could go on", problems)


def compare_rest(trace, tables):
    whole = [int(s["dur"]) for s in trace.of["invalidation"] if s["name"] == "invalidation"]
    ours = (len(trace.of["invalidation"]), len(whole), max(whole, default=0))
    theirs = next((tuple(int(r[c] or 0) for c in ("began", "complete", "total_max_ns"))
                   for r in tables("invalidations") if r["device"] == "all"), (0, 0, 0))
    result(f"{ours[0]} invalidations: as many as in the table, and the longest", [] if ours == theirs else [ours, theirs])
    inside = defaultdict(list)
    for s in trace.of["interval"]:
        inside[s["parent_id"]].append(s)
    problems = [s for s in trace.of["invalidation"] if s["name"] == "invalidation"
                and ([i["name"] for i in inside[s["id"]]] != ["told", "acked", "freed"]
                     or sum(int(i["dur"]) for i in inside[s["id"]]) != int(s["dur"]))]
    result("their intervals fill them", problems)
    told = sum(int(r["events"]) for r in tables("events") if r["kind"] == "injection started")
    result(f"{told} injections have a slice each", [] if len(trace.of["injection"]) == told else [len(trace.of["injection"])])
    ours = Counter((s["from"], s["to"], s["place"], s["args"]["objective"], s["args"]["metric"]) for s in trace.of["objective"])
    theirs = Counter((int(r["window_ns"]), int(r["window_ns"]) + int(r["window_length_ns"]), r["device"], r["slo"], r["metric"])
                     for r in tables("violations"))
    result(f"{sum(theirs.values())} objectives broken are those of the table", list((ours - theirs) + (theirs - ours)))
    find = trace.flows()
    joined = Counter(find(f["id"]) for f in trace.of["fault"])
    ours, problems = Counter(), []
    for s in trace.of["stall"]:
        faults = {(f["args"]["group"], f["args"]["instance"]) for f in trace.of["fault"] if find(f["id"]) == find(s["id"])}
        if int(s["args"]["faults"]) and not joined[find(s["id"])]:
            problems.append((s["from"], s["args"], len(faults)))
        ours[s["from"], s["dur"], s["place"], s["args"]["flow"], s["args"]["frames"], s["args"]["faults"]] += 1
    theirs = Counter((int(r["start_ns"]), r["duration_ns"], r["device"], r["flow"], r["lost"], r["faults"])
                     for r in tables("stalls"))
    result(f"{sum(theirs.values())} stalls are those of the table, joined to the faults that are blamed",
           problems + list((ours - theirs) + (theirs - ours)))


def by_second(windows):
    """A value a second that has one, and 0 behind each run of them."""
    points = []
    for at in sorted(windows):
        points.append((at, windows[at]))
        if at + SECOND not in windows:
            points.append((at + SECOND, 0.0))
    return points


def recompute_open(faults):
    """Of each device (time, how many are open at most in the 10 ms from then on) where that changes."""
    steps = []
    for f in faults:
        end = f["from"] + int(f["args"]["abandoned_ns"]) if "abandoned_ns" in f["args"] else f["to"]
        steps += [(f["from"], 0, 1), (end, 1, -1)]
    most, now = {}, 0
    for at, _, by in sorted(steps):
        window = at // OPEN_WINDOW
        most[window] = max(most.get(window, now), now + by)
        now += by
        most.setdefault(window + 1, None)
        most[window + 1] = now
    told, points = 0, []
    for window in sorted(most):
        if most[window] != told:
            points.append((window * OPEN_WINDOW, float(most[window])))
            told = most[window]
    return points


def compare_counters(trace, tables):
    rates = defaultdict(lambda: defaultdict(dict))
    for r in tables("rates"):
        kind = "faults" if r["kind"] == "I/O page fault" else "IOPS" if r["kind"] in ("I/O completion", "block request") else ""
        rates[kind][r["device"]][int(r["window_ns"])] = float(r["rate_per_s"])
    for name in "faults", "IOPS":
        theirs = {device: by_second(windows) for device, windows in rates[name].items()}
        ours = dict(trace.counters(name))
        result(f"counter {name}: of {len(theirs)} devices as in the table", [] if ours == theirs else [ours, theirs])
    of = defaultdict(list)
    for f in trace.of["fault"]:
        of[f["above"]].append(f)
    ours = trace.counters("open faults, most in 10 ms")
    theirs = {device: recompute_open(faults) for device, faults in of.items()}
    problems = [(d, a, b) for d in theirs for a, b in zip(ours[d], theirs[d]) if a != b]
    problems += [(d, len(ours[d]), len(theirs[d])) for d in theirs if len(ours[d]) != len(theirs[d])]
    result("counter open faults: no maximum of 10 ms is missing", problems)
    problems = []
    blocked = defaultdict(int)
    for r in tables("queues"):
        blocked[r["device"]] = max(blocked[r["device"]], int(r["blocked_ns"]))
    queues = Counter(r["device"] for r in tables("queues"))
    for device, points in trace.counters("blocked, worst queue").items():
        total = sum((b[0] - a[0]) * a[1] / 100 for a, b in zip(points, points[1:]))
        if queues[device] == 1 and abs(total - blocked[device]) > 1000 + blocked[device] / 1e6:
            problems.append((device, total, blocked[device]))
    result("counter blocked: its area is the time for which the queue was", problems)


def unescape(text):
    return re.sub(r"\\(.)", r"\1", text)


def compare_decoded(trace, path, tables):
    """The same sums from protoc's text, without the processor."""
    names, open_, sums, unknown = {}, defaultdict(list), Counter(), []
    kind = at = event = name = track = None
    iid, packets, entry = None, 0, None
    with open(path) as file:
        for line in file:
            word = line.strip()
            if re.match(r"\s*\d+[:{ ]", line):
                unknown.append(line)
            if word == "packet {":
                packets += 1
                kind = at = event = name = track = None
            elif word.startswith("timestamp:") and line.startswith("  t"):
                at = int(word.split()[1])
            elif line.startswith("    type:"):
                kind = int(word.split()[1])
            elif line.startswith("    name_iid:"):
                name = int(word.split()[1])
            elif line.startswith("    track_uuid:"):
                track = int(word.split()[1])
            elif line.startswith("    event_names {"):
                entry = "name"
            elif line.startswith("      iid:"):
                iid = int(word.split()[1])
            elif line.startswith("      text:") and entry == "name":
                names[iid] = unescape(word.split(" ", 1)[1].strip('"'))
                entry = None
            elif line.startswith("    event_categories {") or line.startswith("    debug_annotation"):
                entry = None
            elif line == "}\n" and kind in (1, 2):
                event = open_[track].pop() if kind == 2 else None
                if kind == 1:
                    open_[track].append((at, name))
                elif event:
                    sums[names[event[1]]] += at - event[0]
    ours = Counter()
    for s in trace.slices:
        if s["category"] != "recording":
            ours[s["name"]] += int(s["dur"])
    result(f"protoc --decode knows all of {packets} packets", unknown)
    result("what it decodes has the same slices and sums", [(k, ours[k], sums[k]) for k in ours.keys() | sums.keys()
                                                             if ours[k] != sums[k]] + [k for k in open_.values() if k])


def compare_wall(trace, raw, wall, until):
    """Before that time (of a step back of the clock, of which Perfetto knows nothing): where the table has an event's wall-clock time, the trace has the same."""
    problems = []
    told = {r["ts"]: int(r["real"]) for r in trace.tp.query(
        "select ts, to_realtime(ts) as real from slice where category = 'fault'")}
    for r, w in zip(table(raw, "faults"), table(wall, "faults")):
        if int(r["start_ns"]) >= until:
            continue
        date, fraction = w["start"].rstrip("Z").split(".")
        at = calendar.timegm(time.strptime(date, "%Y-%m-%dT%H:%M:%S")) * SECOND + int(fraction.ljust(9, "0"))
        if told.get(r["start_ns"]) != at:
            problems.append((r["start_ns"], at, told.get(r["start_ns"])))
    result(f"the wall-clock time of {len(told)} faults is that of the table", problems + ([] if told else ["none"]))


def main():
    library, path, text, directory, *wall = sys.argv[1:]
    trace = Trace(library, path)

    def tables(name):
        return table(directory, name)

    compare_health(trace)
    compare_stages(trace, tables)
    compare_faults(trace, tables)
    compare_ios(trace, tables)
    compare_rest(trace, tables)
    compare_counters(trace, tables)
    compare_decoded(trace, text, tables)
    if wall:
        compare_wall(trace, directory, wall[0], int(wall[1]) if wall[1:] else 1 << 64)
    return closing()


if __name__ == "__main__":
    sys.exit(main())
