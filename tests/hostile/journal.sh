#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What an injector has changed is undone when the run directory is full, files may not grow, or it is killed, and
# whoever undoes it as well. A tree of plain files stands for the attributes of a PCI device.
own_mounts=yes
. "$(dirname "$0")/../e2e/lib.sh"
RANDOM=3120
kills=20
[ "${HOSTILE:-}" != long ] || kills=400
run=$FAULTLINE_RUN_DIR world=$scratch/world
address=0000:00:04.0
device=/sys/bus/pci/devices/$address
vfio=("$INJECT" vfio fault -d $address --yes-i-mean-it $address)

mkdir -m 700 "$run"
mount -t tmpfs -o size=64k,mode=700 run "$run"
mount -t tmpfs -o size=1m bus /sys/bus
mkdir -p "$device" /sys/bus/pci/drivers/{nvme,vfio-pci}
ln -s ../../drivers/nvme "$device/driver"
echo 0x1234 >"$device/vendor" # QEMU's edu
echo 0x11e8 >"$device/device"
echo 0x00ff00 >"$device/class"

# What a device looks like that nobody has touched.
arrange() {
	echo '(null)' >"$device/driver_override"
	: >/sys/bus/pci/drivers_probe
	: >/sys/bus/pci/drivers/nvme/unbind
	: >/sys/bus/pci/drivers/nvme/bind
	: >/sys/bus/pci/drivers/vfio-pci/unbind
}
changed() { grep -q vfio "$device/driver_override"; }
given_back() {
	! grep -q vfio "$device/driver_override" && { [ ! -s /sys/bus/pci/drivers/nvme/unbind ] || grep -q $address /sys/bus/pci/drivers/nvme/bind; }
}
journals() { find "$run" -name '*.journal' | wc -l; }
fill() { dd if=/dev/zero of="$run/fill" bs=4k status=none 2>/dev/null; }
# What is not undone of journal.py's changes.
world_left() { grep -l new "$world"/* 2>/dev/null; ls -d "$world/a" 2>/dev/null; grep -Lx device "$world/probe"; }
forge() {
	rm -rf "$world" "$run"/*
	mkdir "$world"
	/usr/bin/python3 "$root/tests/hostile/journal.py" "$run" "$world"
}

forge
equal "a dead injector's changes are there" "$(world_left | wc -l) $(journals)" "8 1"
fill
equal "there is no room for a byte" "$(df --output=avail "$run" | tail -n 1 | xargs)" 0
"$INJECT" recover >out 2>err
equal "recover with a full run directory" "$? $(cat err)" "0 "
equal "undoes all" "$(tail -n 1 out)" "0 stale entries removed; 11 changes undone"
equal "of it" "$(world_left) $(journals)" " 0"

forge
touch "$world/a/b/hinders"
fill
"$INJECT" recover >out 2>err
equal "what hinders is said" "$? $(grep -c 'world/a/b: cannot be removed' err)" "1 1"
rm "$world/a/b/hinders"
equal "and what is left is undone by the next" "$("$INJECT" recover | tail -n 1) $(world_left)" "0 stale entries removed; 6 changes undone "

forge
mount -o remount,ro "$run"
"$INJECT" recover >out 2>err
equal "a run directory that cannot be written: undone and said" \
	"$? $(world_left) $(grep -c 'cannot be removed, though all that it holds is undone: Read-only' err)" "1  1"
mount -o remount,rw "$run"
equal "and once more does no harm" "$("$INJECT" recover >/dev/null 2>&1; echo $?) $(world_left) $(journals)" "0  0"

forge
prlimit --fsize=100 -- "$INJECT" recover 2>&1 | cat >out
equal "recover where files may have 100 bytes" "${PIPESTATUS[0]} $(world_left) $(journals)" "0  0"

# A real injector. Each of its files, its directory and every record is refused in turn.
rm -rf "${run:?}"/* "$world"
changed_by=0
for ((i = 1; i <= 8; i++)); do
	arrange
	strace -qq -o log -e trace=fsync,write -e inject=fsync:error=ENOSPC:when=$i+ "${vfio[@]}" >out 2>err
	equal "no room from sync $i on: a sentence" "$? $(tail -n 1 err | grep -c '^faultline: ..*')" "1 1"
	equal "no room from sync $i on: undone" "$(given_back && journals)" 0
	changed_by=$((changed_by + $(grep -c '"vfio-pci\\n"' log)))
done
equal "of these, runs that had changed something" $((changed_by > 3)) 1
arrange
prlimit --fsize=100 -- "${vfio[@]}" 2>&1 | cat >out
equal "an injector whose files may have 100 bytes: a sentence" \
	"${PIPESTATUS[0]} $(grep -c 'journal: cannot be written: File too large' out) $(given_back && journals)" "1 1 0"

# What is gone already and needs no undoing is not what is said.
arrange
rm /sys/bus/pci/drivers/vfio-pci/unbind
"${vfio[@]}" >out 2>err
equal "the sentence is that of what has failed" "$? $(grep -c 'vfio-pci did not take it' err) $(given_back && journals)" "1 1 0"

# A device without a driver is given back without one.
arrange
rm "$device/driver"
strace -qq -y -o log -e trace=write "${vfio[@]}" >out 2>err
equal "of a device without a driver the override is given back" "$? $(given_back && journals)" "1 0"
equal "and no driver is looked for but vfio-pci" \
	"$(grep -c 'drivers_probe>' log) $(cat /sys/bus/pci/drivers/nvme/{bind,unbind})" "1 "
ln -s ../../drivers/nvme "$device/driver"

# With native multipath the controller has paths only; their head is the disk.
arrange
mkdir -p "$device/nvme/nvme93/nvme93c93n1"
"${vfio[@]}" >out 2>err
equal "a disk of which nobody knows whether it is in use: refused" \
	"$? $(grep -c '/dev/nvme93n1 is in use cannot be told' err) $(cat /sys/bus/pci/drivers_probe)" "1 1 "
truncate -s 1M multipath.img
if loop=$(losetup --find --show multipath.img 2>&1); then
	trap 'umount mounted 2>/dev/null; losetup -d "$loop"; rm -rf --one-file-system "$scratch"' EXIT
	mkdir dev mounted
	mount -t tmpfs dev dev
	cp -a /dev/{null,zero,full,kmsg,urandom} "$loop" dev/
	mv "dev/${loop##*/}" dev/nvme93n1
	mkfs.ext2 -q "$loop"
	mount -o ro "$loop" mounted
	mount --bind dev /dev
	"${vfio[@]}" >out 2>err
	equal "a mounted disk with several paths: refused" \
		"$? $(grep -c 'disk /dev/nvme93n1 is in use; unmount it' err) $(cat /sys/bus/pci/drivers_probe)" "1 1 "
	umount mounted
	"${vfio[@]}" >out 2>err
	equal "one that is free is taken, and given back" \
		"$? $(grep -c 'vfio-pci did not take it' err) $(cat /sys/bus/pci/drivers_probe) $(given_back && journals)" "1 1 $address 0"
	umount /dev dev
	losetup -d "$loop"
	trap 'rm -rf --one-file-system "$scratch"' EXIT
else
	skip "no loop device can be made" "$loop"
fi
rm -r "$device/nvme"

# instants LOG: the system calls from the first look at a journal on, each as strace(1) counts it: NAME/N.
instants() { awk -F '[ (]+' '{ n[$2]++ } /\.journal", O_RDWR/ { on = 1 } on && $2 ~ /^[a-z]/ { print $2 "/" n[$2] }' "$1"; }
# killed INSTANT COMMAND...
killed() {
	local at=$1
	shift
	strace -f -qq -o /dev/null -e "trace=${at%/*}" -e "inject=${at%/*}:signal=SIGKILL:when=${at#*/}" "$@" >/dev/null 2>&1
}
forge
strace -f -qq -o log "$INJECT" recover >/dev/null
mapfile -t of_recover < <(instants log)
forge
arrange
strace -f -qq -o log "${vfio[@]}" 2>/dev/null
mapfile -t of_vfio < <(instants log)
check "both make enough system calls" test ${#of_recover[@]} -gt 40 -a ${#of_vfio[@]} -gt 20
touched=0 half=0 left=0
for ((i = 0; i < kills; i++)); do
	forge
	arrange
	killed "${of_vfio[RANDOM % ${#of_vfio[@]}]}" "${vfio[@]}" 2>/dev/null
	changed && touched=$((touched + 1))
	((i % 2)) && fill
	for again in 1 2; do
		killed "${of_recover[RANDOM % ${#of_recover[@]}]}" "$INJECT" recover 2>/dev/null
		[ -z "$(world_left)" ] || half=$((half + 1))
	done
	"$INJECT" recover >/dev/null 2>err
	if [ -s err ] || [ -n "$(world_left)" ] || [ "$(journals)" -ne 0 ] || ! given_back; then
		left=$((left + 1))
		echo "  $i: $(cat err) $(world_left | xargs) $(journals)"
	fi
done
equal "$kills killed injectors, and who undoes killed twice: something left" $left 0
equal "of these, killed after a change" $((touched > 0)) 1
equal "and while it was being undone" $((half > 0)) 1
echo "  ($touched, $half of $((kills * 2)))"
umount "$run"
finish
