#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs every suite, prints each one's counts, then the sum. `tests/check.sh [SUITE...]` runs some.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export PATH=/usr/bin:$PATH # Python's packages are for the packaged Python; another may come first

logs=build/check
mkdir -p "$logs"
sum_passed=0 sum_failed=0 sum_skipped=0 sum_retried=0 sum_cpu=0
broken=()

is_among() { [[ " ${*:2} " == *" $1 "* ]]; }
wanted() { [ ${#only[@]} -eq 0 ] || is_among "$1" "${only[@]}"; }

# execute NAME COMMAND...: into a log, with its exit status, how long it took and the CPU time. No suite
# has a time to be ready in; one that hangs or spins is ended.
execute() {
	local name=$1 begin=$SECONDS
	shift
	tests/watchdog.py run --cpu "$cpu_seconds" --quiet "$quiet_seconds" --told "$logs/$name.cpu" -- \
		"$@" >"$logs/$name.log" 2>&1 </dev/null
	echo "$? $((SECONDS - begin)) $(cat "$logs/$name.cpu")" >"$logs/$name.status.new"
	mv "$logs/$name.status.new" "$logs/$name.status"
}

printed() { grep -cE "$1" "$logs/$2.log"; }
greatest() { printf '%s\n' "$@" | sort -n | tail -n 1; }

# own_name NAME: what a suite calls itself, of whatever build: its script's name.
own_name() {
	local word
	for word in ${command[$1]}; do
		[[ $word == *.sh || $word == *.py ]] && basename "${word%.*}" && return
	done
}

# tell NAME: a suite's last line, "N passed, N failed, N skipped" (behind its own name, not that of what it
# ran), counts; a suite that ends otherwise, has checked nothing, is ended or exits nonzero with no failure
# counted is itself one failure, and so is what it printed as failed or counted as skipped without having
# done the other. What a suite tried again is told.
tell() {
	local name=$1 status seconds cpu p=0 f=1 s=0 r=0
	local sum='([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?(, ([0-9]+) retried)?'
	read -r status seconds cpu <"$logs/$name.status"
	if [[ $(tail -n 1 "$logs/$name.log") =~ ^($(own_name "$name"): )?$sum$ ]]; then
		p=${BASH_REMATCH[2]} f=${BASH_REMATCH[3]} s=${BASH_REMATCH[5]:-0} r=${BASH_REMATCH[7]:-0}
		f=$(greatest "$f" "$(printed '^not ok' "$name")")
		[ "$s" -gt "$(printed '^skip - ' "$name")" ] && f=$((f + 1))
	fi
	[ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((p + s)) -eq 0 ]; } && f=1
	sum_passed=$((sum_passed + p)) sum_failed=$((sum_failed + f)) sum_skipped=$((sum_skipped + s))
	sum_retried=$((sum_retried + r)) sum_cpu=$((sum_cpu + cpu))
	echo "$name: $p passed, $f failed, $s skipped, $r retried ($seconds s, $cpu s of CPU time)"
	grep -E '^(skip|retried) - ' "$logs/$name.log" | sed 's/^/    /'
	if [ "$f" -gt 0 ]; then
		broken+=("$name")
		findings "$name" 20
		tail -n 15 "$logs/$name.log" | sed 's/^/    | /'
	fi
}

# findings NAME COUNT: the first lines of a suite's log that say what is wrong.
findings() {
	grep -E '^not ok|\[  FAILED  \]|\[  ERROR   \]|error:|ERROR:|warning:' "$logs/$1.log" |
		head -n "$2" | sed 's/^/    /'
}

# add NAME COMMAND...: what is added first is told first, whenever it runs.
add() {
	local name=$1
	shift
	wanted "$name" || return
	names+=("$name")
	command[$name]=$(printf '%q ' "$@")
}

# Expectations of campaigns are about time: whatever else runs, they get the CPU first.
end_to_end() {
	case $1 in
	campaigns | expectations) add "$1" nice -n -10 bash "tests/e2e/$1.sh" ;;
	*) add "$1" bash "tests/e2e/$1.sh" ;;
	esac
}

# await FILE...: until one of them is there, if they are going to be.
await() {
	local file
	wanted build || return
	while :; do
		for file in "$@"; do [ -e "$file" ] && return; done
		sleep 0.2
	done
}

# work NAME...: runs suites that no other worker has begun.
work() {
	local name words
	for name in "$@"; do
		[ -n "${command[$name]:-}" ] && mkdir "$claims/$name" 2>/dev/null || continue
		case $name in
		build) ;;
		*-asan | unit | fuzz | hostile | mutations | extension | style | check-self) await "$logs/build.status" ;;
		*) await "$logs/programs.built" "$logs/build.status" ;;
		esac
		eval "words=(${command[$name]})"
		execute "$name" "${words[@]}"
	done
}

# Workers go, and what they run.
stop_workers() {
	local workers children
	workers=$(jobs -p)
	children=$(for worker in $workers; do pgrep -P "$worker"; done)
	# shellcheck disable=SC2086
	[ -z "$workers" ] || kill $workers $children 2>/dev/null
}

# await_suite NAME: one whose worker is gone without a word has failed.
await_suite() {
	while [ ! -e "$logs/$1.status" ] && [ -n "$(jobs -rp)" ]; do sleep 0.2; done
	[ -e "$logs/$1.status" ] || echo "1 0 0" >"$logs/$1.status"
}

only=("$@")
names=()
declare -A command
add build          tests/suites/build.sh "$logs/programs.built"
add unit           tests/suites/unit.sh build
add packages       /usr/bin/python3 tests/suites/packages.py
add check-self     tests/suites/check-self.sh
add style          tests/suites/style.sh
add interface      /usr/bin/python3 tests/suites/interface.py
add unit-asan      tests/suites/unit.sh build/asan
add fuzz           tests/suites/fuzz.sh
add extension      /usr/bin/python3 tests/suites/extension.py
add mutations      /usr/bin/python3 tests/mutate/mutate.py --sample
for name in bad-input live sim-bad-input traces truth; do
	add "$name-asan" env SANITIZED=1 FAULTLINE="$PWD/build/asan/faultline" \
		INJECT="$PWD/build/asan/faultline-inject" bash "tests/e2e/$name.sh"
done
last=(campaigns kill live loss perf top truth)
for script in tests/e2e/*.sh; do
	name=$(basename "$script" .sh)
	is_among "$name" lib "${last[@]}" || end_to_end "$name"
done
add hostile        tests/suites/hostile.sh
add lab-self       tests/lab/self-test.sh
add lab-runner     /usr/bin/python3 tests/lab/runner_test.py
add lab            nice -n 5 tests/lab/lab.py run --sample
for name in "${last[@]}"; do
	end_to_end "$name"
done
for name in "${only[@]}"; do
	[ -n "${command[$name]:-}" ] || { echo "check.sh: no suite '$name'" >&2 && exit 2; }
done

# Guests, what computes and what mostly waits share the machine; the first leave the others the CPU. The
# lab begins when there are programs. Of what waits there is one more at a time than CPUs, and when all
# of it has begun these workers compute, too. What takes longest begins first.
computing=(build unit unit-asan mutations extension style fuzz packages)
waiting=(expectations truth campaigns lab-self kill soak record top machines sim truth-asan results)
mapfile -t waiting < <(printf '%s\n' "${waiting[@]}" "${names[@]}" | grep -vxF -e lab "${computing[@]/#/-e}")
claims=$(mktemp -d)
trap 'stop_workers; rm -rf "$claims"' EXIT
rm -f "$logs/programs.built"
for name in "${names[@]}"; do rm -f "$logs/$name.status"; done
cpu_seconds=900 quiet_seconds=300
(renice -n 5 -p "$BASHPID" >/dev/null; work "${computing[@]}") &
# What fetches kernels over a slow network uses little CPU. Guests have watches of their own.
(cpu_seconds=3600 quiet_seconds=1800 work lab) &
for ((worker = 0; worker <= $(nproc); worker++)); do
	(work "${waiting[@]}" packages fuzz style extension mutations) &
done
for name in "${names[@]}"; do
	await_suite "$name"
	tell "$name"
done
wait

# Once more at the end, which is all that some machines keep of an output.
for name in "${broken[@]}"; do
	echo "failed: $name (whole output in $logs/$name.log)"
	findings "$name" 8
done
echo "all: $SECONDS s, $sum_cpu s of CPU time"
echo "$sum_passed passed, $sum_failed failed, $sum_skipped skipped, $sum_retried retried"
[ "$sum_failed" -eq 0 ]
