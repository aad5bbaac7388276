# SPDX-License-Identifier: GPL-2.0
"""Results of `faultline fabric --csv=DIR` from its transactions: hops are counted of the printed paths' names, not taken over."""
import csv
import sys

DIRECTORY = sys.argv[1]


def table(name):
    with open(f"{DIRECTORY}/{name}.csv", encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


transactions = {}
for row in table("transactions"):
    transactions.setdefault(row["point"], []).append(row)
results = table("results")
assert results and {row["point"] for row in results} == set(transactions)
for row in results:
    of = transactions[row["point"]]
    for one in of:
        assert len(one["path"].split()) == max(int(one["hops"]) + 2, 1) or one["path"].count(" ") == 0, one
        assert int(one["first_ns"]) <= int(one["total_ns"])
        assert int(one["requests"]) <= int(one["pieces"])
        assert int(one["crossed_ns"]) <= int(one["delays_ns"])
    assert int(row["crossings"]) == sum(int(one["crossings"]) for one in of)
    assert int(row["delays_ns"]) == sum(int(one["delays_ns"]) for one in of)
    stages = {one["stage"]: one for one in of}
    if "doorbell" in stages:
        assert len(of) == 5 and not row["hops"]
        assert row["fetch_hops"] == stages["fetch"]["hops"] and row["fetch_ns"] == stages["fetch"]["total_ns"]
        assert int(row["reach_ns"]) == int(stages["fetch"]["crossed_ns"]) + int(stages["completion"]["crossed_ns"])
        least = sum(int(stages[name]["first_ns"]) for name in ("doorbell", "fetch", "completion"))
        assert int(row["latency_ns"]) >= least
        continue
    # Through RAM the root where both ends meet is one more.
    via = len(of) == 2 and of[0]["path"].split()[-1] == of[1]["path"].split()[-1]
    assert int(row["hops"]) == sum(int(one["hops"]) for one in of) + via
    assert int(row["roots"]) == sum(int(one["roots"]) for one in of) + via
    assert int(row["latency_ns"]) == sum(int(one["first_ns"]) for one in of)
    assert abs(float(row["peak_bytes_per_s"]) - min(float(one["peak_bytes_per_s"]) for one in of)) < 1
