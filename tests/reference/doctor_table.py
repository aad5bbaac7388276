#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds doctor's probe table against the kernel's own words; shares no code with Faultline.

    doctor_table.py DIRECTORY EMULATOR

DIRECTORY has, of one moment of one kernel:
    doctor.json   faultline doctor --json --table probes
    probes.csv    of a recording made then (faultline report --table probes), may be missing
    btf/          what was in /sys/kernel/btf
    symbols       /proc/kallsyms without addresses and kinds: NAME or NAME [MODULE]
    traceable     available_filter_functions, may be empty
    directories   existing directories that rows may name, one a line
    iommus        active IOMMUs, one a line: its name in /sys/class/iommu and its features in
                  hexadecimal (ecap or features), if it tells; a line "DMAR" where ACPI has that table

Every row that is on must name something that is there and that its kind of probe can be put on; every
row that is off must give a reason that is true. Prints "ok" or "not ok" lines; exit status 1 if any
row is wrong.
"""
import csv
import json
import os
import re
import subprocess
import sys

REASON_TEXT = 512 - 1  # longer reasons are cut


class Types:
    """Functions and tracepoints of one type information, with their numbers of arguments."""

    def __init__(self, path, base=None):
        command = ["bpftool", "btf", "dump", "file", path] + (["-B", base] if base else [])
        text = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
        self.functions, self.tracepoints = {}, {}
        prototypes, pointers, functions, typedefs = {}, {}, [], []
        for line in text.splitlines():
            if found := re.match(r"\[(\d+)\] FUNC_PROTO .*vlen=(\d+)", line):
                prototypes[int(found[1])] = int(found[2])
            elif found := re.match(r"\[(\d+)\] PTR '\(anon\)' type_id=(\d+)", line):
                pointers[int(found[1])] = int(found[2])
            elif found := re.match(r"\[\d+\] FUNC '([^']+)' type_id=(\d+)", line):
                functions.append((found[1], int(found[2])))
            elif found := re.match(r"\[\d+\] TYPEDEF 'btf_trace_([^']+)' type_id=(\d+)", line):
                typedefs.append((found[1], int(found[2])))
        for name, prototype in functions:
            self.functions.setdefault(name, []).append(prototypes.get(prototype))
        for name, pointer in typedefs:
            arguments = prototypes.get(pointers.get(pointer))
            self.tracepoints[name] = None if arguments is None else arguments - 1


class Iommu:
    """VT-d's ecap and AMD's extended features; an IOMMU that tells nothing may have all."""

    def __init__(self, name, features=None):
        self.vtd, self.amd = name.startswith("dmar"), name.startswith("ivhd")
        bits = int(features.partition(":")[0], 16) if features else -1
        self.requests = self.pasids = True
        if self.vtd:
            self.requests, self.pasids = bool(bits >> 29 & 1), bool(bits >> 40 & 1)
        elif self.amd:
            self.requests, self.pasids = bool(bits >> 1 & 1), bool(bits >> 4 & 1)


class Kernel:
    def __init__(self, directory):
        base = f"{directory}/btf/vmlinux"
        self.modules = set(os.listdir(f"{directory}/btf")) - {"vmlinux"}
        self.types = [Types(base)]
        self.types += [Types(f"{directory}/btf/{name}", base) for name in sorted(self.modules)]
        with open(f"{directory}/symbols", encoding="ascii") as file:
            self.symbols = {line.split()[0] for line in file if line.strip()}
        with open(f"{directory}/traceable", encoding="ascii") as file:
            self.traceable = {line.split()[0] for line in file if line.strip()}
        with open(f"{directory}/directories", encoding="ascii") as file:
            self.directories = set(file.read().split())
        with open(f"{directory}/iommus", encoding="ascii") as file:
            lines = [line.split() for line in file if line.strip()]
        self.dmar = ["DMAR"] in lines
        self.iommus = [Iommu(*line) for line in lines if line != ["DMAR"]]

    def functions(self, name):
        return [count for types in self.types for count in types.functions.get(name, [])]

    def has_tracepoint(self, name):
        return any(name in types.tracepoints for types in self.types)

    def arguments(self, name):
        return set(self.functions(name)) | {types.tracepoints[name] for types in self.types
                                            if name in types.tracepoints}

    def clones(self, function):
        return [s for s in self.symbols
                if s == function or s.startswith(function + ".") and ".cold" not in s]

    def has(self, name):
        """By the kind of probe that is asked for; "function.*" means its clones, too."""
        if name.startswith("tracepoint "):
            return self.has_tracepoint(name.partition(" ")[2])
        if name.endswith(".*"):
            return bool(self.clones(name[:-2]))
        return bool(self.functions(name)) or name in self.symbols


def usdt_probes(emulator):
    text = subprocess.run(["readelf", "--notes", "--wide", emulator], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return set(re.findall(r"Provider: faultline\n\s+Name: (\S+)", text))


def wrong_if_on(kernel, usdt, attach):
    """What is wrong with a row that claims to be attachable, None: nothing."""
    kind, _, name = attach.partition(" ")
    if kind == "usdt":
        return None if name.partition(":")[2] in usdt else "the emulator has no such note"
    if kind == "tp_btf":
        return None if kernel.has_tracepoint(name) else "no type of that tracepoint"
    if kind == "kprobe":
        return None if name in kernel.symbols else "no such symbol"
    if kind == "files":
        return None if name in kernel.directories else "no such directory"
    if kind != "function":
        return f"kind '{kind}' is unknown"
    for one in name.split(" and "):
        if not kernel.functions(one):
            return f"no type of {one}"
        if one not in kernel.symbols:
            return f"types, but no symbol of {one}"
        if kernel.traceable and one not in kernel.traceable:
            return f"{one} is not traceable"
    return None


# What would make each of these reasons untrue. No process is asked for in any recording of these tests.
LACKING = {
    "no IOMMU is active": lambda kernel: kernel.iommus,
    "this host has no VT-d": lambda kernel: kernel.dmar or any(i.vtd for i in kernel.iommus),
    "no VT-d IOMMU is active": lambda kernel: any(i.vtd for i in kernel.iommus),
    "no AMD IOMMU is active": lambda kernel: any(i.amd for i in kernel.iommus),
    "no active IOMMU has PASIDs": lambda kernel: any(i.pasids for i in kernel.iommus),
    "no active IOMMU takes page requests": lambda kernel: any(i.requests for i in kernel.iommus),
    "no active VT-d IOMMU takes page requests": lambda kernel: any(i.vtd and i.requests for i in kernel.iommus),
    "no active AMD IOMMU takes page requests": lambda kernel: any(i.amd and i.requests for i in kernel.iommus),
    "nothing resolves device page faults in this kernel, and no process was asked for":
        lambda kernel: any(i.requests for i in kernel.iommus) or kernel.functions("ib_umem_odp_map_dma_and_lock"),
    "this kernel maps resources like pages: dma_map tells them": lambda kernel: not kernel.functions("dma_iova_try_alloc"),
}


def wrong_reason(kernel, reason):
    """What is wrong with one reason of a row that is off, None: it is true."""
    if reason == "this kernel has no kprobes":
        return "but it has" if kernel.kprobes else None
    if found := re.fullmatch(r"this kernel has no (.+)", reason):
        names = [name for name in found[1].split(" or ") if name != "kprobes"]
        there = [name for name in names if kernel.has(name)]
        return f"but it has {' '.join(there)}" if there else None
    if found := re.fullmatch(r"module (\S+) is not loaded", reason):
        return "but it is" if found[1] in kernel.modules else None
    if found := re.fullmatch(r"(\S+) has (\d+) arguments here, not \d+", reason):
        return None if int(found[2]) in kernel.arguments(found[1]) else "but it has not"
    if found := re.fullmatch(r"(\S+) has (\d+) arguments, too many for this kernel", reason):
        return None if int(found[2]) in kernel.arguments(found[1]) and int(found[2]) > 6 else "no"
    if found := re.fullmatch(r"this kernel has (\d+) functions named (\S+)", reason):
        return None if len(kernel.functions(found[2])) >= int(found[1]) else "but it has not"
    if found := re.fullmatch(r"this kernel has several of (\S+?)(\.\*)?", reason):
        return None if len(kernel.clones(found[1])) > 1 or not found[2] else "but it has not"
    if found := re.fullmatch(r"(\S+) cannot be traced", reason):
        return "but it can" if found[1] in kernel.traceable else None
    if found := re.fullmatch(r"there is no (\S+)", reason):
        return "but there is" if found[1] in kernel.directories else None
    if reason in LACKING:
        return "but there is" if LACKING[reason](kernel) else None
    if re.fullmatch(r"no program is let onto kernel functions here: .+", reason):
        return "but this kernel has kprobes" if kernel.kprobes else None
    return "is not among those that are known to be true"


def wrong_if_off(kernel, reason):
    parts = reason.split("; ")
    if len(reason) >= REASON_TEXT:
        # The last name, or the last reason, was cut.
        cut = parts.pop()
        if " or " in cut:
            parts.append(cut.rpartition(" or ")[0])
    if not reason:
        return "gives no reason"
    for part in parts:
        wrong = wrong_reason(kernel, part)
        if wrong:
            return f"'{part}' {wrong}"
    return None


def main():
    directory, emulator = sys.argv[1:]
    kernel = Kernel(directory)
    kernel.kprobes = "kprobes" in kernel.directories
    usdt = usdt_probes(emulator)
    with open(f"{directory}/doctor.json", encoding="utf-8") as file:
        rows = json.load(file)["tables"]["probes"]
    recorded = {}
    if os.path.exists(f"{directory}/probes.csv"):
        with open(f"{directory}/probes.csv", encoding="utf-8") as file:
            recorded = {row["probe"]: row for row in csv.DictReader(file)}
    bad = on = 0
    for row in rows:
        if row["state"] == "ok":
            on += 1
            wrong = wrong_if_on(kernel, usdt, row["attach"])
        else:
            wrong = wrong_if_off(kernel, row["reason"])
        there = recorded.get(row["probe"], row)
        if not wrong and (there["state"] in ("on", "ok")) != (row["state"] == "ok"):
            wrong = f"but a recording says {there['state']}: {there['reason']}"
        if wrong:
            bad += 1
            print(f"not ok - {row['probe']}: {row['state']}, {row['attach']}: {wrong}")
    if recorded and len(recorded) != len(rows):
        bad += 1
        print(f"not ok - a recording has {len(recorded)} probes, doctor {len(rows)}")
    if not bad:
        print(f"ok - {len(rows)} probes, {on} of them on, as types and symbols say")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
