# SPDX-License-Identifier: GPL-2.0
# What every kernel has: page faults of a process, and an IOMMU at work behind a real disk driver.
# Faultline's counts are those of the kernel's own tracing, which runs beside it.
#
# sample: 6.12 new
# iommu: intel
# disk: smoke 64M
# devices: -device nvme,drive=smoke,serial=smoke
# modules: nvme
# files: build/bench/storm
# disabled: iommu_map

pages=1009 reads=97
tracing=/sys/kernel/tracing


setup() {
	load nvme
	wait_for 5 test -b /dev/nvme0n1
	echo 4096 >$tracing/buffer_size_kb
	echo 1 >$tracing/events/iommu/map/enable
	echo 1 >$tracing/events/iommu/unmap/enable
	faultline doctor --csv=tables >doctor.out 2>&1
	equal "doctor ends well" $? 0
	equal "probes that the kernel refused" "$(rows probes probe state reason | grep -c 'verifier')" 0
}

prepare() {
	storm anonymous $pages 1 --wait >storm.out &
	storm=$!
	wait_for 5 stopped $storm
	echo 0 >$tracing/events/exceptions/page_fault_user/enable
	echo "common_pid == $storm" >$tracing/events/exceptions/page_fault_user/filter
	echo 1 >$tracing/events/exceptions/page_fault_user/enable
	record_options="--pid $storm"
}

workload() {
	: >$tracing/trace
	dd if=/dev/nvme0n1 of=/dev/null bs=4k count=$reads iflag=direct 2>/dev/null
	dd if=/dev/zero of=/dev/nvme0n1 bs=4k count=$((reads - 30)) oflag=direct 2>/dev/null
	kill -CONT $storm
	wait $storm
	cp $tracing/trace trace
	echo $storm >storm
	keep trace storm storm.out
}

check() {
	local counted
	equal "events lost" "$(column loss count what lost)" 0
	read -r counted _ <storm.out
	equal "the storm's own count of its faults" "$counted" $pages
	equal "iommu_map, as traced by the kernel" "$(hits iommu_map)" "$(traced map)"
	equal "iommu_unmap, as traced by the kernel" "$(hits iommu_unmap)" "$(traced unmap)"
	between "a map for each read and write" "$(traced map)" $((reads + reads - 30)) 1000
	equal "page faults of the storm, as traced by the kernel" \
		"$(column counts count kind "CPU page fault" pid "$(cat storm)")" "$(traced page_fault_user)"
	equal "page faults recorded one by one, read by the independent reader" \
		"$(python3 "$reference/count_events.py" ../run.flt "$(kind_number CPU_FAULT)" "$(cat storm)")" "$(traced page_fault_user)"
}

check_without() {
	equal "iommu_unmap without iommu_map" "$(hits iommu_unmap)" "$(traced unmap)"
	equal "iommu_map without its probe" "$(hits iommu_map)" 0
}

teardown() {
	echo 0 >$tracing/events/enable
	echo 0 >$tracing/events/exceptions/page_fault_user/filter
	unload nvme
}
