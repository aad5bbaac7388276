# SPDX-License-Identifier: GPL-2.0
"""Rows a second and bytes a row of our Parquet writer, beside DuckDB's COPY of the same rows in the same form."""
import json
import os
import subprocess

from measure import ROOT, Samples, add, note, run

COUNT = 1000003
ENGINES = f"{ROOT}/tests/engines"


def ours(scratch):
    """CPU time with that of making the rows."""
    output, _ = run([f"{ROOT}/build/bench/parquet_bench", str(COUNT), scratch], scratch)
    lines = {line.split()[0]: list(map(int, line.split()[1:])) for line in output.splitlines()}
    return {"rate": COUNT / lines["parquet"][1] * 1e9, "bytes": lines["parquet"][2] / COUNT,
            "csv_rate": COUNT / lines["csv"][1] * 1e9, "csv_bytes": lines["csv"][2] / COUNT}


def duckdb(scratch, folder):
    """One thread, from rows in its memory: what COPY adds to loading them."""
    load = ["SET threads = 1", f"CREATE TABLE rows AS SELECT * FROM '{scratch}/rows.parquet'"]
    copy = f"COPY rows TO '{scratch}/theirs.parquet' (FORMAT parquet, COMPRESSION zstd)"
    used = []
    for queries in (load, load + [copy]):
        before = os.times()
        done = subprocess.run(["node", f"{ENGINES}/query.js", "duckdb", folder], input=json.dumps(queries),
                              capture_output=True, text=True, check=True)
        after = os.times()
        if "error" in done.stdout:
            raise RuntimeError(done.stdout[-300:])
        used.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return {"rate": COUNT / (used[1] - used[0]), "bytes": os.path.getsize(f"{scratch}/theirs.parquet") / COUNT}


def bench_parquet(scratch):
    fetched = subprocess.run([f"{ENGINES}/fetch.sh", "path"], capture_output=True, text=True, check=False)
    variants = {"ours": lambda: ours(scratch)}
    ours(scratch)
    if fetched.returncode:
        note(f"parquet: without DuckDB: {fetched.stderr.strip()}")
    else:
        variants["duckdb"] = lambda: duckdb(scratch, fetched.stdout.strip())
    s = Samples(variants)
    peer = ("DuckDB's COPY",) if "duckdb" in variants else ()
    for name, key, unit in (("parquet_rows", "rate", "rows/CPU-s"), ("parquet_row", "bytes", "bytes")):
        add(name, s.median("ours", key), unit, *peer, *([s.median("duckdb", key)] if peer else []))
        add(f"{name}_csv", s.median("ours", f"csv_{key}"), unit)
