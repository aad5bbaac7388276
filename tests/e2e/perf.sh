#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Counts held against perf's and bpftool's: the same process, the same faults, prime numbers of them.
. "$(dirname "$0")/lib.sh"

mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing

# storm_under KIND PAGES ROUNDS: one stopped storm, both tools attached by pid, then let go.
storm_under() {
	local kind=$1 pages=$2 rounds=$3
	storm_start "$kind" "$pages" "$rounds" || return 1
	perf_start record -q -e exceptions:page_fault_user -e exceptions:page_fault_kernel -m 4096 -p $storm_pid -o perf.data || return 1
	record_start -p $storm_pid || return 1
	kill -CONT $storm_pid
	wait $storm_pid
	record_end
	wait $perf_pid
	perf_count=$(perf script -i perf.data -F event 2>/dev/null | grep -c page_fault_)
	read_account
	our_count=$(/usr/bin/python3 "$root/tests/reference/count_events.py" run.flt "$(kind_number CPU_FAULT)" $storm_pid)
	wanted=$((pages * rounds))
}

for case in 'anon 10007 1' 'anon 1009 101' 'shmem 7919 3' 'anon 2 1'; do
	# shellcheck disable=SC2086
	if ! storm_under $case; then
		not_ok "storm $case" "the tools did not start: $(cat record.err)"
		continue
	fi
	equal "$case: as many as perf record saw" "$our_count" "$perf_count"
	if [ "$our_count" -ge "$wanted" ] && [ "$our_count" -lt $((wanted + 40)) ]; then
		ok "$case: at least the storm's own $wanted faults ($our_count)"
	else
		not_ok "$case: the storm made $wanted faults" "counted $our_count"
	fi
	equal "$case: nothing was lost" "$record_status" 0
done
finish
