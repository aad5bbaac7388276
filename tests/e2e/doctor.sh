#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# doctor's probe table of this host, held against the kernel's types and symbols and against what a
# recording attaches.
. "$(dirname "$0")/lib.sh"

reference=$root/tests/reference
mkdir btf
cp /sys/kernel/btf/* btf 2>/dev/null || { not_ok "doctor's table" "no type information in /sys/kernel/btf"; finish; }
cut -d' ' -f3- /proc/kallsyms >symbols
cat /sys/kernel/tracing/available_filter_functions >traceable 2>/dev/null
ls -d /sys/class/infiniband >directories 2>/dev/null
for iommu in /sys/class/iommu/*; do
	[ -e "$iommu" ] && echo "$(basename "$iommu") $(cat "$iommu/intel-iommu/ecap" "$iommu/amd-iommu/features" 2>/dev/null)"
done >iommus
[ -e /sys/firmware/acpi/tables/DMAR ] && echo DMAR >>iommus
[ -e /sys/bus/event_source/devices/kprobe ] && echo kprobes >>directories
check "doctor ends well" bash -c "$FAULTLINE doctor --emulator '$INJECT' --json --table probes >doctor.json"
check "a recording ends well" "$FAULTLINE" record -q -o probes.flt --emulator "$INJECT" --duration 1s
"$FAULTLINE" report --csv=- --table probes probes.flt >probes.csv 2>/dev/null
check "every row of the table is true" python3 "$reference/doctor_table.py" . "$INJECT"
check "what is missing comes with a remedy" bash -c \
	"$FAULTLINE doctor --csv=- --table host | awk -F, '\$2 == \"missing\" && \$NF == \"\" { exit 1 }'"
check "-v changes nothing on stdout" bash -c \
	"$FAULTLINE doctor -v --emulator '$INJECT' --json --table probes 2>/dev/null | cmp - doctor.json"

# The check itself must be able to fail: a table that lies either way is found.
mkdir lie
cp -r btf symbols traceable directories iommus lie
lies() { # NAME SED-PROGRAM
	sed "$2" doctor.json >lie/doctor.json
	check "a table that lies is found: $1" \
		bash -c "! cmp -s lie/doctor.json doctor.json && ! python3 '$reference/doctor_table.py' lie '$INJECT'"
}
lies "what is off is said to be on" 's/"state":"off"/"state":"ok"/'
lies "what is there is said to be missing" \
	's/"state":"ok","attach":"tp_btf sched_switch","reason":""/"state":"off","attach":"tp_btf sched_switch","reason":"this kernel has no tracepoint sched_switch"/'
echo smmu3 >>lie/iommus
lies "an IOMMU is said not to be there" 's/"state":"ok","attach":"tp_btf sched_switch","reason":""/"state":"off","attach":"tp_btf sched_switch","reason":"no IOMMU is active"/'
finish
