# SPDX-License-Identifier: GPL-2.0
"""Simulated faults of a recording's accesses, judged by faultline protect, beside the same question to DuckDB in SQL: lag()
over accesses by page. Both read the same accesses: ours a recording, DuckDB a Parquet file of them, on one thread."""
import csv
import io
import json
import os
import subprocess

from measure import FAULTLINE, ROOT, Samples, add, note, run

ENGINES = f"{ROOT}/tests/engines"
IDLE_NS = 300 * 10**9
JOB = """[population storage]
device = block
count = 4
memory = 64G
[fleet]
hours = 3
resolution = 2s
machines_per_host = 16
[protector]
policy = none
[rule]
kind = interval
"""


def query(folder, queries):
    before = os.times()
    done = subprocess.run(["node", f"{ENGINES}/query.js", "duckdb", folder], input=json.dumps(queries), capture_output=True,
                          text=True, check=True)
    after = os.times()
    if "error" in done.stdout:
        raise RuntimeError(done.stdout[-300:])
    return done.stdout, after.children_user + after.children_system - before.children_user - before.children_system


def bench_faults(scratch):
    fetched = subprocess.run([f"{ENGINES}/fetch.sh", "path"], capture_output=True, text=True, check=False)
    with open(f"{scratch}/hosts.ini", "w", encoding="ascii") as file:
        file.write(JOB)
    run([FAULTLINE, "fleet", "./hosts.ini", "--write", "hosts", "--table=results", "--csv=-"], scratch)
    recording = f"{scratch}/hosts/host-1.flt"
    ask = [FAULTLINE, "protect", recording, "--policy=none", "-j1"]
    output, _ = run([*ask, "--raw-time", "--table=protect_accesses", f"--csv={scratch}/accesses.csv"], scratch)

    def ours():
        text, cpu = run([*ask, "--table=protect", "--csv=-"], scratch)
        total = [row for row in csv.DictReader(io.StringIO(text)) if row["domain"] == "total"][0]
        return {"cpu": cpu, "faults": int(total["faults"]), "accesses": int(total["accesses"])}

    variants = {"ours": ours}
    if fetched.returncode:
        note(f"faults: without DuckDB: {fetched.stderr.strip()}")
    else:
        folder = fetched.stdout.strip()
        query(folder, [f"COPY (SELECT domain, page, time_ns FROM '{scratch}/accesses.csv') TO '{scratch}/accesses.parquet' (FORMAT parquet)"])

        def duckdb():
            load = ["SET threads = 1", f"SELECT count(*) FROM '{scratch}/accesses.parquet'"]
            lag = (f"SELECT count(*) AS faults FROM (SELECT time_ns - lag(time_ns) OVER (PARTITION BY domain, page ORDER BY time_ns) AS gap "
                   f"FROM '{scratch}/accesses.parquet') WHERE gap > {IDLE_NS}")
            _, idle = query(folder, load)
            text, used = query(folder, load + [lag])
            return {"cpu": used - idle, "text": text}
        variants["duckdb"] = duckdb
    samples = Samples(variants, rounds=3)
    found = ours()
    if "duckdb" in variants and str(found["faults"]) not in variants["duckdb"]()["text"]:
        raise RuntimeError(f"DuckDB does not find {found['faults']} faults")
    peer = ("DuckDB's lag()", samples.median("duckdb", "cpu")) if "duckdb" in variants else ()
    add("simulated_faults", samples.median("ours", "cpu"), "s of CPU", *peer)
