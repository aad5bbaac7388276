# SPDX-License-Identifier: GPL-2.0
"""Prometheus, Alertmanager and VictoriaMetrics for tests: on a free port of 127.0.0.1, ended with whoever started them."""
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

PR_SET_PDEATHSIG = 1
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(url, data=None):
    with OPENER.open(urllib.request.Request(url, data=data), timeout=60) as answer:
        return answer.read()


class Asked:
    """What answers queries at a URL."""

    def __init__(self, url):
        self.url = url

    def query(self, expression, at=None):
        """Series of an instant query."""
        words = {"query": expression, **({"time": at} if at else {})}
        return self.ask("/api/v1/query", words)["result"]

    def ask(self, path, words):
        try:
            answer = json.loads(fetch(f"{self.url}{path}?{urllib.parse.urlencode(words)}"))
        except urllib.error.HTTPError as refusal:
            raise RuntimeError(f"{words}: {refusal.read().decode(errors='replace')[:300]}") from refusal
        assert answer["status"] == "success", answer
        return answer["data"]

    def wait_for(self, expression, seconds=120):
        """Until a query has series."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if self.query(expression):
                return True
            time.sleep(0.2)
        return False


class Server(Asked):
    """A program with an HTTP port; words(port) is its command line."""

    def __init__(self, name, words, ready):
        super().__init__(None)
        for _ in range(5):
            self.port = free_port()
            self.url = f"http://127.0.0.1:{self.port}"
            with open(f"{name}.log", "ab") as log:
                self.process = subprocess.Popen(words(self.port), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                preexec_fn=die_with_parent)
            if self.await_ready(ready):
                return
            self.end()
        with open(f"{name}.log", encoding="utf-8", errors="replace") as log:
            raise RuntimeError(f"{name} does not start: {log.read()[-1000:]}")

    def await_ready(self, path):
        """Until it answers; a process that is gone had its port taken, or is broken."""
        while self.process.poll() is None:
            try:
                fetch(self.url + path)
                return True
            except OSError:
                time.sleep(0.1)
        return False

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def prometheus(folder, config):
    """config: text of prometheus.yml."""
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as file:
        file.write(config)
    return Server("prometheus", lambda port: [
        "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", "--log.level=warn",
        "--storage.tsdb.retention.time=20d", f"--web.listen-address=127.0.0.1:{port}"], "/-/ready")


def victoria(folder, *words):
    return Server("victoria", lambda port: [
        "victoria-metrics", f"-storageDataPath={folder}", f"-httpListenAddr=127.0.0.1:{port}", "-search.latencyOffset=0s",
        "-memory.allowedBytes=256MB", "-loggerLevel=ERROR", *words], "/health")


def alertmanager(folder, config):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/alertmanager.yml", "w", encoding="utf-8") as file:
        file.write(config)
    return Server("alertmanager", lambda port: [
        "prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/data", "--log.level=warn",
        "--cluster.listen-address=", f"--web.listen-address=127.0.0.1:{port}"], "/-/ready")


def faultline(program, *words):
    """`faultline serve` of this host, that keeps nothing behind its end."""
    return Server("serve", lambda port: [program, "serve", "-l", f"127.0.0.1:{port}", "--no-page", "--no-state", *words], "/metrics")


JOB = """
[machine]
request_queue_entries = 8
[tenant vm]
memory = 8M
[device disk]
count = 2
group_pages = 5
file_bytes = 8M
[workload mix]
sizes = 16K:3, 64K:2
depth = 2
rate = 401/s
duration = {seconds}s
[inject cold]
action = evict
pages = 61
rate = 7/s
duration = {seconds}s
[slo gold]
device = *disk*
latency_target = 2ms
"""


def job(seconds):
    """A file for `inject run`, and for `serve -c`: two disks that fault, a queue that overflows, an objective that breaks."""
    with open("run.ini", "w", encoding="utf-8") as file:
        file.write(JOB.format(seconds=seconds))
    return "run.ini"


@contextlib.contextmanager
def machines(injector, path):
    """Meanwhile machines run a job."""
    with open("inject.log", "wb") as log, subprocess.Popen([injector, "run", path], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                           preexec_fn=die_with_parent) as inject:
        try:
            yield
        finally:
            inject.terminate()


def backfill(gathered, folder):
    """Samples of metrics.history() into a folder of Prometheus."""
    with open("history.om", "w", encoding="utf-8") as file:
        for name, (kind, rows) in gathered.items():
            file.write(f"# TYPE {name.removesuffix('_total')} {kind}\n")
            rows.sort(key=lambda row: (sorted((k, v) for k, v in row[1].items() if k != "le"), row[3]))
            file.writelines(line(row, str(row[3])) for row in rows)
        file.write("# EOF\n")
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "history.om", f"{folder}/data"], check=True,
                   stdout=subprocess.DEVNULL)


def feed(server, gathered):
    """The same into VictoriaMetrics."""
    for _, rows in gathered.values():
        fetch(f"{server.url}/api/v1/import/prometheus", "".join(line(row, str(row[3] * 1000)) for row in rows).encode())
    fetch(f"{server.url}/internal/force_flush")


def line(row, at):
    name, labels, value, _ = row
    inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {'+Inf' if value == float('inf') else repr(value)} {at}\n"
