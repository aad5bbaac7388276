#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs one scenario in the guest: scenario.sh NAME LIMIT [PROBE]
#
# The workload is recorded once with every probe and once without PROBE. What was recorded is checked
# on the host (host.sh), where that costs nothing.
. /lab/lib.sh
scenario=$1
disabled=${3:-}
setup() { :; }
prepare() { :; }
look() { :; }
teardown() { :; }
. "/lab/scenarios/$scenario.sh"

record_workload() {
	prepare
	record_start
	workload
	record_stop
}

whole() {
	if declare -F guest >/dev/null; then
		guest
		return
	fi
	mkdir -p /work/results
	part setup
	setup
	record_workload
	keep_symbols
	look
	if [ -n "$disabled" ]; then
		without=$disabled
		record_workload
		look
		without=
	fi
	part teardown
	teardown
}

to_the_end
[ -n "${ended:-}" ] || not_ok "the scenario runs to its end" "an error of bash ended it: see its log"
echo "counted $passed $failed $skipped"
[ "$failed" -eq 0 ]
