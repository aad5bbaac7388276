# SPDX-License-Identifier: GPL-2.0
# The kernel's own soft-RoCE beside the emulated device: the same unmodified programs at both, in one guest. Which verbs each
# process has called, in which order, on what, is traced by the kernel at both: where libibverbs enters it, and where the
# emulated device's host carries commands out.
#
# Not tried on the newest since an unpin waits there no more for a VmPin that never falls (injectors/emu/hyv/pin_ring.c).
# kernels: 6.1 6.12
# sample: 6.12
# memory: 1536
# modules: ib_uverbs rdma_rxe dummy crc32_generic
# programs: rdma ip readelf ibv_rc_pingpong ibv_srq_pingpong
# paths: /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so /etc/libibverbs.d/rxe.driver
# files: libfaultline-verbs.so

tracing=/sys/kernel/tracing
# What libibverbs may ask for by a write, or by the ioctl that stands for one: what is not here is noticed by its ioctl.
writes="get_context query_device ex_query_device query_port alloc_pd dealloc_pd reg_mr dereg_mr create_comp_channel create_cq
	ex_create_cq destroy_cq req_notify_cq poll_cq create_qp ex_create_qp modify_qp ex_modify_qp query_qp destroy_qp post_send
	post_recv create_srq modify_srq destroy_srq post_srq_recv"

# A name, bytes of a message, messages each way, and a program.
runs="events 4096 60 ibv_rc_pingpong -e
large 65536 5 ibv_rc_pingpong -e
polling 1000 10 ibv_rc_pingpong
shared 4096 20 ibv_srq_pingpong -q 4
shared_events 4096 30 ibv_srq_pingpong -q 4 -e"

# Of a function of the emulator: where it is in the file, which is where it is in its segment.
offset_of() {
	local symbol kind place address bytes
	symbol=$((16#0$(readelf -sW /bin/faultline-inject | awk -v name="$1" '$8 == name { print $2; exit }')))
	[ $symbol -ne 0 ] || return
	while read -r kind place address _ bytes _; do
		[ "$kind" = LOAD ] && [ $symbol -ge $((address)) ] && [ $symbol -lt $((address + bytes)) ] &&
			printf '0x%x' $((symbol - address + place))
	done < <(readelf -lW /bin/faultline-inject)
}

# probe NAME FUNCTION [ARGUMENT...]: of the kernel.
probe() { echo "p:verbs/$*" >>$tracing/kprobe_events; }

trace_begin() {
	local name offset
	offset=$(offset_of backend_command)
	[ -n "$offset" ] || not_ok "the emulator has its symbols" "no backend_command in it: is it stripped?"
	# One that a kernel has not is missed where it would have been called.
	for name in $writes; do probe "write_$name" "ib_uverbs_$name" 2>/dev/null; done
	probe ioctl ib_uverbs_cmd_verbs 'object=+2(%si):u16 method=+4(%si):u16' &&
		probe write ib_uverbs_write &&
		probe mmap ib_uverbs_mmap &&
		probe channel_closed uverbs_completion_event_file_destroy_uobj &&
		probe modified rxe_modify_qp 'state=+0(%si):u32 mask=%dx:x32' &&
		probe registered rxe_reg_user_mr 'length=%dx:u64' ||
		not_ok "the kernel has the functions of verbs"
	echo "p:verbs/backend /bin/faultline-inject:$offset backend=%di:x64 kind=+0(%si):u16 argument=+16(%si):u64" \
		>$tracing/uprobe_events || not_ok "the emulator has its function of verbs"
	echo 1 >$tracing/events/verbs/enable
}

trace_end() {
	echo 0 >$tracing/events/verbs/enable
	echo >$tracing/kprobe_events
	echo >$tracing/uprobe_events
	: >$tracing/trace
}

# both NAME SIZE MESSAGES PROGRAM...: at one and at the other, each traced.
both() {
	local name=$1 at=$results/$1 size=$2 count=$3
	shift 3
	part rxe
	rdma statistic show link rxe0/1 >"$at.before"
	: >$tracing/trace
	at_rxe "$at" "$@" -s "$size" -n "$count"
	cp $tracing/trace "$at.rxe"
	rdma statistic show link rxe0/1 >"$at.after"
	echo "$name $size $count $server $client $*" >>"$results/runs"
	part emulated
	: >$tracing/trace
	at_emulated "$at" "$@" -s "$size" -n "$count"
	cp $tracing/trace "$at.emulated"
}

guest() {
	local run
	. /lab/rxe.sh
	mkdir -p "$results"
	part setup
	rxe_begin
	trace_begin
	while read -r run; do
		# shellcheck disable=SC2086
		both $run
	done <<<"$runs"
	part teardown
	trace_end
	rxe_end
}

host() {
	python3 "$reference/compare_rxe.py" . || failed=$((failed + 1))
}
