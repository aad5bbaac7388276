#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Deletes one USDT probe from a copy of a program: delete_probe.py PROGRAM PROBE COPY.

The probe's note (.note.stapsdt) is given to another provider, so no tracer finds it any more; the
code stays as it is, the truth log included.
"""
import os
import sys

program, probe, copy = sys.argv[1:]
with open(program, "rb") as file:
    image = file.read()
note = b"faultline\0" + probe.encode() + b"\0"
if note not in image:
    sys.exit(f"delete_probe: {program} has no probe {probe}")
with open(copy, "wb") as file:
    file.write(image.replace(note, b"removed__\0" + probe.encode() + b"\0"))
os.chmod(copy, 0o755)
