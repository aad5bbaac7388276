#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Shared controllers: what the shipped jobs of them expect can fail, and a client or a manager that is killed at any of its steps
# leaves nothing and disturbs nobody. (That the jobs hold: campaigns.sh.)
. "$(dirname "$0")/lib.sh"

job() {
	local name=$1
	shift
	"$INJECT" run "$root/injectors/jobs/smartio-$name.ini" "$@" >out 2>err
}
broken() { # EXPECTATION JOB OPTIONS...
	local expectation=$1 name=$2
	shift 2
	job "$name" "$@"
	equal "$name with $*: exit" $? 6
	check "$name with $*: it is $expectation that fails" grep -q "^FAIL  $expectation:" out err
}
broken latency_in_that_order queue-placement --short --set lender.iommu=yes
broken in_all_hosts multicast --set asker.multicast_identify=no
broken the_next_is_refused requesters --short --set user.count=30
broken in_its_old_windows failover --set cable.wipe=yes --set both.ios=2003
broken in_new_windows failover-wiped --set cable.wipe=no --set both.ios=2003

# One of three clients, or their manager, is killed at a step; the others' I/Os are all done, and right.
sed '/^\[inject/,$d' "$root/injectors/jobs/smartio-failover-manager.ini" >steps.ini
cat >>steps.ini <<'INI'
[inject dies]
action = host_kill
step = client_ready
user = reader0

[expect]
killed = killed == 1
right = wrong == 0 and errors == 0 and unknown == 0 and applied_twice == 0
others_are_done = ios >= 2 * 211
nothing_strays = iommu_faults == 0 and memory_changed == 0
INI
steps() {
	"$INJECT" run ./steps.ini --set reader.ios=211 --set cluster.dead=2s "$@" >out 2>err
	status=$?
	equal "killed with $*: exit" $status 0
	[ $status -eq 0 ] || grep -hE '^(FAIL|faultline)' out err
}
for step in client_segment client_create client_ready client_delete; do
	steps --set "dies.step=$step"
done
sed -i 's/^user = reader0/host = keeper\nfor = 100ms\nrestart = yes/' steps.ini
for step in manager_reset manager_admin; do
	steps --set "dies.step=$step"
done
for iommu in no yes; do
	steps --set dies.step= --set dies.at=150ms --set "host lender.iommu=$iommu" --set "host user.iommu=$iommu" --set "host keeper.iommu=$iommu"
done

# An IOMMU knows devices, no processes: a client that names another's memory is not stopped, the device elsewhere is.
sed '/^\[inject/,$d' "$root/injectors/jobs/smartio-failover-manager.ini" >rogue.ini
cat >>rogue.ini <<'INI'
[inject rogue]
action = rogue_dma
device = disk
probability = 20

[expect]
clients_reach_each_other = wrong > 0
nobody_else = memory_changed == 0 and iommu_faults > 0
INI
"$INJECT" run ./rogue.ini --set reader.ios=211 --set "host lender.iommu=yes" >out 2>err
equal "rogue: exit" $? 0

# A noisy client takes from the others what it can, until the injection ends.
sed '/^\[inject/,$d' "$root/injectors/jobs/smartio-failover-manager.ini" >noisy.ini
cat >>noisy.ini <<'INI'
[inject noisy]
action = noisy_client
user = reader0

[sweep]
noise = noisy.for: 0, 1ms

[expect]
all_of_it_and_hardly_any = fairness(noise=first) < 0.8 < fairness(noise=last)
right = wrong == 0 and errors == 0
INI
# A busy machine gives threads their share of its CPUs only in the long run.
noisy() {
	for duration in 500ms 3s 20s; do
		"$INJECT" run ./noisy.ini --set reader.ios=0 --set reader.rate=0 --set reader.depth=1 --set cluster.duration=$duration && return
	done
}
check "a noisy client takes others' share, until its noise ends" noisy

# Who starved of many on one controller, and the device too much, are told with their names.
job thirty-clients --short
check "who starved is told, with the longest wait" grep -qE \
	'^Starved: light[0-9]+ had [0-9]+ I/Os, others of its kind [0-9]+ on average; its longest wait was [0-9.]+ ms' out err
job requesters --short
check "the device too much is told" grep -qE \
	'^Failed: user[0-9]+: .*its requester table of 32 is full: 2 entries are CPUs., 30 devices' out err

# A cable that is out for longer than dead=, at the lender's end, of two or the only one: everything is done over what is left, or
# afterwards, in windows that are still there, and nothing stays. The manager is elsewhere, the lender, or the client's own host.
cat >cables.ini <<'INI'
[cluster]
dead = 300ms
timeout = 5s
[host lender]
[host user]
[host keeper]
[switch first]
[switch second]
[adapter l1]
under = lender
[adapter u1]
under = user
[adapter k1]
under = keeper
[adapter l2]
under = lender
[adapter u2]
under = user
[adapter k2]
under = keeper
[link of-l1]
between = l1 first
[link of-u1]
between = u1 first
[link of-k1]
between = k1 first
[link of-l2]
between = l2 second
[link of-u2]
between = u2 second
[link of-k2]
between = k2 second
[device disk]
under = lender
[manager of-disk]
host = lender
device = disk
[client reader]
host = user
device = disk
ios = 499
depth = 4
rate = 1000
adapters = u1 u2
[inject out]
action = link_flap
adapter = l1
at = 97ms
for = 450ms
wipe = yes
[expect]
done = ios >= 199 and errors == 0 and wrong == 0 and unknown == 0 and admin_refused == 0
fired = injected == 1
INI
cables() {
	"$INJECT" run ./cables.ini "$@" >out 2>err
	status=$?
	equal "a cable is out, $*: exit" $status 0
	[ $status -eq 0 ] || grep -hE '^(FAIL|Failed|faultline)' out err
}
cables --set reader.ios=701
cables --set reader.adapters=u1 --set out.for=200ms
cables --set of-disk.host=user
cables --set of-disk.host=keeper --set of-k2.between="k2 first" --set reader.adapters=u2 --set reader.ios=199 --set out.for=700ms
cables --set of-disk.host=keeper --set reader.adapters="u2 u1" --set reader.ios=199
cables --set reader.ios=199 --set out.at=0
cables --set reader.ios=199 --set out.at=0 --set out.for=200ms --set reader.adapters=u1

# Without a queue in the client's own RAM, the longest way to fetch is the lender's RAM: 3 of 4, 3, 1.
"$INJECT" run "$root/injectors/jobs/smartio-queue-placement.ini" --short --set own-ram.queue=device_reads --csv=placed.csv >/dev/null 2>&1
equal "hops to fetch from the lender's RAM, and from a peer's" \
	"$(/usr/bin/python3 -c 'import csv; r = next(csv.DictReader(open("placed.csv"))); print(r["fetch_hops"], r["fetch_hops_least"])')" "3 1"

# Clients whose blocks differ have shares of their own all the same: nobody reads what another has written.
sed '/^\[inject/,$d' "$root/injectors/jobs/smartio-failover-manager.ini" >shares.ini
printf '%s\n' '[client large]' 'host = user' 'device = disk' 'block = 64K' 'ios = 311' 'count = 2' '[expect]' \
	'right = wrong == 0 and errors == 0' >>shares.ini
check "a client of large blocks reads what it has written" "$INJECT" run ./shares.ini --set reader.ios=311 --set reader.block=4K \
	--set disk.size=1M

finish
