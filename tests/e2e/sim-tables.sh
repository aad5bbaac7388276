#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# time limit: 120 s
# The simulator's tables say the same thing: what sets, tenants and stretches of time count adds up to
# what their point counts.
. "$(dirname "$0")/lib.sh"

cat >job.ini <<'INI'
[trace]
packets = 20011
[iotlb]
entries = 64
[sweep]
design = preset.design: base, hypertrio
tenants = trace.tenants: 1, 5, 300
order = trace.order: rr, zipf
INI
check "a sweep writes its tables" "$FAULTLINE" sim job.ini --csv out
check "they add up" python3 "$root/tests/reference/sim_tables.py" out
finish
