# SPDX-License-Identifier: GPL-2.0
# Unrecoverable VT-d faults past the kernel's rate limit: what it prints is decoded, what it does
# not is counted; with the IOMMU's registers every one is decoded. Against the driver's own count
# of the DMAs that faulted, and the kernel's log.
#
# sample: new
# iommu: intel
# devices: -device edu
# modules: vfio-pci vfio_iommu_type1
# disabled: vtd_fault

dmas=23
edu=$(cd /sys/bus/pci/devices && grep -l 0x11e8 */device | head -n 1 | cut -d/ -f1)

# The kernel's budget is ten questions "may I print?" in five seconds; a fault asks three times.
setup() {
	load vfio_iommu_type1
	load vfio-pci
	remember edu
	sleep 6
}

faults() {
	dmesg -c >/dev/null
	rm -f truth.csv
	faultline-inject vfio fault -d "$edu" --yes-i-mean-it "$edu" --count $dmas --csv=truth.csv 2>inject.err ||
		not_ok "the driver" "exit $?: $(tail -n 2 inject.err)"
	dmesg >log
	keep truth.csv log
}

workload() { faults; }

# Of the driver's only row.
truth() { cell_of "$1" truth.csv; }

seen() { rows iommu_faults source | grep -c "$1"; }
unseen() { column iommu_fault_totals count what unseen; }

check() {
	local printed unseen
	unseen=$(unseen)
	equal "events lost" "$(column loss count what lost)" 0
	printed=$(grep -c 'fault reason 0x' log)
	equal "DMAs that faulted, as the driver counts them" "$(truth faulting)" $dmas
	equal "interrupts of faults" "$(hits vtd_fault)" $dmas
	equal "decoded from the kernel's lines" "$(seen console)" "$printed"
	equal "what is unseen is a floor" "$(column iommu_fault_totals count what "unseen is a floor")" 1
	equal "seen and unseen" "$(($(seen console) + ${unseen:-0}))" $dmas
	equal "who faulted" "$(rows iommu_faults device | sort -u)" "$edu"
	equal "why" "$(rows iommu_faults reason_code | sort -u)" 5
	check_that "where" sh -c "cut -f1 addresses | while read a; do grep -qi \"\$a\" log || exit 1; done" \
		< <(rows iommu_faults address >addresses)
}

look() {
	local other=registers
	[ -z "$without" ] || return
	sleep 6
	record_start --iommu-registers
	faults
	record_stop
}

check_registers() {
	local suppressed
	suppressed=$(sed -n 's/.*dmar_fault: \([0-9]*\) callbacks suppressed.*/\1/p' log | head -n 1)
	equal "faults before, by what the kernel says it suppressed" "$(((${suppressed:-0} + 10) / 3))" $dmas
	equal "registers: events lost" "$(column loss count what lost)" 0
	equal "registers: every fault is decoded" "$(seen registers)" $dmas
	equal "registers: none is unseen" "$(unseen)" 0
	equal "registers: who" "$(rows iommu_faults device | sort -u)" "$edu"
	equal "registers: why" "$(rows iommu_faults reason_code | sort -u)" 5
}

check_without() {
	equal "without vtd_fault: lines are decoded" "$(seen console)" "$(grep -c 'fault reason 0x' log)"
	equal "without vtd_fault: the others are not known" "$(unseen | sed 's|^$|unknown|')" unknown
}

teardown() {
	unload vfio-pci vfio_iommu_type1
}

host() {
	in_directory registers check_registers
	top_is_report iommu iommu_fault_devices
}
