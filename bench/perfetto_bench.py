# SPDX-License-Identifier: GPL-2.0
"""Events a second into a Perfetto trace and its bytes a fault, beside what `perf data convert` makes of perf.data."""
import json
import os
import re

from measure import FAULTLINE, ROOT, Samples, add, note, run

EVENTS = 1000003
STORM = [f"{ROOT}/build/bench/storm", "anon", "100003", "3"]


def faults_of(scratch):
    output, _ = run([FAULTLINE, "report", "--json", "--table", "summary", "perfetto.flt"], scratch)
    return sum(row["faults"] for row in json.loads(output)["tables"]["summary"])


def perf_samples(scratch):
    run(["perf", "record", "-q", "-m", "8192", "-e", "exceptions:page_fault_user", "-o", "perfetto.data", "--", *STORM], scratch)
    output, _ = run(["perf", "report", "--stats", "-i", "perfetto.data"], scratch)
    return int(re.search(r"SAMPLE events:\s+(\d+)", output)[1])


def bench_perfetto(scratch):
    """Both read all events of a recording and write each, in CPU time. Perfetto's is put together to faults."""
    note(f"perfetto: {EVENTS} events of faults, beside perf data convert")
    run([f"{ROOT}/build/bench/trace_bench", str(EVENTS), "iofault", "perfetto.flt"], scratch)
    faults, samples = faults_of(scratch), perf_samples(scratch)

    def ours():
        _, cpu = run([FAULTLINE, "export", "perfetto.flt", "--perfetto", "run.pftrace", "--force"], scratch)
        size = os.path.getsize(f"{scratch}/run.pftrace")
        run(["gzip", "-kf", "run.pftrace"], scratch)
        return {"rate": EVENTS / cpu, "bytes": size / faults,
                "packed": os.path.getsize(f"{scratch}/run.pftrace.gz") / faults}

    def perf():
        _, cpu = run(["perf", "data", "convert", "--force", "--to-json", "perf.json", "-i", "perfetto.data"], scratch)
        return {"rate": samples / cpu, "bytes": os.path.getsize(f"{scratch}/perf.json") / samples}

    s = Samples({"ours": ours, "perf": perf})
    add("perfetto_export_rate", s.median("ours", "rate"), "events/CPU-s", "perf data convert", s.median("perf", "rate"))
    add("perfetto_fault", s.median("ours", "bytes"), "bytes/fault", "JSON, a sample", s.median("perf", "bytes"))
    add("perfetto_fault_gzip", s.median("ours", "packed"), "bytes/fault")
