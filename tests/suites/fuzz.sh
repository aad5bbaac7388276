#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fuzz targets (tests/fuzz/*.c), each for FUZZ_SECONDS: a crash, a hang, a leak or too much memory fails. An input
# that takes minutes by the clock hangs on any machine. Arguments name some of them.
#
# A short run begins with the same seed and the inputs that the target makes. With FUZZ_COUNT, a file that lies
# elsewhere, `make fuzz-long`: a new seed; as many targets at a time as there are CPUs; how many inputs each had is
# added there, also of those that are stopped (Ctrl-C, SIGTERM); what has been found is kept beside that file, as
# small as it covers the same; what fails lies there.
set -uo pipefail
# What is fuzzed for seconds is built without optimization: that takes longer than all of the run.
seconds=${FUZZ_SECONDS:-3} count=${FUZZ_COUNT:-} build=build/fuzz optimize=1
[ -n "${FUZZ_SECONDS:-}$count" ] || { build=build/fuzz-short optimize=0; }
bin=$build/bin
export ASAN_OPTIONS=quarantine_size_mb=64
passed=0 failed=0 stopped=no pids=()
INTERRUPTED=72 # how libFuzzer ends when it is told to

make -s -j"$(nproc)" CC=clang BUILD=$build SANITIZE=fuzz FUZZ_OPTIMIZE=$optimize fuzz-programs || { echo "not ok - fuzz targets build"; exit 1; }
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(basename -s .c tests/fuzz/*.c)
keep=$build
if [ -n "$count" ]; then
	keep=$(dirname "$count")/fuzz
	mkdir -p "$keep" && touch "$count" || exit 1
fi

fuzz() { # TARGET SEED
	local corpus=$keep/$1.corpus
	[ -n "$count" ] || rm -rf "$corpus"
	mkdir -p "$corpus"
	"$bin/$1" --seeds "$corpus" &&
		"$bin/$1" -seed="$2" -max_total_time="$seconds" -timeout=200 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
			-print_final_stats=1 -artifact_prefix="$keep/$1." "$corpus"
}

# smaller TARGET: the corpus is what covers as much as all that was found.
smaller() {
	mkdir -p "$keep/$1.smaller" && "$bin/$1" -merge=1 -rss_limit_mb=2048 "$keep/$1.smaller" "$keep/$1.corpus" >/dev/null 2>&1 &&
		rm -rf "$keep/$1.corpus" && mv "$keep/$1.smaller" "$keep/$1.corpus"
}

tell() { # TARGET STATUS
	local inputs took=$((SECONDS - began))
	inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$1.log")
	[ "$stopped,$2" != "yes,$INTERRUPTED" ] || set -- "$1" 0
	# A target that ran nothing has found nothing, and not because there is nothing.
	if [ "$2" -eq 0 ] && [ "${inputs:-0}" -gt 0 ]; then
		passed=$((passed + 1))
		echo "ok - $1: $inputs inputs in $took s"
	else
		failed=$((failed + 1))
		tail -n 60 "$build/$1.log"
		echo "not ok - $1: exit $2"
	fi
	[ -z "$count" ] || echo "$(date -u +%FT%TZ) $(git rev-parse --short HEAD 2>/dev/null) $1 ${inputs:-0} $took $2" >>"$count"
}

if [ -z "$count" ]; then
	for target in "${targets[@]}"; do
		began=$SECONDS
		fuzz "$target" 1 >"$build/$target.log" 2>&1
		tell "$target" $?
	done
else
	stop() {
		stopped=yes
		for pid in "${pids[@]}"; do pkill -INT -P "$pid"; done
	}
	trap stop INT TERM
	for ((at = 0; at < ${#targets[@]}; at += $(nproc))); do
		[ $stopped = no ] || break
		some=("${targets[@]:at:$(nproc)}") pids=() began=$SECONDS
		for target in "${some[@]}"; do
			{ fuzz "$target" $((RANDOM * 32768 + RANDOM + 1)) && smaller "$target"; } >"$build/$target.log" 2>&1 &
			pids+=($!)
		done
		for i in "${!some[@]}"; do
			# A signal ends the wait, and not who is waited for.
			while kill -0 "${pids[i]}" 2>/dev/null; do wait "${pids[i]}"; done
			wait "${pids[i]}"
			tell "${some[i]}" $?
		done
	done
	awk '{ of[$3] += $4; all += $4 } END { for (name in of) print "  " of[name], name; print all " inputs in all, of 100000000" }' "$count"
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
