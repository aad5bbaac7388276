#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A stranger's job of many hosts: what it says wrong is named with its place, what is absurd ends in order, and a
# cluster that is not given files, memory, processes or room says so in a sentence and leaves nothing.
own_mounts=yes
. "$(dirname "$0")/../e2e/lib.sh"

cat >base.ini <<'INI'
[cluster]
timeout = 60s
[host a]
memory = 16M
iommu = yes
[host b]
memory = 16M
iommu = yes
[adapter aa]
under = a
[adapter ba]
under = b
[link cable]
between = aa ba
[device disk]
under = a
size = 4M
INI
user=$'[borrow user]\nhost = b\ndevice = disk\n'

# put NAME TEXT: `job.ini` of the hosts and this.
put() { cat base.ini - >job.ini <<<"$1"; }
# refused NAME PATTERN: job.ini is, by file and line, with what is accepted.
refused() {
	"$INJECT" run job.ini >out 2>err
	equal "$1" "$? $(grep -cE "^faultline: job.ini:[0-9]+: .*$2" err)" "3 1"
}
# ends NAME: job.ini does, by itself and by no signal, and says why if it has not worked.
ends() {
	timeout 60 "$INJECT" run job.ini >out 2>err
	local code=$?
	check "$1" test $code -eq 0 -o \( $code -lt 7 -a -s err \)
}

absurd=(
	'host.memory=0' 'host.memory=18446744073709551616' 'host.memory=3M' 'host.count=1000000' 'host.count=-1' 'adapter.under=nowhere'
	'adapter.windows=0' 'adapter.window_size=0' 'adapter.window_size=18446744073709551616' 'adapter.count=%' 'link.between=aa aa'
	'link.between=aa' 'link.between=aa nowhere' 'link.between=a b c d' 'link.delay=-1ns' 'device.size=0' 'device.size=18446744073709551616'
	'device.under=disk' 'device.under=aa' 'device.functions=9' 'borrow.host=nobody' 'borrow.device=a' 'borrow.window=0' 'borrow.block=0'
	'borrow.depth=0' 'borrow.rate=nan' 'borrow.rate=1e400' 'borrow.adapters=ba ba' 'borrow.adapters=a b c' 'borrow.function=1'
	'borrow.peer=disk' 'borrow.ios=-1' 'vm.low=64G' 'client.device=nothing' 'manager.host=%s%n' 'target.host=b' 'inject.action=melt'
	'inject.probability=0' 'inject.step=nowhere' 'inject.user=nobody'
)
for absurd in "${absurd[@]}"; do
	key=${absurd%%=*} value=${absurd#*=}
	case $key in
	host.*) put "[host x]"$'\n'"${key#*.} = $value"$'\n'"$user" ;;
	adapter.under*) put "[adapter x]"$'\n'"under = $value"$'\n'"$user" ;;
	adapter.*) put "[adapter x]"$'\n'"under = a"$'\n'"${key#*.} = $value"$'\n'"$user" ;;
	link.between) put "[link x]"$'\n'"between = $value"$'\n'"$user" ;;
	link.*) put "[switch s]"$'\n'"[adapter x]"$'\n'"under = a"$'\n'"[link x]"$'\n'"between = x s"$'\n'"${key#*.} = $value"$'\n'"$user" ;;
	device.under) put "[device x]"$'\n'"under = $value"$'\n'"$user" ;;
	device.*) put "[device x]"$'\n'"under = a"$'\n'"${key#*.} = $value"$'\n'"$user" ;;
	borrow.host | borrow.device) put "$(sed "s/^${key#*.} =.*/${key#*.} = $value/" <<<"$user")" ;;
	borrow.*) put "$user${key#*.} = $value" ;;
	inject.action) put "$user"$'[inject x]\naction = '"$value" ;;
	inject.step | inject.user) put "$user"$'[inject x]\naction = host_kill\nhost = b\n'"${key#*.} = $value" ;;
	inject.*) put "$user"$'[inject x]\naction = irq_lost\n'"${key#*.} = $value" ;;
	target.*) put $'[target x]\nhost = '"$value"$'\ndevice = disk\ninitiator = b\nios = 3' ;;
	*) put "$(sed "s/^\[borrow user\]/[${key%.*} x]/; /^${key#*.} =/d" <<<"$user")"$'\n'"${key#*.} = $value"$'\nios = 3' ;;
	esac
	refused "$absurd: its line, and what is accepted" "accepted: "
done

put "$user"$'ios = 3\n[switch s]\nunder = t\n[switch t]\nunder = s'
refused "switches under each other" "accepted: "
put "$user"$'ios = 3\n[device a]\nunder = a'
refused "a device of a host's name" ""
put "$user"$'ios = 3\n[device x]\nunder = a\nsize = 1M\ncount = 64'
refused "a host with 65 devices" "accepted: a host with up to 64 devices"
put "$user"$'ios = 3\n[host x]\nmemory = 2M\ncount = 61'
refused "63 hosts" "accepted: "
put "$user"$'ios = 3\n'"$(for i in {0..64}; do printf '[inject i%d]\naction = revoke\n' "$i"; done)"
refused "65 injections" "accepted: up to 64"
put "$user"$'ios = 3\n'"$(printf '[switch s%d]\n' {1..50000})"
prlimit --cpu=5 -- "$INJECT" run job.ini >out 2>err
equal "50,000 sections are counted in no time" "$? $(grep -c 'job.ini:1[0-9]*: .*accepted: up to 1024 hosts' err)" "3 1"
put "$user"$'ios = 3\n[device x]\nunder = a\nsize = 64G\ncount = 16'
prlimit --cpu=5 -- "$INJECT" run job.ini >out 2>err
equal "disks of a terabyte cost what is written to them" "$? $(cat err)" "0 "
put "${user}region_start = 32T"$'\n'"region = 32T"$'\nios = 3'
ends "a region beyond the disk"
put "${user}block = 1M"$'\n'"depth = 255"$'\nios = 3'
ends "more under way than its window holds"
put "${user}ios = 1"$'\ncount = 100\nretry = 1ms'
ends "a hundred who want one device"
put $'[manager m]\nhost = a\ndevice = disk\n[client c]\nhost = b\ndevice = disk\ncount = 40\nios = 3'
ends "more clients than a device has queues"
printf '[manager n]\nhost = b\ndevice = disk\n' >>job.ini
refused "two managers of one device" "accepted: one that no other \[manager\]"
sed -i '/^\[link/,/^between/d' base.ini && put "${user}ios = 3"
ends "no way from one to the other"
printf '[link cable]\nbetween = aa ba\n' >>base.ini

# What it is not given.
put "${user}ios = 101"
poor=(setpriv --bounding-set -sys_resource --inh-caps -sys_resource)
# survives NAME COMMAND...: it works, or there is a sentence; nothing is left.
survives() {
	local name=$1 code
	shift
	timeout 60 "$@" 2>&1 >/dev/null | cat >err
	code=${PIPESTATUS[0]}
	if [ "$code" -eq 0 ]; then ok "$name"; else
		equal "$name: a sentence" "$code $(tail -n 1 err | grep -c '^faultline: ..*')" "1 1"
	fi
}
for limit in as=16000000 as=64000000 as=160000000 as=256000000 data=8000000 stack=32000 fsize=0 fsize=100000 memlock=0 nofile=5 nofile=20; do
	survives "a cluster with $limit" "${poor[@]}" prlimit "--$limit" -- "$INJECT" run job.ini
done
for at in 1 2 3 4 5 6; do
	survives "process or thread $at cannot be made" strace -f -qq -o /dev/null -e trace=clone,clone3 \
		-e inject=clone,clone3:error=EAGAIN:when=$at "$INJECT" run job.ini
done
cat >sixty.ini <<'INI'
[cluster]
timeout = 60s
[host h]
count = 60
memory = 2M
[adapter a]
count = 60
under = h%
[switch s]
[link l]
count = 60
between = a% s
[device disk]
under = h0
size = 1M
[borrow user]
host = h59
device = disk
window = 2M
ios = 101
INI
"${poor[@]}" prlimit --nofile=64 -- "$INJECT" run sixty.ini >out 2>err
equal "sixty hosts and 64 open files: a sentence" "$? $(grep -c '^faultline: .*Too many open files' err)" "1 1"
check "sixty hosts where there are enough" "$INJECT" run sixty.ini

mkdir small && mount -t tmpfs -o size=64k none small
"$INJECT" run job.ini --truth small/truth --set user.ios=5003 >out 2>err
equal "no room for the truth log" "$? $(grep -c 'cannot write the truth log: is the disk full' err)" "1 1"
umount small
equal "nothing is left" "$(ls "$FAULTLINE_RUN_DIR" | wc -l) $(pgrep -cf "^$INJECT ")" "0 0"
finish
