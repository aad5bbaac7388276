#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what a report says of lost frames and of stalls against the truth log of the emulated machine.

    compare_frames.py CSVDIR TRUTH [RECORDING]

CSVDIR is what `faultline report --csv=CSVDIR --raw-time` wrote of a machine with one NIC; TRUTH its log
(docs/truth-log.md), which has each frame by itself. Every lost frame is in the runs of its flow, ring, reason
and fault, and none is invented; held frames, heads that move and reports of rings are as many; a stall is computed
again byte by byte of the sequence space, what ended it from what RECORDING has of TCP. Prints
"ok - ..."/"not ok - ..." lines and the plain closing line.
"""
import collections
import json
import math
import sys

import flt_read
import verdict
from verdict import closing, result

REASONS = {1: "fault", 2: "no_buffer", 3: "cache_full", 4: "backup_full", 5: "before_nic", 6: "wire",
           7: "overlong"}
FAULT = 1
REMEMBERED = 64  # STALL_RESENT_MAX
BATCH = 32  # frames that the NIC takes off the wire at once; they have come at one time
RUN_LOST, SYNACK, RETRANSMIT = 80, 86, 85
FAILED = 32
RECOVERIES = {1: "timeouts", 2: "probes", 3: "fast", 4: "slow_start"}


def table(name):
    return verdict.table(sys.argv[1], name)


def dotted(address):
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def flow_name(record):
    addresses, ports = record["address"], record["value"]
    return (f"{dotted(addresses >> 32)}:{ports >> 32} > "
            f"{dotted(addresses & 0xffffffff)}:{ports >> 16 & 0xffff}")


class Frame:
    def __init__(self, record, flows):
        self.time, self.queue, self.bytes = record["time_ns"], record["queue"], record["length"]
        self.flow, self.lost = flows[record["group"]], record["what"] == "frame_lost"
        self.reason, self.fault, self.waited = record["code"], record["fault"], record["value"]
        self.first, self.end = record["address"] >> 32, record["address"] & 0xffffffff

    def sequence(self):
        """Every byte that it carries; it wraps where the numbers do."""
        count = self.end - self.first & 0xffffffff
        return ((self.first + i) & 0xffffffff for i in range(count))


class Fault:
    def __init__(self, record):
        self.where, self.queue, self.begin = (record["group"], record["address"]), record["queue"], record["time_ns"]


def read_truth():
    flows, frames, detected, times, rings = {}, [], {}, {}, collections.Counter()
    rings["frames_missed"] = 0
    with open(sys.argv[2]) as file:
        for line in file:
            record = json.loads(line)
            if record["what"] == "flow":
                flows[record["group"]] = flow_name(record)
            elif record["what"] in ("frame", "frame_lost"):
                frames.append(Frame(record, flows))
            elif record["what"] == "detect":
                detected[record["fault"]] = Fault(record)
            elif record["what"] == "resume":
                times[record["fault"]] = record["time_ns"]
            elif record["what"] == "frames_missed":
                rings["frames_missed"] += record["value"]
            elif record["what"] in ("head_advanced", "ring_state"):
                rings[record["what"], record["queue"]] += 1
    return frames, detected, times, rings


def instances(detected):
    """The number that the reconstruction has for each fault of the log."""
    rows, found = collections.defaultdict(list), {}
    for row in table("faults"):
        rows[int(row["group"]), int(row["address"], 16)].append(int(row["instance"]))
    for where in rows.values():
        where.sort(reverse=True)
    for fault in sorted(detected):
        if rows[detected[fault].where]:
            found[fault] = rows[detected[fault].where].pop()
    return found


def truth_runs(frames, instance):
    runs = collections.defaultdict(lambda: [0, 0, set()])
    for frame in frames:
        if not frame.lost:
            continue
        number = instance.get(frame.fault) if frame.reason == FAULT else None
        run = runs[frame.flow, frame.queue, REASONS[frame.reason], number]
        run[0] += 1
        run[1] += frame.bytes
        run[2].update(frame.sequence())
    return runs


def told_runs():
    runs = collections.defaultdict(lambda: [0, 0, set()])
    for row in table("drops"):
        if row["reason"] == "before_nic":
            continue
        number = int(row["instance"]) if row["instance"] else None
        # What is no IP, as a question of ARP's, has no addresses and no numbers.
        flow = "0.0.0.0:0 > 0.0.0.0:0" if row["flow"].startswith("ethertype") else row["flow"]
        run = runs[flow, int(row["queue"]), row["reason"], number]
        run[0] += int(row["lost"])
        run[1] += int(row["lost_size_bytes"])
        first, end = int(row["first_sequence"] or 0), int(row["end_sequence"] or 0)
        run[2].update((first + i) & 0xffffffff for i in range(end - first & 0xffffffff))
    return runs


def compare_runs(frames, instance):
    truth, told = truth_runs(frames, instance), told_runs()
    lost = sum(run[0] for run in truth.values())
    result(f"each of {lost} lost frames is in the runs of its flow, ring, reason and fault", [
        f"{key}: frames, bytes {truth[key][:2]}, told {told[key][:2]}"
        for key in truth.keys() | told.keys() if truth[key][:2] != told[key][:2]])
    result("runs are of the sequence numbers that were lost", [
        f"{key}: {len(truth[key][2] ^ told[key][2])} bytes differ"
        for key in truth.keys() | told.keys() if truth[key][2] != told[key][2]])


def compare_faults(frames, detected, resumed):
    problems = []
    for frame in frames:
        if not frame.lost or frame.reason != FAULT:
            continue
        if not frame.fault:
            problems.append(f"at {frame.time}: lost to a fault of ring {frame.queue}, and none is named")
        elif frame.fault not in detected:
            problems.append(f"at {frame.time}: of a fault that never was: {frame.fault}")
        elif resumed.get(frame.fault, frame.time) < frame.time:
            problems.append(f"at {frame.time}: fault {frame.fault} was over")
    result("no fault is blamed that was not open", problems)


def compare_rings(frames, rings):
    """Each held frame that was delivered, each move of a head behind one, each report of a ring's counters."""
    rows = [row for row in table("nic") if row["side"] == "rx"]
    told = {int(row["queue"]): row for row in rows if row["queue"]}
    missed = sum(int(row["lost_before_nic"]) for row in rows)
    result(f"each of {rings['frames_missed']} frames that were lost before the NIC is told", [
        f"{rings['frames_missed']}, told {missed}" for _ in [0] if missed != rings["frames_missed"]])
    anonymous = [row for row in table("drops") if row["reason"] == "before_nic" and (row["queue"] or row["instance"])]
    result("of these nobody knows ring or fault", [str(row) for row in anonymous])
    events = {row["kind"]: int(row["events"]) for row in table("events")}
    held = collections.Counter(frame.queue for frame in frames if not frame.lost and frame.waited)
    result(f"each of {sum(held.values())} frames that had to wait is told of its ring", [
        f"ring {queue}: {held[queue]}, told {row['held']}"
        for queue, row in told.items() if held[queue] != int(row["held"])])
    heads = sum(count for key, count in rings.items() if key[0] == "head_advanced")
    result(f"each of {heads} moves of a head is told of its ring", [
        f"ring {queue}: {rings['head_advanced', queue]}, told {row['heads']}"
        for queue, row in told.items() if rings["head_advanced", queue] != int(row["heads"])] + [
        f"{heads}, told {events.get('ring head advanced', 0)}"
        for _ in [0] if heads != events.get("ring head advanced", 0)])
    states = sum(count for key, count in rings.items() if key[0] == "ring_state")
    result(f"each of {states} reports of a ring's counters is told", [
        f"{states}, told {events.get('ring state', 0)}"
        for _ in [0] if states != events.get("ring state", 0) or not states])


class Stall:
    def __init__(self, frame, earliest, latest):
        self.start, self.lost, self.reasons = frame.time, 0, collections.Counter()
        self.faults, self.state, self.frames = set(), "open", []
        self.earliest, self.end, self.latest = earliest, frame.time, latest


def brute_force(frames):
    """From a flow's first lost byte until each that was lost since has been delivered. What had come before is missed by nobody."""
    missing, stalls, came = (collections.defaultdict(kind) for kind in (set, list, set))
    rings, arrivals = collections.defaultdict(list), collections.defaultdict(list)
    for frame in frames:
        rings[frame.queue].append(frame)
        frame.index = len(rings[frame.queue]) - 1
        frame.before = len(arrivals[frame.queue])
        # Held ones came long before: any number of them is released between a batch's coming and its log.
        if not frame.waited:
            arrivals[frame.queue].append(frame)
    for frame in frames:
        gone, of = missing[frame.flow], stalls[frame.flow]
        bytes_ = set(frame.sequence())
        if frame.lost:
            bytes_ -= came[frame.flow]
        else:
            came[frame.flow] |= bytes_
        if not frame.lost and not gone:
            continue
        if frame.lost and bytes_:
            if not gone:
                ring = rings[frame.queue]
                # Of the first batch nothing older is logged that it came after.
                earliest = arrivals[frame.queue][frame.before - BATCH].time if frame.before >= BATCH else 0
                of.append(Stall(frame, earliest, ring[-1].time))
            gone |= bytes_
            of[-1].lost += 1
            of[-1].frames.append(frame)
            of[-1].reasons[REASONS[frame.reason]] += 1
            if frame.reason == FAULT and frame.fault:
                of[-1].faults.add(frame.fault)
        elif not frame.lost:
            gone -= bytes_
            if not gone:
                ring = rings[frame.queue]
                of[-1].state, of[-1].end = "recovered", frame.time
                of[-1].latest = ring[frame.index + 1].time if frame.index + 1 < len(ring) else math.inf
    return stalls


def given_up_after(stall, row, runs):
    """The log has frames: that a socket was gone only its kernel tells. What comes behind that, as it waited in the link's
    queue, ends no stall and is none; nor do frames count whose run was not over then, and is told behind it."""
    given_up = int(row["start_ns"]) + int(row["duration_ns"])
    if row["state"] != "aborted" or (stall.state == "recovered" and stall.end < given_up):
        return
    behind = [(since, range_) for told, since, range_ in runs if since <= given_up < told]
    stall.state, stall.frames = "aborted", [frame for frame in stall.frames if frame.time <= given_up and not any(
        since <= frame.time and ranges_overlap((frame.first, frame.end), range_) for since, range_ in behind)]
    stall.lost = len(stall.frames)
    stall.reasons = collections.Counter(REASONS[frame.reason] for frame in stall.frames)
    stall.faults = {frame.fault for frame in stall.frames if frame.reason == FAULT and frame.fault}


def compare_stalls(frames):
    told = collections.defaultdict(list)
    for row in table("stalls"):
        told[row["flow"]].append(row)
    truth, problems, count = brute_force(frames), [], 0
    runs = read_events()[0] if len(sys.argv) > 3 else {}
    for flow in truth.keys() | told.keys():
        rows = sorted(told[flow], key=lambda row: int(row["start_ns"]))
        count += len(truth[flow])
        if len(rows) != len(truth[flow]):
            problems.append(f"{flow}: {len(truth[flow])} stalls, {len(rows)} told")
        for stall, row in zip(truth[flow], rows):
            given_up_after(stall, row, runs.get(flow, []))
            expected = [stall.lost, stall.state, len(stall.faults)] + [
                stall.reasons[reason] for reason in REASONS.values()]
            got = [int(row["lost"]), row["state"], int(row["faults"])] + [
                int(row[f"lost_{reason}"]) for reason in REASONS.values()]
            if got != expected:
                problems.append(f"{flow} at {stall.start}: {expected}, told {got}")
            start = int(row["start_ns"])
            if not stall.earliest <= start <= stall.start:
                problems.append(f"{flow} at {stall.start}: told to begin at {start}")
            end = start + int(row["duration_ns"])
            if row["state"] == "recovered" and not stall.end <= end <= stall.latest:
                problems.append(f"{flow} at {stall.start}: between {stall.end} and {stall.latest}, told to end at {end}")
    result(f"stalls are what the log gives byte by byte ({count})", problems)


def ranges_overlap(one, other):
    """(first, end) of sequence numbers, which wrap."""
    return ((other[1] - one[0] - 1) & 0xffffffff) < 1 << 31 and ((one[1] - other[0] - 1) & 0xffffffff) < 1 << 31


def read_events():
    """Of each flow: runs of lost frames (when told, since when, range); what TCP sent again (time, range, how, its timeout)."""
    flows, runs, resent = {}, collections.defaultdict(list), collections.defaultdict(list)
    for name, fields in flt_read.read(sys.argv[3]):
        if name == "flow":
            source, destination = (int(fields[i][:8], 16) for i in (7, 8))
            flows[fields[0]] = f"{dotted(source)}:{fields[5]} > {dotted(destination)}:{fields[6]}"
        elif name == "event":
            time, address, _, value = fields[:4]
            tid, kind, code, flags = fields[9], fields[10], fields[13], fields[14]
            range_ = address >> 32, address & 0xffffffff
            if kind == RUN_LOST:
                runs[tid].append((time, value or time, range_))
            if kind == SYNACK or kind == RETRANSMIT and not flags & FAILED:
                how = "synacks" if kind == SYNACK else RECOVERIES[code]
                resent[tid].append((time, range_, how, value))
    return tuple({flows.get(flow): events for flow, events in of.items()} for of in (runs, resent))


def runs_of(row, stall, runs):
    """Those of its frames. A batch has come at one time: the next stall's first run may bear one before this stall's end."""
    start, end = int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"])
    return [run for run in runs if start <= int(run["time_ns"]) <= end and any(
        int(run["time_ns"]) <= frame.time and ranges_overlap(
            (frame.first, frame.end), (int(run["first_sequence"]), int(run["end_sequence"]))) for frame in stall.frames)]


def recovery(row, mine, events):
    """Of a stall: each segment sent again, once, whose range lies in what a run has lost before, or while it did."""
    start, told = int(row["start_ns"]), collections.Counter()
    end, longest = start + int(row["duration_ns"]), 0
    for time, range_, how, timeout in events:
        if time <= end and any(int(run["time_ns"]) <= time and ranges_overlap(
                range_, (int(run["first_sequence"]), int(run["end_sequence"]))) for run in mine):
            told[how] += 1
            longest = max(longest, timeout if how == "timeouts" else 0)
    return told, longest


def worst_fault(stall, detected, instance, faults):
    """The longest fault that its frames were lost to, and what that took to be resolved."""
    named = [faults[str(detected[fault].where[0]), str(instance[fault])] for fault in stall.faults if fault in instance]
    worst = max(named, key=lambda fault: int(fault["total_ns"] or 0), default={})
    return [worst.get(name) or "" for name in ("total_ns", "resolve_ns")]


def compare_recoveries(frames, detected, instance):
    events, runs, problems, slow, count = read_events()[1], collections.defaultdict(list), [], [], 0
    faults = {(row["group"], row["instance"]): row for row in table("faults")}
    for run in table("drops"):
        runs[run["flow"]].append(run)
    told_of, truth = collections.defaultdict(list), brute_force(frames)
    for row in sorted(table("stalls"), key=lambda row: int(row["start_ns"])):
        told_of[row["flow"]].append(row)
    for row, stall in (pair for flow in told_of for pair in zip(told_of[flow], truth[flow])):
        if row["state"] != "recovered":
            continue
        where = f"{row['flow']} at {row['start_ns']}"
        told, longest = recovery(row, runs_of(row, stall, runs[row["flow"]]), events.get(row["flow"], []))
        got = {how: int(row[how]) for how in (*RECOVERIES.values(), "synacks") if int(row[how])}
        # What was sent again before a run was told is remembered up to here; the rest the report calls a floor.
        floor = sum(told.values()) > sum(got.values()) >= REMEMBERED and all(got[how] <= told[how] for how in got)
        if (got != dict(told) or int(row["timeout_ns"] or 0) != longest) and not floor:
            problems.append(f"{where}: {dict(told)}, {longest} ns, told {got}, {row['timeout_ns']} ns")
        wanted, got = worst_fault(stall, detected, instance, faults), [row["worst_fault_ns"], row["worst_resolve_ns"]]
        if [value or "0" for value in wanted] != [value or "0" for value in got]:
            slow.append(f"{where}: {wanted}, told {got}")
        count += sum(told.values())
    result(f"each of {count} segments that end a stall has bytes that it lost", problems)
    result("the worst fault of a stall is the longest that its frames name", slow)


def main():
    frames, detected, resumed, rings = read_truth()
    compare_runs(frames, instances(detected))
    compare_faults(frames, detected, resumed)
    compare_rings(frames, rings)
    compare_stalls(frames)
    if len(sys.argv) > 3:
        compare_recoveries(frames, detected, instances(detected))
    return closing()


if __name__ == "__main__":
    sys.exit(main())
