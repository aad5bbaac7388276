#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: plot.sh DIR OUT
       plot.sh CSV X Y [LINES] OUT.png
Draws the CSV files in DIR (faultline report FILE --csv=DIR, faultline sim JOB --csv=DIR) as PNG files in
OUT, or the results of a campaign (faultline-inject run JOB --csv=CSV): column Y over column X, a line for
each value of LINES, which may be several columns: policy,kind. What falls into one place is drawn as its mean.

EXAMPLES:
  plot.sh tables plots
  plot.sh sweep.csv latency iops_per_s rate sweep.png
  plot.sh npf-what-if.csv rate goodput_bytes_per_s policy,kind what-if.png"""
# Tables that are missing or empty are left out and named. Exit status: 0 something was drawn, 1 nothing
# could be, 2 wrong arguments.
import datetime
import math
import pathlib
import shutil
import sys

import plot_sim
from drawing import Missing, Plotter, Table, Unusable, largest, line, number, say

STAGES = ["request", "delivery", "dispatch", "resolve", "map", "respond", "resume"]


def stages(plotter):
    table = plotter.table("stages", "device", "queue", "kind", "stage", "count", "mean_ns", "p50_ns", "p99_ns",
                          "max_ns", numbers=range(4, 9))
    whole, means, of_stages = {}, {}, []
    for device, queue, kind, stage, count, mean, p50, p99, most in table:
        if queue or kind != "all":
            continue
        if device == "all" and stage != "total":
            of_stages.append(line(stage, p50 / 1e3, p99 / 1e3, most / 1e3))
        elif device != "all" and stage == "total":
            whole[device] = [count, p50 / 1e3, p99 / 1e3]
        elif device != "all":
            means[device, stage] = mean / 1e3
    if not whole:
        raise Unusable("no complete fault")
    devices = largest(whole, weight=lambda row: row[0])
    plotter.data("stages.devices", (line(device, *whole[device],
                                         *(means.get((device, stage), 0) for stage in STAGES))
                                    for device in devices))
    plotter.data("stages.stages", of_stages)
    # Milliseconds once a p99 has reached ten of them.
    slow = any(whole[device][2] >= 10000 for device in devices)
    plotter.text("unit", "ms" if slow else "us")
    plotter.draw("stages", scale=1000.0 if slow else 1.0)


def in_seconds(rows, begin):
    """A second without any has no row; a value holds for the whole of its second."""
    rows_of, last = {}, {}
    for at, device, value in rows:
        at -= begin
        lines = rows_of.setdefault(device, [])
        if device in last and at > last[device] + 1.5:
            lines.append(line(last[device] + 1, 0.0))
        lines.append(line(at, value))
        last[device] = at
    for device, at in last.items():
        rows_of[device].append(line(at + 1, 0.0))
    return rows_of


def beginning(plotter, table):
    """The rows of a table whose first column is a time, and the first of these, which is told."""
    rows = list(table)
    if not rows:
        return rows, 0
    begin = min(row[0] for row in rows)
    day, rest = divmod(begin, 86400)
    at = f"{rest // 3600:02.0f}:{rest // 60 % 60:02.0f}:{rest % 60:02.0f}"
    plotter.text("begin", f"{datetime.date.fromordinal(int(day))}T{at}Z" if 1 <= day < 3e6 else f"{begin:.0f} s")
    return rows, begin


def rate(plotter):
    rows, begin = beginning(plotter, plotter.table("rates", "window|window_ns", "kind", "device", "rate_per_s",
                                                   numbers=[3], times=[0]))
    of_kind = {kind: in_seconds([[row[0], row[2], row[3]] for row in rows if row[1] == kind], begin)
               for kind in ("I/O page fault", "I/O completion")}
    faults = plotter.blocks("rate.faults", of_kind["I/O page fault"])
    ios = plotter.blocks("rate.ios", of_kind["I/O completion"])
    if not faults:
        raise Unusable("no fault")
    plotter.draw("rate", fault_devices=faults, io_devices=ios)


def latency_cdf(plotter):
    times = {}
    for device, total in plotter.table("faults", "device", "total_ns"):
        value = number(total)  # a fault that did not end has none
        if value is not None and value > 0:
            times.setdefault(device, []).append(value)
    rows_of = {}
    for device, values in times.items():
        values.sort()
        count = len(values)
        # At most some 2000 points a device, all of the slowest 100: what the tail is made of.
        rows_of[device] = [line(value / 1e3, (count - i) / count) for i, value in enumerate(values)
                           if count < 2000 or i >= count - 100 or not (i + 1) % (count // 1000)]
    if not rows_of:
        raise Unusable("no complete fault")
    plotter.draw("latency-cdf", devices=plotter.blocks("latency-cdf", rows_of))


def footprint(plotter):
    rows, begin = beginning(plotter, plotter.table("footprint_curve", "window|window_ns", "device",
                                                   "touched_4k_bytes", "touched_2m_bytes",
                                                   numbers=[2, 3], times=[0]))
    rows_of = {}
    for at, device, small, large in rows:
        rows_of.setdefault(device, []).append(line(at - begin, small / 1048576, large / 1048576))
    if not rows_of:
        raise Unusable("no access was logged")
    plotter.draw("footprint", devices=plotter.blocks("footprint", rows_of))


def short(values):
    """As many words as tell them apart: `iperf3 -w 32K -t 2` and `iperf3 -w 256K -t 2` are 32K and 256K."""
    words = {value: value.split() for value in values}
    most = max(map(len, words.values()))
    begin = next((i for i in range(most) if len({str(row[i:i + 1]) for row in words.values()}) > 1), 0)
    for end in range(begin + 1, most + 1):
        labels = {value: " ".join(row[begin:end]) for value, row in words.items()}
        if all(labels.values()) and len(set(labels.values())) == len(words):
            return labels
    return {value: value for value in values}


def campaign(plotter, path, x, y, lines, out):
    """One result of a sweep over one of its dimensions, a line for each value of others."""
    scale, unit = (1e6, " (ms)") if y.endswith("_ns") else (1, "")
    rows = [[value, number(result), *rest] for value, result, *rest in Table(path, [x, y, *lines])]
    # A baseline is named in the first dimension and has no values in the others.
    baseline = next((row[1] for row in rows if "baseline" in (row[0], *row[2:]) and row[1] is not None), math.nan)
    rows = [row for row in rows if row[0] and row[1] is not None and "baseline" not in (row[0], *row[2:])]
    if not rows:
        raise Unusable(f"{path}: {y} is empty in every row of the sweep")
    labels = [short(dict.fromkeys(column)) for column in list(zip(*rows))[2:]]
    results = {}
    for value, result, *rest in rows:
        key = ", ".join(f"{name} {label[cell]}" for name, label, cell in zip(lines, labels, rest)) or "all points"
        results.setdefault(key, {}).setdefault(value, []).append(result / scale)
    places = {value: place for place, value in enumerate(dict.fromkeys(row[0] for row in rows))}
    most = max(len(those) for of_key in results.values() for those in of_key.values())
    rows_of = {key: [line(float(places[value]), value, sum(those) / len(those)) for value, those in of_key.items()]
               for key, of_key in results.items()}
    mean = f", mean of {most}" if most > 1 else ""
    for name, text in ("title", path.stem), ("x", x), ("y", y.removesuffix("_ns") + unit + mean):
        plotter.text(name, text)
    words = not any(character.isdigit() for value in places for character in value)
    plotter.draw("campaign", out, words=words, baseline=baseline / scale, lines=plotter.blocks("campaign", rows_of))


def usage(sentence):
    say(sentence)
    return 2


def draw_directory(directory, out):
    if not directory.is_dir():
        return usage(f"{directory}: no such directory; write it with: faultline report FILE --csv={directory}")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        say(f"{out}: cannot be created: {error.strerror}")
        return 1
    plotter = Plotter(directory, out)
    try:
        if (directory / "results.csv").exists() and (directory / "sets.csv").exists():
            plotter.each(*plot_sim.plots(plotter))
        else:
            plotter.each(stages, rate, latency_cdf, footprint)
    except Unusable as error:
        say(error)
    finally:
        plotter.close()
    if not plotter.drawn:
        say(f"{directory}: nothing to draw")
    return 0 if plotter.drawn else 1


def draw_campaign(path, x, y, lines, out):
    if not path.is_file() or not path.stat().st_size:
        return usage(f"{path}: no results; write them with: faultline-inject run JOB --csv={path}")
    plotter = Plotter(path.parent, out.parent)
    try:
        campaign(plotter, path, x, y, lines, out)
    except Unusable as error:
        say(error)
        return 2 if isinstance(error, Missing) else 1
    finally:
        plotter.close()
    return 0 if plotter.drawn else 1


def main(words):
    if words[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(words) not in (2, 4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("gnuplot"):
        say("gnuplot is missing: apt-get install gnuplot-nox")
        return 1
    if len(words) == 2:
        return draw_directory(*map(pathlib.Path, words))
    path, x, y, *lines, out = words
    return draw_campaign(pathlib.Path(path), x, y, lines[0].split(",") if lines else [], pathlib.Path(out))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
