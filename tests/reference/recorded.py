# SPDX-License-Identifier: GPL-2.0
"""What comparisons of a whole recording with the truth log share: its words, and verdicts that know which probe a fact needs."""
import collections
import os
import re
import sys

EVENT = "time address length value device pasid group instance pid tid kind queue cpu code flags".split()
ROW = "window device pid kind queue code flags count bytes sum max histogram bins".split()
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
passed = failed = 0
missed = set()


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


KINDS = {int(number): name
         for number, name in re.findall(r"^EVENT_KIND\(\w+, (\d+), \"(\w+)\"", text("bpf/event_kinds.def"), re.M)}


def equal(name, got, want, probe=None):
    global passed, failed
    if got == want:
        passed += 1
        print(f"ok - {name}")
        return
    if probe:
        missed.add(probe)
    failed += 1
    print(f"not ok - {name}\n    recorded {short(got, want)}, truth {short(want, got)}")


def short(value, other):
    """Of counters what the other one has not."""
    if isinstance(value, collections.Counter) and isinstance(other, collections.Counter):
        value = dict(value - other)
    shown = str(value)
    return shown if len(shown) < 300 else shown[:300] + "..."


def end(name):
    """Of a comparison in which all has to be equal."""
    print(f"{name}: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


def end_without(probes):
    """Of one of a recording without these probes: what needs them has to be missed, and nothing else."""
    print(" ".join(sorted(missed)))
    sys.exit(missed != probes)
