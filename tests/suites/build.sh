#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The build: programs and all tests, plain and with sanitizers; nothing is rebuilt twice; a header change
# rebuilds its users. `build.sh FILE` makes the file as soon as there are programs.
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
programs() { make -j"$jobs" all lab-programs build/bench/storm && : >"${1:-/dev/null}"; }
nothing_to_do() { [ "$(make -j"$jobs" all tests lab-programs | grep -cE '^  (CC|BPF|LINK)')" -eq 0 ]; }
# make is asked what it would do: who includes the header, or one that does, is rebuilt; others are not.
header_rebuilds() {
	local rebuilt users all
	all=$(find bpf lib tools injectors -name '*.c' -not -path 'injectors/kmod/*' | sort)
	# shellcheck disable=SC2086
	users=$(grep -lF -e '#include "bpf/event.h"' -f <(grep -rlF '#include "bpf/event.h"' --include='*.h' \
		bpf lib tools injectors | sed 's/.*/#include "&"/') $all)
	rebuilt=$(make -n -W bpf/event.h all | sed -nE "s/^printf .* '(CC|BPF)' '(.*)';$/\2/p" | sort)
	[ "$(wc -w <<<"$users")" -gt 20 ] && [ -z "$(comm -13 <(echo "$rebuilt") <(echo "$users"))" ] &&
		[ "$(wc -w <<<"$rebuilt")" -lt "$(wc -w <<<"$all")" ]
}
step "programs build" programs "${1:-}"
step "tests build" make -j"$jobs" tests build/tests/stall
step "a second make does nothing" nothing_to_do
step "a header change rebuilds what includes it" header_rebuilds
step "sanitized programs and tests build" \
	make -j"$jobs" BUILD=build/asan SANITIZE=1 all tests
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
