# SPDX-License-Identifier: GPL-2.0
"""How long a recording takes to begin and to be gone, in guests of three kernels: times of the guest's clock.

BENCH_BEFORE=PATH: another faultline, run in turn with ours. bpftrace counts calls of the same functions.
BENCH_COUNTED=1: the guest's clock counts instructions, so that what else the host does changes nothing.
"""
import collections
import os
import re
import shutil
import statistics
import subprocess

from measure import ROOT, add, note

KERNELS = ("6.1", "6.12", "new")
LAB = f"{ROOT}/tests/lab/lab.py"
SECOND = 1.0


def scenarios(scratch, before):
    """The scenario with what this host has to compare with."""
    directory = f"{scratch}/lab"
    shutil.copytree(f"{ROOT}/bench/lab", directory)
    with open(f"{directory}/start-stop.sh", encoding="utf-8") as file:
        text = file.read()
    header = "# programs: bpftrace\n"
    if os.environ.get("BENCH_COUNTED"):
        header += "# devices: -icount shift=1,sleep=off\n"
    if before:
        header += f"# paths: {os.path.abspath(before)}\n"
        text = text.replace("other= ", f"other={os.path.abspath(before)} ", 1)
    with open(f"{directory}/start-stop.sh", "w", encoding="utf-8") as file:
        file.write(text.replace("# iommu: ", header + "# iommu: ", 1))
    return directory


def rounds_of(text):
    """{variant: [{what: seconds}]}, and how many functions were watched."""
    found, functions = collections.defaultdict(list), 0
    for line in text.splitlines():
        if match := re.match(r" *bench functions (\d+)", line):
            functions = int(match[1])
        if not (match := re.match(r" *bench (\S+) ([\d.]+) (.*)", line)):
            continue
        variant, time, what = match[1], float(match[2]), match[3]
        if what == "begin":
            found[variant].append({"begin": time})
        elif what == "end":
            found[variant][-1]["end"] = time
        elif what.startswith("recording into"):
            found[variant][-1]["begun"] = time
        elif lasted := re.search(r" events in ([\d.]+)(ms|s|m)", what):
            found[variant][-1]["told"] = float(lasted[1]) * {"ms": 0.001, "s": 1, "m": 60}[lasted[2]]
            found[variant][-1]["summed"] = time
    return found, functions


def median(runs, of):
    values = [of(run) for run in runs if "end" in run]
    return statistics.median(values) if values else None


MEASURES = {
    "start": lambda run: run["begun"] - run["begin"],
    "lasted": lambda run: run["told"],
    "summary": lambda run: run["summed"] - run["begun"] - SECOND,
    "stop": lambda run: run["end"] - run["begun"] - SECOND,
    "whole": lambda run: run["end"] - run["begin"],
}


def measure(kernel, directory):
    done = subprocess.run([LAB, "run", "-k", kernel, "-s", "start-stop", "--scenarios", directory, "--once", "-j1"],
                          text=True, stdout=subprocess.PIPE, check=False)
    found, functions = rounds_of(done.stdout)
    if not found["ours"] or not functions:
        raise RuntimeError(f"kernel {kernel}: {done.stdout[-800:]}")
    name = f"start-stop_{kernel}"
    before, alls, ones = found.get("before"), found.get("bpftrace-all"), found.get("bpftrace-one")
    for what, of in MEASURES.items():
        peer = median(before, of) if before else None
        add(f"{name}_{what}", median(found["ours"], of), "s", "before" if peer else "", peer)
    add(f"{name}_functions", functions, "")
    whole = median(found["ours"], MEASURES["whole"])
    one = median(found["ours-one"], MEASURES["whole"])
    theirs = median(alls, MEASURES["whole"]) if alls else None
    their_one = median(ones, MEASURES["whole"]) if ones else None
    add(f"{name}_whole", whole, "s", "bpftrace" if theirs else "", theirs)
    add(f"{name}_one_function", one, "s", "bpftrace" if ones else "", their_one)
    add(f"{name}_added_by_each", (whole - one) / (functions - 1) * 1000, "ms", "bpftrace" if ones else "",
        (theirs - their_one) / (functions - 1) * 1000 if ones else None)


def bench_start_stop(scratch):
    directory = scenarios(scratch, os.environ.get("BENCH_BEFORE"))
    for kernel in KERNELS:
        note(f"start-stop: kernel {kernel}, load {os.getloadavg()[0]:.1f}")
        measure(kernel, directory)
