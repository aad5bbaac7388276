# SPDX-License-Identifier: GPL-2.0
"""How many transactions lib/fabric prices in a second on a core, beside the hot loop of `faultline sim`."""
from measure import ROOT, ROUNDS, Samples, add, run
from sim_bench import TENANTS, timed


def bench_fabric(scratch):
    def ours():
        output, _ = run([f"{ROOT}/build/bench/fabric_bench", f"{ROOT}/tools/jobs/fabric-piv-table-1.ini"], scratch)
        return {name: float(rate) / 1e6 for name, rate in (line.split() for line in output.splitlines())}

    def sim():
        return {"rate": timed(scratch, "base", f"trace.tenants={TENANTS}")["rate"]}

    samples = Samples({"ours": ours, "sim": sim}, rounds=min(ROUNDS, 3))
    for name in ("fabric_price", "fabric_route_and_price"):
        add(name, samples.median("ours", name), "M/s a core", "sim, M/s", samples.median("sim", "rate"))
