#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In a pid namespace of its own the kernel's number for a process is not the one that everybody there speaks of.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

make -s -C "$root" build/bench/storm >/dev/null || not_ok "build/bench/storm" "does not build"
storm=$root/build/bench/storm
inside=(unshare --pid --fork --mount-proc)
cat >short.ini <<'END'
[tenant vm]
memory = 4M
[device disk]
file_bytes = 2M
[workload w]
sizes = 4K
count = 101
rate = 501/s
[inject cold]
action = evict
what = next
rate = 211/s
duration = 1s
END

# faults_of FILE: CPU faults recorded one by one, and of how many processes.
faults_of() {
	"$FAULTLINE" report "$1" --csv=- --table events 2>report.err | awk -F, '$1 == "CPU page fault" {n = $3} END {print n + 0}'
}
# emulated FILE: names of emulated devices in the dictionary.
emulated() {
	"$FAULTLINE" report "$1" --csv=- --table devices 2>report.err | awk -F, '$4 == "emulated" {print $1}' | sort | xargs
}
# faulted FILE: devices that faulted.
faulted() {
	"$FAULTLINE" report "$1" --csv=- --table summary 2>report.err | awk -F, 'NR > 1 {print $1}' | sort | xargs
}
enough() { if [ "$2" -ge "$3" ]; then ok "$1 ($2)"; else not_ok "$1" "$2 of $3"; fi; }

check "a command in a namespace" "${inside[@]}" "$FAULTLINE" record --as-root --kind cpu_fault -o command.flt -- "$storm" anon 1009 1
enough "its faults are seen one by one" "$(faults_of command.flt)" 1009

# -p names a process by its number in there.
cat >by-pid <<END
"$storm" anon 1009 1 --wait >/dev/null &
pid=\$!
until grep -q '^State:.T' /proc/\$pid/status; do sleep 0.05; done
"$FAULTLINE" record --kind cpu_fault -p \$pid -o pid.flt 2>pid.err &
recorder=\$!
until grep -q recording pid.err; do sleep 0.05; done
kill -CONT \$pid
wait \$pid
sleep 0.3
kill -INT \$recorder
wait \$recorder
END
check "a process in a namespace" "${inside[@]}" bash by-pid
enough "its faults are seen one by one, too" "$(faults_of pid.flt)" 1009
"${inside[@]}" "$FAULTLINE" record -p 4000000 -o none.flt >out 2>err
equal "a process that is not there: exit code" $? 1
check "and it is named" grep -q 'pid 4000000: there is no such process' err

# Recorder and machine in one namespace; then the machine in one of its own, watched from outside.
check "a machine beside the recorder" "${inside[@]}" "$FAULTLINE" record -o beside.flt -- "$INJECT" run short.ini
check "a machine in a namespace below the recorder's" "$FAULTLINE" record --as-root -o below.flt -- "${inside[@]}" "$INJECT" run short.ini
# A namespace of its own with the /proc of another one: numbers there are other processes.
foreign=(unshare --pid --fork)
check "a machine beside the recorder, with the /proc of others" "${foreign[@]}" "$FAULTLINE" record --as-root -o foreign.flt -- "$INJECT" run short.ini
equal "and its process is named" "$("$FAULTLINE" report foreign.flt --csv=- --table devices | awk -F, '$4 == "emulated" {print $8}')" faultline-injec
for case in beside below foreign; do
	equal "$case: the device is there once" "$(emulated $case.flt)" vm/disk
	equal "$case: it faulted under its name" "$(faulted $case.flt)" vm/disk
	equal "$case: its I/Os" "$("$FAULTLINE" report $case.flt --csv=- --table loss | sed -n 's/^access_received,//p')" 101
done

"${inside[@]}" "$FAULTLINE" doctor -v >out 2>&1
check "doctor says whose numbers these are" grep -q '^pids .*of a namespace of its own' out
# A number that nobody has out there.
cat >by-number <<END
while sleep 1000 & [ -e /proc/\$! ]; do :; done
"$FAULTLINE" record -q --kind cpu_fault -p \$! --duration 100ms -o number.flt && echo recorded
kill \$!
END
equal "a process that /proc does not list" "$(timeout 60 "${foreign[@]}" bash by-number 2>&1 | tail -n 1)" recorded
"${foreign[@]}" "$FAULTLINE" doctor -v >out 2>&1
check "doctor says whose /proc it is" grep -q '^pids  *ok  *of a namespace of its own; /proc is of another' out
"${foreign[@]}" setpriv --bounding-set=-sys_admin "$FAULTLINE" doctor -v >out 2>&1
check "and that without one nobody is named" grep -q '^pids  *missing  */proc is of another pid namespace' out
"$FAULTLINE" doctor -v >out 2>&1
check "and outside that they are the host's" grep -q '^pids .*those of the host' out
finish
