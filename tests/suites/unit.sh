#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# unit.sh DIRECTORY [COMMAND...]: every cmocka program of a build directory, run by the command; sums their
# counts. A skip is proven by tests/proofs.sh. All tests that a program begins end by its own account, or it
# left in the middle, whatever its exit status.
set -uo pipefail
build=$1 behind=("${@:2}")
export FAULTLINE_RUN_DIR=/run/faultline-unit.$$
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
passed=0 failed=0 skipped=0 costs=''
told=$(mktemp)
summed() { sed -nE "s/.*\[==========\] $1.*/\1/p" <<<"$output" | awk '{ sum += $1 } END { print sum + 0 }'; }
for program in "$build"/tests/unit/test_*; do
	[ -x "$program" ] && [ -f "$program" ] || continue
	case $program in *.o | *.d) continue ;; esac
	output=$(tests/watchdog.py run --cpu 600 --quiet 120 --told "$told" -- "${behind[@]}" "$program" 2>&1)
	status=$?
	costs+="$(cat "$told") ${program##*/test_}"$'\n'
	echo "$output"
	p=$(grep -c '^\[       OK \]' <<<"$output")
	f=$(sed -nE 's/^\[  FAILED  \] ([0-9]+) test\(s\).*/\1/p' <<<"$output" | head -n 1)
	f=${f:-0}
	s=$(grep -c '^\[  SKIPPED \] [a-z]' <<<"$output")
	while read -r name; do
		if proof=$(tests/proofs.sh unit "$name"); then
			echo "skip - $name: tried again: $proof"
		else
			echo "not ok - $name: $proof"
			f=$((f + 1))
		fi
	done < <(sed -n 's/^\[  SKIPPED \] \([a-z_0-9]*\)$/\1/p' <<<"$output" | sort -u)
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok - $program ended with $status"
		f=1
	fi
	begun=$(summed 'Running ([0-9]+) test\(s\)\.') ended=$(summed '([0-9]+) test\(s\) run\.')
	if [ "$f" -eq 0 ] && { [ "$begun" -eq 0 ] || [ "$begun" -ne "$ended" ]; }; then
		echo "not ok - $program began $begun tests and ended $ended"
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
rmdir "$FAULTLINE_RUN_DIR" 2>/dev/null
rm -f "$told"
echo "# CPU seconds, the dearest: $(sort -rn <<<"$costs" | head -n 12 | awk '{ print $2, $1 }' | paste -sd, | sed 's/,/, /g')"
[ $((passed + failed + skipped)) -gt 0 ] || { echo "not ok - no test program in $build/tests/unit" && failed=1; }
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
