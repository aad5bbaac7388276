#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The network card of a stock virtual machine whose receive ring is evicted while TCP runs through it: what a recording says is
# held to the truth log, and both to what the guest's kernel, iperf3 in the guest and a program at the wire have counted; the
# same behind an IOMMU of the guest's; SIGKILL of the machine and of QEMU in mid-traffic: KILLS (1) in all, `make lab-vm` has 20.
. "$(dirname "$0")/lib.sh"

RANDOM=7919
kills=${KILLS:-1}
guest_of_vm "guest 6.12" iperf3 || finish
chmod 755 . # programs at the wire are nobody's
cp "$root/tests/vm/hashes.py" .
port=$((20000 + $$ % 10000))
both_ways="dd if=/dev/urandom of=/tmp/out bs=64k count=10; nc 10.77.0.2 $port </tmp/out >/tmp/in; busybox md5sum /tmp/in /tmp/out"

# job POLICY VIOMMU RUN [DEVICE'S LINE...]: into job.ini; the guest runs RUN.
job() {
	local iommu=
	[ "$2" = yes ] && iommu=intel_iommu=on
	cat <<INI >job.ini
[machine]
timeout = 20m
[tenant vm]
backend = vm
memory = 128M
viommu = $2
qemu = -machine q35 -smp 2 -cpu max,-cx16,-erms,-fsrm,-la57,-smap,-smep -nodefaults -no-reboot -kernel build/vm/kernel \
-initrd build/vm/initrd-iperf3 -append '$(cat build/vm/command-line) $iommu -- net_address=10.77.0.1 run="$3"'
[device net]
model = nic
rx_policy = $1
queue_depth = 256
prefault = 63
$(printf '%s\n' "${@:4}")
[program hashes]
side = wire
role = server
run = /usr/bin/python3 $PWD/hashes.py $port 700001 $PWD/hashes
ready = tcp:$port
[program iperf3]
side = wire
role = server
run = iperf3 -s -p 5201
ready = tcp:5201
INI
}
# Pages of what the ring has posted, all of them, and of all of the guest's memory, by sevens.
cold() { # RATE of the ring's
	printf '[inject ring]\naction = evict\nwhat = ring\nkind = major\nrate = %s\nduration = 1h\n' "$1"
	printf '[inject random]\naction = evict\nwhat = random\nkind = major\nrate = 11/s\npages = 7\nduration = 1h\n'
}

# run NAME: the job under record; all that can be compared is.
run() {
	rm -rf run.flt truth csv results.csv console
	: >hashes
	chmod 666 hashes
	"$FAULTLINE" record --as-root --emulator "$INJECT" -o run.flt -- \
		"$INJECT" run job.ini --csv=results.csv --truth truth --console console >run.out 2>run.err
	equal "$1: it was recorded" $? 0
	"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>report.err
	python3 "$root/tests/reference/compare_truth.py" csv truth --evictions-race >verdict 2>&1
	adopt "$1"
	python3 "$root/tests/reference/compare_frames.py" csv truth run.flt >verdict 2>&1
	adopt "$1: frames"
	python3 "$root/tests/reference/compare_nic.py" results.csv truth >verdict 2>&1
	adopt "$1: results"
	python3 "$root/tests/reference/compare_vm_nic.py" csv truth results.csv console hashes >verdict 2>&1
	adopt "$1: guest"
	equal "$1: its commands succeeded" "$(cells_of results.csv vms_ended guest_panics guest_run_status guest_errors)" "1 0 0 0"
}

# A cold ring loses its first frame at least; one every three seconds, or the guest's first question would never be answered.
job drop no "$both_ways; iperf3 -c 10.77.0.2 -R -n 1M -i 0 -J" "link = 2M"
cold 20/m >>job.ini
run drop
check "drop: frames were lost to faults, and sent again" test "$(cells_of results.csv lost_fault)" -gt 0 -a \
	"$(cells_of results.csv retransmits)" -gt 0
check "drop: the ring was evicted" test "$(cells_of results.csv evicted)" -gt 100

job backup yes "$both_ways; iperf3 -c 10.77.0.2 -R -n 1M -i 0 -J" "queues = 2"
cold 10/s >>job.ini
run "backup, viommu"
equal "backup, viommu: nothing was lost" "$(cells_of results.csv lost viommu_unmapped)" "0 0"
check "backup, viommu: frames were held" test "$(cells_of results.csv held)" -gt 0
between "backup, viommu: translations were asked for" "$(cells_of results.csv viommu_misses)" 100 10000000
between "backup, viommu: and taken back" "$(cells_of results.csv viommu_invalidations)" 10 10000000

# --- SIGKILL, of the machine (its card and its pager) and of QEMU in turn, at random instants of a transfer.
job backup no "iperf3 -c 10.77.0.2 -R -t 600 -i 0"
cold 10/s >>job.ini
sed -i "s/5201/$port/g; s/-c 10.77.0.2/& -p $port/; /^\[program hashes/,/^ready/d" job.ini
ours() { pgrep -f -- "$scratch/(job|bin)|job.ini|faultline-guest|iperf3 -s -p $port" | grep -vx $$; }
before=$(ip netns; ip -o link | cut -d: -f2)
none_left() {
	[ -z "$(ours)" ] && [ -z "$(ls -A "$FAULTLINE_RUN_DIR" 2>/dev/null)" ] && [ "$(ip netns; ip -o link | cut -d: -f2)" = "$before" ]
}
# Frames of the transfer come: the guest's address is 10.77.0.1.
transfers() { "$INJECT" exec "$machine" wire -- ss -Htn state established "( sport = :$port )" 2>/dev/null | grep -q .; }
alive=0 silent=0
for ((i = 0; i < kills; i++)); do
	"$INJECT" run job.ini >kill.out 2>kill.err &
	guardian=$!
	wait_for 5 pgrep -P $guardian >/dev/null
	machine=$(pgrep -P $guardian | head -n 1)
	check "killed, $i: a transfer was under way" wait_for 60 transfers
	sleep "0.$((RANDOM % 1000))"
	target=$machine
	[ $((i % 2)) -eq 1 ] && target=$(pgrep -P "$machine" qemu | head -n 1)
	kill -KILL "$target"
	if ! wait_for 1 none_left; then
		alive=$((alive + 1))
		echo "  $i, $target: left: $(ours | xargs)"
		# shellcheck disable=SC2046
		kill -KILL $(ours) 2>/dev/null
		rm -f "$FAULTLINE_RUN_DIR"/*
	fi
	wait $guardian 2>/dev/null
	if ! grep -qE 'killed|gone|ended' kill.err; then
		silent=$((silent + 1))
		echo "  $i: said: $(head -n 3 kill.err)"
	fi
done
equal "$kills killed: times that something was left" $alive 0
equal "$kills killed: times that the others did not say so" $silent 0
finish
