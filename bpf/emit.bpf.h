/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How every BPF program counts and emits.
 *
 * A record is reserved first and stamped right after: what a ring hands out after the consumer has
 * looked is then always younger than that look, which is what the merge's watermark relies on
 * (lib/capture/merge.h).
 */
#ifndef FAULTLINE_EMIT_BPF_H
#define FAULTLINE_EMIT_BPF_H

#include "bpf/histogram.h"
#include "bpf/maps.bpf.h"

/*
 * A function that the kernel's verifier checks once and by itself, whatever its callers know. It
 * may only be called with memory that is really there.
 */
#define global_function __attribute__((noinline))

#define SPACES_MAX 4096

static __always_inline bool kind_wanted(__u32 kind)
{
	return kind_set_has(&filter.kinds, kind);
}

static __always_inline bool kind_single(__u32 kind)
{
	return kind_set_has(&filter.singles, kind);
}

/*
 * No program is alone with its row's counter: uprobes and functions are preempted, interrupted by the
 * row's other program, and on kernels that preempt everything so are tracepoints.
 */
#define count_up(counter) __sync_fetch_and_add(&(counter), 1)

static __always_inline struct capture_state *shared_state(void)
{
	return map_only(&state);
}

static __always_inline bool capture_running(void)
{
	struct capture_state *shared = shared_state();

	return shared && shared->running;
}

/*
 * Begins every program. NULL while capture is not running: attaching takes milliseconds, and a fault
 * of which only some stages could be seen would look like a broken one. Nothing orders the look at
 * `running`: a CPU that sees its change late leaves out, or emits, a moment more.
 */
static __always_inline struct probe_counter *probe_hit(__u32 probe)
{
	struct probe_counter *counter = bpf_map_lookup_elem(&counters, &probe);

	if (!capture_running() || !counter)
		return NULL;
	count_up(counter->hits);
	return counter;
}

/* The counter in the second program of a pair: its run is no further hit. */
static __always_inline struct probe_counter *probe_again(__u32 probe)
{
	return capture_running() ? bpf_map_lookup_elem(&counters, &probe) : NULL;
}

static __always_inline void state_failed(void)
{
	struct capture_state *shared = shared_state();

	if (shared)
		__sync_fetch_and_add(&shared->state_failed, 1);
}

/* The running task's entry, made if there is none; NULL and counted if that failed. */
static __always_inline void *task_entry_make(void *map)
{
	void *entry = task_entry_ensure(map);

	if (!entry)
		state_failed();
	return entry;
}

/* Room for one event in this CPU's ring with what every event has; NULL and counted if full. */
static __always_inline struct event *event_reserve(struct probe_counter *counter, __u16 kind)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct event *event = NULL;
	__u64 task;

	if (ring)
		event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);
	if (!event) {
		count_up(counter->lost);
		return NULL;
	}
	event->time_ns = bpf_ktime_get_ns();
	task = bpf_get_current_pid_tgid();
	event->address = 0;
	event->length = 0;
	event->value = 0;
	event->device = DEVICE_NONE;
	event->pasid = PASID_NONE;
	event->group = 0;
	event->instance = 0;
	event->pid = task >> 32;
	event->tid = (__u32)task;
	event->kind = kind;
	event->queue = QUEUE_NONE;
	event->cpu = cpu;
	event->code = 0;
	event->flags = 0;
	return event;
}

static __always_inline struct event *event_if_wanted(struct probe_counter *counter, __u16 kind)
{
	return kind_wanted(kind) ? event_reserve(counter, kind) : NULL;
}

/* Says which fault the event belongs to. */
static __always_inline void event_of_fault(struct event *event, const struct group_key *key,
					   __u32 instance)
{
	event->device = key->device;
	event->pasid = key->pasid;
	event->group = key->group;
	event->instance = instance;
}

/*
 * An event that may be missing: not wanted, or no room. Programs that keep an account besides look
 * at `held`, never twice at the pointer: the verifier of Linux 6.1 does not know that a record which
 * was there is still there, and takes the other branch for one that leaks it.
 */
struct record {
	struct event *event;
	__u64 held;
};

static __always_inline struct record record_take(struct probe_counter *counter, __u16 kind)
{
	struct record record = {};

	if (kind_wanted(kind)) {
		record.event = event_reserve(counter, kind);
		if (record.event)
			record.held = 1;
	}
	/* Else the compiler, which knows that they are the same, looks at the pointer instead. */
	barrier_var(record.held);
	return record;
}

static __always_inline void record_drop(struct record record)
{
	if (record.held)
		bpf_ringbuf_discard(record.event, BPF_RB_NO_WAKEUP);
}

static __always_inline void event_submit(struct probe_counter *counter, struct event *event)
{
	count_up(counter->emitted);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* What a call of the kernel returned, as the code of an event. */
static __always_inline __u8 errno_of(long result)
{
	if (result >= 0)
		return 0;
	return result < -255 ? 255 : -result;
}

static __always_inline void aggregate_failed(void)
{
	struct capture_state *shared = shared_state();

	if (shared)
		__sync_fetch_and_add(&shared->aggregate_failed, 1);
}

static __always_inline void aggregate_bin_add(const struct aggregate_key *key, __u64 latency_ns)
{
	struct aggregate_bin_key bin = {
		.aggregate = *key,
		.bucket = histogram_bucket(latency_ns),
	};
	__u64 one = 1, *count = bpf_map_lookup_elem(&aggregate_bins, &bin);

	/* Two CPUs may meet a new bucket at once: the second then finds the first one's. */
	if (!count && !bpf_map_update_elem(&aggregate_bins, &bin, &one, BPF_NOEXIST))
		return;
	if (!count)
		count = bpf_map_lookup_elem(&aggregate_bins, &bin);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		aggregate_failed();
}

/*
 * Counts one occurrence of what is not recorded one by one. The counts are this CPU's own, but the
 * task may be interrupted by who counts the same: hence atomic. If that happens between comparing and
 * writing the maximum, the greater of the two is lost, which is worth no loop.
 */
static __always_inline void aggregate_add(const struct aggregate_key *key, __u64 bytes,
					  __u64 latency_ns)
{
	struct aggregate_counts *counts = bpf_map_lookup_elem(&aggregates, key);

	if (!counts) {
		struct aggregate_counts none = {};

		bpf_map_update_elem(&aggregates, key, &none, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&aggregates, key);
	}
	if (!counts) {
		aggregate_failed();
		return;
	}
	__sync_fetch_and_add(&counts->count, 1);
	__sync_fetch_and_add(&counts->bytes, bytes);
	if (!latency_ns)
		return;
	__sync_fetch_and_add(&counts->latency_sum_ns, latency_ns);
	if (counts->latency_max_ns < latency_ns)
		counts->latency_max_ns = latency_ns;
	aggregate_bin_add(key, latency_ns);
}

/* Likewise, into this second. */
static __always_inline void aggregate_now(struct aggregate_key *key, __u64 bytes, __u64 latency_ns)
{
	key->window = bpf_ktime_get_ns() / AGGREGATE_WINDOW_NS;
	aggregate_add(key, bytes, latency_ns);
}

/*
 * Of a kind that is counted unless it was asked for one by one: its event, which has what the key says,
 * or NULL.
 */
static __always_inline struct event *event_or_count(struct probe_counter *counter,
						    struct aggregate_key *key, __u64 bytes,
						    __u64 latency_ns)
{
	struct event *event;

	if (!kind_single(key->kind)) {
		aggregate_now(key, bytes, latency_ns);
		return NULL;
	}
	event = event_reserve(counter, key->kind);
	if (event) {
		event->device = key->device;
		event->queue = key->queue;
		event->code = key->code;
		event->flags = key->flags;
	}
	return event;
}

#endif
