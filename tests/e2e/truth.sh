#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Reconstructions held against the truth log: scenarios, every shipped campaign, and with each USDT
# probe deleted in turn, when the comparison must fail.
. "$(dirname "$0")/lib.sh"

# compare NAME EMULATOR JOB [OPTION...]: runs JOB under record; its verdict is in "verdict".
compare() {
	local name=$1 emulator=$2 job=$3 grid=
	shift 3
	grep -q '^\[short\]' "$job" && grid=--short
	rm -rf run.flt truth.jsonl* csv
	"$FAULTLINE" record --as-root --emulator "$emulator" -o run.flt -- \
		"$emulator" run $grid --truth truth.jsonl "$job" >run.out 2>run.err
	record_status=$?
	"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>report.err
	python3 "$root/tests/reference/compare_truth.py" csv truth.jsonl* "$@" >verdict 2>&1
}

# compared NAME JOB [OPTION...]: as compare.
compared() {
	compare "$1" "$INJECT" "${@:2}"
	adopt "$1"
}

compare idle "$INJECT" "$root/tests/e2e/jobs/idle.ini"
adopt idle
equal "idle: nothing was lost" $record_status 0

compared everything "$root/tests/e2e/jobs/everything.ini" --evictions-race
check "everything: the IOTLB answered" grep -q '^PASS  iotlb_answers' run.out

compared overflow "$root/tests/e2e/jobs/overflow.ini" --evictions-race
equal "overflow: the queue overflowed, groups were discarded, requests held back and disabled" \
	"$(grep -c '^PASS' run.out)" 5

# What was never served is in the live view, too, device by device.
"$FAULTLINE" report run.flt --csv=tables >/dev/null
"$FAULTLINE" top -b --csv --since-start -i run.flt >top.csv
equal "overflow: top has the report's overflowed, discarded and abandoned" "$(python3 - <<'PY'
import csv
columns = ("overflowed", "discarded", "abandoned", "unfinished", "inconsistent")
def rows(path):
    with open(path, newline="") as file:
        return {row["device"]: [int(row[name]) for name in columns] for row in csv.DictReader(file) if row["device"]}
report, top = rows("tables/summary.csv"), rows("top.csv")
sums = [sum(row[i] for name, row in report.items() if name != "all") for i in range(3)]
print(len(report) > 2 and all(top[name] == row for name, row in report.items()), *(sum_ > 0 for sum_ in sums))
PY
)" "True True True True"

# Its recording cut in the middle of faults of every outcome.
python3 "$root/tests/reference/compare_since.py" "$FAULTLINE" run.flt >verdict 2>&1
adopt "overflow, in parts"

# A device that waits for page requests before it can ask: its faults begin when it found them.
compared credits "$root/tests/e2e/jobs/credits.ini" --evictions-race
equal "credits: requests were held back" "$(grep -c '^PASS' run.out)" 2
check "credits: faults were held back, and the log knows which" grep -qE '^ok - what devices held back \([1-9][0-9]+\)' verdict

compared mappings "$root/tests/e2e/jobs/mappings.ini" --evictions-race
equal "mappings: entries of 2 MiB were split, writes to read-only pages upgraded and refused" \
	"$(grep -c '^PASS' run.out)" 4

# Without a rate the guest answers at once, while its queue is still at the I/O that met the fault: which
# I/Os were submitted in time to meet it is known to the nanosecond.
cat >answers.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
queues = 1
file_bytes = 8M
medium_latency = 100us
[workload mix]
sizes = 4K
depth = 4
duration = 1s
[inject cold]
action = evict
what = next
kind = minor
pages = 1
rate = 500/s
duration = 1s
INI
compared answers answers.ini --evictions-race
check "answers: some I/Os met faults, others did not" \
	grep -qE '^ok - I/Os that met a fault, or queued behind one \([1-9][0-9]+ of [1-9][0-9]{2,}\)' verdict

# Which CPU each handler ran on, as the probes saw it.
compared isolation "$root/tests/e2e/jobs/isolation.ini" --evictions-race
check "isolation: each tenant's faults were handled on its own CPU" python3 -c '
import csv
rows = [row for row in csv.DictReader(open("csv/faults.csv")) if row["handler_cpu"]]
ran = {(row["device"], row["handler_cpu"]) for row in rows}
assert len(rows) > 50 and ran == {("noisy/storm", "0"), ("quiet/disk", "1")}, (len(rows), ran)'
check "isolation: and none behind another tenant's" grep -q '^PASS  at_home' run.out

[ -n "${SANITIZED:-}" ] && finish
for job in ${CAMPAIGNS-rtt burst-block sensitivity-block concurrent isolation lookup}; do
	# Its eight queues ask for one page at once: the second handler finds it there.
	race=
	[ "$job" = isolation ] && race=--evictions-race
	# shellcheck disable=SC2086
	compared $job "$root/injectors/jobs/$job.ini" $race
done

# A lost response: its queue hangs for 6 s, twelve times as long as faults are waited for.
cat >hang.ini <<'INI'
[tenant vm]
memory = 8M
[device hung]
file_bytes = 8M
queues = 2
response_timeout = 6s
[workload mix]
sizes = 4K
duration = 2s
rate = 53/s
[inject cold]
action = evict
what = next
rate = 31/s
duration = 2s
[inject lose]
action = response_lost
start = 500ms
times = 1
duration = 2s
INI
"$FAULTLINE" record -q --as-root --emulator "$INJECT" --unfinished 500ms -o hang.flt -- \
	"$INJECT" run hang.ini --truth hang.truth >run.out 2>run.err
"$FAULTLINE" report hang.flt --csv=hang.tables >/dev/null 2>&1
"$FAULTLINE" top -b --json -i hang.flt 1 >hang.top 2>/dev/null
equal "a queue that hung is blocked for as long as the log says, in report and every second in top" "$(python3 - <<'PY'
import csv, json
log = list(map(json.loads, open("hang.truth")))
detect = {r["fault"]: r for r in log if r["what"] == "detect"}
spans = [(r["time_ns"] - detect[r["fault"]]["time_ns"], r["queue"]) for r in log if r["what"] in ("resume", "abandon")]
length, queue = max(spans)
rows = {int(row["queue"]): row for row in csv.DictReader(open("hang.tables/queues.csv"))}
# Log and probe of its two ends are some steps of the device apart.
print(length > 5.9e9, abs(int(rows[queue]["longest_ns"]) - length) < 1e9, {int(row["assumed_ns"]) for row in rows.values()})
full = "".join("+" if row["blocked_percent"] and row["blocked_percent"] > 99.99 else "-"
               for row in json.load(open("hang.top"))["tables"]["top"] if row["device"] == "vm/hung")
print(full.count("+") >= 4, "+-+" in full)
PY
)" "True True {0}
True False"
# One recording ends while it hangs, the other goes on when its machine is killed.
sed -i 's/response_timeout = 6s/response_timeout = 1h/' hang.ini
"$FAULTLINE" record --unfinished 500ms -o still.flt 2>still.err &
still=$!
"$FAULTLINE" record --unfinished 500ms -o gone.flt 2>gone.err &
gone=$!
for name in still gone; do
	wait_for 60 grep -q 'recording into' $name.err
done
"$INJECT" run hang.ini >run.out 2>run.err &
machine=$!
for name in still gone; do
	wait_for 60 bash -c '"$0" report $1.flt | paste -sd " " | grep -q "1 unfinished"' "$FAULTLINE" $name
done
sleep 1.5
kill -INT $still
wait $still
kill -KILL $machine
wait $machine 2>/dev/null
sleep 2
kill -INT $gone
wait $gone
for name in still gone; do
	"$FAULTLINE" report $name.flt --json >$name.json 2>/dev/null
	"$FAULTLINE" report $name.flt 2>/dev/null | paste -sd ' ' >$name.out
	"$FAULTLINE" top -b -i $name.flt 1 2>/dev/null | paste -sd ' ' >$name.top
done
equal "it hangs to the end of a recording, and no longer than its machine lives" "$(python3 - <<'PY'
import datetime, json
def seconds(text):
    return datetime.datetime.fromisoformat(text[:26]).timestamp()
for name in "still", "gone":
    report = json.load(open(name + ".json"))
    faults, queues = (report["tables"][table] for table in ("faults", "queues"))
    fault = next(f for f in faults if f["state"] == "unfinished")
    row = next(q for q in queues if q["queue"] == fault["queue"])
    left = seconds(report["to"]) - seconds(fault["start"]) - row["longest_ns"] / 1e9
    print(row["longest_ns"] > 1e9, left > 1, abs(left) < 1e-3, row["assumed_ns"] > 0)
PY
)" "True False True True
True True False False"
check "... what is assumed is said" grep -q '1 queue stayed blocked after a fault was given up (--unfinished), 1 to the end' still.out
check "... by top, too" grep -q 'BAD: 1 queue blocked by a fault that was given up' still.top
check "... and nothing where its end was seen" bash -c '! grep -q "stayed blocked after" gone.out'

# Each stage is stamped by the log elsewhere than by its probe: an emulator that waits on the way from the
# one to the other shows it in every fault, one that does not wait in no stage.
cat >apart.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
[workload mix]
depth = 2
rate = 211/s
duration = 1s
[inject cold]
action = evict
what = next
rate = 83/s
duration = 1s
INI
apart=$(cd "$root" && tests/reference/wait_mutant.py "$scratch/waiting")
compare apart "$scratch/waiting" apart.ini --evictions-race --apart="$apart"
adopt "waiting between log and probe"
compare together "$INJECT" apart.ini --evictions-race --apart="$apart"
equal "not waiting: log and probe of each stage are close in some fault" \
	"$(grep -A 9 '^not ok - log and probe' verdict | grep -c 'ns apart in one of')" 8

probes=$(readelf -n "$INJECT" | awk '/Provider: faultline/ {getline; print $2}' | sort -u)
# This job's devices have no frames and no queue pairs: those of a NIC are suite nic's, the latter suite rdma's, and it
# has no protector: that is suite protector's. Those of emulated hosts are suite lend_seen's, those of devices with a mode verbs_seen's.
of_frames='^(frames_.*|head_advanced|ring_state)$'
of_pairs='^(fault_suppressed|packets_.*|qp_.*|rdma_.*|rnr_.*)$'
of_pins='^(un)?pin$'
of_hosts='^(lend_.*|window_.*|requester_.*|link_state|path_state|client_state|failover|stray_dma|interrupt_relay|multicast|adapter_state)$'
of_verbs='^(verb.*|pinned|registered|guest_.*|work_request)$'
[ "$(grep -cE "$of_frames" <<<"$probes")" -eq 5 ] || not_ok "the probes of frames" "$probes"
[ "$(grep -cE "$of_pairs" <<<"$probes")" -eq 13 ] || not_ok "the probes of queue pairs" "$probes"
[ "$(grep -cE "$of_pins" <<<"$probes")" -eq 2 ] || not_ok "the probes of the protector" "$probes"
[ "$(grep -cE "$of_hosts" <<<"$probes")" -eq 21 ] || not_ok "the probes of emulated hosts" "$probes"
[ "$(grep -cE "$of_verbs" <<<"$probes")" -eq 8 ] || not_ok "the probes of devices with a mode" "$probes"
probes=$(grep -vE "$of_frames|$of_pairs|$of_pins|$of_hosts|$of_verbs" <<<"$probes")
[ "$(wc -w <<<"$probes")" -ge 15 ] || not_ok "all probes found" "$probes"
for probe in $probes; do
	python3 "$root/tests/reference/delete_probe.py" "$INJECT" "$probe" "$scratch/mutant"
	compare "$probe" "$scratch/mutant" "$root/tests/e2e/jobs/mutation.ini" --evictions-race
	if grep -q '^not ok' verdict && grep -q 'passed' verdict; then
		ok "without $probe: noticed: $(grep -m 1 '^not ok' verdict | cut -c 10-70)"
	else
		not_ok "without $probe: noticed" "the comparison still passes"
	fi
	check "without $probe: said" bash -c '"$0" report run.flt | paste -sd " " | grep -q "Probe $1 is off: "' "$FAULTLINE" "$probe"
done
compare mutation "$INJECT" "$root/tests/e2e/jobs/mutation.ini" --evictions-race
adopt "with every probe"
equal "with every probe: nothing is said of any" "$("$FAULTLINE" report run.flt | grep -cE "^Probe (${probes//$'\n'/|}) is off")" 0
finish
