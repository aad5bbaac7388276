# SPDX-License-Identifier: GPL-2.0
# Pages leave for swap and storage that answers as late as it was told, and come back as late: the
# process's own clock and fault counters against the delay, the report of `pageout` and the faults
# recorded. null_blk completes from a timer and never early; dm-delay counts ticks of 4 ms.
# sample: new
# iommu: intel
# disk: late 64M
# devices: -device virtio-blk-pci,drive=late,serial=late
# modules: virtio_blk null_blk configfs dm_mod dm_delay
# files: build/tests/lab/programs/page_target
# disabled: mm_swap

group=/sys/fs/cgroup/paged
longest=60000000 # us
disk() {
	local name
	for name in /sys/block/vd*; do
		[ "$(cat "$name/serial")" = late ] && echo "/dev/$(basename "$name")"
	done
}

setup() {
	load virtio_blk
	load null_blk nr_devices=0
	load dm_mod
	load dm_delay
	[ -d /sys/kernel/config/nullb ] || mount -t configfs configfs /sys/kernel/config
	wait_for 5 test -n "$(disk)"
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p $group
	page_cluster=$(cat /proc/sys/vm/page-cluster)
	target_start recorded anonymous 13
	record_options="-p ${pids[recorded]}"
}

# late_start OPTION...: a slow device whose row is in late.csv.
late_start() {
	rm -f late.csv
	faultline-inject slow --name late --no-readahead --csv=late.csv "$@" 2>late.err &
	late_pid=$!
	if ! wait_for 30 test -s late.csv; then
		not_ok "slow device ($*)" "$(cat late.err)"
		return 1
	fi
	device=$(sed -n '2s/,.*//p' late.csv)
}
late_end() {
	kill -INT "$late_pid"
	wait "$late_pid"
	equal "the slow device is taken down ($1)" $? 0
	nothing_left "$1"
}
nothing_left() {
	local left
	left=$(sed 1d /proc/swaps; ls /sys/kernel/config/nullb | grep -v features; ls -d /sys/block/late /sys/block/nullb* /sys/block/dm-* 2>/dev/null; ls /run/faultline 2>/dev/null | grep journal)
	equal "nothing is left ($1)" "$left" ""
	equal "readahead of swap is as before ($1)" "$(cat /proc/sys/vm/page-cluster)" "$page_cluster"
}

# target_start NAME KIND PAGES [FILE]: a process in the group, told what to do through two pipes.
declare -A asks answers pids addresses
target_start() {
	local name=$1 in out
	shift
	rm -f in out
	mkfifo in out
	(
		echo "$BASHPID" >$group/cgroup.procs
		exec page_target "$@" <in >out
	) &
	exec {in}>in {out}<out
	asks[$name]=$in answers[$name]=$out
	read -r addresses[$name] pids[$name] <&"$out"
}
# tell NAME WORD: what it says is left in $answer.
tell() {
	echo "$2" >&"${asks[$1]}"
	read -r answer <&"${answers[$1]}"
}
target_end() {
	exec {asks[$1]}>&- {answers[$1]}<&-
	wait "${pids[$1]}"
}
# cell COLUMN: sum of that column of the report of pageout.
cell() { sum_of "$1" out.csv; }

# evict NAME PAGES OUTCOME OPTION...: until all of its pages have left memory for good.
evict() {
	local name=$1 pages=$2 outcome=$3 tries
	shift 3
	for tries in 1 2 3 4 5 6 7 8; do
		rm -f out.csv
		faultline-inject pageout -p "${pids[$name]}" --range "${addresses[$name]}+$((pages * 4))K" \
			--yes-i-mean-it "${pids[$name]}" --csv=out.csv "$@" 2>err || break
		if [ "$tries" = 1 ]; then
			equal "$name: asked" "$(cell asked)" "$pages"
			equal "$name: evicted + skipped" "$(($(cell evicted) + $(cell skipped)))" "$pages"
			equal "$name: evicted" "$(cell evicted)" "$pages"
		fi
		[ "$(cell "$outcome")" = "$pages" ] && return
		[ "$(cell absent)" = "$pages" ] && return
	done
	not_ok "$pages pages of $name are evicted" "$(cat out.csv err)"
}

# faults NAME PAGES WHAT LEAST_US [MOST_US]: touches all pages. The shortest tells the storage's delay. MOST_US
# is for storage inside the guest, whose clock the host's load does not move: a disk of the host's answers when
# the host gets to it.
faults() {
	local name=$1 minor major least middle most wrong
	tell "$name" present
	equal "$3: pages mapped" "${answer% *}" 0
	tell "$name" read
	read -r minor major least middle most wrong <<<"$answer"
	echo "# $3: $least / $middle / $most us (shortest, median, longest)"
	equal "$3: major faults of the process" "$major" "$2"
	equal "$3: minor faults of the process" "$minor" 0
	equal "$3: pages with wrong content" "$wrong" 0
	between "$3: shortest us" "$least" "$4" "${5:-$longest}"
	shortest=$least
}

# on_swap MS: of the process whose faults are recorded. on_device MS PAGES: of another one.
on_swap() {
	evict recorded 13 to_swap --reclaim=32M
	faults recorded 13 "$1 swap, $2 ms" "$3" "$4"
	recorded_faults=$((recorded_faults + 13))
	echo "$2,$shortest" >>delays
}
on_device() {
	target_start mapper file 7 "$device"
	evict mapper 7 to_storage
	faults mapper 7 "$1 mapped, $2 ms" "$3" "$4"
	target_end mapper
}

# null_blk never answers early; dm-delay counts ticks of 4 ms and may.
null() {
	local use=$1 ms=$2
	late_start --size 64M --delay "${ms}ms" $([ "$use" = on_swap ] && echo --swap) || return
	$use null_blk "$ms" $((ms * 1000)) $((ms * 1000 + 4000))
	late_end "null_blk $use"
}
mapper() {
	local use=$1 ms=$2
	late_start --over "$(disk)" --delay "${ms}ms" --yes-i-mean-it "$(disk)" $([ "$use" = on_swap ] && echo --swap) || return
	$use dm-delay "$ms" $((ms * 1000 - 4000))
	late_end "dm-delay $use"
}

# Killed wherever it is just now; what it left is undone by the next recover, or the next start.
kill_and_recover() {
	local round
	for round in 1 2 3 4 5; do
		faultline-inject slow --name late --size 16M --delay 5ms --swap --no-readahead >/dev/null 2>&1 &
		late_pid=$!
		sleep "0.$((round * 7 % 10))"
		kill -KILL "$late_pid"
		wait "$late_pid" 2>/dev/null
		faultline-inject recover >recover.out 2>&1 || not_ok "recover" "$(cat recover.out)"
	done
	nothing_left "killed $round times"
	late_start --size 16M --delay 5ms --swap || return
	evict recorded 13 to_swap --reclaim=32M
	kill -KILL "$late_pid"
	wait "$late_pid" 2>/dev/null
	equal "swap outlives the program that was killed" "$(sed 1d /proc/swaps | wc -l)" 1
	faultline-inject recover >recover.out
	equal "recover undoes all of it" "$(sed -n 's/.*; \([0-9]* changes* undone\)/\1/p' recover.out)" "4 changes undone"
	nothing_left "recover"
	tell recorded read
	equal "what was in that swap is intact" "${answer##* }" 0
	late_start --over "$(disk)" --delay 4ms --yes-i-mean-it "$(disk)" || return
	killed=$late_pid
	kill -KILL "$late_pid"
	wait "$late_pid" 2>/dev/null
	late_start --size 16M --delay 1ms || return
	check_that "the next start says what it undid" grep -q "changes undone that process $killed" late.err
	late_end "the next start"
}

refusals() {
	late_start --size 16M --delay 1ms || return
	faultline-inject slow --name late --size 16M --delay 1ms --duration 1s >/dev/null 2>err
	equal "a name that is taken: exit" $? 1
	check_that "a name that is taken is refused" grep -q 'choose another' err
	check_that "the device of that name is still there" test -b "$device"
	faultline-inject slow --name other --over "$(disk)" --delay 4ms --duration 1s >/dev/null 2>err
	equal "a disk without consent: exit" $? 4
	late_end "refusals"
}

workload() {
	recorded_faults=0
	: >delays
	null on_swap 5
	if [ -z "$without" ]; then
		null on_swap 20
		null on_device 20
		null on_device 50
		mapper on_swap 20
		mapper on_device 50
		kill_and_recover
		refusals
	fi
	echo "${pids[recorded]} $((addresses[recorded])) 13 $recorded_faults $(paste -sd ' ' delays)" >"$results/expected${without:+.without}"
}

check() { equal "events lost" "$(column loss count what lost)" 0; }

teardown() {
	target_end recorded
	rmdir $group
	unload dm_delay null_blk
}

# Each touch of an absent page is one fault of the recorded process, and there are no others; each
# took as long as the storage behind it. Prints CPU faults, mm faults, those from swap that
# were major, and rounds of 13 whose shortest took as long as the delay, and no longer than for the process.
seen() {
	local recording=$1
	shift
	PYTHONPATH=$reference python3 - "$recording" "$(kind_number CPU_FAULT)" "$(kind_number MM_FAULT)" "$@" <<-'PY'
		import sys
		import flt_read
		recording, cpu_fault, mm_fault, pid, first, pages, _, *delays = sys.argv[1:]
		pid, first, pages = int(pid), int(first), int(pages)
		def of(kind):
		    return [fields for name, fields in flt_read.read(recording) if name == "event" and fields[10] == int(kind)
		            and fields[8] == pid and first <= fields[1] < first + pages * 4096]
		mm = of(mm_fault)
		took = [fields[3] for fields in mm]
		held = 0
		for round, (delay_ms, shortest_us) in enumerate(map(int, words.split(",")) for words in delays):
		    some = took[round * pages:(round + 1) * pages]
		    held += bool(some) and delay_ms * 1e6 - 4e6 <= min(some) <= (shortest_us + 1) * 1e3
		print(len(of(cpu_fault)), len(mm), sum(fields[13] == 7 and bool(fields[14] & 32) for fields in mm), held)
	PY
}
host() {
	local words
	read -ra words <expected
	equal "CPU faults in the range, mm faults, from swap, rounds within their delay, as recorded" \
		"$(seen run.flt "${words[@]}")" "${words[3]} ${words[3]} ${words[3]} $((${#words[@]} - 4))"
	read -ra words <expected.without
	equal "without mm_swap nothing is told to come from swap" \
		"$(seen without.flt "${words[@]}")" "${words[3]} ${words[3]} 0 1"
}
