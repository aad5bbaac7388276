# SPDX-License-Identifier: GPL-2.0
# Page requests for memory of which it is known why it is not there: each page's cause, kind and
# answer as recorded, against what was made, the process's pagemap and the kernel's own counters.
# sample: 6.1
# cpus: 1
# modules: zram
# own modules: faultline_device
# files: build/tests/lab/programs/cause_target
# disabled: mm_copy

setup() {
	load faultline_device
	load zram num_devices=2
	echo 32M >/sys/block/zram0/disksize
	echo 8M >/sys/block/zram1/disksize
	page_cluster=$(cat /proc/sys/vm/page-cluster)
	echo 0 >/proc/sys/vm/page-cluster
	mkswap /dev/zram0 >/dev/null
	swapon /dev/zram0
	echo 2 >/proc/sys/vm/nr_hugepages
	equal "reserved hugetlb pages" "$(cat /proc/sys/vm/nr_hugepages)" 2
}

# make_and_miss NAME
make_and_miss() {
	cause_target /dev/zram1 "$results/$1.truth" >"$results/$1.made" 2>target.err ||
		not_ok "memory is made and missed ($1)" "$(tail -n 1 target.err)"
}

workload() { make_and_miss "run${without:+.without}"; }

check() { equal "events lost" "$(column loss count what lost)" 0; }

# What is told while none of the probes that know better are there.
look() {
	local recorder probe options=()
	[ -n "$without" ] || return
	for probe in mm_copy mm_swap mm_huge mm_hugetlb mm_userfault; do
		options+=(--disable-probe "$probe")
	done
	faultline record "${options[@]}" -o "$results/few.flt" 2>few.err &
	recorder=$!
	if wait_for 60 grep -q recording few.err; then
		make_and_miss few
	else
		not_ok "recording begins (few)" "$(tail -n 1 few.err)"
	fi
	kill -INT "$recorder"
	wait "$recorder"
	equal "recorded few: exit" $? 0
}

teardown() {
	echo 0 >/proc/sys/vm/nr_hugepages
	swapoff /dev/zram0
	echo "$page_cluster" >/proc/sys/vm/page-cluster
	unload zram
	faultline-inject iopf unplug >inject.out 2>&1 || not_ok "unplug" "$(cat inject.out)"
	unload faultline_device
}

# compare RECORDING FALLBACK...
compare() {
	local recording=$1
	shift
	"$FAULTLINE" report "$recording.flt" --csv="$recording" --raw-time >/dev/null
	python3 "$reference/compare_causes.py" "$recording" "$made.made" "$@" || failed=1
	python3 "$reference/compare_requests.py" "$recording" "$made.truth" --no-timing --program cause_target || failed=1
}

# Linux 6.1 inlines do_anonymous_page(): what met nothing else counts as anonymous there.
host() {
	local other=present
	[ "$kernel" = 6.1 ] && other=anonymous
	made=run compare run --fallback present=$other
	made=run.without compare without --fallback present=$other --fallback shared=$other
	made=few compare few --fallback present=$other --fallback shared=$other --fallback huge=$other \
		--fallback hugetlb=file --fallback swapped=$other --fallback userfaultfd=error
}
