#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes the dashboards for Grafana: dashboards.py [FOLDER], here unless told. What they show is listed below.

The JSON files are what is made of this one; suite `dashboards` holds that they are, so change them here.
"""
import json
import os
import sys

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
HOST, DEVICE = 'instance=~"$host"', 'instance=~"$host", device=~"$device"'
HOST_LINK = "/d/faultline-host?${datasource:queryparam}&var-host=${__data.fields.instance}&${__url_time_range}"
DEVICE_LINK = ("/d/faultline-device?${datasource:queryparam}&var-host=${__data.fields.instance}"
               "&var-device=${__data.fields.device}&${__url_time_range}")
GREEN, YELLOW, RED = "green", "yellow", "red"


def target(number, expr, legend="", instant=False, shape="time_series"):
    return {"refId": "ABCDEFGHIJKLMN"[number], "datasource": SOURCE, "expr": expr, "legendFormat": legend or "__auto",
            "instant": instant, "range": not instant, "format": shape, "editorMode": "code"}


def steps(*limits):
    colours = (GREEN, YELLOW, RED) if len(limits) > 1 else (GREEN, RED)
    return {"mode": "absolute", "steps": [{"color": colour, "value": value} for colour, value in zip(colours, (None, *limits))]}


def base(kind, title, description, targets, size, options, defaults, overrides=()):
    return {"type": kind, "title": title, "description": description, "datasource": SOURCE, "targets": targets,
            "gridPos": {"w": size[0], "h": size[1], "x": 0, "y": 0}, "options": options,
            "fieldConfig": {"defaults": defaults, "overrides": list(overrides)}}


def lines(title, description, *queries, unit="short", stack=False, width=8, height=8):
    """Series over time; queries: (expression, legend)."""
    custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 25 if stack else 5, "showPoints": "never", "spanNulls": False,
              "stacking": {"mode": "normal" if stack else "none", "group": "A"}}
    options = {"legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["mean", "max"]},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    return base("timeseries", title, description, [target(n, *one) for n, one in enumerate(queries)], (width, height), options,
                {"unit": unit, "min": 0, "color": {"mode": "palette-classic"}, "custom": custom})


def number(title, description, expr, unit="short", limits=(), width=4):
    """One number now."""
    options = {"colorMode": "value" if limits else "none", "graphMode": "none", "justifyMode": "auto", "textMode": "value",
               "orientation": "auto", "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard",
               "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
    return base("stat", title, description, [target(0, expr, instant=True)], (width, 4), options,
                {"unit": unit, "noValue": "0", "color": {"mode": "thresholds"}, "thresholds": steps(*limits) if limits else steps()})


def link(title, url):
    return {"id": "links", "value": [{"title": title, "url": url}]}


def table(title, description, columns, links=(), hidden=(), width=24, height=9, sort=None):
    """A row a set of labels; columns: (name, unit, expression); links: (label, title, URL)."""
    queries = [target(n, expr, instant=True, shape="table") for n, (_, _, expr) in enumerate(columns)]
    values = ["Value" if len(columns) == 1 else f"Value #{query['refId']}" for query in queries]
    overrides = [{"matcher": {"id": "byName", "options": name}, "properties": [{"id": "unit", "value": unit}]}
                 for name, unit, _ in columns]
    overrides += [{"matcher": {"id": "byName", "options": label}, "properties": [link(words, url)]} for label, words, url in links]
    names = {value: name for value, (name, _, _) in zip(values, columns)}
    panel = base("table", title, description, queries, (width, height),
                 {"showHeader": True, "frameIndex": 0, "cellHeight": "sm", "sortBy": [{"displayName": sort, "desc": True}] if sort else []},
                 {"color": {"mode": "thresholds"}, "thresholds": steps(), "custom": {"align": "auto", "inspect": False, "cellOptions": {"type": "auto"}}}, overrides)
    panel["transformations"] = [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {name: True for name in ("Time", "__name__", *hidden)},
                                       "indexByName": {}, "renameByName": names}}]
    return panel


def heatmap(title, description, expr, width=12, height=9):
    options = {"calculate": False, "cellGap": 1, "cellValues": {"unit": "short"}, "exemplars": {"color": "rgba(255,0,255,0.7)"},
               "color": {"mode": "scheme", "scheme": "Oranges", "fill": "dark-orange", "exponent": 0.5, "steps": 64, "reverse": False,
                         "scale": "exponential"},
               "filterValues": {"le": 1e-9}, "legend": {"show": True}, "rowsFrame": {"layout": "auto"}, "showValue": "never",
               "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": True}, "yAxis": {"axisPlacement": "left", "unit": "s"}}
    return base("heatmap", title, description, [target(0, expr, "{{le}}", shape="heatmap")], (width, height), options,
                {"custom": {"hideFrom": {"legend": False, "tooltip": False, "viz": False}}})


def row(title):
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": {"w": 24, "h": 1, "x": 0, "y": 0}}


def place(panels):
    """Left to right, then below what is highest."""
    x = y = height = 0
    for identity, panel in enumerate(panels, 1):
        where = panel["gridPos"]
        if x + where["w"] > 24 or panel["type"] == "row":
            x, y, height = 0, y + height, 0
        panel["id"], where["x"], where["y"] = identity, x, y
        x, height = x + where["w"], max(height, where["h"])
    return panels


def variable(name, label, query, several):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "query": query, "refresh": 2, "sort": 1,
            "multi": several, "includeAll": several, "hide": 0, **({"allValue": ".*"} if several else {}),
            "current": {"text": "All", "value": "$__all"} if several else {"text": "", "value": ""}}


def dashboard(uid, title, description, variables, panels, alerts):
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1, "hide": 0,
              "current": {"text": "", "value": ""}}
    fired = {"refId": "Alerts", "datasource": SOURCE, "expr": alerts, "legendFormat": "{{alertname}} {{device}}", "instant": False,
             "range": True, "format": "time_series", "editorMode": "code"}
    return {
        "uid": uid, "title": title, "description": description, "tags": ["faultline"], "schemaVersion": 39, "version": 1,
        "editable": True, "graphTooltip": 1, "refresh": "30s", "time": {"from": "now-1h", "to": "now"}, "timezone": "browser",
        "links": [{"type": "dashboards", "title": "Faultline", "tags": ["faultline"], "asDropdown": True, "includeVars": True,
                   "keepTime": True, "targetBlank": False, "icon": "external link", "tooltip": "", "url": ""}],
        "annotations": {"list": [{"name": "Alerts", "datasource": SOURCE, "enable": True, "hide": False, "iconColor": RED,
                                  "target": fired}]},
        "templating": {"list": [source, *variables]}, "panels": place(panels)}


def rate(name, where, by="", window="$__rate_interval"):
    return f"sum{f' by ({by})' if by else ''} (rate(faultline_{name}{{{where}}}[{window}]))"


def grew(name, where, by="", window="$__rate_interval"):
    return f"sum{f' by ({by})' if by else ''} (increase(faultline_{name}{{{where}}}[{window}]))"


def quantile(share, name, where, by="", window="$__rate_interval"):
    return f"histogram_quantile({share}, sum by (le{', ' + by if by else ''}) (rate(faultline_{name}_bucket{{{where}}}[{window}])))"


def mean(name, where, by):
    return f"{rate(name + '_sum', where, by)} / {rate(name + '_count', where, by)}"


def share(part, whole, where, by):
    return f"{rate(part, where, by)} / ({rate(whole, where, by)} > 0)"


HOST_VARIABLE = "label_values(faultline_build_info, instance)"
DEVICE_VARIABLE = 'label_values(faultline_device_info{instance=~"$host"}, device)'


def fleet():
    return dashboard("faultline-fleet", "Faultline: fleet", "Hosts that Faultline watches, those that suffer most first.",
                     [variable("host", "Host", HOST_VARIABLE, True)], place([
        number("Hosts", "That tell their numbers", f"count(faultline_build_info{{{HOST}}})"),
        number("Devices", "On all hosts", f"sum(faultline_devices{{{HOST}}})"),
        number("Faults a second", "I/O page faults that began", rate("faults_began_total", HOST), "cps"),
        number("Open faults", "That did not end yet", f"sum(faultline_open_faults{{{HOST}}})"),
        number("Alerts", "That fire; needs the rules of dashboards/prometheus",
               f'count(ALERTS{{alertname=~"Faultline.*", alertstate="firing", {HOST}}})', limits=(1,)),
        number("Hosts with floors", "That lost something, so that counts may be too low", f"sum(faultline_floor{{{HOST}}})", limits=(1,)),
        table("Hosts", "A row a host; its name leads to its dashboard.", [
            ("Faults/s", "cps", rate("faults_began_total", HOST, "instance")),
            ("p99", "s", quantile(0.99, "fault_latency_seconds", HOST, "instance", "$__range")),
            ("Queues blocked", "short", rate("blocked_seconds_total", HOST, "instance")),
            ("Bursts", "short", grew("bursts_total", HOST, "instance", "$__range")),
            ("Overflows", "short", grew("page_request_overflows_total", HOST, "instance", "$__range")),
            ("Unrecoverable", "short", grew("unrecoverable_faults_total", HOST, "instance", "$__range")),
            ("Objectives broken", "short", grew("objective_violations_total", HOST, "instance", "$__range")),
            ("Events lost", "short", grew("events_lost_total", HOST, "instance", "$__range")),
            ("Watched for", "s", f"sum by (instance) (time() - faultline_capture_start_time_seconds{{{HOST}}})"),
        ], [("instance", "Host", HOST_LINK)], sort="Faults/s"),
        table("Devices that fault most", "Twenty of all hosts; their names lead to their dashboards.", [
            ("Faults/s", "cps", f"topk(20, {rate('faults_began_total', HOST, 'instance, device')})"),
        ], [("instance", "Host", HOST_LINK), ("device", "Device", DEVICE_LINK)], width=12, sort="Faults/s"),
        table("Alerts that fire", "Needs the rules of dashboards/prometheus; docs/alerts.md has a section an alert.", [
            ("Firing", "short", f'sum by (alertname, severity, instance, device) (ALERTS{{alertname=~"Faultline.*", alertstate="firing", {HOST}}})'),
        ], [("instance", "Host", HOST_LINK)], hidden=("Value",), width=12),
        lines("Faults", "I/O page faults that began, by host", (rate("faults_began_total", HOST, "instance"), "{{instance}}"), unit="cps"),
        lines("Latency, p99", "Detect to resume, by host; within a bucket",
              (quantile(0.99, "fault_latency_seconds", HOST, "instance"), "{{instance}}"), unit="s"),
        lines("Queues blocked", "Queues that wait for a fault at any time, on average",
              (rate("blocked_seconds_total", HOST, "instance"), "{{instance}}")),
        lines("I/Os", "Completed, by host", (rate("ios_total", HOST, "instance"), "{{instance}}"), unit="iops"),
        lines("I/Os that waited for a fault", "Share of those completed",
              (share("ios_faulted_total", "ios_total", HOST, "instance"), "{{instance}}"), unit="percentunit"),
        lines("Events lost", "By host; counts are floors since", (rate("events_lost_total", HOST, "instance"), "{{instance}}"), unit="cps"),
        table("Versions", "Of Faultline and of kernels.", [
            ("Version", "short", f"max by (instance, version) (faultline_build_info{{{HOST}}})"),
            ("Kernel", "short", f"max by (instance, host, kernel) (faultline_host_info{{{HOST}}})"),
        ], [("instance", "Host", HOST_LINK)], hidden=("Value #A", "Value #B")),
    ]), f'ALERTS{{alertname=~"Faultline.*", alertstate="firing", {HOST}}}')


def host():
    return dashboard("faultline-host", "Faultline: host", "One host: its devices, what waited, what was lost, what it cannot show.",
                     [variable("host", "Host", HOST_VARIABLE, False), variable("device", "Device", DEVICE_VARIABLE, True)], place([
        number("Devices", "Known", f"sum(faultline_devices{{{HOST}}})"),
        number("Faults a second", "That began", rate("faults_began_total", DEVICE), "cps"),
        number("p99", "Of the range shown, within a bucket", quantile(0.99, "fault_latency_seconds", DEVICE, window="$__range"), "s"),
        number("Unrecoverable", "IOMMU faults in the range shown", grew("unrecoverable_faults_total", DEVICE, window="$__range"), limits=(1,)),
        number("Unseen", "IOMMU faults that were counted and not described",
               grew("unrecoverable_faults_unseen_total", HOST, window="$__range"), limits=(1,)),
        number("Floor", "1: something was lost, counts may be too low", f"max(faultline_floor{{{HOST}}})", limits=(1,)),
        table("Devices", "A row a device; its name leads to its dashboard.", [
            ("Faults/s", "cps", rate("faults_began_total", DEVICE, "instance, device")),
            ("p50", "s", quantile(0.5, "fault_latency_seconds", DEVICE, "instance, device", "$__range")),
            ("p99", "s", quantile(0.99, "fault_latency_seconds", DEVICE, "instance, device", "$__range")),
            ("Most in a second", "short", f"max by (instance, device) (faultline_fault_peak_per_second{{{DEVICE}}})"),
            ("Queues blocked", "short", rate("blocked_seconds_total", DEVICE, "instance, device")),
            ("Open", "short", f"sum by (instance, device) (faultline_open_faults{{{DEVICE}}})"),
            ("Overflows", "short", grew("page_request_overflows_total", DEVICE, "instance, device", "$__range")),
            ("IOPS", "iops", rate("ios_total", DEVICE, "instance, device")),
            ("Waited", "percentunit", share("ios_faulted_total", "ios_total", DEVICE, "instance, device")),
            ("Memory touched", "bytes", f"sum by (instance, device) (faultline_footprint_bytes{{{DEVICE}}})"),
        ], [("device", "Device", DEVICE_LINK)], hidden=("instance",), sort="Faults/s"),
        row("Faults"),
        lines("Faults", "That began, by device", (rate("faults_began_total", DEVICE, "device"), "{{device}}"), unit="cps"),
        lines("Latency, p99", "Detect to resume, by device; within a bucket",
              (quantile(0.99, "fault_latency_seconds", DEVICE, "device"), "{{device}}"), unit="s"),
        lines("Where time goes", "Time that faults spend in each stage, a second", unit="s", stack=True,
              *[(rate("fault_stage_seconds_sum", DEVICE, "stage"), "{{stage}}")]),
        lines("Queues blocked", "Queues that wait for a fault at any time, on average",
              (rate("blocked_seconds_total", DEVICE, "device"), "{{device}}")),
        lines("Bursts and overflows", "Bursts; page requests dropped; faults discarded behind them",
              (grew("bursts_total", DEVICE), "bursts"), (grew("page_request_overflows_total", DEVICE), "dropped"),
              (grew("faults_discarded_total", DEVICE), "discarded")),
        lines("Responses", "To page requests, by code", (rate("fault_responses_total", DEVICE, "code"), "{{code}}"), unit="cps"),
        lines("Faults that do not end", "Given up by the device; by Faultline",
              (grew("faults_abandoned_total", DEVICE), "abandoned"), (grew("faults_unfinished_total", DEVICE), "unfinished")),
        lines("Unrecoverable faults", "DMA that the IOMMU blocked, by device; and of which device is not known",
              (grew("unrecoverable_faults_total", DEVICE, "device"), "{{device}}"),
              (grew("unrecoverable_faults_unseen_total", HOST), "not described")),
        lines("Invalidations", "Memory taken back, by device", (rate("invalidations_total", DEVICE, "device"), "{{device}}"), unit="cps"),
        row("I/O and objectives"),
        lines("I/Os", "Completed, by device", (rate("ios_total", DEVICE, "device"), "{{device}}"), unit="iops"),
        lines("I/Os that waited for a fault", "Share of those completed",
              (share("ios_faulted_total", "ios_total", DEVICE, "device"), "{{device}}"), unit="percentunit"),
        lines("Objectives", "Windows in which one was broken", (grew("objective_violations_total", DEVICE, "objective, device"),
                                                                "{{objective}} {{device}}")),
        row("VFIO"),
        lines("Pinned memory", "By container, and its limit", (f"sum by (container) (faultline_vfio_pinned_bytes{{{HOST}}})", "{{container}}"),
              (f"sum by (container) (faultline_vfio_limit_bytes{{{HOST}}} < Inf)", "limit of {{container}}"), unit="bytes"),
        lines("DMA mappings", "By container, and how many it may have",
              (f"sum by (container) (faultline_vfio_mappings{{{HOST}}})", "{{container}}"),
              (f"sum by (container) (faultline_vfio_mappings_limit{{{HOST}}})", "limit of {{container}}")),
        lines("Requests that failed", "Maps, unmaps and pins", (grew("vfio_failures_total", HOST, "container"), "{{container}}")),
        row("Faultline itself"),
        lines("Events", "Received from all probes, and lost, by where", (rate("events_total", HOST), "received"),
              (rate("events_lost_total", HOST, "what"), "lost: {{what}}"), unit="cps"),
        lines("CPU time", "Of this process", (rate("process_cpu_seconds_total", HOST), "CPU"), unit="percentunit"),
        lines("Memory", "Of this process", (f"sum(faultline_process_resident_memory_bytes{{{HOST}}})", "resident"), unit="bytes"),
        lines("Asked for", "Times that its numbers were asked for; that they could not be written for node_exporter",
              (rate("scrapes_total", HOST), "asked a second"), (grew("textfile_failures_total", HOST), "not written"), width=24, height=6),
        table("Paths", "Of the kernel: 1, all of it is seen; 0, this host cannot show all of it.", [
            ("Seen", "short", f"min by (path) (faultline_path_visible{{{HOST}}})")], width=8),
        table("Probes", "The state that each is in; how often it ran in the range; events it could not send.", [
            ("State", "short", f"max by (probe, state) (faultline_probe_state{{{HOST}}} == 1)"),
            ("Hits", "short", grew("probe_hits_total", HOST, "probe", "$__range")),
            ("Lost", "short", grew("probe_lost_total", HOST, "probe", "$__range")),
        ], hidden=("Value #A",), width=16),
    ]), f'ALERTS{{alertname=~"Faultline.*", alertstate="firing", {HOST}}}')


def device():
    return dashboard("faultline-device", "Faultline: device", "One device of a host: its faults, their stages, what waited for them.",
                     [variable("host", "Host", HOST_VARIABLE, False), variable("device", "Device", DEVICE_VARIABLE, False)], place([
        number("Faults a second", "That began", rate("faults_began_total", DEVICE), "cps"),
        number("p50", "Of the range shown, within a bucket", quantile(0.5, "fault_latency_seconds", DEVICE, window="$__range"), "s"),
        number("p99", "Of the range shown, within a bucket", quantile(0.99, "fault_latency_seconds", DEVICE, window="$__range"), "s"),
        number("Most in a second", "Faults, since capture began", f"max(faultline_fault_peak_per_second{{{DEVICE}}})"),
        number("Memory touched", "In distinct 4 KiB pages, since capture began", f"sum(faultline_footprint_bytes{{{DEVICE}}})", "bytes"),
        number("Unrecoverable", "IOMMU faults in the range shown", grew("unrecoverable_faults_total", DEVICE, window="$__range"), limits=(1,)),
        row("Faults"),
        heatmap("Latency", "Faults, by how long they took, detect to resume", grew("fault_latency_seconds_bucket", DEVICE, "le")),
        lines("Latency", "Percentiles within a bucket", (quantile(0.5, "fault_latency_seconds", DEVICE), "p50"),
              (quantile(0.9, "fault_latency_seconds", DEVICE), "p90"), (quantile(0.99, "fault_latency_seconds", DEVICE), "p99"),
              unit="s", width=12, height=9),
        lines("Faults that are over", "By kind", (rate("faults_total", DEVICE, "kind"), "{{kind}}"), unit="cps", stack=True),
        lines("Mean fault, stage on stage", "Only means add up", (mean("fault_stage_seconds", DEVICE, "stage"), "{{stage}}"), unit="s", stack=True),
        lines("Stages, p99", "Percentiles of stages do not add up", (quantile(0.99, "fault_stage_seconds", DEVICE, "stage"), "{{stage}}"), unit="s"),
        lines("Queues blocked", "Queues that wait for a fault at any time, on average", (rate("blocked_seconds_total", DEVICE), "blocked")),
        lines("Open faults", "That did not end yet", (f"sum(faultline_open_faults{{{DEVICE}}})", "open")),
        lines("Responses", "To page requests, by code", (rate("fault_responses_total", DEVICE, "code"), "{{code}}"), unit="cps"),
        lines("Bursts and overflows", "Bursts; page requests dropped; faults discarded behind them",
              (grew("bursts_total", DEVICE), "bursts"), (grew("page_request_overflows_total", DEVICE), "dropped"),
              (grew("faults_discarded_total", DEVICE), "discarded")),
        lines("Faults that do not end", "Given up by the device; by Faultline; blocked by the IOMMU",
              (grew("faults_abandoned_total", DEVICE), "abandoned"), (grew("faults_unfinished_total", DEVICE), "unfinished"),
              (grew("unrecoverable_faults_total", DEVICE), "unrecoverable")),
        lines("Invalidations", "Memory taken back: how often, and how long until it is free",
              (rate("invalidations_total", DEVICE), "a second"), unit="cps"),
        lines("Invalidations, p99", "From start to freed", (quantile(0.99, "invalidation_seconds", DEVICE), "p99"), unit="s"),
        row("I/O and memory"),
        lines("I/Os", "Completed, and those that waited for a fault", (rate("ios_total", DEVICE), "completed"),
              (rate("ios_faulted_total", DEVICE), "waited"), unit="iops"),
        lines("Bytes", "That completed I/Os moved", (rate("io_bytes_total", DEVICE), "moved"), unit="Bps"),
        lines("Memory", "Touched, and all that the device may touch", (f"sum(faultline_footprint_bytes{{{DEVICE}}})", "touched"),
              (f"sum(faultline_device_memory_bytes{{{DEVICE}}})", "may be touched"), unit="bytes"),
        lines("Objectives", "Share of their windows in which they were broken",
              (f"{grew('objective_violations_total', DEVICE, 'objective')} / ({grew('objective_windows_total', DEVICE, 'objective')} > 0)",
               "{{objective}}"), unit="percentunit", width=24, height=6),
        row("RDMA"),
        lines("On-demand paging", "Faults, and pages that they mapped", (rate("odp_faults_total", DEVICE), "faults"),
              (rate("odp_pages_total", DEVICE), "pages"), unit="cps"),
        lines("RNR NAKs", "By port and direction; packets sent again",
              (rate("rnr_naks_total", DEVICE, "port, direction"), "port {{port}}, {{direction}}"),
              (rate("packets_resent_total", DEVICE), "packets sent again"), unit="cps"),
        lines("Counters of ports", "As the device counts", (rate("rdma_counter_total", DEVICE, "port, counter"), "port {{port}}, {{counter}}"), unit="cps"),
        row("Network"),
        lines("Frames", "By side", (rate("frames_total", DEVICE, "side"), "{{side}}"), unit="pps"),
        lines("Frames lost", "By reason", (rate("frames_lost_total", DEVICE, "reason"), "{{reason}}"), unit="pps"),
        lines("Stalls", "Of TCP flows: that began; flows that are stalled at any time, on average",
              (rate("stalls_total", DEVICE), "began a second"), (rate("stall_seconds_total", DEVICE), "stalled")),
    ]), f'ALERTS{{alertname=~"Faultline.*", alertstate="firing", {DEVICE}}}')


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, make in (("fleet", fleet), ("host", host), ("device", device)):
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(make(), file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
