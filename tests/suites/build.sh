#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The build: both programs and all tests, plain and with sanitizers; incremental; nothing rebuilt
# twice; a header change rebuilds its users.
set -uo pipefail
jobs=$(nproc)
passed=0 failed=0
step() {
	local name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "ok - $name"
	else
		failed=$((failed + 1))
		echo "not ok - $name"
	fi
}
nothing_to_do() { [ "$(make -j"$jobs" all tests | grep -cE '^  (CC|BPF|LINK)')" -eq 0 ]; }
header_rebuilds() {
	touch bpf/event.h
	local rebuilt
	rebuilt=$(make -j"$jobs" all | grep -cE '^  (CC|BPF) ')
	[ "$rebuilt" -gt 5 ]
}
step "programs and tests build" make -j"$jobs" all tests
step "a second make does nothing" nothing_to_do
step "a header change rebuilds what includes it" header_rebuilds
step "sanitized programs and tests build" \
	make -j"$jobs" BUILD=build/asan SANITIZE=1 all tests
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
