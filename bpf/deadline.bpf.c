// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a capture that was asked to last so long, kept by a timer of the kernel's: it comes while
 * the recorder is held up, and no program has to look at a clock.
 */
#include "bpf/kernel.h"
#include "bpf/state.h"

char LICENSE[] SEC("license") = "GPL";

struct deadline {
	struct bpf_timer timer;
};

/* Not with the maps that all share: programs that trace may not use a map that holds a timer. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct deadline);
} deadlines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_state);
} state SEC(".maps");

static int stop(void *map, __u32 *key, struct deadline *deadline)
{
	__u32 zero = 0;
	struct capture_state *shared = bpf_map_lookup_elem(&state, &zero);

	(void)map;
	(void)key;
	(void)deadline;
	if (shared && shared->running) {
		shared->running = 0;
		shared->stopped_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* Run once by user space. */
SEC("syscall")
int arm(const __u64 *left_ns)
{
	__u32 zero = 0;
	struct deadline *deadline = bpf_map_lookup_elem(&deadlines, &zero);
	long error;

	if (!deadline)
		return -1;
	error = bpf_timer_init(&deadline->timer, &deadlines, 1 /* CLOCK_MONOTONIC */);
	if (!error)
		error = bpf_timer_set_callback(&deadline->timer, stop);
	return error ? error : bpf_timer_start(&deadline->timer, *left_ns, 0);
}
