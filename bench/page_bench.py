# SPDX-License-Identifier: GPL-2.0
"""A page of ten million events: CPU seconds and MiB, beside the report of the same recording as JSON."""
import os

from measure import FAULTLINE, ROOT, Samples, add, note, run

FAULTS = 1250003  # of eight events


def bench_page(scratch):
    note(f"page: of {8 * FAULTS} events, beside report --json")
    run([f"{ROOT}/build/bench/page_bench", str(FAULTS), "page.flt"], scratch)

    def page():
        _, cpu = run([FAULTLINE, "export", "page.flt", "--html", "page.html", "--force"], scratch)
        return {"cpu": cpu, "size": os.path.getsize(f"{scratch}/page.html") / 2**20}

    def report():
        _, cpu = run([FAULTLINE, "report", "page.flt", "--json=page.json", "--force"], scratch)
        return {"cpu": cpu, "size": os.path.getsize(f"{scratch}/page.json") / 2**20}

    s = Samples({"page": page, "report": report})
    add("page_cpu", s.median("page", "cpu"), "s", "report --json", s.median("report", "cpu"))
    add("page_size", s.median("page", "size"), "MiB", "report --json", s.median("report", "size"))
