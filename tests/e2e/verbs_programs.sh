#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Debian's own RDMA programs in two guests, with the verbs library preloaded: each says success, and has moved as many bytes
# as the devices, and its work requests one by one, have counted. No RDMA device of the kernel is looked at.
. "$(dirname "$0")/lib.sh"

# Guests are another user.
chmod 755 "$scratch"
library=$scratch/bin/libfaultline-verbs.so
cp "$(dirname "${INJECT_BUILT:-$root/faultline-inject}")/libfaultline-verbs.so" "$library"

# job MODE LEFT RIGHT [PORT]: both programs, LEFT is the server. A device's thread may not get a CPU for the half second that eight
# timeouts of 67 ms are.
job() {
	cat >job.ini <<INI
[machine]
timeout = 60s
[tenant left]
memory = 128M
process = own
program = $2
${4:+program_ready = tcp:$4}
[tenant right]
memory = 128M
process = own
program = $3
[device a]
tenant = left
model = rdma
peer = right/b
link = off
timeout = 10s
mode = $1
[device b]
tenant = right
model = rdma
peer = left/a
link = off
timeout = 10s
mode = $1
INI
}

# run NAME MODE LEFT RIGHT [PORT]: both end with success.
run() {
	rm -f results.csv truth
	job "${@:2}"
	"$INJECT" run job.ini --csv=results.csv --truth truth >run.out 2>run.err
	status=$?
	equal "$1: both programs say success" $status 0
	[ $status -eq 0 ] || tail -n 20 run.out run.err | sed 's/^/    /'
}

# field COLUMN: of the run's result.
field() {
	/usr/bin/python3 -c 'import csv, sys
print(next(csv.DictReader(open("results.csv")))[sys.argv[1]])' "$1"
}

# exits: of both devices in the end: verbs, control's injections, events' injections, and whether each verb has its kick. A kick is sent
# again when there is no answer for 100 ms, so no verb has more of them than that time has room for: the truth log says how long each took.
exits() {
	/usr/bin/python3 -c 'import collections, json
verbs, again, last = collections.Counter(), collections.Counter(), collections.Counter()
for record in map(json.loads, open("truth")):
    device = record["device"]
    if record["what"] == "verb":
        verbs[device] += 1
        again[device] += record["value"] // 100_000_000
    elif record["what"] == "guest_exits":
        last[device, record["code"]] = record["value"]
wrong = [(last[device, 0], count, again[device]) for device, count in verbs.items()
         if not count <= last[device, 0] <= count + again[device]]
total = lambda code: sum(value for (_, of), value in last.items() if of == code)
print(sum(verbs.values()), total(1), total(2), wrong or "kicked")'
}
# work: bytes of the work requests that have succeeded, by the log; those of a receive are its send's.
work() {
	/usr/bin/python3 -c 'import json
print(sum(r["length"] for r in map(json.loads, open("truth"))
          if r["what"] == "work_request" and not r["address"] and r["code"] != 3))'
}
event_injections() { exits | cut -d ' ' -f 3; }

# told PATTERN: how many lines of what the programs printed match.
told() { cat run.out run.err | grep -cE -- "$1"; }

# What a program imports of libibverbs is the library's, under the version that it asks for, or one of the names that need no device.
nm -D --defined-only "$library" | sed -nE 's/.* [TBD] (ibv_|_ibv_)([^@]*)@@?(.*)/\1\2@\3/p' | sort -u >defined
names='ibv_(wc_status_str|node_type_str|port_state_str|event_type_str|read_sysfs_file|rate_to_mbps|rate_to_mult)@'
for program in ibv_devices ibv_devinfo ibv_rc_pingpong ibv_srq_pingpong ib_read_lat ib_write_bw; do
	nm -D --undefined-only "$(command -v $program)" | sed -nE 's/.* (_?ibv_[^@]*@.*)/\1/p' | grep -vE "$names" | sort -u >wanted
	equal "$program finds all that it wants of libibverbs" "$(comm -23 wanted defined)" ""
	check "$program wants something" test -s wanted
done

# Without a host.
for variable in '' 99 x 0; do
	says=$(FAULTLINE_VERBS=$variable LD_PRELOAD=$library ibv_devinfo 2>&1 </dev/null)
	equal "FAULTLINE_VERBS='$variable': one sentence" "$(grep -c '^faultline-verbs: no device' <<<"$says")" 1
	check "FAULTLINE_VERBS='$variable': no device" grep -q 'No IB devices found' <<<"$says"
done
says=$(env -u FAULTLINE_VERBS LD_PRELOAD="$library" ibv_devices 2>&1)
check "FAULTLINE_VERBS is missing: a sentence" grep -q 'no device: FAULTLINE_VERBS is not set' <<<"$says"

# Of both devices, as a whole number.
moved() { field landed_bytes; }

for mode in hybrid passthrough odp; do
	run "$mode, ibv_devinfo" $mode ibv_devices 'ibv_devinfo -v'
	equal "$mode, ibv_devinfo: the port is active" "$(told 'state:.*PORT_ACTIVE')" 1
	equal "$mode, ibv_devices: one device in a guest" "$(told 'faultline0  *.*0*[0-9a-f]{4}')" 1

	run "$mode, ibv_rc_pingpong" $mode ibv_rc_pingpong 'ibv_rc_pingpong localhost' 18515
	equal "$mode, ibv_rc_pingpong: each moved 8192000 bytes" "$(told '8192000 bytes in')" 2
	equal "$mode, ibv_rc_pingpong: the devices have counted as many" "$(moved)" 8192000
	equal "$mode, ibv_rc_pingpong: so have their work requests" "$(work)" 8192000
done

# Who polls has no exit but of control, however much it moves; who waits has one for events.
run "100 iterations" hybrid 'ibv_rc_pingpong -n 100' 'ibv_rc_pingpong -n 100 localhost' 18515
few=$(exits)
check "100 iterations: a kick for each verb, and again where the answer took too long" grep -q '^[1-9].* kicked$' <<<"$few"
run "1000 iterations" hybrid ibv_rc_pingpong 'ibv_rc_pingpong localhost' 18515
equal "ibv_rc_pingpong: ten times as many iterations have as many exits" \
	"$(exits)" "$few"
none=$(event_injections)
run "ibv_rc_pingpong -e" hybrid 'ibv_rc_pingpong -e' 'ibv_rc_pingpong -e localhost' 18515
equal "ibv_rc_pingpong -e: the devices have counted as many" "$(moved)" 8192000
check "ibv_rc_pingpong -e: it is events that wake it" test "$(event_injections)" -gt $((none + 100))
run "ibv_rc_pingpong -N" hybrid 'ibv_rc_pingpong -N' 'ibv_rc_pingpong -N localhost' 18515
equal "ibv_rc_pingpong -N: the devices have counted as many" "$(moved)" 8192000
# Either end stops once it has received 1000: what its peer's four queue pairs had sent by then lands, too.
shared() {
	check "$1: the devices have counted as many" test "$(moved)" -ge 8192000
	check "$1: and no more than was on its way" test "$(moved)" -le $((8192000 + 2 * 4 * 4096))
}
run "ibv_srq_pingpong" hybrid 'ibv_srq_pingpong -q 4' 'ibv_srq_pingpong -q 4 localhost' 18515
shared "ibv_srq_pingpong"
run "ibv_srq_pingpong -e" hybrid 'ibv_srq_pingpong -q 4 -e' 'ibv_srq_pingpong -q 4 -e localhost' 18515
shared "ibv_srq_pingpong -e"
run "ib_read_lat" hybrid 'ib_read_lat -s 4096 -n 1000' 'ib_read_lat -s 4096 -n 1000 localhost' 18515
equal "ib_read_lat: both print a result" "$(told '^(left|right).* 4096 +1000 ')" 1
equal "ib_read_lat: the devices have counted as many" "$(moved)" $((4096 * 1000))
equal "ib_read_lat: so have its work requests" "$(work)" $((4096 * 1000))
run "ib_write_bw" hybrid 'ib_write_bw -n 1000' 'ib_write_bw -n 1000 localhost' 18515
equal "ib_write_bw: the devices have counted as many" "$(moved)" $((65536 * 1000))
# One of a hundred is signaled.
equal "ib_write_bw: so have its work requests" "$(work)" $((65536 * 1000))
equal "ib_write_bw: they are all there" "$(grep -c '"what":"work_request"' truth)" 1000

# Memory as programs treat it while it is registered.
check "a program of our own is built" gcc -o "$scratch/verbs_memory" "$root/tests/e2e/verbs_memory.c" -libverbs
for mode in hybrid passthrough; do
	run "$mode, memory" $mode ibv_devices "$scratch/verbs_memory"
	equal "$mode: a program forks, frees and has static memory, all of it registered" \
		"$(told 'forks 1 frees 1 static 1')" 1
done

# A program that fails is the run's failure, whose sentence has its name.
job hybrid ibv_devices 'ibv_devinfo -d nothing'
"$INJECT" run job.ini >run.out 2>run.err
equal "a program that fails fails the run" $? 1
check "its sentence names the tenant" grep -q 'right' run.err
finish
