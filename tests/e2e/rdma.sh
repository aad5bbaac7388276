#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two RDMA devices whose ranks talk while pages leave: what the report says of queue pairs, of each wait and of regions
# against the truth log and against both devices' counters; and that a probe which is deleted is missed.
. "$(dirname "$0")/lib.sh"

limited= # a line of the machine's
cold='what = random;pages = 1'
# job DEVICE_KEYS RANKS_KEYS INJECTIONS: into job.ini; keys of both devices and of the ranks, separated by ';'.
job() {
	local keys=${1//;/$'\n'}
	cat >job.ini <<INI
[machine]
timeout = 60s
$limited
[tenant vm0]
memory = 16M
[tenant vm1]
memory = 16M
[device left]
tenant = vm0
model = rdma
peer = vm1/right
$keys
[device right]
tenant = vm1
model = rdma
peer = vm0/left
$keys
[ranks mpi]
device = vm0/left
count = 4
memory = demand
verify = yes
duration = 1s
${2//;/$'\n'}
[inject cold]
action = evict
${cold//;/$'\n'}
duration = 20s
${3:-rate = 200/s}
INI
}

# run NAME [RECORD OPTION...]: the job under record, its tables in csv, its results in results.csv.
run() {
	rm -rf run.flt truth csv results.csv
	"$FAULTLINE" record --as-root --emulator "$INJECT" "${@:2}" -o run.flt -- \
		"$INJECT" run job.ini --csv=results.csv --truth truth >run.out 2>run.err
	status=$?
	"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>report.err
	/usr/bin/python3 "$root/tests/reference/compare_pairs.py" csv truth vm0/left vm1/right >verdict 2>&1
}

# sum FILE COLUMN: of all its rows.
sum() {
	/usr/bin/python3 -c 'import csv, sys
print(sum(int(row[sys.argv[2]] or 0) for row in csv.DictReader(open(sys.argv[1]))))' "$1" "$2"
}

# least FILE COLUMN: of all rows that have it.
least() {
	/usr/bin/python3 -c 'import csv, sys
print(min(int(row[sys.argv[2]]) for row in csv.DictReader(open(sys.argv[1])) if row[sys.argv[2]]))' "$1" "$2"
}

# waits KIND: how many.
waits() { /usr/bin/python3 -c 'import csv, sys
print(sum(row["kind"] == sys.argv[1] for row in csv.DictReader(open("csv/waits.csv"))))' "$1"; }

# counted NAME: what both devices counted is what their pairs did.
counted() {
	for column in rnr dropped resent suppressed; do
		case $column in rnr) of=naks ;; *) of=$column ;; esac
		equal "$1: $column of the results is that of the queue pairs" \
			"$(sum csv/queue_pairs.csv $of)" "$(sum results.csv $column)"
	done
}

# held NAME: the job's run, its report held against truth log and counters.
held() {
	run "$1"
	equal "$1: it was recorded" $status 0
	adopt "$1"
	counted "$1"
}

# whole NAME: what arrived is what was sent, from pages that were there.
whole() {
	equal "$1: no byte is wrong, no page touched that had gone, no error" \
		"$(for column in mismatches violations errors; do sum results.csv $column; done | tr '\n' ' ')" "0 0 0 "
}

# Where an acknowledgement is late on a busy machine, what is sent again had not been dropped. Buffers that are met in
# turn meet hundreds of absent pages in that second, others a handful or, on a slow machine, none.
job "timeout = 10s" "pattern = sendrecv;sizes = 64K;off_cache = yes"
held send
check "send: somebody was not ready" test "$(waits rnr)" -gt 0
check "send: somebody waited for memory of its own" test "$(waits memory)" -gt 0
check "send: a wait is told in words" grep -q 'QP [0-9]* of vm[01]/[a-z]* waited .*: ' <("$FAULTLINE" report run.flt | tr '\n' ' ')
equal "send: what was dropped before the NAK was sent again" "$(sum csv/waits.csv dropped)" "$(sum csv/waits.csv resent)"
equal "send: no byte is wrong, no page touched that had gone" "$(sum results.csv mismatches) $(sum results.csv violations)" "0 0"

job "" "pattern = stream;op = read;sizes = 64K"
held read
check "read: somebody waited for the target of a read" test "$(waits read)" -gt 0

job "fault_limit = 1;prefault = page;clear_delay = 3ms" "pattern = stream;sizes = 256K" "rate = 400/s"
held "one fault at once"
check "one fault at once: others were not reported" test "$(sum csv/queue_pairs.csv suppressed)" -gt 0

# The host hears of a fault 0.15 ms after its NAK, which names it all the same; so does that of another side's.
job "profile = connectx;prefault = page;fault_limit = 1;rnr_timer = 5" "pattern = beff;op = write;sizes = 30011;off_cache = yes"
held "connectx"
check "connectx: somebody was not ready" test "$(waits rnr)" -gt 0
check "connectx: others were not reported" test "$(sum csv/queue_pairs.csv suppressed)" -gt 0
check "connectx: each fault took what the profile has" test "$(least csv/faults.csv total_ns)" -ge 198000
equal "connectx: none was held back for want of page requests" "$(sum csv/faults.csv held_back_ns)" 0
whole connectx

job "timeout = 5ms" "pattern = sendrecv;sizes = 16K" "rate = 50/s
[inject wire]
action = packet_loss
probability = 1
duration = 30s"
held "with packet_loss"
check "with packet_loss: the wire lost some" test "$(sum csv/queue_pairs.csv lost_wire)" -gt 0
check "with packet_loss: timeouts sent some again" test "$(waits timeout)" -gt 0

# Copies of packets, evictions and ranks that look at each byte.
job "" "pattern = bcast;op = write;sizes = 16K" "rate = 100/s
[inject wire]
action = packet_duplicate
probability = 2
duration = 30s"
held "with packet_duplicate"
check "with packet_duplicate: copies were dropped" test "$(sum csv/queue_pairs.csv dropped_duplicate)" -gt 0
equal "with packet_duplicate: nothing was lost" "$(sum csv/queue_pairs.csv lost_wire)" 0
whole "with packet_duplicate"

# A wire that loses nothing but NAKs: those that were heard and those that were lost are those that were sent.
cold='what = ring;side = rx'
job "" "pattern = sendrecv;sizes = 64K" "rate = 50/s
[inject wire]
action = nack_lost
times = 3
duration = 30s"
held "with nack_lost"
equal "with nack_lost: three were" "$(sum csv/queue_pairs.csv lost_wire)" 3
equal "with nack_lost: NAKs that were sent were heard or lost" "$(sum csv/queue_pairs.csv naks)" \
	$(($(sum csv/queue_pairs.csv naks_heard) + $(sum csv/queue_pairs.csv lost_wire)))
check "with nack_lost: a timeout sent them again" test "$(sum csv/queue_pairs.csv resent_timeout)" -gt 0
whole "with nack_lost"

# Of alltoall's ranks some share a device: loopback, too. NPF's wish: who reads says that it is not ready, and nothing has to be asked for again.
job "read_rnr = yes" "pattern = alltoall;op = read;sizes = 64K;off_cache = yes" "rate = 50/s"
held "read_rnr"
check "read_rnr: queue pairs of one device talked" test "$(wc -l <csv/queue_pairs.csv)" -eq 25
check "read_rnr: responders were told" test "$(sum csv/queue_pairs.csv naks)" -gt 0
equal "read_rnr: nobody waited for the target of a read in another way" "$(waits read)" 0
equal "read_rnr: what was dropped before was sent again" \
	"$(sum csv/queue_pairs.csv dropped_response)" "$(sum csv/queue_pairs.csv resent_read)"
whole "read_rnr"

cold='what = random;pages = 1'
job "fault = drop" "pattern = alltoall;op = write;sizes = 16K;off_cache = yes" "rate = 50/s"
held "fault=drop"
equal "fault=drop: nobody was told" "$(sum csv/queue_pairs.csv naks)" 0
check "fault=drop: packets were dropped for a page" test "$(sum csv/queue_pairs.csv dropped_fault)" -gt 0
check "fault=drop: timeouts sent them again" test "$(waits timeout)" -gt 0
whole "fault=drop"

# More buffers than memory: what does not fit goes to storage, and comes back.
limited="memory_limit = 6M"
job "" "pattern = sendrecv;sizes = 64K;off_cache = yes;working_set = 2M;buffer_bytes = 2M" "rate = 50/s"
held "memory_limit"
check "memory_limit: pages went and came back" test "$(sum results.csv major)" -gt 0
check "memory_limit: no more was present than the limit and a little" \
	test "$(sum results.csv present_most_bytes)" -le $((7 << 20))
whole "memory_limit"
"$INJECT" run job.ini --set mpi.memory=pin >out 2>err
equal "memory_limit: ranks that cannot pin what they need do not start" $? 0
check "memory_limit: with both numbers" \
	grep -q 'tenant vm1 would pin 4096 KiB, and [0-9]* KiB are left of what memory_limit=6144 KiB' err

# Stopped in the middle.
gone() { ! pgrep -f "$PWD/job.ini" >/dev/null && [ -z "$(ls -A "$FAULTLINE_RUN_DIR")" ]; }
groups() { for pid in $ours; do find /sys/fs/cgroup -maxdepth 3 -name "faultline-$pid-*" 2>/dev/null; done; }
for way in INT KILL timeout; do
	"$INJECT" run "$PWD/job.ini" --set mpi.duration=600s --set mpi.memory=cache --set mpi.cache_bytes=1M \
		--set "machine.timeout=$([ $way = timeout ] && echo 1s || echo 700s)" >/dev/null 2>err &
	guardian=$!
	wait_for 20 sh -c "ls $FAULTLINE_RUN_DIR/*.machine >/dev/null 2>&1"
	ours="$guardian $(pgrep -P $guardian)" # other suites have cgroups, too, that come and go
	sleep 0.2
	[ $way = timeout ] || kill -$way $guardian
	wait $guardian 2>/dev/null
	equal "$way: exit code" $? $(case $way in INT) echo 7 ;; KILL) echo 137 ;; *) echo 1 ;; esac)
	wait_for 10 gone
	equal "$way: no process is left, nor a file" $? 0
	equal "$way: nor a cgroup" "$(groups)" ""
done
limited=

# One service, one reconstruction: a fault goes the same way whatever the device is.
cat >models.ini <<'INI'
[machine]
timeout = 60s
scheduler = affined
premap = no
[tenant vm]
count = 4
memory = 8M
[device hca]
tenant = vm0
model = rdma
peer = vm1/hcb
[device hcb]
tenant = vm1
model = rdma
peer = vm0/hca
[device disk]
tenant = vm2
model = block
file_bytes = 8M
[device net]
tenant = vm3
model = nic
wire = generator
rx_policy = backup
queue_depth = 64
[ranks mpi]
device = vm0/hca
sizes = 64K
off_cache = yes
buffer_bytes = 2M
rate = 40/s
duration = 1s
[workload mix]
device = vm2/disk
rate = 500/s
duration = 1s
[traffic frames]
device = vm3/net
rate = 500/s
duration = 1s
[inject slow]
action = delay
delay = 20ms
duration = 30s
INI
for stage in dispatch resolve respond; do
	sed "/^delay = /a stage = $stage" models.ini >job.ini
	run "$stage takes long"
	equal "$stage takes long: it was recorded" $status 0
	equal "$stage takes long: of the faults of each model, and none has a stage that is missing or merged" \
		"$(/usr/bin/python3 - $stage <<'PY'
import csv, json, sys
STAGES = "request delivery dispatch resolve map respond resume".split()
rows = [row for row in csv.DictReader(open("csv/faults.csv")) if row["state"] == "complete"]
begun, over = (next(record["time_ns"] for record in map(json.loads, open("truth")) if record["what"] == what)
               for what in ("inject_start", "inject_stop"))
for device in "vm0/hca", "vm1/hcb", "vm2/disk", "vm3/net":
    own = [row for row in rows if row["device"] == device]
    whole = [row for row in own if not row["merged"] and all(row[stage + "_ns"] for stage in STAGES)]
    # An injection is told just before it acts: the later half has certainly met it.
    meant = [int(row[sys.argv[1] + "_ns"]) for row in sorted(whole, key=lambda row: int(row["start_ns"]))
             if begun < int(row["start_ns"]) < int(row["start_ns"]) + int(row["total_ns"]) < over]
    meant = meant[len(meant) // 2:]
    well = len(whole) == len(own) and meant and min(meant) >= 20000000
    print(device if well else (device, len(own), len(whole), meant), end=" ")
PY
	)" "vm0/hca vm1/hcb vm2/disk vm3/net "
done

# The first NAK is one too many.
job "rnr_retries = 0" "pattern = sendrecv;sizes = 64K;off_cache = yes" "rate = 400/s"
run "without a retry"
adopt "without a retry"
check "without a retry: queue pairs are in error" grep -q RNR_RETRY_EXC_ERR csv/queue_pairs.csv
check "without a retry: that is said" grep -q 'went into error: RNR_RETRY_EXC_ERR' <("$FAULTLINE" report run.flt | tr '\n' ' ')

# A probe that the machine does not have is missed.
for probe in rnr_sent rnr_received packets_dropped packets_resent qp_rewound fault_suppressed qp_paused qp_resumed \
	qp_error qp_state rdma_counter rdma_region rdma_advised; do
	python3 "$root/tests/reference/delete_probe.py" "$INJECT" $probe "$scratch/mutant"
	case $probe in
	fault_suppressed) job "fault_limit = 1;prefault = page;clear_delay = 3ms" "pattern = stream;sizes = 256K" "rate = 400/s" ;;
	qp_error) job "rnr_retries = 0" "pattern = sendrecv;sizes = 64K;off_cache = yes" "rate = 400/s" ;;
	*) job "" "pattern = sendrecv;sizes = 64K;off_cache = yes;advise = both" ;;
	esac
	INJECT=$scratch/mutant run "without $probe"
	check "without $probe in the machine: noticed" grep -q '^not ok' verdict
done
finish
