#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Stock virtual machines whose memory is evicted while their disk does DMA: what a recording says is held to the truth log,
# and both to what the guests' kernels have counted; guests that reboot, balloon, are suspended and go on; others' QEMU, others'
# devices; SIGKILL of one side after the other at random instants: KILLS (4) in all, `make lab-vm` has 200.
. "$(dirname "$0")/lib.sh"

RANDOM=7919
kills=${KILLS:-4}
guest_of_vm "guest 6.12" || finish

# qemu_arguments LOAD...: of a stock machine that boots the guest with this load.
qemu_arguments() {
	echo "-machine q35 -cpu max,-cx16,-erms,-fsrm,-la57,-smap,-smep -nodefaults -kernel build/vm/kernel -initrd build/vm/initrd" \
		"-append \"$(cat build/vm/command-line) -- $*\""
}

# tenant NAME ARGUMENTS [KEY=VALUE...]
tenant() {
	printf '[tenant %s]\nbackend = vm\nmemory = 256M\nqemu = %s\n' "$1" "$2"
	[ $# -lt 3 ] || printf '%s\n' "${@:3}"
}
disk() { # NAME TENANT LOOKUP QUEUES
	printf '[device %s]\ntenant = %s\nlookup = %s\nqueues = %s\nfile_bytes = 8M\n' "$@"
}
# Pages of all of the guests' memory are taken, whatever they are.
cold() { # RATE PAGES
	printf '[inject cold]\naction = evict\nwhat = random\nkind = major\nrate = %s/s\npages = %s\nduration = 1h\n' "$1" "$2"
}
# The device is gone, as if it had been killed, and there again: every so many tenths of a second.
restarts() { # DEVICE TENTHS
	printf '[inject gone]\naction = device_restart\ndevice = %s\ninterval = %s\nduration = 1h\n' "$@"
}

# --- Two machines at once. One is suspended again and again and reboots, and uses memory that is plugged in; its disk looks before
# it accesses. The other's faults in the kernel, and between two rounds of its load a balloon takes more than half of what it has
# and gives it back: the second finds zeroes there.
memory='churn_bytes=16M churn_threads=2 churn_operations=2003 tmpfs_files=2 tmpfs_bytes=1M tmpfs_rounds=3'
plugged='await_memory=150M churn_bytes=96M churn_threads=1 churn_operations=8009'
needy='churn_bytes=40M churn_threads=1 churn_operations=20011'
disks='disk_bytes=8M disk_threads=2 disk_buffered=1 disk_operations=127 disk_zero_percent=3 disk_discard_percent=3'
{
	printf '[machine]\ntimeout = 20m\n'
	tenant looks "-smp 2 $(qemu_arguments "$plugged $disks reboots=1")" 'plug = 128M' 'plug_at = 2s' | sed s/256M/128M/
	# Of little memory, so that what has been given back is needed again.
	tenant faults "-smp 1,maxcpus=2 -no-reboot $(qemu_arguments "rounds=2 rest_balloon=16M $needy $disks")" | sed s/256M/128M/
	disk checked looks pa-bitmap 2
	disk unchecked faults uffd 1
	cold 40 17
	printf '[inject stand]\naction = suspend\ntenant = looks\nstart = 1s\nperiod = 500ms\nduration = 4s\n'
	printf '[inject squeeze]\naction = balloon\ntenant = faults\nmemory = 64M\nperiod = 2s\nduration = 1h\n'
} >two.ini
"$FAULTLINE" record --as-root -o run.flt -- "$INJECT" run two.ini --csv=two.csv --truth truth.jsonl --console console >run.out 2>run.err
equal "two machines: exit" $? 0
"$FAULTLINE" report run.flt --csv=csv --raw-time >/dev/null 2>report.err
python3 "$root/tests/reference/compare_truth.py" csv truth.jsonl* --evictions-race >verdict 2>&1
adopt "two machines"
python3 "$root/tests/reference/compare_vm.py" two.csv truth.jsonl console 3 >verdict 2>&1
adopt "two machines"
equal "one has booted twice" "$(cells_of two.csv guest_boots vms_ended)" "2 2"
between "it was suspended and went on" "$(cells_of two.csv suspensions)" 1 1000000
equal "memory was plugged in" "$(cells_of two.csv plugged)" 32768
between "the balloon took pages of the other" "$(cells_of two.csv ballooned)" 4096 100000000
between "what it had given back was touched again, as zeroes" "$(cells_of two.csv given_back)" 1 100000000

# --- A QEMU that does not do as its monitor is told: it is said, and the run is over.
cat >qemu.py <<'PY'
#!/usr/bin/python3
import os, sys, time
os.write(5, sys.argv[-1].replace("|", "\n").encode())
time.sleep(1000)
PY
chmod +x qemu.py
refused_by() { # NAME WHAT-IT-SAYS SENTENCE
	{
		tenant vm "$PWD/qemu.py '$2'"
		disk disk vm pa-bitmap 1
		printf '[inject squeeze]\naction = balloon\nmemory = 96M\nduration = 1h\n'
	} >refuses.ini
	"$INJECT" run refuses.ini >run.out 2>refuses.err
	equal "$1: exit" $? 1
	check "$1: it is said" grep -q "\[inject squeeze\]: virtual machine vm: QEMU.*$3" refuses.err
}
greets='{"QMP": {}}|{"return": {}, "id": 1}|'
refused_by "a refusal" "$greets"'{"error": {"desc": "No balloon here"}, "id": 2}|' "refuses 'balloon': No balloon here"
refused_by "no QMP" "${greets}hello|" 's monitor says "hello"'

# --- Somebody else's QEMU, with the line that we print for it. Its disk is killed while requests wait for their pages: none is lost,
# none is done twice.
others_job() { # NAME LOOKUP
	{
		printf '[machine]\ntimeout = 20m\n[tenant vm]\nbackend = vm\nmemory = 128M\nsocket = %s/%s.memory\n' "$PWD" "$1"
		disk disk vm "$2" 1
		printf 'socket = %s/%s.disk\n' "$PWD" "$1"
		cold 40 17
	} >"$1.ini"
}
# others_qemu NAME LOAD [ARGUMENT...]: the line that is printed, and the rest of a machine of theirs behind it.
others_qemu() {
	local line
	line=$("$INJECT" vm --print-arguments "$1.ini") || return 1
	eval "exec env $line $(qemu_arguments "$2") -smp 1,maxcpus=2 -display none -monitor none" '"${@:3}"'
}
others_job other pa-bitmap
{
	restarts vm/disk 9
	printf '[inject late]\naction = delay\ndelay = 10ms\nduration = 1h\n'
} >>other.ini
# Its disk is what takes the time: eight seconds of faults, and hardly an instant without a request that waits.
waiting='disk_bytes=8M disk_threads=4 disk_buffered=1 disk_operations=61 disk_zero_percent=3 disk_discard_percent=3'
"$INJECT" run other.ini --csv=other.csv --truth other.truth >run.out 2>run.err &
machine=$!
wait_for 20 test -S other.memory
others_qemu other "churn_bytes=4M churn_threads=1 churn_operations=503 $waiting end=stay" -no-reboot -serial file:other.console -qmp "unix:$PWD/qmp,server=on,wait=off" \
	>qemu.err 2>&1 &
qemu=$!
wait_for 120 grep -q 'faultline-guest: load_ms' other.console || not_ok "another's machine comes up" "$(tail -n 3 qemu.err run.err)"
check "it is told to quit" "$root/tests/vm/qmp.py" qmp quit
wait $qemu
equal "another's machine: QEMU's exit" $? 0
wait $machine
equal "another's machine: exit" $? 0
equal "not a byte is wrong" "$(tr -d '\r' <other.console | sed -n 's/^faultline-guest: \(wrong_bytes\|errors\) //p' | xargs)" "0 0"
equal "and none went past the pager" "$(cells_of other.csv bypassed errors violations)" "0 0 0"
between "requests that were in flight as the disk was killed were done" "$(cells_of other.csv resubmitted)" 1 1000000

# --- Who writes to a guest's memory by a mapping of his own is noticed, and it is said.
{
	printf '[machine]\ntimeout = 20m\n'
	tenant vm "-smp 1,maxcpus=2 -no-reboot -qmp unix:$PWD/past,server=on,wait=off $(qemu_arguments)"
	disk disk vm pa-bitmap 1
	cold 400 17
} >past.ini
"$INJECT" run past.ini --csv=past.csv --console past.console >run.out 2>past.err &
machine=$!
qemu_of() { qemu=$(pgrep -P "$(pgrep -P "$1" | head -n 1)" qemu | head -n 1) && [ -n "$qemu" ]; } # GUARDIAN
wait_for 60 qemu_of $machine
wait_for 60 test -S past
check "it writes to pages that are out" /usr/bin/python3 - "$qemu" <<'PY'
import os, sys, time
folder = f"/proc/{sys.argv[1]}/fd"
end = time.monotonic() + 60
while True:
    files = [f"{folder}/{name}" for name in os.listdir(folder) if "/memfd:" in os.readlink(f"{folder}/{name}")]
    files = [path for path in files if os.stat(path).st_size == 256 << 20]
    # Some of it is there, some has been evicted.
    if files and os.stat(files[0]).st_blocks > 20000:
        break
    assert time.monotonic() < end, files
    time.sleep(0.1)
time.sleep(1)
with open(files[0], "r+b", buffering=0) as memory:
    for page in range(0, 256 << 20, 4096 * 97):
        memory.seek(page)
        memory.write(b"x")
PY
wait_for 30 grep -q 'past the pager' past.err
"$root/tests/vm/qmp.py" past quit >/dev/null 2>&1
wait $machine
between "it is counted" "$(cells_of past.csv bypassed)" 1 100000
equal "it is said once" "$(grep -c 'past the pager' past.err)" 1

# --- SIGKILL at random instants: of QEMU, of the machine (its devices and its pager), of its guardian, of the machine of another's QEMU.
{
	printf '[machine]\ntimeout = 20m\n'
	tenant vm "-smp 2 -no-reboot $(qemu_arguments "$memory $disks")"
	disk disk vm pa-bitmap 2
	cold 100 17
} >killed.ini
others_job stranger uffd
nap() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }
left() { pgrep -f "$scratch/(killed|stranger)|killed.ini|stranger.ini" | grep -vx $$; }
# Of the job's own sockets, too.
none_left() { [ -z "$(left)" ] && [ -z "$(ls -A "$FAULTLINE_RUN_DIR" 2>/dev/null; ls stranger.memory stranger.disk 2>/dev/null)" ]; }
declare -A said=(
	[qemu]='ended|killed|gone' [machine]='killed|gone|ended' [guardian]='' [stranger]='gone')
alive=0 silent=0
for ((i = 0; i < kills; i++)); do
	victims=(qemu machine guardian stranger)
	victim=${victims[i % 4]}
	job=killed
	[ $victim = stranger ] && job=stranger
	rm -f kill.* stranger.memory stranger.disk
	"$INJECT" run "$job.ini" >kill.out 2>>kill.err & # to its end: another's QEMU says something in it, too
	guardian=$!
	if [ $job = stranger ]; then
		wait_for 20 test -S stranger.memory
		others_qemu stranger "$memory" -serial file:kill.console >>kill.err 2>&1 &
		qemu=$!
		nap $((RANDOM % 4000))
	else
		nap $((RANDOM % 4000))
		qemu_of $guardian || qemu=
	fi
	case $victim in
	qemu) target=$qemu ;;
	guardian) target=$guardian ;;
	*) target=$(pgrep -P $guardian | head -n 1) ;;
	esac
	[ -n "$target" ] && kill -KILL "$target"
	if ! wait_for 1 none_left; then
		alive=$((alive + 1))
		echo "  $i, $victim: left: $(left | xargs) $(ls "$FAULTLINE_RUN_DIR" 2>/dev/null)"
		# shellcheck disable=SC2046
		kill -KILL $(left) 2>/dev/null
		rm -f "$FAULTLINE_RUN_DIR"/*
	fi
	wait $guardian 2>/dev/null
	if [ -n "$target" ] && [ -n "${said[$victim]}" ] && ! grep -qE "${said[$victim]}" kill.err; then
		silent=$((silent + 1))
		echo "  $i, $victim: said: $(head -n 3 kill.err)"
	fi
done
equal "$kills killed: times that something was left" $alive 0
equal "$kills killed: times that the others did not say so" $silent 0
finish
