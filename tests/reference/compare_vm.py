#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what a machine with virtual machines says in its results to its truth log and to what the guests' kernels have counted.

    compare_vm.py RESULTS.csv TRUTH CONSOLE QUEUES

RESULTS.csv has one row, TRUTH is the log of that run, whose devices are disks of QUEUES queues together, CONSOLE what the guests have printed (`run --console`). The guests' load
is that of tests/vm/guest: it tells how many ranges it has written with zeroes and how often its disks were flushed, which
a kernel counts as writes and the device does not as I/Os. Prints "ok - ..."/"not ok - ..." lines and the closing line.
"""
import collections
import csv
import json
import re
import sys

from compare_results import Truth, differs, percentile
from verdict import closing, result

FILE = 1  # origin of a page that came back from the backing file


def told(path):
    """Sums of all that guests have told on their consoles, whole boots only."""
    sums, boot = collections.Counter(), {}
    with open(path, errors="replace") as file:
        for line in file:
            found = re.match(r"(\S+): faultline-guest: (\w+) (\d+)", line)
            if not found:
                continue
            boot.setdefault(found[1], collections.Counter())[found[2]] = int(found[3])
            if found[2] == "load_ms":
                sums.update(boot.pop(found[1]))
    return sums


def truth(path):
    """Counts, page-ins by origin, pages that are out at the end, what is wrong: each page goes and comes back
    in turn, in the order of the lines; and page-ins of no device's fault."""
    counts, origins, balance = collections.Counter(), collections.Counter(), collections.Counter()
    wrong, nobodys = [], 0
    with open(path) as file:
        for line in file:
            record = json.loads(line)
            counts[record["what"]] += 1
            page = record["tenant"], record["address"]
            if record["what"] == "evicted":
                balance[page] += 1
            elif record["what"] == "page_in":
                origins[record["code"]] += 1
                nobodys += record["device"] is None
                balance[page] -= record["code"] == FILE
            if balance[page] not in (0, 1):
                wrong.append(f"page {page}: {balance[page]} more evictions than returns at {record['time_ns']}")
    return counts, origins, sum(balance.values()), wrong, nobodys


def times(row, log, queues):
    """What is wrong with the latencies of I/Os and the blocked time of queues."""
    waits = sorted(r["value"] for r in log.of("io"))
    over = {r["fault"] for r in log.of("resume", "abandon")}
    columns = {"latency_mean_ns": (sum(waits) / len(waits), 1e-4, 1),
               "latency_max_ns": (waits[-1], 0, 0), "latency_min_ns": (waits[0], 0, 0),
               "blocked": (log.blocked() / (row["duration_s"] * 1e9 * queues), 1e-3, 1e-9)}
    for percent, name in ((50, "p50"), (90, "p90"), (99, "p99"), (99.9, "p999"), (99.99, "p9999")):
        columns[f"latency_{name}_ns"] = (percentile(waits, percent), 1 / 64, 1)
    return [f"{name}: {row[name]}, the log says {value[0]}" for name, value in columns.items()
            if differs(str(row[name]), *value)] + [f"fault {r['fault']} has no end" for r in log.of("detect") if r["fault"] not in over]


def differing(*pairs):
    return [f"{name}: {got}, expected {expected}" for name, got, expected in pairs if got != expected]


def main(results, log, console, queues):
    with open(results, newline="") as file:
        row = {name: float(value) if re.fullmatch(r"[\d.]+", value) else value for name, value in next(csv.DictReader(file)).items()}
    guests, (counts, origins, out, wrong, nobodys) = told(console), truth(log)
    result("not a wrong byte, nothing failed",
           differing(("wrong bytes", row["guest_wrong_bytes"], 0), ("guests' errors", row["guest_errors"], 0),
                     ("errors", row["errors"], 0), ("violations", row["violations"], 0), ("bypassed", row["bypassed"], 0),
                     ("panics", row["guest_panics"], 0)))
    result("what guests told is in the results", differing(
        *((name, row[f"guest_{name}"], guests[name]) for name in ("reads", "writes", "pages", "files", "disk_reads", "disk_writes"))))
    ios = guests["disk_reads"] + guests["disk_writes"] - guests["zeroed"] - guests["disk_flushes"]
    result(f"as many I/Os as the guests' kernels have counted ({ios})",
           differing(("of the device", row["ios"], ios), ("of the log", counts["io"], ios)))
    result(f"evictions are those of the log ({counts['evicted']})",
           differing(("evictions", row["evictions"], counts["evicted"])) + ([] if counts["evicted"] > 100 else ["too few"]))
    result("each comes back once, with its own content, when it is touched", wrong)
    result(f"evictions are what came back from the backing file and what is there yet ({origins[FILE]} + {out})",
           differing(("evictions", row["evictions"], origins[FILE] + out), ("major", row["major"], origins[FILE]),
                     ("out", row["out"], out)))
    faults = counts["detect"]
    result(f"faults of CPUs are told apart from those of devices ({int(row['cpu_faults'])}, {faults})",
           differing(("devices' faults", row["faults"], faults)) + ([] if row["cpu_faults"] > 0 < faults else ["none"]))
    # A device's DMA may meet what the guest has given back: no fault of anybody's brings that.
    result(f"pages that no device's fault has brought are those that CPUs touched ({nobodys})",
           [] if row["cpu_faults"] <= nobodys <= row["cpu_faults"] + row["given_back"] else [f"cpu_faults: {row['cpu_faults']}"])
    result("latencies of I/Os are those of the log, and the share of the queues' time in which a fault was open",
           times(row, Truth(log), int(queues)))
    return closing()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
