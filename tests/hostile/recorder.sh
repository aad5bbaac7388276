#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The always-on recorder stays on: many devices in a small bound, a full disk, limits of files, failed snapshots
# and what recorders that died have left. It keeps what it can, and says what it could not.
own_mounts=yes
. "$(dirname "$0")/../e2e/lib.sh"

mkdir disk
trap 'umount -l disk 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
# disk SIZE: an empty disk of that size in place of the one before.
disk() {
	umount -l disk 2>/dev/null
	mount -t tmpfs -o "size=$1" none disk
}
bytes() { cat "$@" 2>/dev/null | wc -c; }
# value FILE NAME: a row of its account.
value() { "$FAULTLINE" report "$1" --csv=- --table loss 2>/dev/null | sed -n "s/^$2,//p"; }
# account FILE SAID: what is missing of what was written, and of what its recorder said was not; of what was produced.
account() {
	local there written unwritten
	there=$("$FAULTLINE" report "$1" --csv=- --table events 2>/dev/null | awk -F, 'NR > 1 {n += $3} END {print n + 0}')
	written=$(sed -nE 's/^[^ ]+: ([0-9]+) events? in .*/\1/p' "$2")
	unwritten=$(sed -nE 's/^not kept (for want of room|as it could not be written): ([0-9]+) events.*/\2/p' "$2")
	echo $((written - there - $(value "$1" let_go_events))) $((${unwritten:-0} - $(value "$1" unwritten_events))) \
		$(($(value "$1" produced) - $(value "$1" received) - $(value "$1" lost) - $(value "$1" missed)))
}
# machine NAME COUNT DURATION RATE
machine() {
	cat >"$1" <<-INI
	[tenant vm]
	count = $2
	memory = 2M
	[device disk]
	file_bytes = 2M
	[workload mix]
	rate = $4
	duration = $3
	[inject cold]
	action = evict
	what = next
	rate = $4
	duration = $3
	INI
}
begun() { grep -q 'recording into' "$1"; }
told() { grep -qE "$2" "$1"; }

# 1. Segments hold the names that they use, not those of every device ever seen.
machine many.ini 400 300ms 4/s
"$FAULTLINE" record --max-size 1M -o many.flt -- sh -c "for i in 1 2 3; do '$INJECT' run '$PWD/many.ini' >/dev/null; done" 2>many.err
equal "many devices: the recorder ends well" $? 0
written=$(sed -nE 's/.* events? in [^,]*, ([0-9.]+)([KMG]),.*/\1 \2/p' many.err | awk '{print $1 * ($2 == "K" ? 1 : $2 == "M" ? 1024 : 1048576)}')
kept=$(bytes many.flt many.flt.*)
check "many devices: what was written ($written K) is about what was kept ($kept bytes)" \
	awk -v w="$written" -v k="$kept" 'BEGIN {exit !(k > 150000 && k <= 1048576 && w * 1024 < 3 * k)}'
check "many devices: faults were kept" \
	test "$("$FAULTLINE" report many.flt --csv=- --table devices | wc -l)" -gt 400
rm -f many.*

# 2. A full disk takes the oldest part, whatever the bounds would allow.
machine busy.ini 2 3600s 250/s
"$INJECT" run busy.ini >busy.out 2>busy.err &
machine=$!
wait_for 20 bash -c "ls $FAULTLINE_RUN_DIR/*.machine" || not_ok "the machine started" "$(cat busy.err)"
disk 200K
"$FAULTLINE" record --keep 1h -o disk/full.flt 2>full.err &
recorder=$!
wait_for 60 told full.err 'the oldest part of it goes'
wait_for 60 test -e disk/full.flt.000004
kill -INT $recorder
wait $recorder
equal "full disk: the recorder ends well" "$? $(account disk/full.flt full.err)" "0 0 0 0"
check "full disk: it is told what was let go" grep -q '^kept: the last .* let go before: [1-9]' full.err
check "full disk: much of it is the recording" test "$(bytes disk/full.flt.*)" -gt 60000
rm -f full.err

# 3. Somebody else takes all that there is, and what the recorder gives up: it waits, and goes on.
disk 200K
"$FAULTLINE" record --keep 1h -o disk/wait.flt 2>wait.err &
recorder=$!
wait_for 60 bash -c '[ $(cat disk/wait.flt.* | wc -c) -gt 30000 ]'
# Whoever reads a file keeps its room.
tail -F -c +1 disk/wait.flt.000001 disk/wait.flt.00000{2..9} >/dev/null 2>&1 &
reader=$!
cat /dev/zero >disk/filler 2>/dev/null
wait_for 60 told wait.err 'no older part of it'
sleep 1
kill $reader
wait $reader 2>/dev/null
rm -f disk/filler
wait_for 60 told wait.err 'there is room again: [1-9]'
sleep 1
kill -INT $recorder
wait $recorder
equal "no room at all: what was not kept is a loss, counted to the last event" "$? $(account disk/wait.flt wait.err)" "5 0 0 0"
check "no room at all: the report says so" grep -q 'the recorder had no room to write' \
	<("$FAULTLINE" report disk/wait.flt | paste -sd ' ')
grep -vE 'are off:' wait.err >wait.told
equal "no room at all: it is told once that it begins, and once that it ends" \
	"$(grep -c 'no older part of it' wait.told) $(grep -c 'there is room again' wait.told)" "1 1"

# And one that ends while there is none has no end, and says so.
disk 200K
"$FAULTLINE" record --keep 1h -o disk/never.flt 2>never.err &
recorder=$!
wait_for 60 bash -c '[ $(cat disk/never.flt.* | wc -c) -gt 30000 ]'
held=()
for segment in disk/never.flt.*; do
	exec {fd}<"$segment"
	held+=("$fd")
done
cat /dev/zero >disk/filler 2>/dev/null
wait_for 60 told never.err 'no older part of it'
kill -INT $recorder
wait $recorder
equal "no room for the end: it is a loss" "$?" 5
check "no room for the end: the summary says so" grep -qE '^not kept for want of room: .* and the recording.s end' never.err
check "no room for the end: and why numbers are floors" grep -q 'the recording has no end' never.err
for fd in "${held[@]}"; do exec {fd}<&-; done

# 4. ulimit -f: an ordinary recording ends with a sentence, a flight recorder goes on in the next file.
disk 8M
(ulimit -f 128; exec "$FAULTLINE" record -o disk/limit.flt 2>limit.err)
equal "ulimit -f: an ordinary recording ends with a sentence" \
	"$? $(grep -c '^faultline: disk/limit.flt: cannot be written: File too large' limit.err)" "1 1"
"$FAULTLINE" report disk/limit.flt >/dev/null 2>&1
equal "ulimit -f: and can be read up to there" $? 5
(ulimit -f 128; exec "$FAULTLINE" record --keep 1h -o disk/ring.flt 2>ring.err) &
recorder=$!
wait_for 60 test -e disk/ring.flt.000003
kill -INT $recorder
wait $recorder
equal "ulimit -f: a flight recorder goes on" "$? $(account disk/ring.flt ring.err)" "0 0 0 0"
(ulimit -f 8; exec "$FAULTLINE" record --keep 1h -o disk/small.flt 2>small.err)
equal "ulimit -f: too little for anything is said" "$? $(grep -c '^faultline: .*ulimit -f' small.err) $(ls disk | grep -c small)" "1 1 0"

# 5. Snapshots: the one behind 999, the oldest that go, and those that fail end nothing.
disk 8M
"$FAULTLINE" record -q -o disk/t.trigger-998.flt -- true
cp disk/t.trigger-998.flt disk/t.trigger-999.flt
echo "nothing of the recorder's" >disk/t.trigger-001.flt
"$FAULTLINE" record --trigger 'total>1ns' --around 50ms --snapshots 2 -o disk/t.flt 2>t.err &
recorder=$!
wait_for 60 told t.err '^saved disk/t.trigger-1001.flt'
kill -INT $recorder
wait $recorder
equal "the 1000th snapshot: the recorder goes on" $? 0
left=$(ls disk | grep trigger | paste -sd ' ')
last=$(ls disk | grep -o 'trigger-[0-9]*' | cut -c 9- | sort -n | tail -n 1)
equal "of snapshots the last two are left, and what is none" "$left" \
	"$(printf '%s\n' 001 $((last - 1)) "$last" | sed 's/.*/t.trigger-&.flt/' | sort | paste -sd ' ')"
"$FAULTLINE" record --trigger 'total>1ns' --around 50ms --snapshots-size 1 -o disk/u.flt 2>u.err &
recorder=$!
wait_for 60 told u.err 'could not be saved: .*--snapshots-size'
kill -0 $recorder && kill -INT $recorder
wait $recorder
equal "a snapshot that fails is told, ends nothing and is no success" \
	"$? $(tail -n 1 u.err | grep -cE '^faultline: ([0-9]+) of \1 snapshots could not be saved$') $(ls disk | grep -c 'u.trigger')" "1 1 0"
check "and the recorder has its end" grep -q '^complete,' <("$FAULTLINE" report disk/u.flt --json | python3 -c '
import json, sys
print("complete,", json.load(sys.stdin)["complete"])')

# A storm: what surrounds its first faults is saved while it lasts, before the recorder lets it go, and then what follows.
disk 8M
"$FAULTLINE" record --trigger 'total>1ns' --keep 1h --max-size 1M --around 50ms -o disk/s.flt 2>s.err &
recorder=$!
wait_for 120 told s.err '^saved disk/s.trigger-003.flt'
kill -INT $recorder
wait $recorder
equal "a storm: its beginning is saved while it lasts, and whole" "$? $(grep -c 'had been let go' s.err)" "0 0"
period() { "$FAULTLINE" report "$1" 2>/dev/null | sed -nE "s/^From (.*) UTC to (.*) UTC.*/\\$2/p"; }
equal "a storm: the next one goes on where it ends" "$(period disk/s.trigger-001.flt 2)" "$(period disk/s.trigger-002.flt 1)"

# 6. A start that fails, or is killed, leaves nothing in the way of the next.
disk 8M
"$FAULTLINE" record --max-size 1M -o disk/a.flt -p 4194303 2>/dev/null
equal "a start that fails leaves nothing" "$(ls disk)" ""
for ((i = 0; i < 4; i++)); do
	"$FAULTLINE" record --max-size 1M -o disk/a.flt 2>a.err &
	recorder=$!
	wait_for 20 test -e disk/a.flt.000001 -o -e disk/a.flt
	kill -KILL $recorder
	wait $recorder 2>/dev/null
done
rm -f a.err # what an earlier one said
"$FAULTLINE" record --max-size 1M -o disk/a.flt 2>a.err &
recorder=$!
wait_for 60 begun a.err
wait_for 60 bash -c '[ $(cat disk/a.flt.* | wc -c) -gt 50000 ]'
kill -KILL $recorder
wait $recorder 2>/dev/null
events_of() { "$FAULTLINE" report "$1" --csv=- --table events 2>/dev/null | grep -v ',0$' | tail -n +2 | sort | paste -sd ' '; }
before=$(events_of disk/a.flt)

# One that was killed as it was to replace another leaves a file whose name no later one would have: it goes, others' stay.
"$FAULTLINE" record -q --duration 1ms -o disk/k.flt
strace -f -qq -o /dev/null -e trace=renameat -e inject=renameat:signal=SIGKILL \
	"$FAULTLINE" record -q -f --duration 1ms -o disk/k.flt 2>/dev/null
left=$(ls disk | grep -c 'k.flt.new-')
touch disk/k.flt.new-$$ disk/k.flt.new-04194303 disk/k.flt.new- disk/kk.flt.new-4194303
mkdir disk/k.flt.new-4194302
touch disk/k.flt.new-4194301 disk/k.flt.new-4194300
chown 65534 disk/k.flt.new-4194301
exec {fd}<disk/k.flt.new-4194300
flock -x $fd
"$FAULTLINE" record -q -f --duration 1ms -o disk/k.flt
equal "killed before it took the place of another: what it left goes, and nothing else" \
	"$left $(cd disk && echo k*.flt.new-* | sed "s/-$$\\>/-self/" | tr ' ' '\n' | sort | paste -sd ' ')" \
	"1 $(printf 'k.flt.new-%s\n' '' 04194303 4194300 4194301 4194302 self | sed '$a kk.flt.new-4194303' | sort | paste -sd ' ')"
exec {fd}<&-

# 7. Nor does one that died: what it had kept is set aside. A living one is left alone, asked to replace it or not.
rm -f a.err # what an earlier one said
"$FAULTLINE" record --max-size 1M -o disk/a.flt 2>a.err &
recorder=$!
wait_for 60 begun a.err
aside=$(sed -n 's/.*what its last recorder had kept is now //p' a.err)
[ -n "$before" ] && [ "$(events_of "$aside")" = "$before" ] && ok "what a recorder that died had kept is set aside" ||
	not_ok "what a recorder that died had kept is set aside" "'$before' and in '$aside' '$(events_of "$aside")'"
for how in "" --force; do
	# shellcheck disable=SC2086
	"$FAULTLINE" record $how --max-size 1M -o disk/a.flt 2>second.err
	equal "a second recorder of it is refused ${how:-unforced}" \
		"$? $(grep -c '^faultline: disk/a.flt: another recorder is writing' second.err)" "1 1"
done
# Nor does another take the name of one of its segments, finished or to come.
wait_for 60 bash -c '[ $(ls disk/a.flt.* | wc -l) -gt 1 ]'
for segment in "$(ls disk/a.flt.* | head -n 1)" disk/a.flt.000999; do
	before=$(stat -c %i "$segment" 2>&1)
	"$FAULTLINE" record -q --force --duration 1ms -o "$segment" 2>second.err
	equal "a living recorder's segment is nobody's to replace: ${segment##*.}" \
		"$? $(grep -c "^faultline: $segment: is a segment of a flight recorder that is writing" second.err) $(stat -c %i "$segment" 2>&1)" "1 1 $before"
done
check "the first one goes on" kill -0 $recorder
kill -INT $recorder
wait $recorder
equal "and ends well" $? 0
"$FAULTLINE" record --max-size 1M -o disk/a.flt 2>second.err
equal "one that came to its end is replaced only if asked for" "$? $(grep -c 'exists already' second.err)" "1 1"

# The longest name that may be is one whose recorder can die; a longer one is refused, and leaves nothing.
disk 8M
name=$(printf '%0221d.flt' 0)
for how in 1 2; do
	rm -f a.err # what an earlier one said
	"$FAULTLINE" record --max-size 1M -o "disk/$name" 2>a.err &
	recorder=$!
	wait_for 60 begun a.err
	# More than the head, which has every kind.
	wait_for 60 bash -c "[ \$(cat disk/0* | wc -c) -gt 28000 ]"
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	rm -f a.err # what an earlier one said
done
equal "the longest name: what died is set aside" "$(ls disk | grep -c '^0*.crashed-001.flt.000001$')" 1
disk 8M
"$FAULTLINE" record --max-size 1M -o "disk/0$name" 2>a.err
equal "a name too long for what is made of it is refused at once" \
	"$? $(grep -c '^faultline: .*too long for a flight recorder; accepted: up to 225 bytes' a.err) $(ls disk)" "1 1 "
rm -f a.err

# On a full disk it begins in the room of what had died, and says what went.
disk 200K
"$FAULTLINE" record --keep 1h -o disk/d.flt 2>d.err &
recorder=$!
wait_for 60 begun d.err
wait_for 60 bash -c '[ $(cat disk/d.flt.* | wc -c) -gt 10000 ]'
kill -KILL $recorder
wait $recorder 2>/dev/null
cat /dev/zero >disk/filler 2>/dev/null
"$FAULTLINE" record -q --keep 1h --duration 100ms -o disk/d.flt 2>d.err
equal "full disk: what died goes with a word" \
	"$(($? % 5)) $(grep -cE '^faultline: disk/d.flt: no room to begin: .* had kept is deleted \(1 segment\)$' d.err)" "0 1"

# 8. What others put where the next segments would be is none of the recording: nobody waits for it or follows it.
disk 8M
mkfifo disk/b.flt.000002
ln -s /dev/zero disk/b.flt.000003
mkdir disk/b.flt.000004 disk/b.flt.4294967294 disk/b.flt.4294967295
touch disk/b.trigger-4294967295.flt disk/c.crashed-4294967295.flt
"$FAULTLINE" record --max-size 1M --trigger 'total>1ns' --around 50ms --snapshots 3 -o disk/b.flt 2>b.err &
recorder=$!
wait_for 60 test -e disk/b.flt.000005
wait_for 60 told b.err '^saved disk/b.trigger-'
kill -INT $recorder
wait $recorder
equal "a stranger's FIFO among segments: the recorder ends well" "$? $(account disk/b.flt b.err)" "0 0 0 0"
equal "names that others have taken decide about no number" \
	"$(ls -d disk/b.flt.* | grep -vE '\.0000[0-9]{2}$' | paste -sd ' ')" "disk/b.flt.4294967294 disk/b.flt.4294967295"
"$FAULTLINE" report "$(ls disk/b.trigger-*.flt | head -n 1)" >/dev/null 2>&1
equal "a stranger's FIFO among segments: its snapshots can be read" $? 0
for how in "report" "timeline" "footprint" "top -b -i" "doctor"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $how disk/b.flt >out 2>&1
	equal "a stranger's FIFO among segments: ${how%% *} ends" $? 0
done
"$FAULTLINE" record --max-size 1M -o disk/c.flt 2>c.err &
recorder=$!
wait_for 60 test -e disk/c.flt.000002
kill -KILL $recorder
wait $recorder 2>/dev/null
rm -f disk/c.flt.000001
mkfifo disk/c.flt.000001
"$FAULTLINE" report disk/c.flt >out 2>&1
equal "a FIFO in place of a segment is one that is not there" $? 5
"$FAULTLINE" record -q --max-size 1M --duration 1ms -o disk/c.flt
equal "a name that others have taken is in nobody's way: what died is set aside behind ours" \
	"$? $(ls disk | grep -c '^c.crashed-001.flt.')" "0 $(ls disk | grep -c '^c.crashed-001.flt.00000[2-9]')"

# And what others remove is written again: its own file, with the next segment and for the end.
"$FAULTLINE" record --max-size 1M -o disk/r.flt 2>r.err &
recorder=$!
wait_for 60 begun r.err
rm disk/r.flt
wait_for 60 test -e disk/r.flt
equal "its file is removed: it is there again with the next segment" \
	"$("$FAULTLINE" report disk/r.flt >/dev/null 2>&1; echo $?)" 5
rm disk/r.flt
kill -INT $recorder
wait $recorder
equal "its file is removed: it is there at the end" "$? $(account disk/r.flt r.err)" "0 0 0 0"

# 9. A disk that fails what seemed to be written: it is told and counted, and is no success; what has its name is there.
disk 8M
# failing ERROR NAME OPTION...: a recorder into disk/NAME.flt of which those calls fail.
failing() {
	strace -f -qq -o /dev/null -e trace=fsync,close "${@:3}" -e "inject=$1" \
		"$FAULTLINE" record --trigger 'total>1ns' --around 50ms --max-size 1M -o "disk/$2.flt" 2>"$2.err" &
	tracer=$!
	wait_for 60 begun "$2.err"
	recorder=$(pgrep -P $tracer)
}
for how in fsync:error=EIO close:error=ENOSPC; do
	name=${how%%:*}
	failing "$how" "$name" -P "$PWD/disk/$name.flt.000001"
	wait_for 60 test -e "disk/$name.flt.000003"
	wait_for 60 told "$name.err" 'may not be on the disk'
	kill -INT "$recorder"
	wait $tracer
	equal "$name of a finished segment fails: it is told once, counted, and no success" \
		"$? $(grep -c "^faultline: disk/$name.flt.000001: may not be on the disk: .*; the recorder goes on$" "$name.err") $(grep -c '^may not be on the disk: 1 segment$' "$name.err")" "1 1 1"
done
# What passes in time ends nothing: it is told when it begins and when it ends, and counted.
for how in openat:error=ENFILE:when=1..2 openat:error=ESTALE:when=1..2 write:error=EIO:when=3..4 write:error=EROFS:when=3..4; do
	name=$(tr ':=.' '---' <<<"$how")
	segment=disk/$name.flt.000002
	strace -f -qq -o /dev/null -e trace=openat,write -e "inject=$how" -P "$segment" -P "$PWD/$segment" \
		"$FAULTLINE" record --max-size 1M -o "disk/$name.flt" 2>"$name.err" &
	tracer=$!
	wait_for 60 begun "$name.err"
	recorder=$(pgrep -P $tracer)
	wait_for 60 told "$name.err" 'it can be written again: '
	kill -INT "$recorder"
	wait $tracer
	equal "${how%:*} fails for a while: it is told, what was not kept is counted, and it goes on" \
		"$? $(grep -cE ': (Too many open files in system|Stale file handle|Input/output error|Read-only file system): what happens now is not kept; trying again every second$' "$name.err") $(
			account "disk/$name.flt" "$name.err" | cut -d ' ' -f 1,3)" "5 1 0 0"
done
# Nor does a folder that is gone; one that is made anew is recorded into.
mkdir disk/folder
"$FAULTLINE" record --max-size 1M -o disk/folder/f.flt 2>>f.err &
recorder=$!
wait_for 60 begun f.err
for how in back anew; do
	mv disk/folder disk/elsewhere
	wait_for 60 told f.err 'No such file or directory: what happens now is not kept; trying again every second$'
	[ $how = back ] && mv disk/elsewhere disk/folder || mkdir disk/folder
	wait_for 60 told f.err 'it can be written again: [1-9]'
	: >f.err # what it has said
done
sleep 1
kill -INT $recorder
wait $recorder
status=$?
# Whether the name of a segment in the folder that was gone is on the disk nobody knows.
equal "a folder that is gone is waited for, and what is lost meanwhile is counted" \
	"$status $(account disk/folder/f.flt f.err) $(grep -cE '^not kept as it could not be written: [1-9]' f.err) $(grep -cE '^may not be on the disk: [12] segments?$' f.err)" "1 0 0 0 1 1"
# The recording's own file and its folder come first.
failing fsync:error=EIO:when=3+ named
wait_for 60 told named.err 'could not be saved: .*cannot be written to the disk'
kill -INT "$recorder"
wait $tracer
equal "a snapshot that is not on the disk has no name" "$? $(ls disk | grep -c 'named.trigger')" "1 0"
strace -qq -o /dev/null -e trace=fsync -e inject=fsync:error=EIO:when=3 "$FAULTLINE" record -q -o disk/whole.flt -- true 2>whole.err
equal "a recording that is not on the disk is no success" "$? $(cat whole.err)" \
	"1 faultline: disk/whole.flt: cannot be written to the disk: Input/output error"

kill -INT $machine
wait $machine 2>/dev/null
umount disk
finish
