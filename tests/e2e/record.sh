#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What `record` does to others: to the recording that it replaces, and to the command that it wraps
# and all that this has started.
. "$(dirname "$0")/lib.sh"

recording() { "$FAULTLINE" report "$1" --json >/dev/null 2>&1; }
number() { cksum <"$1"; }

# 1. An older recording is replaced by a newer one and by nothing else.
check "a recording" "$FAULTLINE" record -q -o good.flt -- true
before=$(number good.flt)
printf '#!/no/such/interpreter\n' >noshell
chmod +x noshell
# keeps NAME CODE PATTERN COMMAND...: it fails like this and good.flt is what it was.
keeps() {
	local name=$1 code=$2 pattern=$3 status
	shift 3
	"$@" >out 2>err
	status=$?
	if [ $status -ne "$code" ] || [ "$(grep -c "^faultline: .*$pattern" err)" -ne 1 ]; then
		not_ok "$name" "exit $status: $(head -c 300 err)"
	elif [ "$(number good.flt 2>/dev/null)" != "$before" ]; then
		not_ok "$name" "good.flt is another"
	else
		ok "$name"
	fi
}
for how in "" "--keep 1m"; do
	# shellcheck disable=SC2086
	set -- "$FAULTLINE" record --force $how -o good.flt
	keeps "no such command $how" 1 'nosuchcommand: no such command' "$@" -- nosuchcommand
	keeps "a command without interpreter $how" 1 'noshell: cannot be run: No such file' "$@" -- ./noshell
	keeps "a directory as command $how" 4 'cannot be run: Permission denied' "$@" -- ./.
	keeps "no such process $how" 1 'process' "$@" -p 4194303
done
keeps "refused unasked" 1 'exists already; .*--force' "$FAULTLINE" record -o good.flt -- true
equal "nothing else is left of all these" "$(ls)" "$(printf '%s\n' bin err good.flt noshell out)"

# Of two that are to write the same file one does and the other one says so, whether there is an older one or not.
for ((i = 0; i < 4; i++)); do
	rm -f one.flt pair.*
	((i % 2)) && cp good.flt one.flt
	pair=()
	for how in 1 2; do
		"$FAULTLINE" record --force -o one.flt 2>pair.$how &
		pair+=($!)
		# Both at once, or the second one when the first one records.
		[ $how$((i / 2)) = 11 ] && wait_for 60 grep -q 'recording into' pair.1
	done
	wait_for 60 grep -qsE 'another recorder is writing|exists already' pair.1 pair.2
	wait_for 60 grep -qs 'recording into' pair.1 pair.2
	kill "${pair[@]}" 2>/dev/null
	codes=()
	for recorder in "${pair[@]}"; do
		wait "$recorder"
		codes+=($?)
	done
	equal "two recorders of one file, $i: one is refused, one writes it" \
		"$(printf '%s\n' "${codes[@]}" | sort | paste -sd ' ') $(recording one.flt && echo whole)" "0 1 whole"
done
rm -f one.flt pair.*

# What is said when nothing has happened: no mean of no events, and not that something "does not match".
"$FAULTLINE" record -o nothing.flt -- true 2>err
check "nothing happened: the recorder's last line" grep -qE '^nothing.flt: [0-9]+ events? in [^,]*, [0-9.]+K, nothing lost$' err
check "nothing happened: the recorder says so first" grep -q '^0 I/O page faults' err
equal "nothing happened: timeline" "$("$FAULTLINE" timeline nothing.flt --device none | paste -sd ' ')" \
	"No page request was recorded; \`faultline report\` says what was watched and what was not."
rm -f nothing.flt

# What a command prints is no part of the recording that goes the same way.
equal "a recording on stdout: its command prints beside it" "$("$FAULTLINE" record -q -o - -- echo hello 2>err |
	"$FAULTLINE" report - 2>&1 >/dev/null | grep -c damaged; echo "${PIPESTATUS[*]} $(cat err)")" "0
0 0 1 hello"

# How long a flight recorder has kept is one time, whoever tells it.
"$FAULTLINE" record --keep 500ms -o keep.flt -- sleep 1.5 2>err
kept=$(sed -n 's/^kept: the last \([^;]*\);.*/\1/p' err)
check "flight recorder: the recorder says how long it has kept" test -n "$kept"
equal "flight recorder: the report says the same" \
	"$("$FAULTLINE" report keep.flt | paste -sd ' ' | sed -n 's/.* UTC to .* UTC (\([^)]*\))\..*/\1/p' | head -1)" "$kept"
rm -f keep.flt*

# What a trigger saves is saved while probes are busy: its account is exact for what had been taken from the rings.
cat >busy.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
[workload mix]
depth = 4
duration = 600s
[inject cold]
action = evict
what = next
rate = 900/s
duration = 600s
[inject slow]
action = delay
stage = resolve
delay = 700ms
times = 1
start = 1s
duration = 599s
INI
"$FAULTLINE" record --trigger 'total>600ms' --around 100ms -o busy.flt -- "$INJECT" run busy.ini >busy.out 2>busy.err &
pid=$!
saved_or_ended() { grep -qE '^saved|the command ended' busy.err; }
wait_for 60 saved_or_ended
grep -q '^saved busy.trigger-001.flt' busy.err
saved=$?
kill -TERM $pid
wait $pid
equal "what is saved while the recorder goes on: produced - received - lost - missed" "$saved $("$FAULTLINE" \
	report busy.trigger-001.flt --csv=- --table loss 2>/dev/null | awk -F, '{n[$1] = $2}
	END {print n["produced"] - n["received"] - n["lost"] - n["missed"], (n["received"] > 100 ? "of many" : "of few")}')" "0 0 of many"
# And it is of the span that it says: all that began in it, and nothing else.
"$FAULTLINE" timeline busy.flt --all --csv --raw-time >busy.csv 2>busy.err
compared=$("$root/tests/reference/compare_span.py" busy.trigger-001.flt busy.csv 100 2>&1)
equal "what is saved is of the span that it says ($compared)" \
	"$(grep -cE '^[1-9][0-9]+ faults inside, [1-9][0-9]+ outside$' <<<"$compared")" 1
rm -f busy.*

# Killed at any instant there is one of the two: the old one, or the new one as far as it came.
older=0 newer=0 neither=0
for ((i = 0; i < 24; i++)); do
	"$FAULTLINE" record -q -o kill.flt --force -- true || not_ok "recording to be replaced"
	id=$(head -c 24 kill.flt | cksum)
	rm -f kill.err
	"$FAULTLINE" record --force -o kill.flt 2>kill.err &
	recorder=$!
	if ((i % 3)); then sleep "0.$((RANDOM % 5))"; else wait_for 60 grep -q 'recording into' kill.err; fi
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	if [ "$(head -c 24 kill.flt | cksum)" = "$id" ]; then
		older=$((older + 1))
	elif recording kill.flt || [ $? -eq 5 ]; then
		newer=$((newer + 1))
	else
		neither=$((neither + 1))
	fi
done
equal "killed while replacing: neither the old nor the new recording is there" $neither 0
[ $older -gt 0 ] && [ $newer -ge 8 ] && ok "killed while replacing: $older old, $newer new ones" ||
	not_ok "killed while replacing: both were met" "$older old, $newer new"
beside=(kill.flt*)
equal "killed while replacing: nothing is left beside it" "${beside[*]}" kill.flt

# 2. What the command inherits: no more than without the recorder.
(trap - PIPE; exec bash -c 'grep -E "^Sig(Blk|Ign)" /proc/self/status') >plain
(trap - PIPE; exec "$FAULTLINE" record -q -o signals.flt -- grep -E '^Sig(Blk|Ign)' /proc/self/status) >wrapped
equal "signals ignored and blocked in the command" "$(cat wrapped)" "$(cat plain)"
(trap '' PIPE; exec "$FAULTLINE" record -q --force -o signals.flt -- grep -E '^SigIgn' /proc/self/status) >wrapped
equal "SIGPIPE ignored from before stays so" "$((0x$(sed 's/.*\t//' wrapped) >> 12 & 1))" 1

# blocking COMMAND...: started with what is to end us blocked, as by a parent that waits for signals.
blocking() {
	exec python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}
# blocked PID: what it has of these in its mask.
blocked() { printf '%x\n' $((0x$(sed -n 's/^SigBlk:\t//p' "/proc/$1/status") & 0x4002)); }
(blocking "$FAULTLINE" record -q --force -o signals.flt -- grep '^SigBlk' /proc/self/status) >wrapped
equal "signals blocked from before stay so in the command" "$((0x$(sed 's/.*\t//' wrapped) & 0x4002))" $((0x4002))
(blocking "$FAULTLINE" record --force -o signals.flt 2>blocked.err) &
pid=$!
wait_for 60 grep -q 'recording into' blocked.err
equal "a recorder that was started with them blocked hears them" "$(blocked $pid)" 0
kill -TERM $pid
[ "$(blocked $pid)" = 0 ] || kill -KILL $pid
wait $pid
equal "... and ends well" $? 0

# 3. At the end of --duration nothing of the command is left: a child in its group, one in a session of
#    its own, one that was forked twice, one that ignores SIGTERM.
cat >family.sh <<SH
#!/bin/bash
sleep 86399.125$$ &
setsid sleep 86398.125$$ &
(setsid sleep 86397.125$$ &) &
bash -c 'trap "" TERM; while :; do sleep 0.01; done' stubborn-$$ &
wait
SH
chmod +x family.sh
left() { pgrep -f "sleep 8639[0-9]\.125$$|stubborn-$$"; }
family_complete() { [ "$(left | wc -l)" -ge 4 ]; }
run_family() {
	"$FAULTLINE" record -q --force -o family.flt "$@" -- ./family.sh 2>family.err &
	recorder=$!
	wait_for 60 family_complete || not_ok "the command's children started" "$(cat family.err; left)"
}
run_family --duration 1s
wait $recorder
equal "--duration ends well" $? 0
equal "--duration: descendants left" "$(left | wc -l)" 0
# Ending the command takes its time, which was not watched.
"$FAULTLINE" record --force -o ended.flt --duration 300ms -- sh -c 'trap "sleep 1; exit" TERM; while :; do sleep 0.1; done' 2>ended.err
equal "what is reported lasted as long as what was recorded" \
	"$("$FAULTLINE" report ended.flt | tr '\n' ' ' | sed -nE 's/.*From [^(]*\(([0-9.]+m?s)\).*/\1/p')" \
	"$(sed -nE 's/.* events? in ([0-9.]+m?s),.*/\1/p' ended.err)"
run_family
kill -TERM $recorder
wait $recorder
equal "SIGTERM ends it" $? 7
equal "SIGTERM: descendants left" "$(left | wc -l)" 0
run_family
kill -INT $recorder
kill -INT $recorder
wait $recorder
equal "a second Ctrl-C ends it" $? 7
equal "a second Ctrl-C: descendants left" "$(left | wc -l)" 0
# Killed it can do nothing any more: its keeper does. That one killed, the recorder does.
run_family
kill -KILL $recorder
wait $recorder 2>/dev/null
gone() { [ "$(left | wc -l)" -eq 0 ]; }
wait_for 10 gone
equal "SIGKILL: descendants left" "$(left | wc -l)" 0
run_family
pkill -KILL -P $recorder
wait $recorder
equal "SIGKILL of the keeper between: the status of the command that died with it" $? 137
equal "SIGKILL of the keeper: descendants left" "$(left | wc -l)" 0
for pid in $(left); do kill -KILL "$pid"; done

# A command that ended by itself has left on purpose what it has left.
"$FAULTLINE" record -q --force -o family.flt -- bash -c "setsid sleep 86395.125$$ >/dev/null 2>&1 & :"
equal "a command that leaves a daemon" $? 0
equal "its daemon goes on" "$(left | wc -l)" 1
for pid in $(left); do kill -KILL "$pid"; done

# 4. Under nohup(1) the end of a session ends nobody.
# disposition PID SigIgn|SigCgt: 1 if SIGHUP is in that mask.
disposition() { echo $((0x$(sed -n "s/^$2:\t//p" "/proc/$1/status") & 1)); }
cat >machine.ini <<'INI'
[machine]
[tenant vm]
memory = 4M
[device disk]
file_bytes = 4M
[workload mix]
duration = 600s
INI
# under_nohup NAME PATTERN COMMAND...: a line with PATTERN says that its handlers are in place.
under_nohup() {
	local name=$1 pattern=$2 pid
	shift 2
	rm -f nohup.out nohup.err
	(trap '' HUP; exec "$@" >nohup.out 2>nohup.err) &
	pid=$!
	wait_for 60 grep -qE "$pattern" nohup.err nohup.out
	equal "nohup $name: SIGHUP is ignored, not caught" \
		"$(disposition $pid SigIgn) $(disposition $pid SigCgt)" "1 0"
	kill -HUP $pid
	kill -TERM $pid
	wait $pid 2>/dev/null
}
under_nohup record 'recording into' "$FAULTLINE" record -o nohup.flt
under_nohup top . "$FAULTLINE" top -b 1 100000
(trap '' HUP; exec "$INJECT" run machine.ini >nohup.out 2>nohup.err) &
pid=$!
child_ready() { ls "$FAULTLINE_RUN_DIR"/*.machine; }
wait_for 60 child_ready
child=$(pgrep -P $pid)
equal "nohup run: SIGHUP is not waited for by the guardian, ignored by its machine" \
	"$(disposition $pid SigBlk) $(disposition "$child" SigIgn) $(disposition "$child" SigCgt)" "0 1 0"
kill -TERM $pid
wait $pid 2>/dev/null
(blocking "$INJECT" run machine.ini >blocked.out 2>&1) &
pid=$!
wait_for 60 child_ready
child=$(pgrep -P $pid)
# The guardian waits for signals that it has blocked; its machine must hear them.
equal "run started with SIGINT and SIGTERM blocked: its machine hears them" "$(blocked "$child")" 0
kill -TERM $pid
wait $pid 2>/dev/null
"$FAULTLINE" record -o hup.flt 2>hup.err &
pid=$!
wait_for 60 grep -q 'recording into' hup.err
kill -HUP $pid
wait $pid
equal "without nohup SIGHUP ends a recorder well" $? 0
check "and the recording is complete" recording hup.flt

# A command is held until the probes are attached: a signal to all of them may end it before it begins.
"$FAULTLINE" record -q -o held.flt -- sleep 60 2>held.err &
pid=$!
held() { pgrep -P "$(pgrep -P $pid)"; }
if wait_for 20 held; then
	kill -TERM "$(held)"
	wait $pid
	equal "a command that is killed before it begins ended by that signal" "$? $(grep -c 'starting' held.err)" "143 0"
else
	not_ok "a command is held" "$(cat held.err)"
fi
finish
