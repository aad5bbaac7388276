// SPDX-License-Identifier: GPL-2.0
/*
 * Beginning and end of a capture that was asked to last so long. A timer of the kernel's ends it: also
 * while the recorder is held up, and no program has to look at a clock. It is set in the same moment in
 * which the programs are let go: between the two the recorder could be held up, too.
 */
#include "bpf/kernel.h"
#include "bpf/state.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct deadline {
	struct bpf_timer timer;
};

/* Not with the maps that all share: programs that trace may not use a map that holds a timer. */
MAP(deadlines, ARRAY, 1, __u32, struct deadline);

static int stop(void *map, __u32 *key, struct deadline *deadline)
{
	struct capture_state *shared = map_only(&state);

	(void)map;
	(void)key;
	(void)deadline;
	if (shared && shared->running) {
		shared->running = 0;
		shared->stopped_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* Run once by user space, which finds in `started_ns` of the state when it began. */
SEC("syscall")
int begin(const __u64 *duration_ns)
{
	struct deadline *deadline = map_only(&deadlines);
	struct capture_state *shared = map_only(&state);
	long error;

	if (!deadline || !shared)
		return -1;
	error = bpf_timer_init(&deadline->timer, &deadlines, 1 /* CLOCK_MONOTONIC */);
	if (!error)
		error = bpf_timer_set_callback(&deadline->timer, stop);
	if (error)
		return error;
	shared->started_ns = bpf_ktime_get_ns();
	shared->running = 1;
	return bpf_timer_start(&deadline->timer, *duration_ns, 0);
}
