#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# SIGKILL at random instants of a flight recorder and of `recover`, also on full disks: every complete frame is
# readable, the next one begins, what was changed is undone, nothing is left. A thousand of them in the longer form.
own_mounts=yes
. "$(dirname "$0")/../e2e/lib.sh"

# It says nothing until its end: 3000 s of CPU time are for a thousand kills.
kills() { "$root/tests/watchdog.py" run --cpu 3000 --quiet 300 -- /usr/bin/python3 -B "$root/tests/hostile/kills.py" "$@"; }
recorders=6 recoveries=12
[ "${HOSTILE:-}" != long ] || recorders=250 recoveries=250

mkdir disk small run attributes full
trap 'umount -l small full 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
mount -t tmpfs -o size=300K none small
mount -t tmpfs -o size=64K none full
chmod 700 run full
programs_before=$(orphaned_programs)

# killed NAME WHAT ARGUMENT...: told with what was met.
killed() {
	local name=$1 met status
	shift
	met=$(kills "$@" 2>&1)
	status=$?
	if [ $status -eq 0 ]; then ok "$name: $(tail -n 1 <<<"$met")"; else not_ok "$name" "$met"; fi
}

cat >machine.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
[workload mix]
rate = 300/s
duration = 3600s
[inject cold]
action = evict
what = next
rate = 300/s
duration = 3600s
INI
"$INJECT" run machine.ini >/dev/null 2>machine.err &
machine=$!
wait_for 20 bash -c "ls $FAULTLINE_RUN_DIR/*.machine" || not_ok "the machine started" "$(cat machine.err)"
killed "killed recorders" recorder "$FAULTLINE" disk $recorders $((1 << 20))
head -c 100K /dev/zero >small/filler
killed "killed recorders on a full disk" recorder "$FAULTLINE" small $recorders $((1 << 20))
check "none of them left a BPF program" wait_for 5 programs_gone
kill -INT $machine
wait $machine 2>/dev/null

FAULTLINE_RUN_DIR=$PWD/run killed "killed recoveries" recover "$INJECT" run attributes $recoveries
# What is undone is marked in the journal: where that has no room, undoing comes first.
FAULTLINE_RUN_DIR=$PWD/full killed "killed recoveries in a full run directory" \
	recover "$INJECT" full attributes $((recoveries / 2)) filler
[ "${HOSTILE:-}" != long ] || check "killed injectors and recorders of ordinary recordings" \
	env KILLS=200 FAULTLINE="$FAULTLINE" INJECT="$INJECT" bash "$root/tests/e2e/kill.sh"
umount small full
finish
