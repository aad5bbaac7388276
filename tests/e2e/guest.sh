#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Guests with a lent device, and the mediated baseline, as job files describe them: killed at each of a guest's steps, with
# interrupts late and lost, with what a guest must not have; nothing is left in any case.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cluster() {
	cat <<-END
		[cluster]
		name = guest
		seed = 13
		timeout = 60s
		dead = ${dead:-400ms}
		[host lender]
		memory = 16M
		iommu = ${lender_iommu:-yes}
		[device disk]
		under = lender
		size = 4M
		[adapter nl]
		under = lender
		bar = ${bar:-64M}
		windows = 128
		[host user]
		memory = 32M
		iommu = ${user_iommu:-yes}
		[adapter nu]
		under = user
		bar = 64M
		windows = 128
		[link cable]
		between = nl nu
	END
}
vm=$'[vm guest]\nhost = user\ndevice = disk\nlow = 4M\nhigh = 2M\nios = 211\ndepth = 3'
left='left = windows_left == 0 and requesters_left == 0 and mapped_left == 0 and pinned_left == 0 and memory_changed == 0'
inject() {
	"$INJECT" run "$scratch/$1.ini" "${@:2}" >"$1.out" 2>"$1.err"
}
holds() {
	check "$1" inject "$1"
}
# step_of NAME STEP: how often the truth log has it.
step_of() {
	grep '"what":"step"' "$1.truth" | grep -c "\"$2\""
}

for job in smartio-guest smartio-mediated; do
	check "$job: every expectation holds" "$INJECT" run --short "$root/injectors/jobs/$job.ini"
done
# Expectations can fail: what each of them is about, taken away.
broken() {
	"$INJECT" run --short "$root/injectors/jobs/$1.ini" "${@:2}" >broken.out 2>&1
	equal "$1 with ${*:2}: an expectation fails" $? 6
}
broken smartio-guest --set grown.added=0
broken smartio-guest --set guest.high=2M
broken smartio-mediated --set mediated.stage=0

# A guest at its own host, and two of them on two functions.
{ cluster && echo "${vm/user/lender}" && printf '%s\n' '[expect]' 'right = ios == 211 and errors == 0 and wrong == 0' \
	'no_window = windows_most == 0' 'no_fault = iommu_faults == 0' "$left"; } >local.ini
holds local

# Interrupts: all I/Os end well, later.
{ cluster && echo "$vm" && printf '%s\n' '[inject late]' 'action = irq_late' 'device = disk' 'delay = 2ms' 'probability = 11' \
	'[expect]' 'right = ios == 211 and errors == 0 and wrong == 0' 'late = guests_late > 0 and guests_lost == 0' "$left"; } >late.ini
holds late
{ cluster && echo "$vm" && printf '%s\n' '[inject lost]' 'action = irq_lost' 'device = disk' 'probability = 11' \
	'[expect]' 'right = ios == 211 and errors == 0 and wrong == 0' 'lost = guests_lost > 0 and guests_late == 0' "$left"; } >lost.ini
holds lost

# Killed at each of its steps: its device is reset and lent on, to a host that asks until it has it.
for step in guest_register guest_reset guest_bar guest_bus_master guest_probed guest_pinned guest_mapped; do
	{ cluster && echo "$vm" && printf '%s\n' '[borrow after]' 'host = user' 'device = disk' 'window = 8M' 'at = 300ms' \
		'retry = 50ms' 'ios = 53' '[inject kill]' 'action = host_kill' 'user = guest' "step = $step" '[expect]' \
		'killed = killed == 1' 'guest_did_nothing = guest_ios == 0' 'lent_on = after_ios == 53 and errors == 0 and wrong == 0' \
		"$left"; } >"kill-$step.ini"
	holds "kill-$step"
done

# Its lender dies under it: an error within the time in which anybody is given up, no hang.
{ cluster && echo "${vm/ios = 211/ios = 20011}" && printf '%s\n' 'rate = 2000' '[inject kill]' 'action = host_kill' 'host = lender' 'at = 200ms' \
	'[expect]' 'told = killed == 1 and failed == 1' "$left"; } >lender-dead.ini
holds lender-dead

# What it must not have.
refused() {
	inject "$1"
	equal "$1: no guest without it" $? 6
	check "$1: says why" grep -q "$2" "$1.err" "$1.out"
}
expect_ios=$'[expect]\nworks = ios == 211'
for off in lender user; do
	{ eval "${off}_iommu=no" && cluster && echo "$vm"; } >no-iommu.ini
	"$INJECT" check no-iommu.ini 2>no-iommu.err
	equal "no guest without the IOMMU of $off" \
		"$? $(grep -c "no-iommu.ini:[0-9]*: device=disk: accepted: .*iommu=yes, .* that of $off is off" no-iommu.err)" "3 1"
	unset "${off}_iommu"
done
{ bar=4M cluster && echo "$vm" && echo "$expect_ios"; } >small-bar.ini
refused small-bar "the BAR of the lender's adapter nl 4194304; accepted: less than it"

# A target whose process is killed: its initiator ends with an error, and nothing is left.
{ cluster && printf '%s\n' '[target between]' 'host = lender' 'device = disk' 'initiator = user' 'ios = 20011' 'rate = 2000' 'depth = 3' \
	'[inject kill]' 'action = host_kill' 'user = between' 'at = 200ms' '[expect]' 'some = ios > 0 and wrong == 0' \
	'told = killed == 1 and failed == 1' "$left"; } >target-dead.ini
holds target-dead
# It has its device for itself: lent to others it is not there, and what it has is not lent.
{ cluster && printf '%s\n' '[borrow first]' 'host = user' 'device = disk' 'ios = 0' 'rate = 2000' '[target second]' 'host = lender' \
	'device = disk' 'initiator = user' 'ios = 7' 'rate = 10' '[expect]' 'one_of_both = ios > 0 and wrong == 0'; } |
	sed '1a duration = 700ms' >target-or-borrow.ini
inject target-or-borrow
check "a target and a borrow of one device: one of them is refused, with a sentence" \
	grep -qE '^Failed: .*disk is lent to (user|lender); accepted: once it was returned and reset' target-or-borrow.err target-or-borrow.out
for other in $'[manager m]\nhost = lender' $'[target more]\nhost = lender\ninitiator = user'; do
	{ cluster && printf '%s\n' '[target one]' 'host = lender' 'device = disk' 'initiator = user' 'ios = 7' "$other" 'device = disk'; } >held.ini
	"$INJECT" check held.ini >held.out 2>&1
	equal "a target and ${other%%$'\n'*} of one device: the line" \
		"$? $(grep -cE '^faultline: held.ini:[0-9]+: device=disk: accepted: one that no other' held.out)" "3 1"
done
finish
