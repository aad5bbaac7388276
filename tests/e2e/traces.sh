#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Traces of faultline sim and accesses: recordings of every format merged as an independent reference
# merges them, keys of made-up traces, memory that does not grow, and input that is no recording.
. "$(dirname "$0")/lib.sh"
translations=$root/tests/reference/translations.py
qemu=$root/tests/data/qemu-vtd.log

# merged NAME TENANTS TURN REQUESTS FILE...: packets of each tenant and accesses to each page, as the reference has them.
merged() {
	local name=$1 tenants=$2 turn=$3 requests=$4 file args=()
	shift 4
	for file in "$@"; do args+=(--trace "$file"); done
	args+=(--tenants "$tenants" --set trace.turn="$turn" --set trace.requests="$requests" --csv=-)
	"$FAULTLINE" sim "${args[@]}" --table tenants | awk -F , 'NR > 1 { print $2, $3 }' >ours
	"$FAULTLINE" accesses "${args[@]}" --table pages |
		awk -F , 'NR > 1 { print $1, $2, $3, $5 }' | sort >>ours
	/usr/bin/python3 "$translations" merge "$tenants" "$turn" "$requests" "$@" >theirs || not_ok "$name" "no reference"
	{
		awk 'NF == 2' theirs
		awk 'NF == 4' theirs | sort
	} >expected
	if [ -s ours ] && cmp -s ours expected; then
		ok "$name ($(awk 'NF == 2 { n += $2 } END { print n }' ours) packets, $(awk 'NF == 4' ours | wc -l) pages)"
	else
		not_ok "$name" "$(diff ours expected | head -n 5)"
	fi
}

# Recordings of the emulated machine, of different lengths.
for run in "one 0.6 3" "two 1.1 5" "three 0.8 7"; do
	read -r name seconds seed <<<"$run"
	cat >"$name.ini" <<-INI
		[machine]
		seed = $seed
		[tenant $name]
		memory = 8M
		[device disk]
		file_bytes = 8M
		[workload mix]
		sizes = 4K, 16K
		rate = 3000
		duration = ${seconds}s
	INI
	"$FAULTLINE" record --kind io_complete -o "$name.flt" -- "$INJECT" run "$name.ini" >"$name.out" 2>&1 ||
		not_ok "recording $name" "exit $?"
done
lengths=$(/usr/bin/python3 "$translations" count one.flt two.flt three.flt | sort -un | wc -l)
equal "three recordings of different lengths" "$lengths" 3
merged "three .flt recordings for 11 tenants, in turns of 2" 11 2 3 one.flt two.flt three.flt
merged "two for one tenant: the second is not needed" 1 1 1 two.flt one.flt
merged "one for 7 tenants, packets of one" 7 5 1 three.flt

# HyperSIO's records: domains in another order than they come up, one number in two sources, two files.
/usr/bin/python3 "$translations" write first.bin 0x18:9:1009:0x34800000:1 0x20:2:997:0xbbe00000:2 0x28:9:1511:0x40000000:3
/usr/bin/python3 "$translations" write second.bin 0x18:9:1301:0xf0000000:1
merged "HyperSIO's records, tenants by first appearance" 4 3 3 first.bin second.bin
merged "and more of them than were recorded" 61 1 2 first.bin second.bin

# QEMU's lines: of a real one (7.2), as they are, with times, with CRLF, and of a patched one.
merged "lines of a real QEMU" 13 1 3 "$qemu"
sed 's/^/4242@1763712345.000017:/' "$qemu" >times.log
sed 's/$/\r/' "$qemu" >crlf.log
sed -E 's/(page_update.*) domain/\1 level 0x2 domain/; s/(page_hit.*) slpte/\1 pmask 0xffffffffffe00000 slpte/' "$qemu" >patched.log
for form in times crlf; do
	equal "the same lines, $form" "$("$FAULTLINE" accesses --trace $form.log --tenants 5 --json | sha256sum)" \
		"$("$FAULTLINE" accesses --trace "$qemu" --tenants 5 --json | sha256sum)"
done
merged "lines of HyperSIO's QEMU, in pages of 2M" 13 1 3 patched.log
merged "all formats in one trace" 29 2 3 one.flt first.bin "$qemu" patched.log
sort "$qemu" "$qemu" | sed -n '1,30p' >twice.log
merged "lines that come twice count twice" 2 1 1 twice.log

# What is less than a packet at the end of a recording is left out, and that is said in every form.
/usr/bin/python3 "$translations" write rest.bin 0x18:9:23:0x34800000:1 0x20:2:25:0xbbe00000:2
accesses_of() { awk -F , 'NR > 1 { n += $2 } END { print n }'; }
rest=(--trace rest.bin --set trace.as_recorded=yes)
equal "23 and 25 accesses in packets of three" "$("$FAULTLINE" accesses "${rest[@]}" --csv=- --table tenants 2>err | accesses_of)" 45
equal "and what is said of three" "$(cat err)" "faultline: recorded accesses left out at the end: 3 of less than a packet of 3"
equal "in packets of one" "$("$FAULTLINE" accesses "${rest[@]}" --set trace.requests=1 --csv=- --table tenants 2>err | accesses_of)" 48
equal "and what is said of none" "$(cat err)" ""
for verb in accesses sim; do
	check "$verb: in JSON" test "$("$FAULTLINE" $verb "${rest[@]}" --json 2>err |
		/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["left_out"])')" = "3 of less than a packet of 3"
	"$FAULTLINE" $verb "${rest[@]}" >text 2>err
	check "$verb: in text" grep -q '^Recorded accesses left out at the end: 3 of less than a packet of 3\.$' text
	equal "$verb: not twice" "$(cat err)" ""
done
"$FAULTLINE" sim "${rest[@]}" --sweep trace.requests=1,2,3 --csv=out >/dev/null 2>err
equal "of every size of a sweep" "$(cat err)" "faultline: recorded accesses left out at the end: 2 of less than a packet of 2, 3 of less than a packet of 3"
"$FAULTLINE" sim --trace rest.bin --tenants 1 --csv=- --table tenants >/dev/null 2>err
equal "of who is played" "$(cat err)" "faultline: recorded accesses left out at the end: 2 of less than a packet of 3"

# What turns do not reach once the first recording has ended: 23 accesses are 7 packets of three, and as many are taken of
# 512, which have 489 more in whole packets. Both have 2 that are no packet.
/usr/bin/python3 "$translations" write uneven.bin 0x18:9:23:0x34800000:1 0x20:2:512:0xbbe00000:2
uneven=(--trace uneven.bin --set trace.requests=3)
"$FAULTLINE" accesses "${uneven[@]}" --csv=- --table tenants 2>err >uneven.csv
equal "of 23 and 512 accesses in turns, each row adds up" "$(awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ print $at["recorded"], $at["accesses"] + $at["left_out"] == $at["recorded"]; n += $at["left_out"]; a += $at["accesses"] }
	END { print n, a }' uneven.csv | sort | paste -sd ' ')" "23 1 493 42 512 1"
"$FAULTLINE" accesses "${uneven[@]}" >text 2>err
check "... and what was not reached is said" bash -c 'paste -sd " " text | grep -q "Recorded accesses that were not reached: 489 of 535, as tenants take turns"'
equal "... in JSON" "$("$FAULTLINE" accesses "${uneven[@]}" --json 2>err | /usr/bin/python3 -c '
import json, sys; said = json.load(sys.stdin); print(said["not_reached"].split(",")[0], "|", said["left_out"])')" \
	"489 of 535 | 4 of less than a packet of 3"
"$FAULTLINE" accesses "${uneven[@]}" --set trace.as_recorded=yes >text 2>err
check "... and nothing as recorded, where all are" bash -c '! grep -q "not reached" text'

# packets TENANTS OPTION...: of each tenant, in one line.
packets() {
	"$FAULTLINE" sim --tenants "$@" --table tenants --csv=- | awk -F , 'NR > 1 { printf "%s%s", c, $3; c = " " }'
}
equal "shares of 1:1:4 in 7 rounds of four, five packets a turn" \
	"$(packets 5 --set trace.shares=1:1:4 --set trace.turn=5 --set trace.packets=280)" "35 35 140 35 35"
equal "shares of recordings: who takes most ends the trace" \
	"$(packets 3 --trace second.bin --set trace.shares=1:3:2 --set trace.requests=1)" "434 1301 867"
equal "a recording ends where the job says" "$(packets 2 --trace second.bin --set trace.packets=31)" "16 15"
# Ways for one tenant's pages only: addresses that differ do not conflict, the same do.
evictions() { "$FAULTLINE" sim --tenants 16 --set trace.packets=50000 --table caches --csv=- "$@" |
	awk -F , '$2 == "devtlb" { print $6 }'; }
same=$(evictions) apart=$(evictions --set trace.apart=2M)
check "identical addresses conflict ($same evictions), others less ($apart)" test "$((2 * apart))" -lt "$same"

# Figure 8's groups, of every workload: hot, data and startup pages. What is asked of each is in its unit test.
for workload in "iperf3 6" "mediastream 32" "websearch 34"; do
	read -r name data <<<"$workload"
	equal "$name: pages by class" "$("$FAULTLINE" accesses --set trace.workload="$name" --tenants 1 --set trace.packets=700000 \
		--set trace.first_touches=97 --table classes --csv=- | awk -F , 'NR > 1 { print $1, $2, $3 }' | paste -sd' ')" \
		"hot 4096 2 data 2097152 $data startup 4096 70"
done
equal "phases: each set is used" "$("$FAULTLINE" accesses --tenants 1 --set trace.phase=1009 --set trace.sets=5 --set \
	trace.run=7 --table classes --csv=- | awk -F , '$1 == "data" { print $3 }')" $((5 * 32))

# peak COMMAND...: KiB of memory that it had at most.
peak() {
	/usr/bin/python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
# flat NAME SHORT LONG: of ten times the trace the memory is the same, but for a few MiB.
flat() {
	if [ "$2" -gt 0 ] && [ "$3" -lt $(($2 + 8192)) ]; then
		ok "$1: $2 KiB, $3 KiB for ten times as much"
	else
		not_ok "$1" "$2 KiB, $3 KiB for ten times as much"
	fi
}
made=(sim --tenants 512 --preset hypertrio --set)
head -c $((48 * 1000)) first.bin >thousand.bin
for ((i = 0; i < 300; i++)); do cat thousand.bin; done >short.bin
for ((i = 0; i < 10; i++)); do cat short.bin; done >long.bin
if [ -n "${SANITIZED:-}" ]; then
	echo "# memory is not measured in a sanitized build"
else
	flat "memory of a made-up trace" "$(peak "$FAULTLINE" "${made[@]}" trace.packets=100000)" \
		"$(peak "$FAULTLINE" "${made[@]}" trace.packets=1000000)"
	flat "memory of a recording" "$(peak "$FAULTLINE" sim --trace short.bin --tenants 2)" \
		"$(peak "$FAULTLINE" sim --trace long.bin --tenants 2)"
	flat "memory of accesses" "$(peak "$FAULTLINE" accesses --trace short.bin --tenants 2)" \
		"$(peak "$FAULTLINE" accesses --trace long.bin --tenants 2)"
	short=$(peak "$FAULTLINE" sim --trace short.bin --tenants 2 --set devtlb.policy=belady)
	long=$(peak "$FAULTLINE" sim --trace long.bin --tenants 2 --set devtlb.policy=belady)
	check "the oracle keeps the trace: $short KiB, $long KiB" test "$long" -gt $((short + 16384))
	(ulimit -v 2000000 && exec "$FAULTLINE" sim --set devtlb.policy=belady --set trace.packets=1e13) >oracle.out 2>oracle.err
	equal "an oracle without bounds: exit" "$?" 1
	check "and why" grep -q '^faultline: no memory for the oracle after [0-9]* packets: .* trace.packets' oracle.err
fi

# refused STATUS WORDS OPTION...: by both verbs, in one sentence with the words in it.
refused() {
	local status=$1 words=$2 verb text got
	shift 2
	for verb in sim accesses; do
		text=$(prlimit --cpu=20 "$FAULTLINE" $verb "$@" 2>&1 >/dev/null)
		got=$?
		if [ $got -eq "$status" ] && [[ $text == *"$words"* ]] && [ "$(grep -c . <<<"$text")" -eq 1 ]; then
			ok "$verb $*: $words"
		else
			not_ok "$verb $*: $words" "exit $got, expected $status: $text"
		fi
	done
}
head -c 1000 "$qemu" >cut.log
head -c 100 first.bin >cut.bin
{ cat "$qemu"; tail -n 1 "$qemu" | tr -d '\n' | head -c 40; echo; } >broken.log
{ head -c 96 first.bin; printf '\2\0\0\0'; tail -c +101 first.bin; } >type.bin
head -c 4096 /dev/zero >zero.bin
: >empty
mkfifo pipe
mkdir directory
printf 'QEMU has nothing to say\n' >silent.log
printf 'vtd_iotlb_page_hit IOTLB page hit sid 0x10 iova 0x1ffffffffffffffff slpte 0x3 domain 0x1\n' >huge.log
refused 3 "cut.log:$(($(wc -l <cut.log) + 1)): " --trace cut.log
refused 3 "cut.bin:record 3: ends after 4 bytes: accepted: records of 48 bytes" --trace cut.bin
refused 3 "broken.log:$(wc -l <broken.log): " --trace broken.log
refused 3 "type.bin:record 3: type 2: accepted: 1" --trace type.bin
refused 3 "huge.log:1: " --trace huge.log
refused 3 "zero.bin: neither a .flt recording" --trace zero.bin
refused 3 "zero.bin:record 1: type 0: accepted: 1" --format hypersio --trace zero.bin
refused 3 "empty: is empty" --trace empty
refused 3 "pipe: is a pipe; accepted: a file" --trace pipe
refused 3 "directory: is a directory; accepted: a file" --trace directory
refused 3 "/dev/zero: is a device" --format qemu --trace /dev/zero
refused 3 "silent.log: accepted: lines of vtd_iotlb_page_update" --trace silent.log
refused 3 "is no recording" --format flt --trace "$qemu"
refused 3 "nowhere: No such file" --trace nowhere
refused 3 "accepted: 0, or a multiple of the largest recorded page" --trace patched.log --set trace.apart=4K
# Real page tables cannot hold what a recording may: the others can.
{ head -n 1 "$qemu"; head -n 1 "$qemu" | sed 's/slpte 0x[0-9a-f]*/slpte 0x83/'; } >sizes.log
sed '1s/iova 0x/iova 0x1000000/; 1q' "$qemu" >high.log
for log in sizes high; do
	text=$("$FAULTLINE" sim --trace $log.log --tenants 1 --set trace.requests=1 --preset table2-literal 2>&1 >/dev/null)
	equal "$log.log in real page tables: exit" "$?" 3
	check "and why: $text" test -n "$(grep -E '^faultline: walk.tables=yes: mapping 0x.*: accepted: ' <<<"$text")"
	check "counted walks take it" "$FAULTLINE" sim --trace $log.log --tenants 1 --set trace.requests=1
done
# A damaged recording, one of a recorder that was killed, and one that is still being written.
size=$(stat -c %s two.flt)
cp two.flt damaged.flt
printf 'XXXX' | dd of=damaged.flt bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
refused 3 "damaged.flt: is damaged" --trace damaged.flt
head -c $((size * 9 / 10)) two.flt >killed.flt
"$FAULTLINE" sim --trace killed.flt --tenants 2 >killed.out 2>killed.err
equal "a recording without end: exit" "$?" 5
check "and why" grep -q '^faultline: killed.flt: counts are floors: the recording has no end' killed.err
check "with results" grep -q GBIT killed.out
# A log that grows: either it is whole so far, or its last line is named; no line counts in part.
(for ((i = 0; i < 400; i++)); do while read -r line; do printf '%s' "${line:0:50}"; printf '%s\n' "${line:50}"; done; done \
	<"$qemu" >growing.log) &
writer=$!
wait_for 5 test -s growing.log
grew=0
for ((i = 0; i < 20; i++)); do
	text=$("$FAULTLINE" accesses --trace growing.log --csv=- --table tenants 2>&1 >/dev/null)
	case $? in
	0) ;;
	3) [[ $text == *growing.log:*"still being written"* ]] || grew=1 ;;
	*) grew=1 ;;
	esac
done
wait $writer
equal "a log that grows meanwhile" $grew 0
finish
