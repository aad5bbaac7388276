#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fuzz targets, each for a few seconds with a fixed seed: a crash, a hang or a leak fails. An input that
# takes minutes by the clock hangs on any machine.
set -uo pipefail
seconds=${FUZZ_SECONDS:-15}
passed=0 failed=0
for source in tests/fuzz/*.c; do
	[ -e "$source" ] || continue
	name=$(basename "$source" .c)
	if make -s "build/fuzz/$name" && "build/fuzz/$name" -seed=1 -max_total_time="$seconds" -timeout=200 \
		-rss_limit_mb=2048 "build/fuzz/$name.corpus"; then
		passed=$((passed + 1))
		echo "ok - $name: $seconds s"
	else
		failed=$((failed + 1))
		echo "not ok - $name"
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
