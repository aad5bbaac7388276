#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What tests/e2e/serve.sh asks of a server, of those that scrape it, and of what they answer.

    serve.py port                     a free TCP port of 127.0.0.1
    serve.py counts CSVDIR NAME=URL...  Prometheus' API at each URL answers the counts of `report --csv`
    serve.py times CSVDIR NAME=URL...   likewise sums and quantiles of times
    serve.py falls BEFORE AFTER       no counter of one text is less, or missing, in the other
    serve.py complete FILE            the text is whole: every family of metrics.def, and the last line ends
    serve.py metrics DEF DOC          every line of metrics.def is in the table of docs/metrics.md, and no other
    serve.py sums ALL FEW             device by device, and summed up: counters of two texts say the same
    serve.py slow PORT COUNT FILE     so many clients that take their time, until FILE is there
    serve.py garbage PORT             what is no request
"""
import csv
import json
import os
import random
import re
import socket
import sys
import time
import urllib.parse
import urllib.request

SAMPLE = re.compile(r'([a-z_0-9]+)(?:\{(.*)\})? (\S+)$')
LINE = re.compile(r'^METRIC\((\w+), (\w+), "([^"]*)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', re.M)


def say(good, name, why=""):
    print(("ok - " if good else "not ok - ") + name + ("" if good else f": {why}"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        print(s.getsockname()[1])


def rows(folder, name):
    with open(os.path.join(folder, name + ".csv"), encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ask(url, query):
    with urllib.request.urlopen(f"{url}/api/v1/query?query={urllib.parse.quote(query)}", timeout=20) as answer:
        result = json.load(answer)["data"]["result"]
    return float(result[0]["value"][1]) if len(result) == 1 else None


def expected_counts(folder):
    """(expression, what the report says)"""
    for row in rows(folder, "summary"):
        if row["device"] == "all":
            continue
        of = f'{{device="{row["device"]}"}}'
        yield f"faultline_faults_began_total{of}", int(row["faults"])
        yield f"sum(faultline_faults_total{of})", int(row["faults"])
        yield f"faultline_bursts_total{of}", int(row["bursts"])
        yield f"faultline_page_request_overflows_total{of}", int(row["overflowed"])
        yield f"faultline_faults_discarded_total{of}", int(row["discarded"])
        yield f"faultline_faults_abandoned_total{of}", int(row["abandoned"])
        yield f"faultline_fault_latency_seconds_count{of}", int(row["complete"])
        yield f"faultline_fault_peak_per_second{of}", int(row["peak_per_s"])
    for row in rows(folder, "io_devices"):
        if "/" in row["device"]:
            of = f'{{device="{row["device"]}"}}'
            yield f"faultline_ios_total{of}", int(row["ios"])
            yield f"faultline_io_bytes_total{of}", int(row["transferred_bytes"])
            yield f"faultline_ios_faulted_total{of}", int(row["faulted"])
    for row in rows(folder, "invalidations"):
        if row["device"] != "all":
            yield f'faultline_invalidations_total{{device="{row["device"]}"}}', int(row["began"])
    for row in stages(folder):
        of = labels_of(row)
        yield f"{family_of(row)}_count{of}", int(row["count"])


def expected_sums(folder):
    for row in rows(folder, "summary"):
        if row["device"] != "all" and row["blocked_ns"]:
            yield f'faultline_blocked_seconds_total{{device="{row["device"]}"}}', int(row["blocked_ns"]) / 1e9
    for row in stages(folder):
        yield f"{family_of(row)}_sum{labels_of(row)}", int(row["sum_ns"]) / 1e9


def stages(folder):
    return [row for row in rows(folder, "stages") if row["device"] != "all" and row["kind"] == "all" and not row["queue"]]


def family_of(row):
    return "faultline_fault_" + ("latency" if row["stage"] == "total" else "stage") + "_seconds"


def labels_of(row, more=""):
    stage = "" if row["stage"] == "total" else f',stage="{row["stage"]}"'
    return f'{{device="{row["device"]}"{stage}{more}}}'


def bounds(url, row):
    query = f"{family_of(row)}_bucket{labels_of(row)}"
    with urllib.request.urlopen(f"{url}/api/v1/query?query={urllib.parse.quote(query)}", timeout=20) as answer:
        return sorted(float(r["metric"]["le"].replace("+Inf", "inf")) for r in json.load(answer)["data"]["result"])


def compare_quantiles(url, folder):
    wrong, asked = [], 0
    for row in stages(folder):
        les = bounds(url, row)
        for percent, column in ((50, "p50_ns"), (90, "p90_ns"), (99, "p99_ns")):
            told = ask(url, f"histogram_quantile({percent / 100}, {family_of(row)}_bucket{labels_of(row)})")
            ours = int(row[column]) / 1e9
            upper = next(i for i, le in enumerate(les) if ours <= le)
            lower = les[upper - 1] if upper else 0.0
            asked += 1
            # Both sides of the bucket that has the sample; above the last bound a server answers that bound.
            top = les[-2] if les[upper] == float("inf") else les[upper]
            if told is None or not lower * (1 - 1e-9) <= told <= top * (1 + 1e-9):
                wrong.append(f"{row['stage']} p{percent}: {told}, report {ours} in ({lower}, {les[upper]}]")
        if len(les) > 20:
            wrong.append(f"{row['stage']}: {len(les)} buckets")
    return wrong, asked


def compare(what, folder, expected, url):
    name, url = url.split("=")
    wrong, asked = [], 0
    for query, value in expected(folder):
        told = ask(url, query)
        asked += 1
        # A double has 53 bits, and a text nine decimals.
        if told is None or abs(told - value) > (1e-9 * value if isinstance(value, float) else 0):
            wrong.append(f"{query}: {told}, report {value}")
    say(asked > 10 and not wrong, f"{name}: {asked} {what} are those of the report", "; ".join(wrong[:5]))
    return name, url


def counts(folder, *urls):
    for url in urls:
        compare("counts", folder, expected_counts, url)


def times(folder, *urls):
    for url in urls:
        name, url = compare("sums of time", folder, expected_sums, url)
        wrong, asked = compare_quantiles(url, folder)
        say(asked > 20 and not wrong, f"{name}: {asked} quantiles are in the report's buckets", "; ".join(wrong[:5]))


def counters(path):
    """Samples of counters and histograms."""
    kinds, samples = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if line.startswith("# TYPE"):
                kinds[words[2]] = words[3]
            elif not line.startswith("#"):
                found = SAMPLE.match(line.rstrip("\n"))
                name = re.sub(r"_(bucket|sum|count)$", "", found[1])
                if kinds.get(found[1]) == "counter" or kinds.get(name) == "histogram":
                    samples[found[1] + "{" + (found[2] or "") + "}"] = float(found[3])
    return samples


def falls(before, after):
    old, new = counters(before), counters(after)
    # Of the process, as its name says.
    fallen = [f"{k}: {v} to {new.get(k)}" for k, v in old.items() if "process_" not in k and not new.get(k, -1) >= v]
    say(old and not fallen, f"no counter fell ({len(old)})", "; ".join(fallen[:5]))


def families(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [(n, k.lower(), labels, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', h))) for n, k, labels, h in LINE.findall(text)]


def complete(path):
    root = os.path.join(os.path.dirname(__file__), "../..")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    missing = [n for n, *_ in families(os.path.join(root, "tools/serve/metrics.def")) if f"# TYPE faultline_{n} " not in text]
    if missing or not text.endswith("\n"):
        sys.exit(f"{path}: lacks {missing} of {len(text)} bytes")


def metrics(definition, document):
    with open(document, encoding="utf-8") as file:
        told = dict(re.findall(r"^\| `faultline_(\w+)` \| (.*) \|$", file.read(), re.M))
    wanted = {n: f"{kind} | {labels.replace(' ', ', ') or '-'} | {help_}" for n, kind, labels, help_ in families(definition)}
    wrong = [n for n in set(told) | set(wanted) if told.get(n) != wanted.get(n)]
    say(wanted and not wrong, f"docs/metrics.md tells of all {len(wanted)} metrics", ", ".join(sorted(wrong)))


def sums(every, few):
    def summed(path):
        total = {}
        for key, value in counters(path).items():
            key = re.sub(r'(device|container)="(?:[^"\\]|\\.)*"', r"\1", key)
            if "process_" not in key and "scrapes" not in key:
                total[key] = total.get(key, 0) + value
        return total
    a, b = summed(every), summed(few)
    wrong = [f"{k}: {a.get(k)} and {b.get(k)}" for k in set(a) | set(b) if abs(a.get(k, 0) - b.get(k, 0)) > 1e-6]
    say(a and not wrong, "the rest is summed up as other", "; ".join(wrong[:5]))


def slow(port, count, until):
    """A third sends nothing, a third a header byte by byte, a third never reads what it asked for."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for i, client in enumerate(clients):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        if i % 3 == 2:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
    print("slow", flush=True)
    while not os.path.exists(until):
        for i, client in enumerate(clients):
            if i % 3 == 1:
                try:
                    client.send(b"G" if random.random() < .5 else b"\n")
                except OSError:
                    pass
        time.sleep(0.1)


def garbage(port):
    rng = random.Random(97)
    requests = [bytes(rng.randrange(256) for _ in range(n)) for n in (1, 13, 997, 40009)]
    requests += [b"GET / HTTP/9.9\r\n\r\n", b"GET /metrics\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET " + b"/" * 99991 + b" HTTP/1.1\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 50021, b"GET /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nx",
                 b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET http://x/../../etc/passwd HTTP/1.1\r\n\r\n",
                 b"DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /\x00metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"\r\n" * 30011]
    leaks = []
    for request in requests:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            answer = b""
            try:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                while more := client.recv(65536):
                    answer += more
            except OSError:
                pass
            if b"root:" in answer or (answer.startswith(b"HTTP/1.1 200") and b"# TYPE" not in answer and b"<!DOCTYPE" not in answer):
                leaks.append(request[:40])
    say(not leaks, f"{len(requests)} requests that are none get nothing", leaks)


def main(what, *arguments):
    if what == "port":
        free_port()
    elif what == "slow":
        slow(int(arguments[0]), int(arguments[1]), arguments[2])
    elif what == "garbage":
        garbage(int(arguments[0]))
    else:
        {"counts": counts, "times": times, "falls": falls, "complete": complete, "metrics": metrics, "sums": sums}[what](*arguments)


main(*sys.argv[1:])
