#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A stranger's job file writes nothing that it does not name as writable, and no block device without
# consent or that is in use.
own_mounts=yes
. "$(dirname "$0")/../e2e/lib.sh"

truncate -s 16M disk.img
printf 'precious' | dd of=disk.img conv=notrunc status=none
sum() { sha256sum <"$1"; }
untouched=$(sum disk.img)
cat >job.ini <<JOB
[tenant t]
memory = 64M
[device disk]
tenant = t
model = block
file = $PWD/disk.img
[workload w]
device = disk
read_percent = 50
count = 997
JOB
run_job() { "$INJECT" run job.ini --csv=- "$@" >out 2>err; }

run_job
equal "a job that would write a file, and does not say so, is refused" "$? $(grep -c '^faultline: job.ini:7: .*writable=yes' err)" "3 1"
equal "and nothing was written" "$(sum disk.img)" "$untouched"
run_job --set w.read_percent=100
equal "reading needs no more" "$?" 0
equal "and writes nothing" "$(sum disk.img)" "$untouched"
"$INJECT" run job.ini --dry-run --set disk.writable=yes >out
check "a dry run names what would be written" grep -qxF "  t/disk: WRITES $PWD/disk.img" out
"$INJECT" run job.ini --dry-run --set w.read_percent=100 >out
check "and what would be read" grep -qxF "  t/disk: reads $PWD/disk.img" out
run_job --set disk.writable=yes --set disk.file= --set w.read_percent=100
equal "of a disk's own file nothing is to be said" "$? $(grep -c 'writable=yes: has no effect' err)" "2 1"
cp disk.img other.img
run_job --set disk.writable=yes --set "disk.file=$PWD/other.img"
equal "a file that is writable is written" "$? $([ "$(sum other.img)" = "$untouched" ] || echo other)" "0 other"

ln -s other.img link.img
"$INJECT" run job.ini --dry-run --set disk.writable=yes --set "disk.file=$PWD/link.img" >out
check "a link is named as what it leads to" grep -qxF "  t/disk: WRITES $PWD/other.img" out

mkfifo pipe
for file in "$PWD/pipe" "$PWD" /dev/null /dev/zero; do
	run_job --set "disk.file=$file" --set w.read_percent=100
	equal "$file is no disk" "$(grep -c 'neither a regular file nor a block device' err)" 1
done

# The name of a shipped job is never that of a file beside it.
cp job.ini rtt
"$INJECT" check rtt >out
check "a shipped job is not shadowed" grep -q '/rtt.ini: .* nothing wrong' out

# A disk on which nothing more fits is fast: what failed is told.
mkdir small && mount -t tmpfs -o size=1M none small && truncate -s 16M small/disk
run_job --set disk.writable=yes --set "disk.file=$PWD/small/disk" --set w.read_percent=0
equal "I/Os that fail are told beside CSV" "$? $(cat out err | grep -cE '^Failed: [5-9][0-9]{2} of 997 I/Os, of t/disk\.$')" "0 1"
"$INJECT" run job.ini --set disk.writable=yes --set "disk.file=$PWD/small/disk" --set w.read_percent=0 >out 2>err
equal "and below the table" "$? $(tail -n 1 out | grep -c '^Failed: ')" "0 1"
umount small
run_job --set w.read_percent=100
equal "none is told where none failed" "$? $(cat out err | grep -c Failed)" "0 0"
cat >failing.ini <<'JOB'
[tenant t]
count = 5
memory = 8M
[device disk]
file_bytes = 4M
[workload w]
sizes = 4K
count = 300
rate = 600/s
[inject cold]
action = evict
pages = 7
rate = 100/s
duration = 9s
[inject refusal]
action = response_failure
probability = 100
duration = 9s
[sweep]
refused = refusal.enabled: no, yes
JOB
"$INJECT" run ./failing.ini >out 2>err
equal "of several points and devices the worst are named" \
	"$(grep -cE '^Failed: [0-9]+ of 1500 I/Os, of t0/disk, t1/disk, t2/disk and 2 others \(1 of 2 points, most in refused=yes\)\.$' out)" 1

if loop=$(losetup --find --show disk.img 2>&1); then
	second=''
	on_exit() {
		umount mounted 2>/dev/null
		[ -z "$second" ] || losetup -d "$second" 2>/dev/null
		losetup -d "$loop"
	}
	trap 'on_exit; rm -rf --one-file-system "$scratch"' EXIT
	written=(--set disk.writable=yes --set "disk.file=$loop")
	"$INJECT" run job.ini --dry-run "${written[@]}" >out
	check "a dry run names the consent that a block device needs" \
		grep -qxF "  t/disk: WRITES $loop, a block device: needs --yes-i-mean-it $loop" out
	run_job "${written[@]}"
	equal "without it nothing is done" "$? $(grep -c "add --yes-i-mean-it $loop" err)" "4 1"
	run_job "${written[@]}" --yes-i-mean-it /dev/null
	equal "nor with another's" "$?" 4
	equal "nothing at all" "$(sum "$loop")" "$untouched"
	run_job --set disk.writable=yes
	equal "nor by way of the file that the device is made of" "$? $(grep -c "$loop is made of it" err)" "1 1"
	ln disk.img second.img && mv disk.img gone.img && rm gone.img
	run_job --set disk.writable=yes --set "disk.file=$PWD/second.img"
	equal "nor by another link of that" "$? $(grep -c "$loop is made of it" err)" "1 1"
	mv second.img disk.img
	mkdir inside outside && mv disk.img inside
	run_inside() { unshare -m -- sh -c 'mount --bind inside outside && losetup -d "$1" && losetup "$1" outside/disk.img && exec sleep 600' sh "$loop"; }
	run_inside & holder=$!
	elsewhere() { losetup "$loop" 2>&1 | grep -q outside; }
	wait_for 20 elsewhere || not_ok "a loop device of another mount namespace"
	run_job --set disk.writable=yes --set "disk.file=$PWD/inside/disk.img"
	equal "nor where a container has given it" "$? $(grep -c "$loop is made of it" err)" "1 1"
	kill $holder
	wait $holder 2>/dev/null
	mv inside/disk.img .
	losetup -d "$loop" && losetup "$loop" disk.img
	mkfs.ext2 -q "$loop" && mkdir mounted && mount "$loop" mounted && echo precious >mounted/file && umount mounted
	mount -o ro "$loop" mounted # so that the kernel does not write it either
	in_use=$(sum "$loop")
	run_job "${written[@]}" --yes-i-mean-it "$loop"
	equal "a mounted one is not written with it either" "$? $(grep -c 'it is mounted' err)" "1 1"
	equal "nothing at all of it" "$(sum "$loop") $(cat mounted/file)" "$in_use precious"
	umount mounted
	run_job "${written[@]}" --yes-i-mean-it "$loop"
	equal "one that is free is, with it" "$? $([ "$(sum "$loop")" = "$in_use" ] || echo other)" "0 other"

	# Consent to one device is none to what another one makes of the same disk.
	whole_sum() { cat disk.img "$loop" | sha256sum; }
	unshared() { # DISK SENTENCE: what became of writing it beside $second, which goes
		local before refusal
		before=$(whole_sum)
		run_job --set disk.writable=yes --set "disk.file=$1" --yes-i-mean-it "$1"
		refusal="$? $(grep -cE "^faultline: .*$1: $2" err)"
		losetup -d "$second"
		echo "$refusal $([ "$(whole_sum)" = "$before" ] || echo other)"
	}
	mkfs.ext2 -qF "$loop" && sync "$loop" && mount -o ro "$loop" mounted
	for above in disk.img "--offset 1M disk.img" "$loop"; do
		# shellcheck disable=SC2086
		second=$(losetup --find --show $above)
		equal "nor by way of another device of the same: ${above//$loop/a device}" "$(unshared "$second" "($loop is made of the same|is made of $loop, which cannot be opened: .*it is mounted)")" "1 1 "
	done
	umount mounted
	second=$(losetup --find --show "$loop")
	equal "nor a device of which another one is made" "$(unshared "$loop" "$second is made of it")" "1 1 "
	losetup -d "$loop" && losetup -P "$loop" disk.img && addpart "$loop" 1 2048 8192
	second=$(losetup --find --show "${loop}p1")
	equal "nor one of a part of which another one is made" "$(unshared "$loop" "$second is made of it")" "1 1 "
	second=$(losetup --find --show "$loop")
	equal "nor a part of one of which another one is made" "$(unshared "${loop}p1" "$second is made of it")" "1 1 "
	second=$(losetup --find --show disk.img)
	equal "nor a part of one whose file has another" "$(unshared "${loop}p1" "$second is made of the same")" "1 1 "
	second=$(losetup --find --show "$loop")
	in_use=$(sum "$loop")
	run_job --set disk.writable=yes --set "disk.file=$second" --yes-i-mean-it "$second"
	equal "one that nothing else is made of is, whatever it is made of" "$? $([ "$(sum "$loop")" = "$in_use" ] || echo other)" "0 other"
	losetup -d "$second"
	second=''
else
	skip "no loop device can be made" "$loop"
fi
finish
