#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Recordings of several hosts in one: each host's part is its own recording, whatever is wrong with it; no half
# file, whatever ends the merge.
. "$(dirname "$0")/lib.sh"

# The same job twice, so that devices, stacks and groups have the same names and numbers.
cat >job.ini <<'INI'
[tenant vm]
memory = 16M
[device disk]
queues = 2
file_bytes = 8M
[workload mix]
count = 211
depth = 3
rate = 211/s
[inject cold]
action = evict
kind = major
pages = 13
rate = 23/s
duration = 2s
INI
cat >slo.ini <<'INI'
[slo tight]
latency_target = 1ms
[slo faults]
fault_rate = 3
burst = 2
INI
for host in a b c; do
	"$FAULTLINE" record -q --as-root --emulator "$INJECT" -o $host.flt -- "$INJECT" run job.ini >/dev/null 2>$host.err
	status=$?
	[ $status = 0 ] || [ $status = 5 ] || not_ok "recording $host" "$(tail -n 3 $host.err)"
done
# A flight recorder, and one whose recorder was killed.
"$FAULTLINE" record -q --as-root --max-size 1M --emulator "$INJECT" -o ring.flt -- "$INJECT" run job.ini >/dev/null 2>&1
head -c $(($(stat -c %s c.flt) * 2 / 3)) c.flt >cut.flt

compare() {
	"$FAULTLINE" merge -q -o "$1.flt" "${@:2}" 2>run.err
	status=$?
	python3 "$root/tests/reference/compare_merged.py" "$FAULTLINE" "$1.flt" slo.ini "${@:2}" >verdict 2>&1
	adopt "$1"
}
compare fleet a.flt b.flt ring.flt
equal "nothing was lost" $status 0
compare with-cut a.flt cut.flt
equal "a cut recording makes floors" $status 5
check "and that is said" grep -q 'counts are floors: the recording has no end' run.err

# Damage is counted, not copied.
cp b.flt damaged.flt
printf 'damage' | dd of=damaged.flt bs=1 seek=4099 conv=notrunc 2>/dev/null
"$FAULTLINE" merge -q -o with-damage.flt a.flt damaged.flt 2>run.err
equal "a damaged recording makes floors" $? 5
"$FAULTLINE" report with-damage.flt --json >damage.json 2>/dev/null
equal "and who reads them is told" $? 5
check "by what is damaged" grep -q '"floor":"[^"]*unreadable' damage.json

# What is refused leaves nothing.
cp a.flt copy.flt
"$FAULTLINE" merge -o twice.flt a.flt b.flt copy.flt >run.out 2>run.err
equal "one recording twice is refused" $? 2
check "with a sentence" grep -q 'copy.flt: is of the same recording of host .* as a.flt' run.err
check "and no file" test ! -e twice.flt
sum=$(sha256sum <fleet.flt)
"$FAULTLINE" merge -o fleet.flt a.flt b.flt >/dev/null 2>run.err
equal "a file that is there is not replaced" "$? $(sha256sum <fleet.flt)" "1 $sum"
"$FAULTLINE" merge -f -o a.flt a.flt b.flt >/dev/null 2>run.err
equal "nor one that is read, with --force" $? 2
ln -s nowhere link.flt
"$FAULTLINE" merge -o link.flt a.flt b.flt >/dev/null 2>run.err
equal "nor a link followed" "$? $(readlink link.flt)" '1 nowhere'
(ulimit -n 16 && exec "$FAULTLINE" merge -q -o few.flt a.flt b.flt ring.flt) 2>run.err
status=$?
check "a limit of open files is raised, or told" test "$status $(grep -c 'RLIMIT_NOFILE.*ulimit -n' run.err)" = \
	"$([ -e few.flt ] && echo '0 0' || echo '1 1')"

# Killed at any time there is no half file; of two at once one has the name.
whole=$(stat -c %s fleet.flt)
for turn in $(seq 23); do
	"$FAULTLINE" merge -q -o killed.flt a.flt b.flt ring.flt 2>/dev/null &
	sleep "0.0$((turn % 7))"
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
	[ ! -e killed.flt ] || [ "$(stat -c %s killed.flt)" = "$whole" ] || break
	[ -z "$(find . -name 'killed.flt?*')" ] || break
	rm -f killed.flt
done
equal "killed, it leaves nothing or all of it" "$turn $(find . -name 'killed.flt*' | wc -l)" '23 0'
"$FAULTLINE" merge -q -o race.flt a.flt b.flt ring.flt 2>/dev/null &
first=$!
"$FAULTLINE" merge -q -o race.flt a.flt b.flt ring.flt 2>/dev/null
codes=$?
wait $first
codes="$codes $?"
case $codes in '0 1' | '1 0') ok "of two at once one writes" ;; *) not_ok "of two at once one writes" "$codes" ;; esac
check "and all of it" cmp <("$FAULTLINE" report race.flt --json | grep -v '"recording"') \
	<("$FAULTLINE" report fleet.flt --json | grep -v '"recording"')

# Hosts are chosen by name or pattern, one where there can be but one.
name=$("$FAULTLINE" report fleet.flt --table hosts --csv | sed -n 2p | cut -d, -f1)
equal "hosts have names of their own" "$("$FAULTLINE" report fleet.flt --table hosts --csv | cut -d, -f1 | sort -u | wc -l)" 4
"$FAULTLINE" top -b -i fleet.flt >/dev/null 2>run.err
equal "top tells of one host" $? 2
check "and says of which it could" grep -q "choose one with --host: $name, $name#2, $name#3" run.err
check "top --host" "$FAULTLINE" top -b -i fleet.flt --host "$name"
check "doctor --host" "$FAULTLINE" doctor fleet.flt --host "$name#2"
"$FAULTLINE" report fleet.flt --host nobody >/dev/null 2>run.err
equal "an unknown host is refused" $? 2
finish
