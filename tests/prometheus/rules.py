#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Rules and alerts of dashboards/prometheus: what readers say of them, sections of docs/alerts.md, one alert end to end.

rules.py FAULTLINE INJECT [full]: in a scratch folder; prints a line a check. full breaks each alert in two ways, which its tests must notice.
"""
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time

import metrics
import servers

RULES = os.path.join(metrics.ROOT, "dashboards/prometheus")
TESTS = os.path.join(metrics.ROOT, "tests/prometheus")
FILES = ("thresholds.yml", "recording.yml", "alerts.yml")
counts = {True: 0, False: 0}


def check(what, good, why=""):
    counts[bool(good)] += 1
    print(f"{'ok' if good else 'not ok'} - {what}", flush=True)
    if not good and why:
        print("    " + str(why)[-2000:].replace("\n", "\n    "), flush=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rule(text):
    """(name, expression, the rule's whole text) of each rule of a file."""
    for block in re.split(r"(?m)^      (?=- (?:alert|record):)", text)[1:]:
        name = re.match(r"- (?:alert|record): (\S+)", block)[1]
        yield name, re.search(r"(?ms)^        expr: (?:\|2\n)?(.*?)(?=^        \w|^\s*#|\Z)", block)[1].strip(), block


def said_by_readers():
    for name in FILES:
        run = subprocess.run(["promtool", "check", "rules", f"{RULES}/{name}"], capture_output=True, text=True, check=False)
        check(f"promtool check rules takes {name}", run.returncode == 0, run.stdout + run.stderr)
    run = subprocess.run(["vmalert", "-dryRun", "-rule.validateExpressions", "-rule.validateTemplates", f"-rule={RULES}/*.yml"],
                         capture_output=True, text=True, check=False)
    check("vmalert -dryRun takes them all", run.returncode == 0, run.stdout + run.stderr)
    for name in ("alerts_test.yml", "thresholds_test.yml"):
        run = subprocess.run(["promtool", "test", "rules", f"{TESTS}/{name}"], capture_output=True, text=True, check=False)
        check(f"promtool test rules {name}", run.returncode == 0, run.stdout + run.stderr)


def said_in_documents():
    """Each alert has its section, its runbook that leads there, tests in both ways; names and thresholds are known."""
    alerts = {name: (expression, block) for name, expression, block in rule(read(f"{RULES}/alerts.yml"))}
    recorded = {name for name, _, _ in rule(read(f"{RULES}/recording.yml"))}
    thresholds = {name for name, _, _ in rule(read(f"{RULES}/thresholds.yml"))}
    text = read(os.path.join(metrics.ROOT, "docs/alerts.md"))
    sections = dict(re.findall(r"(?ms)^## (Faultline\w+)\n(.*?)(?=^## |\Z)", text))
    check("every alert has its section", not alerts.keys() - sections.keys(), alerts.keys() - sections.keys())
    check("every section has its alert", not sections.keys() - alerts.keys(), sections.keys() - alerts.keys())
    parts = ("**Means.**", "**First commands.**", "**Ignore it**")
    lacking = [(name, part) for name, words in sections.items() for part in parts if part not in words]
    check("a section says what it means, first commands, when to ignore it", sections and not lacking, lacking)
    bad = [name for name, (_, block) in alerts.items() if f"runbook: docs/alerts.md#{name.lower()}\n" not in block]
    check("every alert's runbook is its section", not bad, bad)
    told = dict(re.findall(r"(?m)^\| \[(Faultline\w+)\]\(#\w+\) \| (\w+) \|", text))
    wanted = {name: re.search(r"severity: (critical|warning|info)\n", block)[1] for name, (_, block) in alerts.items()}
    check("the document's table has their severities", told == wanted, set(told.items()) ^ set(wanted.items()))
    cases = read(f"{TESTS}/alerts_test.yml") + read(f"{TESTS}/thresholds_test.yml")
    firing = {name for name in alerts if re.search(rf'(?m){name}".*exp_samples: \[\{{', cases)}
    quiet = {name for name in alerts if re.search(rf'(?m){name}".*exp_samples: \[\]', cases)}
    check("every alert is tested firing and not firing", firing & quiet == alerts.keys(), alerts.keys() - (firing & quiet))
    used = {name for expression, _ in alerts.values() for name in re.findall(r"faultline:threshold:\w+", expression)}
    used.discard("faultline:threshold:")
    check("every threshold is one of an alert, and the reverse", used == thresholds, used ^ thresholds)
    check("FaultlineThresholdsMissing knows how many there are", alerts["FaultlineThresholdsMissing"][0].endswith(f"< {len(thresholds)}"))
    strange = {name: metrics.unknown(expression, recorded | thresholds) for file in FILES
               for name, expression, _ in rule(read(f"{RULES}/{file}"))}
    check("no rule names an unknown metric", not any(strange.values()), {k: v for k, v in strange.items() if v})
    check("a wrong name would be noticed", metrics.unknown('rate(faultline_bursts{a="b"}[5m]) > 1') == {"faultline_bursts"})


def hurry(folder):
    """Rules with seconds where they have minutes."""
    os.makedirs(folder, exist_ok=True)
    for name in FILES:
        text = read(f"{RULES}/{name}").replace("interval: 30s", "interval: 1s").replace("[10m]", "[10s]").replace("for: 5m", "for: 2s")
        text = text.replace("[5m]", "[5s]").replace("[1h]", "[60s]")
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    return os.path.abspath(folder)


class Receiver(http.server.BaseHTTPRequestHandler):
    """The exporter of a host, by GET, and the webhook of whoever is on call, by POST."""
    received, overflows, shown = [], 0, True

    def do_GET(self):
        now = time.time()
        lines = "".join(metrics.text(f"faultline_{name}", labels, value) for name, labels, value in (
            ("build_info", {"version": "1"}, 1.0), ("capture_start_time_seconds", {}, 1000.0), ("written_time_seconds", {}, now),
            ("page_request_overflows_total", {"device": "a&b \"c\"".replace('"', '\\"')}, float(self.overflows))))
        self.answer(lines.encode() if self.shown else b"", 200 if self.shown else 503)

    def do_POST(self):
        self.received.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"])
        self.answer(b"", 200)

    def answer(self, body, status):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def of_target(instance):
    """Notifications of one host: what `serve` sees here besides is this host's business."""
    return [alert for alert in Receiver.received if alert["labels"].get("instance") == instance]


def received(name, status, instance, seconds=60):
    """The first notification of an alert that came, or comes within a minute."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for alert in of_target(instance):
            if (alert["labels"]["alertname"], alert["status"]) == (name, status):
                return alert
        time.sleep(0.2)
    return None


def end_to_end(program, injector):
    """From a scrape to the receiver: an overflow, which resolves, and the recorder's end, made up; then those of a campaign."""
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    target = f"127.0.0.1:{receiver.server_address[1]}"
    routes = {"receiver": "hook", "group_by": ["..."], "group_wait": "0s", "group_interval": "1s", "repeat_interval": "1h"}
    manager = servers.alertmanager("manager", json.dumps({
        "route": routes, "receivers": [{"name": "hook", "webhook_configs": [{"url": f"http://{target}/", "send_resolved": True}]}]}))
    with manager, servers.faultline(program, "-c", servers.job(20)) as serve, servers.prometheus("server", json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [hurry("hurried") + "/*.yml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{manager.port}"]}]}]},
            "scrape_configs": [{"job_name": "faultline", "static_configs": [{"targets": [target, f"127.0.0.1:{serve.port}"]}]}]})) as server:
        # Targets are first scraped some seconds behind the start; then a few samples that are 0.
        awaited = server.wait_for("count_over_time(device:faultline_overflows:increase10m[10s]) >= 4")
        check("a host without a worry sends nothing", awaited and not of_target(target), of_target(target))
        Receiver.overflows = 3
        alert = received("FaultlineOverflow", "firing", target)
        check("an overflow arrives at the receiver", alert, server.query("ALERTS"))
        if alert:
            check("with its device, host and severity", [alert["labels"].get(key) for key in ("device", "instance", "severity")] ==
                  ['a&b "c"', target, "warning"], alert["labels"])
            notes = alert["annotations"]
            check("its annotations are whole", all(notes.get(key) and "<" not in notes[key] for key in
                                                   ("summary", "description", "dashboard", "runbook")), notes)
            check("its link is one", notes["dashboard"].endswith("&var-device=a%26b+%22c%22"), notes)
        check("it resolves when that is over", received("FaultlineOverflow", "resolved", target))
        Receiver.shown = False
        check("a recorder that does not answer arrives", received("FaultlineRecorderDown", "firing", target), server.query("up"))
        health = [one for group in server.ask("/api/v1/rules", {})["groups"] for one in group["rules"] if one["health"] != "ok"]
        check("Prometheus evaluates every rule", not health, health)
        names = {alert["labels"]["alertname"] for alert in of_target(target)}
        check("nothing else was sent", names == {"FaultlineOverflow", "FaultlineRecorderDown"}, names)
        with servers.machines(injector, "run.ini"):
            alert = received("FaultlineOverflow", "firing", f"127.0.0.1:{serve.port}")
            check("a campaign's overflow arrives, with its device", alert and "disk" in alert["labels"]["device"], alert)
            alert = received("FaultlineObjectiveBroken", "firing", f"127.0.0.1:{serve.port}")
            check("and the objective that it breaks", alert and alert["labels"]["objective"] == "gold", alert)
    receiver.shutdown()


def replayed():
    """vmalert over 40 minutes of two hosts in VictoriaMetrics: all alerts of the one that has worries, none of the other.

    In a replay vmalert 1.79 leaves alerts that have a `for` pending, however long they last.
    """
    end = int(time.time()) // 60 * 60 - 3600
    begin = end - 2400
    stamp = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) for at in (begin, end)]
    with servers.victoria("storage", "-search.disableCache") as server:
        servers.feed(server, metrics.history({"good": False, "worried": True}, begin, end, 60))
        for name in FILES:
            run = subprocess.run(["vmalert", f"-rule={RULES}/{name}", f"-datasource.url={server.url}", f"-remoteWrite.url={server.url}",
                                  f"-replay.timeFrom={stamp[0]}", f"-replay.timeTo={stamp[1]}", "-replay.rulesDelay=100ms",
                                  "-replay.disableProgressBar", "-loggerLevel=ERROR"], capture_output=True, text=True, check=False)
            servers.fetch(f"{server.url}/internal/force_flush")
            check(f"vmalert replays {name}", run.returncode == 0, run.stdout + run.stderr)
        alerts = {(name, "pending" if "\n        for:" in block else "firing") for name, _, block in rule(read(f"{RULES}/alerts.yml"))
                  if name not in ("FaultlineRecorderDown", "FaultlineThresholdsMissing")}
        for host, wanted in (("worried", alerts), ("good", set())):
            rows = server.query(f'count by (alertname, alertstate) (last_over_time(ALERTS{{instance="{host}"}}[5m]))', end)
            fired = {(row["metric"]["alertname"], row["metric"]["alertstate"]) for row in rows}
            check(f"what vmalert sees of the {host} host", fired == wanted, fired ^ wanted)
        rows = server.query('last_over_time(ALERTS{instance=""}[5m])', end)
        check("it misses no threshold", not rows, rows)


def broken():
    """Alerts that never fire, or always do: their tests notice."""
    os.makedirs("broken", exist_ok=True)
    cases = read(f"{TESTS}/alerts_test.yml").replace("../../dashboards/prometheus/", f"{RULES}/").replace(f"{RULES}/alerts.yml", "alerts.yml")
    with open("broken/test.yml", "w", encoding="utf-8") as file:
        file.write(cases)
    text = read(f"{RULES}/alerts.yml")
    for name, expression, block in rule(text):
        for how, other in (("never", f"(vector(1) > 2) and ({expression})"), ("always", f"({expression}) or up * 0 or vector(1)")):
            if (name, how) == ("FaultlineThresholdsMissing", "never"):
                continue  # fires in thresholds_test.yml only
            changed = block.replace(f"|2\n            {expression}", expression).replace(expression, " ".join(other.split()))
            with open("broken/alerts.yml", "w", encoding="utf-8") as file:
                file.write(text.replace(block, changed))
            run = subprocess.run(["promtool", "test", "rules", "broken/test.yml"], capture_output=True, text=True, check=False)
            check(f"{name} that {how} fires is noticed", run.returncode != 0 and "parse" not in run.stdout + run.stderr,
                  run.stdout + run.stderr)


def main():
    said_by_readers()
    said_in_documents()
    end_to_end(*sys.argv[1:3])
    replayed()
    if sys.argv[3:] == ["full"]:
        broken()
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
