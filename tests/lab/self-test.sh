#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The lab itself: scenarios that go wrong in every way are found out, nothing is left of a runner
# that is killed, two at once do not disturb each other, and a cache that cannot be filled says so.
. "$(dirname "$0")/../e2e/lib.sh"
exec 2>&1
lab=$root/tests/lab
export TMPDIR=$scratch

"$lab/lab.py" run --once -j 1 --scenarios "$lab/self" >all.log 2>&1 &
all=$!
# One module that cannot be built is a failure of those that need it, and of no others.
"$lab/lab.py" run --once -j 1 --scenarios "$lab/self" -s a_pass -s k_module >one.log 2>&1 &
one=$!

# A runner that is killed takes its guest with it.
"$lab/lab.py" run --once -j 1 --scenarios "$lab/self" -s e_hangs >killed.log 2>&1 &
runner=$!
guest_runs() { pgrep -P $runner qemu; }
if wait_for 30 guest_runs; then
	guest=$(guest_runs)
	kill -KILL $runner
	guest_gone() { ! kill -0 "$guest"; }
	check "a killed runner leaves no guest" wait_for 5 guest_gone
else
	kill -KILL $runner
	not_ok "a guest to leave" "$(tail -n 3 killed.log)"
fi
wait $runner

# Archives that cannot be had: nothing listens, nothing is signed, no room.
fetch() { FAULTLINE_LAB_CACHE=$1 FAULTLINE_LAB_ARCHIVE=$2 "$lab/kernels.sh" image 6.12 >fetch.out 2>&1; }
fetch "$scratch/cache1" http://127.0.0.1:9/debian
equal "an archive out of reach is no failure" $? 75
check "and is named" grep -q '127.0.0.1:9/debian bookworm-backports' fetch.out
mkdir -p archive/dists/bookworm-backports/main/binary-amd64
: >archive/dists/bookworm-backports/main/binary-amd64/Packages
printf 'Suite: bookworm-backports\nCodename: bookworm-backports\nComponents: main\nArchitectures: amd64\nDate: %s\n' \
	"$(date -uR)" >archive/dists/bookworm-backports/Release
fetch "$scratch/cache2" "file:$scratch/archive"
equal "an archive without a signature is refused" $? 75
check "and why" grep -qi 'not signed' fetch.out
if mkdir full && mount -t tmpfs -o size=64k none full 2>/dev/null; then
	fetch "$scratch/full" "http://127.0.0.1:9/debian"
	equal "a full disk is no crash" $? 75
	umount full
else
	skip "a full disk is no crash" "no tmpfs may be mounted"
fi
FAULTLINE_LAB_CACHE=$scratch/cache1 FAULTLINE_LAB_ARCHIVE=http://127.0.0.1:9/debian \
	"$lab/lab.py" run -k 6.12 -s smoke >unreachable.log 2>&1
equal "a kernel that cannot be fetched is skipped" $? 0
check "and says so" grep -q '^skip - kernel 6.12: apt cannot read.*(tried again: .*Could not connect' unreachable.log
FAULTLINE_LAB_CACHE=$scratch/cache2 FAULTLINE_LAB_ARCHIVE=file:$scratch/archive \
	"$lab/lab.py" run -k 6.12 -s smoke >unsigned.log 2>&1
equal "an archive that answers, badly, is a failure" $? 1
check "with what it answered" grep -q '^not ok - kernel 6.12: its reason does not hold .*not signed' unsigned.log
# What answers 503 is either the archive itself or a proxy that does not reach it.
python3 - >port <<'PY' &
import http.server

class Unavailable(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_CONNECT = do_GET

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unavailable)
print(server.server_port, flush=True)
server.serve_forever()
PY
server=$!
check "a server answers" wait_for 5 test -s port
read -r port <port
silent() { env no_proxy= "$@" "$lab/kernels.sh" silent 6.12 >silent.out 2>&1; }
silent FAULTLINE_LAB_ARCHIVE="http://127.0.0.1:$port/debian"
equal "an archive that answers 503 is not silent" $? 1
check "and its answer is told" grep -q ' 503 ' silent.out
for scheme in http https; do
	silent FAULTLINE_LAB_ARCHIVE=$scheme://archive.invalid/debian ${scheme}_proxy="http://127.0.0.1:$port"
	equal "one that a proxy does not reach is ($scheme)" $? 0
	check "and the proxy's answer is told ($scheme)" grep -q ' 503 ' silent.out
done
kill $server
wait $server 2>/dev/null

# A tool that is missing is told last.
mkdir tools
ln -s /usr/bin/* /usr/sbin/* tools/ 2>/dev/null
rm tools/patchelf
PATH=$scratch/tools FAULTLINE_LAB_ARCHIVE=http://127.0.0.1:9/debian "$lab/modules.sh" new >module.out 2>module.err
equal "a missing tool is a failure" $? 1
equal "which its last line names" "$(tail -n 1 module.err)" \
	"lab: no patchelf on this host: tests/setup.sh lab installs it"

# Two that fetch the same; one is killed in the middle.
export FAULTLINE_LAB_CACHE=$scratch/cache3
setsid "$lab/kernels.sh" packages bookworm hello >/dev/null 2>&1 &
first=$!
"$lab/kernels.sh" packages bookworm hello >fetch.path 2>fetch.out &
second=$!
sleep 1
kill -KILL -- -$first
wait $second
status=$?
unset FAULTLINE_LAB_CACHE
if [ $status -eq 75 ]; then
	skip "what a killed run was fetching is fetched" "$(cat fetch.out)"
else
	check "what a killed run was fetching is fetched" test -x "$(cat fetch.path)/usr/bin/hello"
	equal "and nothing half" "$(find cache3/packages -name '*.tmp')" ""
fi

# Requests and scenarios that make no sense.
"$lab/lab.py" run -s nonsense >wrong.log 2>&1
equal "a scenario that is not there" $? 2
check "those that are" grep -q 'one of .*smoke' wrong.log
mkdir wrong && printf '# SPDX-License-Identifier: GPL-2.0\n# memory: much\nguest() { :; }\n' >wrong/wrong.sh
"$lab/lab.py" run --scenarios wrong >wrong.log 2>&1
equal "a scenario that cannot be understood" $? 2
check "what it says" grep -q "memory: 'much' is not a positive number" wrong.log
printf '# SPDX-License-Identifier: GPL-2.0\n# time limit: 240\nguest() { :; }\n' >wrong/wrong.sh
"$lab/lab.py" run --scenarios wrong >wrong.log 2>&1
equal "a key that nobody reads" $? 2
check "and which there are" grep -q "no key 'time limit': one of kernels, sample, iommu" wrong.log
printf '# SPDX-License-Identifier: GPL-2.0\n# disabled: iommu_map\nworkload() { :; }\n' >wrong/wrong.sh
printf 'map iommu_map kernel -  kernel\n' >wrong/wrong.stages
"$lab/lab.py" run --scenarios wrong >wrong.log 2>&1
equal "a probe left out in vain" $? 2
check "and where" grep -q "'iommu_map' is no probe that its table shows on 6.12" wrong.log

wait $one
equal "a module that cannot be built fails the run" $? 1
check "and the scenario that needs it, with the reason" \
	grep -q "^not ok - 6.1 k_module: its modules are built: no_such_module .*: no module 'no_such_module'" one.log
check "but no other: beside another run, too, a good one passes" grep -q '^ok - 6.1 a_pass: one is one' one.log
equal "and its checks are counted" "$(tail -n 1 one.log)" "lab: 4 passed, 1 failed, 0 skipped, 0 retried"
wait $all
equal "with bad ones the run fails" $? 1
said() { check "$1" grep -qE -- "$2" all.log; }
said "a failed check" "^not ok - 6.1 b_fail: one is two: got '1', expected '2'"
said "a scenario that checks nothing" "^not ok - 6.1 c_silent: checks something"
said "a scenario that leaves early" "^not ok - 6.1 d_exits: runs to its end: exit 3"
said "and what it hangs in" "sleep 1000 , in .*nanosleep"
said "a scenario that hangs" "^not ok - 6.1 e_hangs: ends by itself: nothing ran for 4 s"
said "a scenario that bash stops" "^not ok - 6.1 m_stops: the scenario runs to its end"
said "its checks on the host, too" "^not ok - 6.1 m_stops: its checks on the host run to their end"
said "a scenario that spins" "^not ok - 6.1 l_spins: ends: it used more than 5 s of CPU time in l_spins"
said "a warning of the kernel" "^not ok - 6.1 f_warns: the kernel has no complaints"
said "programs that were left attached" "^ok - 6.1 g_leaves: nothing is left attached"
said "a stage another produced" "^not ok - 6.1 h_stages: stage page_fault .plain.: produced by 'kernel'"
said "a stage nobody produced" "^not ok - 6.1 h_stages: stage map .plain.: produced by '-'"
said "a guest that dies" "^not ok - 6.1 i_panics: ends"
said "its last words" "console \| .*sysrq"
said "the scenario after it, in another guest" "^ok - 6.1 j_after: programs of the scenario before"
said "what came out of that" "^ok - 6.1 j_after: what came out"
if grep -q "trap divide" all.log; then
	not_ok "an expected message is none" "$(grep 'trap divide' all.log)"
else
	ok "an expected message is none"
fi
guests_left() { pgrep -f "$scratch.*results.tar"; }
if guests_left >/dev/null; then
	not_ok "no guest is left" "$(guests_left)"
else
	ok "no guest is left"
fi
[ $failed -gt 0 ] && sed 's/^/    | /' all.log
finish
