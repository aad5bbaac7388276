#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Holds a live protector to what its policy would have decided of the recording, and the probes to the truth log.

compare_pins.py RUN.flt TRUTH.jsonl KEY=VALUE...: keys are those of [protector], times in ns, and memory (bytes of each tenant).
Policies are written anew here from docs/protect.md, slowly. Compared are, domain by domain and in order:

  decisions  what the policy says to pin and to let go, when and why, of the recording's accesses (io_complete): the log's pin
             and unpin, without those that let go what was left at the end
  probes     the recording's page_pin and page_unpin: the log's pin and unpin without what was refused (pin_refused), whose
             unpin has nothing to let go

Only a recording of one machine, whose devices are the log's in their order, in which no event was lost.
"""
import collections
import json
import sys

from flt_read import read

PAGE_PIN, PAGE_UNPIN, IO_COMPLETE = 20, 21, 28
TOUCHED, IDLE, OVERFLOW, EXPECTED, RETURNED, DROPPED = range(6)
LAST = 16
NOBODY = 0xffffffff


class Policy:
    def __init__(self, keys, memory):
        self.keys, self.memory, self.newest, self.actions = keys, memory, 0, []

    def share(self, name):
        return max(1, int(self.keys[name] * self.memory + 1e-9))

    def pin(self, time, page, reason):
        self.actions.append(("pin", time, page, reason))

    def unpin(self, time, page, reason):
        self.actions.append(("unpin", time, page, reason))

    def advance(self, time):
        self.newest = max(self.newest, time)

    def access(self, time, page):
        self.advance(time)
        self.touch(self.newest, page)


class Static(Policy):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.known = set()

    def touch(self, time, page):
        if page not in self.known:
            self.known.add(page)
            self.pin(time, page, TOUCHED)


class Lru(Policy):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.pages = collections.OrderedDict()

    def touch(self, time, page):
        new = page not in self.pages
        self.pages[page] = True
        self.pages.move_to_end(page)
        if new and len(self.pages) > self.share("lru"):
            self.unpin(time, self.pages.popitem(last=False)[0], DROPPED)
        if new:
            self.pin(time, page, TOUCHED)


class Adp(Policy):
    """Blocks are lists of [number of the last access, its time, page], oldest first; `back` has those on their way back, as they
    set out: [when they arrive, page, last access]."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.active, self.inactive, self.back, self.scan, self.number = [], [], [], None, 0

    def advance(self, time):
        time = max(self.newest, time)
        while self.scan is not None:
            ends = self.back[0][0] if self.back else None
            due = min(due for due in (ends, self.scan) if due is not None)
            if due > time:
                break
            if ends == due:
                self.end_delay(due)
            else:
                self.scan += self.keys["scan"]
                self.look(due)
        self.newest = time

    def end_delay(self, due):
        _, page, entry = self.back.pop(0)
        self.unpin(due, page, RETURNED)
        self.insert(self.active, entry)
        self.shrink(due)

    @staticmethod
    def insert(block, entry):
        block.append(entry)
        block.sort(key=lambda other: other[0])

    def shrink(self, time):
        if len(self.active) > self.share("active"):
            self.promote(time, self.active.pop(0), OVERFLOW)

    def look(self, due):
        while self.active and due - self.active[0][1] >= self.keys["promote_after"]:
            if not self.promote(due, self.active[0], IDLE):
                break
            del self.active[0]

    def promote(self, time, entry, reason):
        if len(self.inactive) + len(self.back) >= self.share("inactive"):
            if self.keys["overflow"] == "refuse" or not self.inactive:
                return False
            self.unpin(time, self.inactive.pop(0)[2], DROPPED)
        self.insert(self.inactive, entry)
        self.pin(time, entry[2], reason)
        return True

    def touch(self, time, page):
        if self.scan is None:
            self.scan = time + self.keys["scan"]
        self.number += 1
        entry = [self.number, time, page]
        for coming in self.back:
            if coming[1] == page:
                coming[2] = entry
                return
        for i, other in enumerate(self.inactive):
            if other[2] == page:
                del self.inactive[i]
                self.back.append([time + self.keys["demote_after"], page, entry])
                return
        self.active = [other for other in self.active if other[2] != page] + [entry]
        self.shrink(time)


POLICIES = {"static": Static, "lru": Lru, "adp": Adp}


def numbers(words):
    keys = {"overflow": "drop", "scope": "device", "page": 2 << 20}
    for word in words:
        name, value = word.split("=")
        keys[name] = value if name in ("policy", "overflow", "scope") else float(value) if "." in value else int(value)
    return keys


def read_recording(path):
    """Accesses and the probes' actions, each with the index of its device, and the tenant of each device."""
    devices, accesses, actions, lost = {}, [], [], 0
    for name, fields in read(path):
        if name == "device":
            devices[fields[0]] = fields
        elif name == "loss":
            lost = fields[2] + fields[3] + fields[6] + fields[10]
        elif name == "event" and fields[10] == IO_COMPLETE:
            accesses.append((fields[0], fields[4], fields[1], fields[2]))
        elif name == "event" and fields[10] in (PAGE_PIN, PAGE_UNPIN):
            what = "pin" if fields[10] == PAGE_PIN else "unpin"
            actions.append((fields[4], (what, fields[3], fields[1], fields[13])))
    index = {handle: row[10] for handle, row in devices.items()}
    names = {row[10]: row[4] for row in devices.values()}
    tenants = list(dict.fromkeys(names[device] for device in sorted(names)))
    tenant_of = {device: tenants.index(name) for device, name in names.items()}
    accesses.sort(key=lambda access: access[0])
    return ([(time, index[device], address, length) for time, device, address, length in accesses],
            [(index[device], action) for device, action in actions], tenant_of, lost)


def decided(accesses, keys, domain_of):
    policies = {}
    for time, device, address, length in accesses:
        domain = domain_of(device)
        if domain not in policies:
            policies[domain] = POLICIES[keys["policy"]](keys, keys["memory"] // keys["page"])
        for page in range(address // keys["page"], (address + max(length, 1) - 1) // keys["page"] + 1):
            policies[domain].access(time, page)
    for policy in policies.values():
        policy.advance(accesses[-1][0])
    return {domain: [(what, time, page * keys["page"], reason) for what, time, page, reason in policy.actions]
            for domain, policy in policies.items()}


def read_truth(path):
    """Decisions of each domain, and what of them was carried out, with those at the end."""
    decisions, done, refused = collections.defaultdict(list), collections.defaultdict(list), 0
    held = collections.defaultdict(set)
    with open(path, encoding="utf-8") as file:
        records = [record for record in map(json.loads, file) if record["who"] == "protector"]
    gave_up = collections.Counter((r["device"], r["tenant"], r["address"], r["value"]) for r in records
                                  if r["what"] == "pin_refused")
    for record in records:
        domain = (record["device"], record["tenant"])
        action = (record["what"], record["value"], record["address"], record["code"])
        if record["what"] == "pin_refused":
            refused += 1
            continue
        if not record["flags"] & LAST:
            decisions[domain].append(action)
        if record["what"] == "pin" and not gave_up[domain + (record["address"], record["value"])]:
            held[domain].add(record["address"])
            done[domain].append(action)
        elif record["what"] == "unpin" and record["address"] in held[domain]:
            held[domain].remove(record["address"])
            done[domain].append(action)
    return decisions, done, refused, sum(map(len, held.values()))


def verdict(name, left, right):
    differ = next((i for i, pair in enumerate(zip(left, right)) if pair[0] != pair[1]), min(len(left), len(right)))
    if left == right:
        print(f"ok - {name} ({len(left)})")
        return 0
    print(f"not ok - {name}: {len(left)} and {len(right)}, which differ from number {differ + 1} on")
    print(f"    # {left[differ:differ + 3]}\n    # {right[differ:differ + 3]}")
    return 1


def main(recording, truth, *words):
    keys = numbers(words)
    accesses, probes, tenant_of, lost = read_recording(recording)
    decisions, done, refused, left = read_truth(truth)
    domains = sorted(decisions, key=str)

    def domain_of(device):
        return (None if keys["scope"] == "tenant" else device, tenant_of[device])

    failures = verdict("nothing was lost", [lost], [0])
    if not accesses or not domains:
        print(f"not ok - there is something to compare: {len(accesses)} accesses, {len(domains)} domains")
        sys.exit(1)
    offline = decided(accesses, keys, domain_of)
    for domain in domains:
        name = f"device {domain[0]}" if domain[0] is not None else f"tenant {domain[1]}"
        failures += verdict(f"{name}: the policy decides of the recording as it did live",
                            offline.get(domain, []), decisions[domain])
        of_probes = [action for device, action in probes if domain_of(device) == domain]
        failures += verdict(f"{name}: the probes tell what was carried out", of_probes, done[domain])
    failures += verdict("nothing stays pinned", [left], [0])
    print(f"{2 * len(domains) + 2 - failures} passed, {failures} failed, {refused} pins refused")
    sys.exit(failures > 0)


main(*sys.argv[1:])
