#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Recomputes what `faultline fleet` sums up, from its own rows.

    fleet.py sums CSV         results and fleet_cdf from fleet_devices
    fleet.py bursts CSV       bursts of fleet_devices from fleet_bursts, and what a burst is
    fleet.py curve CSV        the last row of fleet_curve from fleet_devices
    fleet.py footprint CSV RECORDINGS...   fleet_devices of the first point from tables `footprint` of its recordings
"""
import collections
import csv
import math
import os
import sys

wrong = []


def rows(folder, table):
    with open(os.path.join(folder, table + ".csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def same(what, found, told, tolerance=1e-6):
    if told == "" and found is None:
        return
    if found is None or told == "" or abs(found - float(told)) > tolerance * max(1, abs(found)):
        wrong.append(f"{what}: {found} here, {told} told")


def quantile(ascending, per_mille):
    return ascending[max(0, -(-len(ascending) * per_mille // 1000) - 1)]


def by_point(folder):
    groups = collections.defaultdict(list)
    for row in rows(folder, "fleet_devices"):
        groups[row["point"], row["device"]].append(row)
    return groups


def sums(folder):
    groups = by_point(folder)
    for result in rows(folder, "results"):
        point, machines = result["point"], collections.defaultdict(lambda: [0.0, 0])
        for model in ("nic", "block"):
            of = groups[point, model]
            faults = sorted(int(row["faults"]) for row in of)
            without = sum(int(row["unprotected"]) for row in of)
            pinned = [float(row["pinned_mean_pages"]) / int(row["memory_pages"]) for row in of]
            wrong.extend(f"more is pinned than the most: {row}" for row in of
                         if float(row["pinned_mean_pages"]) > int(row["pinned_max_pages"]))
            for row, share in zip(of, pinned):
                machine = machines[row["machine"], row["day"]]
                machine[0] += share
                machine[1] += int(row["bursts"])
            mean = sum(pinned) / len(of) if of else None
            avoided = 1 - sum(faults) / without if without else None
            same(f"{point} {model}_faults", sum(faults), result[f"{model}_faults"])
            same(f"{point} {model}_mean", sum(faults) / len(of) if of else None, result[f"{model}_mean"])
            same(f"{point} {model}_p99", quantile(faults, 990) if of else None, result[f"{model}_p99"])
            same(f"{point} {model}_bursts", sum(int(row["bursts"]) for row in of), result[f"{model}_bursts"])
            same(f"{point} {model}_avoided", avoided, result[f"{model}_avoided"])
            same(f"{point} {model}_pinned", mean, result[f"{model}_pinned"])
            same(f"{point} {model}_rpr", avoided / mean if mean and avoided is not None else None, result[f"{model}_rpr"])
            cdf = [row for row in rows(folder, "fleet_cdf") if (row["point"], row["device"]) == (point, model)]
            if len(cdf) != (101 if of else 0):
                wrong.append(f"{point} {model}: {len(cdf)} quantiles")
            for row in cdf:
                same(f"{point} {model} quantile {row['quantile']}",
                     quantile(faults, round(1000 * float(row["quantile"]))), row["faults"])
        same(f"{point} pinned", sum(share for share, _ in machines.values()) / len(machines), result["pinned"])
        same(f"{point} bursting", sum(bursts > 0 for _, bursts in machines.values()) / len(machines), result["bursting"])


def bursts(folder):
    counts = collections.Counter()
    for row in rows(folder, "fleet_bursts"):
        length, faults, day = int(row["length_ns"]), int(row["faults"]), int(row["time_ns"]) // (86400 * 10**9)
        counts[row["point"], row["machine"], row["device"], str(day)] += 1
        # Sets of six within a second that share one: there is a second for every five of them at most.
        if faults < 6 or length >= math.ceil((faults - 5) / 1) * 10**9:
            wrong.append(f"no burst: {row}")
    devices = rows(folder, "fleet_devices")
    for row in devices:
        same(f"bursts of {row}", counts.pop((row["point"], row["machine"], row["device"], row["day"]), 0), row["bursts"])
        if (int(row["bursts"]) > 0) != (int(row["peak_per_s"]) > 5):
            wrong.append(f"a burst is a peak above 5: {row}")
        if int(row["faults"]) < int(row["peak_per_s"]) or int(row["peak_per_s"]) < (int(row["faults"]) > 0):
            wrong.append(f"peak: {row}")
    wrong.extend(f"of no device: {key}" for key in counts)
    if not any(int(row["bursts"]) for row in devices):
        wrong.append("there was no burst")


def curve(folder):
    for (point, model), of in by_point(folder).items():
        # The last minute may have a few first accesses behind it.
        days = max(int(row["day"]) for row in of)
        whole = sum(int(row["footprint_pages"]) for row in of if int(row["day"]) == days)
        seen = [int(row["footprint_pages"]) for row in rows(folder, "fleet_curve")
                if (row["point"], row["device"]) == (point, model)]
        if not 0.9 * whole <= max(seen) <= whole:
            wrong.append(f"{point} {model}: footprint {max(seen)} of {whole}")


def footprint(folder, recordings):
    told = {}
    for folder_of_host in recordings:
        for row in rows(folder_of_host, "footprint"):
            told[row["device"]] = row
    devices = [row for row in rows(folder, "fleet_devices") if row["point"] == "1"]
    for row in devices:
        name = f"vm{row['machine']}/{row['device']}"
        of = told.pop(name, None)
        if not of and row["footprint_pages"] == "0":
            continue
        if not of:
            wrong.append(f"{name}: not in the recordings")
            continue
        same(f"{name}: footprint", int(row["footprint_pages"]) << 21, of["touched_2m_bytes"])
        same(f"{name}: accesses", int(row["accesses"]), of["accesses"])
        # A second is what the recording knows of time.
        if abs(int(row["unprotected"]) - int(of["simulated_faults"])) > 0.02 * int(row["unprotected"]) + 1:
            wrong.append(f"{name}: {row['unprotected']} faults, simulated {of['simulated_faults']}")
    wrong.extend(f"{name}: not in the fleet" for name in told)
    if not devices:
        wrong.append("no devices")


def main():
    what, folder, *rest = sys.argv[1:]
    {"sums": sums, "bursts": bursts, "curve": curve}.get(what, lambda f: footprint(f, rest))(folder)
    for line in wrong[:10]:
        print(line)
    sys.exit(1 if wrong else 0)


main()
