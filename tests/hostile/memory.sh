#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory and CPU time grow with what is in a recording, not with what it claims, and end at --max-memory with a
# sentence and floors. Resident memory is the kernel's own figure of the process.
. "$(dirname "$0")/../e2e/lib.sh"
here=$root/tests/hostile
FIXED=40 # MiB of the program and of one frame of these recordings

check "the figures of docs/limits.md are the source's" /usr/bin/python3 -B "$here/limits.py"
check "recordings are made that claim what is not there" /usr/bin/python3 -B "$here/claims.py" .
printf '[slo a]\nmin_iops = 10\nlatency_target = 1ms\nfault_rate = 1\n' >slo.ini

# takes NAME STATUS MIB COMMAND...: ends with that status within so much memory; out and err are what it said.
takes() {
	local name=$1 status=$2 most=$3 ended peak cpu
	shift 3
	prlimit --cpu=60 "$here/peak.py" peak "$FAULTLINE" "$@" >out 2>err
	ended=$?
	read -r peak cpu <peak
	if [ "$ended" != "$status" ]; then
		not_ok "$name" "exit $ended, expected $status: $(tail -n 2 err | head -c 300)"
	elif [ "$peak" -gt "$most" ]; then
		not_ok "$name" "$peak MiB of memory, expected $most at most"
	elif [ "$cpu" -gt 10 ]; then
		not_ok "$name" "$cpu s of CPU time, expected 10 at most"
	else
		ok "$name ($peak of $most MiB)"
	fi
}

# Frames that no recorder writes are damage: more than a second's counters, devices that were never told.
for file in too_many_pages too_many_rows rows_of_no_device events_of_no_device; do
	takes "report: $file" 3 $FIXED report $file.flt --json
	check "and says how much was skipped" grep -q 'is damaged: [0-9]* bytes were skipped' err
done
takes "footprint: too_many_pages" 3 $FIXED footprint too_many_pages.flt
takes "top: too_many_pages" 3 $FIXED top -b -i too_many_pages.flt
takes "slo: rows_of_no_device" 3 $FIXED slo -c slo.ini rows_of_no_device.flt
takes "report: kinds that there are not" 0 $FIXED report rows_of_no_kind.flt --json
takes "report: probes" 5 $FIXED report probes.flt --json
equal "the probes that there was room for" "$(grep -c '"probe":' out)" 1024
check "and why counts are floors" grep -q 'tables of the analysis were full' err
# What has a handle beyond the tables is left out of them, which makes floors and ends nothing.
for file in pages_of_no_table rows_of_no_table events_of_no_table; do
	for verb in "report --json" "report --csv=- --table devices" "footprint --json" "top -b 1 -i"; do
		# shellcheck disable=SC2086
		takes "$verb: $file" 5 $FIXED $verb $file.flt
		case $verb in
		*--json) check "and why counts are floors" grep -q 'tables of the analysis were full' <(jq -r '.floor' out) ;;
		esac
	done
	"$FAULTLINE" report $file.flt --json >out 2>/dev/null
	equal "the tables are there: $file" "$(jq -r '.tables | (.faults | length >= 3), .footprint[0].touched_4k_bytes' out | paste -sd ' ')" "true 4096"
done
takes "report: accounts of loss, nothing new in each" 0 $FIXED report accounts_of_the_same.flt
takes "report: accounts of loss, a probe changed in each" 0 $FIXED report accounts_of_changes.flt
takes "report: names of PASIDs" 0 90 report pasids.flt

# Twenty million pages, which a device may well touch: some 1.2 GB, unless less is allowed.
for most in 16 64; do
	takes "footprint in ${most}M" 5 $((most + FIXED)) footprint pages.flt --max-memory ${most}M
	check "says where it stopped and why" grep -qE "^Stopped at 2026.* --max-memory ${most}M was" out
	takes "report in ${most}M" 5 $((most + FIXED)) report --json=report$most.json pages.flt --max-memory ${most}M
	check "says so beside JSON" grep -qE "^faultline: Stopped at 2026.* --max-memory ${most}M was" err
	equal "and in it" "$(jq -r '.floor, .complete' report$most.json | paste -sd '|')" "memory ran out|no: memory ran out before the recording's end"
	takes "top in ${most}M" 5 $((most + FIXED)) top -b -i pages.flt --max-memory ${most}M
	check "says so when it ends" grep -qE "^faultline: Stopped at 2026.* --max-memory ${most}M was" err
done
equal "the faults before are all there" "$(jq '.tables.faults | length' report16.json)" 3
more() { [ "$(jq ".tables.footprint[0].$1" report64.json)" -gt "$(jq ".tables.footprint[0].$1" report16.json)" ]; }
check "more memory reaches farther" more touched_4k_bytes
takes "timeline needs no pages" 0 $FIXED timeline pages.flt --max-memory 16M
takes "slo needs no pages" 6 $FIXED slo -c slo.ini pages.flt --max-memory 16M

# Open faults: what doctor looks through, too.
takes "doctor in 16M" 5 $((16 + FIXED)) doctor pasids.flt --max-memory 16M
check "says where it stopped and why" grep -qE "^Stopped at 2026.* --max-memory 16M was" out
takes "doctor in 16M, as JSON" 5 $((16 + FIXED)) doctor pasids.flt --max-memory 16M --json
check "says so beside it" grep -qE "^faultline: Stopped at 2026.* --max-memory 16M was" err
equal "and in it" "$(jq -r '.floor, .complete' out | paste -sd '|')" "memory ran out|no: memory ran out before the recording's end"
takes "doctor where there is room" 0 90 doctor pasids.flt --json
equal "says that it is complete" "$(jq -r '.floor, .complete' out | paste -sd '|')" "null|yes"
takes "doctor of this host has no such limit" 2 $FIXED doctor --max-memory 16M

# A translation is 16 bytes of a file; a model is not cut, but its trace may be.
takes "sim: I/Os of a GiB" 5 $((64 + FIXED)) sim --preset base --trace ios.flt --max-memory 64M
check "says how many there was room for" grep -q 'ios.flt: counts are floors: no room for more than 4194304 translations, as --max-memory is 64M' err
takes "sim: traces behind one that there is no room for" 5 $((64 + FIXED)) \
	sim --preset base --trace ios.flt --trace windows.flt --trace pages.flt --max-memory 64M
equal "says of each that it is not read" \
	"$(grep -oE '^faultline: [a-z]+.flt: counts are floors: not read' err | cut -d ' ' -f 2 | paste -sd ' ')" "windows.flt: pages.flt:"
takes "accesses: the pages of a trace" 1 $((64 + FIXED)) accesses --trace ios.flt --max-memory 64M
check "says what it is that ended it" grep -q 'no memory for .*; --max-memory is 64M' err

# Time that nothing happened in costs nothing.
takes "top: hours between ticks" 0 $FIXED top -b -i ticks.flt
takes "top: years between seconds" 0 $FIXED top -b -i windows.flt
takes "top: time at its end" 0 $FIXED top -b -i end_of_time.flt 100ms
takes "top: a device of a high number" 0 $FIXED top -b -i high_number.flt 100ms
equal "top: shows all of its intervals" "$(grep -c " UTC: " out)" 7201
takes "top: a week in a kilobyte" 0 $FIXED top -b -i days.flt 100ms
check "top: says how much of it is not shown" grep -qE '^faultline: [0-9]{7} intervals are not shown' err
takes "top: ordinary recordings are shown whole" 0 $FIXED top -b -i windows.flt 100ms
equal "top: and nothing else is said" "$(cat err)" ""
takes "slo: years between seconds" 6 $FIXED slo -c slo.ini windows.flt

# The limit is one, and does nothing else.
for words in "report --json=FILE --force" "footprint --json=FILE --force" "timeline --all --json=FILE --force"; do
	# shellcheck disable=SC2086
	for memory in 16M 1G; do "$FAULTLINE" ${words/FILE/$memory.json} windows.flt --max-memory $memory >/dev/null 2>&1; done
	check "the same numbers within either: ${words%% *}" cmp 16M.json 1G.json
done
for wrong in 15M 5x 2E; do
	takes "--max-memory $wrong is refused" 2 $FIXED report windows.flt --max-memory $wrong
	check "with what is accepted" grep -q "max-memory: .*accepted" err
done
finish
