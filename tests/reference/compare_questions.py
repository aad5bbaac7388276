#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What ClickHouse answers to dashboards/clickhouse is what the CSV of the same recordings says.

    compare_questions.py ENGINES EXPORT PROTECT.csv CHANGE HOST CSV [HOST CSV...]

EXPORT is where the recordings were exported to, each CSV a directory NAME.tables with those of one of them, beside
NAME.json, what `report --json` says; HOST is whose it is, one recording a host. CHANGE, a time as in CSV, is between two faults. Each line is a check: "ok - ..." or "not ok - ...".
"""
import collections
import datetime
import glob
import json
import math
import os
import re
import sys
import urllib.parse

import parquet_read
from compare_engines import ask

HERE = os.path.dirname(os.path.abspath(__file__))
DASHBOARDS = os.path.join(HERE, "..", "..", "dashboards", "clickhouse")
DAY = 86400 * 10 ** 9
BURST = 5


def table(directory, name):
    """Rows as dictionaries of texts; none where there is no such table."""
    path = os.path.join(directory, name + ".csv")
    if not os.path.exists(path):
        return []
    header, rows = parquet_read.read_csv(path)
    return [dict(zip(header, row)) for row in rows]


def statements(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^--.*\n", "", file.read())
    return [statement for statement in re.split(r";\s*\n", text) if statement.strip()]


def share(part, whole):
    return part / whole if whole else None


def day_of(fault, began):
    return (parquet_read.nanoseconds(fault["start"]) if fault.get("start") else began) // DAY


def date(day):
    return str((parquet_read.EPOCH + datetime.timedelta(days=day)).date())


class Fleet:
    """The questions, answered again."""

    def __init__(self, recordings, export, change, protect):
        self.recordings, self.export, self.change = recordings, export, parquet_read.nanoseconds(change)
        header, rows = parquet_read.read_csv(protect)
        self.protect = [dict(zip(header, row)) for row in rows]

    def rows(self, name):
        return [(host, csv, row) for host, csv in self.recordings for row in table(csv, name)]

    def facts(self, csv):
        with open(os.path.splitext(csv)[0] + ".json", encoding="utf-8") as file:
            return json.load(file)

    def began(self, host):
        """The day when its recording has begun, by the folder of its tables."""
        folder, = glob.glob(f"{glob.escape(self.export)}/facts/host={urllib.parse.quote(host, safe='')}/date=*")
        return parquet_read.nanoseconds(folder[-10:] + "T00:00:00.0Z")

    def fault_cdf(self):
        days = collections.Counter()
        for host, csv, row in self.rows("devices"):
            days[host, self.began(host) // DAY, row["device"]] += 0
        for host, csv, row in self.rows("faults"):
            days[host, day_of(row, self.began(host)), row["device"]] += 1
        classes, answer, below = collections.Counter(days.values()), [], 0
        for faults in sorted(classes):
            below += classes[faults]
            answer.append([faults, classes[faults], 100 * below / len(days)])
        return answer

    def bursts(self):
        begun, peaks = collections.defaultdict(list), collections.Counter()
        for host, csv, row in self.rows("faults"):
            if row.get("start"):
                begun[host, csv, row["device"]].append(parquet_read.nanoseconds(row["start"]))
        for (host, csv, device), times in begun.items():
            times.sort()
            first = 0
            for last, time in enumerate(times):
                while times[first] <= time - 10 ** 9:
                    first += 1
                # Faults of one time are in each other's second.
                same = next((i for i in range(last, len(times)) if times[i] != time), len(times))
                key = host, time // DAY, device
                peaks[key] = max(peaks[key], same - first)
        days = collections.defaultdict(list)
        for (_, day, _), peak in peaks.items():
            days[day].append(peak)
        return [[date(day), len(peak), sum(p > BURST for p in peak), 100 * share(sum(p > BURST for p in peak), len(peak)), max(peak)]
                for day, peak in sorted(days.items())]

    def before_after(self):
        model_of = {(csv, row["handle"]): row["model"] for _, csv, row in self.rows("devices")}
        hours, found = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: ([], []))
        for _, csv in self.recordings:
            facts = self.facts(csv)
            # One that knows no wall-clock is neither before nor after.
            begin, end = (parquet_read.nanoseconds(facts[key]) if key in facts else 0 for key in ("from", "to"))
            for row in table(csv, "devices"):
                hours[row["model"]][0] += (min(end, self.change) - min(begin, self.change)) / 3600e9
                hours[row["model"]][1] += (max(end, self.change) - max(begin, self.change)) / 3600e9
        for _, csv, row in self.rows("faults"):
            if row.get("start"):
                after = parquet_read.nanoseconds(row["start"]) >= self.change
                found[model_of[csv, row["handle"]]][after].append(int(row["total_ns"]) if row["total_ns"] else None)
        answer = []
        for model in sorted(hours):
            counts = [len(faults) for faults in found[model]]
            totals = [sorted(total for total in faults if total is not None) for faults in found[model]]
            answer.append([model, *counts, *(count / time if time > 0 else None for count, time in zip(counts, hours[model])),
                           *(total[int(0.99 * len(total))] if total else None for total in totals)])
        return answer

    def rpr_by_model(self):
        models = {(host, row["device"]): row["model"] for host, _, row in self.rows("devices")}
        groups = collections.defaultdict(list)
        for row in self.protect:
            if row["domain"] != "total":
                model = models.get((row["host"], re.sub("@[0-9]+$", "", row["domain"])), "")
                groups[row["pinned_by"], model].append(row)
        answer = []
        for key, rows in sorted(groups.items()):
            none, faults, pinned, memory = (sum(float(row[name] or 0) for row in rows)
                                            for name in ("faults_none", "faults", "pinned_mean_pages", "memory_pages"))
            avoided, cost = share(100 * (none - faults), none), share(100 * pinned, memory)
            answer.append([*key, len(rows), avoided, cost, share(avoided, cost) if avoided is not None and cost else None])
        return answer

    def broken_objectives(self):
        groups = collections.defaultdict(list)
        for host, csv, row in self.rows("violations"):
            groups[row["slo"], row["metric"], row["stage"]].append((host, csv, row))
        answer = []
        for key, rows in groups.items():
            windows = [row["window"] for _, _, row in rows if row.get("window")]
            answer.append([*key, len(rows), len({host for host, _, _ in rows}), len({(csv, row["device"]) for _, csv, row in rows}),
                           *(sum(int(row[name]) for _, _, row in rows if row[name]) for name in ("ios", "slow_ios")),
                           *(time.replace("T", " ").rstrip("Z") for time in (min(windows), max(windows)))])
        return sorted(answer, key=lambda row: (-row[3], row[:3]))

    def floors(self):
        """Host, day and why; not the recording's number."""
        told = [(host, self.facts(csv)) for host, csv in self.recordings]
        return sorted([host, date(self.began(host) // DAY), facts["floor"], facts["complete"]] for host, facts in told
                      if facts["floor"] != "no" or facts["complete"] != "yes")


def alike(said, wanted):
    if isinstance(wanted, list):
        return isinstance(said, list) and len(said) == len(wanted) and all(map(alike, said, wanted))
    if isinstance(wanted, float) and said is not None:
        return math.isclose(float(said), wanted, rel_tol=1e-6)
    return said == wanted


def main():
    engines, export, protect, change, *recordings = sys.argv[1:]
    fleet = Fleet(list(zip(recordings[::2], recordings[1::2])), export, change, protect)
    load = [*statements(f"{DASHBOARDS}/load.sql"), *statements(f"{DASHBOARDS}/load-objectives.sql")]
    # Loaded twice: what is there is not loaded again.
    begin = [f"SET param_dir = '{os.path.abspath(export)}'", f"SET param_file = '{os.path.abspath(protect)}'",
             f"SET param_change = '{change.replace('T', ' ').rstrip('Z')}'", *statements(f"{DASHBOARDS}/schema.sql"),
             *load, *load, *statements(f"{DASHBOARDS}/load-protect.sql")]
    names = [os.path.basename(path)[:-4] for path in sorted(glob.glob(f"{DASHBOARDS}/questions/*.sql"))]
    asked = [statement for name in names for statement in statements(f"{DASHBOARDS}/questions/{name}.sql")]
    answers = ask("clickhouse", engines, [*begin, *asked])
    wrong = [answer["error"] for answer in answers[:len(begin)] if answer]
    print(f"not ok - the schema is made and filled: {wrong[0][:300]}" if wrong else "ok - the schema is made and filled")
    for name, said in zip(names, answers[len(begin):]):
        wanted = getattr(fleet, name.replace("-", "_"))()
        if name == "floors" and isinstance(said, list):
            said = sorted([host, day, floor, complete] for host, day, _, floor, complete, _ in said)
        if wanted and alike(said, wanted):
            print(f"ok - {name}: {len(wanted)} rows")
        else:
            print(f"not ok - {name}: {str(said)[:300]}, not {str(wanted)[:300]}")
    print(f"{len(names)} questions compared, none was passed over")
    return 0


if __name__ == "__main__":
    sys.exit(main())
