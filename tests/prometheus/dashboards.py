#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Dashboards of dashboards/grafana: dashboards.py made | campaign FAULTLINE INJECT in a scratch folder.

made: files, names, links; then every query on Prometheus and VictoriaMetrics over made-up series of every metric.
campaign: every query on servers that scrape a real one; what no small campaign has may be empty. A line a check.
"""
import json
import os
import re
import subprocess
import sys
import time

import metrics
import servers

FOLDER = os.path.join(metrics.ROOT, "dashboards/grafana")
NAMES = ("fleet", "host", "device")
UNASKED = set()  # metrics that no dashboard and no rule needs
# Of kernels' devices, and of events that a campaign on emulated ones does not have.
RARE = re.compile(r"faultline_(vfio_|odp_|rdma_|rnr_|packets_resent|frames_|stall)")
counts = {True: 0, False: 0}


def check(what, good, why=""):
    counts[bool(good)] += 1
    print(f"{'ok' if good else 'not ok'} - {what}", flush=True)
    if not good and why:
        print("    " + str(why)[-3000:].replace("\n", "\n    "), flush=True)


def boards():
    for name in NAMES:
        with open(f"{FOLDER}/{name}.json", encoding="utf-8") as file:
            yield name, json.load(file)


def targets(board):
    """(panel's title, target) of all queries of a dashboard, that of its annotations among them."""
    for panel in board["panels"]:
        for one in panel.get("targets", ()):
            yield panel["title"], one
    for one in board["annotations"]["list"]:
        yield one["name"], one["target"]


def variables(board):
    """(name, metric with matchers, label) of the variables that ask a server."""
    for one in board["templating"]["list"]:
        if one["type"] == "query":
            yield (one["name"], *re.fullmatch(r"label_values\((.*), (\w+)\)", one["query"]).groups())


def files():
    """They are what dashboards.py makes; names are known, all metrics are shown, links lead somewhere."""
    os.makedirs("made", exist_ok=True)
    subprocess.run(["/usr/bin/python3", f"{FOLDER}/dashboards.py", "made"], check=True)
    same = [name for name in NAMES if open(f"made/{name}.json", "rb").read() != open(f"{FOLDER}/{name}.json", "rb").read()]
    check("they are what dashboards/grafana/dashboards.py makes", not same, same)
    found = dict(boards())
    expressions = [one["expr"] for board in found.values() for _, one in targets(board)]
    asked = expressions + [query for board in found.values() for _, query, _ in variables(board)]
    strange = {name for expression in asked for name in metrics.unknown(expression)}
    check("no query names an unknown metric", not strange, strange)
    for name in ("alerts.yml", "recording.yml"):
        with open(os.path.join(metrics.ROOT, "dashboards/prometheus", name), encoding="utf-8") as file:
            asked.append(file.read())
    words = set(re.findall(r"faultline_\w+", " ".join(asked)))
    lacking = {name for name in metrics.defined() if not any(f"faultline_{name}{end}" in words for end in ("", "_bucket", "_sum", "_count"))}
    check("every metric is asked for by a dashboard or a rule", lacking == UNASKED, lacking ^ UNASKED)
    names = {board["uid"]: {one["name"] for one in board["templating"]["list"]} for board in found.values()}
    text = json.dumps(list(found.values()))
    with open(os.path.join(metrics.ROOT, "dashboards/prometheus/alerts.yml"), encoding="utf-8") as file:
        text += file.read()
    led = {(uid, var) for uid, query in re.findall(r"/d/([\w-]+)\??([^\"']*)", text) for var in re.findall(r"var-(\w+)=", query) or ("datasource",)}
    bad = [one for one in led if one[1] not in names.get(one[0], ())]
    check("links lead to dashboards and variables that are there", {uid for uid, _ in led} == names.keys() and not bad, bad)
    for name, board in found.items():
        known = names[board["uid"]] | {"__all", "__rate_interval", "__range", "__url_time_range"}
        used = {word for word in re.findall(r"\$\{?(\w+)", json.dumps(board)) if not word.startswith("__data")}
        check(f"{name}: variables are its own, for data source, host and device", used <= known and {"datasource", "host"} <= used,
              used - known)
        squares = [(x, y) for panel in board["panels"] for g in (panel["gridPos"],)
                   for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])]
        check(f"{name}: no panel lies on another or beyond the edge", len(squares) == len(set(squares)) and max(x for x, _ in squares) < 24)
        identities = [panel["id"] for panel in board["panels"]]
        check(f"{name}: panels have numbers of their own", len(identities) == len(set(identities)))


def filled(expression, settings):
    for name, value in settings.items():
        expression = expression.replace(f"${name}", value)
    assert "$" not in expression, expression
    return expression


def answer(server, one, settings, end, span):
    """Series of a query as Grafana would ask it; of each its labels."""
    expression = filled(one["expr"], settings)
    if one["instant"]:
        rows = server.query(expression, end)
    else:
        rows = server.ask("/api/v1/query_range", {"query": expression, "start": end - span, "end": end, "step": max(1, span // 30)})["result"]
    finite = [row for row in rows if any(value[1] != "NaN" for value in row.get("values", [row.get("value")]))]
    return {tuple(sorted(row["metric"].items())) for row in finite}


def asked(server, board, settings, end, span):
    """{(title, query): labels of its series}, or what the server refused."""
    found = {}
    for title, one in targets(board):
        try:
            found[title, one["expr"]] = answer(server, one, settings, end, span)
        except RuntimeError as refusal:
            found[title, one["expr"]] = str(refusal)
    for name, query, label in variables(board):
        found[f"variable {name}", query] = {tuple(row["metric"].items()) for row in
                                            server.query(f"count by ({label}) ({filled(query, settings)})", end)}
    return found


def told(name, what, found, may_be_empty=None):
    """Checks that queries were understood and have series."""
    refused = {key: value for key, value in found.items() if isinstance(value, str)}
    check(f"{name}: {what} understands every query", not refused, refused)
    empty = [key for key, value in found.items() if not value and not (may_be_empty and may_be_empty.search(key[1]))]
    check(f"{name}: {what} has series for every query ({len(found)})", found and not empty, "\n".join(map(str, empty)))


def made():
    end = int(time.time()) // 60 * 60 - 3600
    gathered = metrics.history({"good": False, "worried": True}, end - 2400, end, 60)
    gathered["ALERTS"] = ("gauge", [("ALERTS", {"alertname": "FaultlineBurst", "alertstate": "firing", "instance": "worried", "severity": "info",
                                                "device": device}, 1.0, now) for device in metrics.DEVICES for now in range(end - 600, end + 1, 60)])
    servers.backfill(gathered, "server")
    with servers.prometheus("server", "{}") as prometheus, servers.victoria("storage", "-search.disableCache") as victoria:
        servers.feed(victoria, gathered)
        for name, board in boards():
            settings = {"host": ".*" if name == "fleet" else "worried", "device": metrics.DEVICES[0] if name == "device" else ".*",
                        "__rate_interval": "4m", "__range": "30m"}
            one, other = (asked(server, board, settings, end, 1800) for server in (prometheus, victoria))
            told(name, "Prometheus", one)
            told(name, "VictoriaMetrics", other)
            differing = {key: (one[key], other[key]) for key in one if one[key] != other[key]}
            check(f"{name}: both have the same series", not differing, differing)
            settings["host"] = "nobody"
            if name != "fleet":
                rows = {key: value for key, value in asked(prometheus, board, settings, end, 1800).items() if key[0] != "variable host"}
                check(f"{name}: of a host that is none it shows nothing", not any(rows.values()), {key: value for key, value in rows.items() if value})


def campaign(program, injector, seconds=25):
    """Both servers scrape `faultline serve` each second while machines run."""
    with servers.faultline(program, "-c", servers.job(seconds)) as serve:
        config = json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": [
            {"job_name": "faultline", "static_configs": [{"targets": [f"127.0.0.1:{serve.port}"]}]}]})
        with servers.prometheus("live", config) as prometheus, servers.victoria(
                "live-storage", "-promscrape.config=live/prometheus.yml", "-search.disableCache") as victoria:
            check("Prometheus scrapes it", prometheus.wait_for("up == 1"))
            check("VictoriaMetrics scrapes it", victoria.wait_for("up == 1"))
            with servers.machines(injector, "run.ini"):
                looked(prometheus, victoria)


def looked(prometheus, victoria):
    """Once there is enough to take rates of."""
    begun = all(server.wait_for("sum(rate(faultline_fault_latency_seconds_count[10s])) > 0 and "
                                "sum(rate(faultline_invalidation_seconds_count[10s])) > 0") for server in (prometheus, victoria))
    check("faults arrive at both", begun)
    time.sleep(3)
    for title, server in (("Prometheus", prometheus), ("VictoriaMetrics", victoria)):
        host = server.query("faultline_build_info")[0]["metric"]["instance"]
        device = server.query("topk(1, faultline_faults_began_total)")[0]["metric"]["device"]
        for name, board in boards():
            settings = {"host": host, "device": device if name == "device" else ".*", "__rate_interval": "10s", "__range": "60s"}
            found = {key: value for key, value in asked(server, board, settings, int(time.time()), 60).items() if "ALERTS" not in key[1]}
            told(name, f"a campaign on {title}", found, RARE)


def main():
    if sys.argv[1] == "made":
        files()
        made()
    else:
        campaign(*sys.argv[2:])
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
