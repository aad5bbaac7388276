# SPDX-License-Identifier: GPL-2.0
# Page requests that user space resolves: the kernel's own iommufd, which Debian does not build, with
# the emulated device attached to it, and faultline-inject at the other end of the fault queue. Recorded,
# and held against the module's log: every request, its group, its answer, and what was mapped for it.
# kernels: 6.12 new
# sample: new
# own modules: iommufd faultline_device_iommufd
# cpus: 2
# files: build/tests/lab/programs/containers
# disabled: iommufd_map

spaces=2153 # of one process, one after the other; 2048 at once are seen

field() { cell_of "$1" csv; }

setup() {
	check_that "the variant needs iommufd" sh -c "! insmod /lib/modules/own/faultline_device_iommufd.ko"
	load iommufd allow_unsafe_interrupts=1
	load faultline_device_iommufd
}

workload() {
	faultline-inject iopf iommufd -r 211 -g 1-8 -G 4 --seed 5 --truth "$results/iommufd${without:+.without}.truth" >text
	keep text
	[ -n "$without" ] || open_and_close iommufd
	[ -n "$without" ] || open_and_close elsewhere
	[ -n "$without" ] || check_that "what it had is given back once it has ended" wait_for 10 given_back
}
# open_and_close WHERE: destroyed by the process that made them, or by another one.
open_and_close() {
	containers "$1" $spaces &
	user=$!
	wait_for 60 stopped $user || not_ok "$1: address spaces are made and destroyed"
	equal "$1: while it lives: address spaces kept" "$(kept containers '"key"')" 0
	equal "$1: devices of them kept" "$(kept devices '"iommufd"')" 0
	kill -CONT $user
	wait $user
}
# The recorder's own: address spaces that it knows, and processes that have slots of devices.
given_back() { [ "$(bpftool -j map dump name containers)$(bpftool -j map dump name owners)" = '[][]' ]; }

# What the program at the other end says: groups answered, pages mapped, groups refused, pages seen.
said() {
	tr '\n' ' ' <text | sed -n 's/.*user space \(.*\) requests were.*/\1/p; s/.*user space \(.*\)/\1/p' | tr -cs '0-9' ' '
}

check() {
	local answered pages refused seen maps
	read -r answered pages refused seen _ <<<"$(said)"
	equal "events lost" "$(column loss count what lost)" 0
	equal "reports" "$(hits iopf_report)" 211
	check_that "user space answered $answered groups and refused $refused" test "${refused:-0}" -gt 0 -a "${answered:-0}" -gt 0
	equal "what it mapped the device wrote to, and it was seen" "$seen" "$pages"
	equal "groups queued for it" "$(hits iopf_queued_iommufd)" $((answered + refused))
	equal "answers" "$(hits iopf_response)" $((answered + refused))
	equal "each fault was its to resolve" "$(rows faults consumer | sort -u)" iommufd
	# One IOAS_MAP a page.
	maps=$(rows vfio container maps | awk -F '\t' '$1 ~ /^iommufd/ { n += $2 } END { print n + 0 }')
	equal "maps recorded" "$maps" $((pages + 2 * spaces))
	equal "address spaces, each known" "$(rows vfio container | grep -c '^iommufd')" $((2 * spaces + 1))
	equal "nothing found no room" "$(column loss count what state_failed)" 0
}

check_without() {
	equal "reports are still seen" "$(hits iopf_report)" 211
	equal "maps are not" "$(rows vfio maps | awk '{ n += $1 } END { print n + 0 }')" 0
}

teardown() {
	faultline-inject iopf iommufd -r 211 -g 1-8 --csv >csv
	equal "every request was answered" "$(field requests).$(field answered)" 211.211
	equal "every group once" "$(($(field success) + $(field invalid)))" "$(field last)"
	faultline-inject iopf iommufd -r 47 -g 1 --json >json
	faultline-inject iopf burst -r 31 --csv >csv
	equal "the other way works beside it" "$(field success)" "$(field last)"
	faultline-inject iopf unplug
	unload faultline_device_iommufd iommufd
}

# User space has no worker in the kernel: no fault has a handler that begins or resolves.
host() {
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null
	python3 "$reference/compare_requests.py" tables iommufd.truth --lacks resolve || failed=1
	"$FAULTLINE" report without.flt --csv=without --raw-time >/dev/null
	python3 "$reference/compare_requests.py" without iommufd.without.truth --lacks resolve || failed=1
}
