# SPDX-License-Identifier: GPL-2.0
# How a recording begins and ends: just what happened between the two is in it, it lasts as long as it
# was told, only programs that can fire here are loaded, those of a module when the module comes, and
# when `record` returns nothing is left attached.
#
# sample: 6.12
# iommu: intel
# devices: -device edu
# modules: vfio-pci vfio_iommu_type1
# programs: strace
# files: build/tests/lab/programs/ticks
# alone: yes

loaded() { bpftool prog list | grep -E "$tracing_program" | sed -E 's/.* name ([^ ]*) .*/\1/'; }
none_loaded() { [ -z "$(loaded)" ]; }

# A link is gone when it is closed; since 6.12 the kernel frees a tracepoint's program a grace period later.
nothing_left() {
	equal "nothing is attached when it returns" "$(bpftool link list)" ""
	check_that "and no program stays loaded" wait_for 60 none_loaded
}

is_loaded() { loaded | grep -qx "$1"; }

# One program of each object that has nothing to do here, and of objects that have.
idle="container_open reset_begin space_map_begin odp_fault_entry rxe_invalidate_ mm_fault iopf_report
	iopf_free prq_thread pasid_detach kvm_unmap odp_resolved vector_register"
busy="page_fault_user sched_switch block_rq_issue unmap"

interval() {
	local ticks
	ticks >"$results/ticks" &
	ticks=$!
	echo $ticks >"$results/pid"
	wait_for 10 test -s "$results/ticks"
	faultline record --pid $ticks --duration 1s -o "$results/second.flt" 2>record.err
	equal "a second's recording ends well" $? 0
	nothing_left
	check_that "it lasted a second, it says" grep -q ' events\? in 1\.[0-9]*s,' record.err
	cat record.err | sed 's/^/# /'
	sleep 0.5
	kill $ticks
	wait $ticks
}

# The recording is complete and has been summed up before anything is detached.
order() {
	local began summed written detached
	strace -f -y -e trace=openat,write,close -o trace faultline record --duration 200ms -o order.flt 2>order.err
	equal "a recording that is looked at ends well" $? 0
	equal "the kernel's types are read once" "$(grep -c 'openat.*"/sys/kernel/btf/vmlinux"' trace)" 1
	began=$(grep -n 'write(2.*recording into' trace | head -n 1 | cut -d: -f1)
	summed=$(grep -n 'write(2.*nothing lost' trace | head -n 1 | cut -d: -f1)
	written=$(grep -n "close(.*<$PWD/" trace | tail -n 1 | cut -d: -f1)
	detached=$(sed -n '/write(2.*recording into/,$p' trace | grep -n 'close(.*bpf_link' | head -n 1 | cut -d: -f1)
	detached=$((began + detached - 1))
	echo "# line of the trace: begun $began, file closed $written, summary $summed, first detached $detached"
	between "the file is closed before the summary" "${written:-0}" $((began + 1)) "${summed:-0}"
	between "the summary comes before the first program is detached" "${summed:-0}" $((began + 1)) "$detached"
}

# The modules come after the recording has begun.
modules() {
	local recorder name edu
	faultline record -o "$results/modules.flt" 2>modules.err &
	recorder=$!
	wait_for 60 grep -q 'recording into' modules.err
	loaded >before
	for name in $busy; do check_that "$name is loaded" grep -qx "$name" before; done
	for name in $idle; do check_that "$name is not loaded: it could not fire" test -z "$(grep -x "$name" before)"; done
	load vfio-pci
	load vfio_iommu_type1 dma_entry_limit=23
	for name in container_open reset_begin vector_register; do
		check_that "$name is loaded when its module is" wait_for 60 is_loaded $name
	done
	wait_for 60 is_loaded pin_begin
	sleep 2
	edu=$(cd /sys/bus/pci/devices && grep -l 0x11e8 */device | head -n 1 | cut -d/ -f1)
	faultline-inject vfio churn -d "$edu" --yes-i-mean-it "$edu" --count 37 --csv=churn.csv 2>churn.err
	equal "a driver in user space ends well" $? 0
	kill -INT $recorder
	wait $recorder
	equal "the recording ends well" $? 0
	nothing_left
	tables "$results/modules.flt"
	equal "maps of the module that came" "$(rows vfio maps)" "$(cell_of maps churn.csv)"
	equal "its limit, which only the module knows" "$(rows vfio entry_limit)" 23
	unload vfio-pci vfio_pci_core vfio_iommu_type1 vfio
}

guest() {
	mkdir -p "$results"
	interval
	order
	modules
}

host() {
	python3 "$reference/recorded_interval.py" second.flt ticks "$(cat pid)" 1
}
