#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds `diff` to what `report` says of the same two recordings, and to pairs that are counted one by one.

    compare_diff.py FAULTLINE A B [OPTION...]

Each row's counts, mean, p50, p99 and share must be those of the table `stages` of either report (the options are
given to all), `superiority` what counting all pairs of the table `faults` gives, but for values that are so near that
one bucket holds both; and what is told as slower or faster has to be so by counting, as more or fewer by its rates.
Prints "ok - ..." and "not ok - ..." lines.
"""
import bisect
import collections
import json
import subprocess
import sys

STAGES = ("request", "delivery", "dispatch", "resolve", "map", "respond", "resume", "total")
BUCKET = 1 / 32  # the widest bucket, of its lowest value


def tables(program, *arguments):
    run = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=False)
    assert run.returncode in (0, 5), f"{arguments}: exit {run.returncode}: {run.stderr}"
    return json.loads(run.stdout)["tables"]


def key_of(row, by_host):
    return (row.get("host", "") if by_host else "", row["device"].partition("#")[0])


def of_report(report, by_host):
    """Times and numbers by (host and device, stage)."""
    times, stages = collections.defaultdict(list), collections.defaultdict(list)
    for row in report["faults"]:
        times[key_of(row, by_host), "faults"].append(0)
        if row["state"] != "complete":
            times[key_of(row, by_host), "incomplete"].append(0)
            continue
        for stage in STAGES:
            if row[f"{stage}_ns"] is not None:
                times[key_of(row, by_host), stage].append(row[f"{stage}_ns"])
    for row in report["stages"]:
        if row["kind"] == "all" and row["queue"] is None and row["device"] != "all":
            stages[key_of(row, by_host), row["stage"]].append(row)
    return times, stages


def superiority(a, b):
    """Bounds of P(B > A) + P(B = A) / 2, as far as buckets keep values apart."""
    a = sorted(a)
    least = sum(bisect.bisect_left(a, value * (1 - BUCKET)) for value in b)
    most = sum(bisect.bisect_right(a, value * (1 + BUCKET) + 1) for value in b)
    return least / len(a) / len(b), most / len(a) / len(b)


def main(program, *arguments):
    paths, options = arguments[:2], arguments[2:]
    rows = tables(program, "diff", *paths, *options)["diff"]
    by_host = any(row["host"] for row in rows)
    sides = [of_report(tables(program, "report", path, *options), by_host) for path in paths]
    wrong, told = collections.Counter(), set()
    for row in rows:
        key = ((row["host"], row["device"]), row["stage"])
        told.add(key)
        for (times, stages), side in zip(sides, "ab"):
            if (row[f"count_{side}"] or 0) != len(times[key]):
                wrong[f"count of {key} in {side}: {row[f'count_{side}']}, {len(times[key])} are"] += 1
            if len(stages[key]) == 1:
                for name in ("mean", "p50", "p99"):
                    if row[f"{name}_{side}_ns"] != stages[key][0][f"{name}_ns"]:
                        wrong[f"{name} of {key} in {side}"] += 1
                share = 100 * stages[key][0]["sum_ns"] / stages[key[0], "total"][0]["sum_ns"]
                if abs(row[f"share_{side}_percent"] - share) > 1e-6 * share:
                    wrong[f"share of {key} in {side}"] += 1
        counts = [len(times[key]) for times, _ in sides]
        if row["stage"] in STAGES and min(counts) >= 20:
            low, high = superiority(sides[0][0][key], sides[1][0][key])
            if not low - 1e-9 <= row["superiority"] <= high + 1e-9:
                wrong[f"superiority of {key}: {row['superiority']}, between {low} and {high} by counting"] += 1
            if [row["ranked_a"], row["ranked_b"]] != counts:
                wrong[f"ranked of {key}"] += 1
            if row["verdict"] == "slower" and high <= 0.5 or row["verdict"] == "faster" and low >= 0.5:
                wrong[f"{key} is told as {row['verdict']}: {low} to {high} by counting"] += 1
        was, now = (row[f"rate_{side}_per_s"] or 0 for side in "ab")
        if row["verdict"] == "more" and now <= was or row["verdict"] == "fewer" and now >= was:
            wrong[f"{key} is told as {row['verdict']}: {was} and {now} a second"] += 1
    for times, _ in sides:
        for key, values in times.items():
            if values and key not in told:
                wrong[f"no row of {key}"] += 1
    print("ok - numbers are those of report, ranks those of counting" if rows and not wrong else
          f"not ok - numbers are those of report, ranks those of counting: {len(rows)} rows; "
          + "; ".join(list(wrong)[:5]))
    print("1 passed" if not wrong else "0 passed, 1 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
