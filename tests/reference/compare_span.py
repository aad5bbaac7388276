#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what a trigger has saved to the span that it says, and to the recording that it is a part of.

compare_span.py SAVED.flt FAULTS.csv AROUND_MS: every event lies between the time from which it says to have kept
all and its end; the faults that began there are those of FAULTS.csv (`timeline --all --csv --raw-time` of the
whole) that did, with none missing and none besides; and the span is that of one of them with AROUND_MS on both
sides, or more behind it. Prints how many faults were compared, and how many of FAULTS.csv lie outside.
"""
import csv
import sys

from flt_read import read

KIND, DETECT = 10, 1


def main(saved, whole, around):
    around = int(around) * 1_000_000
    calls = list(read(saved))
    since = next((fields[0] for name, fields in calls if name == "kept"), None)
    until = next(fields[0] for name, fields in reversed(calls) if name == "end")
    if not since:
        sys.exit("nothing was left out")
    events = [fields for name, fields in calls if name == "event"]
    ticks = [fields[0] for name, fields in calls if name == "tick"]
    outside = [time for time in ticks + [event[0] for event in events] if not since <= time < until]
    if outside:
        sys.exit(f"{len(outside)} of {len(events)} events and {len(ticks)} ticks lie outside [{since}, {until}): {outside[:5]}")
    with open(whole, newline="", encoding="utf-8") as file:
        faults = list(csv.DictReader(file))
    expected = sorted(int(row["start_ns"]) for row in faults if row["start_ns"] and since <= int(row["start_ns"]) < until)
    found = sorted(event[0] for event in events if event[KIND] == DETECT)
    if found != expected:
        sys.exit(f"{len(expected)} faults began in [{since}, {until}), {len(found)} of them are held: "
                 f"{sorted(set(expected) ^ set(found))[:5]}")
    # Further slow faults that follow make it longer.
    first = next((row for row in faults if row["start_ns"] and row["total_ns"] and int(row["start_ns"]) == since + around), None)
    if not first or until < since + around + int(first["total_ns"]) + around:
        sys.exit(f"no fault is surrounded by {around} in [{since}, {until}): {first}")
    print(f"{len(found)} faults inside, {len(faults) - len(found)} outside")


main(*sys.argv[1:])
