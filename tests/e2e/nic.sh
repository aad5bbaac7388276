#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Real TCP through a NIC whose pages leave: what the report says of each lost frame and of each stall against
# the truth log, what the namespaces themselves count, and what is left when something is killed.
. "$(dirname "$0")/lib.sh"

port=$((20000 + $$ % 10000))

# job POLICY EVICTIONS [MORE]: into job.ini; a program's command line is found by its port.
job() {
	cat >job.ini <<INI
[machine]
timeout = 60s
[tenant vm]
memory = 8M
[device net]
model = nic
rx_policy = $1
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
times = $2
start = 300ms
duration = 20s
$3
INI
}

delays='[inject slow]
action = delay
stage = resolve
delay = 5ms
duration = 30s'

# run NAME [RECORD OPTION...]: the job under record, its tables in csv, its results in results.csv.
run() {
	rm -rf run.flt truth* csv results.csv
	"$FAULTLINE" record --as-root --emulator "$INJECT" "${@:2}" -o run.flt -- \
		"$INJECT" run job.ini --csv=results.csv --truth truth >run.out 2>run.err
	equal "$1: it was recorded" $? 0
	"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>report.err
	/usr/bin/python3 "$root/tests/reference/compare_frames.py" csv truth run.flt >verdict 2>&1
}

# sum FILE COLUMN: of all its rows; the first one of `nic`, which has them together.
sum() {
	/usr/bin/python3 - "$1" "$2" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
if rows and rows[0].get("side"):
    rows = [row for row in rows if row["side"] == "all"]
print(sum(int(row[sys.argv[2]] or 0) for row in rows))
PY
}

# resent NAME: what the recording has of TCP is what the namespaces counted. Where the kernel leaves a tracepoint
# out (suite tcp) it is run once more. Probes of new data are no retransmissions.
resent() {
	local try told counted
	for try in 1 2 3; do
		told="$(($(sum csv/flows.csv retransmits) + $(sum csv/flows.csv synacks))) $(sum csv/flows.csv timeouts)"
		counted="$(sum results.csv retransmits) $(sum results.csv timeouts)"
		[ "$told" = "$counted" ] && break
		[ $try -lt 3 ] && retried "$1: TCP's events" "$told, not $counted" && run "$1, once more"
	done
	equal "$1: segments sent again and timeouts are those that were counted" "$told" "$counted"
	equal "$1: those of the device are those of its flows" "$(sum csv/nic.csv retransmits)" \
		"$(sum csv/flows.csv retransmits)"
	check "$1: loss probes are counted, too" \
		test "$(sum csv/flows.csv probes)" -le "$(sum results.csv probes)"
}

# What an objective finds in run.flt, and what top shows of it at its end, is what the tables have.
objectives() {
	printf '[slo gentle]\nloss = 99%%\nmax_stall = 1h\n[slo strict]\nloss = 0%%\nmax_stall = 10ms\nmin_throughput = 1G\n' >slo.ini
	rm -rf slo
	"$FAULTLINE" slo run.flt -c slo.ini --csv=slo >/dev/null 2>slo.err
	equal "objectives: they are broken" $? 6
	equal "objectives: each lost frame, each stall of more than 10 ms, too little throughput, and only the strict ones" \
		"$(/usr/bin/python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("slo/violations.csv")))
reasons = [name for name in rows[0] if name.startswith("lost_")]
print(sum(int(row[name]) for row in rows if row["metric"] == "loss" for name in reasons),
      sum(row["metric"] == "stall" for row in rows), any(row["metric"] == "throughput" for row in rows),
      {row["slo"] for row in rows})
PY
)" "$(/usr/bin/python3 - <<'PY'
import csv
print(sum(int(row["lost"]) for row in csv.DictReader(open("csv/drops.csv"))),
      sum(int(row["duration_ns"]) > 10e6 for row in csv.DictReader(open("csv/stalls.csv"))), True, {"strict"})
PY
)"
	"$FAULTLINE" top -b --csv --view=nic --since-start -i run.flt >top.csv 2>/dev/null
	check "top's view of NICs ends as the report's table" /usr/bin/python3 "$root/tests/reference/compare_top.py" \
		top.csv csv/nic.csv rate_per_s least_bytes_per_s
}

# worth SENT: the results' wire_efficiency is what iperf3 says was received over these bytes.
worth() {
	/usr/bin/python3 - "$1" <<'PY'
import csv, sys
row, = csv.DictReader(open("results.csv"))
sent, efficiency, moved = int(sys.argv[1]), float(row["wire_efficiency"]), int(row["moved_bytes"])
assert moved > 0 and round(efficiency * sent) == moved, (efficiency, sent, moved)
PY
}

for policy in pin drop cache backup ooo; do
	job $policy 13 "$delays"
	run $policy
	resent $policy
	adopt $policy
	/usr/bin/python3 "$root/tests/reference/compare_truth.py" csv truth --evictions-race >verdict 2>&1
	adopt "$policy: faults"
	/usr/bin/python3 "$root/tests/reference/compare_nic.py" results.csv truth >verdict 2>&1
	adopt "$policy: results"
	equal $policy:\ frames\ are\ delivered,\ lost\ or\ held \
		$(($(sum results.csv frames) + $(sum results.csv lost_before_nic))) \
		$(($(sum results.csv delivered) + $(sum results.csv lost) + $(sum results.csv held_now)))
	equal "$policy: lost frames are those of the results" "$(sum csv/drops.csv lost)" "$(sum results.csv lost)"
	check "$policy: the wire's worth is the payload over the bytes of frames both ways, lost ones too" worth \
		"$(($(sum csv/nic.csv transferred_bytes) + $(sum csv/nic.csv lost_size_bytes)))"
	case $policy in
	drop)
		check "$policy: frames were lost" test "$(sum results.csv lost_fault)" -gt 0
		objectives
		;;
	ooo) ;;
	*) equal "$policy: none was lost to a fault" "$(sum results.csv lost_fault)" 0 ;;
	esac
done

# What both interfaces count once all is quiet, against the results: each frame is somewhere. A second load keeps
# the machine.
# links NAME [SIDE]: job.ini, with a program of this port whose end is waited for; that side's queue has no room, and
# what the program waits for comes after that.
no_traffic() { ! pgrep -f "$traffic" >/dev/null; }
link_of() { # SIDE of the machine: frames sent, dropped, received and refused
	"$INJECT" exec "$machine" "$1" -- ip -s -j link show net | /usr/bin/python3 -c 'import json, sys
stats = json.load(sys.stdin)[0]["stats64"]
print(stats["tx"]["packets"], stats["tx"]["dropped"], stats["rx"]["packets"], stats["rx"]["dropped"] + stats["rx"]["errors"])'
}
# As nstat names them, of both sides together.
nstat_of() {
	local side
	for side in guest wire; do "$INJECT" exec "$machine" $side -- nstat -asz; done |
		awk -v names="$*" '{n[$1] += $2} END {for (i = split(names, name, " "); i; i--) told = n[name[i]] " " told; print told}'
}
# Neither side has a socket that may still send something: a segment, one again, a probe or an end.
quiet() {
	local side
	for side in guest wire; do
		"$INJECT" exec "$machine" $side -- ss -Htan state connected exclude time-wait >sockets && [ ! -s sockets ] || return 1
	done
}
# All counters of both sides into `counted`: until they are what they were just before, frames are on their way.
count_all() {
	local side
	for side in wire guest; do link_of $side; done
	nstat_of TcpRetransSegs TcpExtTCPTimeouts TcpExtTCPLossProbes TcpExtTCPFastRetrans
}
settled() { mv counted counted.before && count_all >counted && cmp counted counted.before && quiet; }
links() {
	local guest wire
	cat >>job.ini <<INI
[program stays]
side = wire
role = load
run = sh $scratch/hold $scratch/held
INI
	sed -i 's/^timeout = .*/timeout = 1h/' job.ini
	rm -f results.csv go
	: >held
	"$INJECT" run job.ini --csv=results.csv >run.out 2>run.err &
	campaign=$!
	check "$1: it is under way" wait_for 10 pgrep -f "$traffic"
	machine=$(pgrep -P $campaign)
	[ -z "$2" ] || "$INJECT" exec "$machine" "$2" -- ip link set net txqueuelen 1
	: >go
	check "$1: traffic has ended" wait_for 10 no_traffic
	check "$1: connections have ended" wait_for 10 quiet
	count_all >counted
	check "$1: no frame is on its way" wait_for 10 settled
	{
		read -r wire_sent wire_dropped wire_received wire_refused
		read -r guest_sent guest_dropped guest_received guest_refused
		nstat=$(cat)
	} <counted
	rm held
	wait $campaign
	equal "$1: status" $? 0
	equal "$1: what was sent again is what nstat says" "$(echo $nstat)" \
		"$(echo $(for column in retransmits timeouts probes fast; do sum results.csv $column; done))"
	equal "$1: what the wire sent is delivered, lost or held" \
		$((wire_sent + wire_dropped)) \
		$(($(sum results.csv delivered) + $(sum results.csv lost) + $(sum results.csv held_now)))
	equal "$1: the NIC took what was not dropped" "$wire_sent" "$(sum results.csv frames)"
	equal "$1: what its queue dropped was lost before the NIC" "$wire_dropped" "$(sum results.csv lost_before_nic)"
	equal "$1: what the guest received was delivered" "$guest_received" "$(sum results.csv delivered)"
	equal "$1: what the guest sent, the wire received" "$wire_received" "$guest_sent"
	equal "$1: what its driver was too late for is told" "$guest_dropped" "$(sum results.csv frame_errors)"
	equal "$1: and no interface refused any" "$wire_refused $guest_refused" "0 0"
}
# Its machine lasts until all has been asked of it, however long that takes.
echo 'while [ -e "$1" ]; do sleep 0.1; done' >hold
echo 'until [ -e "$1" ]; do sleep 0.1; done; shift; exec "$@"' >after
chmod 755 .
traffic="iperf3 -c .* -p $port "
for policy in pin drop cache backup ooo; do
	job $policy 13 "$delays
[inject wire]
action = frame_loss
probability = 1
duration = 1s"
	links "links, $policy"
	check "links, $policy: frames were lost" test "$(sum results.csv lost)" -gt 0
	check "links, $policy: and sent again" test "$(sum results.csv retransmits)" -gt 0
done
# A queue of one frame before a NIC that has others to see to.
for side in wire guest; do
	job drop 0 ""
	[ $side = wire ] && reverse= || reverse=-R
	sed -i -e '/^\[inject cold/,$d' -e "s|^run = iperf3 -c.*|run = sh $scratch/after $scratch/go iperf3 -c {guest} -p $port -u -b 400M -l 300 $reverse -t 2 -J|" job.ini
	links "links, no room at the $side" $side
	dropped=${side}_dropped
	check "links, no room at the $side: frames were dropped" test "${!dropped}" -gt 0
done

job drop 13 "$delays
[inject wire]
action = frame_loss
probability = 1
duration = 30s"
run "with frame_loss"
resent "with frame_loss"
check "with frame_loss: TCP sent some again" test "$(sum results.csv retransmits)" -gt 0
adopt "with frame_loss"
check "with frame_loss: the wire lost some" test "$(sum csv/nic.csv lost_wire)" -gt 0
equal "with frame_loss: as many as the results say" "$(sum csv/nic.csv lost_wire)" "$(sum results.csv lost_wire)"

# Flows of rings without a fault lose nothing to those of others, and no stall of theirs is for one.
for policy in drop backup; do
	job $policy 2 "$delays"
	sed -i -e 's/-t 2 -J/-P 24 -t 2 -J/' -e '/^model/a queues = 4' job.ini
	run "four rings, $policy"
	adopt "four rings, $policy"
	/usr/bin/python3 - >isolated 2>&1 <<'PY'
import csv, json
faulted = {int(row["queue"]) for row in csv.DictReader(open("csv/faults.csv"))}
used = {record["queue"] for record in map(json.loads, open("truth")) if record["what"] == "frame"}
assert 0 < len(faulted) < len(used) == 4, (faulted, used)
of_others = "lost_fault", "lost_cache_full", "lost_backup_full"
for table in "nic", "stalls":
    for row in csv.DictReader(open(f"csv/{table}.csv")):
        if row["queue"] and int(row["queue"]) not in faulted and row.get("side") != "tx":
            assert not any(int(row[name]) for name in of_others), row
PY
	equal "four rings, $policy: those without a fault have no loss and no stall for one" "$? $(tail -n 1 isolated)" "0 "
done

# Stalls of the truth log that are over: without one nobody misses what tells of an end.
recovered() {
	PYTHONPATH=$root/tests/reference /usr/bin/python3 -c 'import compare_frames as c
print(sum(stall.state == "recovered" for stalls in c.brute_force(c.read_truth()[0]).values() for stall in stalls))' csv truth
}

# A probe less, and what is told must differ.
for probe in frames_lost frames_recovered; do
	job drop 13 "$delays
[inject wire]
action = frame_loss
probability = 1
duration = 30s"
	run "without $probe" --disable-probe "$probe"
	check "without $probe: frames were lost and came again" test "$(recovered)" -gt 0
	check "without $probe: the comparison fails" grep -q '^not ok' verdict
done

# These are counted: one that the machine itself does not have is missed.
for probe in frames_held head_advanced ring_state; do
	python3 "$root/tests/reference/delete_probe.py" "$INJECT" "$probe" "$scratch/mutant"
	job backup 13 "$delays"
	INJECT=$scratch/mutant run "without $probe in the machine"
	check "without $probe in the machine: noticed" grep -q '^not ok - each of' verdict
done

# What is left, of whatever was killed in the middle.
ours="$scratch/|-p $port( |\$)"
left() {
	pgrep -f -- "$ours" || true
	namespaces_of "$ours"
	ip netns
	ip -o link | cut -d: -f2
	sysctl -a 2>/dev/null | grep -E '^net\.(ipv4\.tcp_|core\.)' | grep -v _available_
}
before=$(left)
is_as_before() { [ "$(left)" = "$before" ]; }
is_under_way() { pgrep -f -- "iperf3 -c .* -p $port " >/dev/null; }

job drop 13 ""
for victim in campaign machine record; do
	"$FAULTLINE" record --as-root --emulator "$INJECT" -o "$victim.flt" -- \
		"$INJECT" run job.ini >"$victim.out" 2>&1 &
	recorder=$!
	check "SIGKILL of the $victim: it was under way" wait_for 10 is_under_way
	campaign=$(pgrep -P $recorder -f "$INJECT run" | head -n 1)
	case $victim in
	campaign) kill -KILL "$campaign" ;;
	machine) pkill -KILL -P "$campaign" ;;
	record) kill -KILL $recorder ;;
	esac
	wait $recorder 2>/dev/null
	check "SIGKILL of the $victim: no process, namespace, interface or setting is left" wait_for 20 is_as_before
done

# Two at once, of the same names and addresses.
job drop 13 "$delays"
sed 's/times = 13/times = 7/' job.ini >other.ini
# Of another file and registry: a recorder sees whoever is of its own.
mkdir other
cp "$INJECT" other
FAULTLINE_RUN_DIR=$FAULTLINE_RUN_DIR.other other/faultline-inject run other.ini --csv=other.csv --truth other.truth >/dev/null 2>&1 &
run "beside another"
wait $!
adopt "beside another"
equal "beside another: each has its own evictions" "$(sum results.csv evicted) $(sum other.csv evicted)" "13 7"

# refused NAME WORDS [SED...]: exit code, file and line, and what is accepted.
refused() {
	job drop 13 ""
	sed -i "${@:3}" job.ini
	"$INJECT" run job.ini >out 2>err
	[ $? -ne 0 ] && grep -qE "job\.ini:[0-9]+.*($2)" err && ok "refused: $1" ||
		not_ok "refused: $1" "$(head -n 2 err)"
}
refused "mtu" 'mtu.*accepted' -e '/^model/a mtu = 20'
refused "rx_buffer" 'rx_buffer.*accepted' -e '/^model/a rx_buffer = 1'
refused "queue_depth" 'queue_depth.*accepted' -e 's/^queue_depth.*/queue_depth = 5/'
refused "frames too long for the ring" 'queue_depth.*accepted' -e 's/^queue_depth.*/queue_depth = 2/' -e '/^model/a mtu = 9000'
refused "too many buffers a frame for ooo" 'rx_buffer.*accepted' -e 's/= drop/= ooo/' -e '/^model/a mtu = 9000' -e '/^model/a rx_buffer = 256'
refused "congestion control that is not there" 'congestion=nonesuch: this kernel has it not' -e '/^model/a congestion = nonesuch'
refused "a sysctl that is not there" 'net.ipv4.nosuch: a network namespace has no such' -e '/^model/a sysctl = net.ipv4.nosuch=1'
refused "a value that a sysctl has not" "tcp_sack=x: the kernel refuses the value.*it has '1'" -e '/^model/a sysctl = net.ipv4.tcp_sack=x'
refused "sysctl not of net" 'net\.' -e '/^model/a sysctl = kernel.panic=1'
refused "link" 'link.*accepted' -e '/^model/a link = fast'
refused "a workload on a NIC" 'workload|model' -e '$a [workload w]' -e '$a device = net'
refused "traffic on a TAP" 'wire=' -e '$a [traffic t]' -e '$a device = net' -e '$a count = 5'
refused "a policy that is none" 'accepted.*pin.*drop.*cache.*backup.*ooo' -e 's/= drop/= wait/'

# failed_run NAME WORDS [SED...]: what shows only when it runs.
failed_run() {
	job drop 13 ""
	sed -i "${@:3}" job.ini
	timeout 60 "$INJECT" run job.ini >out 2>err
	[ $? -ne 0 ] && grep -qiE "$2" err && ok "fails: $1" || not_ok "fails: $1" "$(head -n 2 err out)"
}
failed_run "a program that is missing" 'nonesuch' -e 's/^run = iperf3 -s/run = nonesuch -s/'
failed_run "a server that ends early" 'server' -e 's/^run = iperf3 -s.*/run = true/'
check "nothing is left in the end" wait_for 20 is_as_before
finish
