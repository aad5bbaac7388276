#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of a job: when they run, how a run fails because of them, and that none of them is left after any end.
. "$(dirname "$0")/lib.sh"

if [ ! -c /dev/net/tun ]; then
	skip "programs in networks" "there is no /dev/net/tun"
	finish
fi

nic='[tenant vm]
memory = 4M
[device net]
model = nic
queue_depth = 64'
sleeper="sleep 7$$" # nobody else's

# section NAME SIDE ROLE COMMAND [LINE...]
section() {
	printf '[program %s]\nside = %s\nrole = %s\nrun = %s\n' "$1" "$2" "$3" "$4"
	shift 4
	printf '%s\n' "$@"
}
left() { pgrep -f "^$sleeper|$scratch/" | grep -vx $$ | grep -q .; }
nothing_left() { ! left; }
no_tap_on_the_host() { ! ip -o link show type tun 2>/dev/null | grep -q ': net[:@]'; }
running() { [ "$(pgrep -fc "^$sleeper")" = "$1" ]; }

# fails NAME SENTENCE [STATUS]: job.ini ends with that status, or 1, and one sentence, and leaves nothing.
fails() {
	local status
	timeout 60 "$INJECT" run job.ini >out 2>err
	status=$?
	equal "$1: status" $status "${3:-1}"
	equal "$1: one sentence" "$(wc -l <err)" 1
	check "$1: its sentence ($(cat err))" grep -q "$2" err
	check "$1: nothing is left" nothing_left
}

{
	echo "$nic"
	section server guest server "$sleeper"
	section load wire load "/usr/bin/python3 -c 'import sys; print(\"spoken\"); sys.stderr.write(\"one\\ntwo words\\n\"); sys.exit(3)'"
} >job.ini
fails "a load that fails" "program load (/usr/bin/python3.*) ended with status 3: two words"

{
	echo "$nic"
	section server guest server "$sleeper" 'ready = tcp:5201' 'ready_timeout = 300ms'
	section load wire load true
} >job.ini
fails "a server that is never ready" "program server ($sleeper) is not ready: nobody listens at tcp:5201 .* after 300"

{
	echo "$nic"
	section server guest server true
	section load wire load "$sleeper"
} >job.ini
fails "a server that ends" "program server (true) ended with status 0 before it was stopped"

{
	printf '[machine]\ntimeout = 1s\n'
	echo "$nic"
	section load wire load "$sleeper"
} >job.ini
fails "a load that does not end" "program load ($sleeper) is not done after 1.00s; accepted: .*machine.timeout"

{
	echo "$nic"
	section load wire load "/no/such/program -x"
} >job.ini
fails "a program that is missing" "job.ini:6: program load: /no/such/program: no such program; install it" 3

# The virtual machine at the other end of a program's wire dies: that is told at once, not after the program, which never ends.
printf '#!/bin/sh\nsleep 1\nkill -KILL $$\n' >dies
chmod +x dies
{
	printf '[tenant dies]\nbackend = vm\nmemory = 4M\nqemu = %s/dies\n' "$PWD"
	printf '[device net]\nmodel = nic\nwire = tap\nqueue_depth = 256\n'
	section load wire load "$sleeper"
} >job.ini
fails "a virtual machine that dies" "tenant dies: QEMU .* ended by SIGKILL"

# A duration ends all of its programs, also those that no longer belong to a shell and hear no signal.
{
	echo "$nic"
	section server guest server "$sleeper"
	section load wire load "setsid sh -c 'trap \"\" TERM INT HUP; setsid $sleeper & wait; $sleeper'" 'duration = 700ms'
} >job.ini
timeout 60 "$INJECT" run job.ini >out 2>err
equal "a duration: status" "$? $(cat err)" "0 "
check "a duration: nothing is left" nothing_left

# As on a host that has no such device: another in its place, and none at all.
for with in /dev/null nothing; do
	unshare --mount sh -c 'if [ $0 = nothing ]; then mount -t tmpfs none /dev/net; else mount --bind $0 /dev/net/tun; fi
		exec timeout 60 "$@"' $with "$INJECT" run job.ini >out 2>err
	status=$?
	equal "no /dev/net/tun ($with): status" $status 4
	check "no /dev/net/tun ($with): its sentence ($(cat err))" grep -q '/dev/net/tun: .*; a TAP needs it: modprobe tun' err
	equal "no /dev/net/tun ($with): one sentence" "$(wc -l <err)" 1
	check "no /dev/net/tun ($with): nothing is left" nothing_left
done

# What a program was to say and did not is missing in the table; why is told once.
{
	echo "$nic"
	section load wire load 'echo nothing' 'result = iperf3'
	printf '[sweep]\nsize = net.rx_buffer: 2K, 4K\n'
} >job.ini
"$INJECT" run job.ini --csv=results.csv >out 2>err
equal "a load without a result: status" $? 0
equal "a load without a result: told once" "$(cat out err | grep -c 'No result of a program at 2 of 2 points: load: ')" 1
equal "a load without a result: not known" \
	"$(python3 -c 'import csv; print([row["goodput_bytes_per_s"] + row["requests"] for row in csv.DictReader(open("results.csv"))])')" \
	"['', '']"

# The plan has them, by what they run.
"$INJECT" run job.ini --dry-run >out
check "the plan says what runs" grep -q '^  vm/net: runs load on its wire side as load: echo nothing$' out

# Ends of every kind, while a server and a load run. What they listen at is there a second time, in another network.
{
	echo "$nic"
	section server guest server "$sleeper"
	section load wire load "$sleeper"
} >job.ini
# start: job.ini in the background, until both run.
start() {
	"$INJECT" run job.ini >out 2>err &
	campaign=$!
	wait_for 10 running 2 || not_ok "both programs run" "$(cat err)"
	machine=$(pgrep -P $campaign)
	check "no TAP on the host" no_tap_on_the_host
}
for signal in INT TERM HUP; do
	start
	began=$EPOCHREALTIME
	kill -$signal $campaign
	wait $campaign 2>/dev/null
	equal "SIG$signal: status" $? 7
	check "SIG$signal: nothing is left" nothing_left
	check "SIG$signal: programs end at once" test $((${EPOCHREALTIME/./} - ${began/./})) -lt 1500000
done
start
kill -KILL $campaign
wait $campaign 2>/dev/null
check "a killed campaign leaves nothing" wait_for 10 nothing_left
start
kill -KILL "$machine"
wait $campaign
equal "a killed machine: status" $? 1
check "a killed machine leaves nothing" wait_for 10 nothing_left

# Nothing of the host is other than before, whenever a campaign is killed: networks, interfaces, settings, processes.
of_host() {
	sysctl -a 2>/dev/null | grep '^net\.' | grep -vE '^net\.netfilter\.nf_conntrack_count|_file_entries|\.random'
	ip -o link
	ip netns
	namespaces_of "^$sleeper|$scratch/"
}
{
	echo "$nic"
	printf 'sysctl = net.ipv4.tcp_rmem=4096 32768 32768, net.core.somaxconn=77\nlink = 10M\ntcp = classic\n'
	section server guest server "$sleeper"
	section load wire load "$sleeper"
} >job.ini
of_host >before
start
of_host | grep -v '^net:\[' >during
grep -v '^net:\[' before >host
check "while it runs the host is as before" cmp host during
kill -KILL $campaign
wait $campaign 2>/dev/null
same_host() { of_host >after && cmp -s before after && nothing_left; }
differs=
for instant in 0 30 70 110 160 220 290 400 600 900; do
	"$INJECT" run job.ini >out 2>err &
	campaign=$!
	sleep 0.$(printf '%03d' $instant)
	kill -KILL $campaign
	wait $campaign 2>/dev/null
	wait_for 10 same_host || differs+=" $instant ms: $(diff before after | head -n 3)"
done
equal "killed at ten instants: the host is as before" "$differs" ""

# A server that waits to be ready is told to stop.
{
	echo "$nic"
	section server guest server "$sleeper" 'ready = tcp:5201' 'ready_timeout = 1h'
	section load wire load true
} >job.ini
"$INJECT" run job.ini >out 2>err &
campaign=$!
wait_for 10 running 1 || not_ok "the server runs" "$(cat err)"
began=$EPOCHREALTIME
kill -TERM $campaign
wait $campaign
equal "stopped before it is ready: status" $? 7
check "stopped before it is ready: at once" test $((${EPOCHREALTIME/./} - ${began/./})) -lt 1500000
check "stopped before it is ready: nothing is left" nothing_left

# Two campaigns at once: the same addresses, the same port, and neither sees the other.
cat >talk.py <<'PY'
import socket, sys
if sys.argv[1] == "serve":
    s = socket.create_server((sys.argv[2], 5201))
    while True:
        c, _ = s.accept()
        c.sendall(sys.argv[3].encode())
        c.close()
with socket.create_connection((sys.argv[2], 5201)) as c:
    sys.exit(c.makefile().read() != sys.argv[3])
PY
talk=$(sed 's/"/\\x22/g; s/$/\\n/' talk.py | tr -d '\n')
for name in one two; do
	{
		echo "$nic"
		section server guest server "/usr/bin/python3 -c 'exec(\"$talk\")' serve {guest} $name" 'ready = tcp:5201'
		section load wire load "/usr/bin/python3 -c 'exec(\"$talk\")' ask {guest} $name"
	} >"$name.ini"
	"$INJECT" run "$name.ini" >"$name.out" 2>"$name.err" &
	pids[${#pids[@]}]=$!
done
for i in 0 1; do
	wait "${pids[$i]}"
	equal "two campaigns at once: number $i" "$? $(cat one.err two.err)" "0 "
done
check "two campaigns at once: nothing is left" nothing_left

finish
