#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What root runs survives strangers: every tests/hostile/*.sh, one a theme, summed up. Arguments name some
# of them. HOSTILE=long is the longer form of each, `make hostile`.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0 skipped=0 retried=0
themes=("$@")
[ $# -gt 0 ] || mapfile -t themes < <(basename -s .sh tests/hostile/*.sh)
output=$(mktemp)
trap 'rm -f "$output"' EXIT
for theme in "${themes[@]}"; do
	echo "== $theme"
	# Machines that run for an hour end with it, however it ends.
	tests/watchdog.py run --cpu 3600 --quiet 900 -- bash "tests/hostile/$theme.sh" 2>&1 | tee "$output"
	status=${PIPESTATUS[0]}
	# A theme that does not come to its last line has failed, whatever it has printed.
	if [[ $(tail -n 1 "$output") =~ ^[^:]*:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped,\ ([0-9]+)\ retried$ ]]; then
		p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]} r=${BASH_REMATCH[4]}
	else
		p=0 f=1 s=0 r=0
		echo "not ok - $theme ended with $status and no sum"
	fi
	# Also one that a part in the background has printed, whose count is lost.
	printed=$(grep -c '^not ok' "$output")
	[ "$printed" -le "$f" ] || f=$printed
	if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((p + s)) -eq 0 ]; }; then
		f=1
		echo "not ok - $theme ended with $status"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) retried=$((retried + r))
done
echo "$passed passed, $failed failed, $skipped skipped, $retried retried"
[ "$failed" -eq 0 ]
