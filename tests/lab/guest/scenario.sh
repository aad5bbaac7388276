#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs one scenario in the guest: scenario.sh NAME LIMIT [PROBE]
#
# The workload runs once with every probe and once without PROBE; each time the table of stages must
# be what the scenario's table says, and without PROBE its row must say "not seen".
. /lab/lib.sh
scenario=$1
disabled=${3:-}
check_without() { :; }
setup() { :; }
prepare() { :; }
teardown() { :; }
. "/lab/scenarios/$scenario.sh"

if declare -F guest >/dev/null; then
	guest
else
	mkdir -p /work/results
	part setup
	setup
	prepare
	record_start
	workload
	record_stop
	stage_table
	check
	if [ -n "$disabled" ]; then
		without=$disabled
		prepare
		record_start
		workload
		record_stop
		stage_table
		check_without "$disabled"
		without=
	fi
	part teardown
	teardown
fi
echo "counted $passed $failed $skipped"
[ "$failed" -eq 0 ]
