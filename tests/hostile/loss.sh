#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The account of loss under all that makes it hard at once: a stranger calls the emulator's probes the whole time while
# machines are many, short, their recorder stands still, or writes into a pipe that is read slowly. Whatever happens,
#
#	events: produced = received + lost + missed + turned away, received what the file holds, turned away what the
#	stranger counted; I/Os: received + lost + missed is what the machines' own results say.
#
# The check runs a sample; HOSTILE=long (make hostile) 90 machines at once, 60 short ones, ten seconds of standing still.
. "$(dirname "$0")/../e2e/lib.sh"

if [ "${HOSTILE:-}" = long ]; then many=90 short=60 still=10 slow=20; else many=9 short=5 still=1 slow=2; fi
. "$root/tests/hostile/stranger/words.sh"
machine_ini 151 97
sed '/^rate = 151/d' machine.ini | sed '/^\[inject/,$d' >short.ini

results() { sum_of ios result.*; }

# A stranger who calls round after round until it is told to stop, and says how often it did.
strangers_come() {
	rm -f result.*
	knock_start 997 1000000 "${nobody[@]}"
	kill -CONT $knock_pid
}
strangers_go() {
	kill -TERM $knock_pid
	knock_end
}
run() { "$INJECT" run "$1" --csv >"result.$2" 2>"out.$2" || not_ok "machine $2" "$(cat "out.$2")"; }

# account NAME IOS
account() {
	read_account
	exact "$1"
	equal "$1: turned away is what the stranger counted" "$(total turned_away)" "$calls"
	equal "$1: the machines' own results" "$(results)" "$2"
	equal "$1: I/Os: received + lost + missed" \
		$(($(total access_received) + $(total access_lost) + $(total access_missed))) "$2"
	equal "$1: no machine kept its total to itself" "$(total machines_unknown)" 0
	lost=$(($(total lost) + $(total missed) + $(total access_lost) + $(total access_missed)))
	equal "$1: recorder and report end with 5 if something was lost ($lost)" "$record_status $report_status" \
		"$([ $lost -eq 0 ] && echo 0 0 || echo 5 5)"
}
record_start || not_ok "a recorder" "$(cat record.err)"
strangers_come
for i in $(seq $many); do run machine.ini $i & machines[i]=$!; done
wait "${machines[@]}"
strangers_go
record_end
account "$many at once" $((many * 151))

record_start || not_ok "a recorder" "$(cat record.err)"
strangers_come
for i in $(seq $short); do run short.ini $i; done
strangers_go
record_end
account "$short short ones" $((short * 151))

record_start || not_ok "a recorder" "$(cat record.err)"
strangers_come
machines=()
for i in 1 2 3; do run machine.ini $i & machines[i]=$!; done
sleep 0.3
kill -STOP $record_pid
sleep $still
kill -CONT $record_pid
wait "${machines[@]}"
strangers_go
record_end
account "$still s of standing still" $((3 * 151))

# 4 KiB at a time: the pipe is full most of the time, and the recorder waits in write().
cat >slowly <<'END'
import os, sys, time
while block := os.read(0, 4096):
    os.write(1, block)
    time.sleep(float(sys.argv[1]))
END
mkfifo pipe
python3 slowly 0.02 <pipe >run.flt &
reader=$!
rm record.err # what an earlier one said
"$FAULTLINE" record -o - >pipe 2>record.err &
record_pid=$!
wait_for 20 grep -q recording record.err || not_ok "a recorder" "$(cat record.err)"
strangers_come
for i in $(seq $slow); do run machine.ini $i & machines[i]=$!; done
wait "${machines[@]}"
strangers_go
record_end
wait $reader
account "a slow pipe" $((slow * 151))
finish
