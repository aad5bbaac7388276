# SPDX-License-Identifier: GPL-2.0
# Interrupts that begin and end DMA in the middle of a look into a task's storage, where the kernel refuses
# one of the two looks. The kernel's tracing of that look makes it long enough to be met; no call loses its beginning.
#
# sample: none
# iommu: intel
# disk: nested 64M
# devices: -device nvme,drive=nested,serial=nested
# modules: nvme

tracing=/sys/kernel/tracing
slow=$tracing/instances/slow

# lengthen FUNCTION COPIES: it runs while the storage is held; each event on it takes a stack.
lengthen() {
	local copy event
	mkdir $slow
	for ((copy = 0; copy < $2; copy++)); do echo "p:nested/$1_$copy $1" >>$tracing/kprobe_events; done
	for event in $slow/events/nested/*/; do echo stacktrace >"$event/trigger"; done
	echo 1 >$slow/events/nested/enable
}

shorten() {
	local event
	echo 0 >$slow/events/nested/enable
	for event in $slow/events/nested/*/; do echo '!stacktrace' >"$event/trigger"; done
	rmdir $slow
	: >$tracing/kprobe_events
}

guest() {
	local reader readers= count tasks=20
	load nvme
	wait_for 5 test -b /dev/nvme0n1
	record_start
	# 6.1 refuses every look, 6.12 what a task's first call has to make, 7 the first entry of a task if it was
	# interrupted by another: the rarer that is, the longer it has to last, and the more tasks there have to be.
	case $kernel in
	6.1) lengthen bpf_local_storage_lookup 4 ;;
	6.12) lengthen bpf_selem_alloc 160 && tasks=160 ;;
	new) lengthen bpf_selem_alloc 400 && tasks=300 ;;
	esac
	for reader in 1 2 3 4; do
		dd if=/dev/nvme0n1 of=/dev/null bs=4k iflag=direct skip=$((reader * 1000)) count=3000 2>/dev/null &
		readers+=" $!"
	done
	for ((count = 0; count < tasks; count++)); do
		dd if=/dev/nvme0n1 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
	done
	kill $readers
	wait $readers
	shorten
	equal "calls whose beginning was lost" "$(counted state_failed)" 0
	if [ "$kernel" = new ]; then
		equal "calls that their task could not note" "$(counted calls_aside)" 0
	else
		between "calls that their task could not note" "$(counted calls_aside)" 1 100000
	fi
	record_stop
	unload nvme
}
