#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What fio in a stock virtual machine's guest says of its disk beside what we say of it: I/Os and bytes by kind and size, latencies
# at every quantile, which I/Os waited for pages that were evicted before they were begun. VM_FIO=all (`make lab-vm`): of every lookup,
# both policies, behind an IOMMU, and of many I/Os at once.
. "$(dirname "$0")/lib.sh"

guest_of_vm "guest 6.12" fio || finish

delay_us=5000
in_turn='--number_ios=301'
at_once='--ioengine=libaio --iodepth=4 --numjobs=2 --number_ios=151 --group_reporting'

# vm_fio NAME HOW TENANT-KEYS DEVICE-KEYS KERNEL-WORD FIO-OPTIONS: `how` is compare_fio.py's.
vm_fio() {
	local name=$1 how=$2 load
	load='cat /sys/block/vda/stat; fio --thread --direct=1 --filename=/dev/vda --clocksource=clock_gettime --output-format=json'
	load+=" --name=guest --rw=randrw --bssplit=4k/40:16k/20:64k/20:128k/20 --size=8M --log_offset=1 --write_lat_log=/tmp/log $6;"
	load+=' cat /sys/block/vda/stat /tmp/log_lat*'
	{
		printf '[machine]\ntimeout = 20m\n[tenant vm]\nbackend = vm\nmemory = 512M\n%b' "$3"
		printf 'qemu = -machine q35 -smp 2 -cpu max,-cx16,-erms,-fsrm,-la57,-smap,-smep -nodefaults -no-reboot -kernel build/vm/kernel'
		printf " -initrd build/vm/initrd-fio -append '%s'\n" "$(cat build/vm/command-line)$5 -- run=\"$load\""
		printf '[device disk]\ntenant = vm\nqueues = 1\nfile_bytes = 8M\n%b' "$4"
		printf '[inject cold]\naction = evict\nwhat = next\nkind = major\nrate = 100/s\nduration = 1h\n'
		printf '[inject slow]\naction = delay\nstage = resolve\ndelay = %sus\nduration = 1h\n' $delay_us
	} >fio.ini
	rm -rf run.flt fio.csv truth console csv
	"$FAULTLINE" record --as-root -o run.flt -- "$INJECT" run fio.ini --csv=fio.csv --truth truth --console console >run.out 2>run.err
	equal "$name: exit" $? 0
	"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>report.err
	# shellcheck disable=SC2086
	python3 "$root/tests/reference/compare_fio.py" fio.csv truth console csv $delay_us 1 $how >verdict 2>&1
	adopt "$name"
}

vm_fio "one at a time" --in-order '' '' '' "$in_turn"
if [ "${VM_FIO:-}" = all ]; then
	vm_fio "many at once" '' '' '' '' "$at_once"
	vm_fio "a queue that pauses" --in-order '' 'on_fault = pause\n' '' "$in_turn"
	vm_fio "a queue that pauses, many at once" '' '' 'on_fault = pause\n' '' "$at_once"
	vm_fio "lookup = ats" --in-order '' 'lookup = ats\n' '' "$in_turn"
	vm_fio "lookup = uffd" --in-order '' 'lookup = uffd\n' '' "$in_turn"
	vm_fio "lookup = uffd, many at once" '' '' 'lookup = uffd\n' '' "$at_once"
	vm_fio "behind an IOMMU" --in-order 'viommu = yes\n' '' ' intel_iommu=on' "$in_turn"
	vm_fio "behind an IOMMU, many at once" '' 'viommu = yes\n' '' ' intel_iommu=on' "$at_once"
fi
finish
