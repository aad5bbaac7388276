# SPDX-License-Identifier: GPL-2.0
# Page requests of a device for memory on storage that answers late: the kernel's own fault handler
# takes as long as that storage, every time, and the report says so of each request. null_blk
# completes from a timer and never early, so that the delay is a bound that must hold.
# sample: none
# modules: null_blk configfs
# own modules: faultline_device
# disabled: mm_fault

setup() {
	load null_blk nr_devices=0
	load faultline_device
	[ -d /sys/kernel/config/nullb ] || mount -t configfs configfs /sys/kernel/config
}

# late MS REQUESTS: one request a group, so that each waits for its own page only.
late() {
	local slow device
	rm -f late.csv
	faultline-inject slow --name late --size 16M --delay "$1ms" --csv=late.csv 2>late.err &
	slow=$!
	if ! wait_for 30 test -s late.csv; then
		not_ok "slow device, $1 ms" "$(cat late.err)"
		return
	fi
	device=$(sed -n '2s/,.*//p' late.csv)
	faultline-inject iopf burst -r "$2" -g 1 --memory "$device" --yes-i-mean-it "$device" --wait 60s --csv=iopf.csv \
		2>iopf.err || not_ok "$2 requests at $1 ms" "$(tail -n 3 iopf.err)"
	equal "$1 ms: requests answered with success, as the module counted" "$(sum_of success iopf.csv)" "$2"
	rm -f iopf.csv
	kill -INT $slow
	wait $slow
	equal "$1 ms: the slow device is taken down" $? 0
}

workload() {
	late 5 17
	[ -n "$without" ] && return
	late 20 31
	late 50 7
}

# took FROM TO: of the requests in the order of their reports, the shortest mm_fault in us, how many
# were major, and whatever else than a file brought a page.
took() {
	rows faults start mm_fault_ns kind cause | sort | sed -n "$1,$2p" | awk -F '\t' '
		!least || $2 < least { least = $2 }
		$3 == "major" { major++ }
		$4 != "file" { other = other " " $4 }
		END { printf "%d %d%s\n", least / 1000, major, other }'
}
one() {
	local least major
	read -r least major <<<"$(took "$2" "$3")"
	equal "$1 ms: requests whose page came from a file's storage" "$major" $(($3 - $2 + 1))
	between "$1 ms: shortest handle_mm_fault of a request, us" "$least" $(($1 * 1000)) $(($1 * 1000 + 4000))
}

check() {
	equal "events lost" "$(column loss count what lost)" 0
	equal "requests that were reported" "$(rows faults start | wc -l)" 55
	one 5 1 17
	one 20 18 48
	one 50 49 55
}

check_without() {
	equal "without mm_fault: requests that were reported" "$(rows faults start | wc -l)" 17
	equal "without mm_fault: no time of it is told" "$(rows faults mm_fault_ns | sort -u)" ""
}

teardown() {
	faultline-inject iopf unplug >inject.out 2>&1 || not_ok "unplug" "$(cat inject.out)"
	unload faultline_device null_blk
}
