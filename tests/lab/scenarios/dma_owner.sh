# SPDX-License-Identifier: GPL-2.0
# Who owns a DMA address: a driver that leaks mappings, and a device that goes on after the unmap,
# against the counters of the module whose device it is.
#
# sample: 6.1
# iommu: none
# own modules: faultline_device
# files: build/tests/lab/programs/dma_driver
# disabled: dma_map

record_options="--old-mapping 1s"

setup() { load faultline_device devices=1; }

workload() {
	dma_driver work >truth || not_ok "the driver works" "exit $?"
	sleep 2
	keep truth
}

# truth NAME
truth() { awk -v name="$1" '$1 == name { print $2 }' truth; }

# dma COLUMN: of the module's device.
dma() { column dma "$1" device "$(truth name)"; }

faults() { column iommu_faults "$1" device "$(truth name)" | sort | uniq -c; }

check() {
	equal "events lost" "$(column loss count what lost)" 0
	equal "no mapping found no room" "$(dma refused)" 0
	equal "no unmap is of an unknown mapping" "$(dma unknown)" 0
	equal "maps and allocations, as counted by the module" \
		"$(($(dma maps) + $(dma allocs)))" "$(truth maps)"
	equal "unmaps and frees, as counted by the module" \
		"$(($(dma unmaps) + $(dma frees)))" "$(truth unmaps)"
	equal "allocations are the coherent ones" "$(dma allocs)" "$(truth coherent)"
	equal "lists" "$(hits dma_map_sg)" "$(truth lists)"
	equal "bytes that live, as counted by the module" "$(dma live_size_bytes)" \
		"$(($(truth bytes) - $(truth unmapped_bytes)))"
	equal "what lives is what was leaked" "$(dma live)" "$(truth leaked)"
	equal "all of it is old" "$(dma old_size_bytes)" "$(truth leaked_bytes)"
	equal "the leak is one group" "$(column old_mappings mappings device "$(truth name)")" "$(truth leaked)"
	equal "the leak's bytes" "$(column old_mappings size_bytes device "$(truth name)")" "$(truth leaked_bytes)"
	equal "the leak's process" "$(column old_mappings process device "$(truth name)")" dma_driver
	equal "the leak's pid" "$(column old_mappings pid device "$(truth name)")" "$(truth pid)"
	check_that "the leak's stack names the driver's function" \
		grep -q 'dma_map+0x[0-9a-f]* \[faultline_device\] < device_ioctl+0x' tables/old_mappings.csv
	equal "faults, as counted by the module" "$(hits io_page_fault)" "$(truth io_page_faults)"
	[ "$(truth translated)" = 1 ] && check_faults
	return 0
}

check_faults() {
	equal "nothing faults while it is mapped" "$(truth faults_while_mapped)" 0
	equal "what is unmapped faults" "$(truth faults_after_unmap)" 17
	equal "each fault has its owner" "$(faults owner | awk '{ print $1, $2 }')" "17 unmapped"
	equal "the owner's name" "$(faults process | awk '{ print $1, $2 }')" "17 dma_driver"
	equal "who unmapped it" "$(faults unmapper_pid | awk '{ print $1, $2 }')" "17 $(truth pid)"
	equal "the mapping" "$(faults mapping | awk '{ print $2 }')" "$(truth stale)"
	equal "it was unmapped before each fault" \
		"$(rows iommu_faults time unmapped | awk -F '\t' '$2 == "" || $2 > $1' | wc -l)" 0
	faultline report ../run.flt >report.text
	check_that "the report names the owner" \
		grep -q "that dma_driver (pid $(truth pid)) had mapped" report.text
	check_that "and the leak" grep -q "13 mappings, 104K, are long-lived" report.text
}

check_without() {
	equal "without dma_map: unmaps of unknown mappings" "$(dma unknown)" "$(truth pages)"
	equal "without dma_map: what leaks is not known" "$(dma old)" ""
	equal "without dma_map: nor what lives" "$(dma live_size_bytes)" ""
}

teardown() {
	dma_driver free >freed || not_ok "the driver frees" "exit $?"
	faultline-inject iopf unplug >unplugged 2>&1 || not_ok "unplug" "exit $?: $(tail -n 1 unplugged)"
	unload faultline_device
}
