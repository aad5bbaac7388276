#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# SIGKILL at seeded random instants: of the recorder, and of the injector's two processes in turn.
# Afterwards every complete frame is readable and nothing is left: no BPF program, no socket, no
# child, no file.
. "$(dirname "$0")/lib.sh"

# KILLS of each; `make kills` has more of them.
kills=${KILLS:-64}
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
rate = 4000/s
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
run_directory_empty() { [ -z "$(ls -A "$FAULTLINE_RUN_DIR" 2>/dev/null)" ]; }
nap() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# waited_ns PID: how long its threads were ready to run and had no CPU, which is not theirs to answer for.
waited_ns() { cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ n += $2 } END { printf "%.0f\n", n }'; }
machine_waited_ns() { for pid in $(pgrep -P "$injector"); do waited_ns "$pid"; done | awk '{ n += $1 } END { printf "%.0f\n", n }'; }
verdict_of() { /usr/bin/python3 "$root/tests/reference/killed.py" kill.flt "$@"; }
begun() { grep -q 'recording into' kill.err; }
holds_events() { [ "$(verdict_of 0)" = complete ]; }

programs_before=$(orphaned_programs)

# 1. The recorder. Most die early, while attaching; every fourth dies after it has written frames.
"$INJECT" run "$scratch/machine.ini" >/dev/null 2>inject.err &
injector=$!
wait_for 10 bash -c "ls $FAULTLINE_RUN_DIR/*.machine" ||
	not_ok "the emulated machine started" "$(cat inject.err)"
unreadable=0 attached=0 late=0 full=0 lived=0
for ((i = 0; i < kills; i++)); do
	rm -f kill.flt kill.err
	waited=$(machine_waited_ns)
	"$FAULTLINE" record -o kill.flt 2>kill.err &
	recorder=$!
	if ((i % 4 == 0)) && wait_for 20 begun && wait_for 10 holds_events; then lived=$((lived + 1)); fi
	instant=$((RANDOM % 500))
	nap $instant
	waited=$(($(waited_ns $recorder) + $(machine_waited_ns) - waited))
	# The clock of the events, in hundredths of a second.
	read -r killed _ </proc/uptime
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	if [ -s kill.flt ]; then
		verdict=$(verdict_of "${killed/./}0000000" "$waited")
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
equal "of these were killed after they had written events" $lived $(((kills + 3) / 4))
if [ $((full + late)) -ge $lived ]; then
	ok "and all of those recordings have events in them ($full)"
else
	not_ok "and all of those recordings have events in them" "only $full of $lived"
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
