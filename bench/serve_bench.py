# SPDX-License-Identifier: GPL-2.0
"""/metrics of 200 devices that fault, scraped once a second, beside node_exporter of this host."""
import os
import shutil
import signal
import statistics
import subprocess
import time
import urllib.request

SECONDS = 20
DEVICES = 200


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scrape_each_second(pid, url):
    """Seconds a scrape (median), bytes, share of a core."""
    for _ in range(50):
        try:
            urllib.request.urlopen(url, timeout=5).read()
            break
        except OSError:
            time.sleep(0.1)
    times, size = [], 0
    begin, cpu = time.monotonic(), cpu_seconds(pid)
    for i in range(SECONDS):
        start = time.monotonic()
        with urllib.request.urlopen(url, timeout=5) as answer:
            size = len(answer.read())
        times.append(time.monotonic() - start)
        time.sleep(max(0, begin + i + 1 - time.monotonic()))
    return statistics.median(times), size, (cpu_seconds(pid) - cpu) / (time.monotonic() - begin)


def serving(command, url):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return scrape_each_second(process.pid, url)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def bench_serve(root, add):
    port, peer_port = "19753", "19100"
    ours = serving([f"{root}/build/bench/serve_bench", str(DEVICES), f"127.0.0.1:{port}"], f"http://127.0.0.1:{port}/metrics")
    node = shutil.which("prometheus-node-exporter") or "prometheus-node-exporter"
    peer = serving([node, f"--web.listen-address=127.0.0.1:{peer_port}"], f"http://127.0.0.1:{peer_port}/metrics")
    for name, unit, scale, i in (("scrape", "ms", 1e3, 0), ("size", "bytes", 1, 1), ("of a core", "percent", 100, 2)):
        add(f"serve: {DEVICES} devices, {name}", ours[i] * scale, unit, "node_exporter", peer[i] * scale)
