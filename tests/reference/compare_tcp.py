#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what a recording tells of TCP against the counters of the namespaces where it happened.

    compare_tcp.py RECORDING MADE [--machine] [--without-states] [--nothing]

MADE is what tests/lab/programs/tcp_loss has printed. With --machine it was one: all is of its NIC, what that has
lost is in the recording, too, and nothing else is. --nothing: nothing of it is there.
"""
import argparse
import pathlib
import re
import sys

import flt_read

ROOT = pathlib.Path(__file__).parents[2]
FIELDS = ("time", "address", "length", "value", "device", "pasid", "group", "instance", "pid", "tid", "kind", "queue",
          "cpu", "code", "flags")
FLOW = ("id", "device", "family", "protocol", "ethertype", "source_port", "destination_port", "source", "destination")
TIMEOUT, PROBE, FAST, SLOW_START = 1, 2, 3, 4
MAJOR = 32
LOSS = 4  # TCP_CA_Loss
failed = 0


def equal(what, found, wanted):
    global failed
    if found != wanted:
        failed += 1
        print(f"not ok - {what}: {found}, not {wanted}")


def kinds():
    text = (ROOT / "bpf/event_kinds.def").read_text(encoding="utf-8")
    return {int(number): name for number, name in re.findall(r'EVENT_KIND\(\w+, (\d+), "(\w+)"', text)}


class Recording:
    def __init__(self, path, guest, wire):
        names = kinds()
        self.ends = {}
        for name, address in ("guest", guest), ("wire", wire):
            self.ends[f"{address:08x}"] = self.ends[f"fd4f{address:028x}"] = name
        self.flows, self.events, self.devices, self.loss = {}, [], {}, None
        for name, fields in flt_read.read(path):
            if name == "flow":
                flow = dict(zip(FLOW, fields))
                self.flows[flow["id"]] = flow
            elif name == "device":
                self.devices[fields[0]] = bytes.fromhex(fields[2]).decode()
            elif name == "loss":
                self.loss = fields
            elif name == "event":
                event = dict(zip(FIELDS, fields))
                event["name"] = names.get(event["kind"])
                self.events.append(event)

    def side(self, flow):
        """Whose flow it is: that of its source."""
        length = {2: 8, 10: 32}.get(flow["family"], 0) if flow else 0
        return self.ends.get(flow["source"][:length]) if length else None

    def of(self, name, at=None):
        found = [e for e in self.events if e["name"] == name]
        return found if at is None else [e for e in found if self.side(self.flows.get(e["tid"])) == at]


def segments(events, *codes):
    return sum(e["group"] for e in events if e["code"] in codes)


def check_side(recording, made, at, column, without_states):
    sent = [e for e in recording.of("tcp_retransmit", at) if not e["flags"] & MAJOR]
    answers = recording.of("tcp_synack", at)
    wanted = {name: values[column] for name, values in made.items()}
    equal(f"{at}: segments", segments(sent, TIMEOUT, PROBE, FAST, SLOW_START) + len(answers), wanted["RetransSegs"])
    equal(f"{at}: loss probes", sum(1 for e in sent if e["code"] == PROBE), wanted["TCPLossProbes"])
    equal(f"{at}: fast", segments(sent, FAST), wanted["TCPFastRetrans"])
    equal(f"{at}: slow start", segments(sent, SLOW_START), wanted["TCPSlowStartRetrans"])
    opening = [e for e in sent if not e["length"] and (e["address"] - (e["address"] >> 32)) & 0xffffffff == 1]
    equal(f"{at}: segments that open", len(opening) + len(answers), wanted["TCPSynRetrans"])
    if at == "guest":  # The wire's counter has timers of answers, too.
        equal(f"{at}: timeouts", sum(1 for e in sent if e["code"] == TIMEOUT), wanted["TCPTimeouts"])
    errors = [e["value"] for e in recording.of("tcp_error", at)]
    equal(f"{at}: refused", errors.count(111), wanted["refused"])
    equal(f"{at}: reset", errors.count(104), wanted["reset"])
    equal(f"{at}: given up", len(recording.of("tcp_closed", at)), wanted["given_up"])
    equal(f"{at}: errors", len(errors), wanted["refused"] + wanted["reset"])
    for event in sent:
        first, end = event["address"] >> 32, event["address"] & 0xffffffff
        if event not in opening:
            equal(f"{at}: bytes of a segment", event["length"], (end - first) & 0xffffffff)
        equal(f"{at}: its timeout", 100_000_000 <= event["value"] <= 8_000_000_000, True)
    # A timeout changes the state, but for one that follows another.
    states = recording.of("tcp_state", at)
    if without_states:
        equal(f"{at}: states", states, [])
    elif any(e["code"] == TIMEOUT for e in sent):
        equal(f"{at}: states of loss", any(e["code"] == LOSS for e in states), True)
    before = {}
    for event in states:
        equal(f"{at}: another state", event["code"] != before.get(event["tid"], 0), True)
        before[event["tid"]] = event["code"]
    equal(f"{at}: windows", all(0 < e["value"] < 1000 for e in states), True)


def check_flows(recording):
    for flow in recording.flows.values():
        if recording.side(flow):
            equal("protocol", flow["protocol"], 6)
            equal("ends", {flow["source_port"], flow["destination_port"]} & {5201, 5202} != set(), True)
            equal("ports", 0 in (flow["source_port"], flow["destination_port"]), False)


def overlaps(lost, sent):
    first, end = lost["address"] >> 32, lost["address"] & 0xffffffff
    start, stop = sent["address"] >> 32, sent["address"] & 0xffffffff
    return ((stop - first) & 0xffffffff) < 1 << 31 and stop != first and ((end - start) & 0xffffffff) < 1 << 31 \
        and end != start


def check_machine(recording, made):
    """What the NIC has lost, TCP has sent again: of the same flow, by sequence numbers."""
    equal("devices", sorted({recording.devices.get(e["device"]) for e in recording.events
                             if e["name"].startswith(("tcp", "frames"))}), ["vm/net"])
    lost = recording.of("frames_lost")
    equal("frames lost", len(lost), sum(made["dropped"]))
    faults = {(e["group"], e["instance"]) for e in recording.of("fault_detect")}
    equal("faults", len(faults), len(lost))
    equal("their frames", {(e["group"], e["instance"]) for e in lost}, faults)
    sent = recording.of("tcp_retransmit") + recording.of("tcp_synack")
    given_up = {e["tid"] for e in recording.of("tcp_closed")}
    for event in lost:
        if event["tid"] in given_up:
            continue
        if recording.flows[event["tid"]]["family"] == 0:
            equal("no IPv4", recording.flows[event["tid"]]["ethertype"], 0x86dd)
            continue
        equal("sent again after it was lost", any(
            s["tid"] == event["tid"] and overlaps(event, s) and s["time"] > event["value"] for s in sent), True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recording")
    parser.add_argument("made")
    parser.add_argument("--machine", action="store_true")
    parser.add_argument("--nothing", action="store_true")
    parser.add_argument("--without-states", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.made, encoding="utf-8") as file:
        made = {name: (int(guest), int(wire)) for name, guest, wire in (line.split() for line in file)}
    recording = Recording(arguments.recording, *made["addresses"])
    if arguments.nothing:
        equal("events", [e for e in recording.events if e["name"].startswith(("tcp", "frames"))], [])
        return failed
    for column, at in enumerate(("guest", "wire")):
        check_side(recording, made, at, column, arguments.without_states)
    check_flows(recording)
    if arguments.machine:
        check_machine(recording, made)
    else:
        equal("of no device", {e["device"] for e in recording.events if e["name"].startswith("tcp")}, {0})
    equal("events without a flow", sum(1 for e in recording.events if e["name"].startswith(("tcp", "frames"))
                                       and e["tid"] not in recording.flows), 0)
    total = len(recording.of("tcp_retransmit"))
    print(f"{'not ok' if failed else 'ok'} - {total} retransmissions, {len(recording.flows)} flows")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
