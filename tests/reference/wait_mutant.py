#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Builds an emulator that waits between the truth log's stamp and the probe of each stage.

    wait_mutant.py COPY        run where `make` is

What is waited at are the ways from one place to the other (docs/truth-log.md): were a stamp moved beside
its probe, no wait would lie between them any more. Objects and options are those of the program that is
there; COPY is linked from changed copies of three sources. Prints the least wait in ns.
"""
import os
import re
import shlex
import subprocess
import sys

WAIT_NS = 2_000_000
MAIN = "injectors/main.c"
WAIT = f"nanosleep(&(struct timespec){{.tv_nsec = {WAIT_NS}}}, NULL);"
# Source -> (what is there once, whether the wait is before it or behind it), stage by stage.
PLACES = {
    "injectors/emu/port_fault.c": (
        ("for (__u32 i = 0; i < group->count; i++) {\n\t\tstruct fault_probe probe;", "before"),  # detect
        ("enter_epoch(group, index, slot.epoch);\n\tprobe.value", "before"),  # request
        ("resumed_ns = log_resume(port, fault);\n", "behind"),  # resume
    ),
    "injectors/emu/service.c": (
        ("if (request_malformed(service, request)) {\n\t\tservice_drop", "before"),  # isr
    ),
    "injectors/emu/handler.c": (
        ("count_off_tenant(service, key.device);\n", "before"),  # handler
        ("probe.flags_code |= (major ?", "before"),  # resolved
        ("probe.value = physical;\n", "before"),  # mapped
        ("enum response_code code, bool lost)\n{\n", "behind"),  # response
    ),
}


def mutate(source, to):
    with open(source) as file:
        text = file.read()
    for place, side in PLACES[source]:
        if text.count(place) != 1:
            sys.exit(f"wait_mutant: {source} has {text.count(place)} times: {place!r}")
        text = text.replace(place, f"{WAIT}\n{place}" if side == "before" else f"{place}{WAIT}\n")
    with open(to, "w") as file:
        file.write(f'#include <time.h>\n#line 1 "{source}"\n{text}')


def main(copy):
    touched = [word for source in (*PLACES, MAIN) for word in ("-W", source)]
    said = subprocess.run(["make", "-n", *touched, "faultline-inject"], check=True, capture_output=True, text=True)
    commands = [shlex.split(line) for line in said.stdout.splitlines()]
    objects = []
    for source in PLACES:
        to = f"{copy}.{os.path.basename(source)}"
        mutate(source, to)
        compiles = [c for c in commands if source in c and "-c" in c]
        assert len(compiles) == 1, said.stdout
        objects.append(re.sub(r"\.c$", ".o", to))
        command = [to if word == source else word for word in compiles[0]]
        command[command.index("-o") + 1] = objects[-1]
        subprocess.run(command, check=True)
    # Before the archives, whose own are not taken then.
    links = [c for c in commands if "-o" in c and c[c.index("-o") + 1].endswith("faultline-inject")]
    assert len(links) == 1, said.stdout
    command = list(links[0])
    command[command.index("-o") + 1] = copy
    at = next(i for i, word in enumerate(command) if word.endswith(".a"))
    subprocess.run(command[:at] + objects + command[at:], check=True)
    print(WAIT_NS)


main(sys.argv[1])
