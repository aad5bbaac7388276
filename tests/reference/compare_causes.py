#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what brought each page, as recorded, against memory of which that is known.

    compare_causes.py CSVDIR MADE [--fallback KIND=CAUSE]...

CSVDIR is what `faultline report --csv=CSVDIR` wrote, MADE what tests/lab/programs/cause_target printed: for each
kind of memory what its pagemap and the kernel's counters said, before and after. First these must agree with what
that kind is; then each page must be one fault with that cause, kind and response, and there are no others.
--fallback: that kind's cause as documented while a probe is missing. Runs of programs that the kernel
skipped (`missed`) can each take a cause with them, and no more. Prints "ok - ..." and "not ok - ..." lines.
"""
import argparse
import collections
import csv
import sys

# cause, kind, response; pages of N that are: mapped, swapped before; mapped after, moved; counted major, swapped in,
# as transparent huge pages, as hugetlb pages.
KINDS = {
    "anonymous": ("anonymous minor success", "0 0 N 0 0 0 0 0"),
    "zero": ("anonymous minor success", "0 0 N 0 0 0 0 0"),
    "present": ("present minor success", "N 0 N 0 0 0 0 0"),
    "shared": ("copy-on-write minor success", "N 0 N N 0 0 0 0"),
    "cached": ("file minor success", "0 0 N 0 0 0 0 0"),
    "dropped": ("file major success", "0 0 N 0 N 0 0 0"),
    "shmem": ("file minor success", "0 0 N 0 0 0 0 0"),
    "huge": ("huge minor success", "0 0 N 0 0 0 N 0"),
    "hugetlb": ("hugetlb minor success", "0 0 N 0 0 0 0 N"),
    "swapped": ("swap major success", "0 N N 0 N N 0 0"),
    "userfaultfd": ("userfaultfd minor invalid", "0 0 0 0 0 0 0 0"),
    "beyond-end": ("error minor invalid", "0 0 0 0 0 0 0 0"),
    "read-only": ("none minor invalid", "N 0 N 0 0 0 0 0"),
    "unmapped": ("none minor invalid", "0 0 0 0 0 0 0 0"),
}

failed = 0


def result(name, problems):
    global failed
    failed += bool(problems)
    print(f"{'not ok' if problems else 'ok'} - {name}" + (f": {'; '.join(problems[:6])}" if problems else ""))


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("made")
    parser.add_argument("--fallback", action="append", default=[])
    options = parser.parse_args()
    fallback = dict(text.split("=") for text in options.fallback)
    faults = read(f"{options.directory}/faults.csv")
    missed = sum(int(row["missed"] or 0) for row in read(f"{options.directory}/probes.csv"))
    by_page = collections.defaultdict(list)
    for fault in faults:
        by_page[int(fault["address"], 0)].append(fault)
    claimed, strayed = 0, 0
    with open(options.made) as file:
        made = [line.split() for line in file]
    result(f"{len(made)} kinds of memory were made", [k for k in KINDS if k not in (m[0] for m in made)])
    for name, start, stride, pages, *counted in made:
        pages, (expected, counts) = int(pages), KINDS[name]
        counts = counts.replace("N", str(pages)).split()
        result(f"{name}: {pages} pages, as pagemap and the kernel's counters say",
               [] if counted == counts else [f"{counted}, expected {counts}"])
        cause, kind, response = expected.split()
        cause = fallback.get(name, cause)
        wrong = []
        for address in (int(start, 0) + int(stride) * i for i in range(pages)):
            seen = by_page[address]
            claimed += len(seen)
            actual = [(f["cause"], f["kind"], f["response"]) for f in seen]
            if len(seen) == 1 and actual[0] != (cause, kind, response) and strayed < missed:
                strayed += 1
            elif actual != [(cause, kind, response)]:
                wrong.append(f"{address:#x} {actual}")
        result(f"{name}: {pages} faults, each {cause}, {kind}, answered {response}", wrong)
    result(f"{len(faults)} faults, none of other pages", [] if claimed == len(faults) else [f"{claimed} are of ours"])
    if strayed:
        print(f"# {strayed} told otherwise, as the kernel skipped {missed} runs")
    return 1 if failed else 0


sys.exit(main())
