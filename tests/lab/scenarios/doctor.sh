# SPDX-License-Identifier: GPL-2.0
# What doctor says of each probe is true: of the types and symbols of this kernel, and of what a
# recording then attaches, before the modules are loaded and after. What this kernel cannot show it says.
# Refused programs take only their own rows with them.
#
# sample: new
# iommu: intel
# devices: -device edu
# modules: vfio-pci vfio_iommu_type1 rdma_rxe
# files: build/tests/unit/test_refused

# keep NAME: all that the host needs to judge doctor's table of this moment.
keep() {
	local to=$results/$1
	mkdir -p "$to/btf"
	faultline doctor --json --table probes >"$to/doctor.json" 2>"$to/doctor.err"
	equal "doctor ends well ($1)" $? 0
	cp /sys/kernel/btf/* "$to/btf"
	cut -d' ' -f3- /proc/kallsyms >"$to/symbols"
	cp /sys/kernel/tracing/available_filter_functions "$to/traceable"
	ls -d /sys/class/infiniband >"$to/directories" 2>/dev/null
	echo kprobes >>"$to/directories"
	for iommu in /sys/class/iommu/*; do
		[ -e "$iommu" ] && echo "$(basename "$iommu") $(cat "$iommu/intel-iommu/ecap" 2>/dev/null)"
	done >"$to/iommus"
	[ -e /sys/firmware/acpi/tables/DMAR ] && echo DMAR >>"$to/iommus"
}

path_state() { sed -n "s/^$1,\([a-z ]*\),.*/\1/p" paths.csv; }
state_of() { sed -n "s/^$1,\([a-z]*\),.*/\1/p" host.csv; }

guest() {
	local recorder
	mkdir -p "$results"
	keep before
	# Modules that come while a recording runs get their probes then.
	faultline record --tcp -o probes.flt 2>record.err &
	recorder=$!
	wait_for 30 grep -q 'recording into' record.err
	load vfio-pci
	load vfio_iommu_type1
	[ "$kernel" = new ] && load rdma_rxe
	sleep 4
	kill -INT $recorder
	wait $recorder
	equal "the recording ends well" $? 0
	echo "# $(tr '\r' '\n' <record.err | tail -n 2 | tr '\n' ' ')"
	keep after
	cp probes.flt "$results"
	faultline report --csv=- --table probes probes.flt >"$results/after/probes.csv" 2>/dev/null
	faultline doctor --csv=. 2>/dev/null
	cp host.csv paths.csv "$results"
	# They have the core, and QEMU's VT-d takes no page requests.
	equal "kernel page requests" "$(path_state 'kernel page requests')" "not shown"
	equal "path of VFIO" "$(path_state VFIO)" shown
	equal "path of iommufd" "$(path_state iommufd)" "not shown"
	equal "path of the IOMMU" "$(path_state IOMMU)" shown
	equal "path of DMA" "$(path_state 'DMA mappings')" shown
	equal "path of RDMA, without a device" "$(path_state 'RDMA on-demand paging')" "not shown"
	sed -n 's/^\(memory\|VT-d and AMD queues\),/# &/p' paths.csv
	case $kernel in new) equal "SVA" "$(state_of SVA)" ok ;; *) equal "SVA, compiled out" "$(state_of SVA)" missing ;; esac
	equal "iommufd, not built" "$(state_of iommufd)" missing
	equal "kernel functions" "$(state_of 'kernel functions')" ok
	equal "IOMMU" "$(state_of IOMMU)" ok
	equal "page requests" "$(state_of 'page requests')" ok
	equal "VFIO" "$(state_of VFIO)" ok
	check_that "refused programs take only their own rows with them" test_refused
	[ "$kernel" = new ] && unload rdma_rxe
	unload vfio-pci vfio_iommu_type1
}

host() {
	for moment in before after; do
		if python3 "$reference/doctor_table.py" $moment "$root/faultline-inject" >table.out 2>&1; then
			ok "probe table $moment loading modules: $(sed 's/^ok - //' table.out)"
		else
			not_ok "probe table $moment loading modules" "$(head -n 12 table.out | tr '\n' '|')"
		fi
	done
}
