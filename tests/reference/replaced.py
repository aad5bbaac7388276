#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Holds a recording against devices that were plugged in one after the other.

    replaced.py DIRECTORY PREFIX ONE TWO TURNS READS

DIRECTORY has, of the lab's scenario `replaced`: for each turn PREFIXone.TURN and PREFIXtwo.TURN, the
recorder's map of devices while that one alone was there (bpftool), PREFIXafter, the map when none was,
and the CSV tables of the recording in PREFIXtables. ONE and TWO are the functions' names.
"""
import collections
import csv
import json
import sys

BY_ADDRESS = 0x100
failed = 0


def check(name, true, detail):
    global failed
    failed += not true
    print(f"ok - {name} ({detail})" if true else f"not ok - {name}: {detail}")


def main():
    directory, prefix, one, two, turns, reads = sys.argv[1:]
    names = {"one": one, "two": two}

    def load(name):
        with open(f"{directory}/{prefix}{name}", encoding="ascii") as file:
            return [(entry["key"], entry["value"]) for entry in json.load(file)]

    def table(name):
        with open(f"{directory}/{prefix}tables/{name}.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    addresses, wrong = collections.defaultdict(set), []
    for turn in range(1, int(turns) + 1):
        for which in names:
            here = [(key["source"], value["name"]) for key, value in load(f"{which}.{turn}")
                    if key["kind"] == BY_ADDRESS and value["bus"] == "pci"]
            wrong += [name for _, name in here if name != names[which]]
            for address, name in here:
                addresses[address].add(name)
    reused = [address for address, seen in addresses.items() if len(seen) == 2]
    check("an address was given to the other one", reused, f"{len(reused)} of {len(addresses)}")
    check("only what is there is known by its address", not wrong, f"{len(wrong)} others")
    left = [value["name"] for _, value in load("after")]
    check("all slots are given back", not left, f"{len(left)} left")
    # Where a name is that of several, each is told by its handle.
    shown = [(*row["device"].partition("#"), row["handle"]) for row in table("devices")]
    devices = collections.Counter(name for name, _, _, _ in shown)
    wrong = [row for row in shown if row[2] != (row[3] if devices[row[0]] > 1 else "")]
    check("those of one name are told apart", not wrong, wrong or len(shown))
    for which, name in names.items():
        check(f"{which} was there {turns} times", devices[name] == int(turns), devices[name])
    disks = sum(1 for row in table("devices") if row["kind"] == "block")
    check("so were their disks", disks == 2 * int(turns), disks)
    maps = [int(row["maps"]) for row in table("dma")]
    check("each time with the same DMA", len(maps) == 2 * int(turns) and len(set(maps)) == 1 and
          maps[0] >= int(reads), " ".join(map(str, maps)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
