# SPDX-License-Identifier: GPL-2.0
"""What `faultline sim --csv=DIR` has written, for plot.py. The last dimension of the sweep is an axis or
a line, every combination of the others a line or a panel."""
import math

from drawing import Missing, Unusable, line, number, say

PANELS_MOST, LINES_MOST = 6, 12


class Point:
    def __init__(self, combination, place, value, bandwidth, offered):
        self.combination, self.place, self.value = combination, place, value
        self.bandwidth, self.offered = bandwidth, offered  # Gb/s


class Sweep:
    """The points of results.csv by their number."""

    def __init__(self, plotter):
        results = plotter.table("results", "point", "bandwidth_bits_per_s", "offered_bits_per_s", numbers=[1, 2])
        heading = plotter.table("sets", "point").heading
        cache = max((i for i, name in enumerate(heading) if name in ("cache", "seen_cache")), default=0)
        if not cache:
            raise Missing("sets.csv: no column cache")
        names = results.heading[1:cache]  # of the dimensions: between point and cache
        results.places += range(1, cache)
        self.last, self.others = (names[-1], ", ".join(names[:-1])) if names else ("", "")
        self.points, self.baseline = {}, None
        titles, places = {}, {}
        for number_, bandwidth, offered, *values in results:
            point = Point(-1, 0, "", bandwidth / 1e9, offered / 1e9)
            if values[:1] == ["baseline"]:
                self.baseline = point
            else:
                point.value = values[-1] if values else "all"
                point.combination = titles.setdefault(", ".join(values[:-1]) or "all points", len(titles))
                point.place = places.setdefault(point.value, len(places))
                self.points[number_] = point
        self.titles, self.values = list(titles), list(places)
        if not self.points:
            raise Unusable("results.csv has no rows")

    def combinations(self, name, most):
        """How many are drawn; says what a plot has no room for."""
        if len(self.titles) > most:
            say(f"{name}: the first {most} of {len(self.titles)} combinations of {self.others}")
        return min(len(self.titles), most)


def put_blocks(plotter, name, rows_of, count):
    """Blocks without a heading, as many as `count`; those of which there is nothing are of one empty row."""
    plotter.data(name, ("\n\n" * (i > 0) + "".join(rows_of.get(i, [line(math.nan, math.nan, math.nan, "")]))
                        for i in range(count)))


def put_panels(plotter, sweep, name):
    plotter.words("titles", sweep.titles)
    plotter.words("names", sweep.values)
    plotter.text("last", sweep.last)
    plotter.text("by", f", by {sweep.others}" if sweep.others else "")
    return {"panels": sweep.combinations(name, PANELS_MOST), "places": len(sweep.values)}


def bandwidth(plotter, sweep):
    if not sweep.last:
        raise Unusable("no sweep")
    count = sweep.combinations("bandwidth", LINES_MOST)
    values = [number(value) for value in sweep.values]
    # Values far apart stand on a logarithmic axis, words side by side.
    words = any(value is None or value <= 0 for value in values)
    logarithmic = not words and max(values) >= 8 * min(values)
    rows_of = {}
    for point in sweep.points.values():
        at = float(point.place) if words else values[point.place]
        rows_of.setdefault(point.combination, []).append(line(at, point.bandwidth, point.value))
    put_blocks(plotter, "bandwidth", rows_of, count)
    plotter.words("titles", sweep.titles)
    plotter.text("last", sweep.last)
    plotter.text("others", sweep.others)
    offered = [point.offered for point in sweep.points.values()]
    # A device offers a packet at every slot, so that this is the link, if it was not swept.
    plotter.draw("bandwidth", lines=count, logarithmic=int(logarithmic),
                 baseline=sweep.baseline.bandwidth if sweep.baseline else math.nan,
                 link=max(offered) if min(offered) > 0.95 * max(offered) else math.nan)


def conflicts(plotter, sweep):
    rows_of, sets, most = {}, {}, 0
    for name, cache, number_, accesses, evictions in plotter.table(
            "sets", "point", "cache", "set", "accesses", "cross_evictions", numbers=[2, 3, 4]):
        point = sweep.points.get(name)
        if cache != "devtlb" or not point:
            continue
        share = evictions / accesses if accesses else 0
        rows_of.setdefault(point.combination, []).append(line(number_, float(point.place), share, point.value))
        sets[point.combination] = max(sets.get(point.combination, 0), int(number_) + 1)
        most = max(most, share)
    if not rows_of:
        raise Unusable("the DevTLB has too many sets")
    settings = put_panels(plotter, sweep, "conflicts")
    put_blocks(plotter, "conflicts", rows_of, settings["panels"])
    plotter.words("sets", [str(sets.get(i, 0)) for i in range(settings["panels"])])
    plotter.draw("conflicts", most=most, **settings)


def ptb(plotter, sweep):
    """A stretch of time stands at its end, the first begins where a logarithmic axis can show it; the last
    one is cut by the end of the run and left out."""
    rows_of, begun, places = {}, {}, len(sweep.values)
    for name, start, length, in_flight in plotter.table("ptb", "point", "start_ps", "length_ps", "in_flight_milli",
                                                        numbers=[1, 2, 3]):
        point = sweep.points.get(name)
        if not point:
            continue
        block = point.combination * places + point.place
        if block in begun:
            rows_of[block].append(begun[block])
        else:
            rows_of[block] = [line(length / 4e6, in_flight / 1000)]
        begun[block] = line((start + length) / 1e6, in_flight / 1000)
    if not rows_of:
        raise Unusable("nothing was in flight")
    settings = put_panels(plotter, sweep, "ptb")
    put_blocks(plotter, "ptb", rows_of, settings["panels"] * places)
    plotter.draw("ptb", **settings)


def put_cumulative(plotter, name, values_of, count, scale):
    """A value, and the percentage of tenants up to it."""
    rows_of = {}
    for combination, values in values_of.items():
        values.sort()
        total = len(values)
        rows_of[combination] = [line(values[0] / scale, 0)] + [
            line(value / scale, 100 * (i + 1) / total) for i, value in enumerate(values)
            if i + 1 == total or values[i + 1] != value]
    put_blocks(plotter, name, rows_of, count)


def tenants(plotter, sweep):
    """Those of the points with the last value of the last dimension."""
    place = len(sweep.values) - 1
    columns = {}, {}, {}
    for name, _, *values in plotter.table("tenants", "point", "tenant", "bandwidth_bits_per_s", "latency_mean_ps",
                                          "latency_p99_ps", numbers=[2, 3, 4]):
        point = sweep.points.get(name)
        if point and point.place == place:
            for column, value in zip(columns, values):
                column.setdefault(point.combination, []).append(value)
    if not columns[0]:
        raise Unusable("no tenant")
    count = sweep.combinations("tenants", LINES_MOST)
    large = max(map(max, columns[0].values())) >= 1e9
    for name, column, scale in zip(("bandwidth", "mean", "p99"), columns, (1e9 if large else 1e6, 1e6, 1e6)):
        put_cumulative(plotter, f"tenants.{name}", column, count, scale)
    plotter.words("titles", sweep.titles)
    plotter.text("others", sweep.others)
    plotter.text("at", f" of points with {sweep.last}={sweep.values[place]}" if sweep.last else "")
    plotter.text("unit", "Gb/s" if large else "Mb/s")
    plotter.draw("tenants", lines=count)


def plots(plotter):
    sweep = Sweep(plotter)

    def of_sweep(draw):
        def plot(_):
            draw(plotter, sweep)
        plot.__name__ = draw.__name__
        return plot
    return [of_sweep(draw) for draw in (bandwidth, conflicts, ptb, tenants)]
