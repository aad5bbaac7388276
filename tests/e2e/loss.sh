#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A ring made too small on purpose: what was lost plus what was received is what was produced,
# exactly, by our counters, by perf's and by the file's own events.
. "$(dirname "$0")/lib.sh"

mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing

# What an emulated machine's handlers touch is an event, too, whosever machine it is. Which of those were
# lost nobody knows, so there are none: no machine runs this suite's emulator.
# flood PAGES RING: faults of one stopped process, counted by perf without a buffer that could fill.
flood() {
	storm_start anon "$1" 1 || return 1
	perf_start stat -x, -e exceptions:page_fault_user -e exceptions:page_fault_kernel -p $storm_pid -o stat.csv ||
		return 1
	record_start -p $storm_pid --kind cpu_fault --ring-size "$2" || return 1
	kill -CONT $storm_pid
	wait $storm_pid
	record_end
	wait $perf_pid
	counted=$(awk -F, '/page_fault/ {n += $1} END {print n}' stat.csv)
	read_account
	produced=$(total produced)
	received=$(total received)
	lost=$(total lost)
	missed=$(total missed)
	stored=$(/usr/bin/python3 "$root/tests/reference/count_events.py" run.flt "$(kind_number CPU_FAULT)")
}

for case in '100003 4K' '200003 8K'; do
	# shellcheck disable=SC2086
	if ! flood $case; then
		not_ok "flood $case" "the tools did not start: $(cat record.err)"
		continue
	fi
	equal "$case: received + lost + missed = produced" $((received + lost + missed)) "$produced"
	equal "$case: produced is what perf stat counted" "$produced" "$counted"
	equal "$case: received is what the file holds" "$stored" "$received"
	equal "$case: all of the one process" "$stored" \
		"$(/usr/bin/python3 "$root/tests/reference/count_events.py" run.flt "$(kind_number CPU_FAULT)" $storm_pid)"
	if [ "$lost" -gt 0 ]; then ok "$case: the ring was too small ($lost lost)"
	else not_ok "$case: the ring was too small" "nothing was lost"; fi
	equal "$case: the recorder's exit code says so" $record_status 5
	equal "$case: so does the report's" $report_status 5
	"$FAULTLINE" report run.flt >text 2>/dev/null
	if grep -qiE '^loss: [0-9]+ of [0-9]+ events.*floors' text; then
		ok "$case: the report calls its numbers floors"
	else
		not_ok "$case: the report calls its numbers floors" "$(grep -i loss text)"
	fi
done

if flood 100003 4M; then
	equal "a large ring loses nothing" "$lost" 0
	equal "a large ring: exit code" $record_status 0
	equal "a large ring: as many as perf stat" "$stored" "$counted"
fi
# More to count than there are counters: a recorder that stands still empties none of them, and each process
# takes two, for what it reads and for what it writes.
cat >processes.c <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long processes = argc > 1 ? atol(argv[1]) : 0;
	volatile char *page = mmap(NULL, 8192 * processes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise((void *)page, 8192 * processes, MADV_NOHUGEPAGE);
	for (; processes--; page += 8192) {
		pid_t pid = vfork();

		if (!pid) {
			page[4096] = page[0];
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
C
${CC:-cc} -O1 -o processes processes.c || not_ok "processes are built"
counters=$(awk '$2 == "AGGREGATES_MAX" {print $3}' "$root/bpf/state.h")
for processes in 100 $((counters / 2 + 100)); do
	record_start --kind cpu_fault
	kill -STOP $record_pid
	check "$processes processes" ./processes $processes
	kill -CONT $record_pid
	# The window is closed a moment after its end, or at the recorder's.
	record_end
	if [ $processes -eq 100 ]; then
		equal "$processes processes: there are counters for all" "$record_status $(grep -c 'nothing lost' record.err)" "0 1"
	else
		equal "$processes processes: counters ran out, the recorder ends with 5 and says so" \
			"$record_status $(grep -c 'floors (counting ran out of counters)' record.err)" "5 1"
	fi
done
# --duration is the kernel's: a recorder that is stopped itself (SIGSTOP) records no longer for it. It
# stands still for at least two seconds by the clock: a busy machine makes that longer, never shorter.
storm_start anon 1000 1000000
record_start -p $storm_pid --kind cpu_fault --duration 1s
kill -STOP $record_pid
kill -CONT $storm_pid
sleep 2
check "the recorder stood still" stopped $record_pid
kill -CONT $record_pid
wait $record_pid
kill -KILL $storm_pid
wait $storm_pid 2>/dev/null
read_account
check "a stopped recorder recorded for a second: $(grep 'events in' record.err)" grep -q ' events\? in 1\.0[0-9]*s,' record.err
check "with events ($(total received))" test "$(total received)" -gt 0
equal "and counts them: received + lost + missed = produced" \
	$(($(total received) + $(total lost) + $(total missed))) "$(total produced)"
finish
