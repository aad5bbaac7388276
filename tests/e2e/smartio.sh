#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Hosts as processes, joined by bridges: sixty of them begin, whoever is killed at whatever step leaves nothing behind,
# whoever stops the run gets what there was, and what is wrong in a job is named with its place.
. "$(dirname "$0")/lib.sh"

# KILLS at random instants; `make kills` has more of them.
kills=${KILLS:-13}

cat >kill.ini <<'INI'
; Everybody lends, borrows, shares and passes through, and somebody is killed.
[cluster]
dead = 1s
timeout = 60s
duration = 500ms
[host lender]
iommu = yes
memory = 32M
[host borrower]
iommu = yes
memory = 64M
[host third]
iommu = yes
memory = 32M
[switch middle]
[adapter la]
under = lender
[adapter ba]
under = borrower
[adapter ta]
under = third
[link lc]
between = la middle
[link bc]
between = ba middle
[link tc]
between = ta middle
[device disk]
under = lender
size = 4M
[device second]
under = lender
size = 4M
[device shared]
under = lender
size = 4M
[borrow reader]
host = borrower
device = disk
for = 200ms
retry = 20ms
rate = 2000/s
[borrow other]
host = third
device = disk
at = 100ms
retry = 20ms
rate = 2000/s
[vm guest]
host = borrower
device = second
low = 2M
high = 2M
rate = 1000/s
[manager one]
host = lender
device = shared
[client near]
host = borrower
device = shared
rate = 1000/s
io_timeout = 500ms
[client far]
host = third
device = shared
rate = 1000/s
io_timeout = 500ms
[expect]
who_dies_has_failed = failed >= 0
[inject kill]
action = host_kill
restart = yes
for = 100ms
enabled = no
host = lender
INI
sed -i '/^host = lender$/{N;/\n$/d}' kill.ini
cat >more.ini <<'INI'
; What else may happen to those who are killed: a cable is pulled, a device is wanted back, somebody else dies.
[cluster]
dead = 1s
timeout = 60s
duration = 500ms
[host lender]
iommu = yes
memory = 32M
[host user]
iommu = yes
memory = 64M
[host boss]
iommu = yes
memory = 32M
[switch middle]
[switch inside]
under = lender
[adapter lender-first]
under = inside
[adapter lender-second]
under = lender
[adapter user-first]
under = user
[adapter user-second]
under = user
[adapter boss-only]
under = boss
[link lc]
between = lender-first middle
[link uc]
between = user-first middle
[link bc]
between = boss-only middle
[link second]
between = lender-second user-second
[device disk]
under = lender
size = 4M
[device grown]
under = lender
size = 4M
[device shared]
under = lender
size = 4M
[device gpu]
under = inside
model = accel
size = 4M
[device peer]
under = boss
model = accel
size = 4M
[borrow wanted]
host = user
device = disk
retry = 20ms
rate = 1000/s
[borrow waits]
host = boss
device = disk
at = 50ms
retry = 20ms
rate = 1000/s
[borrow straight]
host = user
device = gpu
window = 16M
retry = 20ms
rate = 500/s
write = 50
block = 64K
peer = peer
[vm guest]
host = user
device = grown
low = 2M
high = 2M
added = 1M
added_at = 10ms
rate = 500/s
[manager one]
host = boss
device = shared
[client both]
host = user
device = shared
adapters = user-first user-second
rate = 1000/s
io_timeout = 500ms
[client plain]
host = boss
device = shared
rate = 1000/s
io_timeout = 500ms
[inject revoke]
action = revoke
device = disk
at = 150ms
for = 100ms
enabled = no
[inject cable]
action = link_flap
adapter = user-first
at = 150ms
for = 100ms
enabled = no
; Until the grace of `revoke` is over, and a busy lender has seen that; less than `dead`.
[inject dark]
action = link_flap
at = 120ms
for = 400ms
enabled = no
[expect]
who_dies_has_failed = failed >= 0
INI
no_process() { ! pgrep -f "$scratch/kill.ini" >/dev/null; }
run_directory_empty() { [ -z "$(ls -A "$FAULTLINE_RUN_DIR" 2>/dev/null | grep -v lock)" ]; }

check "a job of all parts is right" "$INJECT" check kill.ini
check "and runs" "$INJECT" run kill.ini

# docs/smartio.md: its first job, its cable that is pulled, and each step and action.
page=$root/docs/smartio.md
sed -n '/^    ; lent.ini/,/^As root/s/^    //p' "$page" >lent.ini
check "docs: the first job" "$INJECT" run lent.ini
{ cat lent.ini && sed -n '/^    \[inject pulled\]/,/^The borrow/s/^    //p' "$page"; } >pulled.ini
"$INJECT" run pulled.ini --csv=pulled.csv >/dev/null 2>&1
equal "docs: the pulled cable: exit code" $? 0
check "docs: the pulled cable: what was lost" /usr/bin/python3 -c 'import csv
row = next(csv.DictReader(open("pulled.csv"))); assert int(row["lost_writes"]) > 0 and int(row["errors"]) == 0, row'
mapfile -t told < <(sed -n 's/^CLUSTER_STEP([A-Z_]*, "\([a-z_]*\)").*/\1/p' "$root/bpf/cluster_steps.def"
	"$INJECT" help --hosts inject.action | tr -d ' \n' | sed 's/.*choice:\([^;]*\);.*/\1/' | tr , '\n')
check "docs: ${#told[@]} steps and actions are more than fifty" [ "${#told[@]}" -gt 50 ]
equal "docs: each is named" "$(for name in "${told[@]}"; do grep -q "\`$name\`" "$page" || echo "$name"; done)" ""

# Sixty hosts and thirty clients.
cat >sixty.ini <<'INI'
[host h]
count = 60
memory = 8M
[adapter a]
count = 60
under = h%
[switch s]
[link c]
count = 60
between = a% s
[device disk]
under = h0
size = 4M
[manager m]
host = h0
device = disk
[client reader]
count = 30
host = h%
device = disk
ios = 11
INI
check "sixty hosts and thirty clients begin and end" "$INJECT" run sixty.ini --csv=sixty.csv
equal "with every I/O" "$(/usr/bin/python3 -c 'import csv; print(next(csv.DictReader(open("sixty.csv")))["ios"])')" 330

# Every step of every state machine, and random instants.
/usr/bin/python3 "$root/tests/e2e/smartio.py" "$INJECT" kill.ini more.ini steps >verdict 2>run.err
adopt "killed at a step"
/usr/bin/python3 "$root/tests/e2e/smartio.py" "$INJECT" kill.ini more.ini random "$kills" >verdict 2>run.err
adopt "killed at a random instant"

# A manager that dies at its first admin command, while clients have mapped their segments in its domains.
sed 's/^memory = .*/&\niommu = yes/; s/^pairs_again = .*/pairs_again = pairs >= 3 and pairs <= 6/; /^at = /d' \
	"$root/injectors/jobs/smartio-failover-manager.ini" >first.ini
# Which client maps when its domains go is by chance: three lives.
for life in first second third; do
	check "a manager killed at its first admin command, IOMMUs on: all goes on ($life)" \
		"$INJECT" run first.ini --set dies.step=manager_admin --set dies.for=50ms \
		--set cluster.timeout=20s
done

# A lender that dies under a borrow that is tried once, or under a guest: a failed user each, and why.
cat >dead.ini <<'INI'
[cluster]
dead = 300ms
[host lender]
memory = 16M
iommu = yes
[device disk]
under = lender
size = 4M
[adapter la]
under = lender
[host user]
memory = 32M
iommu = yes
[adapter ua]
under = user
[link cable]
between = la ua
[inject kill]
action = host_kill
host = lender
at = 100ms
[expect]
told = failed == 1 and killed == 1
INI
for who in borrow vm; do
	{ cat dead.ini && printf '[%s one]\nhost = user\ndevice = disk\nrate = 1000\nios = 3001\n' $who; } >$who.ini
	"$INJECT" run $who.ini >told 2>&1
	equal "a lender dies under a [$who]: one failed user" $? 0
	check "a lender dies under a [$who]: with its sentence" grep -q '^Failed: one: .*disk' told
done

# The one that has begun them all, and the one that waits for it: nobody outlives them.
for whom in parent guardian; do
	"$INJECT" run "$scratch/kill.ini" --set cluster.duration=60s >/dev/null 2>&1 &
	guardian=$!
	wait_for 10 bash -c "ls $FAULTLINE_RUN_DIR/*.machine"
	case $whom in
	parent) kill -KILL "$(pgrep -o -P $guardian)" ;;
	guardian) kill -KILL $guardian ;;
	esac
	wait $guardian 2>/dev/null
	check "the $whom was killed: nobody is left" wait_for 10 no_process
done
"$INJECT" recover >/dev/null
check "and no entry of a machine" run_directory_empty

# A signal ends all in order, with results of what there was.
"$INJECT" run "$scratch/kill.ini" --set cluster.duration=60s --csv=stopped.csv >/dev/null 2>stopped.err &
guardian=$!
wait_for 10 bash -c "ls $FAULTLINE_RUN_DIR/*.machine"
sleep 0.3
kill -INT $guardian
wait $guardian
equal "SIGINT: exit code" $? 7
check "SIGINT: results of what there was" /usr/bin/python3 -c \
	'import csv; row = next(csv.DictReader(open("stopped.csv"))); exit(not int(row["ios"]) or row["windows_left"] != "0")'
check "SIGINT: nobody is left" no_process

# What is wrong is named with its place and what is accepted.
wrong() { # NAME EXPECTED SED
	sed "$3" kill.ini >wrong.ini
	"$INJECT" check wrong.ini >wrong.out 2>&1
	equal "$1: exit code" $? 3
	check "$1: told" grep -qE "wrong.ini:[0-9]+: .*$2" wrong.out
}
wrong "no such host" 'host=nowhere: accepted: a \[host\]: lender, borrower, third' '0,/^host = borrower/s//host = nowhere/'
wrong "no such device" 'device=nothing: accepted: a \[device\]: disk' 's/^device = disk/device = nothing/'
wrong "no such step" 'step=dance: accepted: a step' 's/^action = host_kill/&\nstep = dance/'
wrong "no such action" 'action=dance: accepted: link_down' 's/^action = host_kill/action = dance/'
wrong "memory that is no multiple" 'memory=3M' '0,/^memory = 32M/s//memory = 3M/'
wrong "a switch that is not there" 'between=la nowhere' 's/^between = la middle/between = la nowhere/'
wrong "another's adapter" 'adapters=ta: accepted: instead of ta, an adapter of host borrower' '/^\[borrow reader/a adapters = ta'
wrong "too many functions" 'function=5: accepted: 0 to 0' '/^\[borrow reader/a function = 5'
wrong "a count that is none" 'count=many: accepted: 0 to 160' '/^\[client near/a count = many'
wrong "nobody to manage" 'device=shared: accepted: one that a \[manager\]' '/^\[manager one/,/^device/d'
wrong "I/Os behind the disk's end" 'region_start=1G: accepted: up to 4190208' '/^\[borrow reader/a region = 64M\nregion_start = 1G'
wrong "a region larger than the disk" 'region=64M: accepted: 4096, one block, to 4194304' '/^\[borrow reader/a region = 64M'
wrong "a region smaller than a block" 'region=512: accepted: 4096' '/^\[borrow reader/a region = 512'
wrong "a window smaller than a block" 'window=64K: accepted: 1052672' '/^\[borrow reader/a window = 64K\nblock = 1M'
wrong "a window larger than a BAR" 'window=64G: accepted: 8192' '/^\[borrow reader/a window = 64G'
wrong "I/Os that no host has memory for" 'block=1M: accepted: less, or a lower depth: depth=255' '/^\[borrow reader/a block = 1M\ndepth = 255'
wrong "a client's I/Os, likewise" 'block=1M: accepted: less, or a lower depth: depth=63' '/^\[client far/a block = 1M\ndepth = 63'
wrong "a share smaller than a block" 'block=1M: accepted: up to 524288, the share of each of 2 users of disk' \
	'0,/^size = 4M/s//size = 1M/; /^\[borrow reader/a block = 1M'
wrong "windows smaller than a page" 'windows=65536: accepted: up to 256' '/^\[adapter la/a windows = 65536\nbar = 1M'
wrong "a BAR that is not for below 4 GiB" 'bar=4G: accepted: less, or bar_high=yes' '/^\[adapter la/a bar = 4G\nbar_high = no'
wrong "no way to a device" 'device=disk: .* no way from third to lender' '/^\[adapter ta/,/^under/d; /^\[link tc/,/^between/d'
wrong "somebody killed by two names" 'user=guest: accepted: host= or user=' 's/^action = host_kill/&\nuser = guest/'
wrong "an adapter twice" 'adapters=ba ba: accepted: each once' '/^\[client near/a adapters = ba ba'
wrong "a client that asks for too many" 'depth=64: accepted: 1 to 63' '/^\[client near/a depth = 64'
wrong "a guest larger than its host" 'low=2G: accepted: with high= up to 67108864' '/^\[vm guest/,/^rate/s/^low = .*/low = 2G/'

# A user that could do nothing is an error of the run, unless the job judges it; an injection that did nothing is told.
{ sed '/^\[borrow other/,$d' kill.ini && printf 'window = 8K\nios = 11\n'; } >narrow.ini
"$INJECT" run narrow.ini >narrow.out 2>&1
equal "a window too small for a driver's queues: exit code" $? 1
check "and why" grep -q 'reader: disk: .* do not fit into its DMA window of 8192' narrow.out
printf '[expect]\nit_fails = failed == 1\n' >>narrow.ini
check "unless it is expected" "$INJECT" run narrow.ini
{ sed '/^\[borrow other/,$d' kill.ini && printf 'ios = 11\n[inject idle]\naction = host_kill\nhost = borrower\nstep = guest_bar\n'; } >idle.ini
"$INJECT" run idle.ini >idle.out 2>&1
check "an injection whose step never comes" grep -q '^Never fired: idle' idle.out
finish
