#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two recordings side by side. Of those whose truth is known (tests/reference/diff_recordings.py) equal ones differ by
# nothing, a delay is found where it is and nowhere else, and conditions, windows, hosts, loss and mistakes are told. Of real
# runs, whose times are also those of whatever else the host does, all that is told is held against counting. FACE=full: a
# hundred pairs of equal runs, on a host that does nothing else.
. "$(dirname "$0")/lib.sh"

[ "${FACE:-}" = full ] && pairs=100 || pairs=2

# Two tenants whose handlers do not wait for each other's faults.
cat >equal.ini <<'INI'
[machine]
scheduler = affined
[tenant vm]
count = 2
memory = 16M
[device disk]
file_bytes = 16M
[workload mix]
sizes = 4K
rate = 500/s
duration = 2s
[inject cold]
action = evict
what = next
kind = minor
rate = 149/s
arrival = random
duration = 2s
INI
cat equal.ini - >late.ini <<'INI'
[inject late]
action = delay
device = vm0/disk
stage = resolve
delay = 5ms
duration = 2s
INI

# Two at once: whatever else the host does, it does to both. Each with programs and a run directory of its own.
mkdir other
cp "$scratch"/bin/faultline* other
ln -s "$root/injectors" "$root/tools" other
run_one() { # WHERE FILE JOB SEED
	nice -n -10 "$1/faultline" record --as-root -q -o "$2" -- "$1/faultline-inject" run "$3" --set "machine.seed=$4" \
		--csv="$2.csv" >"$2.out" 2>"$2.err"
}
run_both() { # A JOB SEED B JOB SEED
	run_one "$scratch/bin" "$1" "$2" "$3" &
	FAULTLINE_RUN_DIR=$FAULTLINE_RUN_DIR-b run_one ./other "$4" "$5" "$6"
	local b=$?
	wait $! && [ $b = 0 ] || not_ok "recording $1 and $4" "$(tail -n 3 "$1.err" "$4.err")"
	rmdir "$FAULTLINE_RUN_DIR-b" 2>/dev/null
}
# found A B: device and stage of each difference that is told, with its word.
found() {
	"$FAULTLINE" diff "$1" "$2" --csv=- 2>/dev/null | python3 -c '
import csv, sys
rows = [(row["device"], row["stage"], row["verdict"]) for row in csv.DictReader(sys.stdin)]
assert len(rows) >= 18, rows
print(*(" ".join(row) for row in rows if row[2] not in ("noise", "small")), sep=", ")' || echo "no rows"
}

compared() { # NAME A B: its numbers are those of report, its ranks those of counting, and what it tells is so.
	python3 "$root/tests/reference/compare_diff.py" "$FAULTLINE" "${@:2}" >verdict 2>&1
	adopt "$1"
}

# Runs of one job with other seeds are equal, unless the host made one of them wait: then that is true and told. Of a
# hundred pairs on a quiet host 95 differ by nothing.
differing=0
for ((pair = 1; pair <= pairs; pair++)); do
	run_both a.flt equal.ini $((2 * pair)) b.flt equal.ini $((2 * pair + 1))
	what=$(found a.flt b.flt)
	[ -z "$what" ] || { differing=$((differing + 1)); echo "# pair $pair: $what"; }
	compared "pair $pair of equal runs" a.flt b.flt
	rm -f a.flt* b.flt*
done
[ "${FACE:-}" = full ] && between "of $pairs pairs of equal runs so many differ" $differing 0 5

# A delay is in each fault that it was injected into. That nothing else took longer, too, is not ours to say.
run_both real-equal.flt equal.ini 301 real-late.flt late.ini 302
what=$(found real-equal.flt real-late.flt)
check "a delay of 5 ms is found in its stage and device (${what:-nothing})" \
	python3 -c 'import sys; assert {"vm0/disk resolve slower", "vm0/disk total slower"} <= set(sys.argv[1].split(", "))' "$what"
compared "a delay in a real run" real-equal.flt real-late.flt
"$FAULTLINE" report real-late.flt --csv=- --table faults 2>/dev/null >faults.csv
check "each fault has it that it was injected into" python3 - <<'PY'
import csv
fired = int(next(csv.DictReader(open("real-late.flt.csv")))["fired"])
late = sum(row["device"] == "vm0/disk" and int(row["resolve_ns"] or 0) >= 5000000 for row in csv.DictReader(open("faults.csv")))
assert late >= fired >= 20, (late, fired)
PY

# Nothing but seeds makes these.
/usr/bin/python3 "$root/tests/reference/diff_recordings.py" . || not_ok "recordings whose truth is known"
equal "two of one source differ by nothing" "$(found first.flt second.flt)" ""
equal "a delay of 5 ms is found in its stage and device and in no other" "$(found equal.flt late.flt)" \
	"vm0/disk resolve slower, vm0/disk total slower"
equal "the other way round it is faster" "$(found late.flt equal.flt)" \
	"vm0/disk resolve faster, vm0/disk total faster"
equal "a recording and itself do not differ" "$(found late.flt late.flt)" ""

compared "equal and late" equal.flt late.flt
compared "a window of both" equal.flt late.flt --since +500ms --until +1500ms

# People read it: sentences, tables, 80 columns.
"$FAULTLINE" diff equal.flt late.flt >out 2>err
equal "a difference is no error" $? 0
check "the stage is told in a sentence" grep -qE '^vm0/disk: resolve slower: p50 [0-9.]+us->[56]\.[0-9]+ms, p99' out
check "and how many faults say so" grep -qE '\([0-9]+ and [0-9]+|[0-9]+ faults; P' out
equal "within 80 columns" "$(awk 'length > 80' out)" ""
"$FAULTLINE" diff first.flt second.flt >out 2>err
equal "no difference is no error" $? 0
check "that nothing differs is said" grep -q '^Nothing differs by more than chance' out
"$FAULTLINE" diff equal.flt late.flt --least-time 10ms >out
check "what is smaller than asked for is small" grep -qE '^resolve .* small$' out
check "and no difference" grep -q '^Nothing differs' out

# verdict EXIT EXPR...: the exit code with these conditions, and what is said in `out`.
verdict() {
	local code=$1 words=() expression
	shift
	for expression in "$@"; do words+=(--fail "$expression"); done
	"$FAULTLINE" diff equal.flt late.flt "${words[@]}" >out 2>err
	equal "--fail $*" $? "$code"
}
verdict 6 'p99 > 1.2x'
check "a condition that holds is told with its device" grep -qE '^- vm0/disk total: .* -> .*x \([0-9]+ and [0-9]+ faults\)$' out
equal "and with no other" "$(grep -c '^- ' out)" 1
verdict 6 'resolve.p50 > 4ms'
verdict 6 'resolve.p50 > +4ms'
verdict 0 'resolve.p50 > +6ms'
verdict 6 '*.mean > +300%'
check "each stage is judged" grep -qE '^- vm0/disk resolve' out
verdict 6 'resolve.share>60%'
verdict 0 'p99 < 0.5x'
verdict 0 'count > 2x' 'rate>1000/s'
verdict 6 'count > 2x' 'p50 > 2x' 'rate < 10/s'
equal "each is told" "$(grep -cE '^(PASS|FAIL)' out)" 3
equal "one has failed" "$(grep -c '^FAIL p50 > 2x' out)" 1
verdict 6 'p99.9 > 2x'
check "what too few faults say is unknown" grep -q '^UNKNOWN p99.9 > 2x' out
"$FAULTLINE" diff first.flt second.flt --fail 'p50 > 1.8x' --fail 'count > 1.5x' >out 2>err
equal "of equal runs no condition holds" $? 0
"$FAULTLINE" diff equal.flt late.flt --fail 'p99 > 1.2x' --json >out.json 2>err
equal "beside JSON the exit code is the same" $? 6
check "and the verdict on stderr" grep -q 'FAIL p99 > 1.2x' err
check "JSON is whole" python3 -c 'import json; json.load(open("out.json"))["tables"]["diff"][0]["verdict"]'
for expression in '' 'p99' 'p98 > 1x' 'p99 > ' 'p99 > 1.2' 'p99 > x' 'p99 > 5/s' 'rate > 5ms' 'share > 5' 'count > +5ms' \
	'nostage.p50 > 1ms' 'incomplete.p50 > 1ms' 'p99 > -200%' 'p99 > 1e300x' 'p99 > 1.2x or p50 > 2x' 'count > -3'; do
	"$FAULTLINE" diff equal.flt late.flt --fail "$expression" >out 2>err
	equal "--fail '$expression' is refused with what is accepted" "$? $(grep -c 'accepted: \[STAGE.\]FIELD' err) $(wc -c <out)" "2 1 0"
done

# What only one of them has.
"$FAULTLINE" diff equal.flt renamed.flt >out
equal "devices without another are told" "$(grep -E '^Only in' out)" "$(printf 'Only in A: vm0/disk, vm1/disk.\nOnly in B: vm0/drive.')"
check "and that nothing could be compared" grep -q '^Nothing to compare' out
equal "also in tables" "$("$FAULTLINE" diff equal.flt renamed.flt --csv=- 2>/dev/null | awk -F, '$3 == "total" {print $2, $NF}' | tr '\n' ' ')" \
	"vm0/disk only in A vm0/drive only in B vm1/disk only in A "
equal "one device alone" "$("$FAULTLINE" diff equal.flt late.flt -d 'vm1/*' --csv=- 2>/dev/null | cut -d, -f2 | sort -u | tr '\n' ' ')" "device vm1/disk "

# Loss: 5, in words, and 6 wins.
head -c $(($(stat -c %s late.flt) * 2 / 3)) late.flt >cut.flt
"$FAULTLINE" diff equal.flt cut.flt >out 2>err
equal "a recording that was cut makes floors" $? 5
check "and it is said whose" grep -q '^== B ==' out
check "and why" grep -q '^Counts are floors: the recording has no end' out
"$FAULTLINE" diff cut.flt equal.flt --csv >out 2>err
equal "beside tables, too" "$? $(grep -c '^faultline: A: counts are floors' err)" "5 1"
"$FAULTLINE" diff equal.flt cut.flt --fail 'p50 > 2x' >out 2>err
equal "a condition that holds wins over floors" $? 6

# Hosts: by host and name where there are several, by name alone where each has one.
"$FAULTLINE" merge -q -o fleet.flt equal.flt late.flt 2>/dev/null
"$FAULTLINE" merge -q -o fleet2.flt first.flt late.flt 2>/dev/null
hosts=$("$FAULTLINE" diff fleet.flt fleet2.flt --csv=- 2>/dev/null | tail -n +2 | cut -d, -f1,2 | sort -u | wc -l)
equal "devices of two hosts are four" "$hosts" 4
host=$("$FAULTLINE" report fleet.flt --csv=- --table hosts 2>/dev/null | tail -n 1 | cut -d, -f1)
check "one of them against a recording of its own" test -n "$host"
"$FAULTLINE" diff fleet.flt late.flt --host "$host" >out 2>err
equal "with --host both must have it" "$? $(grep -c 'late.flt.*accepted' err)" "2 1"
"$FAULTLINE" diff fleet.flt fleet2.flt --host "$host" --csv=- >one.csv 2>/dev/null
equal "one host's devices have no host" "$(cut -d, -f1 one.csv | sort -u | tr '\n' ' ')" " host "
equal "and do not differ: it is one recording" "$(awk -F, 'NR > 1 && $NF != "noise"' one.csv)" ""
compared "merged recordings" fleet.flt fleet2.flt

# Mistakes.
"$FAULTLINE" diff equal.flt - <late.flt >out 2>err
equal "one may come from standard input" "$? $(grep -c 'resolve slower' out)" "0 1"
"$FAULTLINE" diff - - <late.flt >out 2>err
equal "both may not" "$? $(grep -c 'not read twice' err)" "2 1"
"$FAULTLINE" diff equal.flt >out 2>err
equal "two are needed" "$? $(grep -c 'second recording is missing; accepted' err)" "2 1"
"$FAULTLINE" diff equal.flt nosuch.flt --csv=made >out 2>err
equal "the second is looked for before anything is written" "$? $(ls made 2>/dev/null)" "3 "
"$FAULTLINE" diff equal.flt late.flt --json=late.flt --force >out 2>err
equal "an input is not replaced" "$?" 2
"$FAULTLINE" diff equal.flt late.flt --table nosuch >out 2>err
equal "an unknown table is refused" "$? $(grep -c 'accepted: diff' err)" "2 1"
printf 'damage' | dd of=late.flt bs=1 seek=4099 conv=notrunc 2>/dev/null
"$FAULTLINE" diff equal.flt late.flt >out 2>err
equal "damage ends with 3, after what can be told" "$? $(grep -c '^vm0/disk' out)" "3 $(grep -c '^vm0/disk' out)"
finish
