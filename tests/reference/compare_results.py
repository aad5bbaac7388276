#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Computes a run's results again, from its truth log, and what a recording of it reports.

    compare_results.py RESULTS.csv JOB.ini TRUTH... [--report CSVDIR]

RESULTS.csv is what `faultline-inject run --csv` wrote, a row for each TRUTH; the job has a workload, the
same on each device. Every column is held to the truth log (docs/truth-log.md) or stands in UNTOLD with
the reason why that cannot tell it. CSVDIR, of `faultline report --csv`, must have seen as many page
requests, I/Os, bytes and freed pages. Prints "ok - ..."/"not ok - ..." lines and the closing line.
"""
import configparser
import csv
import json
import math
import sys

from verdict import table

PAGE, LAST, MAJOR, WINDOW = 4096, 16, 32, 100_000_000
AUTOMATIC = 16  # code of a resume: the IOMMU answered itself
BEYOND = 20
UNTOLD = {
    "accesses": "the log has I/Os, not their ranges", "accesses_lost": "what found no buffer is not logged",
    "evict_missed": "an event that found nothing leaves no record",
    "evict_pinned": "a page that a device keeps leaves no record",
    "pinned": "a page that a device keeps leaves no record",
    "fired": "what an injection changed is not told apart",
    "off_tenant": "records carry no CPU", "devtlb_hits": "lookups are not logged",
    "devtlb_misses": "lookups are not logged", "iotlb_hits": "lookups are not logged",
    "iotlb_misses": "lookups are not logged", "lookups": "lookups are not logged",
    "lookup_p50_ns": "lookups are not logged",
    "overflow_epochs": "the queue's state is not logged", "disables": "the device's state is not",
    "refused": "of an I/O that fails, why is not logged", "held_back": "credits are not logged",
    "emq_depth_max": "the event message queue's state is not logged", "emq_full_waits": "likewise",
    "read_only": "permissions are not logged", "upgrades": "likewise", "invalid": "likewise",
    "huge": "entries of the IOPT are not logged", "splits": "likewise",
    "at_msi": "records carry no CPU", "off_msi": "likewise", "behind_others": "likewise",
    "round_trip_best_ns": "records carry a device, not its tenant",
    "mismatches": "data is not logged", "cpu_ns": "records carry no CPU time",
    "violations": "a broken invariant is no event",
}
# What NICs, RDMA devices, guests of these, programs, stores and limits give: nothing, in a job of workloads.
OF_NICS = """goodput_bytes_per_s min_goodput_bytes_per_s requests requests_per_s request_p99_ns frames delivered lost
lost_fault lost_no_buffer lost_cache_full lost_backup_full lost_before_nic lost_wire lost_overlong held held_now
frame_errors interrupts stalls max_stall_ns time_to_steady_ns retransmits timeouts spurious_timeouts probes fast
lost_innocent memory_limited_bytes in_cgroup present_bytes present_most_bytes reclaimed room_waits instances
instances_refused hits hit_rate worst_hit_rate hits_per_s worst_share transition_ns operations operations_per_s rnr
dropped resent wire_efficiency suppressed paused_ns protection cq_overruns commands command_mean_ns registered
mapped cache_hits cache_misses copied_bytes moved_bytes landed_bytes goodput_per_cpu_bytes_per_s
undo_mean_ns undo_p50_ns undo_min_ns over_slo regions_refused stopped_calls data_kicks data_injections guest_pinned_bytes
machine_pinned_bytes guest_resident_bytes machine_resident_bytes load_cpu_ns engine_cpu_ns
work_post_least_ns work_device_least_ns work_reap_least_ns verbs_registered_bytes
pins_guest_bytes pins_remap_bytes pins_driver_bytes verbs_refused remaps remaps_skipped pins_unequal""".split()
# What virtual machines and their guests give: nothing, in a job of workloads.
OF_VMS = """viommu_misses viommu_invalidations viommu_unmapped viommu_dropped vms_ended guest_panics guests_sound cpu_faults evictions
given_back plugged ballooned suspensions bypassed parked connections resubmitted broken_queues refused_messages out guest_wrong_bytes
guest_errors guest_pages guest_counted guest_files guest_reads guest_writes guest_zeroed guest_discarded guest_flushes
guest_boots guest_page_p50_ns guest_page_p90_ns guest_page_p99_ns guest_page_p999_ns guest_page_max_ns
guest_read_p50_ns guest_read_p90_ns guest_read_p99_ns guest_read_p999_ns guest_read_max_ns guest_write_p50_ns
guest_write_p90_ns guest_write_p99_ns guest_write_p999_ns guest_write_max_ns guest_disk_reads
guest_disk_read_sectors guest_disk_writes guest_disk_written_sectors guest_disk_discards guest_disk_flushes
guest_net_frames_in guest_net_in_bytes guest_net_drops guest_net_frames_out guest_net_out_bytes guest_tcp_resent
guest_tcp_checksum_errors guest_net_ns guest_boot_ns guest_load_ns guest_run_status""".split()
# What a protector gives: none, in a job without (with one: compare_pins.py).
OF_PROTECTORS = "pinned_mean_percent pinned_max_percent pins unpins pin_refused".split()
passed = failed = 0


def result(name, problem):
    global passed, failed
    passed, failed = passed + (not problem), failed + bool(problem)
    print(f"not ok - {name}: {problem}" if problem else f"ok - {name}")


def quantity(text, units):
    text = text.strip()
    for unit, factor in units:
        if text.endswith(unit) and text != unit:
            return float(text[:-len(unit)]) * factor
    return float(text)


# What the injector measures lies between the stamps of the log, so it may be less by what the machine does
# between the two places, the more the busier it is; it is not more.
BETWEEN = 0.5


def duration_ns(text):
    return quantity(text, (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10)))


def rate(text):
    return quantity(text, (("/s", 1), ("/m", 1 / 60)))


class Truth:
    def __init__(self, path):
        with open(path) as file:
            self.records = [json.loads(line) for line in file]
        self.automatic = {r["fault"] for r in self.of("resume") if r["code"] & AUTOMATIC}

    def of(self, *whats):
        return [r for r in self.records if r["what"] in whats]

    def by_device(self, what):
        devices = {}
        for record in self.of(what):
            devices.setdefault(record["device"], []).append(record)
        return devices

    def groups(self):
        """Lists of the truth ids of each group: its requests follow each other, to the LAST."""
        groups, group = [], {}
        for r in sorted(self.of("request", "overflow"), key=lambda r: r["fault"]):
            group.setdefault(r["device"], []).append(r["fault"])
            if r["flags"] & LAST:
                groups.append(group.pop(r["device"]))
        assert not group, "groups without a last request"
        return groups

    def round_trips(self):
        """Of groups that the host answered."""
        detected = {r["fault"]: r["time_ns"] for r in self.of("detect")}
        resumed = {r["fault"]: r["time_ns"] for r in self.of("resume")}
        return [resumed[g[0]] - detected[g[0]] for g in self.groups()
                if g[0] in resumed and g[0] not in self.automatic]

    def parts(self):
        """Host's and device's part of the same groups. The host's is from the first request to the last response of those
        raised together, whose detection is one."""
        sent = {r["fault"]: r["time_ns"] for r in self.of("request", "overflow")}
        answered = {r["fault"]: r["time_ns"] for r in self.of("response")}
        detected = {r["fault"]: (r["device"], r["queue"], r["time_ns"]) for r in self.of("detect")}
        resumed = {r["fault"]: r["time_ns"] for r in self.of("resume")}
        last, parts = {}, []
        for fault in answered:
            last[detected[fault]] = max(last.get(detected[fault], 0), answered[fault])
        for fault in (g[0] for g in self.groups()):
            if fault in resumed and fault not in self.automatic:
                host = last[detected[fault]] - sent[fault]
                parts.append((host, resumed[fault] - detected[fault][2] - host))
        return parts

    def invalidations(self):
        """How long each took on each device: a little more than the queue took for it."""
        begun = {(r["fault"], r["device"]): r["time_ns"] for r in self.of("invalidate_start")}
        told = {(r["fault"], r["device"]) for r in self.of("invalidate_device")}
        ended = {(r["fault"], r["device"]): r["time_ns"] for r in self.of("invalidate_ack")}
        assert begun.keys() == told == ended.keys(), "invalidations without a step"
        return [ended[key] - begun[key] for key in ended]

    def blocked(self):
        """Over all queues: time in which at least one fault was open, until its device gave it up."""
        detected = {r["fault"]: r for r in self.of("detect")}
        spans = {}
        for r in self.of("resume", "abandon"):
            begin = detected[r["fault"]]
            spans.setdefault((r["device"], r["queue"]), []).append((begin["time_ns"],
                                                                    r["time_ns"]))
        total = 0
        for pairs in spans.values():
            open_from = open_to = 0
            for begin, end in sorted(pairs):
                if begin > open_to:
                    total += open_to - open_from
                    open_from, open_to = begin, end
                open_to = max(open_to, end)
            total += open_to - open_from
        return total


class Plan:
    """What the job says its workload is to do on one device."""

    def __init__(self, path):
        job = configparser.ConfigParser(comment_prefixes=(";", "#"), inline_comment_prefixes=(" ;",))
        job.read(path)
        kinds = {name.split()[0]: job[name] for name in job.sections()}
        self.has_bitmap = kinds["device"].get("lookup", "pa-bitmap") == "pa-bitmap"
        self.premap = "machine" not in kinds or kinds["machine"].get("premap", "yes") == "yes"
        self.queues = int(kinds["device"].get("queues", "1"))
        self.rate = rate(kinds["workload"].get("rate", "0"))
        self.duration = duration_ns(kinds["workload"].get("duration", "0"))
        self.count = int(kinds["workload"].get("count", "0"))

    def due(self):
        """Times of the schedule, from the start; None without one."""
        if not self.rate:
            return None
        number = self.count or math.ceil(self.duration / 1e9 * self.rate) + 2
        times = [int(n * 1e9 / self.rate) for n in range(number)]
        return [t for t in times if not self.duration or t < self.duration]


def latencies(truth, plan):
    """As the guest measures: of each I/O, and the wait of those never sent."""
    values, unsent = [], 0
    due = plan.due()
    for ios in truth.by_device("guest_io").values():
        values += [r["value"] for r in ios]
        sent = {}
        for r in ios:
            sent[r["queue"]] = sent.get(r["queue"], 0) + 1
        for number, time in enumerate(due or []):
            queue, turn = number % plan.queues, number // plan.queues
            if turn >= sent.get(queue, 0):
                values.append(int(plan.duration) - time)
                unsent += 1
    return sorted(values), unsent


def min_iops(truth, plan):
    """Of the workload that had it worst; None if each was shorter than a window."""
    slowest = []
    ends = {r["device"]: r["time_ns"] for r in truth.of("guest_end")}
    for start in truth.of("guest_start"):
        length = ends[start["device"]] - start["time_ns"]
        whole = min(length, plan.duration or length) // WINDOW
        if length < WINDOW:
            continue
        counts = [0] * int(whole)
        for r in truth.by_device("guest_io").get(start["device"], []):
            window = (r["time_ns"] - start["time_ns"]) // WINDOW
            if window < whole:
                counts[window] += 1
        slowest.append(min(counts) * 10)
    return min(slowest) if slowest else None


def percentile(values, percent):
    rank = min(max(1, math.ceil(percent / 100 * len(values))), max(1, len(values)))
    return values[rank - 1] if len(values) - rank >= BEYOND else None


def expected(truth, plan):
    """Column -> (value, relative, absolute tolerance). Times are taken apart from each other."""
    ios, pages = truth.of("guest_io"), truth.of("page_in")
    starts = {r["device"]: r["time_ns"] for r in truth.of("guest_start")}
    lengths = [r["time_ns"] - starts[r["device"]] for r in truth.of("guest_end")]
    seconds = max(lengths) / 1e9
    waits, unsent = latencies(truth, plan)
    trips = sorted(truth.round_trips())
    columns = {
        "duration_s": (seconds, 1e-6, 1e-6), "ios": (len(ios), 0, 0), "unsent": (unsent, 0, 0),
        "iops_per_s": (len(ios) / seconds, 1e-6, 0),
        "throughput_bytes_per_s":
            (sum(r["length"] for r in ios if r["code"] == 0) / seconds, 1e-6, 0),
        "latency_mean_ns": (sum(waits) / len(waits), 1e-4, 1),
        "latency_max_ns": (waits[-1], 0, 0), "latency_min_ns": (waits[0], 0, 0),
        "min_iops_per_s": (min_iops(truth, plan), 0, 0),
        "faults": (len(truth.of("detect")), 0, 0), "groups": (len(truth.groups()), 0, 0),
        "major": (sum(r["code"] in (1, 2) for r in pages), 0, 0),
        "round_trips": (len(trips), 0, 0),
        "overflows": (len(truth.of("overflow")), 0, 0),
        "discards": (len(truth.of("void")), 0, 0),
        "auto_answered": (sum(g[0] in truth.automatic for g in truth.groups()), 0, 0),
        "evict_asked": (len(truth.of("evicted", "evict_failed")), 0, 0),
        "evicted": (len(truth.of("evicted")), 0, 0),
        "errors": (sum(r["code"] != 0 for r in ios), 0, 0),
        "blocked": (truth.blocked() / (sum(lengths) * plan.queues), 0.1, 0.01, BETWEEN),
    }
    # Bucket middles, off by 1/64 of the value at most; and a group's own stamp is a little earlier
    # than that of its first request.
    for percent, name in ((50, "p50"), (90, "p90"), (99, "p99"), (99.9, "p999"), (99.99, "p9999")):
        columns[f"latency_{name}_ns"] = (percentile(waits, percent), 1 / 64, 1)
        if percent < 99.9:
            columns[f"round_trip_{name}_ns"] = (percentile(trips, percent), 0.1, 50000, BETWEEN)
    posted = sorted(truth.invalidations()) if plan.has_bitmap else []
    columns["emq_commands"] = (len(posted) + len(starts) * (plan.has_bitmap and plan.premap), 0, 0)
    for percent, name in ((50, "p50"), (99, "p99")):
        columns[f"emq_{name}_ns"] = (percentile(posted, percent), 0.1, 50000, BETWEEN)
    columns["emq_max_ns"] = (posted[-1] if posted else None, 0.1, 10_000_000, BETWEEN)
    columns.update((column, (None, 0, 0)) for column in OF_NICS + OF_VMS)
    columns.update((column, (0, 0, 0)) for column in OF_PROTECTORS)
    columns["round_trip_mean_ns"] = (sum(trips) / len(trips) if trips else None, 0.1, 50000)
    for name, part in zip(("host", "device"), zip(*truth.parts()) if trips else ((), ())):
        columns[f"{name}_mean_ns"] = (sum(part) / len(part) if part else None, 0.1, 50000)
        columns[f"{name}_least_ns"] = (min(part, default=None), 0.1, 50000)
    columns["round_trip_max_ns"] = (trips[-1] if trips else None, 0.1, 10_000_000)
    return columns


def differs(text, value, relative, absolute, below=None):
    """below: how much less than the log's it may be, if more than how much more."""
    if value is None or text == "":
        return (value is None) != (text == "")
    more = float(text) - value
    return abs(more) > (below if below and more < 0 else relative) * abs(value) + absolute


def compare_row(row, truth, plan, name):
    columns = expected(truth, plan)
    known = set(columns) | set(UNTOLD) | {"pid"}
    measured = list(row)[list(row).index("duration_s"):]
    result(f"{name}: each column is held or said not to be",
           ", ".join(c for c in measured if c not in known) or
           ", ".join(f"no {c}" for c in columns if c not in row))
    for column, (value, *allowed) in columns.items():
        if column in row:
            result(f"{name}: {column} ({row[column]})",
                   differs(row[column], value, *allowed) and
                   f"{row[column]}, the truth log says {value}")
    order = [int(row[f"emq_{what}_ns"]) for what in ("p50", "p99", "max") if row[f"emq_{what}_ns"]]
    limits = [columns[f"emq_{what}_ns"][0] for what in ("p50", "p99", "max")]
    result(f"{name}: times of the event message queue are in order, and within those of the log ({order})",
           (order != sorted(order) or
            any(time > limit * 65 / 64 + 1 for time, limit in zip(order, filter(None, limits)))) and limits)
    planned = len(plan.due()) if plan.rate else plan.count
    devices = len(truth.of("guest_start"))
    if planned:
        result(f"{name}: sent and unsent are what was planned ({planned} on each of {devices})",
               int(row["ios"]) + int(row["unsent"]) != planned * devices and row["ios"])


def compare_report(directory, rows, truths):
    """The recording has all of it: page requests, I/Os, bytes, memory taken back."""
    def same(name, seen, done):
        result(f"report: {name} ({seen})", seen != done and f"{seen} seen, {done} done")

    emulated = [row for row in table(directory, "devices") if row["kind"] == "emulated"]
    pids, names = {row["pid"] for row in emulated}, {row["device"] for row in emulated}
    result("report: the machines", pids != {row["pid"] for row in rows} and str(pids))
    devices = [row for row in table(directory, "io_devices") if row["device"] in names]
    ios = [r for truth in truths for r in truth.of("guest_io")]
    same("page requests", sum(int(r["faults"]) for r in table(directory, "summary")),
         sum(int(row["faults"]) for row in rows))
    same("I/Os", sum(int(r["ios"]) for r in devices), len(ios))
    same("bytes", sum(int(r["transferred_bytes"]) for r in devices),
         sum(r["length"] for r in ios))
    same("I/Os of the device engines", sum(len(truth.of("io")) for truth in truths), len(ios))
    freed = [r for r in table(directory, "invalidations") if r["device"] == "all"]
    gone = {(n, r["fault"]): r for n, truth in enumerate(truths)
            for r in truth.of("invalidate_freed")}
    same("memory taken back", int(freed[0]["freed_bytes"]) if freed else 0, len(gone) * PAGE)
    same("memory written out", int(freed[0]["written_out"]) if freed else 0,
         sum(bool(r["flags"] & MAJOR) for r in gone.values()))
    blocked = sum(int(row["blocked_ns"]) for row in table(directory, "queues"))
    done = sum(truth.blocked() for truth in truths)
    result(f"report: blocked time ({blocked} ns)",
           abs(blocked - done) > 0.2 * done and f"{done} ns by the log")


def main(arguments):
    report = arguments[arguments.index("--report") + 1] if "--report" in arguments else None
    paths = [a for a in arguments if a not in ("--report", report)]
    with open(paths[0], newline="") as file:
        rows = list(csv.DictReader(file))
    plan, truths = Plan(paths[1]), [Truth(path) for path in paths[2:]]
    result("a truth log for each row", len(rows) != len(truths) and f"{len(rows)} rows")
    for number, (row, truth) in enumerate(zip(rows, truths), 1):
        compare_row(row, truth, plan, f"point {number}")
    if report:
        compare_report(report, rows, truths)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
