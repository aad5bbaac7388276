# SPDX-License-Identifier: GPL-2.0
# Drivers in user space at work: maps and pins, both limits, resets and interrupts, against the
# drivers' own counters, the kernel's account of locked memory and its log.
# sample: 6.1
# iommu: intel
# disk: vfio 64M
# devices: -device edu -device nvme,drive=vfio,serial=vfio
# modules: vfio-pci vfio_iommu_type1
# disabled: vfio_map

edu=$(cd /sys/bus/pci/devices && grep -l 0x11e8 */device | head -n 1 | cut -d/ -f1)
nvme=$(cd /sys/bus/pci/devices && grep -l 0x010802 */class | head -n 1 | cut -d/ -f1)

# drive NAME ACTION DEVICE [OPTION...]: one run of the driver, its counters in truth/NAME.csv.
drive() {
	local name=$1 action=$2 device=$3
	shift 3
	mkdir -p truth
	rm -f "truth/$name.csv"
	kernel_pins >"truth/$name.pins"
	faultline-inject vfio "$action" -d "$device" --yes-i-mean-it "$device" --csv="truth/$name.csv" "$@" \
		2>"truth/$name.err" || not_ok "driver $name" "exit $?: $(tail -n 2 "truth/$name.err")"
	kernel_pins >>"truth/$name.pins"
}

# Pages that were pinned since the start, as the kernel counts them where they are (mm/gup.c), which no probe is.
kernel_pins() {
	echo 1 >/proc/sys/vm/stat_refresh
	awk '$1 == "nr_foll_pin_acquired" { print $2 }' /proc/vmstat
}
# Of one run of the driver, bytes.
pinned_by_kernel() { awk 'NR == 1 { first = $1 } NR == 2 { print ($1 - first) * 4096 }' "truth/$1.pins"; }

# truth NAME COLUMN
truth() { cell_of "$2" "truth/$1.csv"; }

# told NAME COLUMN: the same driver as the report sees it, found by its pid.
told() { column vfio "$2" pid "$(truth "$1" pid)"; }

setup() {
	load vfio_iommu_type1 dma_entry_limit=23
	load vfio-pci
	entry_limit=$(cat /sys/module/vfio_iommu_type1/parameters/dma_entry_limit)
	remember edu nvme entry_limit
	# Older than the recording: its limit is known all the same, its requests from then on.
	mkdir -p truth
	faultline-inject vfio churn -d "$edu" --yes-i-mean-it "$edu" --count 100000000 --interval 20ms \
		--csv=truth/older.csv &
	older=$!
}

workload() {
	if [ -n "$older" ]; then
		sleep 0.5
		kill -INT "$older"
		wait "$older"
		older=
	fi
	drive transfer transfer "$nvme" --count 13 --overwrite
	drive edu transfer "$edu" --count 1
	drive churn churn "$nvme" --count 211 --size 128K
	drive memlock limit "$nvme" --memlock 8M --size 1M
	drive entries limit "$nvme" --size 64K
	drive reset reset "$nvme" --count 3
	dmesg >log
	keep truth log
}

# What the driver counted and what the report says of its container.
same() {
	equal "$1: maps" "$(told "$1" maps)" "$(truth "$1" maps)"
	equal "$1: maps' bytes" "$(told "$1" mapped_bytes)" "$(truth "$1" mapped_bytes)"
	equal "$1: refusals" "$(told "$1" failed)" "$(truth "$1" maps_failed)"
	equal "$1: unmaps and what was left at the end" \
		"$(($(told "$1" unmaps) + $(told "$1" closed)))" "$(truth "$1" maps)"
	equal "$1: unmaps asked for" "$(told "$1" unmaps)" "$(truth "$1" unmaps)"
	equal "$1: bytes unmapped in the end" "$(told "$1" unmapped_bytes)" "$(truth "$1" mapped_bytes)"
	equal "$1: nothing stays pinned" "$(told "$1" still_pinned_bytes)" 0
	if [ "$(truth "$1" map_errno)" = 12 ]; then
		pinned_and_undone "$1"
	else
		equal "$1: pinned is what was mapped" "$(told "$1" pinned_bytes)" "$(truth "$1" mapped_bytes)"
		equal "$1: and what the kernel pinned" "$(told "$1" pinned_bytes)" "$(pinned_by_kernel "$1")"
	fi
	equal "$1: the most locked is VmLck" "$(told "$1" locked_bytes)" "$(truth "$1" locked_bytes)"
}

# The map of 1 MiB that RLIMIT_MEMLOCK refused has pinned what fitted, run by run, before it was undone. The
# kernel's count has that, too, and the run that met the limit, which was taken back at once and is no pin.
pinned_and_undone() {
	local mapped kernel
	mapped=$(truth "$1" mapped_bytes) kernel=$(pinned_by_kernel "$1")
	check_that "$1: the kernel pinned more than was mapped, by one request at most ($mapped, $kernel)" \
		test "$kernel" -gt "$mapped" -a "$kernel" -le $((mapped + (1 << 20)))
	between "$1: pinned is what was mapped and undone" "$(told "$1" pinned_bytes)" "$mapped" "$kernel"
	check_that "$1: and never more than the limit" test "$(told "$1" pinned_bytes)" -le "$(told "$1" memlock_bytes)"
}

check() {
	local name nvme_container
	equal "events lost" "$(column loss count what lost)" 0
	for name in transfer edu churn memlock entries reset; do same $name; done
	for name in transfer edu; do
		equal "$name: data that came over wrong" "$(truth $name wrong_bytes)" 0
	done
	equal "transfer: data verified" "$(truth transfer verified_bytes)" $((13 * 3 * 4096))

	equal "memlock: errno is ENOMEM" "$(truth memlock map_errno)" 12
	equal "memlock: the report knows the errno" \
		"$(column vfio_failures error container "$(told memlock container)" request map)" ENOMEM
	equal "memlock: limit" "$(told memlock memlock_bytes)" $((8 << 20))
	equal "memlock: not exempt" "$(told memlock exempt)" no
	equal "churn: root is exempt" "$(told churn exempt)" yes
	equal "memlock: the kernel's log says so once" "$(grep -c 'RLIMIT_MEMLOCK (8388608) exceeded' log)" 1

	equal "entries: errno is ENOSPC" "$(truth entries map_errno)" 28
	equal "entries: all of dma_entry_limit" "$(told entries entries)" 23
	equal "entries: the limit" "$(told entries entry_limit)" "$entry_limit"
	equal "entries: as many as the driver could map" "$(truth entries maps)" 23

	equal "older: its limit is known" "$(told older entry_limit)" 23
	equal "older: its mappings" "$(told older entries)" 1
	between "older: its maps since" "$(told older maps)" 5 "$(truth older maps)"
	equal "older: nothing stays pinned" "$(told older still_pinned_bytes)" 0

	equal "resets" "$(column vfio_devices resets device "$nvme")" "$(truth reset resets)"
	equal "interrupts" "$(column vfio_devices interrupts device "$nvme")" "$(truth reset interrupts)"
	equal "vectors" "$(column vfio_devices vectors device "$nvme")" "$(truth reset vectors)"
	equal "vectors refused" "$(rows vfio_devices vectors_failed | sort -u)" 0
	for name in $(rows vfio container); do
		equal "$name: runs add up" \
			"$(rows vfio_runs container pinned_bytes | awk -v c="$name" '$1 == c { s += $2 } END { print s + 0 }')" \
			"$(column vfio pinned_bytes container "$name")"
	done
	faultline report ../run.flt >report.text
	check_that "the report tells of the refusals" grep -q 'refused with ENOSPC' report.text
}

look() {
	[ -z "$without" ] || return
	check_that "nobody keeps a device" test ! -e "/sys/bus/pci/devices/$nvme/driver"
	check_killed
	check_refusals
}

# A driver that is killed leaves its device with vfio-pci; recover gives it back.
check_killed() {
	local device=/sys/bus/pci/devices/$edu

	faultline-inject vfio churn -d "$edu" --yes-i-mean-it "$edu" --count 100000000 &
	wait_for 10 test -e "$device/driver" || not_ok "the device was taken"
	kill -KILL $!
	wait $! 2>/dev/null
	check_that "killed: the device is still taken" test -e "$device/driver"
	faultline-inject recover >recover.log || not_ok "recover" "exit $?"
	check_that "recovered: nobody has it" test ! -e "$device/driver"
	equal "recovered: no driver is forced upon it" "$(cat "$device/driver_override")" "(null)"
	faultline-inject vfio churn -d "$edu" --yes-i-mean-it "$edu" --count 100000000 &
	wait_for 10 test -e "$device/driver" || not_ok "the device was taken again"
	kill -INT $!
	wait $!
	equal "interrupted: exit status" $? 7
	check_that "interrupted: nobody has it" test ! -e "$device/driver"
}

check_refusals() {
	faultline-inject vfio fault -d "$edu" 2>refused
	equal "without consent: exit status" $? 4
	check_that "without consent: says what to add" grep -q -- "--yes-i-mean-it $edu" refused
	faultline-inject vfio fault -d "$edu" --dry-run >dry
	check_that "dry run: names the write" grep -q "$edu/driver_override" dry
	check_that "dry run: takes nothing" test ! -e "/sys/bus/pci/devices/$edu/driver"
	faultline-inject vfio fault -d 0000:00:00.0 --yes-i-mean-it 0000:00:00.0 2>refused
	check_that "what cannot be driven is refused" grep -q "cannot be driven" refused
}

check_without() {
	equal "maps are unknown without their probe" "$(rows vfio maps | sort -u | sed 's|^$|unknown|')" unknown
	equal "but pins" "$([ "$(rows vfio pins | sort -n | tail -n 1)" -gt 0 ] && echo some)" some
}

teardown() {
	unload vfio-pci vfio_pci_core vfio_iommu_type1 vfio
}

host() {
	top_is_report vfio vfio
}
