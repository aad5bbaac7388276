#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An injection is undone whichever of the two processes is killed, and whenever: no process, no
# entry in the run directory, no file is left. kill.sh repeats the kills many more times.
. "$(dirname "$0")/lib.sh"

kills=${KILLS:-24}
RANDOM=4703
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

cat >machine.ini <<'INI'
[tenant vm]
memory = 8M
count = 3
[device disk]
file_bytes = 8M
[workload mix]
sizes = 4K, 64K
depth = 4
duration = 600s
[inject cold]
action = evict
what = random
kind = major
pages = 7
rate = 97/s
duration = 600s
[inject slow]
action = delay
stage = resolve
delay = 3ms
duration = 600s
[inject busy]
action = cpu_hog
load = scan
duration = 600s
INI

alive() { pgrep -f "$scratch/machine.ini" >/dev/null; }
gone() { ! alive; }
# A killed process has no command line, and its first thread is a zombie, long before the last of its threads
# has closed its sockets.
ended() {
	[ ! -e "/proc/$1" ] ||
		{ grep -q '^State:.[ZX]' "/proc/$1/status" && [ "$(ls "/proc/$1/task" | wc -l)" -le 1 ]; } 2>/dev/null
}
empty() { [ -z "$(ls -A "$1" 2>/dev/null)" ]; }
registered() { ls "$FAULTLINE_RUN_DIR"/*.machine >/dev/null 2>&1; }
nap() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

left=0 entries=0 files=0 lived=0
for ((i = 0; i < kills; i++)); do
	"$INJECT" run "$scratch/machine.ini" >/dev/null 2>err &
	guardian=$!
	nap $((RANDOM % 600))
	registered && lived=$((lived + 1))
	victim=$guardian
	((i % 2)) && victim=$(pgrep -P $guardian | head -n 1)
	kill -KILL "${victim:-$guardian}" 2>/dev/null
	wait $guardian 2>/dev/null
	wait_for 6 gone || { left=$((left + 1)); pkill -KILL -f "$scratch/machine.ini"; }
	wait_for 2 empty "$FAULTLINE_RUN_DIR" || entries=$((entries + 1))
	empty "$TMPDIR" || files=$((files + 1))
done
equal "$kills kills: processes left" $left 0
equal "$kills kills: entries left in the run directory" $entries 0
equal "$kills kills: files left" $files 0
if [ $lived -ge $((kills / 4)) ]; then
	ok "kills that met a running machine ($lived)"
else
	not_ok "kills that met a running machine" "only $lived of $kills"
fi

# A killed machine is a failure with a sentence, not a result.
"$INJECT" run "$scratch/machine.ini" >/dev/null 2>err &
guardian=$!
wait_for 10 registered
kill -KILL "$(pgrep -P $guardian | head -n 1)"
wait $guardian
equal "exit code when the machine was killed" $? 1
check "says that the machine was killed" grep -q 'died of signal 9' err

# Both at once: the entry stays, and the next that looks removes it.
"$INJECT" run "$scratch/machine.ini" >/dev/null 2>&1 &
guardian=$!
wait_for 10 registered
kill -STOP $guardian
machine=$(pgrep -P $guardian | head -n 1)
kill -KILL "$machine" $guardian
wait $guardian 2>/dev/null
wait_for 6 ended "$machine"
equal "recover removes what both left" "$("$INJECT" recover | cut -d ';' -f 1)" "1 stale entry removed"
equal "recover again finds nothing" "$("$INJECT" recover | cut -d ';' -f 1)" "0 stale entries removed"

for signal in INT TERM HUP; do
	setsid "$INJECT" run "$scratch/machine.ini" >/dev/null 2>err &
	guardian=$!
	wait_for 10 registered
	kill -$signal $guardian
	wait $guardian
	equal "exit code after SIG$signal" $? 7
		equal "what is said after SIG$signal" "$(cat err)" \
		"faultline: stopped by a signal; everything injected is undone"
	check "SIG$signal leaves no process" gone
done

# Between two points, where a campaign may wait for whoever reads its rows.
cat >sweep.ini <<'JOB'
[tenant vm]
memory = 2M
[device d]
file_bytes = 2M
[workload w]
count = 1
[sweep]
s = w.seed: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
t = machine.seed: 1, 2, 3, 4
JOB
cat >stop.py <<'PY'
import fcntl, os, signal, subprocess, sys, time
read, write = os.pipe()
fcntl.fcntl(write, 1031, 4096)  # F_SETPIPE_SZ
run = subprocess.Popen(sys.argv[1:], stdout=write)
while run.poll() is None and "pipe_write" not in open(f"/proc/{run.pid}/wchan").read():
    time.sleep(.02)
run.send_signal(signal.SIGTERM)
print(run.wait())
PY
equal "exit code after a stop between two points" \
	"$(python3 stop.py "$INJECT" run sweep.ini --csv=- 2>err)" 7
check "which leaves no process" gone

# Two machines at the same time do not disturb each other.
sed 's/600s/2s/' machine.ini >short.ini
"$INJECT" run short.ini --csv=one.csv 2>err1 &
one=$!
"$INJECT" run short.ini --csv=two.csv 2>err2 &
two=$!
wait $one
equal "exit code of the first of two" $? 0
wait $two
equal "exit code of the second of two" $? 0
equal "rows of both" "$(cat one.csv two.csv | wc -l)" 4
check "nothing left in the run directory" empty "$FAULTLINE_RUN_DIR"
finish
