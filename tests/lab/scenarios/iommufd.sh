#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Page requests that user space resolves: the kernel's own iommufd, which Debian does not build, with
# the emulated device attached to it, and faultline-inject at the other end of the fault queue.
# kernels: 6.12 new
# own modules: iommufd faultline_device_iommufd
# cpus: 2

field() {
	awk -F , -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
		NR > 1 { print $column }' csv
}

guest() {
	check_that "the variant needs iommufd" sh -c "! insmod /lib/modules/own/faultline_device_iommufd.ko"
	load iommufd allow_unsafe_interrupts=1 || return
	load faultline_device_iommufd || return
	faultline-inject iopf iommufd -r 101 -g 1-8 -G 4 --seed 5 >text
	# shellcheck disable=SC2046
	set -- $(tr '\n' ' ' <text | sed -n 's/.*user space \(.*\) requests were.*/\1/p; s/.*user space \(.*\)/\1/p' | tr -cs '0-9' ' ')
	check_that "user space answered $1 groups" test "${1:-0}" -gt 0
	check_that "and refused $3" test "${3:-0}" -gt 0
	equal "what it mapped the device wrote to, and it was seen" "$4" "$2"
	faultline-inject iopf iommufd -r 211 -g 1-8 --csv >csv
	equal "every request was answered" "$(field requests).$(field answered)" 211.211
	equal "every group once" "$(($(field success) + $(field invalid)))" "$(field last)"
	check_that "some were refused" test "$(field invalid)" -gt 0
	faultline-inject iopf iommufd -r 47 -g 1 --json >json
	faultline-inject iopf burst -r 31 --csv >csv
	equal "the other way works beside it" "$(field success)" "$(field last)"
	faultline-inject iopf unplug
	unload faultline_device_iommufd
	unload iommufd
}
