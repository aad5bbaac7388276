#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loads of verbs whose guest is a process: it is killed at seeded random instants, and what it had counted is told; the machine ends
# well, with nothing of the guest's left. And each test moves the right bytes in each mode.
. "$(dirname "$0")/lib.sh"

RANDOM=1777
cat >job.ini <<'INI'
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
tenant = vm1
peer = vm0/hca
[verbs load]
device = vm0/hca
duration = 60s
keys = 1000
INI

# guest_of PID: the process of the guest, two levels below: the guardian's machine, its guest.
guest_of() {
	local machine guest
	for _ in {1..500}; do
		machine=$(pgrep -P "$1" | head -n 1)
		guest=$([ -n "$machine" ] && pgrep -P "$machine" | head -n 1)
		[ -n "$guest" ] && break
		sleep 0.01
	done
	echo "$guest"
}

# kill_once TEST
kill_once() {
	local run guest
	rm -f killed.csv
	"$INJECT" run job.ini --set "load.test=$1" --csv=killed.csv >out 2>err &
	run=$!
	guest=$(guest_of $run)
	sleep "0.$((RANDOM % 300 + 100))"
	kill -KILL "$guest"
	wait $run
	equal "$1: a run whose guest is killed ends well" $? 0
	check "$1: its end is told" grep -q 'the guest of hca was ended by signal 9' out err
	equal "$1: it is one error, and no invariant broke" "$(cells_of killed.csv errors violations pins_unequal)" "1 0 0"
	check "$1: the process is gone" test ! -e "/proc/$guest"
}

for test in read_latency register create_qp write_bandwidth kv; do
	kill_once $test
done

cat job.ini - >kill.ini <<'INI'
[inject kill]
action = guest_kill
device = vm0/hca
start = 300ms
duration = 30s
times = 1
INI
for mode in hybrid passthrough odp; do
	rm -f killed.csv
	"$INJECT" run kill.ini --set load.test=write_bandwidth --set "hca.mode=$mode" --csv=killed.csv >out 2>err
	equal "$mode: a guest that an injection kills is one error, and no invariant breaks" \
		"$? $(grep -c 'the guest of hca was ended by signal 9' out err | awk -F: '{ n += $2 } END { print n }') $(cells_of killed.csv fired errors violations pins_unequal)" \
		"0 1 1 1 0 0"
done

grep -v '^keys' job.ini >overrun.ini
cat >>overrun.ini <<'INI'
[inject full]
action = cq_overrun
device = vm0/hca
start = 100ms
duration = 60s
times = 1
[sweep]
mode = hca.mode: none, native, hybrid, passthrough
test = load.test: read_latency, send
events = load.events: no, yes
INI
timeout 100 "$INJECT" run overrun.ini --csv=overrun.csv >out 2>err
equal "who lost a completion does not wait for it: each load ends by itself" $? 0
check "each with an error, and the queue is named" grep -q 'active end: a completion found completion queue [0-9]* full.*(16 of 16 points' err
equal "it is one error of each, and no invariant broke" "$(/usr/bin/python3 -c 'import csv
rows = list(csv.DictReader(open("overrun.csv")))
print(len(rows), *[sorted({row[name] for row in rows}) for name in ("fired", "errors", "violations", "pins_unequal", "protection")], sum(int(row["cq_overruns"]) >= 1 for row in rows))')" \
	"16 ['1'] ['1'] ['0'] ['0'] ['0'] 16"
sed -e '/^\[sweep\]/,$d' -e 's/cq_overrun/dead_key/' overrun.ini >dead.ini
timeout 100 "$INJECT" run dead.ini --csv=dead.csv >out 2>err
equal "a dead key is refused once, and the work request fails" \
	"$? $(cells_of dead.csv errors protection cq_overruns violations mismatches)" "0 1 1 0 0 0"
sed -e '/^\[sweep\]/,$d' -e 's/^\[verbs load\]$/&\ntest = send/' -e '/^action/,$s/^device = .*/device = vm1\/hcb/' overrun.ini >peer.ini
timeout 100 "$INJECT" run peer.ini >out 2>err
equal "at the other end, too" "$? $(cat out err | grep -c 'peer end: a completion found completion queue [0-9]* full')" "0 1"

sed 's/^duration = .*/operations = 50\nverify = yes\nsize = 1000/' job.ini >modes.ini
cat >>modes.ini <<'INI'
[sweep]
mode = hca.mode: none, native, hybrid, passthrough, odp
test = load.test: read_latency, write_bandwidth, send, kv
events = load.events: no, yes
INI
"$INJECT" run modes.ini --csv=modes.csv >out 2>err
equal "each test in each mode, polled and waited for" $? 0
equal "all bytes are right, and there is no fault" "$(/usr/bin/python3 -c 'import csv
rows = list(csv.DictReader(open("modes.csv")))
print(len(rows), *[sum(int(row[name]) for row in rows) for name in ("operations", "mismatches", "errors", "violations", "faults", "data_kicks", "pins_unequal")])')" "40 2000 0 0 0 0 0 0"
sed -e 's/^mode = hybrid$/&\nforward_posts = yes/' -e '/^keys/d' -e 's/^duration.*/test = send\noperations = 50/' job.ini >forwarded.ini
timeout 100 "$INJECT" run forwarded.ini --set hca.mode=native --csv=forwarded.csv >out 2>err
equal "posts are forwarded where there is a host on the way, else they are stores" "$? $(cells_of forwarded.csv operations errors)" "0 50 0"
"$INJECT" run job.ini --set load.test=register --set load.size=1M --set load.duration=0 --set load.operations=3 \
	--set vm.quota_pinned=64K --csv=quota.csv >out 2>err
equal "a region over the quota is refused before anything is done, and the load tries on" \
	"$? $(cells_of quota.csv regions_refused guest_pinned_bytes machine_pinned_bytes operations errors)" "0 4 0 0 0 0"

sed -e '/^keys/d' -e "s/^duration.*/test = create_qp\nduration = 60s/" job.ini >veto.ini
cat >>veto.ini <<'INI'
[inject no]
action = veto
device = vm0/hca
interval = 7
times = 1
start = 200ms
duration = 60s
INI
timeout 100 "$INJECT" run veto.ini --csv=veto.csv >out 2>err
equal "a queue pair that is refused is an error" "$? $(cells_of veto.csv errors verbs_refused fired)" "0 1 1 1"
check "and which verb it was is told" grep -q 'active end: a queue pair was refused: .*Operation not permitted' err

# rights_run "RIGHTS TEST": what comes of seven operations where a tenant may have regions for this alone.
sed '/^keys/d' job.ini >rights.ini
rights_run() {
	rm -f rights.csv
	"$INJECT" run rights.ini --set load.duration=0 --set load.operations=7 --set hcb.mode=hybrid \
		--set vm.quota_rights="${1% *}" --set load.test="${1#* }" --csv=rights.csv >out 2>err
	echo "$? $(cells_of rights.csv operations regions_refused errors)"
}
for run in "remote_read read_latency" "remote_write write_bandwidth" "local send"; do
	equal "$run: a load asks for the rights that it needs" "$(rights_run "$run")" "0 7 0 0"
done
for run in "local read_latency" "remote_read write_bandwidth"; do
	equal "$run: and is refused those that it may not have" "$(rights_run "$run")" "0 0 1 1"
	check "$run: and is told" grep -q 'end: a region was refused: .*Operation not permitted' err
done
finish
