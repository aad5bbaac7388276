#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs every suite, prints each one's counts, then the sum. `tests/check.sh [SUITE...]` runs some.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

logs=build/check
mkdir -p "$logs"
sum_passed=0 sum_failed=0 sum_skipped=0 sum_retried=0
broken=()

wanted() { [ ${#only[@]} -eq 0 ] || printf '%s\n' "${only[@]}" | grep -qx "$1"; }

# execute NAME COMMAND...: into a log, with its exit status, how long it took and the CPU time. No suite
# has a time to be ready in; one that hangs or spins is ended.
execute() {
	local name=$1 begin=$SECONDS
	shift
	tests/watchdog.py run --cpu "$cpu_seconds" --told "$logs/$name.cpu" -- "$@" >"$logs/$name.log" 2>&1 </dev/null
	echo "$? $((SECONDS - begin)) $(cat "$logs/$name.cpu")" >"$logs/$name.status"
}

# tell NAME: a suite's last "N passed, N failed, N skipped" line counts; a suite that prints none, is
# ended or exits nonzero with no failure counted is itself one failure. What a suite tried again is told.
tell() {
	local name=$1 status seconds cpu line
	read -r status seconds cpu <"$logs/$name.status"
	line=$(grep -E '[0-9]+ passed, [0-9]+ failed' "$logs/$name.log" | tail -n 1)
	if [[ $line =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?(,\ ([0-9]+)\ retried)? ]]; then
		local p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[4]:-0} r=${BASH_REMATCH[6]:-0}
	else
		local p=0 f=1 s=0 r=0
	fi
	[ "$status" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	sum_passed=$((sum_passed + p)) sum_failed=$((sum_failed + f)) sum_skipped=$((sum_skipped + s))
	sum_retried=$((sum_retried + r))
	echo "$name: $p passed, $f failed, $s skipped, $r retried ($seconds s, $cpu s of CPU time)"
	grep -E '^(skip|retried) - ' "$logs/$name.log" | sed 's/^/    /'
	if [ "$f" -gt 0 ]; then
		broken+=("$name")
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

end_to_end() { suite "$1" bash "tests/e2e/$1.sh"; }

only=("$@")
cpu_seconds=900 # without a word, which is many times what any suite needs
suite build        tests/suites/build.sh
suite unit         tests/suites/unit.sh build

# Guests mostly compute and most other suites mostly wait: they share the machine. What measures time
# has it for itself afterwards.
lab=
if wanted lab; then
	cpu_seconds=3600 execute lab nice -n 10 tests/lab/lab.py run &
	lab=$!
	trap 'pkill -P "$lab"' EXIT
fi
suite packages     /usr/bin/python3 tests/suites/packages.py
suite check-self   tests/suites/check-self.sh
suite style        tests/suites/style.sh
suite interface    /usr/bin/python3 tests/suites/interface.py
suite unit-asan    tests/suites/unit.sh build/asan
suite fuzz         tests/suites/fuzz.sh
suite mutations    /usr/bin/python3 tests/suites/mutations.py
for name in bad-input live sim-bad-input traces truth; do
	suite "$name-asan" env SANITIZED=1 FAULTLINE="$PWD/build/asan/faultline" \
		INJECT="$PWD/build/asan/faultline-inject" bash "tests/e2e/$name.sh"
done
alone=(campaigns kill live loss perf top truth)
for script in tests/e2e/*.sh; do
	name=$(basename "$script" .sh)
	[ "$name" = lib ] || printf '%s\n' "${alone[@]}" | grep -qx "$name" || end_to_end "$name"
done
suite lab-self     tests/lab/self-test.sh
if [ -n "$lab" ]; then
	wait "$lab"
	trap - EXIT
	tell lab
fi
for name in "${alone[@]}"; do
	end_to_end "$name"
done

[ ${#broken[@]} -gt 0 ] && echo "failed: ${broken[*]} (whole output in $logs/)"
echo "$sum_passed passed, $sum_failed failed, $sum_skipped skipped, $sum_retried retried"
[ "$sum_failed" -eq 0 ]
