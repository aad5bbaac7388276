#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes the guest of jobs with `backend = vm`: build/vm/kernel, the lab's 6.12 as an ELF file, and
# build/vm/initrd: its modules for virtio, busybox and the load of tests/vm/guest, which is its first process.
#
#   guest.sh                  makes what is missing or old, and prints the folder
#   guest.sh with PROGRAM...  the same, and initrd-PROGRAM-..., in which these programs of the host are, too
#   guest.sh run WORD...      boots it as it is: KEY=VALUE words are the load's, all others QEMU's
#
# Exits with 75 if the kernel cannot be fetched; the last line that begins with "lab: " says why.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
vm=$root/build/vm

# What an emulated CPU pays for most and no guest is about is left out, as in the lab. It boots with one CPU, and the load brings the others
# up, for QEMU's sake (docs/vm.md, Traps: int3).
command_line='console=ttyS0 loglevel=4 panic=-1 oops=panic no_timer_check nowatchdog rcupdate.rcu_cpu_stall_timeout=120
	mitigations=off init_on_alloc=0 clearcpuid=112 memhp_default_state=online maxcpus=1 noreplace-smp'

made() {
	local image initrd
	image=$(tests/lab/kernels.sh image 6.12)
	mkdir -p "$vm"
	exec {lock}>"$vm/lock"
	flock "$lock"
	if [ ! -e "$vm/load" ] || [ -n "$(find tests/vm/guest -newer "$vm/load")" ]; then
		gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -static -pthread tests/vm/guest/*.c -o "$vm/load.new"
		mv "$vm/load.new" "$vm/load"
	fi
	initrd=$(IFS=- && echo "$vm/initrd${*:+-$*}")
	if [ ! -e "$initrd" ] || [ "$vm/load" -nt "$initrd" ] || [ tests/vm/image.py -nt "$initrd" ] ||
		[ "$(cat "$vm/of" 2>/dev/null)" != "$image" ]; then
		/usr/bin/python3 tests/vm/image.py "$image" "$vm" "$@"
		echo "$image" >"$vm/of"
	fi
	tr -s '\n\t' ' ' <<<"$command_line" | sed 's/ $//' >"$vm/command-line.new"
	mv "$vm/command-line.new" "$vm/command-line"
	flock -u "$lock"
}

# Without cmpxchg16b: guests whose memory was evicted panicked with garbage in their flags, twice behind this instruction, and
# none has without it (docs/vm.md).
run() {
	local load=() arguments=() word
	for word in "$@"; do
		case $word in
		[a-z]*_[a-z]*=* | seed=* | seconds=* | end=* | reboots=* | disk=/dev/*) load+=("$word") ;;
		run=*) load+=("run=\"${word#run=}\"") ;;
		*) arguments+=("$word") ;;
		esac
	done
	exec qemu-system-x86_64 -machine q35 -cpu max,-cx16,-erms,-fsrm,-la57,-smap,-smep -m 256M -nodefaults -no-user-config -no-reboot \
		-display none -serial stdio -kernel "$vm/kernel" -initrd "$vm/initrd" \
		-append "$(cat "$vm/command-line") -- ${load[*]}" "${arguments[@]}"
}

[ "${1:-}" = with ] && made "${@:2}"
made
case ${1:-} in
'' | with) echo "$vm" ;;
run) run "${@:2}" ;;
*)
	sed -n 's/^# \{0,1\}//; 3,10p' "$0" >&2
	exit 2
	;;
esac
