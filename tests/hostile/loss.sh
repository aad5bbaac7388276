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
make -s -C "$root" build/tests/lab/programs/knock >/dev/null || not_ok "knock is built"
cp "$root/build/tests/lab/programs/knock" bin
chmod 755 . bin bin/knock bin/faultline*

cat >machine.ini <<'END'
[tenant vm]
memory = 4M
[device disk]
file_bytes = 2M
[workload w]
sizes = 4K
count = 151
rate = 151/s
[inject cold]
action = evict
what = next
rate = 97/s
duration = 1s
END
sed '/^rate = 151/d' machine.ini | sed '/^\[inject/,$d' >short.ini

total() { awk -F, -v what="$1" '$1 == what {print $2; n++} END {if (!n) print "missing"}' csv/loss.csv; }
results() { awk -F, 'FNR == 1 {for (i = 1; i <= NF; i++) if ($i == "ios") at = i; next} {n += $at} END {print n + 0}' result.*; }
stopped() { grep -q '^State:.T' "/proc/$1/status"; }

# A stranger who calls round after round until it is told to stop, and says how often it did.
knock_start() {
	rm -f result.* knock.stop
	setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/bin/knock" "$INJECT" 997 1000000 >knock.out 2>knock.err &
	knock_pid=$!
	wait_for 10 stopped $knock_pid || not_ok "a stranger" "$(cat knock.err)"
	kill -CONT $knock_pid
}
knock_end() {
	kill -TERM $knock_pid
	wait $knock_pid || not_ok "the stranger calls" "$(cat knock.err)"
	calls=$(tail -n 1 knock.out)
}
run() { "$INJECT" run "$1" --csv >"result.$2" 2>"out.$2" || not_ok "machine $2" "$(cat "out.$2")"; }

# account NAME IOS
account() {
	rm -rf csv
	"$FAULTLINE" report run.flt --csv=csv >/dev/null 2>report.err
	report_status=$?
	equal "$1: events: received + lost + missed + turned away" \
		$(($(total received) + $(total lost) + $(total missed) + $(total turned_away))) "$(total produced)"
	equal "$1: received is what the file holds" "$(total received)" "$(/usr/bin/python3 - <<PY
import sys
sys.path.insert(0, "$root/tests/reference")
import flt_read
# What user space tells of groups, access logs and live mappings comes through no ring.
print(sum(name == "event" and fields[10] not in (10, 28, $(awk '$1 == "EVENT_DMA_LIVE" {print $3 + 0}' "$root/bpf/event.h"))
          for name, fields in flt_read.read("run.flt")))
PY
)"
	equal "$1: turned away is what the stranger counted" "$(total turned_away)" "$calls"
	equal "$1: the machines' own results" "$(results)" "$2"
	equal "$1: I/Os: received + lost + missed" \
		$(($(total access_received) + $(total access_lost) + $(total access_missed))) "$2"
	equal "$1: no machine kept its total to itself" "$(total machines_unknown)" 0
	lost=$(($(total lost) + $(total missed) + $(total access_lost) + $(total access_missed)))
	equal "$1: recorder and report end with 5 if something was lost ($lost)" "$record_status $report_status" \
		"$([ $lost -eq 0 ] && echo 0 0 || echo 5 5)"
}
record_end() {
	kill -INT $record_pid
	wait $record_pid
	record_status=$?
}

record_start || not_ok "a recorder" "$(cat record.err)"
knock_start
for i in $(seq $many); do run machine.ini $i & machines[i]=$!; done
wait "${machines[@]}"
knock_end
record_end
account "$many at once" $((many * 151))

record_start || not_ok "a recorder" "$(cat record.err)"
knock_start
for i in $(seq $short); do run short.ini $i; done
knock_end
record_end
account "$short short ones" $((short * 151))

record_start || not_ok "a recorder" "$(cat record.err)"
knock_start
machines=()
for i in 1 2 3; do run machine.ini $i & machines[i]=$!; done
sleep 0.3
kill -STOP $record_pid
sleep $still
kill -CONT $record_pid
wait "${machines[@]}"
knock_end
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
"$FAULTLINE" record -o - >pipe 2>record.err &
record_pid=$!
wait_for 20 grep -q recording record.err || not_ok "a recorder" "$(cat record.err)"
knock_start
for i in $(seq $slow); do run machine.ini $i & machines[i]=$!; done
wait "${machines[@]}"
knock_end
record_end
wait $reader
account "a slow pipe" $((slow * 151))
finish
