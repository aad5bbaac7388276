#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lent devices as one job file describes them: borrowed, shared out in turn, taken back, and lent on after either side's death at
# each of its steps; nothing is left in any case.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cluster() {
	cat <<-END
		[cluster]
		name = lend
		seed = 11
		timeout = 60s
		dead = 500ms
		[host lender]
		memory = 16M
		iommu = ${iommu:-yes}
		[device disk]
		under = lender
		size = 4M
		[adapter nl]
		under = lender
		bar = 64M
		windows = 128
		[host user]
		memory = 16M
		iommu = ${iommu:-yes}
		[adapter nu]
		under = user
		[link cable]
		between = nl nu
	END
}
left='left = windows_left == 0 and requesters_left == 0 and mapped_left == 0 and pinned_left == 0 and memory_changed == 0'
# borrow NAME HOST LINE...: lines of its section, then of others.
borrow() {
	printf '[borrow %s]\ndevice = disk\nhost = %s\n' "$1" "$2"
	shift 2
	printf '%s\n' "$@"
}
# holds NAME: what is in NAME.ini, its expectations included.
holds() {
	check "$1" "$INJECT" run "$scratch/$1.ini" --truth "$scratch/$1.truth"
}
truth_says() {
	equal "$1: steps in order, windows constant, maps undone" "$(python3 "$root/tests/e2e/lend.py" "$scratch/$1.truth" returned)" "$2"
}

for iommu in yes no; do
	{ cluster && borrow it user 'window = 16M' 'ios = 1009' 'depth = 5' \
		'[expect]' 'once = borrows == 1 and borrows_returned == 1 and borrows_lost == 0' \
		'right = ios == 1009 and wrong == 0 and errors == 0' \
		'mapped_before = iommu_faults == 0 and refused == 0' "$left"; } >"once-iommu-$iommu.ini"
	holds once-iommu-$iommu
	maps=$(grep -c '"what":"lend_map"' once-iommu-$iommu.truth)
	between "an I/O is a map" "$maps" 1009 1100
	truth_says once-iommu-$iommu "1 $maps"
done
iommu=yes

# One at a time: the others are refused, ask again, and get their turn.
{ cluster && printf '%s\n' '[host third]' 'memory = 16M' '[adapter nt]' 'under = third' '[adapter nl2]' 'under = lender' \
	'bar = 64M' 'windows = 128' '[link second]' 'between = nl2 nt'
	for who in user third lender; do
		borrow of-$who $who 'window = 16M' 'ios = 307' 'retry = 10ms'
	done
	printf '%s\n' '[expect]' 'each = borrows == 3 and borrows_returned == 3' 'waited = borrows_refused > 0' \
		'right = ios == 921 and wrong == 0 and errors == 0' "$left"; } >exclusive.ini
holds exclusive

{ cluster && borrow it user 'ios = 1009' 'rate = 2000' 'retry = 10ms' '[inject back]' 'action = revoke' 'device = disk' 'at = 100ms' \
	'for = 10ms' '[expect]' 'twice = borrows == 2 and borrows_revoked == 1' 'right = wrong == 0' "$left"; } >taken-back.ini
holds taken-back

# A cable that is back in time is no return; tables that went are the end of a borrow.
for wipe in no yes; do
	{ cluster && borrow it user 'ios = 1009' 'rate = 2000' 'retry = 10ms' '[inject cable]' 'action = link_flap' 'at = 100ms' \
		'for = 50ms' "wipe = $wipe" '[expect]'
		if [ $wipe = yes ]; then
			echo 'lost = borrows >= 2 and borrows_lost == 1'
		else
			echo 'goes_on = borrows == 1 and borrows_returned == 1 and ios == 1009 and errors == 0'
		fi
		printf '%s\n' 'right = wrong == 0' "$left"; } >"flap-wipe-$wipe.ini"
	holds flap-wipe-$wipe
done

{ cluster && borrow it user 'ios = 211' '[inject early]' 'action = unmap_in_flight' 'at = 0' 'probability = 20' '[expect]' \
	'told = iommu_faults > 0 and refused > 0' 'kept = memory_changed == 0' "$left"; } >early.ini
holds early

# A function that is used at home, and one that is lent: what each driver's host has is its own, of no other's device.
{ cluster | sed '/^size/a functions = 2' && borrow home lender 'ios = 211' 'depth = 3'
	borrow away user 'function = 1' 'ios = 211' 'depth = 3'
	printf '%s\n' '[expect]' 'right = ios == 422 and wrong == 0 and errors == 0' 'nothing_strays = stray_dma == 0' "$left"; } >home.ini
holds home

# Tables that pretend to be full refuse, and have room when that ends; a cable that is out loses what crosses it, until it is back.
for full in window_full requesters_full; do
	{ cluster && borrow it user 'ios = 211' 'retry = 10ms' '[inject full]' "action = $full" 'at = 0' 'for = 100ms' '[expect]' \
		'refused_at_first = borrows_refused > 0' 'lent_afterwards = borrows == 1 and borrows_returned == 1' \
		'right = ios == 211 and wrong == 0 and errors == 0' "$left"; } >$full.ini
	holds $full
done
{ cluster && borrow it user 'rate = 2000' 'depth = 3' 'ios = 1009'
	borrow after user 'at = 200ms' 'retry = 10ms' 'ios = 53'
	printf '%s\n' '[inject out]' 'action = link_down' 'at = 100ms' 'for = 50ms' '[expect]' 'crossings_are_lost = lost_writes + all_ones > 0' \
		'and_are_asked_for_again = it_ios == 1009 and errors == 0 and wrong == 0' 'back = after_ios == 53' "$left"; } >link-down.ini
holds link-down

# A kill at each step: the device is lendable again, and is lent.
for at in user:request user:config user:bars user:shadow user:probe user:unbind user:remove lender:grant lender:domain \
	lender:dma_window lender:msi_window lender:release lender:reset lender:available lender:register; do
	{ cluster && borrow it user 'ios = 101' 'retry = 10ms' '[inject dead]' 'action = host_kill' "host = ${at%:*}" \
		"step = ${at#*:}" 'restart = yes' '[expect]' 'lent = borrows_returned >= 1' 'right = wrong == 0' \
		"$left"; } >"kill-${at/:/-}.ini"
	holds "kill-${at/:/-}"
done

# fails NAME SENTENCE OPTION...: users that could not do what they were to fail the run, with a sentence, unless the job judges it.
fails() {
	local name=$1 sentence=$2
	shift 2
	"$INJECT" run "$scratch/$name.ini" "$@" >"$name.out" 2>&1
	equal "$name: exit status" $? 1
	check "$name: why" grep -q "^Failed: .*$sentence" "$name.out"
	printf '[expect]\ntold = failed >= 1\n%s\n' "$left" >>"$name.ini"
	check "$name: unless it is expected" "$INJECT" run "$scratch/$name.ini" "$@"
}
lone() { cluster && borrow it user 'ios = 1009' 'rate = 2000' "$@"; }
inject_it() { printf '[inject it]\n' && printf '%s\n' "$@"; }
other=$'[device other]\nunder = user\nsize = 4M'
{ lone && inject_it 'action = host_kill' 'host = lender' 'step = grant'; } >none-of-the-dead.ini
fails none-of-the-dead 'it: lender is dead'
{ lone 'retry = 10ms' && inject_it 'action = requesters_full'; } >refused-throughout.ini
fails refused-throughout 'it: .*its requester table of' --set cluster.duration=2s
{ lone && inject_it 'action = revoke' 'device = disk' 'at = 100ms'; } >taken-for-good.ini
fails taken-for-good 'it: disk was taken back'
{ lone && echo "$other" && inject_it 'action = host_kill' 'host = user' 'step = register'; } >never-began.ini
fails never-began 'it: its host was killed before it had an I/O'

# Nobody outlives his host, or begins on it, at whatever step that ended.
{ lone && printf '%s\n' "$other" '[target between]' 'host = user' 'device = other' 'initiator = lender' 'ios = 20011' 'rate = 2000' \
	&& inject_it 'action = host_kill' 'host = lender' 'step = grant' && printf '%s\n' '[expect]' 'both = killed == 2 and failed >= 1' \
	"$left"; } >with-its-host.ini
holds with-its-host
{ lone && inject_it 'action = host_kill' 'host = lender' 'step = unregister' && printf '%s\n' '[expect]' \
	'fired = injected == 1 and killed == 1' "$left"; } >at-the-end.ini
holds at-the-end

# Begun anew at once, with its host, and once; another injection's restart is not its own.
anew() {
	lone 'retry = 10ms' && printf '%s\n' "$other" '[target between]' 'host = lender' 'device = disk2' 'initiator = user' 'ios = 20011' \
		'[device disk2]' 'under = lender' 'size = 4M' && inject_it 'action = host_kill' 'host = user' "$@"
}
{ anew 'at = 50ms' 'restart = yes' 'for = 0' && printf '%s\n' '[expect]' 'each_once = killed == 2 and failed >= 0' 'lent = it_ios >= 1009' \
	"$left"; } >anew.ini
holds anew
{ anew 'at = 50ms' && printf '%s\n' '[inject later]' 'action = host_kill' 'host = user' 'at = 40s' 'restart = yes' '[expect]' \
	'none_is_back = killed == 2 and injected == 1 and failed >= 0 and borrows <= 1' "$left"; } >not-anew.ini
holds not-anew
# A local device that was in use begins as after a power-on: nothing of it reaches memory that is others' by now.
{ cluster && printf '%s\n' "$other" '[target between]' 'host = user' 'device = other' 'initiator = user' 'ios = 2011' 'depth = 17' \
	'rate = 5000' && inject_it 'action = host_kill' 'host = user' 'at = 50ms' 'restart = yes' && printf '%s\n' '[expect]' \
	'works = killed == 3 and failed >= 0' "$left"; } >anew-local.ini
holds anew-local

# What took nothing back was no injection; times are told as they are, however short.
{ lone 'at = 500ms' && inject_it 'action = revoke' 'device = disk' 'at = 0' && printf '%s\n' '[expect]' \
	'nothing = injected == 0 and borrows_revoked == 0 and ios == 1009' "$left"; } >nothing-to-take.ini
"$INJECT" run "$scratch/nothing-to-take.ini" >nothing-to-take.out 2>&1
equal "nothing-to-take: exit status" $? 0
check "nothing-to-take: is told" grep -q '^Never fired: it: ' nothing-to-take.out
"$INJECT" run "$scratch/nothing-to-take.ini" --set cluster.timeout=150ms >short.out 2>&1
check "a timeout of less than a second" grep -q 'not done after 150ms;' short.out

# What cannot be is said before anything is lent.
{ iommu=no cluster && borrow it user 'window = 4M' 'ios = 11'; } >small.ini
"$INJECT" run "$scratch/small.ini" >small.out 2>&1
check "a window that does not cover the RAM is refused with its line" \
	grep -qE 'small.ini:[0-9]+: .*window.*accepted: at least 16777216' small.out
{ cluster && borrow it user 'window = 64M' 'ios = 11'; } >large.ini
"$INJECT" run "$scratch/large.ini" >large.out 2>&1
check "one that does not fit into the adapter's BAR is, with a sentence" grep -q 'it: lender: .*window' large.out
finish
