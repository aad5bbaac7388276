#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Devices with a mode: what is recorded of verbs, pins, exits and work requests is what was done, by the truth log; a probe less is noticed.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
jobs=$root/tests/e2e/jobs

# record_job PREFIX JOB PROGRAM [OPTION...]: PREFIXJOB.flt, PREFIXJOB.truth, its tables in PREFIXJOB/; by a program and in a registry of its own.
record_job() {
	local name=$1$2
	cp "$3" "inject-$name"
	FAULTLINE_RUN_DIR=$FAULTLINE_RUN_DIR.$name "$FAULTLINE" record -o "$name.flt" "${@:4}" --emulator "$scratch/inject-$name" -- \
		"$scratch/inject-$name" run --truth "$name.truth" "$jobs/$2.ini" >"$name.out" 2>"$name.err"
	echo "$?" >"$name.status"
	"$FAULTLINE" report --csv="$name" "$name.flt" >/dev/null 2>>"$name.err"
	rm -rf "$FAULTLINE_RUN_DIR.$name" "inject-$name"
}
compare() {
	cp "$1.err" run.err
	/usr/bin/python3 "$root/tests/reference/compare_verbs.py" "$1.truth" "$1.flt" "$1" "${@:2}" >verdict 2>&1
}
verbs=hybrid0/ha=hybrid,hybrid1/hb=hybrid,native0/na=native,native1/nb=native,odp0/oa=odp,odp1/ob=odp

# Work requests are counted in the kernel, or come one by one where they are asked for by name.
record_job "" verbs "$INJECT" &
record_job one- verbs "$INJECT" --kind hyv
wait
for run in verbs one-verbs; do
	equal "$run: nothing is lost" "$(cat $run.status) $(grep -c 'nothing lost' $run.err)" "0 1"
	compare $run $verbs
	adopt $run
done
equal "work requests are counted" "$(awk -F, 'NR > 1 && $3 == "total" {print $1, $2, $4}' verbs/work_requests.csv | paste -sd ' ')" \
	"hybrid0/ha read 307 odp0/oa read 101"
equal "one by one likewise" "$(cut -d, -f1-4 one-verbs/work_requests.csv | grep total)" "$(cut -d, -f1-4 verbs/work_requests.csv | grep total)"

# Sentences and a verb stage by stage.
"$FAULTLINE" report verbs.flt | paste -sd ' ' >verbs.text
check "nothing of pins is found" bash -c "! grep -qE 'is registered|Violation|refused' verbs.text"
check "tables are in the text" bash -c 'for t in "Verbs of guests, by stage" "Pinned memory of guests" "Work requests of guests" "Exits of guests"; do grep -q "$t" verbs.text || exit 1; done'
slowest() { "$FAULTLINE" timeline verbs.flt --slowest-verbs "$@"; }
equal "timeline tells every verb" "$(slowest 100000 --csv=- 2>/dev/null | tail -n +2 | wc -l)" \
	"$(awk -F, '$3 == "total" {n += $4} END {print n}' verbs/verbs.csv)"
check "slowest first" bash -c "'$FAULTLINE' timeline verbs.flt --slowest-verbs 100000 --csv=- 2>/dev/null | tail -n +2 | cut -d, -f9 | sort -c -rn"
token=$("$FAULTLINE" timeline verbs.flt --slowest-verbs 100000 --device hybrid0/ha --csv=- 2>/dev/null | awk -F, '$4 == "reg_mr" {print $3; exit}')
check "one by its token, with its stages" bash -c \
	"'$FAULTLINE' timeline verbs.flt --device hybrid0/ha --verb $token | paste -sd ' ' | grep -qE 'reg_mr .* pin .* remap .* driver .* install .* reply .* total '"
equal "of one guest alone" "$("$FAULTLINE" timeline verbs.flt --device hybrid0/ha --verb "$token" --csv=- 2>/dev/null | wc -l)" 2
"$FAULTLINE" timeline verbs.flt --verb 3 --all >/dev/null 2>usage.err
equal "verbs and faults exclude each other" "$? $(grep -c 'exclude each other' usage.err)" "2 1"

# Live, too.
"$FAULTLINE" top -i verbs.flt --speed 1000 -b --view pins --csv 2>/dev/null >top.csv
equal "top has a row a device" "$(tail -n +2 top.csv | cut -d, -f"$(head -n 1 top.csv | tr , '\n' | grep -nx device | cut -d: -f1)" | grep . | sort -u | paste -sd ' ')" \
	"hybrid0/ha hybrid1/hb native0/na odp0/oa odp1/ob"

# Who begins after the registrations hears of them all the same: a second is enough, or two.
cat >late.ini <<'INI'
[tenant vm]
count = 2
memory = 16M
[device hca]
model = rdma
mode = hybrid
tenant = vm0
peer = vm1/hcb
[device hcb]
model = rdma
mode = hybrid
tenant = vm1
peer = vm0/hca
[verbs load]
device = vm0/hca
duration = 60s
size = 100000
INI
# pinned_by GUEST: bytes that the kernel has pinned for it, once they have not changed for half a second.
pinned_by() {
	local now=0 before=-1
	for _ in {1..60}; do
		now=$(awk '/^VmPin/ {print $2 * 1024}' "/proc/$1/status")
		[ "$now" = "$before" ] && [ "$now" -gt 100000 ] && break
		before=$now
		sleep 0.5
	done
	echo "$now"
}
"$INJECT" run late.ini >late.out 2>late.err &
late=$!
for _ in {1..500}; do
	machine=$(pgrep -P $late | head -n 1)
	guests=$([ -n "$machine" ] && pgrep -P "$machine" | paste -sd ' ')
	[ "$(wc -w <<<"$guests")" -eq 2 ] && break
	sleep 0.01
done
want=$(for guest in $guests; do pinned_by "$guest"; done | sort -n | paste -sd ' ')
"$FAULTLINE" record --kind hyv -o late.flt -- sleep 4 >late-record.out 2>&1
kill -INT $late
wait $late
"$FAULTLINE" report late.flt --table pins --csv >late.csv 2>/dev/null
equal "what was registered before is known to who began later" \
	"$(/usr/bin/python3 -c 'import csv
rows = list(csv.DictReader(open("late.csv")))
print(*sorted(int(row["guest_bytes"]) for row in rows if row["guest_bytes"] == row["registered_bytes"] == row["driver_bytes"]))')" "$want"

# A guest that asks for more than its quota.
record_job "" verbs-refused "$INJECT"
compare verbs-refused small/ha=hybrid,other/hb=hybrid
adopt refused
"$FAULTLINE" report verbs-refused.flt | paste -sd ' ' >refused.text
check "its refusals are told with what was asked for and its quota" grep -q 'small/ha: 8 pins were refused, of 8M, the last one: Cannot allocate memory; quota: 256K\.' refused.text

# Without any one probe that is missed, and nothing else.
probes=$(readelf -n "$INJECT" | awk '/Provider: faultline/ {getline; print $2}' | sort -u | grep -E '^(verb.*|pinned|registered|guest_.*|work_request)$')
equal "all probes are found" "$(wc -w <<<"$probes")" 8
for probe in $probes; do
	/usr/bin/python3 "$root/tests/reference/delete_probe.py" "$INJECT" "$probe" mutant
	record_job "$probe-" verbs mutant --kind hyv
	compare "$probe-verbs" $verbs "$probe"
	equal "without $probe that is missed, and no other" "$(tail -n 1 verdict)" "$probe"
	check "and it is said" bash -c '"$0" report "$1-verbs.flt" | paste -sd " " | grep -q "Probe $1 is off: "' "$FAULTLINE" "$probe"
done
finish
