# SPDX-License-Identifier: GPL-2.0
# Memory pinned by io_uring, mapped anew and seen by other processes, under this kernel: 6.1 counts what was unpinned until a
# worker has been there, and has no poisoned pages; the newest counts none of who has CAP_IPC_LOCK.
#
# sample: 6.1
# memory: 3072
# files: build/tests/unit/test_kernel_pins build/tests/unit/test_pin_ring build/tests/unit/test_scratch build/tests/unit/test_memory_views build/tests/unit/test_memory_overlay

guest() {
	mkdir -p "$results"
	export TMPDIR=/tmp
	for test in kernel_pins pin_ring scratch memory_views memory_overlay; do
		"test_$test" >"$results/$test.out" 2>&1
		equal "$test holds" $? 0
	done
}
