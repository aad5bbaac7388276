#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Explanations of every fault of a campaign with nine injections, held against the truth log.
. "$(dirname "$0")/lib.sh"

cat >campaign.ini <<'INI'
[machine]
request_queue_entries = 64
[tenant one]
memory = 8M
[tenant two]
memory = 8M
[device disk]
file_bytes = 8M
queues = 2
group_pages = 3
response_timeout = 61ms
[workload mix]
sizes = 4K, 32K
depth = 4
rate = 151/s
duration = 4300ms
[inject cold]
action = evict
what = next
kind = minor
pages = 3
rate = 23/s
duration = 4300ms
[inject gone]
action = evict
what = next
kind = major
pages = 2
rate = 5/s
duration = 4300ms
[inject storage]
action = delay
stage = resolve
delay = 3ms
start = 300ms
duration = 500ms
[inject interrupt]
action = delay
stage = delivery
delay = 3ms
start = 900ms
duration = 500ms
[inject stalled]
action = delay
stage = dispatch
delay = 3ms
start = 1500ms
duration = 500ms
[inject late]
action = delay
stage = respond
delay = 3ms
start = 2100ms
duration = 500ms
[inject lost]
action = response_lost
interval = 7
start = 2700ms
duration = 300ms
[inject refused]
action = response_failure
interval = 7
start = 3050ms
duration = 200ms
[inject full]
action = overflow
interval = 5
start = 3300ms
duration = 500ms
[inject hog]
action = cpu_hog
threads = 3
start = 3900ms
duration = 200ms
[slo quick]
latency_target = 2ms
[slo calm]
device = two/*
fault_rate = 1
INI
"$FAULTLINE" record -q --as-root --emulator "$INJECT" -o run.flt -- \
	"$INJECT" run campaign.ini --truth truth.jsonl >run.out 2>run.err
equal "nothing was lost" $? 0
"$FAULTLINE" explain run.flt --all --csv=all.csv --raw-time -c campaign.ini 2>explain.err
equal "every fault is explained in one go" $? 0
"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>&1
python3 "$root/tests/reference/compare_explained.py" all.csv csv truth.jsonl \
	injection busy_handler overflow response_lost storage memory >verdict 2>&1
adopt campaign

# One by one as all at once.
"$FAULTLINE" explain run.flt --all --json=all.json --raw-time 2>/dev/null
ask() { "$FAULTLINE" explain run.flt "$@" 2>explain.err; }
check "a row, the slowest, and what a time names are told as all of them are" python3 - "$FAULTLINE" <<'PY'
import csv, json, subprocess, sys
rows = json.load(open("all.json"))["tables"]["explanation"]
faults = list(csv.DictReader(open("csv/faults.csv")))
def told(*how):
    done = subprocess.run([sys.argv[1], "explain", "run.flt", "--json", "--raw-time", *how], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"]["explanation"]
for number in 1, 89, 211, len(faults):
    assert told("--row", str(number)) == [row for row in rows if row["row"] == number], number
length = lambda f: sum(int(f[s + "_ns"] or 0) for s in "request delivery dispatch resolve map respond resume".split())
slowest = max(range(len(faults)), key=lambda i: length(faults[i])) + 1
assert told("--slowest")[0]["row"] == slowest
wall = json.loads(subprocess.run([sys.argv[1], "report", "run.flt", "--json", "--table", "faults"], capture_output=True, text=True).stdout)
wall = wall["tables"]["faults"]
alone = next(i for i, f in enumerate(wall) if sum(g["start"][:29] == f["start"][:29] for g in wall) == 1 and i > 53)
assert told(f"{wall[alone]['device']}@{wall[alone]['start']}")[0]["row"] == alone + 1
PY
check "objectives that broke are those of slo, with as many faults" python3 - "$FAULTLINE" <<'PY'
import collections, csv, subprocess, sys
subprocess.run([sys.argv[1], "slo", "run.flt", "-c", "campaign.ini", "--csv=slo", "--raw-time"], capture_output=True)
violations = list(csv.DictReader(open("slo/violations.csv")))
named = collections.Counter()
for item in csv.DictReader(open("all.csv")):
    if item["part"] == "objective":
        named[item["text"].split()[1], item["from_ns"], item["of_device"]] += 1
expected = {(v["slo"], v["window_ns"], v["device"]): int(v["faults"]) for v in violations if int(v["faults"] or 0)}
assert len(expected) > 3 and dict(named) == expected, (named, expected)
PY

ask --slowest >one.txt
equal "text ends as it should" $? 0
check "... with a cause, a wait and help" bash -c 'grep -q "^Cause: " one.txt && grep -q "met it" one.txt && grep -q "Pinning" one.txt'
ask 'one/disk@+1s' >one.txt
equal "a time that many faults fit is refused" $? 2
check "... with those that it may be" grep -qE "faults began then: one/disk@.*--row [0-9]+.*, \.\.\.; accepted: one of these" explain.err
ask 'one/disk@+1ns' >one.txt
equal "a time without a fault is refused" $? 2
check "... with the nearest" grep -qE "no fault then; the nearest: one/disk@.*--row [0-9]+" explain.err
ask 'three/*@+1s' >one.txt
equal "a device without faults is refused" $? 2
ask --row 1000003 >one.txt
equal "a row that is not there is refused" $? 2
check "... with those that are" grep -q "accepted: 1 to $(($(wc -l <csv/faults.csv) - 1))" explain.err
ask --slowest --since +9h >one.txt
equal "the slowest of no fault is refused" $? 2

# Part of the recording is unreadable: that events lack is said in each form, and an injection's end is known before it comes.
python3 - <<'PY'
data = bytearray(open("run.flt", "rb").read())
middle = len(data) * 3 // 5
data[middle:middle + 64] = bytes(byte ^ 0x55 for byte in data[middle:middle + 64])
open("damaged.flt", "wb").write(data)
PY
"$FAULTLINE" explain damaged.flt --all --csv=damaged.csv --raw-time 2>/dev/null
"$FAULTLINE" explain damaged.flt --all --json=damaged.json 2>/dev/null
"$FAULTLINE" explain damaged.flt --all >damaged.txt 2>/dev/null
check "what was lost is told once of all faults, in text, JSON and CSV" python3 - <<'PY'
import collections, csv, json
for rows in list(csv.DictReader(open("damaged.csv"))), json.load(open("damaged.json"))["tables"]["explanation"]:
    lost = [row for row in rows if row["evidence"] == "loss"]
    assert len(lost) == 1 and lost[0]["part"] == "unknown" and lost[0]["row"] in ("", None), lost
    assert "not all was recorded" in lost[0]["text"] and sum(not row["row"] for row in rows) == 1, lost
assert " ".join(open("damaged.txt").read().split()).count("Unknown: whether there was more, as not all was recorded") == 1
PY
check "an injection's end is told the same of every fault" python3 - <<'PY'
import collections, csv
ends = collections.defaultdict(set)
for row in csv.DictReader(open("damaged.csv")):
    if row["evidence"] == "injection":
        ends[row["number"], row["from_ns"]].add(row["to_ns"])
        assert row["part"] == "memory" or bool(row["to_ns"]) == (row["cause"] == "injection"), row
assert len(ends) > 3 and all(len(those) == 1 for those in ends.values()), ends
PY

# Waits of queue pairs that blame a fault are in the explanations of just these faults.
cat >ranks.ini <<'INI'
[tenant vm0]
memory = 16M
[tenant vm1]
memory = 16M
[device left]
tenant = vm0
model = rdma
peer = vm1/right
timeout = 10s
[device right]
tenant = vm1
model = rdma
peer = vm0/left
timeout = 10s
[ranks mpi]
device = vm0/left
count = 4
memory = demand
pattern = sendrecv
sizes = 64K
duration = 1100ms
[inject cold]
action = evict
what = random
pages = 1
duration = 20s
rate = 397/s
INI
"$FAULTLINE" record -q --as-root --emulator "$INJECT" -o ranks.flt -- "$INJECT" run ranks.ini >run.out 2>run.err
"$FAULTLINE" explain ranks.flt --all --csv=ranks.csv --raw-time 2>/dev/null
"$FAULTLINE" report ranks.flt --csv=ranks --raw-time >/dev/null 2>&1
check "queue pairs that waited are named, each by as many faults as it blames" python3 - <<'PY'
import collections, csv
waits = {(w["device"], w["token"], w["start_ns"]): int(w["faults"] or 0) for w in csv.DictReader(open("ranks/waits.csv"))}
named = collections.defaultdict(set)
for item in csv.DictReader(open("ranks.csv")):
    if item["evidence"] == "wait":
        named[item["of_device"], item["number"], item["from_ns"]].add((item["handle"], item["group"], item["instance"]))
expected = {wait: faults for wait, faults in waits.items() if faults}
assert len(expected) > 5 and {wait: len(faults) for wait, faults in named.items()} == expected, (len(named), len(expected))
PY

# Without the probes that it needs it says what is unknown, and names no cause that it does not know.
"$FAULTLINE" record -q --as-root --emulator "$INJECT" --disable-probe fault_isr --disable-probe sched_switch \
	-o less.flt -- "$INJECT" run campaign.ini --set mix.duration=700ms >run.out 2>run.err
"$FAULTLINE" explain less.flt --row 3 >less.txt 2>/dev/null
check "stages that were not seen are said to be merged" bash -c 'paste -sd " " less.txt | grep -q "stages before it were not seen"'
check "... and which probe is off" bash -c 'paste -sd " " less.txt | grep -q "probe fault_isr is off" && paste -sd " " less.txt | grep -q "probe sched_switch is off"'
finish
