#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One name, one thing: no function, static or not, is defined in two files, and no struct, union or enum either.

Static functions and types of one name in two files build and link without a word; a search, a backtrace and a profile
then show them as one. Tests and the kernel module are programs of their own.
"""
import collections
import os
import re
import sys

FOLDERS = ("lib", "bpf", "injectors", "tools", "bench")
APART = "injectors/kmod"

# What bpf/kernel.h names are the kernel's types, by BTF, and no file of user space includes it. These are the same thing
# outside of the kernel, by the field's own word, which their modules are called by.
KERNEL = "bpf/kernel.h"
ALLOWED = {
    "device_driver": {KERNEL, "injectors/emu/device_driver.h"},
    "iommu_domain": {KERNEL, "injectors/emu/iommu_private.h"},
    "iommu_fault": {KERNEL, "lib/analyze/iommu_faults.h"},
    "request_queue": {KERNEL, "injectors/emu/request_queue.c"},
    "vfio_device": {KERNEL, "injectors/real/vfio_device.h"},
}

# Neither code nor a definition: comments, directives with the lines that continue them, sections, attributes, texts.
ASIDE = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\bSEC\("[^"]*"\)'
                   r'|__attribute__\(\((?:[^()]|\([^()]*\))*\)\)|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S | re.M)
# From column 0 on, as .clang-format has it. BPF_PROG(name, ...) is none: a program's name is the probe's.
FUNCTION = re.compile(r'^ ?(?:\w[\w \t*]*[\s*])??(?![A-Z_]+\()(\w+)\((?:[^()]|\([^()]*\))*\)\s*\n\{', re.M)
TAG = re.compile(r'\b(?:struct|union|enum)\s+(\w+)\s*\{')


def sources():
    for folder in FOLDERS:
        for directory, _, names in os.walk(folder):
            if not directory.startswith(APART):
                yield from (os.path.join(directory, name) for name in names if name.endswith((".c", ".h")))


def definitions(pattern, text):
    for found in pattern.finditer(text):
        yield found[1], text.count("\n", 0, found.start(1)) + 1


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    places = {"function": collections.defaultdict(dict), "type": collections.defaultdict(dict)}
    for path in sorted(sources()):
        with open(path) as file:
            text = ASIDE.sub(lambda aside: "\n" * aside[0].count("\n"), file.read())
        for kind, pattern in (("function", FUNCTION), ("type", TAG)):
            for name, line in definitions(pattern, text):
                places[kind][name].setdefault(path, line)
    wrong = []
    for kind, names in places.items():
        for name, files in names.items():
            allowed = name == "main" if kind == "function" else ALLOWED.get(name) == set(files)
            if len(files) > 1 and not allowed:
                wrong.append(f"{kind} {name}: " + ", ".join(f"{path}:{line}" for path, line in files.items()))
    wrong += [f"ALLOWED lists {name}, which is one thing" for name in ALLOWED if len(places["type"][name]) < 2]
    print(", ".join(f"{len(names)} {kind}s" for kind, names in places.items()), f"and {len(wrong)} with two meanings")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong or not all(places.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
