#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what a report says of queue pairs and their waits against the truth log of the emulated machine.

    compare_pairs.py CSVDIR TRUTH DEVICE...

CSVDIR is what `faultline report --csv=CSVDIR --raw-time` wrote of a machine, TRUTH its log (docs/truth-log.md), which
has each packet by itself; DEVICE... are the names of its devices in the order of their index. Row by row: packets by
reason, NAKs, suppressed faults and counters of each pair; each wait, put together again by its token, with the
faults that it names; each NAK for an absent page, which names the fault that the packet met; regions, and what devices
count. Prints "ok - ..."/"not ok - ..." lines and the plain closing line.
"""
import collections
import json
import sys

import verdict
from verdict import closing, result

DROPS = ["dropped_fault", "dropped_rnr", "dropped_sequence", "dropped_duplicate", "dropped_response",
         "dropped_no_receive", "dropped_state", "lost_wire"]
RESENDS = ["resent_rnr", "resent_sequence", "resent_timeout", "resent_read"]
WAITS = ["memory", "rnr", "read", "timeout"]
COUNTERS = ["rnr_sent", "rnr_received", "retries", "duplicates", "out_of_sequence", "sequence_naks",
            "retries_exceeded", "rnr_exceeded"]
REGIONS = ["explicit", "pinned", "demand", "implicit"]
STATES = ["reset", "init", "rtr", "rts", "sqe", "error"]
RESEND_TIMEOUT, WIRE = 2, 7
SIDE_OF_DROP = {0: 3, 4: 1}  # a packet's page was absent: a responder's, an initiator's


def table(name):
    return verdict.table(sys.argv[1], name)


def number(text):
    return int(text or 0)


class Pair:
    def __init__(self):
        self.counts, self.state, self.operations, self.bytes = collections.Counter(), None, 0, 0


class Wait:
    def __init__(self):
        self.where = self.kind = self.paused = self.resumed = None
        self.peer, self.dropped, self.resent, self.faults, self.status = None, 0, 0, set(), 0
        self.ended = False


class Truth:
    """What the log says, a record after the other."""

    def __init__(self, path, names):
        self.names = names
        self.pairs, self.waits = collections.defaultdict(Pair), collections.defaultdict(Wait)
        self.counters, self.events = collections.Counter(), collections.Counter()
        self.counted = collections.Counter()
        self.regions, self.faults = {}, {}
        # By side what it did not report, for which fault; by token the fault that a packet met; what is over.
        self.suppressed, self.met, self.over = {}, {}, set()
        self.misnamed, self.overflowed = [], False
        with open(path) as file:
            for line in file:
                self.take(json.loads(line))
        self.waits.pop(0, None)

    def take(self, r):
        what, method = r["what"], getattr(self, "take_" + r["what"], None)
        if what == "detect":
            self.faults[r["fault"]] = (self.names[r["device"]], r["group"], r["address"])
        if what in ("resume", "abandon"):
            self.over.add(r["fault"])
        self.overflowed |= what == "overflow"
        if method:
            self.events[what] += 1
            where = self.names[r["device"]], r["group"]
            method(r, where, self.pairs, self.waits[r["value"]])

    def take_rnr_sent(self, r, where, pairs, wait):
        pairs[where].counts["naks"] += 1
        self.counted[where[0], "rnr_sent"] += 1
        wait.peer = where
        self.blame(r, wait)
        met = self.met.get(r["value"], r["fault"])
        if r["fault"] != met and (r["fault"] or met not in self.over):
            self.misnamed.append(f"{where} NAK {r['value']}: for {met}, names {r['fault']}")

    def take_rnr_received(self, r, where, pairs, wait):
        pairs[where].counts["naks_heard"] += 1
        self.counted[where[0], "rnr_received"] += 1

    def take_packet_dropped(self, r, where, pairs, wait):
        pairs[where].counts[DROPS[r["code"]]] += 1
        name = {2: "out_of_sequence", 3: "duplicates"}.get(r["code"])
        if name:
            self.counted[where[0], name] += 1
        wait.dropped += 1
        if r["code"] in SIDE_OF_DROP:
            self.meet(r, where)

    def meet(self, r, where):
        """The first packet of a wait: its page was reported, or not for another fault's sake, or for that of its bit."""
        fault = self.suppressed.pop((where, SIDE_OF_DROP[r["code"]]), None)
        if not r["value"] or r["value"] in self.met:
            return
        self.met[r["value"]] = r["fault"] if fault is None else fault
        if r["fault"] != self.met[r["value"]] or (fault is None and not r["fault"] and not self.overflowed):
            self.misnamed.append(f"{where} packet of {r['value']}: for {fault}, names {r['fault']}")

    def take_packet_resent(self, r, where, pairs, wait):
        pairs[where].counts[RESENDS[r["code"]]] += 1
        wait.resent += 1

    def take_qp_rewound(self, r, where, pairs, wait):
        pairs[where].counts["rewound"] += 1
        name = {1: "sequence_naks", RESEND_TIMEOUT: "retries"}.get(r["code"])
        if name:
            self.counted[where[0], name] += 1
        if r["code"] == RESEND_TIMEOUT:
            wait.where, wait.kind = where, "timeout"
            wait.paused = wait.resumed = r["time_ns"]

    def take_fault_suppressed(self, r, where, pairs, wait):
        pairs[where].counts["suppressed"] += 1
        pairs[where].counts["in_window"] += r["value"] == 1
        self.suppressed[where, r["code"]] = r["fault"]

    def take_qp_paused(self, r, where, pairs, wait):
        wait.where, wait.kind = where, WAITS[r["code"]]
        wait.paused = wait.paused or r["time_ns"]
        self.blame(r, wait)

    def take_qp_resumed(self, r, where, pairs, wait):
        wait.resumed, wait.ended = r["time_ns"], r["length"] == 1

    def take_qp_error(self, r, where, pairs, wait):
        name = {12: "retries_exceeded", 13: "rnr_exceeded"}.get(r["code"])
        if name:
            self.counted[where[0], name] += 1
        pairs[where].counts["errors"] += 1
        for wait in self.waits.values():
            if wait.where == where and wait.paused and not wait.resumed:
                wait.status, wait.resumed = r["code"], r["time_ns"]

    def take_qp_state(self, r, where, pairs, wait):
        pair = pairs[where]
        pair.state, pair.operations, pair.bytes = STATES[r["code"]], r["value"], r["length"]

    def take_rdma_counter(self, r, where, pairs, wait):
        self.counters[where[0], COUNTERS[r["code"]]] += r["value"]

    def take_rdma_advised(self, r, where, pairs, wait):
        """Counted as an event alone."""

    def take_rdma_region(self, r, where, pairs, wait):
        self.regions[where] = r["address"], r["length"], REGIONS[r["value"]]

    def blame(self, r, wait):
        if r["fault"]:
            wait.faults.add(r["fault"])


def totals_of_faults(truth):
    """How long each fault of the log took, as the reconstruction says: the n-th of its place is the n-th there."""
    rows, found = collections.defaultdict(list), {}
    for row in table("faults"):
        rows[row["device"], int(row["group"]), int(row["address"], 16)].append(
            (int(row["instance"]), number(row["total_ns"])))
    for where in rows.values():
        where.sort(reverse=True)
    for fault in sorted(truth.faults):
        if rows[truth.faults[fault]]:
            found[fault] = rows[truth.faults[fault]].pop()[1]
    return found


def compare_pairs(truth):
    told = {(row["device"], int(row["pair"])): row for row in table("queue_pairs")}
    columns = DROPS + RESENDS + ["naks", "naks_heard", "rewound", "suppressed", "in_window"]
    problems = [f"{where}: not told" for where in truth.pairs if where not in told]
    problems += [f"{where}: never was" for where in told if where not in truth.pairs]
    for where, row in told.items():
        pair = truth.pairs[where]
        problems += [f"{where} {column}: {pair.counts[column]}, told {row[column]}"
                     for column in columns if pair.counts[column] != number(row[column])]
    result(f"packets, NAKs and faults of {len(truth.pairs)} queue pairs are those of the log", problems)
    result("counters of queue pairs are those that were told last", [
        f"{where}: {truth.pairs[where].operations, truth.pairs[where].bytes}, told {row['operations'], row['moved_bytes']}"
        for where, row in told.items()
        if (str(truth.pairs[where].operations), str(truth.pairs[where].bytes)) != (
            row["operations"], row["moved_bytes"]) or truth.pairs[where].state != row["state"]])
    result("what counters say is what events say", [
        f"{where}: {row}" for where, row in told.items()
        if number(row["dropped"]) != sum(number(row[name]) for name in DROPS[:WIRE]) or
        number(row["resent"]) != sum(number(row[name]) for name in RESENDS) or
        row["untold"] != "0" or row["naks"] != row["rnr_out"] or row["naks_heard"] != row["rnr_in"]])
    result("pairs in error are those of the log", [
        f"{where}: {truth.pairs[where].counts['errors']}, told {row['status']}"
        for where, row in told.items() if bool(truth.pairs[where].counts["errors"]) != (row["status"] != "-")])


def compare_wait(token, wait, row, totals):
    peer, took = wait.peer or ("-", ""), max((totals.get(f, 0) for f in wait.faults), default=0)
    expected = [*wait.where, wait.kind, peer[0], str(peer[1]), wait.dropped, wait.resent,
                len(wait.faults), took, "open" if not wait.resumed else
                "error" if wait.status else "ended" if wait.ended else "over"]
    got = [row["device"], int(row["pair"]), row["kind"], row["peer"], row["peer_pair"],
           number(row["dropped"]), number(row["resent"]), number(row["faults"]),
           number(row["worst_fault_ns"]), row["state"]]
    if got != expected:
        return [f"{token}: {expected}, told {got}"]
    start, end = int(row["start_ns"]), int(row["start_ns"]) + number(row["duration_ns"])
    if start > wait.paused or (wait.resumed and end < wait.resumed):
        return [f"{token}: from {wait.paused} to {wait.resumed}, told {start} to {end}"]
    return []


def compare_waits(truth):
    totals = totals_of_faults(truth)
    waits = {token: wait for token, wait in truth.waits.items() if wait.where}
    told = {int(row["token"]): row for row in table("waits")}
    problems = [f"{token}: {wait.where} {wait.kind}, not told"
                for token, wait in waits.items() if token not in told]
    problems += [f"{token}: never was" for token in told if token not in waits]
    for token in waits.keys() & told.keys():
        problems += compare_wait(token, waits[token], told[token], totals)
    result(f"each of {len(waits)} waits has its row: who, why, for which fault, how many packets", problems)
    result(f"each of {len(truth.met)} packets whose page was absent names its fault, and so does its NAK", truth.misnamed)
    kinds = collections.Counter(wait.kind for wait in waits.values())
    print("    " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))


def compare_devices(truth):
    told = {(row["device"], row["counter"]): int(row["count"]) for row in table("rdma_counters")}
    result("counters of devices are those of the log", [
        f"{key}: {truth.counters[key]}, told {told.get(key, 0)}"
        for key in truth.counters.keys() | told.keys() if truth.counters[key] != told.get(key, 0)])
    result("and as many as the events that they count", [
        f"{key}: {truth.counted[key]}, told {told.get(key, 0)}"
        for key in truth.counted.keys() | told.keys() if truth.counted[key] != told.get(key, 0)])
    rows = {(row["device"], int(row["region"], 16)): row for row in table("odp") if row["region"]}
    result(f"each of {len(truth.regions)} regions has its row", [
        f"{where}: {region}, told {rows.get(where)}" for where, region in truth.regions.items()
        if where not in rows or region != (int(rows[where]["address"], 16), int(rows[where]["length_bytes"]),
                                           rows[where]["kind"])])
    events = {row["kind"]: int(row["events"]) for row in table("events")}
    names = {"rnr_sent": "RNR NAK sent", "rnr_received": "RNR NAK received", "qp_rewound": "queue pair went back",
             "fault_suppressed": "fault not reported", "qp_paused": "queue pair paused",
             "qp_resumed": "queue pair resumed", "qp_error": "queue pair in error", "qp_state": "queue pair state",
             "rdma_counter": "RDMA counter", "rdma_region": "on-demand region",
             "rdma_advised": "on-demand prefetch"}
    result("each event of the log is one of the recording", [
        f"{what}: {truth.events[what]}, told {events.get(name, 0)}"
        for what, name in names.items() if truth.events[what] != events.get(name, 0)])


def main():
    truth = Truth(sys.argv[2], sys.argv[3:])
    compare_pairs(truth)
    compare_waits(truth)
    compare_devices(truth)
    return closing()


if __name__ == "__main__":
    sys.exit(main())
