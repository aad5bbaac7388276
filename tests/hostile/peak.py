#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""peak.py FILE COMMAND...: runs COMMAND, whose exit status this has; into FILE its peak of resident memory
in MiB and the CPU seconds that it used."""
import resource
import subprocess
import sys

result = subprocess.run(sys.argv[2:], check=False, stdin=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    print(used.ru_maxrss >> 10, int(used.ru_utime + used.ru_stime), file=file)
sys.exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)
