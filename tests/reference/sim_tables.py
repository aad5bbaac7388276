#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds the tables of `faultline sim --csv=DIR` against each other, point by point."""
import collections
import csv
import sys

PACKET_BITS = 1542 * 8


def points(directory, name):
    rows = collections.defaultdict(list)
    with open(f"{directory}/{name}.csv", newline="") as file:
        for row in csv.DictReader(file):
            rows[int(row["point"])].append(row)
    return rows


def total(rows, column):
    return sum(int(row[column]) for row in rows)


def check_sets(cache, sets, used):
    accesses = int(cache["hits"]) + int(cache["misses"])
    assert total(sets, "accesses") == accesses, (cache, total(sets, "accesses"))
    for column in ("hits", "fills", "evictions", "cross_evictions"):
        assert total(sets, column) == int(cache[column]), (cache, column)
    for partition, entries in used.items():
        mine = [row for row in sets if row["partition"] == partition]
        assert mine and len(mine) * len(used) == len(sets), (cache, partition)
        assert total(mine, "fills") - total(mine, "evictions") == entries, (cache, partition)


def check_tenants(result, tenants, devtlb):
    assert total(tenants, "packets") == int(result["packets"])
    assert total(tenants, "drops") == int(result["drops"])
    assert total(tenants, "translations") == int(result["translations"])
    assert total(tenants, "lost") == int(devtlb["cross_evictions"])
    packets = [int(row["packets"]) for row in tenants]
    for row, count in zip(tenants, packets):
        assert int(row["bandwidth_bits_per_s"]) == count * PACKET_BITS * 10**12 // int(result["time_ps"]), row
    jain = sum(packets) ** 2 / (len(packets) * sum(count * count for count in packets))
    assert abs(float(result["jain"]) - jain) < 1e-3, (result["jain"], jain)
    assert 0 < float(result["fairness"]) <= 1


def check_slowdown(result, tenants):
    if not result["slowdown_max"]:
        assert not any(row["slowdown"] or row["alone_mean_ps"] for row in tenants)
        return
    slowdowns = [float(row["slowdown"]) for row in tenants]
    for row, slowdown in zip(tenants, slowdowns):
        # Both means are rounded down.
        alone, together = int(row["alone_mean_ps"]), int(row["latency_mean_ps"])
        assert together / (alone + 1) < slowdown * (1 + 1e-6), row
        assert slowdown * (1 - 1e-6) < (together + 1) / alone, row
    assert max(slowdowns) == float(result["slowdown_max"])
    assert abs(sum(slowdowns) / len(slowdowns) / float(result["slowdown_mean"]) - 1) < 1e-6


def check_time(result, stretches):
    time = int(result["time_ps"])
    length = int(stretches[0]["length_ps"])
    for i, row in enumerate(stretches):
        assert int(row["start_ps"]) == i * length and int(row["length_ps"]) == length
    assert (len(stretches) - 1) * length < time <= len(stretches) * length
    assert total(stretches, "packets") == int(result["packets"])
    assert total(stretches, "drops") == int(result["drops"])
    # Each stretch is rounded down to a thousandth of a translation.
    area = total(stretches, "in_flight_milli") * length / 1000
    expected = float(result["ptb_mean"]) * time
    slack = len(stretches) * length / 1000 + time * 1e-3
    assert abs(area - expected) <= slack, (area, expected, slack)


def main(directory):
    results = points(directory, "results")
    caches, tenants, sets = (points(directory, name) for name in ("caches", "tenants", "sets"))
    stretches, partitions = points(directory, "ptb"), points(directory, "partitions")
    for point, (result,) in results.items():
        for cache in caches[point]:
            name = cache["cache"]
            used = {row["partition"]: int(row["used_entries"])
                    for row in partitions[point] if row["cache"] == name}
            check_sets(cache, [row for row in sets[point] if row["cache"] == name], used)
        devtlb = next(row for row in caches[point] if row["cache"] == "devtlb")
        check_tenants(result, tenants[point], devtlb)
        check_slowdown(result, tenants[point])
        check_time(result, stretches[point])
    assert len(results) > 1
    print(f"{len(results)} points")


main(sys.argv[1])
