#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module faultline_device by itself, no recorder beside it: every end that a request can have,
# devices that go with requests pending, processes that are killed, loading and unloading.
# sample: new
# own modules: faultline_device
# cpus: 2

log=/tmp/iopf.csv

# iopf WHAT...: results as CSV in $log.
iopf() { faultline-inject iopf "$@" --csv >$log; }
# field NAME [DEVICE]: of the last results.
field() {
	awk -F , -v name="$1" -v device="faultline-device.${2:-0}" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
		NR > 1 && $1 == device { print $column }' $log
}
# Every request ended, and in one way only.
ends_add_up() {
	local name=$1 device=${2:-0} sum=0 end
	for end in answered dropped automatic discarded refused aborted; do
		sum=$((sum + $(field $end "$device")))
	done
	equal "$name: every request has one end" "$sum.$(field pending "$device")" "$(field requests "$device").0"
}
plugged() { faultline-inject iopf status --csv >$log && [ -n "$(field requests "$1")" ] && [ -e "/sys/bus/platform/devices/faultline-device.$1" ]; }

check_load() {
	for wrong in devices=0 devices=9 prq_size=1 prq_size=65537 log_entries=10; do
		if insmod /lib/modules/own/faultline_device.ko $wrong 2>/dev/null; then
			not_ok "$wrong is refused"
			rmmod faultline_device
		else
			ok "$wrong is refused"
		fi
	done
	faultline-inject iopf status >/dev/null 2>err
	equal "without the module the exit code is that of a missing thing" $? 1
	check_that "and the sentence says what to load" grep -q 'load the kernel module faultline_device' err
	load faultline_device || return
	check_that "its functions have types" grep -q device_page_response <(bpftool btf dump -B /sys/kernel/btf/vmlinux file /sys/kernel/btf/faultline_device)
	equal "devices" "$(cd /sys/bus/platform/drivers/faultline-device && echo faultline-device.*)" "faultline-device.0 faultline-device.1"
	check_that "behind the IOMMU" test -e /sys/class/iommu/faultline-iommu/devices/faultline-device.1
	rmmod faultline_device 2>/dev/null
	check_that "stays while devices are plugged in" test -d /sys/module/faultline_device
}

check_answers() {
	faultline-inject iopf burst -r 503 -p 3 -g 1-8 -G 8 -d 0 -d 1 --hold 3ms >text
	check_that "503 pages are present" grep -q '503 of 503 pages' text
	iopf burst -r 211 -p 2 -g 1-8 -G 4
	equal "burst: one answer a group" "$(field success).$(field invalid)" "$(field last).0"
	ends_add_up burst
	iopf read-only -r 31
	equal "read-only: invalid" "$(field success).$(field invalid)" "0.$(field last)"
	iopf burst -r 31 --access x
	equal "no right to execute: invalid" "$(field success).$(field invalid)" "0.$(field last)"
	iopf unmapped -r 31
	equal "unmapped: invalid" "$(field success).$(field invalid)" "0.$(field last)"
	iopf bad-pasid -r 31
	ends_add_up bad-pasid
	# 6.1's handler looks for the PASID when the group is whole, later cores at each request.
	if [ "$kernel" = 6.1 ]; then
		equal "bad PASID: invalid" "$(field invalid).$(field report_failed)" "$(field last).0"
	else
		equal "bad PASID: invalid" "$(field invalid).$(field report_failed)" "31.31"
	fi
	iopf unmap -r 61 -g 2
	ends_add_up unmap
	check_that "unmapped meanwhile: some succeed, some do not" test "$(field success)" -gt 0 -a "$(field invalid)" -gt 0
	# The first of several to end has the queue drained, requests of those that still live among them.
	iopf exit -r 47 -p 3
	ends_add_up "several end"
	check_that "several end: some find nobody" test "$(field invalid)" -gt 0
	iopf exit -r 47
	ends_add_up "one ends"
	equal "ended meanwhile: invalid" "$(field success).$(field invalid)" "0.$(field last)"
}

check_device() {
	iopf withhold -r 17 --timeout 20ms
	equal "withheld: given up, then late" "$(field withheld).$(field timeouts).$(field late).$(field delivered)" \
		"$(field last).$(field last).$(field last).$(field last)"
	iopf burst -r 17 --delay 40ms --timeout 10ms
	equal "delayed: given up, then late" "$(field timeouts).$(field late).$(field withheld)" "$(field last).$(field last).0"
	iopf burst -r 17 --delay 20ms --timeout 3s
	equal "delayed within the time" "$(field timeouts).$(field late).$(field delivered)" "0.0.$(field last)"
	iopf flood -r 307 --queue 23 -g 1-8
	equal "flood: what fits is reported, once too much came" "$(field reported).$(field overflows)" 23.1
	equal "flood: the rest is dropped or answered by the IOMMU" "$(($(field dropped) + $(field automatic)))" $((307 - 23))
	ends_add_up flood
	iopf burst -r 31
	equal "after it all is as before" "$(field success)" "$(field last)"
}

check_dma() {
	iopf dma --count 31
	equal "pages" "$(field dma_maps).$(field dma_unmaps).$(field iommu_pages_mapped).$(field iommu_pages_unmapped)" 31.31.31.31
	iopf dma --kind coherent --size 12K --count 7
	equal "coherent memory" "$(field dma_maps).$(field dma_unmaps).$(field iommu_pages_mapped)" 7.7.21
	iopf dma --kind list --segments 5 --count 11 --live 3 -d 1
	equal "lists" "$(field dma_maps 1).$(field dma_unmaps 1).$(field iommu_pages_unmapped 1)" 11.11.55
	iopf io-page-fault --count 37
	equal "faults on a removed mapping" "$(field accesses).$(field io_page_faults)" 37.37
	iopf io-page-fault --count 41 --forbidden
	equal "faults on a mapping without the right" "$(field accesses).$(field io_page_faults)" 41.41
	iopf dma --count 5 --keep
	iopf status
	local kept=$(($(field dma_maps) - $(field dma_unmaps)))
	equal "mappings left behind" $kept 5
	faultline-inject iopf unplug -d 0
	iopf status
	equal "go with the device" $(($(field dma_maps) - $(field dma_unmaps))) 0
	faultline-inject iopf plug
	check_that "which comes back" plugged 0
}

# Requests wait in the queue while somebody else does something.
pending() {
	faultline-inject iopf clear
	faultline-inject iopf burst -r 53 -p 2 --pause 20s --wait 5s >text 2>&1 &
	victim=$!
	wait_for 10 sh -c 'faultline-inject iopf status --json | grep -q "\"pending\": *53"' || not_ok "requests are pending"
}

check_removal() {
	pending
	faultline-inject iopf unplug -d 0
	iopf status
	ends_add_up "device removed"
	equal "device removed: its requests were answered first" "$(field answered)" 53
	kill $victim
	wait $victim
	faultline-inject iopf plug

	pending
	faultline-inject iopf unplug -d 0 --surprise
	iopf status
	equal "device vanished: its requests are lost" "$(field aborted).$(field answered)" 53.0
	kill $victim
	wait $victim
	faultline-inject iopf plug

	pending
	kill -9 $victim
	wait $victim 2>/dev/null
	wait_for 10 sh -c 'faultline-inject iopf status --json | grep -q "\"pending\": *0"' || not_ok "requests of killed processes end"
	iopf status
	ends_add_up "processes killed"
	equal "processes killed: nothing stays bound" "$(field binds)" "$(field unbinds)"
	iopf burst -r 31
	equal "and the device works on" "$(field success)" "$(field last)"
}

check_unload() {
	faultline-inject iopf unplug
	unload faultline_device
	check_that "unloaded" test ! -d /sys/module/faultline_device
	for round in 1 2 3; do
		load faultline_device devices=3
		iopf burst -r 29 -d 2
		equal "round $round" "$(field requests 2).$(field success 2)" "29.$(field last 2)"
		faultline-inject iopf unplug
		unload faultline_device
	done
	check_that "no thread of it is left" sh -c '! grep -lqs faultline-prq /proc/[0-9]*/comm'
}

guest() {
	for part in load answers device dma removal unload; do
		check_$part
		echo "# $part done at $SECONDS s"
	done
}
