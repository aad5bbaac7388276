#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a recording still holds after its recorder was killed: killed.py FILE KILLED_NS [WAITED_NS].

Prints "complete" (every whole frame is readable, at most the last second is missing), "no-events",
"late N ms" (more is missing) or the reader's error. The machine under capture never pauses, so its
events reach up to the last flush. WAITED_NS is how long both had no CPU although they could have run.
"""
import sys

import flt_read

path, killed, waited = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
last = first = None
try:
    for name, fields in flt_read.read(path):
        if name == "event":
            last = fields[0]
            first = fields[0] if first is None else first
except (ValueError, OSError) as error:
    print(f"unreadable: {error}")
    sys.exit(0)
if last is None:
    print("no-events")
elif killed - last > 1_000_000_000 + waited:
    print(f"late {(killed - last) // 1_000_000} ms")
else:
    print("complete")
