# SPDX-License-Identifier: GPL-2.0
# Unrecoverable faults of real devices, also those that the kernel's rate limit keeps to itself:
# all of them against the drivers' own count of faulting DMAs and against the kernel's log.
# sample: new
# iommu: intel
# disk: vfio 64M
# devices: -device edu -device edu -device nvme,drive=vfio,serial=vfio
# modules: vfio-pci vfio_iommu_type1
# disabled: vtd_fault_text

edus=$(cd /sys/bus/pci/devices && grep -l 0x11e8 */device | head -n 2 | cut -d/ -f1)
nvme=$(cd /sys/bus/pci/devices && grep -l 0x010802 */class | head -n 1 | cut -d/ -f1)
drives="stale retry edus burst after"
burst=211
options=
# What faults need, and who owns an address: with all other probes the guest begins late.
record_options="--kind iommu_fault,iommu_unseen,iommu_attach,fault_owner,vfio_map,vfio_unmap"

# drive NAME ACTION COUNT DEVICE...: one run of the driver, its counters in truth/NAME.csv. More
# options for it may be in $options.
drive() {
	local name=$1 action=$2 count=$3 device arguments=$options
	shift 3
	mkdir -p truth
	rm -f "truth/$name.csv"
	for device; do arguments+=" -d $device --yes-i-mean-it $device"; done
	# shellcheck disable=SC2086
	faultline-inject vfio "$action" --count "$count" $arguments --csv="truth/$name.csv" \
		2>"truth/$name.err" || not_ok "driver $name" "exit $?: $(tail -n 2 "truth/$name.err")"
}

# truth NAME COLUMN
truth() { cell_of "$2" "truth/$1.csv"; }

# Of all drivers together.
faulting() {
	local name sum=0
	for name in $drives; do sum=$((sum + $(truth "$name" faulting))); done
	echo "$sum"
}

setup() {
	load vfio_iommu_type1
	load vfio-pci
}

# The kernel's rate limit is one of 10 words in 5 s: the burst begins with a fresh one.
workload() {
	dmesg -c >/dev/null
	# shellcheck disable=SC2086
	set -- $edus
	drive stale stale 2 "$nvme"
	drive retry retry 1 "$1"
	drive edus fault 1 "$1" "$2"
	sleep 5.2
	drive burst fault $burst "$nvme"
	sleep 5.2
	drive after fault 1 "$1"
	sleep 0.2
	dmesg >log
	faulting >"$results/${without:-plain}.faulting"
	keep truth log
}

lines() { grep -c 'DMAR: \[DMA .*fault addr' log; }

check() {
	local seen=$(column events events kind "unrecoverable fault")
	local unseen=$(column events events kind "unrecoverable fault not decoded")

	equal "events lost" "$(column loss count what lost)" 0
	equal "each fault of the drivers is seen, or known to be unseen" "$((seen + unseen))" "$(faulting)"
	equal "decoded: those that the kernel told of" "$seen" "$(lines)"
	# Each fault asks the rate limit three times: for the status, the record, and the end of them.
	equal "the burst, from what the kernel says to have suppressed" \
		"$((($(grep -o 'dmar_fault: [0-9]* callbacks' log | grep -o '[0-9]*' | sort -n | tail -n 1) + 10) / 3))" "$burst"
	equal "the handler ran once a fault" "$(hits vtd_fault)" "$(faulting)"
	equal "retry: the page came over in the end" "$(truth retry verified_bytes)" 2048
}

# All of them decoded, where reading the IOMMU's registers was allowed.
look() {
	local other=registers
	[ -z "$without" ] || return
	record_start --iommu-registers
	drive registers fault $burst "$nvme"
	drive stale stale 3 "$nvme"
	record_stop
	truth stale pid >"$results/stale.pid"
	keep truth
}
check_registers() {
	equal "registers: events lost" "$(column loss count what lost)" 0
	equal "registers: all are decoded" "$(column events events kind "unrecoverable fault")" \
		"$(($(truth registers faulting) + $(truth stale faulting)))"
	equal "registers: none is unseen" "$(column events events kind "unrecoverable fault not decoded")" ""
}

check_without() {
	equal "nothing is decoded without the kernel's words" "$(column events events kind "unrecoverable fault")" ""
	equal "but all are counted" "$(column events events kind "unrecoverable fault not decoded")" "$(faulting)"
}

teardown() {
	unload vfio-pci vfio_pci_core vfio_iommu_type1 vfio
}

# The sum of what the events say to be unseen, by the independent reader; and whose the addresses were.
host() {
	local sums
	in_directory registers check_registers
	sums=$(python3 - "$reference" run.flt without.flt registers.flt "$(cat stale.pid)" \
		"$(kind_number IOMMU_UNSEEN)" "$(kind_number IOMMU_FAULT)" "$(kind_number FAULT_OWNER)" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import flt_read
		UNSEEN, FAULT, OWNER = map(int, sys.argv[6:])
		out = []
		for path in sys.argv[2:4]:
		    out.append(sum({UNSEEN: f[3], FAULT: 1}.get(f[10], 0)
		                   for n, f in flt_read.read(path) if n == "event"))
		owners = [f for n, f in flt_read.read(sys.argv[4]) if n == "event" and f[10] == OWNER]
		# Unmapped by the time of the fault, by the driver that had mapped them.
		out.append(sum(1 for f in owners if f[8] == int(sys.argv[5]) and f[13] == 1))
		print(*out)
	END
	)
	equal "faults told and unseen, with and without the kernel's words, and with an owner" "$sums" \
		"$(cat plain.faulting) $(cat vtd_fault_text.faulting) 3"
}
