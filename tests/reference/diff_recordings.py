#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Recordings for the suite `diff` whose truth is known: diff_recordings.py DIRECTORY writes NAME.flt for each of RUNS.

Two devices fault at random for two seconds, each with stages of its own, by seeds: no clock and no neighbour on the
machine has a part in them. `equal`, `first` and `second` are of one source; in `late` each fault of vm0/disk takes 5 ms
more to resolve, and nothing else has changed; `renamed` has one device, of another name.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hostile"))

from forge import DETECT, REAL_NS, SECOND, START_NS, Recording  # noqa: E402

TYPICAL_US = (2, 30, 60, 90, 2, 1, 40)  # of the stages
RESOLVE, RATE, LENGTH = 3, 149, 2 * SECOND
BOTH = ("vm0/disk", "vm1/disk")
# Seed, devices, and how much later the first one's pages are there.
RUNS = {"first": (2, BOTH, 0), "second": (3, BOTH, 0), "equal": (301, BOTH, 0), "late": (302, BOTH, 5_000_000),
        "renamed": (5, ("vm0/drive",), 0)}


def stamped(events, draw, late_ns):
    """The events of a fault, each as much later than the one before as its stage takes."""
    at = events[0]["time"]
    for event in events:
        stage = event["kind"] - DETECT - 1
        if stage >= 0:
            at += round(1000 * TYPICAL_US[stage] * draw.lognormvariate(0, 0.5)) + late_ns * (stage == RESOLVE)
        event["time"] = at
    return events


def write(path, seed, devices, late_ns):
    # Recordings of one host, one after the other.
    begin, draw, events = START_NS + 10 * seed * SECOND, random.Random(seed), []
    recording = Recording(recording=0x600d0000 + seed, preamble=False)
    recording.host(hostname="moon", start=begin).clock(begin, REAL_NS + begin - START_NS)
    for handle, name in enumerate(devices, 1):
        recording.device(handle, name=name, vm=name.partition("/")[0], first=begin)
        at = begin
        while (at := at + round(draw.expovariate(RATE) * SECOND)) < begin + LENGTH:
            events += stamped(recording.fault(handle, at), draw, late_ns * (handle == 1))
    events.sort(key=lambda event: event["time"])
    for some in range(0, len(events), 200):
        recording.events(events[some:some + 200])
    recording.end(max(begin + LENGTH, events[-1]["time"] + 1)).write(path)


if __name__ == "__main__":
    for name, run in RUNS.items():
        write(os.path.join(sys.argv[1], f"{name}.flt"), *run)
