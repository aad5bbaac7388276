# SPDX-License-Identifier: GPL-2.0
"""Part hyv: what is controlled through the hypervisor beside the same natively, and beside the least that does it: io_uring's own
registration, a bare eventfd, a memcpy between two threads; and what recording it costs."""
from measure import FAULTLINE, INJECT, ROOT, ROUNDS, Samples, add, fresh, job, note, program_lines, run

MODES = ("native", "hybrid")
# Kinds that a recording is asked for, and what is recorded: nearly all that its probes tell is of that kind.
PROBES = {
    "verb": ("verb", "register"),
    "verb_stages": ("verb_stage", "register"),
    "verb_woken": ("verb_woken", "register"),
    "pinned": ("pinned", "register"),
    "registered": ("registered", "register"),
    "work_request": ("work_request", "read_latency"),
}


def bench_turns(scratch):
    """Programs that go round their variants themselves, and tell medians."""
    for name in ("hyv_verbs_bench", "hyv_data_bench", "hyv_events_bench"):
        note(f"{name}: {ROUNDS} rounds of all variants")
        for what, value, unit, peer, peer_value in program_lines(name, scratch, str(ROUNDS)):
            add(what, value, unit, peer, peer_value)


def bench_event_reads(scratch):
    """Reads whose completions are waited for, over a link so slow that who waits is asleep by then."""
    note("hyv: reads with events, native and hybrid")

    def read(mode):
        row = job("hyv", scratch, f"hca.mode={mode}", "hca.link_delay=200us", "hcb.link_delay=200us",
                  "load.events=yes")
        return {"latency": float(row["latency_p50_ns"])}

    samples = Samples({mode: lambda mode=mode: read(mode) for mode in MODES})
    add("hyv_read_4_200us_events", samples.median("hybrid", "latency"), "ns", "native",
        samples.median("native", "latency"))


def bench_probes(scratch):
    """What the BPF program takes for a probe of each kind, and what a recording adds to a verb and to a work request."""
    note("hyv: probes, by kind, and what a recording adds")
    recording = f"{scratch}/hyv.flt"

    def recorded(kinds, test, around=()):
        fresh(recording)
        command = [*around, FAULTLINE, "record", "--as-root", *(f"--kind={kind}" for kind in kinds), "-o", recording,
                   "--", INJECT, "run", f"{ROOT}/bench/hyv.ini", "--csv", f"--set=load.test={test}"]
        return run(command, scratch)[0]

    def probe(kinds, test):
        _, ns, _ = recorded(kinds, test, [f"{ROOT}/build/bench/probe_time"]).split()
        return {"ns": float(ns)}

    variants = {name: lambda of=of: probe(of[:1], of[1]) for name, of in PROBES.items()}
    variants["work_request_counted"] = lambda: probe((), "read_latency")
    samples = Samples(variants, rounds=3)
    for name in variants:
        add(f"hyv_probe_{name}", samples.median(name, "ns"), "ns")


def bench_hyv(scratch):
    bench_turns(scratch)
    bench_event_reads(scratch)
    bench_probes(scratch)
