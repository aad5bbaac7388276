# SPDX-License-Identifier: GPL-2.0
# What TCP sends again, and why: two network namespaces with a NIC between them that loses what it is told to,
# against the namespaces' own counters; then the same as an emulated machine whose NIC has told of it.
#
# sample: new
# modules: tun
# files: build/tests/lab/programs/tcp_loss
# disabled: tcp_state

record_options="--tcp --kind tcp"

setup() {
	load tun
	wait_for 5 test -c /dev/net/tun
	mkdir -p /run/faultline
	chmod 700 /run/faultline
}

workload() {
	tcp_loss >made
	equal "segments were lost" $? 0
	keep made
}

look() {
	[ -z "${without:-}" ] || return 0
	TMPDIR=/tmp faultline record --as-root --kind tcp,nic,fault -o "$results/machine.flt" -- \
		tcp_loss --machine >"$results/machine.made" 2>machine.err
	equal "recorded as a machine" $? 0
}

check() {
	check_that "the namespaces' own counters" python3 "$reference/compare_tcp.py" ../run.flt made
	check_that "a NIC's losses and what was sent again" \
		python3 "$reference/compare_tcp.py" ../machine.flt ../machine.made --machine
}

check_without() {
	equal "states of congestion without their probe" "$(hits tcp_state)" 0
	check_that "retransmissions all the same" python3 "$reference/compare_tcp.py" ../without.flt made --without-states
}

teardown() { unload tun; }
