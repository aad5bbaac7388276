#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A store of a guest whose memory is limited: as memcached's own client and as odd ones see it, refused when it
# would pin more than there is, and stopped in the middle.
. "$(dirname "$0")/lib.sh"

# cells_of CSV COLUMN...: of its one row.
cells_of() {
	local csv=$1 column
	shift
	for column; do cell_of "$column" "$csv"; done | tr '\n' ' '
}

# job [KEY OF THE STORE]...
job() {
	cat >job.ini <<-INI
		[machine]
		memory_limit = 8M
		timeout = 60s
		[tenant vm]
		memory = 16M
		count = 2
		[device net]
		model = nic
		queue_depth = 32
		rx_buffer = 2K
		[kvstore kv]
		items = 1021
		working_set = 997
		clients = 3
		duration = 1s
	INI
	printf '%s\n' "$@" >>job.ini
}

cat >odd.sh <<'SH'
exec 3<>/dev/tcp/$1/11211 || exit 1
printf 'version\r\nget never\r\nset a 5 0 3\r\nxyz\r\nget a\r\nset a 6 0 2 noreply\r\nuv\r\nget a\r\nset big 0 0 5000\r\n%5000d\r\nget big\r\n' 7 >&3
printf 'get\r\nget a b\r\nset b x 0 3\r\nset c 0 0 2\r\nabcdefg\r\nnonsense\r\n\r\nget a\r\nquit\r\n' >&3
cat <&3 | tr -d '\r' >"$2"
SH
cat >wanted <<'TEXT'
VERSION faultline
END
STORED
VALUE a 5 3
xyz
END
VALUE a 6 2
uv
END
SERVER_ERROR object too large for cache
END
ERROR
ERROR
CLIENT_ERROR bad command line format
CLIENT_ERROR bad data chunk
ERROR
ERROR
ERROR
VALUE a 6 2
uv
END
TEXT
chmod 755 . && touch said && chmod 666 said
job '[program odd]' 'device = vm0/net' 'side = wire' 'role = load' "run = bash $PWD/odd.sh {guest} $PWD/said"
"$INJECT" run job.ini --csv=odd.csv >out 2>err
equal "a run with an odd client ends well: $(tail -n 1 err)" $? 0
check "each command is answered" diff wanted said
equal "all stores started, every get hit, nothing broken" \
	"$(cells_of odd.csv instances instances_refused hit_rate mismatches errors violations)" \
	"2 0 1 0 0 0 "
# 2 x 997 items of a page are 7.8 MiB, of 8 with rings and buffers.
check "what does not fit left" test "$(cell_of reclaimed odd.csv)" -gt 0
check "no more was present than the limit and a little" test "$(cell_of present_most_bytes odd.csv)" -le $((9 << 20))
check "the run says what holds it" grep -q '^memory_limit: held by' err

if command -v memcaslap >/dev/null; then
	job '[program memcaslap]' 'device = vm0/net' 'side = wire' 'role = load' 'result = memcaslap' \
		"run = sh -c 'printf \"key\\n64 64 1\\nvalue\\n1024 1024 1\\ncmd\\n0 0.1\\n1 0.9\\n\" >/tmp/mix && exec memcaslap -F /tmp/mix -s {guest}:11211 -x 1009 -T 1 -c 4'"
	# Its own keys need places, too.
	"$INJECT" run job.ini --csv=slap.csv --set kv.items=2039 >out 2>err
	equal "memcaslap is served: $(tail -n 1 err)" $? 0
	equal "and the store's own clients are" "$(cell_of hit_rate slap.csv) $(cell_of mismatches slap.csv)" "1 0"
else
	skip "memcaslap is served" "no memcaslap"
fi

job 'memory = pin'
"$INJECT" run job.ini --csv=pin.csv >out 2>err
equal "a run of which one store does not fit ends well" $? 0
equal "one started" "$(cell_of instances pin.csv) $(cell_of instances_refused pin.csv)" "1 1"
check "with both numbers" grep -q '^vm1/net: store kv does not start: tenant vm1 would pin 4084 KiB, and 3596 KiB are left of what memory_limit=8192 KiB' err
"$INJECT" run job.ini --set net.rx_policy=pin --set net.queue_depth=4096 --set vm.memory=32M >out 2>err
equal "a NIC that cannot pin its rings ends the run" $? 1
check "with both numbers, too" grep -q 'would pin [0-9]* KiB, and [0-9]* KiB are left' err

# Of three pairs of devices whose ranks pin 4 MB at each end a limit of 16 MB has room for one.
{
	printf '[machine]\nmemory_limit = 16M\ntimeout = 60s\n[tenant vm]\ncount = 6\nmemory = 16M\n'
	for pair in 0 1 2; do
		left=$((2 * pair)) right=$((2 * pair + 1))
		printf '[device hca%d]\nmodel = rdma\ntenant = vm%d\npeer = vm%d/hca%d\n' $left $left $right $right
		printf '[device hca%d]\nmodel = rdma\ntenant = vm%d\npeer = vm%d/hca%d\n' $right $right $left $left
		printf '[ranks r%d]\ndevice = vm%d/hca%d\ncount = 2\npattern = sendrecv\nsizes = 64K\n' $pair $left $left
		printf 'memory = pin\nbuffer_bytes = 4M\noff_cache = yes\nverify = yes\noperations = 101\n'
	done
	printf '[inject cold]\naction = evict\ndevice = vm2/hca2\nwhat = random\nrate = 20/s\nduration = 10s\n'
} >ranks.ini
of_ranks() { cells_of "$1" instances instances_refused operations errors mismatches violations; }
"$INJECT" run ranks.ini --csv=ranks-pin.csv >out 2>err
equal "a run of which ranks do not fit ends well" $? 0
equal "those of one pair start, and do all that they have to do" "$(of_ranks ranks-pin.csv)" "1 2 202 0 0 0 "
equal "the others say both numbers" \
	"$(grep -cE '^\[ranks r[0-9]\] does not start: memory=pin: tenant vm[0-9] would pin 4096 KiB, and [0-9]* KiB are left of what memory_limit=16384 KiB' err)" 2
"$INJECT" run ranks.ini --set r0.memory=demand --set r1.memory=demand --set r2.memory=demand --csv=ranks-demand.csv >out 2>err
equal "on demand all start: $(tail -n 1 err)" "$? $(of_ranks ranks-demand.csv)" "0 3 0 606 0 0 0 "
check "with no more than the limit and a little" test "$(cell_of present_most_bytes ranks-demand.csv)" -le $((17 << 20))

gone() { ! pgrep -f "$PWD/job.ini" >/dev/null; }
job 'memory = demand'
for signal in INT KILL; do
	"$INJECT" run "$PWD/job.ini" --set kv.duration=600s --set machine.timeout=700s >/dev/null 2>&1 &
	guardian=$!
	wait_for 20 sh -c "ls $FAULTLINE_RUN_DIR/*.machine >/dev/null 2>&1"
	sleep 0.3
	kill -$signal $guardian
	wait $guardian 2>/dev/null
	equal "exit code after SIG$signal" $? $([ $signal = INT ] && echo 7 || echo 137)
	wait_for 10 gone
	equal "SIG$signal leaves no process" $? 0
done
finish
