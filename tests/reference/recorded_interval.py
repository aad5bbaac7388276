#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Was just that recorded which lies between a recording's beginning and its end?

    recorded_interval.py RECORDING TICKS PID SECONDS

TICKS is what tests/lab/programs/ticks.c printed: a page touched every 10 ms, with its own clock before
and after. Every page that was touched within the interval that the recording claims must be in it, at
that time, and none that was touched before or after. The interval must last SECONDS, and longer only
by what the machine itself was late: the widest gap between two ticks tells.
"""
import sys

import flt_read

TIME, ADDRESS, PID, KIND = 0, 1, 8, 10  # fields of struct event
CPU_FAULT = 24
failed = 0


def check(name, true, detail):
    global failed
    failed += not true
    print(f"ok - {name} ({detail})" if true else f"not ok - {name}: {detail}")


def main():
    path, ticks_path, pid, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    with open(ticks_path, encoding="ascii") as file:
        lines = [line.split() for line in file if line.count(" ") == 2 and line.endswith("\n")]
    ticks = [(int(address, 16), int(before), int(after)) for address, before, after in lines]
    begin = end = 0
    recorded = {}
    for name, fields in flt_read.read(path):
        if name == "host":
            begin = fields[flt_read.HOST_START]
        elif name == "end":
            end = fields[0]
        elif name == "event" and fields[KIND] == CPU_FAULT and fields[PID] == pid:
            recorded[fields[ADDRESS] & ~4095] = fields[TIME]
    within = [t for t in ticks if t[1] >= begin and t[2] <= end]
    before = [t for t in ticks if t[2] < begin]
    after = [t for t in ticks if t[1] > end]
    check("pages were touched before, while and after it was recorded", before and len(within) > 10 and after,
          f"{len(before)}, {len(within)}, {len(after)}")
    wrong = [t for t in within if not t[1] <= recorded.get(t[0], 0) <= t[2]]
    check("what happened within the interval is recorded, at its time", not wrong,
          f"{len(wrong)} of {len(within)} are not")
    invented = [t for t in before + after if t[0] in recorded]
    check("nothing else is", not invented, f"{len(invented)} of {len(before) + len(after)} are")
    if within and after:
        times = [t[1] for t in ticks if begin <= t[1]][:len(within) + 10]
        late = max(b - a for a, b in zip(times, times[1:])) / 1e9
        lasted = (end - begin) / 1e9
        check(f"it lasted {seconds} s", seconds <= lasted <= seconds + 0.05 + 3 * late,
              f"{lasted:.3f} s; ticks were up to {late:.3f} s apart")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
