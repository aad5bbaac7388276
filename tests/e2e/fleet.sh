#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# faultline fleet as one calls it: the shipped jobs hold and can fail, sums are those of the rows, output is the same
# to the byte on any number of threads, recordings have the same footprints, and what is wrong is named.
. "$(dirname "$0")/lib.sh"
reference=$root/tests/e2e/fleet.py

fleet() {
	local job=$1
	shift
	"$FAULTLINE" fleet "$root/tools/jobs/$job.ini" --short "$@"
}
for job in "$root"/tools/jobs/fleet-*.ini; do
	check "$(basename "$job"): every expectation holds" fleet "$(basename "$job" .ini)"
done
# Expectations can fail: what each figure is about, taken away.
broken() {
	local name=$1
	shift
	fleet "$name" "$@" >broken.out 2>&1
	equal "$name with $*: an expectation fails" $? 6
}
broken fleet-unprotected --set fleet.overcommit=0 --set production.count=11
broken fleet-unprotected --set production.nic_rate=100
broken fleet-adp --set production.block_sessions=0 --set production.count=3 --set protector.inactive=1%
broken fleet-adp --set protector.promote_after=1h --set production.count=11
broken fleet-footprints --set traced.nic_most=6%
broken fleet-block --set storage.block_growth=20%
broken fleet-block --set storage.block_hot=0
broken fleet-block --set protector.lru=30%
broken fleet-nic --set network.nic_gap=20m
broken fleet-nic --set network.nic_drift=20%
broken fleet-vms --set protector.inactive=1%
broken fleet-vms --set storage.block_hot=0 --set network.nic_gap=20m
broken fleet-blocks-over-time --set network.nic_gap=10s
broken fleet-blocks-over-time --set protector.lru=1%
broken fleet-tuned --set rule.idle=1h
broken fleet-spatial --set protector.run=64
# What a policy is worth that sees a part of its accesses only, judged by all of them.
fleet fleet-block --write blocks >/dev/null 2>&1
check "protect-log-loss: every expectation holds" "$FAULTLINE" protect blocks/*.flt "$root/tools/jobs/protect-log-loss.ini"
"$FAULTLINE" protect blocks/*.flt "$root/tools/jobs/protect-log-loss.ini" --set protector.policy=none >broken.out 2>&1
equal "protect-log-loss without a policy: an expectation fails" $? 6

cat >days.ini <<'INI'
[population web]
count = 7
memory = 1G:2G
nic_pauses = 24
nic_pauses_spread = 0.5
nic_pause = 12m
nic_rate = 20
block_sessions = 12
[population database]
device = block
count = 4
memory = 2G
block_sessions = 24
block_sessions_spread = 1
[fleet]
hours = 26
overcommit = 30%
machines_per_host = 4
[protector]
policy = none, lru, adp
[expect]
all = sum(machines) == 33
INI
"$FAULTLINE" fleet days.ini --csv=one -j 1 2>run.err
equal "a fleet of two populations over two days: exit" $? 0
"$FAULTLINE" fleet days.ini --csv=four -j 4 2>/dev/null
equal "the same bytes on one thread and on four" "$(cat one/*.csv | sha256sum)" "$(cat four/*.csv | sha256sum)"
equal "another seed gives others" "$("$FAULTLINE" fleet days.ini --set fleet.seed=2 --table fleet_devices --csv=- 2>/dev/null |
	cmp -s - one/fleet_devices.csv && echo same)" ""
equal "a row a device, day and policy" "$(awk 'END { print NR - 1 }' one/fleet_devices.csv)" $((3 * 2 * (7 * 2 + 4)))
check "sums and quantiles are those of the rows" "$reference" sums one
check "bursts are those of the devices" "$reference" bursts one
check "the curve ends where the devices do" "$reference" curve one
# One policy alone is judged as beside others; what there is without one comes from a run that is not shown.
"$FAULTLINE" fleet days.ini --set protector.policy=adp --set expect.all='sum(machines) == 11' --csv=alone 2>/dev/null
check "sums of a policy alone" "$reference" sums alone
equal "a policy alone gives the same rows" "$(cut -d , -f 2- alone/fleet_devices.csv | sha256sum)" \
	"$(awk -F , -v OFS=, 'NR == 1 || $2 == "adp" { for (i = 3; i < NF; i++) printf "%s,", $i; print $NF }' one/fleet_devices.csv | sha256sum)"
# In a sweep of something else the policies' points are not together, which changes nothing.
"$FAULTLINE" fleet days.ini --sweep rule.kind=interval,reclaim --set protector.policy=lru --set expect.all='sum(machines) == 22' \
	--csv=swept 2>/dev/null
check "sums by either rule" "$reference" sums swept
equal "and the policy's rows again" "$(awk -F , -v OFS=, '$2 == "reclaim" { $1 = $2 = ""; print }' swept/fleet_devices.csv | sha256sum)" \
	"$(awk -F , -v OFS=, '$2 == "lru" { $1 = $2 = ""; print }' one/fleet_devices.csv | sha256sum)"

# Recordings: what a host's devices use, by the second.
"$FAULTLINE" fleet days.ini --set fleet.hours=2 --set rule.kind=interval --set protector.policy=none \
	--set expect.all='machines == 11' --write hosts --csv=made 2>run.err
equal "a fleet is written: exit" $? 0
equal "in a recording a host" "$(ls hosts | tr '\n' ' ')" "host-1.flt host-2.flt host-3.flt "
for host in 1 2 3; do
	"$FAULTLINE" footprint "hosts/host-$host.flt" --csv="host$host" 2>err
	equal "host $host is whole: exit" $? 0
done
# The table has no point where nothing was swept.
sed -i '1s/^/point,/; 2,$s/^/1,/' made/fleet_devices.csv
check "footprints and faults are those of the fleet" "$reference" footprint made host1 host2 host3
"$FAULTLINE" protect hosts/host-1.flt --policy none,adp --csv=asked 2>err
equal "policies can be asked of a recording: exit" $? 0
"$FAULTLINE" fleet days.ini --set fleet.hours=2 --set rule.kind=interval --set protector.policy=none \
	--set expect.all='machines == 11' --write hosts >out 2>err
equal "a folder that is there is refused: exit" $? 2
check "and named" grep -q "hosts: File exists" err
"$FAULTLINE" fleet days.ini --set fleet.hours=5000 --set fleet.machines_per_host=1 --set database.count=2000 --write large >out 2>err
equal "recordings of too many hours are refused: exit" $? 2
check "before anything is written" test ! -e large

# Interrupted: no half file.
"$FAULTLINE" fleet days.ini --set fleet.hours=5000 --csv=stopped 2>err &
sleep 0.5
kill -TERM $!
wait $!
equal "interrupted: exit" $? 7
check "nothing has a name" test -z "$(ls stopped 2>/dev/null)"
"$FAULTLINE" fleet days.ini --set fleet.hours=300 --set fleet.machines_per_host=2 --write cut --csv=stopped >out 2>err &
writer=$!
wait_for 10 test -e cut
kill -TERM $writer
wait $writer
equal "interrupted while it writes: exit" $? 7
for file in cut/*; do
	[ -e "$file" ] || continue
	check "what has a name is whole: $file" "$FAULTLINE" footprint "$file" --csv="whole-$(basename "$file")"
done

# refused CODE PATTERN ARGUMENT...
refused() {
	local code=$1 pattern=$2
	shift 2
	"$FAULTLINE" fleet "$@" >out 2>err
	equal "$*: exit" $? "$code"
	check "and why: $pattern" grep -q -- "$pattern" err
	equal "in one sentence" "$(grep -c '^faultline' err)" 1
}
refused 2 "no JOB"
refused 3 "unknown job" no-such-job
refused 2 "resolution=10001ms: accepted: up to 10000ms" days.ini --set fleet.resolution=10001ms
refused 2 "resolution=10000ms: accepted: up to 5000ms" days.ini --set protector.policy=adp --set protector.scan=10s
refused 2 "accepted: none, static" days.ini --set protector.policy=arc
refused 2 "up to 16 sizes" days.ini --set web.memory=8G:
refused 2 "64M" days.ini --set web.memory=64M
refused 2 "no such key" days.ini --set web.nick_gap=1s
refused 2 "device=nic or both" days.ini --set database.nic_gap=1s
refused 2 "rule.kind=reclaim" days.ini --set rule.kind=interval --set fleet.overcommit=20%
refused 2 "more than 1000000 machines" days.ini --set database.count=1000000
refused 2 "keys" days.ini --keys
refused 2 "--write" days.ini --sweep fleet.seed=1,2 --write elsewhere
sed 's/^nic_rate.*/nic_rate = fast/' days.ini >bad.ini
refused 3 "bad.ini:7: nic_rate=fast" bad.ini
sed '/^\[population/,/^\[fleet/{/^\[fleet/!d}' days.ini >none.ini
refused 3 "no \[population NAME\]" none.ini
sed 's/^hours.*/hours = 1\nnic_gap = 1s/' days.ini >astray.ini
refused 3 "astray.ini:17: nic_gap: no such key in \[fleet\]" astray.ini
printf '[population a]\nblock_bound = 90%%\n' >crowded.ini
refused 3 "crowded.ini:1: \[population a\]: nic_bound=0.21, block_hot=0.033, block_bound=0.9" crowded.ini
finish
