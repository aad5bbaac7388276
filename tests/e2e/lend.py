#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a truth log says of each borrow that was returned: its steps in order, windows that stay as they are while its driver runs,
DMA maps that are all undone, none over another. Prints borrows, maps; exits with 1 at the first that is wrong."""
import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
ORDER = ("grant config domain bars dma_window msi_window shadow probe unbind remove release reset available").split()


def step_names():
    with open(os.path.join(ROOT, "bpf/cluster_steps.def")) as file:
        return re.findall(r'^CLUSTER_STEP\(\w+, "(\w+)"\)', file.read(), re.M)


def borrows_of(path):
    borrows = {}
    with open(path) as file:
        for line in file:
            record = json.loads(line)
            if record.get("who") == "cluster" and record["borrow"] is not None:
                borrows.setdefault(record["borrow"], []).append(record)
    return borrows


def wrong(number, what):
    print(f"borrow {number}: {what}")
    sys.exit(1)


def check_maps(number, records):
    mapped, maps = {}, 0
    for record in records:
        address, length = record["address"], record["length"]
        pages = range(address // 4096, address // 4096 + length // 4096)
        if record["what"] == "lend_map":
            maps += 1
            if length % 4096 or any(page in mapped for page in pages):
                wrong(number, f"{address:#x} is mapped over another map")
            mapped.update((page, True) for page in pages)
        elif record["what"] == "lend_unmap":
            if not all(mapped.pop(page, False) for page in pages):
                wrong(number, f"{address:#x} is unmapped, but was not mapped")
    if mapped:
        wrong(number, f"{len(mapped)} pages are still mapped")
    return maps


def check_borrow(number, records, names):
    steps = [names[record["number"]] for record in records if record["what"] == "step"]
    if "returned" in sys.argv[2:] and steps != ORDER:
        wrong(number, f"steps {steps}, not {ORDER}")
    first, last = (next(i for i, r in enumerate(records) if r["what"] == "step" and names[r["number"]] == name)
                   for name in ("shadow", "unbind"))
    for record in records[first:last]:
        if record["what"] in ("window_map", "window_unmap"):
            wrong(number, f"{record['what']} while its driver runs")
    return check_maps(number, records)


def main():
    names = step_names()
    checked = maps = 0
    for number, records in sorted(borrows_of(sys.argv[1]).items()):
        if any(r["what"] == "step" and names[r["number"]] == "unbind" for r in records):
            maps += check_borrow(number, records, names)
            checked += 1
    print(checked, maps)


main()
