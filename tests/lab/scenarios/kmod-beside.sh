#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module faultline_device where a real IOMMU is active: only if told, and then beside it.
# sample: none
# own modules: faultline_device
# iommu: intel
# modules: virtio_blk
# expected message 6.1: faultline_device: this kernel takes one IOMMU driver only -- 6.1's core refuses a second

guest() {
	if insmod /lib/modules/own/faultline_device.ko 2>/dev/null; then
		not_ok "refuses to load beside a real IOMMU"
		faultline-inject iopf unplug
		rmmod faultline_device
	else
		ok "refuses to load beside a real IOMMU"
	fi
	check_that "and says how" sh -c 'dmesg | tail -n 5 | grep -q beside_real_iommu=1'
	if [ "$kernel" = 6.1 ]; then
		insmod /lib/modules/own/faultline_device.ko beside_real_iommu=1 2>/dev/null
		check_that "6.1 takes one IOMMU driver only" test ! -d /sys/module/faultline_device
		check_that "which the module says" sh -c 'dmesg | tail -n 5 | grep -q "boot with intel_iommu=off"'
		return
	fi
	load faultline_device beside_real_iommu=1 || return
	faultline-inject iopf burst -r 97 -p 2 -g 1-4 >text
	check_that "raises page requests" grep -q '97 of 97 pages' text
	faultline-inject iopf io-page-fault --count 5 --csv >csv
	check_that "faults" grep -q '^faultline-device.0,1,1,0,0,5,5,' csv
	faultline-inject iopf unplug
	unload faultline_device
}
