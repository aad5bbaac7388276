#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What `export --perfetto` writes, read by Perfetto's own trace processor and by protoc: each fault, stage, I/O, stall,
# objective and counter is that of the tables; names of strangers, damage, clocks, what is in the way, kills.
own_mounts=yes
. "$(dirname "$0")/lib.sh"
reference=$root/tests/reference

# decode NAME: what protoc makes of NAME.pftrace, into NAME.text.
decode() { protoc -I"$root/tools/perfetto" --decode perfetto.Trace "$root/tools/perfetto/perfetto.proto" <"$1.pftrace" >"$1.text"; }

# tables NAME: what report and slo say of NAME.flt, into NAME.tables; with wall-clock times into NAME.wall.
tables() {
	"$FAULTLINE" report "$1.flt" --raw-time --csv="$1.tables" >/dev/null 2>&1
	"$FAULTLINE" slo "$1.flt" -c slo.ini --raw-time --csv="$1.tables" >/dev/null 2>&1
	"$FAULTLINE" report "$1.flt" --csv="$1.wall" >/dev/null 2>&1
}

# compare NAME [RECORD OPTION...]: runs NAME.ini, records it, and holds the trace to its tables.
compare() {
	"$FAULTLINE" record --as-root --emulator "$INJECT" "${@:2}" -o "$1.flt" -- "$INJECT" run "$1.ini" --truth "$1.truth" >"$1.out" 2>run.err
	tables "$1"
	"$FAULTLINE" export "$1.flt" -c slo.ini --perfetto "$1.pftrace" 2>"$1.err"
	equal "$1: it is exported" $? 0
	check "$1: protoc decodes it" decode "$1"
	[ -n "$library" ] || return
	/usr/bin/python3 "$reference/compare_perfetto.py" "$library" "$1.pftrace" "$1.text" "$1.tables" "$1.wall" >verdict 2>&1
	adopt "$1"
}

if ! library=$("$root/tests/engines/trace_processor.sh" path 2>fetch.err); then
	skip "trace processor" "$(tail -n 1 fetch.err)"
	library=
fi
cat >slo.ini <<'INI'
[slo gold]
latency_target = 2ms
[slo silver]
device = *disk*
fault_rate = 1
burst = 5
[slo gentle]
device = *net*
loss = 0%
max_stall = 10ms
INI

# Two kinds of devices, PASIDs, queues, groups, and every injection: faults of every state.
cat >disks.ini <<'INI'
[machine]
request_queue_entries = 16
[tenant vm]
count = 2
memory = 8M
[device disk]
tenant = vm*
queues = 2
file_bytes = 8M
group_pages = 5
response_timeout = 50ms
[device copier]
tenant = vm*
model = accel
pasid = yes
queues = 2
group_pages = 3
response_timeout = 50ms
[workload mix]
device = vm*/disk
sizes = 4K, 64K
read_percent = 67
depth = 4
rate = 211/s
duration = 3s
[workload copy]
device = vm*/copier
sizes = 4K, 32K
depth = 4
rate = 101/s
duration = 3s
[inject cold]
action = evict
what = next
kind = major
pages = 7
rate = 13/s
duration = 2s
[inject cool]
action = evict
what = random
pages = 61
rate = 5/s
duration = 2s
[inject slow]
action = delay
stage = resolve
distribution = exponential
delay = 2ms
probability = 50
duration = 2s
[inject late]
action = delay
stage = delivery
delay = 200us
duration = 2s
[inject twice]
action = duplicate
probability = 10
duration = 2s
[inject lost]
action = response_lost
interval = 53
duration = 2s
[inject later]
action = delay
stage = resolve
delay = 700ms
start = 1s
times = 2
duration = 2s
[inject refused]
action = response_failure
interval = 41
duration = 2s
[inject full]
action = overflow
interval = 37
duration = 2s
INI
# A NIC whose pages leave, under TCP: lost frames, stalls.
port=$((20000 + $$ % 10000))
cat >nic.ini <<INI
[machine]
timeout = 60s
[tenant vm]
memory = 8M
[device net]
model = nic
rx_policy = drop
queue_depth = 64
[program server]
side = guest
role = server
run = iperf3 -s -p $port
ready = tcp:$port
[program load]
side = wire
role = load
run = iperf3 -c {guest} -p $port -t 2 -J
result = iperf3
[inject cold]
action = evict
rate = 20/s
what = random
pages = 1
kind = major
times = 13
start = 300ms
duration = 20s
[inject slow]
action = delay
stage = resolve
delay = 5ms
duration = 30s
INI
compare disks
late_hosts() { # with faults that were resolved after their device had given them up
	awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
		{resolved = $at["start_ns"] + $at["request_ns"] + $at["delivery_ns"] + $at["dispatch_ns"] + $at["resolve_ns"]}
		$at["state"] == "abandoned" && $at["resolve_ns"] != "" && $at["abandoned_ns"] < resolved {late++}
		END {exit !late}' "$1"
}
check "disks: a host went on with what was given up" late_hosts disks.tables/faults.csv
if [ -e /dev/net/tun ]; then
	compare nic
	check "nic: flows stalled" test "$(wc -l <nic.tables/stalls.csv)" -gt 1
else
	skip "networks" "there is no /dev/net/tun"
fi
if [ "${FACE:-}" = full ]; then
	cp "$root/tests/e2e/jobs/everything.ini" "$root/injectors/jobs/demo.ini" .
	compare everything
	compare demo
fi

# Recordings that no recorder makes: names of strangers, no clock, one that was set back, damage.
check "recordings are made" /usr/bin/python3 "$reference/parquet_recordings.py" .
/usr/bin/python3 - "$root/tests/hostile" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from forge import KIND, REAL_NS, SECOND, SHELF, START_NS, Recording
r = Recording(preamble=False).host(hostname="stepped").clock(real=REAL_NS)
r.device(name="vm0/disk").faults(count=3)
r.clock(START_NS + 60 * SECOND, REAL_NS - 3600 * SECOND)
r.events([e for i in range(5) for e in r.fault(1, START_NS + (61 + i) * SECOND)])
r.end().write("stepped.flt")
# Before the first anchor of the clock: faults that lack a timestamp or two, which are told late, and an I/O behind each;
# then one without an end.
r = Recording(preamble=False).host(hostname="unseen").device(name="vm0/disk")
r.clock(START_NS + 2 * SECOND, REAL_NS + 2 * SECOND)
for i in range(12):
    at = START_NS + i * 50_000_000
    unseen = {KIND["FAULT_REQUEST"] + i % 6} | ({KIND["FAULT_MAPPED"]} if i % 2 else set())
    r.events([e for e in r.fault(1, at) if e["kind"] not in unseen] +
             [dict(time=at + 90_000, kind=KIND["IO_COMPLETE"], device=1, address=0x900000, length=4096, value=60_000, code=16,
                   pasid=1 << 31, queue=0)])
r.events(r.fault(1, START_NS + SECOND, stages=3))
r.end(START_NS + 5 * SECOND).write("unseen.flt")
r = Recording(preamble=False).host(hostname=SHELF["bidi"]).clock(real=REAL_NS)
for name in SHELF.values():
    r.device(name=name).faults(count=2)
r.end().write("shelf.flt")
# Times that are nobody's: the longest faults, silences, I/Os that took longer than the clock has gone.
r = Recording(preamble=False).host(hostname="times").clock(real=REAL_NS).device(name="vm0/disk")
for at in (START_NS, 1 << 62, (1 << 63) - 1_000_000):
    r.events(r.fault(1, at))
r.events([dict(time=(1 << 63) - 5, kind=KIND["IO_COMPLETE"], device=1, value=(1 << 64) - 1, code=16, queue=0),
          dict(time=(1 << 63) - 3, kind=KIND["INJECT_STOP"], device=1, code=99)])
r.end((1 << 63) - 2).write("times.flt")
r = Recording(preamble=False).host(hostname="last").clock(real=REAL_NS).device(name="vm0/disk")
r.events(r.fault(1, START_NS))
r.events([dict(time=(1 << 64) - 1, kind=KIND["INJECT_STOP"], device=1, code=99)])
r.end((1 << 64) - 1).write("last.flt")
for i in 1, 2:
    r = Recording(preamble=False, recording=i).host(hostname=f"host {i}", boot=f"boot {i}", start=START_NS + i).clock(real=REAL_NS).device(name="vm0/disk")
    r.faults(count=7 * i).end().write(f"host{i}.flt")
PY
for name in hostile shelf unseen stepped timeless monday tuesday far damaged cut times last; do
	tables $name
	timeout 60 "$FAULTLINE" export $name.flt -c slo.ini --perfetto $name.pftrace 2>$name.err
	status=$?
	case $name in
	tuesday | damaged | cut) equal "$name: loss is told" $status 5 ;;
	*) check "$name: it is exported" test $status = 0 -o $status = 5 ;;
	esac
	check "$name: protoc decodes it" decode $name
done
for name in tuesday damaged cut; do
	check "$name: the trace says that counts are floors" grep -q 'counts are floors' $name.text
done
check "shelf: no character that is none of printable ASCII" \
	bash -c '! LC_ALL=C grep -q "[^ -~]" shelf.text && ! grep -qE "\\\\[0-7]{3}" shelf.text hostile.text'
if [ -n "$library" ]; then
	for name in unseen stepped timeless monday tuesday cut; do
		/usr/bin/python3 "$reference/compare_perfetto.py" "$library" $name.pftrace $name.text $name.tables \
			$([ $name = timeless ] || echo $name.wall) $([ $name != stepped ] || echo 1060000000000) >verdict 2>run.err
		adopt $name
	done
	for name in hostile shelf far damaged times last; do
		check "$name: the trace processor has nothing to say" /usr/bin/python3 - "$reference" "$library" $name.pftrace <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from trace_processor import TraceProcessor
bad = TraceProcessor(*sys.argv[2:]).query("select name, value from stats where severity in ('error', 'data_loss') and value != 0")
sys.exit(str(bad) if bad else 0)
PY
	done
fi

check "a fault that has no end lasts until that of its recording" \
	bash -c 'grep -A 4 "timestamp: 1005000000000" unseen.text | grep -q "type: 2"'

# Several hosts: a trace each, and none twice.
"$FAULTLINE" merge -q host1.flt host2.flt -o both.flt 2>merge.err
"$FAULTLINE" export both.flt clean.flt --perfetto all.pftrace 2>all.err
equal "several hosts have a trace each" "$? $(ls all.* | sed 's/\.[0-9a-f]\{16\}\./.ID./' | paste -sd ' ')" \
	"0 all.__.ID.pftrace all.err all.host_1.ID.pftrace all.host_2.ID.pftrace"
"$FAULTLINE" export host2.flt --perfetto alone.pftrace 2>alone.err
check "which is that of its own recording" cmp alone.pftrace all.host_2.*.pftrace
cp clean.flt copy.flt
"$FAULTLINE" export clean.flt copy.flt --perfetto twice.pftrace 2>twice.err
equal "the same recording twice is refused" "$? $(grep -c 'the same recording as in clean.flt' twice.err) $(ls twice.*)" "2 1 twice.err"

# What is in the way.
before=$(stat -c '%i %Y %s' alone.pftrace)
"$FAULTLINE" export host2.flt --perfetto alone.pftrace 2>there.err
equal "what is there is refused, and stays" "$? $(stat -c '%i %Y %s' alone.pftrace) $(grep -c 'alone.pftrace' there.err)" "1 $before 1"
check "with --force it is replaced" "$FAULTLINE" export clean.flt --perfetto alone.pftrace --force
check "by the other" bash -c '! cmp -s alone.pftrace all.host_2.*.pftrace'
"$FAULTLINE" export clean.flt --perfetto clean.flt --force 2>input.err
equal "a recording does not become its trace" "$? $(grep -c 'clean.flt: is the input' input.err)" "2 1"
mkdir folder && ln -s nowhere link
for target in folder link/x nosuch/x /dev/null ''; do
	"$FAULTLINE" export clean.flt --perfetto "$target" --force 2>target.err
	status=$?
	check "'$target' is refused with a sentence" test $status -ge 1 -a $status -le 2 -a -s target.err
done
"$FAULTLINE" export clean.flt --perfetto link 2>link.err
equal "a link is not followed" "$? $(ls nowhere 2>/dev/null)" "1 "
mkdir small
if mount -t tmpfs -o size=1m none small 2>mount.err; then
	"$FAULTLINE" export big.flt --perfetto small/big.pftrace 2>small.err
	equal "a full disk: a sentence, and nothing is left" \
		"$? $(grep -c 'small/big.pftrace: cannot be written: No space left on device' small.err) $(ls -A small | wc -l)" "1 1 0"
	umount small
else
	skip "a full disk" "$(cat mount.err)"
fi

# Killed: nothing, or what was there.
echo there >killed.pftrace
for delay in 02 06 13 29; do
	"$FAULTLINE" export big.flt --perfetto killed.pftrace --force 2>/dev/null &
	sleep "0.$delay"
	kill -KILL $! && wait $! 2>/dev/null
	[ "$(cat killed.pftrace)" = there ] || check "killed: it is whole" decode killed
done
equal "killed: nothing is left beside it" "$(find . -maxdepth 1 -name 'killed.*' | paste -sd ' ')" "./killed.pftrace"
finish
