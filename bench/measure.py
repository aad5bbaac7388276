# SPDX-License-Identifier: GPL-2.0
"""What every part of bench/bench.py needs: commands that are timed, interleaved rounds, and the rows."""
import csv
import os
import resource
import statistics
import subprocess
import sys

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAULTLINE = f"{ROOT}/faultline"
INJECT = f"{ROOT}/faultline-inject"
rows = []


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def add(name, value, unit, peer="", peer_value=None):
    rows.append((name, value, unit, peer, peer_value, value / peer_value if peer_value else None))


def run(command, scratch):
    """Runs to completion; returns (stdout, CPU seconds of it and its children)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=scratch, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")
    return done.stdout, (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def program_lines(name, scratch, *arguments):
    """The C benchmarks print lines `NAME VALUE UNIT [PEER PEER_VALUE]`."""
    for line in run([f"{ROOT}/build/bench/{name}", *arguments], scratch)[0].splitlines():
        what, value, unit, *peer = line.split()
        yield what, float(value), unit, peer[0] if peer else "", float(peer[1]) if peer else None


def job(name, scratch, *settings):
    """The one row of a job's results."""
    command = [INJECT, "run", f"{ROOT}/bench/{name}.ini", "--csv"]
    command += [f"--set={setting}" for setting in settings]
    return next(csv.DictReader(run(command, scratch)[0].splitlines()))


class Samples:
    """What the rounds measured: samples[variant][number] is a list, one entry a round."""

    def __init__(self, variants, rounds=ROUNDS):
        self.of = {name: {} for name in variants}
        names = list(variants)
        for number in range(rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                for key, value in variants[name]().items():
                    self.of[name].setdefault(key, []).append(value)

    def median(self, variant, key):
        return statistics.median(self.of[variant][key])

    def total(self, variant, key):
        return sum(self.of[variant][key])

    def added(self, variant, base, key):
        return statistics.median(a - b for a, b in
                                 zip(self.of[variant][key], self.of[base][key]))


def fresh(path):
    if os.path.exists(path):
        os.unlink(path)
    return path
