# SPDX-License-Identifier: GPL-2.0
# The emulated machine with the kernel's own swap behind its memory (backend = swap): pages leave by
# MADV_PAGEOUT and come back by the kernel's page-in, on a disk that answers late. Recorded, and held
# against the machine's own log. Two I/Os may ask for one page: the second request finds it there. On 6.1 a page
# that is read back for a write is mapped read-only first and faults again (51 of 51 writes, none of 25
# reads); the log knows one fault a page, so 6.1 is left out.
# kernels: 6.12 new
# sample: 6.12
# cpus: 2
# modules: null_blk configfs
# disabled: page_fault_user

setup() {
	load null_blk nr_devices=0
	[ -d /sys/kernel/config/nullb ] || mount -t configfs configfs /sys/kernel/config
	faultline-inject slow --name late --size 64M --delay 1ms --swap --no-readahead --csv=late.csv 2>late.err &
	late_pid=$!
	wait_for 30 test -s late.csv || not_ok "swap that answers late" "$(cat late.err)"
	cat >swap.ini <<-'INI'
		[machine]
		directory = /tmp
		[tenant vm]
		backend = swap
		count = 2
		memory = 8M
		[device disk]
		tenant = vm*
		queues = 2
		file_bytes = 4M
		group_pages = 3
		[workload mix]
		device = vm*/disk
		sizes = 4K, 16K
		read_percent = 61
		depth = 2
		rate = 97/s
		count = 211
		[inject cold]
		action = evict
		what = next
		kind = major
		pages = 2
		rate = 23/s
		duration = 60s
		times = 41
	INI
}

# Pages that the kernel wrote to swap.
swapped_out() { sed -n "s/^pswpout //p" /proc/vmstat; }

workload() {
	local status
	written=$(swapped_out)
	rm -f results.csv
	faultline-inject run swap.ini --truth "$results/truth${without:+.without}" --csv=results.csv >run.out 2>run.err
	status=$?
	written=$(($(swapped_out) - written))
	equal "the machine ends well: $(tail -n 1 run.err)" $status 0
	echo "$written" >written
	keep results.csv written
}

check() {
	local evicted written=$(<written)
	evicted=$(cell_of evicted results.csv)
	equal "events lost" "$(column loss count what lost)" 0
	equal "I/Os, evictions and errors" "$(awk -F , '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ print $at["ios"], $at["evicted"] == $at["evict_asked"], $at["errors"], $at["violations"] }' results.csv)" "422 1 0 0"
	# One that came back and was not written to keeps its place in swap.
	check_that "the kernel wrote $written pages for $evicted evictions" test "$evicted" -gt 20 -a "$written" -gt 20
}

check_without() {
	equal "CPU faults are not seen" "$(hits page_fault_user)" 0
}

teardown() {
	kill -INT $late_pid
	wait $late_pid
	equal "the swap is taken down" $? 0
	equal "nothing is swapped to any more" "$(sed 1d /proc/swaps)" ""
	unload null_blk
}

host() {
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null
	python3 "$reference/compare_truth.py" tables truth --evictions-race >verdict || failed=1
	grep -v '^[0-9]* passed' verdict
	grep -q ' passed, ' verdict || not_ok "compared" "$(tail -n 1 verdict)"
}
