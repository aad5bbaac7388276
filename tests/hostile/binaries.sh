#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Machines of many binaries: copies, upgrades, each in another place or in the place of the one before. A recorder that
# lives longer than all of them has room for the next one; if more than it has room for run at once, it says
# which one it does not watch, and every I/O is counted.
#
# The check runs a sample; HOSTILE=long (make hostile) 100 upgrades.
. "$(dirname "$0")/../e2e/lib.sh"

. "$root/tests/hostile/stranger/words.sh"
if [ "${HOSTILE:-}" = long ]; then upgrades=100; else upgrades=11; fi
bound=$(awk '$2 == "EMULATORS_MAX" {print $3}' "$root/lib/capture/probes.h")
machine_ini 31 40
sed -i 's/^rate = 31.*/rate = 60\/s/; s/^duration = 1s/duration = 400ms/' machine.ini

# Not those that the kernel side gives up: they come through the rings, too.
stages=$(printf 'fault_%s,' detect request isr handler resolved mapped response resume)io

# links PID: what attaches the recorder to anything.
links() { find "/proc/$1/fd" -lname 'anon_inode:*' -printf '%l\n' 2>/dev/null | grep -c -e 'bpf.link' -e perf_event; }
as_before() { [ "$(links $record_pid)" = "$before" ]; }
# What the machines of result.* produced by their own word.
results() { sum_of ios result.*; }
taken() { echo $(($(total access_received) + $(total access_lost) + $(total access_missed))); }

record_start --kind "$stages" || not_ok "a recorder" "$(cat record.err)"
before=$(links $record_pid)
for i in $(seq $upgrades); do
	# By turns another file of the same name, at once, and the same file written anew, which no probe may be on.
	if [ $((i % 4)) != 0 ]; then rm -f bin/upgraded; else wait_for 20 as_before || not_ok "probes are taken off"; fi
	cp "$INJECT" bin/upgraded
	bin/upgraded run machine.ini --csv >result.$i 2>out.$i || not_ok "machine $i" "$(cat out.$i)"
done
check "upgrades: the probes of the last one are taken off" wait_for 20 as_before
record_end
read_account
exact upgrades
equal "upgrades: I/Os" "$(results)" $((upgrades * 31))
equal "upgrades: received + lost + missed" "$(taken)" $((upgrades * 31))
equal "upgrades: machines that were not met" "$(total machines_missed) $(total machines_unknown)" "0 0"
equal "upgrades: of each one faults were seen" \
	"$(awk -F, 'NR > 1 && /^vm\/disk/ && $2 + 0 > 0' csv/summary.csv | wc -l)" "$upgrades"
equal "upgrades: the recorder ends with" "$record_status" 0

# As many as there is room for, each another binary, and one more. Each stands still from when it was met until all are there.
rm -f result.* out.*
record_start --kind "$stages" || not_ok "a recorder" "$(cat record.err)"
# Five seconds each: one that is met must not end before it is made to stand still.
sed -i -e 's/^count = .*/count = 97/' -e 's/^rate = 60.*/rate = 20\/s/' machine.ini
# Its access log is the recorder's as the last of their meeting: who stands still before could not be met.
logs() { grep -c faultline-access-log "/proc/$record_pid/maps"; }
met() { [ "$(logs)" -gt "$1" ]; }
machines=()
for i in $(seq $((bound + 1))); do
	cp "$INJECT" bin/copy$i
	before=$(logs)
	setsid bin/copy$i run machine.ini --csv >result.$i 2>out.$i &
	machines+=(-$!) # their groups
	[ "$i" -le "$bound" ] || break
	check "machine $i is there" wait_for 20 met "$before"
	kill -STOP -- "${machines[-1]}"
done
check "one too many: it is named" wait_for 20 grep -q "^faultline: an emulated machine is not met: process [0-9]*, $scratch/bin/copy$((bound + 1)): at most $bound different emulators are watched at once" record.err
equal "one too many: no other is" "$(grep -c 'is not met' record.err)" 1
# Its place is another's as soon as one has ended.
kill -CONT -- "${machines[0]}"
wait "${machines[0]#-}" || not_ok "machine 1 ends" "$? $(cat out.1)"
cp "$INJECT" bin/later
bin/later run machine.ini --csv >result.later 2>out.later || not_ok "a later machine" "$(cat out.later)"
kill -CONT -- "${machines[@]:1}" 2>/dev/null # the last one runs, or is done
for machine in "${!machines[@]}"; do
	[ "$machine" = 0 ] && continue
	wait "${machines[machine]#-}" || not_ok "machine $((machine + 1)) ends" "$? $(cat out.$((machine + 1)))"
done
record_end
read_account
exact "one too many"
equal "one too many: the machines' own results" "$(results)" $(((bound + 2) * 97))
equal "one too many: received + lost + missed is what they produced" "$(taken)" "$(results)"
equal "one too many: machines that were not met" "$(total machines_missed) $(total machines_unknown)" "1 0"
equal "one too many: what it produced is missed" "$(total access_missed)" 97
equal "one too many: recorder and report end with" "$record_status $report_status" "5 5"
finish
