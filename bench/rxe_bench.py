# SPDX-License-Identifier: GPL-2.0
"""ibv_rc_pingpong at emulated devices, preloaded, beside the kernel's soft-RoCE: in a guest of the lab's, by its clock.

That clock counts instructions of the guest's one CPU, 1 ns each: all that both processes, the kernel and the device's threads do for
an iteration, there and back. BENCH_KERNEL=6.1|6.12: the guest's kernel (6.12).
"""
import collections
import os
import re
import shutil
import statistics
import subprocess

from measure import ROOT, ROUNDS, add, note

LAB = f"{ROOT}/tests/lab/lab.py"


def scenarios(scratch):
    """The scenario with as many rounds as asked for."""
    directory = f"{scratch}/rxe-lab"
    os.makedirs(directory)
    path = shutil.copy(f"{ROOT}/bench/lab/rxe.sh", directory)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"^rounds=\d+", f"rounds={ROUNDS}", text, flags=re.M))
    return directory


def bench_rxe(scratch):
    kernel = os.environ.get("BENCH_KERNEL", "6.12")
    note(f"rxe: kernel {kernel}, {ROUNDS} rounds")
    done = subprocess.run([LAB, "run", "-k", kernel, "-s", "rxe", "--scenarios", scenarios(scratch), "--once", "-j1"],
                          text=True, stdout=subprocess.PIPE, check=False)
    told = collections.defaultdict(list)
    for variant, size, us in re.findall(r"^ *bench (\w+) (\d+) ([\d.]+)$", done.stdout, re.M):
        told[variant, int(size)].append(float(us))
    if done.returncode or not told:
        raise RuntimeError(done.stdout[-800:])
    for size in sorted({size for _, size in told}):
        add(f"rxe_pingpong_{size}", statistics.median(told["preload", size]), "us/iteration", "rxe",
            statistics.median(told["rxe", size]))
