#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Counts a recording's events: count_events.py FILE KIND [PID]. KIND is a number of bpf/event_kinds.def."""
import sys

import flt_read

PID, KIND = 8, 10  # fields of struct event

path, kind = sys.argv[1], int(sys.argv[2])
pid = int(sys.argv[3]) if len(sys.argv) > 3 else None
print(sum(1 for name, fields in flt_read.read(path)
          if name == "event" and fields[KIND] == kind and pid in (None, fields[PID])))
