#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs every suite, prints each one's counts, then the sum. `tests/check.sh [SUITE...]` runs some.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

logs=build/check
mkdir -p "$logs"
sum_passed=0 sum_failed=0 sum_skipped=0
broken=()

wanted() { [ ${#only[@]} -eq 0 ] || printf '%s\n' "${only[@]}" | grep -qx "$1"; }

# execute NAME SECONDS COMMAND...: into a log, with its exit status and the time it took.
execute() {
	local name=$1 limit=$2 begin=$SECONDS
	shift 2
	timeout --kill-after=10 "$limit" "$@" >"$logs/$name.log" 2>&1 </dev/null
	echo "$? $((SECONDS - begin)) $limit" >"$logs/$name.status"
}

# tell NAME: a suite's last "N passed, N failed, N skipped" line counts; a suite that prints none, times
# out or exits nonzero with no failure counted is itself one failure.
tell() {
	local name=$1 status seconds limit line
	read -r status seconds limit <"$logs/$name.status"
	line=$(grep -E '[0-9]+ passed, [0-9]+ failed' "$logs/$name.log" | tail -n 1)
	if [[ $line =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
		local p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[4]:-0}
	else
		local p=0 f=1 s=0
	fi
	[ "$status" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	sum_passed=$((sum_passed + p)) sum_failed=$((sum_failed + f)) sum_skipped=$((sum_skipped + s))
	echo "$name: $p passed, $f failed, $s skipped ($seconds s)"
	grep -E '^skip - ' "$logs/$name.log" | sed 's/^/    /'
	if [ "$f" -gt 0 ]; then
		broken+=("$name")
		[ "$status" -eq 124 ] && echo "    timed out after $limit s"
		grep -E '^not ok|\[  FAILED  \]|\[  ERROR   \]|error:|ERROR:|warning:' "$logs/$name.log" |
			head -n 20 | sed 's/^/    /'
		tail -n 15 "$logs/$name.log" | sed 's/^/    | /'
	fi
}

suite() {
	wanted "$1" || return
	execute "$@"
	tell "$1"
}

# An end-to-end suite says itself how long it may take.
end_to_end() {
	local script=tests/e2e/$1.sh limit
	limit=$(sed -n 's/^# time limit: \([0-9]*\) s$/\1/p' "$script")
	suite "$1" "${limit:-180}" bash "$script"
}

only=("$@")
suite build        600 tests/suites/build.sh
suite unit         300 tests/suites/unit.sh build

# Guests mostly compute and most other suites mostly wait: they share the machine. What measures time
# has it for itself afterwards.
lab=
if wanted lab; then
	execute lab 1500 nice -n 10 tests/lab/lab.py run &
	lab=$!
	trap 'kill "$lab" 2>/dev/null' EXIT
fi
suite packages     120 /usr/bin/python3 tests/suites/packages.py
suite check-self   120 tests/suites/check-self.sh
suite style        300 tests/suites/style.sh
suite unit-asan    600 tests/suites/unit.sh build/asan
suite fuzz         120 tests/suites/fuzz.sh
suite mutations    600 /usr/bin/python3 tests/suites/mutations.py
for name in bad-input live sim-bad-input traces truth; do
	suite "$name-asan" 180 env SANITIZED=1 FAULTLINE="$PWD/build/asan/faultline" \
		INJECT="$PWD/build/asan/faultline-inject" bash "tests/e2e/$name.sh"
done
alone=(campaigns kill live loss perf top truth)
for script in tests/e2e/*.sh; do
	name=$(basename "$script" .sh)
	[ "$name" = lib ] || printf '%s\n' "${alone[@]}" | grep -qx "$name" || end_to_end "$name"
done
suite lab-self     240 tests/lab/self-test.sh
if [ -n "$lab" ]; then
	wait "$lab"
	trap - EXIT
	tell lab
fi
for name in "${alone[@]}"; do
	end_to_end "$name"
done

[ ${#broken[@]} -gt 0 ] && echo "failed: ${broken[*]} (whole output in $logs/)"
echo "$sum_passed passed, $sum_failed failed, $sum_skipped skipped"
[ "$sum_failed" -eq 0 ]
