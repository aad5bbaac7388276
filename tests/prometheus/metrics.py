# SPDX-License-Identifier: GPL-2.0
"""What `faultline serve` tells, by tools/serve/metrics.def: names, types and labels; and made-up series of all of it."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Names of other programs' that rules and dashboards may use.
FOREIGN = {"up", "ALERTS", "node_time_seconds", "node_textfile_mtime_seconds"}

DEVICES = ("nvme0n1", "mlx5_0")
VALUES = {
    "version": ("0.1.0",), "host": ("HOST",), "kernel": ("6.12.0",), "device": DEVICES, "kind": ("minor", "major"),
    "code": ("success", "invalid", "failure"), "stage": ("deliver", "resolve", "respond"), "container": ("7", "11"),
    "port": ("1",), "counter": ("out_of_sequence", "rnr_nak_retry_err"), "direction": ("sent", "received"),
    "side": ("rx", "tx"), "reason": ("no descriptor",), "objective": ("gold",), "what": ("ring", "program"),
    "probe": ("iopf_report", "vtd_fault"), "state": ("attached", "lost"), "path": ("IOMMU page faults", "VFIO"),
}
# What a host without a worry has none of.
WORRIES = {
    "bursts_total": 0.1, "page_request_overflows_total": 0.1, "faults_discarded_total": 0.1, "faults_abandoned_total": 0.1,
    "faults_unfinished_total": 0.1, "unrecoverable_faults_total": 0.1, "unrecoverable_faults_unseen_total": 0.1,
    "vfio_failures_total": 0.1, "objective_violations_total": 0.1, "events_lost_total": 0.1, "probe_lost_total": 0.1,
}
RATES = {"blocked_seconds_total": (0.05, 0.8), "ios_total": (1000, 1000), "ios_faulted_total": (10, 300), "io_bytes_total": (4e6, 4e6)}
GAUGES = {
    "build_info": (1, 1), "host_info": (1, 1), "device_info": (1, 1), "devices": (2, 2), "vfio_pinned_bytes": (1 << 30, 95 << 25),
    "vfio_limit_bytes": (float("inf"), 100 << 25), "vfio_mappings": (40, 65000), "vfio_mappings_limit": (65535, 65535),
    "path_visible": (1, 0), "floor": (0, 1),
}
BOUNDS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
SHARES = {False: (0.1, 0.5, 0.999, 1, 1), True: (0.1, 0.5, 0.8, 0.9, 1)}


def defined():
    """Name (without faultline_): (type, labels, help), in the order of the file."""
    with open(os.path.join(ROOT, "tools/serve/metrics.def"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = re.findall(r'^METRIC\((\w+),\s*(COUNTER|GAUGE|HISTOGRAM),\s*"([^"]*)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', text, re.M)
    assert len(found) == len(re.findall(r"^METRIC\(", text, re.M)), "lines of metrics.def that cannot be read"
    return {name: (kind, labels.split(), "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', words))) for name, kind, labels, words in found}


def series_names():
    """All names of series, as Prometheus stores them."""
    names = set()
    for name, (kind, _, _) in defined().items():
        names |= {f"faultline_{name}{end}" for end in (("_bucket", "_sum", "_count") if kind == "HISTOGRAM" else ("",))}
    return names


def unknown(expression, recorded=()):
    """Names in a query that are none of Faultline's, of its recording rules' or of FOREIGN. What is in quotes is no name."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", '""', expression)
    bare = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", "", bare)
    names = set(re.findall(r"(?<![\w:$.])([a-zA-Z_:][\w:]*)(?!\w*\s*\()", re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", bare)))
    words = {"and", "or", "unless", "offset", "bool", "without", "by", "on", "ignoring"}
    known = series_names() | set(recorded) | FOREIGN
    return {name for name in names - words - known if not re.fullmatch(r"[smhdwy]|\d.*|inf|Inf|nan|NaN|e\d+", name)}


def combinations(labels, host):
    """Every set of values that labels have."""
    sets = [{}]
    for label in labels:
        sets = [{**one, label: host if value == "HOST" else value} for one in sets for value in VALUES[label]]
    return sets


def histogram(name, labels, count, worried):
    shares = SHARES[worried]
    for bound, share in zip(BOUNDS, shares):
        yield f"{name}_bucket", {**labels, "le": f"{bound:g}"}, float(int(count * share))
    yield f"{name}_bucket", {**labels, "le": "+Inf"}, float(count)
    yield f"{name}_sum", labels, count * (0.02 if worried else 0.0004)
    yield f"{name}_count", labels, float(count)


def value_of(name, kind, labels, age, now, worried):
    if name == "capture_start_time_seconds":
        return now - age
    if name == "written_time_seconds":
        return now
    if name == "probe_state":
        return float((labels["state"] == "lost") == (worried and labels["probe"] == "vtd_fault"))
    if name == "fault_responses_total" and labels["code"] != "success":
        return float(int(age * 0.1)) if worried else 0.0
    if kind == "GAUGE":
        return float(GAUGES.get(name, (3, 5))[worried])
    if name in WORRIES:
        return float(int(age * WORRIES[name])) if worried else 0.0
    return float(int(age * RATES[name][worried] * 1000)) / 1000 if name in RATES else float(int(age * 7))


def families(host, age, now, worried):
    """(name, type, help, [(series, labels, value)]) of each metric, as one host would tell it `age` seconds after it began."""
    for name, (kind, labels, words) in defined().items():
        rows = []
        for one in combinations(labels, host):
            if kind == "HISTOGRAM":
                rows += histogram(f"faultline_{name}", one, int(age * 7), worried)
            else:
                rows.append((f"faultline_{name}", one, value_of(name, kind, one, age, now, worried)))
        yield f"faultline_{name}", kind.lower(), words, rows


def text(name, labels, value, at=""):
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    number = "+Inf" if value == float("inf") else repr(value)
    return f"{name}{{{inside}}} {number}{at}\n"


def exposition(host, age, now, worried):
    """What a scrape gets."""
    out = []
    for name, kind, words, rows in families(host, age, now, worried):
        out.append(f"# HELP {name} {words}\n# TYPE {name} {kind}\n")
        out += [text(*row) for row in rows]
    return "".join(out)


def history(hosts, begin, end, step):
    """Yields (type, name, lines of (series, labels, value, time)) of several hosts; hosts: name: whether it is worried."""
    gathered = {}
    for now in range(begin, end + 1, step):
        for host, worried in hosts.items():
            for name, kind, _, rows in families(host, now - begin, now, worried):
                into = gathered.setdefault(name, (kind, []))[1]
                target = {"instance": host, "job": "faultline"}
                into += [(series, {**labels, **target}, value, now) for series, labels, value in rows]
            gathered.setdefault("up", ("gauge", []))[1].append(("up", {"instance": host, "job": "faultline"}, 1.0, now))
    return gathered
