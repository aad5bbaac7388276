#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the shipped campaigns with their full grids, one CSV (of simulations: a folder) each in
# build/campaigns/.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/campaigns
passed=0 failed=0
tests/vm/guest.sh >/dev/null || echo "campaigns: those of virtual machines will fail"
for job in injectors/jobs/*.ini; do
	name=$(basename "$job" .ini)
	[[ $name == *demo ]] && continue
	rm -f "build/campaigns/$name.csv"
	if ./faultline-inject run "$job" --csv="build/campaigns/$name.csv"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
for job in tools/jobs/*.ini; do
	# A job runs with the verb that its name begins with.
	verb=sim name=$(basename "$job" .ini)
	case $name in
	fleet-*) verb=fleet ;;
	fabric-*) verb=fabric ;;
	protect-*) continue ;; # of a recording: tests/e2e/fleet.sh
	*) name=sim-$name ;;
	esac
	rm -rf "build/campaigns/$name"
	if ./faultline "$verb" "$job" --csv="build/campaigns/$name"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
echo "campaigns: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
