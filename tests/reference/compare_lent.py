#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What emulated hosts did against what was recorded of it.

    compare_lent.py TRUTH RECORDING TABLES DEVICES AGENTS yes|no [PROBE,PROBE...|killed=HOST]

TRUTH is the log of `faultline-inject run --truth`, TABLES a directory of `faultline report --csv`; DEVICES and AGENTS are the
names of both in the job's order, separated by commas (hosts first, then targets, guests, clients); then whether the hosts' IOMMUs are on. First each probe by itself, from the recording's
events and frames alone, then the tables. With probes named, those must be missed, and no other; with a host that was
killed what is recorded of the others must be all, and of it nothing else than the truth.
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


def names_of(path, word):
    return re.findall(rf"^{word}\((\w+),", text(path), re.M)


STEPS = names_of("bpf/cluster_steps.def", "CLUSTER_STEP")
FETCH = 3  # enum io_stage


class Recording:
    def __init__(self, path):
        self.devices, self.models = {}, {}
        self.events = collections.defaultdict(list)
        self.rows = collections.defaultdict(list)
        for call, fields in flt_read.read(path):
            if call == "device":
                self.devices[fields[0]] = bytes.fromhex(fields[2]).decode()
                self.models[fields[0]] = bytes.fromhex(fields[3]).decode()
            elif call == "event":
                event = dict(zip(EVENT, fields))
                self.events[KINDS.get(event["kind"], "")].append(event)
            elif call == "row":
                row = dict(zip(ROW, fields))
                self.rows[KINDS.get(row["kind"], "")].append(row)

    def name(self, event):
        return self.devices.get(event["device"], "-")

    def counted(self, kind, what="count"):
        """In frames, or one by one where its kind was asked for by name."""
        sums = collections.Counter()
        for event in self.events[kind]:
            sums[self.name(event)] += event["length"] if what == "bytes" else 1
        for row in self.rows[kind]:
            sums[self.name(row)] += row[what]
        return sums

    def last(self, kind, key=lambda event: 0):
        """The last one told of each device."""
        last = {}
        for event in self.events[kind]:
            last[self.name(event), key(event)] = event
        return last


class Truth:
    def __init__(self, path, devices, agents, iommus):
        self.devices, self.agents, self.iommus = devices, agents, iommus
        self.records = collections.defaultdict(list)
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                self.records[record["what"]].append(record)

    def user(self, record):
        """As a host's machine calls who asked for this I/O."""
        agent = self.agents[record["agent"]]
        if "/" in agent:
            return agent
        device, lender = self.devices[record["device"]].split("@")
        return f"{agent}/{device}@{lender}"

    def shadow(self, record):
        return self.user(record)

    def own(self, record):
        device, lender = self.devices[record["device"]].split("@")
        return f"{lender}/{device}"


def compare_steps(r, t):
    got = collections.Counter((STEPS[e["code"]], e["group"], e["length"]) for e in r.events["lend_step"])
    none = 0xffffffff
    want = collections.Counter((STEPS[s["number"]], none if s["borrow"] is None else s["borrow"], abs(s["code"]))
                               for s in t.records["step"])
    equal("steps", got, want, "lend_step")


def compare_windows(r, t):
    for what in "window_map", "window_unmap":
        got = collections.Counter((e["group"], e["code"], e["address"], e["length"], e["value"]) for e in r.events[what])
        want = collections.Counter((0xffffffff if w["borrow"] is None else w["borrow"], w["code"], w["address"], w["length"], w["value"])
                                   for w in t.records[what])
        equal(what, got, want, what)
    links = collections.Counter(("link_down", "link_up")[e["code"]] for e in r.events["link_state"])
    equal("link_state", links, collections.Counter({k: len(t.records[k]) for k in ("link_down", "link_up") if t.records[k]}),
          "link_state")
    for what in "requester_add", "requester_remove":
        got = collections.Counter((e["value"], e["instance"]) for e in r.events[what])
        want = collections.Counter((e["address"], e["value"]) for e in t.records[what])
        equal(what, got, want, what)
    equal("requester entries were taken and all given back", len(t.records["requester_add"]), len(t.records["requester_remove"]))


def compare_maps(r, t):
    for what in "lend_map", "lend_unmap":
        count, length = collections.Counter(), collections.Counter()
        for m in t.records[what]:
            count[t.shadow(m)] += 1
            length[t.shadow(m)] += m["length"]
        equal(what, (r.counted(what), r.counted(what, "bytes")), (count, length), what)
        iommu = f"iommu_{what[5:]}"
        if not t.iommus:
            continue
        shadows = {d: n for d, n in r.counted(iommu, "bytes").items() if "@" in d}
        equal(f"{iommu} of the borrower is what windows are charged", {d: n for d, n in shadows.items() if d in length},
              dict(length), f"lend_{iommu}")
        # Per borrow, of which each device here has one: truth's charges, and those that were recorded.
        charged, told, device_of = collections.Counter(), collections.Counter(), {}
        for m in t.records[what]:
            charged[m["borrow"]] += m["length"]
            device_of[m["borrow"]] = t.shadow(m)
        for e in r.events[what]:
            told[e["group"]] += e["length"]
        mapped = {b: shadows.get(device_of[b], 0) for b in charged if device_of[b] in shadows}
        equal(f"{iommu} of each borrow is what it was charged", mapped, {b: charged[b] for b in mapped}, f"lend_{iommu}")
        equal(f"{what} of each borrow", dict(told), dict(charged), what)


def compare_states(r, t):
    peak, now = collections.Counter(), collections.Counter()
    maps = sorted(t.records["lend_map"] + t.records["lend_unmap"], key=lambda m: m["time_ns"])
    for m in maps:
        now[t.shadow(m)] += m["length"] if m["what"] == "lend_map" else -m["length"]
        peak[t.shadow(m)] = max(peak[t.shadow(m)], now[t.shadow(m)])
    last = {name: (e["length"], e["value"]) for (name, _), e in r.last("window_state").items()}
    equal("window_state", last, {name: (peak[name], 0) for name in peak}, "window_state")
    lost = collections.Counter(t.own(w) for w in t.records["lost_write"] if w["device"] is not None)
    ones = collections.Counter(t.own(w) for w in t.records["all_ones"] if w["device"] is not None)
    told, told_ones, moved = collections.Counter(), collections.Counter(), 0
    for (name, _), e in r.last("path_state", lambda e: (e["code"], e["group"])).items():
        told[name] += e["address"] >> 32
        told_ones[name] += e["address"] & 0xffffffff
        moved += e["value"]
    equal("path_state", (+told, +told_ones, moved > 0), (lost, ones, True), "path_state")
    vanished = [w for w in t.records["lost_write"] if w["number"] not in (None, 0xffffffff)]
    ended = r.last("adapter_state")
    equal("adapter_state", (sum(e["address"] >> 32 for e in ended.values()), sum(e["value"] for e in ended.values()), len(ended) > 1),
          (len(vanished), 0, True), "adapter_state")


def without_errors(counts, errors):
    return {user: n for user, n in counts.items() if not errors[user]}


def compare_users(r, t):
    done, staged, moved, errors = (collections.Counter() for _ in range(4))
    for io in t.records["io_read"] + t.records["io_write"]:
        user, good = t.user(io), io["code"] == 0
        done[user] += good
        errors[user] += not good
        moved[user] += io["length"] if good else 0
        # What a failover learns of has no completion with its price, and so no stages.
        staged[user] += good and io["model_ns"] > 0
    known = collections.Counter()
    for f in t.records["failover"]:
        known[t.user(f)] += f["value"]
    equal("I/Os without stages are those that failovers knew to be done", +(done - staged), +known)
    got = {name: (e["value"], e["length"], e["instance"]) for (name, _), e in r.last("client_state").items()
           if e["value"] or e["instance"]}
    equal("client_state", got, {user: (done[user], moved[user], errors[user]) for user in done},
          "client_state")
    fetched = collections.Counter()
    for row in r.rows["lend_io"] + r.events["lend_io"]:
        if row["code"] == FETCH:
            fetched[r.name(row)] += row.get("count", 1)
    equal("lend_io", without_errors(+fetched, errors), without_errors(+staged, errors), "lend_io")
    # What each I/O cost by the model: the sum of its stages.
    told, model = collections.Counter(), collections.Counter()
    for row in r.rows["lend_io"] + r.events["lend_io"]:
        told[r.name(row)] += row["sum"] if "sum" in row else row["value"]
    for io in t.records["io_read"] + t.records["io_write"]:
        model[t.user(io)] += io["model_ns"]
    equal("lend_io: model time", without_errors(+told, errors), without_errors(+model, errors), "lend_io")
    return done, staged, moved, errors


def compare_rest(r, t):
    got = collections.Counter((r.name(e), e["code"], e["group"], e["instance"], e["length"], e["address"]) for e in r.events["failover"])
    want = collections.Counter((t.user(f), f["code"], f["address"], f["queue"], f["length"], f["value"]) for f in t.records["failover"])
    equal("failover", got, want, "failover")
    got = collections.Counter((r.name(e), e["instance"], e["address"], e["length"]) for e in r.events["stray_dma"])
    want = collections.Counter((t.own(s), s["number"], s["address"], s["length"]) for s in t.records["stray_dma"])
    equal("stray_dma", got, want, "stray_dma")
    equal("interrupt_relay", sum(r.counted("interrupt_relay").values()), len(t.records["interrupt"]), "interrupt_relay")
    equal("multicast", sum(e["value"] for e in r.events["multicast"]), sum(m["number"] for m in t.records["multicast"]),
          "multicast")
    refused = [w for w in t.records["lost_write"] + t.records["all_ones"] if w["code"] == 1]
    equal("lend_fault", len(r.events["lend_fault"]) >= len(refused) > 0 or not refused and not r.events["lend_fault"], True, "lend_fault")


def table(directory, name):
    with open(os.path.join(directory, name + ".csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def compare_tables(directory, t, done, staged, moved, errors):
    rows = {row["client"]: (int(row["ios"]), int(row["moved_bytes"]), int(row["errors"])) for row in table(directory, "clients")
            if int(row["ios"]) or int(row["errors"])}
    equal("table clients", rows, {u: (done[u], moved[u], errors[u]) for u in done})
    maps = collections.Counter((m["borrow"], m["what"]) for m in t.records["lend_map"] + t.records["lend_unmap"])
    charged = collections.Counter()
    for m in t.records["lend_map"]:
        charged[m["borrow"]] += m["length"]
    asked = {s["borrow"] for s in t.records["step"] if s["borrow"] is not None and STEPS[s["number"]] in ("GRANT", "REGISTER")}
    rows = {int(row["borrow"]): row for row in table(directory, "borrows")}
    equal("table borrows: whose", set(rows), asked)
    equal("table borrows: maps", {b: (int(row["maps"]), int(row["unmaps"]), int(row["charged_bytes"])) for b, row in rows.items()},
          {b: (maps[b, "lend_map"], maps[b, "lend_unmap"], charged[b]) for b in rows})
    equal("table borrows: ended", {row["ended"] for row in rows.values()}, {"returned"})
    rows = table(directory, "windows")
    adapters = [row for row in rows if not row["borrow"]]
    equal("table windows: maps", collections.Counter(int(row["maps"]) for row in adapters if int(row["maps"])),
          collections.Counter(collections.Counter(w["number"] >> 16 for w in t.records["window_map"]).values()))
    equal("table windows: nothing is left", {(row["used"], row["mapped_bytes"]) for row in adapters}, {("0", "0")})
    lost = collections.Counter()
    for row in table(directory, "paths"):
        lost[row["device"]] += int(row["lost_writes"])
    equal("table paths: lost writes", +lost, collections.Counter(t.own(w) for w in t.records["lost_write"] if w["device"] is not None))
    fetched = {row["device"]: int(row["ios"]) for row in table(directory, "lent_stages") if row["stage"] == "fetch"}
    equal("table lent_stages", without_errors(fetched, errors), without_errors(+staged, errors))
    told, model = collections.Counter(), collections.Counter()
    for row in table(directory, "lent_stages"):
        told[row["device"]] += int(row["sum_model_ns"])
    for io in t.records["io_read"] + t.records["io_write"]:
        model[t.user(io)] += io["model_ns"]
    equal("table lent_stages: model time", without_errors(+told, errors), without_errors(+model, errors))
    requesters = (len(t.records["requester_add"]), len(t.records["requester_remove"]))
    equal("table windows: requester entries", tuple(sum(int(row[c]) for row in adapters) for c in ("adds", "removes")), requesters)
    rows = collections.Counter((row["client"], int(row["from_pair"]), int(row["to_pair"]), int(row["sent_again"]))
                               for row in table(directory, "failovers"))
    equal("table failovers", rows, collections.Counter((t.user(f), f["address"], f["queue"], f["length"]) for f in t.records["failover"]))


def compare_killed(directory, r, t, host):
    """A host was killed: what is recorded of it is true, though some is lacking; of the others nothing is."""
    whose = [name.split("/")[0] for name in t.agents]
    none = 0xffffffff
    got, want = collections.Counter(), {True: collections.Counter(), False: collections.Counter()}
    for e in r.events["lend_step"]:
        got[r.name(e).split("/")[0] == host, STEPS[e["code"]], e["group"], e["length"]] += 1
    for s in t.records["step"]:
        of = whose[s["agent"]] == host
        want[of][of, STEPS[s["number"]], none if s["borrow"] is None else s["borrow"], abs(s["code"])] += 1
    of_killed = collections.Counter({key: n for key, n in got.items() if key[0]})
    equal("no step of the killed is made up", of_killed - want[True], collections.Counter())
    equal("steps of the killed were taken before", sum(of_killed.values()) > 0, True)
    done = collections.Counter(t.user(io) for io in t.records["io_read"] + t.records["io_write"] if io["code"] == 0)
    rows = {row["client"]: int(row["ios"]) for row in table(directory, "clients") if int(row["ios"])}
    equal("clients of others: all", {u: n for u, n in rows.items() if u.split("/")[0] != host},
          {u: n for u, n in done.items() if u.split("/")[0] != host})
    killed = {u: (n, done[u]) for u, n in rows.items() if u.split("/")[0] == host}
    equal("clients of the killed: what they had done by the last telling", [u for u, (n, of) in killed.items() if not 0 < n <= of], [])
    equal("and they are all there", len(killed), 2)
    equal("how its borrow ended", [row["ended"] for row in table(directory, "borrows") if row["borrower"] == host], ["borrower dead"])


def main():
    truth, recording, tables, devices, agents, iommus = sys.argv[1:7]
    absent = set(sys.argv[7].split(",")) if len(sys.argv) > 7 else None
    r, t = Recording(recording), Truth(truth, devices.split(","), agents.split(","), iommus == "yes")
    if len(sys.argv) > 7 and sys.argv[7].startswith("killed="):
        compare_killed(tables, r, t, sys.argv[7][len("killed="):])
        end("compare_lent")
    compare_steps(r, t)
    compare_windows(r, t)
    compare_maps(r, t)
    compare_states(r, t)
    done, staged, moved, errors = compare_users(r, t)
    compare_rest(r, t)
    if absent is None:
        compare_tables(tables, t, done, staged, moved, errors)
        end("compare_lent")
    end_without(absent)


main()
