# SPDX-License-Identifier: GPL-2.0
# What every end-to-end suite shares. Source it, call ok/not_ok/skip once a check, end with `finish`.
#
# A suite runs in a scratch directory of its own with a registry directory of its own, and leaves
# neither processes nor files. FAULTLINE and INJECT name the programs under test, which it copies: probes
# are in a file, so recorders see the machines of whoever runs the same one. One that mounts says
# own_mounts=yes before: what it mounts is seen by nobody else and goes with it, however it ends.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
suite=$(basename "$0" .sh)
if [ "${own_mounts:-}" = yes ] && [ "${OWN_MOUNTS_OF:-}" != "$suite" ]; then
	OWN_MOUNTS_OF=$suite exec unshare -m -- bash "$0" "$@"
fi
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/faultline-$suite.XXXXXX")
mkdir "$scratch/bin"
cp "${FAULTLINE:-$root/faultline}" "${INJECT:-$root/faultline-inject}" "$scratch/bin"
ln -s "$root/injectors" "$root/tools" "$root/libfaultline-vm.so" "$scratch/bin" # shipped jobs and a library are beside the programs
FAULTLINE=$scratch/bin/faultline
INJECT=$scratch/bin/faultline-inject
export FAULTLINE_RUN_DIR=/run/faultline-$suite.$$
export PATH=/usr/bin:$PATH # Python's packages are for the packaged Python; another may come first
retries=0
. "$root/tests/lab/guest/words.sh"

# A skip needs an entry in tests/allowed-skips whose proof shows here and now that its reason holds.
skip() {
	local proof
	skipped=$((skipped + 1))
	if proof=$("$root/tests/proofs.sh" "$suite" "$1"); then
		echo "skip - $1: $2 (tried again: $proof)"
	else
		echo "skip - $1: $2"
		not_ok "$1" "$proof"
	fi
}

# retried NAME WHY: something is tried once more; it is told and counted.
retried() {
	retries=$((retries + 1))
	echo "retried - $1: $2"
}

check() { check_that "$@"; }

# adopt NAME: the lines of a comparison (tests/reference) in `verdict`, of a run whose errors are in run.err, become ours.
adopt() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok - '*) ok "$1: ${line#ok - }" ;;
		'not ok - '*) not_ok "$1: ${line#not ok - }" ;;
		'    '* | Traceback* | *Error*) echo "$line" ;;
		esac
	done <verdict
	grep -q 'passed' verdict || not_ok "$1: compared" "$(tail -n 3 run.err verdict)"
}

# cells_of CSV COLUMN...: of its first row.
cells_of() { /usr/bin/python3 -c 'import csv, sys
row = next(csv.DictReader(open(sys.argv[1])))
print(*[row[name] for name in sys.argv[2:]])' "$@"; }

# wait_for SECONDS COMMAND...: until it succeeds. SECONDS is about how long it takes on a quiet machine;
# it has failed when after that nothing that belongs to this suite was seen running or waiting for a CPU
# in a hundred looks, a second apart, or all of it together has used ten times as much CPU time.
wait_for() {
	local tries=$(($1 * 20)) budget=$(($1 * 10000)) still=0 first='' used state
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		if [ "$tries" -le 0 ]; then
			read -r used state < <("$root/tests/watchdog.py" sample $$ "FAULTLINE_RUN_DIR=$FAULTLINE_RUN_DIR")
			first=${first:-$used}
			[ $((used - first)) -le $budget ] || return 1
			still=$((still + 1))
			[ "$state" = still ] || still=0
			[ $still -lt 100 ] || return 1
			tries=20
		fi
		sleep 0.05
	done
}

# Tracing programs that no living process holds, though they are loaded: what a tool left behind.
# Programs of other tools that run meanwhile have their owner and do not disturb.
orphaned_programs() {
	comm -23 <(bpftool prog list 2>/dev/null |
		sed -nE 's/^([0-9]+): (tracing|kprobe|tracepoint|raw_tracepoint|perf_event) .*/\1/p' |
		sort -u) \
		<(cat /proc/[0-9]*/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:\t//p' | sort -u)
}

# Likewise since $programs_before: other suites may run beside this one.
programs_gone() { [ -z "$(comm -13 <(echo "$programs_before") <(orphaned_programs))" ]; }

# namespaces_of PATTERN: other network namespaces than this one that processes with such a command line are in. Those
# of other suites, which come and go, are not asked.
namespaces_of() {
	local pid
	for pid in $(pgrep -f -- "$1"); do readlink "/proc/$pid/ns/net"; done 2>/dev/null |
		grep -vxF "$(readlink /proc/self/ns/net)" | sort -u
}

stopped() { grep -q '^State:.T' "/proc/$1/status"; } # PID

# A storm of page faults that waits to be let go (kill -CONT $storm_pid): KIND PAGES ROUNDS.
storm_start() {
	make -s -C "$root" build/bench/storm >/dev/null || return 1
	rm -f storm.out
	"$root/build/bench/storm" "$@" --wait >storm.out &
	storm_pid=$!
	wait_for 10 stopped $storm_pid
}

# A recorder into run.flt whose probes are in place: options of `record`.
record_start() {
	rm -f run.flt record.err # what an earlier one said is not this one's word
	"$FAULTLINE" record "$@" -o run.flt 2>record.err &
	record_pid=$!
	wait_for 20 grep -q 'recording' record.err
}

# record_end: as told by SIGINT, with $record_status.
record_end() {
	kill -INT $record_pid
	wait $record_pid
	record_status=$?
}

# read_account: the tables of run.flt, of which `total` reads rows.
read_account() {
	rm -rf csv
	"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>report.err
	report_status=$?
}
total() { awk -F, -v what="$1" '$1 == what {print $2; n++} END {if (!n) print "missing"}' csv/loss.csv; }

# perf_start stat|record OPTION...: perf, which counts when this returns: it was told to, and says so.
perf_start() {
	local how=$1
	shift
	rm -f perf.told perf.says
	mkfifo perf.told perf.says || return 1
	perf "$how" -D -1 --control fifo:perf.told,perf.says "$@" 2>perf.err &
	perf_pid=$!
	# Opened for both directions: neither waits for the other to come.
	exec 8<>perf.told 9<>perf.says
	echo enable >&8
	wait_for 10 read -r -t 0.1 -u 9
}

# guest_of_vm NAME [PROGRAM...]: what jobs with `backend = vm` boot is in build/vm, also with these programs of the host, or NAME is
# skipped and this fails.
guest_of_vm() {
	local status
	"$root/tests/vm/guest.sh" ${2:+with "${@:2}"} >guest.path 2>guest.err
	status=$?
	if [ $status -eq 75 ]; then
		skip "$1" "$(tail -n 1 guest.err)"
	elif [ $status -ne 0 ]; then
		not_ok "$1" "$(tail -n 1 guest.err)"
	else
		mkdir -p build && ln -sfn "$(cat guest.path)" build/vm
	fi
	return $status
}

finish() {
	rm -rf --one-file-system "$scratch"
	[ $((passed + failed + skipped)) -gt 0 ] || not_ok "something is checked"
	rmdir "$FAULTLINE_RUN_DIR" 2>/dev/null
	echo "$suite: $passed passed, $failed failed, $skipped skipped, $retries retried"
	[ "$failed" -eq 0 ]
	exit
}
trap 'rm -rf --one-file-system "$scratch"' EXIT
cd "$scratch" || exit 1
