#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Results of runs with prime counts: each column computed again from the truth log, and what a recording
# of the same run reports.
. "$(dirname "$0")/lib.sh"

# compare NAME: runs NAME.ini under record and holds its results to its truth log.
compare() {
	local name=$1 line
	"$FAULTLINE" record --as-root --emulator "$INJECT" -o "$name.flt" -- \
		"$INJECT" run "$name.ini" --csv="$name.csv" --truth "$name.truth" >"$name.out" 2>"$name.err"
	equal "$name: nothing was lost" $? 0
	"$FAULTLINE" report "$name.flt" --csv="$name.report" >/dev/null 2>&1
	python3 "$root/tests/reference/compare_results.py" "$name.csv" "$name.ini" "$name".truth* \
		--report "$name.report" >verdict 2>&1
	while IFS= read -r line; do
		case $line in
		'ok - '*) ok "$name: ${line#ok - }" ;;
		'not ok - '*) not_ok "$name: ${line#not ok - }" ;;
		esac
	done <verdict
	grep -q ' passed, ' verdict || not_ok "$name: compared" "$(tail -n 3 verdict)"
}

# Groups of several requests; devices that share memory; a number of I/Os.
cat >groups.ini <<'INI'
[tenant vm]
count = 2
memory = 8M
[device disk]
count = 3
queues = 2
group_pages = 5
page_requests = 7
file_bytes = 8M
[workload mix]
sizes = 16K:3, 64K:2
read_percent = 60
count = 1009
depth = 3
rate = 1013/s
[inject cold]
action = evict
kind = major
pages = 13
rate = 11/s
duration = 10s
[sweep]
baseline = cold.enabled=no
group = disk.group_pages: 5, 1
INI
compare groups

# A queue that overflows: what it dropped, what the host discarded, what the IOMMU answered itself.
cat >overflow.ini <<'INI'
[machine]
request_queue_entries = 8
[tenant vm]
memory = 32M
[device disk]
count = 7
group_pages = 5
file_bytes = 8M
[workload mix]
sizes = 64K
count = 211
depth = 2
rate = 101/s
[inject cold]
action = evict
pages = 61
rate = 7/s
duration = 10s
[expect]
it_overflows = overflows > 100 and auto_answered > 20
INI
compare overflow
# Responses that never come: the device waits for each until it gives up.
cat >lost.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
response_timeout = 50ms
[workload mix]
count = 401
depth = 2
rate = 401/s
[inject cold]
action = evict
what = next
rate = 31/s
duration = 10s
[inject lost]
action = response_lost
interval = 3
duration = 10s
INI
compare lost
check "lost: what devices gave up is told" python3 -c '
import csv
rows = list(csv.DictReader(open("lost.report/faults.csv")))
gone = sum(row["state"] == "abandoned" for row in rows)
assert gone >= 3 and not any(row["state"] == "unfinished" for row in rows), (gone, len(rows))'
# A copy reads and writes: one I/O.
cat >copies.ini <<'INI'
[tenant vm]
memory = 8M
[device engine]
model = accel
queues = 2
group_pages = 3
[workload copy]
sizes = 4K:3, 12K:5
count = 2003
depth = 3
rate = 1999/s
[inject cold]
action = evict
pages = 7
rate = 13/s
duration = 10s
INI
compare copies

# More than the device can do: what was never sent is told, and counts in the latencies.
cat >overload.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
queues = 3
medium_latency = 5ms
[workload mix]
depth = 2
rate = 2003/s
duration = 1500ms
[expect]
planned = ios + unsent == 3005
most_are_never_sent = unsent > 0.5 * (ios + unsent)
and_that_shows = p50 > 300ms
INI
compare overload
check "I/Os that were never sent are told after the table" \
	grep -q '^Never sent, as queues were full: [0-9]* of 3005 I/Os that were due' overload.err
equal "expectations can name them" "$(grep -c '^PASS' overload.err)" 3

# A small event message queue in front of devices whose DMAs hold pages for milliseconds: it is full, and
# commands wait for a place in it and for those DMAs.
cat >events.ini <<'INI'
[machine]
event_queue_entries = 2
[tenant vm]
count = 7
memory = 4M
[device disk]
file_bytes = 4M
medium_latency = 2ms
[workload mix]
sizes = 16K
depth = 2
rate = 211/s
duration = 2s
[inject cold]
action = evict
what = random
pages = 17
rate = 13/s
duration = 10s
[expect]
it_was_full = emq_depth_max == 2 and emq_full_waits > 20
some_found_a_place = emq_full_waits < emq_commands - 20
some_waited_for_a_dma = emq_max > 1ms
INI
compare events
equal "events: the event message queue was full" "$(grep -c '^PASS' events.err)" 3

# The time that it takes to take pages away is nobody's latency. In a closed loop of one I/O the guest's
# latency is the device's and two wakeups; whatever the host is busy with, it is not longer at each eviction.
cat >next.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
medium_latency = 300us
[workload mix]
depth = 1
duration = 2s
[inject cold]
action = evict
pages = 8
rate = 23/s
duration = 10s
INI
compare next
check "the latency of I/Os does not contain the eviction of their pages" python3 - next.truth <<'PY'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
of = lambda what: [r for r in records if r["what"] == what]
guest, device, evicted = of("guest_io"), of("io"), of("evicted")
assert len(guest) == len(device) > 100 and len(evicted) >= 8 * 30, (len(guest), len(evicted))
late = sum(g["value"] - d["value"] > 8000000 for g, d in zip(guest, device))
assert late < len(evicted) / 8 / 3, f"{late} of {len(guest)} I/Os, {len(evicted)} evictions"
PY

# What a recording was not asked for is said, and how many faults that were.
cat >filter.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
[workload mix]
duration = 400ms
rate = 1009/s
[inject cold]
action = evict
pages = 8
rate = 23/s
duration = 400ms
INI
# filtered NAME ASKED OPTION...: what the recorder and the report say against the requests of the truth log
filtered() {
	local name=$1 asked=$2 requests
	shift 2
	rm -f filter.truth*
	"$FAULTLINE" record --as-root --force -o filter.flt "$@" -- \
		"$INJECT" run filter.ini --truth filter.truth >/dev/null 2>filter.err
	requests=$(grep -ch '"what": *"request"' filter.truth*)
	check "filter $name: there were requests" test "$requests" -gt 20
	"$FAULTLINE" report filter.flt 2>&1 | paste -sd ' ' >filter.out
	paste -sd ' ' filter.err >filter.told
	for where in told out; do
		check "filter $name: what was asked for and left out ($where)" \
			grep -q "Asked for: $asked. Left out: $requests page requests\." filter.$where
		check "filter $name: no faults of that ($where)" grep -qE '^.*0 (I/O page faults|page requests) of what was asked for' filter.$where
	done
	for how in "timeline" "timeline --csv" "top -b -i" "top -b --json -i" "footprint" "report --force --csv=left.tables"; do
		# shellcheck disable=SC2086
		"$FAULTLINE" $how filter.flt 2>filter.err >filter.page
		[[ $how == *-[cj]* ]] || mv filter.page filter.err
		paste -sd ' ' filter.err | tr -s ' ' >filter.out
		check "filter $name: $how says what was asked for and left out" \
			grep -q "Asked for: $asked. Left out: $requests page requests" filter.out
		check "filter $name: $how does not say that there was none" \
			bash -c '! grep -qE "no fault|[Nn]o page request was" filter.out'
	done
	equal "filter $name: JSON" "$("$FAULTLINE" report filter.flt --json 2>/dev/null |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["filtered"])')" "$requests"
}
filtered "of devices" 'devices nic\*, other' -d 'nic*' -d other
filtered "of kinds" 'kinds cpu_fault, dma' --kind dma,cpu_fault
# A live view is a capture, too: of the devices asked for.
"$FAULTLINE" top -b -d 'nic*' -d other 200ms >filter.live 2>&1 &
live=$!
wait_for 20 grep -q 'No finding' filter.live
rm -f filter.truth*
"$INJECT" run filter.ini --truth filter.truth >/dev/null 2>&1
requests=$(grep -ch '"what": *"request"' filter.truth*)
left_out() {
	paste -sd ' ' filter.live | tr -s ' ' |
		grep -q "No finding in what was asked for: .* Asked for: devices nic\*, other\. Left out: $requests page requests\."
}
check "filter, live: there were requests" test "$requests" -gt 20
check "filter, live: top says what was asked for and left out" wait_for 20 left_out
kill "$live"
wait "$live"
equal "filter, live: top never says that there was none" "$(paste -sd ' ' filter.live | tr -s ' ' | grep -c 'no fault')" 0
"$FAULTLINE" record --as-root --force -o filter.flt --disable-probe fault_detect \
	--disable-probe fault_overflow -- "$INJECT" run filter.ini >/dev/null 2>&1
"$FAULTLINE" report filter.flt 2>&1 | paste -sd ' ' >filter.out
check "a probe left out is why beginnings are missing" grep -qE ' of [0-9]+ the beginning was not watched \(probe fault_detect is off or was not asked for\)' filter.out
equal "... and what the two would have told is unknown, in report and in top" "$(
	"$FAULTLINE" report filter.flt --json 2>/dev/null >filter.json
	"$FAULTLINE" top -b --csv --since-start -i filter.flt 2>/dev/null >filter.top
	python3 -c 'import csv, json
report = json.load(open("filter.json"))
summary, queues = report["tables"]["summary"], report["tables"]["queues"]
top = [row for row in csv.DictReader(open("filter.top")) if row["device"] in {row["device"] for row in summary}]
print(len(top) > 0, {row["blocked_ns"] for row in summary + queues}, {(row["overflowed"], row["discarded"]) for row in summary},
      {(row["faults"], row["blocked_percent"], row["overflowed"], row["discarded"], row["abandoned"]) for row in top},
      [what.split(":")[0] for what in report["unknown"].split("; ") if what.startswith("fault_")])')" "True {None} {(None, None)} {('', '', '', '', '')} ['fault_detect', 'fault_overflow']"
"$FAULTLINE" report filter.flt 2>/dev/null | paste -sd ' ' | grep -oE 'Probe [a-z_]+ is off: [^.]*\.' >filter.says
for how in "report filter.flt --csv=filter.tables" "timeline filter.flt --csv" "top -b --csv -i filter.flt"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $how 2>filter.err >/dev/null
	equal "... also beside the tables of ${how%% *}, once" "$(sed -n 's/^faultline: Probe/Probe/p' filter.err)" "$(cat filter.says)"
done
"$FAULTLINE" report filter.flt --csv=first --csv=last 2>/dev/null
equal "of an option that is given twice the last one counts" "$(ls -d first last 2>/dev/null)" last
equal "... in as many sentences as probes" "$(grep -c "^Probe fault_" filter.says)" 2
check "... and not that faults began before the recording" bash -c '! grep -q "before the recording" filter.out'

# An emulator that comes while a recording runs: its probes come with it, and what was before is not known.
mkdir late
cp "$FAULTLINE" late/faultline
env PATH=/usr/sbin:/usr/bin:/sbin:/bin late/faultline record -o late.flt 2>late.err &
recorder=$!
wait_for 60 grep -q 'recording into' late.err
cp "$INJECT" late/comes
mv late/comes late/faultline-inject
"$FAULTLINE" report late.flt >out 2>&1
check "an emulator that is not there is not watched" bash -c '! grep -q "Watched only from" out'
late_watches() { "$FAULTLINE" report late.flt --csv=- --table probes 2>/dev/null | grep -q '^fault_detect,on,'; }
check "its probes come" wait_for 60 late_watches
kill -INT $recorder
wait $recorder
equal "... and since when is told of each of them" "$("$FAULTLINE" report late.flt --json 2>/dev/null | python3 -c '
import json, sys
report = json.load(sys.stdin)
since = {row["probe"]: row["since"] for row in report["tables"]["probes"]}
print(report["from"] < since["fault_detect"] < report["to"], since["fault_resume"] == since["fault_detect"], since["sched_switch"])')" "True True None"
for verb in report doctor; do
	check "... and in a sentence of $verb" bash -c '"$0" "$1" late.flt 2>&1 | paste -sd " " |
		grep -q "Watched only from a part of the recording on: emulated machines since 2.* What was before is not known"' "$FAULTLINE" $verb
done

# All I/Os are slower than the objective's target, and most of them faster than what is recorded one by one.
cat >slow.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
medium_latency = 3ms
[workload mix]
depth = 1
count = 331
rate = 101/s
[inject cold]
action = evict
rate = 7/s
duration = 10s
[inject slow]
action = delay
delay = 15ms
duration = 10s
[slo gold]
device = vm/disk
latency_target = 2ms
INI
compare slow
"$FAULTLINE" slo slow.flt -c slow.ini --csv=slow.slo --raw-time >/dev/null 2>&1
check "slow I/Os of an objective are all that were slow, recorded one by one or not" \
	python3 - slow.truth slow.slo/violations.csv <<'PY'
import csv, json, sys
ios = [r for r in map(json.loads, open(sys.argv[1])) if r["what"] == "io"]
rows = list(csv.DictReader(open(sys.argv[2])))
seen = recorded = 0
for row in rows:
    start = int(row["window_ns"])
    end = start + int(row["window_length_ns"])
    # What a machine tells late of an I/O is counted late: in the oldest window that is open (lib/capture/windows.h).
    seen += int(row["ios"])
    assert seen <= sum(r["time_ns"] < end for r in ios), (row, seen)
    slow = int(row["slow_ios"])
    assert slow == max(int(row["ios"]), int(row["recorded_ios"])), row
    alone = [r for r in ios if start <= r["time_ns"] < end and (r["code"] & 16 or r["value"] > 10000000)]
    # The log has latencies in 64 ns: at the limit one may fall to the other side.
    assert abs(int(row["recorded_ios"]) - len(alone)) <= 1, (row, len(alone))
    assert int(row["overlapped_ios"]) <= int(row["recorded_ios"])
    # A short last window may have no fault, or no slow I/O that was recorded.
    says = (f"of {slow} slow I/Os" if int(row["overlapped_ios"]) else "no fault overlapped" if int(row["recorded_ios"])
        else f"none of {slow} slow I/Os was recorded one by one")
    assert says in row["cause"], row
    recorded += len(alone)
assert all(r["value"] > 2000000 for r in ios)
assert seen == len(ios) == 331 and recorded, (seen, len(ios), recorded)
PY

# Seconds that a recorder stood still are each what they were.
printf '[tenant vm]\nmemory = 4M\n[device disk]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\nrate = 401/s\nduration = 4s\n' >steady.ini
record_start || not_ok "a recorder" "$(cat record.err)"
"$INJECT" run steady.ini --truth steady.truth >/dev/null 2>err &
machine=$!
sleep 0.7
stopped_ns=$(python3 -c 'import time; print(time.monotonic_ns())')
kill -STOP $record_pid
wait $machine
kill -CONT $record_pid
sleep 0.3
record_end
equal "a recorder that stood still ends with" $record_status 0
"$FAULTLINE" report run.flt --csv=steady --raw-time >/dev/null 2>err
check "seconds that a recorder stood still are each what they were" python3 - steady.truth steady/rates.csv "$stopped_ns" <<'PY'
import collections, csv, json, sys
happened = collections.Counter(row["time_ns"] // 10**9 for row in map(json.loads, open(sys.argv[1])) if row["what"] == "io")
said = {int(row["window_ns"]) // 10**9: int(row["rate_per_s"]) for row in csv.DictReader(open(sys.argv[2])) if row["device"] == "vm/disk"}
# Before it stood still it may have been told late of an I/O, which it then counted in a later second, at most in this one.
still = int(sys.argv[3]) // 10**9
after = [{second: count for second, count in each.items() if second > still} for each in (happened, said)]
assert after[0] == after[1] and len(after[0]) >= 2, (happened, said, still)
assert sum(happened.values()) == sum(said.values()), (happened, said)
PY

# What nothing was measured of did not hold.
printf '[slo held]\ndevice = vm/*\nlatency_target = 100s\n' >held.ini
printf '[slo unfit]\ndevice = nic*\nlatency_target = 100s\n' >unfit.ini
for judge in "slo slow.flt" "slo slow.flt --csv --table slo" "slo slow.flt --json" "top -b -i slow.flt" "top -b --json -i slow.flt"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $judge -c held.ini >out 2>&1
	equal "$judge: an objective that held" $? 0
	check "$judge: says no more" bash -c '! grep -q "nothing was measured" out'
	# shellcheck disable=SC2086
	"$FAULTLINE" $judge -c unfit.ini >out 2>&1
	equal "$judge: an objective that fits no device" $? 6
	check "$judge: says so" grep -q "objective unfit: no device fits 'nic\*'; nothing was measured" out
done
printf '[slo calm]\ndevice = t/*\nfault_rate = 1/s\nburst = 3\n' >calm.ini
printf '[tenant t]\nmemory = 2M\n[device d]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\ncount = 53\nrate = 53/s\n[inject e]\naction = evict\nwhat = next\nkind = minor\nrate = 53/s\nduration = 1s\n' >faulting.ini
"$FAULTLINE" record -q --as-root --emulator "$INJECT" -o unasked.flt --kind io -- "$INJECT" run faulting.ini >/dev/null 2>err
equal "a recording that was not asked for faults" $? 0
# Some kinds of fault events: what they do not tell is unknown, and what they tell is not left out besides.
"$FAULTLINE" record -q --as-root --emulator "$INJECT" -o some.flt --kind fault_detect,fault_resume -- "$INJECT" run filter.ini >/dev/null 2>err
for kind in some unasked; do
	"$FAULTLINE" report $kind.flt --json 2>/dev/null >$kind.json
	"$FAULTLINE" top -b --csv --since-start -i $kind.flt 2>$kind.err >$kind.top
	check "kinds of $kind: said beside top's CSV" grep -q 'Unknown from the kinds of events asked for: ' $kind.err
done
"$FAULTLINE" timeline some.flt --csv --all >some.faults 2>/dev/null
equal "... the numbers that rest on the others are empty in report, timeline and top" "$(python3 - <<'PY'
import csv, json
some, unasked = json.load(open("some.json")), json.load(open("unasked.json"))
names = ("complete", "unfinished", "inconsistent", "overflowed", "discarded", "abandoned")
summary, queues = some["tables"]["summary"], some["tables"]["queues"]
faults = list(csv.DictReader(open("some.faults")))
print(summary[0]["faults"] == len(faults) > 0, {row[name] for row in summary for name in names}, {row["blocked_ns"] for row in summary + queues},
      {row["state"] for row in faults}, int(some["filtered"]), int(unasked["filtered"]) > 0)
top = list(csv.DictReader(open("some.top")))
print({(row["footprint_bytes"], row["io_rate_per_s"]) for row in top})
for name in "some", "unasked":
    rows = [row for row in csv.DictReader(open(name + ".top")) if row["device"] in ("t/d", "vm/disk")]
    print({row["faults"] == "" for row in rows}, {row["rate_per_s"] == "" for row in rows},
          {row[name] for row in rows for name in ("open", "blocked_percent") + names[1:]})
PY
)" "True {None} {None} {'unknown'} 0 True
{('', '')}
{False} {False} {''}
{True} {True} {''}"
for judge in "slo unasked.flt" "top -b -i unasked.flt"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $judge -c calm.ini >out 2>&1
	equal "$judge: faults that nobody watched hold no objective" $? 6
	check "$judge: says so" bash -c 'paste -sd " " out | grep -q "the faults of .t/\*. were not watched" && ! grep -qw ok out'
done
"$FAULTLINE" slo slow.flt -c held.ini --since +1h 2>&1 | paste -sd ' ' >out
equal "slo: no I/O in the part asked for" ${PIPESTATUS[0]} 6
check "slo: says so" grep -q 'latency was not measured' out
finish
