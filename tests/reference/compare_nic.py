#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what a campaign's results say of one NIC against the truth log of its emulated machine.

    compare_nic.py RESULTS TRUTH

RESULTS is the CSV of a run of one point; TRUTH its log (docs/truth-log.md), which has each frame by itself. What
is counted is equal. What is cut by time is as the log's stamps allow: a frame's stamp is made when it is in its
buffers, its window by when it came. Prints "ok - ..."/"not ok - ..." lines and the plain closing line.
"""
import csv
import math
import sys

import compare_frames
from verdict import closing, result

WINDOW, STEADY_WINDOWS = 100_000_000, 5
LATE = 20_000_000  # what a busy machine may put between a frame and its stamp


def windows(delivered, begin, margin=0):
    """Bytes of each whole window since `begin`, widened by a margin at both ends."""
    count = (delivered[-1][0] - begin) // WINDOW
    return [sum(size for time, size in delivered if begin + i * WINDOW - margin <= time < begin + (i + 1) * WINDOW + margin)
            for i in range(count)]


def steady(delivered, begin):
    """The end of the first window behind which five in a row have 80% of the best five."""
    bytes_ = windows(delivered, begin)
    sums = [sum(bytes_[i:i + STEADY_WINDOWS]) for i in range(len(bytes_) - STEADY_WINDOWS + 1)]
    if not sums or not max(sums):
        return None
    return next(i + 1 for i, one in enumerate(sums) if one >= 0.8 * max(sums)) * WINDOW


def within(name, low, value, high):
    result(name, [] if low <= value <= high else [f"from {low} to {high}, told {value}"])


def main():
    with open(sys.argv[1], newline="") as file:
        row, = csv.DictReader(file)
    frames = compare_frames.read_truth()[0]
    delivered = sorted((frame.time, frame.bytes) for frame in frames if not frame.lost)
    stalls = [stall for of in compare_frames.brute_force(frames).values() for stall in of]
    for name, count in (("delivered", len(delivered)), ("stalls", len(stalls)),
                        ("lost_fault", sum(frame.lost and frame.reason == 1 for frame in frames)),
                        ("lost_wire", sum(frame.lost and frame.reason == 6 for frame in frames))):
        within(f"{name} is what the log has ({count})", count, int(row[name]), count)
    waited = sum(not frame.lost and frame.waited > 0 for frame in frames)
    within("frames that had to wait were held", waited, int(row["held"]), waited + int(row["held_now"]))
    closed = [stall for stall in stalls if stall.state == "recovered"]
    longest = int(row["max_stall_ns"] or 0)
    within("the longest stall is as long as in the log",
           max((stall.end - stall.start for stall in closed), default=0), longest,
           math.inf if len(closed) < len(stalls) else max((stall.end - stall.earliest + LATE for stall in closed), default=0))
    begin = delivered[0][0]
    within("the slowest 100 ms are those of the log",
           min(windows(delivered, begin, -LATE), default=0) * 10, int(float(row["min_goodput_bytes_per_s"])),
           min(windows(delivered, begin, LATE), default=0) * 10)
    candidates = {steady(delivered, begin - shift) for shift in range(-LATE, LATE + 1, LATE // 8)}
    told = row["time_to_steady_ns"]
    result("it is steady when the log is",
           [] if (int(told) if told else None) in candidates else [f"one of {candidates}, told {told}"])
    return closing()


if __name__ == "__main__":
    sys.exit(main())
