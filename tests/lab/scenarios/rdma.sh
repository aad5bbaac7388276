# SPDX-License-Identifier: GPL-2.0
# RDMA on-demand paging on soft-RoCE: each fault against a page that the injector has proven absent,
# retransmissions and receiver-not-ready answers against the kernel's own statistic.
#
# Soft-RoCE pages on demand since Linux 6.15. Before, the same traffic runs over pinned memory: the
# device's counters are read, and of the rest it is said that this driver has none.
# sample: new
# modules: ib_uverbs rdma_rxe mlx5_ib dummy null_blk configfs
# modules 6.1: ib_uverbs rdma_rxe mlx5_ib dummy null_blk configfs crc32_generic
# modules 6.12: ib_uverbs rdma_rxe mlx5_ib dummy null_blk configfs crc32_generic
# programs: rdma ip ibv_rc_pingpong
# paths: /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so /etc/libibverbs.d/rxe.driver
# disabled: odp_resolved
# disabled 6.1: rdma_counters
# disabled 6.12: rdma_counters

group=/sys/fs/cgroup/paged
on_demand() { [ "$kernel" = new ]; }

setup() {
	load ib_uverbs
	# Asked for by name, which no table of modules tells.
	on_demand || load crc32_generic
	load rdma_rxe
	load mlx5_ib
	load dummy numdummies=0
	load null_blk nr_devices=0
	[ -d /sys/kernel/config/nullb ] || mount -t configfs configfs /sys/kernel/config
	[ -e $group ] || echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p $group
	ip link set lo up
	if on_demand; then
		rdma link add rxe0 type rxe netdev lo
	else
		# A network device of its own; its MTU decides about RDMA's.
		ip link add dummy0 type dummy
		ip link set dummy0 mtu 9000 up
		ip address add 10.87.0.1/24 dev dummy0
		rdma link add rxe0 type rxe netdev dummy0
	fi
	wait_for 5 test -e /dev/infiniband/uverbs0
}

# The kernel's own statistic.
statistic() { rdma statistic show link rxe0/1 | tr ' ' '\n' | awk -v name="$1" 'found { print; exit } $0 == name { found = 1 }'; }
moved() { echo $((${after[$1]} - ${before[$1]})); }
counted="send_rnr_err rcvd_rnr_err completer_retry_err duplicate_request"
declare -A before after
prepare() {
	local name
	for name in $counted; do before[$name]=$(statistic "$name"); done
	rm -f ./*.csv
}

# traffic NAME OPTION...: its own counts are in NAME.csv.
traffic() {
	local name=$1
	shift
	check_that "$name: traffic" faultline-inject odp --device rxe0 --csv="$name.csv" "$@"
}
# own COLUMN FILE...: sum of a column.
own() {
	local column=$1
	shift
	cat "$@" | awk -F, -v column="$column" '
		$1 == "operation" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ sum += $at[column] } END { print sum + 0 }'
}

slowly() {
	# Off the group's memory for good, into swap that answers after 20 ms: longer than the timeout.
	cat >slowly <<-END
		echo \$\$ >$group/cgroup.procs
		faultline-inject odp --device rxe0 --operation write,read --count 13 --evict pageout --csv=pageout.csv
		faultline-inject odp --device rxe0 --operation write --count 11 --evict reclaim --cgroup $group \
			--timeout 9 --csv=slow.csv
	END
	check_that "slow: traffic" faultline-inject slow --name late --size 64M --delay 20ms --swap --no-readahead \
		-- bash -e slowly
}

# The port of the stock programs, 18515, in the tables of TCP sockets.
listening() { grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6; }
# stock PROGRAM OPTION...: as two processes over lo.
stock() {
	local program=$1 server
	"$@" >"$program.server" 2>&1 &
	server=$!
	wait_for 30 listening || not_ok "$program: server listens" "$(tail -n 1 "$program.server")"
	check_that "$program: client" "$@" 127.0.0.1
	wait $server
	equal "$program: server" $? 0
}

workload() {
	local name
	if on_demand; then
		paging_traffic
	else
		traffic pinned --pinned --evict none --count 19
		traffic late --pinned --evict none --operation send --count 3 --late 30ms --passes 1
	fi
	for name in $counted; do after[$name]=$(statistic "$name"); done
	declare -p before after >statistics
	keep ./*.csv statistics
}

paging_traffic() {
	traffic all --count 61
	traffic two --two-processes --operation write,read-local --count 13 --passes 3 --evictions 2
	traffic prefetch --operation write,read --count 17 --prefetch
	traffic late --operation send --count 3 --late 30ms --passes 1
	traffic pinned --pinned --operation write,read --count 19
	traffic offset --operation write,send --offset 512 --message 64 --count 7
	slowly
	stock ibv_rc_pingpong -o -d rxe0 -g 1 -m 4096 -s 4096 -n 53
}

counter() {
	local value
	value=$(column rdma_counters count device rxe0 counter "$1")
	echo "${value:-0}"
}
# ours COLUMN: of the injector's regions, summed.
ours() { column odp "$1" process faultline-injec | sum; }

check_counters() {
	equal "receiver-not-ready answers sent" "$(counter rnr_sent)" "$(moved send_rnr_err)"
	equal "receiver-not-ready answers received" "$(counter rnr_received)" "$(moved rcvd_rnr_err)"
	equal "retransmissions" "$(counter retries)" "$(moved completer_retry_err)"
	equal "duplicate requests" "$(counter duplicates)" "$(moved duplicate_request)"
	between "a late receive is answered with receiver-not-ready" "$(counter rnr_sent)" 3 300
}

# Their device exists nowhere here: attached, and that is all that can be shown.
check_mlx5() {
	local probe
	for probe in fault_event fault_queued fault_handler fault_mapped fault_resume invalidate prefetch prefetch_work; do
		equal "mlx5_$probe is attached (never fires here)" "$(column probes state probe mlx5_$probe) $(hits mlx5_$probe)" "on 0"
	done
}

check_without_paging() {
	local probe
	for probe in rxe_invalidate rxe_prefetch rxe_prefetch_work; do
		equal "$probe is off" "$(column probes state probe $probe)" off
		check_that "$probe says why" grep -q "^this kernel has no rxe_ib_" <(column probes reason probe $probe)
	done
	equal "on-demand faults" "$(rows odp faults | wc -l)" 0
}

look() {
	[ -z "$without" ] || return
	# Where the lock may be let go, a fault that waits for storage is tried a second time.
	again=$(grep -q ' hmm_range_fault_unlocked_timeout' /proc/kallsyms && echo 11)
	remember again
	! on_demand || return
	if faultline-inject odp --device rxe0 --count 1 2>refused; then
		not_ok "traffic over on-demand memory is refused" "it went through"
	else
		check_that "traffic over on-demand memory is refused" grep -q "does not page on demand" refused
	fi
}

check_faults() {
	local forced prefetched faults ones
	forced=$(own forced all.csv two.csv prefetch.csv late.csv offset.csv pageout.csv slow.csv)
	prefetched=$(own prefetched prefetch.csv)
	faults=$((forced - prefetched))
	equal "pages forced" "$forced" $((6 * 61 + 2 * 2 * 13 + 2 * 17 + 3 + 2 * 7 + 2 * 13 + 11))
	equal "pages brought by advice" "$prefetched" $((2 * 17))
	equal "on-demand faults = pages forced" "$(ours faults)" "$faults"
	equal "pages that they brought" "$(ours pages)" "$faults"
	equal "faults that failed" "$(ours failed)" 0
	for ones in "fault handler started" "fault resolved" "fault mapped"; do
		equal "events: $ones" "$(column events events kind "$ones")" "$(column odp faults process all)"
	done
	equal "handle_mm_fault within them" "$(hits mm_fault)" $(($(column odp faults process all) + again))
	equal "prefetches" "$(ours prefetches)" "$(own prefetches prefetch.csv)"
	equal "pages of prefetches" "$(ours prefetched_pages)" "$prefetched"
	equal "faults of which storage was read" "$(ours major)" 11
	check_second_passes
}

# Nothing faults twice: a pass that begins without an eviction forces nothing, and no fault is left over.
check_second_passes() {
	equal "pages forced by second passes" "$(awk -F, '$2 == 2 { n += $4 } END { print n + 0 }' all.csv)" 0
	equal "operations completed" "$(own completed all.csv two.csv)" "$(own posted all.csv two.csv)"
	equal "operations with wrong data, page-aligned" \
		"$(own wrong all.csv two.csv prefetch.csv late.csv pageout.csv slow.csv)" 0
	between "operations with wrong data, at an offset in the page: the kernel's own bug" "$(own wrong offset.csv)" 0 28
	[ "$(own wrong offset.csv)" = 28 ] || echo "# this kernel's rxe takes the offset in a page into account"
	equal "operations that pinned memory has parted from the process" "$(own wrong pinned.csv)" $((2 * 2 * 19))
}

# One call of MADV_DONTNEED takes a range at once, reclaim page by page.
check_invalidations() {
	equal "invalidations" "$(ours invalidations)" \
		$(($(own evictions all.csv two.csv prefetch.csv late.csv offset.csv) + $(own forced pageout.csv slow.csv)))
	equal "pages the device lost" "$(ours invalidated_pages)" "$(own forced all.csv two.csv prefetch.csv late.csv \
		offset.csv pageout.csv slow.csv)"
}

check_slow() {
	local longest
	longest=$(column rdma_counters longest_fault_ns device rxe0 counter retries)
	between "shortest of the slow operations, us" "$(awk -F, 'NR == 2 { print int($12 / 1000) }' slow.csv)" 20000 400000
	between "retransmissions during faults" "$(column rdma_counters during_faults device rxe0 counter retries)" 1 \
		"$(moved completer_retry_err)"
	between "longest fault beside them, us" $((longest / 1000)) 20000 2000000
	check_that "report links the two" grep -q "retransmissions, .* between readings in which on-demand faults" \
		<(faultline report ../run.flt | tr '\n' ' ')
}

check() {
	. ./statistics
	equal "events lost" "$(column loss count what lost)" 0
	check_counters
	check_mlx5
	equal "device" "$(column devices kind device rxe0)" ib
	if ! on_demand; then
		check_without_paging
		return
	fi
	check_faults
	check_invalidations
	check_slow
	equal "regions of ibv_rc_pingpong" "$(column odp region process ibv_rc_pingpong | wc -l)" 2
}

check_without() {
	equal "$1 is reported as left out" "$(column probes state probe "$1")" "not asked"
	if on_demand; then
		equal "events: fault resolved (without)" "$(column events events kind 'fault resolved')" ""
		equal "on-demand faults = pages forced (without)" "$(ours faults)" \
			$(($(own forced all.csv two.csv prefetch.csv late.csv offset.csv pageout.csv slow.csv) - $(own prefetched prefetch.csv)))
	else
		equal "counters (without)" "$(rows rdma_counters count | wc -l)" 0
	fi
}

teardown() {
	rdma link delete rxe0
	ip link delete dummy0 2>/dev/null
	rmdir $group
	unload rdma_rxe dummy mlx5_ib null_blk
}

host() {
	# Before Linux 7 soft-RoCE has no on-demand paging: there are no rows to compare.
	[ "$kernel" != new ] || top_is_report rdma odp
}
