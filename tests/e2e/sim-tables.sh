#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
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
check "a sweep writes its tables" "$FAULTLINE" sim job.ini --csv=out
check "they add up" python3 "$root/tests/reference/sim_tables.py" out

# Slowdown: 1 for who is alone anyway, more where tenants push each other out, and partitions of their own
# bring it back.
cat >alone.ini <<'INI'
[more]
alone = yes
faults_per_million = 1000
[trace]
packets = 40009
[sweep]
partitions = devtlb.partitions: 1, 8
tenants = trace.tenants: 1, 8
[expect]
nobody_in_the_way = slowdown_max(tenants=1) == 1 and slowdown_mean(tenants=1) == 1
thrashing = slowdown_mean(partitions=1, tenants=8) > 5 and slowdown_max(partitions=1, tenants=8) > slowdown_mean(partitions=1, tenants=8)
a_set_each = slowdown_max(partitions=8, tenants=8) < 1.1
INI
check "each tenant's slowdown is found" "$FAULTLINE" sim alone.ini --csv=alone
check "with the oracle, too" "$FAULTLINE" sim alone.ini --set devtlb.policy=belady \
	--set trace.packets=5003 --csv=oracle
check "and on several devices" "$FAULTLINE" sim --set more.devices=3 --set more.alone=yes --tenants 4 \
	--set trace.packets=5003 --csv=devices
check "slowdowns are those of the tenants" python3 "$root/tests/reference/sim_tables.py" alone
"$FAULTLINE" sim --tenants 1 --set more.alone=yes --set more.devices=1 --set trace.packets=5003 \
	--set devtlb.policy=belady --table results --csv=- | awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "slowdown_max") at = i }
	NR == 2 { exit $at != 1 }'
equal "one tenant is not slowed down under the oracle" $? 0

# What the trace needs is said by both verbs, in the same words.
needs() {
	"$FAULTLINE" "$@" --set trace.workload=websearch --set trace.packets=20011 --tenants 7 \
		--table tenants --csv=- | awk -F , -v OFS=, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	{ print $at["tenant"], $at["run_accesses"], $at["reuse_pages"], $at["active_99_entries"], $at["active_all_entries"] }'
}
equal "sim knows runs, reuse distances and active sets" "$(needs sim --set trace.analyze=yes)" \
	"$(needs accesses)"
equal "and only if it was asked" "$(needs sim | sed -n 2p)" "0,,,,"
{
	"$FAULTLINE" accesses --tenants 2
	"$FAULTLINE" sim --tenants 2
	"$FAULTLINE" sim --tenants 2 --table tenants
} >text
equal "lines of more than 80 columns" "$(awk 'length > 80' text)" ""
finish
