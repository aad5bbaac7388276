#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds parts of a recording (--since, --until) against the whole.

    compare_since.py FAULTLINE RECORDING

Wherever the recording is cut, the rows of a part are, byte by byte, those rows of the whole that began in
it; the faults left out are told, and together with those shown they are all. Cut is where it hurts: at
every stage of a fault of each outcome, just before it, and between its CPU fault and its end. Prints
"ok - ..."/"not ok - ..." lines and the plain closing line.
"""
import calendar
import collections
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
import time

from verdict import closing, result

INTERVALS = ("request", "delivery", "dispatch", "resolve", "map", "respond", "resume")
STATES = ("complete", "unfinished", "inconsistent", "overflowed", "discarded", "abandoned")
MOST = 30  # cuts


def nanoseconds(text):
    """Of 2026-11-21T14:02:03.123456789Z, since 1970."""
    seconds, fraction = text.rstrip("Z").split(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction)


def iso(ns):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) + f".{ns % 10**9:09d}Z"


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return done.stdout, done.stderr


def timeline(program, recording, *window):
    """Lines of the table without its head, and what was said beside it."""
    text, said = run(program, "timeline", recording, "--all", "--csv=-", *window)
    return text.splitlines()[1:], said


def told(said):
    """How many faults began before, of these went on, began after."""
    counts = [re.search(pattern, said) for pattern in
              (r"(\d+) faults? that began before", r"\((\d+) of them went on",
               r"(\d+) faults? that began at")]
    return [int(found[1]) if found else 0 for found in counts]


def end_of(row):
    """When its device went on or gave it up; never, if neither was seen."""
    if row["abandoned"]:
        return nanoseconds(row["abandoned"])
    if row["reached"] != "resume":
        return float("inf")
    return nanoseconds(row["start"]) + int(row["total_ns"])


def cuts(rows):
    """Times in the middle of faults, of each state and stage: few enough to try them all."""
    by_moment = collections.defaultdict(list)
    for row in rows:
        start = now = nanoseconds(row["start"])
        by_moment[row["state"], "at the start"].append(start)
        for stage in INTERVALS:
            if row[f"{stage}_ns"]:
                by_moment[row["state"], f"in {stage}"].append(now + int(row[f"{stage}_ns"]) // 2)
                now += int(row[f"{stage}_ns"])
        if row["cpu_fault"]:
            by_moment[row["state"], "after its CPU fault"].append(nanoseconds(row["cpu_fault"]) + 1)
        if row["abandoned"]:
            by_moment[row["state"], "given up"].append(nanoseconds(row["abandoned"]))
    found = {moment: times[len(times) // 2] for moment, times in sorted(by_moment.items())}
    return dict(list(found.items())[:: max(1, -(-len(found) // MOST))])


def compare(program, recording):
    lines, said = timeline(program, recording)
    head = run(program, "timeline", recording, "--all", "--csv=-")[0].splitlines()[0]
    rows = list(csv.DictReader(io.StringIO("\n".join([head, *lines]))))
    began = [nanoseconds(row["start"]) for row in rows]
    ended = [end_of(row) for row in rows]
    problems = collections.defaultdict(list)
    shown = 0
    if told(said) != [0, 0, 0]:
        problems["counts"].append(f"the whole leaves out {said}")
    chosen = cuts(rows)
    for (state, moment), at in chosen.items():
        name = f"{iso(at)}, a fault that is {state}, {moment}"
        middle = at + (began[-1] - at) // 2 + 1
        for window, low, high in (((["--since", iso(at)]), at, None),
                                  ((["--until", iso(at)]), 0, at),
                                  ((["--since", iso(at), "--until", iso(middle)]), at, middle)):
            if high is not None and high <= low:
                continue
            part, said = timeline(program, recording, *window)
            inside = [low <= start and (high is None or start < high) for start in began]
            wanted = [line for line, is_in in zip(lines, inside) if is_in]
            shown += len(part)
            if part != wanted:
                ours, theirs = set(part) - set(wanted), set(wanted) - set(part)
                problems["rows"].append(f"{window} {name}: {len(part)} rows, {len(wanted)} began "
                                        f"there; {len(ours)} others, such as {next(iter(ours), '-')}, "
                                        f"{len(theirs)} lacking")
            before, across, after = told(said)
            if before + len(part) + after != len(rows) or before != sum(s < low for s in began):
                problems["counts"].append(f"{window} {name}: {before} before, {len(part)} shown, "
                                          f"{after} after, of {len(rows)}")
            went_on = sum(start < low <= end for start, end in zip(began, ended))
            if across != went_on:
                problems["counts"].append(f"{window} {name}: {across} went on, {went_on} did")
    result(f"what began in a part is told as in the whole ({len(chosen)} cuts, {len(rows)} faults, "
           f"{shown} rows)", problems["rows"] or ([] if shown else ["no rows"]))
    result("what was left out and what was shown is all", problems["counts"])
    return chosen, lines, rows, began


def report(program, recording, *window):
    with tempfile.TemporaryDirectory() as directory:
        run(program, "report", recording, f"--csv={directory}/t", *window)
        tables = {}
        for name in ("faults", "summary", "invalidations", "ios", "iommu_faults", "probes"):
            with open(f"{directory}/t/{name}.csv", newline="") as file:
                tables[name] = file.read().splitlines()[1:]
                file.seek(0)
                tables[name, "rows"] = list(csv.DictReader(file))
    tables["json"] = json.loads(run(program, "report", recording, "--json", *window)[0])
    return tables


def compare_reports(program, recording, chosen, lines, rows, began):
    """All tables of a report stand for the same faults; the two parts of a cut are the whole."""
    problems = []
    whole = report(program, recording)
    for at in list(chosen.values())[:: max(1, len(chosen) // 4)]:
        first = report(program, recording, "--until", iso(at))
        second = report(program, recording, "--since", iso(at))
        for part, keep in ((first, [s < at for s in began]), (second, [s >= at for s in began])):
            wanted = [row for row, kept in zip(rows, keep) if kept]
            states = {s: sum(row["state"] == s for row in wanted) for s in STATES}
            found = {s: sum(int(row[s]) for row in part["summary", "rows"]) for s in STATES}
            if part["faults"] != [line for line, kept in zip(lines, keep) if kept]:
                problems.append(f"{iso(at)}: table faults has other rows")
            if states != found or len(wanted) != sum(int(row["faults"])
                                                     for row in part["summary", "rows"]):
                problems.append(f"{iso(at)}: summary {found}, rows {states}")
            if part["probes"] != whole["probes"]:
                problems.append(f"{iso(at)}: other probes")
            shut_out = len(rows) - len(wanted)
            facts = part["json"]
            if shut_out != sum(int(facts.get(f"left_out_{side}", 0)) for side in ("before", "after")):
                problems.append(f"{iso(at)}: {shut_out} left out, JSON says otherwise")
        for name, column in (("invalidations", "began"), ("invalidations", "complete"),
                             ("invalidations", "freed_bytes")):
            sums = [sum(int(row[column]) for row in tables[name, "rows"] if row["device"] != "all")
                    for tables in (first, second, whole)]
            if sums[0] + sums[1] != sums[2]:
                problems.append(f"{iso(at)}: {name} {column}: {sums}")
        if len(whole["ios"]) < 10000 and sorted(first["ios"] + second["ios"]) != sorted(whole["ios"]):
            problems.append(f"{iso(at)}: I/Os one by one: {len(first['ios'])} + {len(second['ios'])}, "
                            f"{len(whole['ios'])} in all")
    result("all tables of a report leave out the same", problems)


def main(program, recording):
    compare_reports(program, recording, *compare(program, recording))
    return closing()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
