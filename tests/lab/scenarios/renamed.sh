# SPDX-License-Identifier: GPL-2.0
# A symbol was renamed: the kernel has a function, a probe is attached to it, and it is another that is called.
# For page requests handle_mm_fault() is looked for in fixup_user_fault(), which has as many arguments and which no
# fault handler calls; on the newest kernel ODP's in hmm_range_fault(), which was the function until 7.3. The
# recording must say so, and be marked like one without these probes: nothing is minor that nobody has seen.
# sample: new
# own modules: faultline_device
# modules: ib_uverbs rdma_rxe
# programs: rdma ip
# paths: /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so /etc/libibverbs.d/rxe.driver

on_demand() { grep -q ' hmm_range_fault_unlocked_timeout' /proc/kallsyms; }

setup() {
	load faultline_device
	on_demand || return 0
	load ib_uverbs
	load rdma_rxe
	ip link set lo up
	rdma link add rxe0 type rxe netdev lo
	wait_for 5 test -e /dev/infiniband/uverbs0
}

workload() {
	check_that "page requests" faultline-inject iopf burst -r 67 -p 2 -g 1-4 --wait 60s
	! on_demand || check_that "RDMA traffic" faultline-inject odp --device rxe0 --operation write --count 13
}

# Device, stage, and how many of its times are merged: what a reader sees of the stages.
marks() { rows stages device kind stage count merged | sort; }
is_silent() { column probes state probe "$1"; }

check() {
	local requests
	equal "events lost" "$(column loss count what lost)" 0
	marks >marks.silent
	equal "mm_fault" "$(is_silent mm_fault) $(hits mm_fault)" "silent 0"
	requests=$(rows faults cause device | grep -vc rxe0)
	equal "page requests recorded" "$requests" 67
	check_that "what passed is counted" grep -q "was never hit, while $requests faults passed" <(column probes reason probe mm_fault)
	equal "kinds of faults" "$(rows faults kind | sort -u)" unknown
	equal "faults with a stage resolve" "$(rows faults resolve_ns | grep -c .)" 0
	equal "faults whose times are merged" "$(rows faults merged | grep -cv '^-*$')" "$(rows faults merged | wc -l)"
	faultline report "$recording" | tr '\n' ' ' >report.txt
	check_that "report finds it" grep -q "Probe mm_fault is attached (function fixup_user_fault) and was never hit" report.txt
	echo "# $(grep -o 'Worst stage: [^.]*' report.txt)"
	check_that "report names no stage alone that has others' time" \
		sh -c "grep -q 'Worst stage: ' report.txt && ! grep -qE 'Worst stage: (map|respond),' report.txt"
	check_that "report calls nothing minor" sh -c "! grep -q minor report.txt"
	faultline doctor "$recording" | tr '\n' ' ' >doctor.txt
	check_that "doctor finds it in the recording" grep -q "Probe mm_fault is attached" doctor.txt
	if on_demand; then
		equal "odp_resolved" "$(is_silent odp_resolved) $(hits odp_resolved)" "silent 0"
		check_that "report finds that, too" grep -q "Probe odp_resolved is attached (function hmm_range_fault) and was never hit" report.txt
		equal "on-demand faults of which storage was read: not known" "$(column odp major process all)" ""
	fi
}

# Without the probes all is marked as with those that are silent. What they would have told is said, be it that
# one was left out or that it found no place.
check_off() {
	local probe
	equal "mm_swap found no place" "$(is_silent mm_swap)" off
	faultline report "$recording" | tr '\n' ' ' >report.off
	for probe in mm_fault mm_swap; do
		check_that "report says what is not known without $probe" grep -q "Probe $probe is off: " report.off
	done
	marks >marks.off
	equal "mm_fault is left out" "$(is_silent mm_fault)" "not asked"
	equal "rows of stages and their marks" "$(wc -l <marks.off)" "$(wc -l <marks.silent)"
	check_that "stages and their marks are those of the silent probes" diff marks.silent marks.off
}

# The same without a recording. Faults come for as long as it watches, whenever it has attached.
watch() {
	local pid status rounds=0
	# shellcheck disable=SC2086
	faultline doctor --watch 2s -v $attach >"$results/doctor.watch" 2>"$results/doctor.err" &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		faultline-inject iopf burst -r 13 --wait 60s >/dev/null 2>&1 || break
		rounds=$((rounds + 1))
		pause 0.5
	done
	wait $pid
	status=$?
	faultline-inject iopf clear >/dev/null 2>&1
	equal "doctor --watch ends" $status 0
	check_that "faults came meanwhile ($rounds times)" test $rounds -gt 0
	check_that "doctor --watch lists it as silent" grep -q '^mm_fault  *silent' "$results/doctor.watch"
	check_that "doctor --watch finds it" grep -q "Probe mm_fault is attached (function fixup_user_fault) and was never hit" \
		<(tr '\n' ' ' <"$results/doctor.watch")
}

# The first and the last probe of a path: what they would have told is unknown, not that faults began before or wait.
check_end() { # PROBE, what else is said
	faultline report "$recording" | tr '\n' ' ' >report.txt
	equal "$1" "$(is_silent "$1") $(hits "$1")" "silent 0"
	check_that "report finds $1" grep -q "Probe $1 is attached (function device_rename) and was never hit, while its neighbour" report.txt
	check_that "report says what is unknown without $1" grep -q "Probe $1 is silent: $2" report.txt
	check_that "report does not say that faults began before" sh -c "! grep -q 'began before the recording' report.txt"
	equal "time that queues stood still, without $1" "$(rows summary device blocked_ns | grep -v rxe0 | grep -c '[0-9]$')" 0
}

ends() {
	other=silent_end
	silent=iopf_response
	record_options="--attach iopf_response=device_rename"
	record_start && workload && record_stop && tables "$recording" && check_end iopf_response "whether and when"
	other=silent_begin
	silent=iopf_report
	record_options="--attach iopf_report=device_rename"
	record_start && workload && record_stop && tables "$recording" && check_end iopf_report "kernel page requests are not seen"
}

teardown() {
	faultline-inject iopf unplug >inject.out 2>&1 || not_ok "unplug" "$(cat inject.out)"
	unload faultline_device
	on_demand || return 0
	rdma link delete rxe0
	unload rdma_rxe
}

guest() {
	local attach="--attach mm_fault=fixup_user_fault" off="--disable-probe mm_fault"
	setup
	silent=mm_fault
	if on_demand; then
		attach+=" --attach odp_resolved=hmm_range_fault"
		off+=" --disable-probe odp_resolved"
		silent="odp_resolved $silent"
	fi
	record_options=$attach
	other=silent
	record_start && workload && record_stop && tables "$recording" && check
	watch
	silent=
	record_options="$off --attach mm_swap=no_such_function"
	other=off
	record_start && workload && record_stop && tables "$recording" && check_off
	ends
	teardown
}
