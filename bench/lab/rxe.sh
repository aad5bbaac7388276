# SPDX-License-Identifier: GPL-2.0
# Debian's ibv_rc_pingpong at the kernel's soft-RoCE and, preloaded, at emulated devices: read by bench/rxe_bench.py.
# The guest's clock counts instructions of its one CPU, so that it tells how many each of both takes, whatever the host does.
# kernels: 6.1 6.12
# memory: 1536
# cpu limit: 1000
# modules: ib_uverbs rdma_rxe dummy crc32_generic
# programs: rdma ip ibv_rc_pingpong
# paths: /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so /etc/libibverbs.d/rxe.driver
# files: libfaultline-verbs.so

rounds=5 # the bench fills it in

# told VARIANT SIZE FILE...: what a client says of an iteration.
told() {
	local variant=$1 size=$2
	shift 2
	sed -nE "s|^(right: *)?([0-9]+) iters in .* = ([0-9.]+) usec/iter|bench $variant $size \3|p" "$@"
}

# both SIZE MESSAGES: each waiting for events, as on one CPU who polls keeps the other from going on.
both() {
	at_rxe events ibv_rc_pingpong -e -s "$1" -n "$2"
	told rxe "$1" events.client
	at_emulated events ibv_rc_pingpong -e -s "$1" -n "$2"
	told preload "$1" events.out
}

guest() {
	local round
	. /lab/rxe.sh
	rxe_begin
	for ((round = 0; round < rounds; round++)); do
		both 64 1000
		both 4096 1000
		both 65536 100
	done
	rxe_end
}
