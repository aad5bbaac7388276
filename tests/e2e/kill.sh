#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# time limit: 600 s
# SIGKILL at seeded random instants: of the recorder, and of the injector's two processes in turn.
# Afterwards every complete frame is readable and nothing is left: no BPF program, no socket, no
# child, no file.
. "$(dirname "$0")/lib.sh"

kills=${KILLS:-200}
RANDOM=4099

cat >machine.ini <<'INI'
[machine]
request_queue_entries = 64
[tenant vm]
memory = 8M
[device disk]
tenant = vm
model = block
queues = 2
file_bytes = 8M
[workload mix]
device = disk
sizes = 4K, 64K
depth = 4
duration = 600s
[inject cold]
action = evict
device = disk
what = random
kind = major
pages = 7
rate = 97/s
start = 0s
duration = 600s
INI

injector_left() { pgrep -f "$scratch/machine.ini" >/dev/null; }
programs_gone() { [ -z "$(comm -13 <(echo "$programs_before") <(orphaned_programs))" ]; }
run_directory_empty() { [ -z "$(ls -A "$FAULTLINE_RUN_DIR" 2>/dev/null)" ]; }
nap() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

programs_before=$(orphaned_programs)

# 1. The recorder.
"$INJECT" run "$scratch/machine.ini" >/dev/null 2>inject.err &
injector=$!
wait_for 10 bash -c "ls $FAULTLINE_RUN_DIR/*.machine" ||
	not_ok "the emulated machine started" "$(cat inject.err)"
unreadable=0 attached=0 late=0 with_events=0 full=0
for ((i = 0; i < kills; i++)); do
	# Most die early, while attaching; every fourth lives long enough to have written frames.
	if ((i % 4)); then instant=$((RANDOM % 500)); else instant=$((1200 + RANDOM % 800)); fi
	rm -f kill.flt
	"$FAULTLINE" record -o kill.flt 2>/dev/null &
	recorder=$!
	nap $instant
	kill -KILL $recorder
	killed_ns=$(python3 -c 'import time; print(time.monotonic_ns())')
	wait $recorder 2>/dev/null
	if [ -s kill.flt ]; then
		verdict=$(/usr/bin/python3 "$root/tests/reference/killed.py" kill.flt "$killed_ns")
		case $verdict in
		complete) full=$((full + 1)) ;;
		no-events) ;;
		late*) late=$((late + 1)); echo "  $i at $instant ms: $verdict" ;;
		*) unreadable=$((unreadable + 1)); echo "  $i at $instant ms: $verdict" ;;
		esac
		"$FAULTLINE" report kill.flt >/dev/null 2>report.err
		status=$?
		# 0, or 3 when the very last frame was cut while it was being written.
		if [ $status -ne 0 ] && [ $status -ne 3 ] && [ $status -ne 5 ]; then
			unreadable=$((unreadable + 1))
			echo "  $i at $instant ms: report exits $status: $(cat report.err)"
		fi
	fi
	wait_for 5 programs_gone || attached=$((attached + 1))
done
equal "$kills killed recorders: recordings unreadable" $unreadable 0
equal "$kills killed recorders: recordings that lost more than the last second" $late 0
equal "$kills killed recorders: BPF programs left attached" $attached 0
if [ $full -ge $((kills / 8)) ]; then
	ok "killed recordings with events in them ($full)"
else
	not_ok "killed recordings with events in them" "only $full of $kills"
fi
kill -INT $injector
wait $injector 2>/dev/null

# 2. The injector: its guardian and its machine in turn.
left=0 files=0
for ((i = 0; i < kills; i++)); do
	"$INJECT" run "$scratch/machine.ini" >/dev/null 2>&1 &
	guardian=$!
	nap $((RANDOM % 400))
	victim=$guardian
	if ((i % 2)); then victim=$(pgrep -P $guardian | head -n 1); fi
	kill -KILL "${victim:-$guardian}" 2>/dev/null
	wait $guardian 2>/dev/null
	if ! wait_for 5 eval '! injector_left'; then
		left=$((left + 1))
		pkill -KILL -f "$scratch/machine.ini"
	fi
	if ! wait_for 2 run_directory_empty; then
		files=$((files + 1))
		rm -f "$FAULTLINE_RUN_DIR"/*
	fi
done
equal "$kills killed injectors: processes left alive" $left 0
equal "$kills killed injectors: entries left in the run directory" $files 0
finish
