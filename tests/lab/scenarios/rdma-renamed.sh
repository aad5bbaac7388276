# SPDX-License-Identifier: GPL-2.0
# An RDMA device is renamed while it is recorded, and another one gets its old name: what each counted is told of the
# name that it had then, once, and nothing is kept of a name that no device has.
# sample: new
# modules: ib_uverbs rdma_rxe dummy
# modules 6.1: ib_uverbs rdma_rxe dummy crc32_generic
# modules 6.12: ib_uverbs rdma_rxe dummy crc32_generic
# programs: rdma ip
# paths: /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so /etc/libibverbs.d/rxe.driver
# disabled: rdma_rename

# link NAME NUMBER: soft-RoCE over a network device of its own.
link() {
	ip link add "dummy$2" type dummy
	ip link set "dummy$2" mtu 9000 up
	ip address add "10.87.$2.1/24" dev "dummy$2"
	rdma link add "$1" type rxe netdev "dummy$2"
	wait_for 5 test -e "/dev/infiniband/uverbs$2"
}

setup() {
	load ib_uverbs
	[ "$kernel" = new ] || load crc32_generic
	load rdma_rxe
	load dummy numdummies=0
	link rxe0 0
}

# What the kernel counted of a device: receiver-not-ready answers.
statistic() { rdma statistic show link "$1/1" | tr ' ' '\n' | awk 'found { print; exit } $0 == "send_rnr_err" { found = 1 }'; }
traffic() {
	check_that "traffic over $1" faultline-inject odp --device "$1" --pinned --evict none --operation send --count 3 --late 30ms --passes 1
}
# RDMA devices in the recorder's map.
kept() { bpftool -j map dump name devices | grep -o '"kind":5\b' | wc -l; }

workload() {
	local first
	first=$(statistic rxe0)
	traffic rxe0
	# What has moved is told ten times a second.
	pause 0.5
	equal "RDMA devices kept" "$(kept)" 1
	moved=$(($(statistic rxe0) - first))
	check_that "rxe0 is renamed" rdma dev set rxe0 name other0
	traffic other0
	pause 0.5
	check_that "to the name that it has, too" rdma dev set other0 name other0
	equal "RDMA devices kept, once it is renamed (${without:-all probes})" "$(kept)" "$([ -z "$without" ] && echo 1 || echo 2)"
	moved_renamed=$(($(statistic other0) - first - moved))
	link rxe0 1
	traffic rxe0
	pause 0.5
	moved_second=$(statistic rxe0)
	rdma link delete rxe0
	ip link delete dummy1
	rdma dev set other0 name rxe0
	[ -n "$without" ] || remember moved moved_renamed moved_second
}

counted() { column rdma_counters count device "$1" counter rnr_sent | paste -sd ' '; }

check() {
	equal "events lost" "$(column loss count what lost)" 0
	equal "what it counted under its new name" "$(counted other0)" "$moved_renamed"
	equal "what both that were rxe0 counted under that" "$(rows rdma_counters device counter count |
		awk -F '\t' '$1 ~ /^rxe0/ && $2 == "rnr_sent" { print $3 }' | sort -n | paste -sd ' ')" \
		"$(printf '%s\n' "$moved" "$moved_second" | sort -n | paste -sd ' ')"
}

teardown() {
	rdma link delete rxe0
	ip link delete dummy0
	unload rdma_rxe dummy
}
