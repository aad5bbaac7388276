#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The process of a guest, or of the machine, is killed at seeded random instants: `KILLS=500 tests/e2e/verbs_kill.sh` for as many.
. "$(dirname "$0")/lib.sh"
kills=${KILLS:-5}
RANDOM=4057

cat >job.ini <<'INI'
[tenant vm]
count = 4
memory = 16M
[device hca]
model = rdma
mode = hybrid
tenant = vm0
peer = vm1/hcb
timeout = 10s
[device hcb]
model = rdma
tenant = vm1
peer = vm0/hca
timeout = 10s
[device other]
model = rdma
mode = hybrid
tenant = vm2
peer = vm3/far
timeout = 10s
[device far]
model = rdma
tenant = vm3
peer = vm2/other
timeout = 10s
[verbs load]
device = vm0/hca
duration = 60s
keys = 1000
[verbs beside]
device = vm2/other
test = read_latency
operations = 0
duration = 500ms
INI

tests=(read_latency write_bandwidth register create_qp kv)
modes=(hybrid passthrough odp)
# begin: a run in the background: $run, $machine and its guests once both have begun.
begin() {
	rm -f run.csv truth.jsonl
	"$INJECT" run job.ini --set "load.test=${tests[RANDOM % 5]}" --set "hca.mode=${modes[RANDOM % 3]}" \
		--csv=run.csv --truth truth.jsonl "$@" >out 2>err &
	run=$!
	wait_for 20 bash -c "machine=\$(pgrep -P $run) && [ \$(pgrep -c -P \$machine) -eq 2 ]" || return 1
	machine=$(pgrep -P $run)
}

# What the truth log says of a guest's end: by which signal it came, and nothing pinned.
judge() {
	/usr/bin/python3 - truth.jsonl <<'PY'
import collections, json, sys
pinned, registered, ended = collections.Counter(), {}, {}
for record in map(json.loads, open(sys.argv[1])):
    if record["what"] in ("pinned", "unpinned") and not record["group"]:
        pinned[record["device"], record["code"]] = record["value"]
    elif record["what"] == "registered":
        registered[record["device"]] = record["value"]
    elif record["what"] == "guest_ended":
        ended[record["device"]] = record["length"]
left = {key: value for key, value in pinned.items() if value}
print("left", left, {key: value for key, value in registered.items() if value}) if left or any(registered.values()) else print("nothing", ended.get(0))
PY
}

# guest_named DEVICE: the process of the guest of it.
guest_named() { for one in $(pgrep -P "$machine"); do grep -qa "$1" "/proc/$one/comm" && echo "$one"; done; }
named() { [ -n "$(guest_named "$1")" ]; }
# pinned more|less KIB: whether the machine has, as the kernel says.
pinned() {
	local kib
	kib=$(awk '/^VmPin:/ { print $2 }' "/proc/$machine/status")
	if [ "$1" = more ]; then [ "$kib" -ge "$2" ]; else [ "$kib" -lt "$2" ]; fi
}

good=0
for ((kill = 0; kill < kills; kill++)); do
	begin || { not_ok "kill $kill: guests begin" "$(cat err)"; continue; }
	guest=$(guest_named hca)
	/usr/bin/python3 -c "import time; time.sleep($RANDOM / 32768 * 0.4)"
	kill -KILL "$guest"
	wait $run
	status=$?
	verdict="$status $(cells_of run.csv errors violations pins_unequal mismatches) $(grep -c 'the guest of hca was ended by signal 9' out err | awk -F: '{ n += $2 } END { print n }') $(judge)"
	[ "$verdict" = "0 1 0 0 0 1 nothing 9" ] && good=$((good + 1)) || not_ok "a guest's end at a random instant" "$verdict" "$(cat err)"
done
equal "guests killed at random instants: each ends alone, and nothing of it is left" $good $kills

# A guest with many regions is killed while the other reads, one after the other. An operation that begins and ends between the first
# and the last step of taking down has not waited for that: one kill that shows some is proof, and is looked for in up to ten, as the
# two CPUs may have been others' meanwhile. The thread that takes down has a lower priority, so that it is interrupted.
sed -e 's/^keys.*/test = pressure\nworking_set = 32M\npiece = 32K\nsize = 4K/' -e 's/^memory.*/memory = 48M/' \
	-e 's/^duration = 500ms/duration = 60s/' job.ini >beside.ini
cat >lower.py <<'PY'
import os, sys
for task in os.listdir(f"/proc/{sys.argv[1]}/task"):
    if open(f"/proc/{sys.argv[1]}/task/{task}/comm").read().strip() == "hyv-hca":
        os.setpriority(os.PRIO_PROCESS, int(task), 5)
        print("lowered")
PY
# Steps, operations meanwhile, and the time from a completion to the next, which is an operation's: middle before and after.
cat >gaps.py <<'PY'
import json, statistics
down, ends = [], []
for record in map(json.loads, open("truth.jsonl")):
    if record["what"] == "unpinned" and record["device"] == 0:
        down.append(record["time_ns"])
    elif record["what"] == "io" and record["device"] == 2:
        ends.append(record["time_ns"])
ends.sort()
gaps = list(zip(ends, ends[1:]))
middle = lambda some: statistics.median(end - begin for begin, end in some) if some else 0
before, after = middle([gap for gap in gaps if gap[1] < min(down)]), middle([gap for gap in gaps if gap[0] > max(down)])
print(int(len(down) >= 3000), sum(min(down) < begin and end < max(down) for begin, end in gaps), int(0 < after <= 3 * before))
PY
# kill_beside: prints what gaps.py does.
kill_beside() {
	rm -f run.csv truth.jsonl
	"$INJECT" run beside.ini --csv=run.csv --truth truth.jsonl >out 2>err &
	run=$!
	wait_for 20 bash -c "machine=\$(pgrep -P $run) && [ \$(pgrep -c -P \$machine) -eq 2 ]"
	machine=$(pgrep -P $run)
	wait_for 20 pinned more 60000
	wait_for 20 named other
	guest=$(guest_named hca) other=$(guest_named other)
	sleep 0.3
	[ "$(/usr/bin/python3 lower.py "$machine")" = lowered ] && kill -KILL "$guest"
	wait_for 20 pinned less 30000
	sleep 0.3
	kill -KILL "$other"
	wait $run
	/usr/bin/python3 gaps.py
}
alike=0
for ((kill = 1; kill <= 10; kill++)); do
	read -r all meanwhile same < <(kill_beside)
	alike=$((alike + same))
	[ "$all" = 1 ] && [ "$meanwhile" -ge 3 ] && [ $((2 * alike)) -gt $kill ] && break
done
equal "operations of another tenant begin and end while a killed one is taken down, and take as long afterwards" \
	"$all $([ "${meanwhile:-0}" -ge 3 ] && echo some) $([ $((2 * alike)) -gt $kill ] && echo alike)" "1 some alike"
echo "# kill $kill: $meanwhile operations meanwhile; $alike of them with latencies alike"

good=0
for ((kill = 0; kill < kills; kill++)); do
	begin || { not_ok "kill $kill: guests begin" "$(cat err)"; continue; }
	guests=$(pgrep -P "$machine")
	/usr/bin/python3 -c "import time; time.sleep($RANDOM / 32768 * 0.4)"
	kill -KILL "$machine"
	killed=$(date +%s%N)
	wait_for 5 bash -c "for one in $(echo $guests); do [ ! -e /proc/\$one ] || grep -q '^State:.Z' /proc/\$one/status || exit 1; done"
	late=$((($(date +%s%N) - killed) / 1000000))
	wait $run
	# Within a second, and what a loop that waits takes on a busy machine.
	[ "$late" -lt 2000 ] && good=$((good + 1)) || not_ok "a machine's end at a random instant" "$late ms"
done
equal "machines killed at random instants: their guests end with them" $good $kills
equal "no process is left" "$(pgrep -c -f "$INJECT run job.ini")" 0
finish
