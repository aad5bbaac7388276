# SPDX-License-Identifier: GPL-2.0
# A command that has a late device for itself: its reads take as long as they were told, it gets no signal
# handling from us, and however it or we end, nothing of it and nothing of the device is left.
# sample: none
# modules: null_blk configfs

setup() {
	load null_blk nr_devices=0
	[ -d /sys/kernel/config/nullb ] || mount -t configfs configfs /sys/kernel/config
}

slow=(faultline-inject slow --name late --size 16M --delay 30ms)

readers() { grep -l 'reads-i[t]' /proc/[0-9]*/cmdline 2>/dev/null; }
unread() { [ -z "$(readers)" ]; }
nothing_left() {
	local left
	left=$(ls /sys/kernel/config/nullb | grep -v features; ls -d /sys/block/late /sys/block/nullb* 2>/dev/null
		ls /run/faultline 2>/dev/null | grep journal; readers)
	equal "$1: nothing is left" "$left" ""
}

# In a session of its own, with the device open; only a SIGKILL ends it.
cat >stubborn.sh <<'SH'
exec 7<"$1"
trap '' TERM INT HUP
: reads-it >"$2"
while :; do sleep 0.05; done
SH
cat >family.sh <<'SH'
setsid bash stubborn.sh "$1" there reads-it &
wait
SH
# family_start: slow with a command and what that has started, all of it there.
family_start() {
	rm -f there slow.out
	"${slow[@]}" -- bash family.sh "$1" >slow.out 2>slow.err &
	pid=$!
	wait_for 60 test -e there && [ -n "$(readers)" ] && ok "a command that goes on" || not_ok "a command that goes on" "$(cat slow.err)"
}

guest() {
	local device begin took signal
	setup
	"${slow[@]}" --csv -- true >slow.out 2>slow.err
	equal "a command that ends well" $? 0
	device=$(sed -n '2s/,.*//p' slow.out)
	nothing_left "a command that ends well"
	begin=${EPOCHREALTIME/./}
	"${slow[@]}" -- dd if="$device" of=/dev/null bs=4096 count=7 iflag=direct >dd.out 2>slow.err
	equal "seven late reads" $? 0
	took=$(((${EPOCHREALTIME/./} - begin) / 1000))
	[ $took -ge 210 ] && ok "seven reads of 30 ms took $took ms" || not_ok "seven reads of 30 ms" "$took ms"
	"${slow[@]}" -- bash -c "test -b $device && exit 41" >slow.out 2>slow.err
	equal "the status of the command" $? 41
	"${slow[@]}" -- bash -c 'kill -KILL $$' >slow.out 2>slow.err
	equal "a command that was killed" $? 137
	"${slow[@]}" -- nosuchcommand >slow.out 2>slow.err
	equal "no such command" "$? $(cat slow.err)" "1 faultline: nosuchcommand: no such command"
	nothing_left "no such command"
	for signal in INT TERM HUP; do
		family_start "$device"
		kill -$signal $pid
		wait $pid
		equal "SIG$signal" $? 7
		nothing_left "SIG$signal"
	done
	family_start "$device"
	kill -KILL $pid
	wait $pid 2>/dev/null
	wait_for 60 unread
	equal "killed: nobody reads the device any more" "$(readers)" ""
	faultline-inject recover >recover.out
	equal "killed: recover takes the device down" "$(sed -n 's/.*; \([0-9]* changes* undone\)/\1/p' recover.out)" "2 changes undone"
	nothing_left "killed, recovered"
	unload null_blk
}
