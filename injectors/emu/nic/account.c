// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of frames, told to whoever asks: probes for eBPF, each frame by itself for the truth log, counters for
 * the campaign. All of it with the device's lock held.
 */
#include <errno.h>

#include "injectors/emu/frame_totals.h"
#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/probes.h"
#include "injectors/emu/truth.h"
#include "lib/base/clock.h"

#define FLOWS_KNOWN 4096
#define RANGES_OPEN 16384

static atomic_uint last_flow; /* number in the truth log, of all devices */

/* In the truth log a flow has a number, which its first record explains. */
static __u32 truth_flow(struct nic_ring *ring, const struct nic_frame *frame)
{
	__u64 addresses = frame_addresses(&frame->info), ports = frame_ports(&frame->info);
	bool first;
	__u32 number = flow_number(ring->nic->flows, addresses, ports, &first);

	if (number && first)
		truth_log((struct truth_record){
			.address = addresses,
			.value = ports,
			.device = ring->nic->index,
			.pasid = ring->nic->pasid,
			.group = number,
			.queue = ring->index,
			.who = TRUTH_DEVICE,
			.what = TRUTH_FLOW,
		});
	return number;
}

static void truth_frame(struct nic_ring *ring, const struct nic_frame *frame, __u8 what, __u8 code,
			__u64 fault, __u64 value)
{
	if (!truth_enabled())
		return;
	truth_log((struct truth_record){
		.fault = fault,
		.address = frame_sequence(&frame->info),
		.length = frame->length,
		.value = value,
		.device = ring->nic->index,
		.pasid = ring->nic->pasid,
		.group = truth_flow(ring, frame),
		.queue = ring->index,
		.who = TRUTH_DEVICE,
		.what = what,
		.code = code,
	});
}

static void run_told(void *argument, const struct frame_run *run)
{
	const struct nic_ring *ring = argument;
	struct frames_probe probe;

	frame_run_probe(run, ring->nic->index, ring->index, &probe);
	if (run->kind == RUN_LOST)
		FRAMES_PROBE(lost, &probe);
	else
		FRAMES_PROBE(held, &probe);
}

void account_lost(struct nic_ring *ring, const struct nic_frame *frame, enum loss_reason reason,
		  struct nic_blame blame)
{
	struct frame_run run =
		frame_run_of(&frame->info, RUN_LOST, (__u8)reason, frame->arrived_ns);

	ring->rx.lost[reason]++;
	if (reason == LOSS_CACHE_FULL && !ring->state.cached.count)
		ring->nic->lost_innocent++;
	truth_frame(ring, frame, TRUTH_FRAME_LOST, (__u8)reason, blame.known ? blame.fault : 0, 0);
	run.needless = flow_lost(ring->nic->flows, &frame->info, frame->arrived_ns) > 0;
	if (blame.known) {
		run.blames = true;
		run.pasid = ring->nic->pasid;
		run.group = blame.group;
	}
	run.bytes = frame->length;
	loss_runs_add(ring->runs, &run);
}

void account_held(struct nic_ring *ring, const struct nic_frame *frame, enum hold_place place)
{
	ring->rx.held_ever++;
	truth_frame(ring, frame, TRUTH_FRAME_HELD, (__u8)place, 0, 0);
}

void account_delivered(struct nic_ring *ring, const struct nic_frame *frame, enum hold_place held)
{
	struct nic *nic = ring->nic;
	__u64 now_ns = held ? monotonic_ns() : frame->arrived_ns;

	ring->rx.frames++;
	ring->rx.bytes += frame->length;
	frame_windows_add(&nic->windows, now_ns, frame->length);
	truth_frame(ring, frame, TRUTH_FRAME, 0, 0, now_ns - frame->arrived_ns);
	if (held) {
		struct frame_run run =
			frame_run_of(&frame->info, RUN_HELD, (__u8)held, frame->arrived_ns);

		run.bytes = frame->length;
		loss_runs_add(ring->runs, &run);
	}
	flow_delivered(nic->flows, &frame->info);
	flow_mark_delivered(nic->flows, &frame->info);
}

void account_released(struct nic_ring *ring)
{
	loss_runs_flush(ring->runs);
}

void account_fault_over(struct nic *nic, __u16 group)
{
	for (__u32 r = 0; r < nic->queues; r++)
		loss_runs_fault_over(nic->ring[r].runs, nic->pasid, group);
}

/* All that was lost of a range has come. */
static void range_recovered(void *argument, __u64 addresses, __u64 ports,
			    const struct lost_range *range, bool last)
{
	struct nic *nic = argument;
	struct frames_probe run = {
		.device = nic->index,
		.queue = QUEUE_NONE,
		.addresses = addresses,
		.ports = ports,
		.sequence = (__u64)range->first << 32 | range->end,
		.frames = range->end - range->first,
		.since = range->since,
		.code = (__u64)nic->pasid << 32 | (last ? FRAMES_LAST : 0),
	};

	/* Who hears of it has heard of the loss before. */
	for (__u32 r = 0; r < nic->queues; r++)
		loss_runs_flush(nic->ring[r].runs);
	FRAMES_PROBE(recovered, &run);
}

/* A stall of a flow is over. */
static void flow_was_settled(void *argument, __u64 since)
{
	struct nic *nic = argument;
	__u64 now_ns = monotonic_ns();

	nic->stalls++;
	if (now_ns - since > nic->stall_max_ns)
		nic->stall_max_ns = now_ns - since;
}

static __u64 sum_lost(const struct nic_counters *counters)
{
	__u64 sum = 0;

	for (int reason = 0; reason < LOSS_REASONS; reason++)
		sum += counters->lost[reason];
	return sum;
}

static void truth_ring(const struct nic *nic, __u16 queue, __u8 what, __u8 code, __u64 value,
		       __u64 length)
{
	truth_log((struct truth_record){
		.length = length,
		.value = value,
		.device = nic->index,
		.pasid = nic->pasid,
		.queue = queue,
		.who = TRUTH_DEVICE,
		.what = what,
		.code = code,
	});
}

void account_head(const struct nic_ring *ring, __u32 descriptors)
{
	const struct nic *nic = ring->nic;

	truth_ring(nic, ring->index, TRUTH_HEAD_ADVANCED, 0, descriptors, ring->state.head_offset);
	HEAD_PROBE(nic->index, ring->index, descriptors, ring->state.head_offset);
}

static void tell_ring(const struct nic *nic, __u16 queue, enum ring_side side,
		      const struct nic_counters *counters, __u64 posted)
{
	struct ring_probe probe = {
		.device = nic->index,
		.queue = queue,
		.side = side,
		.frames = counters->frames,
		.bytes = counters->bytes,
		.gauges = counters->held << 32 | posted,
		.lost = sum_lost(counters),
		.interrupts = counters->interrupts,
	};

	truth_ring(nic, queue, TRUTH_RING_STATE, (__u8)side, counters->frames, counters->bytes);
	RING_PROBE(&probe);
}

/* What was lost on the way to the NIC belongs to no ring, and of which flow it was nobody has seen. */
static void tell_missed(struct nic *nic)
{
	__u64 missed = nic->wire->ops->missed ? nic->wire->ops->missed(nic->wire) : 0;
	__u64 frames = missed - nic->missed;
	struct frames_probe run = {
		.device = nic->index,
		.queue = QUEUE_NONE,
		.frames = frames << 32,
		.since = nic->missed_ns,
		.code = LOSS_BEFORE_NIC | (__u64)nic->pasid << 32,
	};

	nic->missed_ns = monotonic_ns();
	if (!frames)
		return;
	nic->missed = missed;
	truth_ring(nic, QUEUE_NONE, TRUTH_FRAMES_MISSED, LOSS_BEFORE_NIC, frames, 0);
	FRAMES_PROBE(lost, &run);
}

void account_tell(struct nic *nic, __u64 now_ns)
{
	tell_missed(nic);
	for (__u32 r = 0; r < nic->queues; r++) {
		struct nic_ring *ring = &nic->ring[r];

		loss_runs_flush_older(ring->runs, now_ns);
		ring->rx.held = ring->state.counters.held;
		tell_ring(nic, (__u16)r, RING_RX, &ring->rx, ring->state.tail - ring->state.head);
		tell_ring(nic, (__u16)r, RING_TX, &nic->tx[r], 0);
	}
}

static void add_counters(struct nic_counters *sum, const struct nic_counters *add)
{
	sum->frames += add->frames;
	sum->bytes += add->bytes;
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		sum->lost[reason] += add->lost[reason];
	sum->held += add->held;
	sum->held_ever += add->held_ever;
	sum->interrupts += add->interrupts;
}

void nic_stats(struct nic *nic, struct nic_stats *stats)
{
	*stats = (struct nic_stats){0};
	pthread_mutex_lock(&nic->lock);
	stats->in = nic->in;
	stats->in_bytes = nic->in_bytes;
	stats->missed = nic->wire->ops->missed ? nic->wire->ops->missed(nic->wire) : 0;
	for (__u32 r = 0; r < nic->queues; r++) {
		struct nic_ring *ring = &nic->ring[r];

		ring->rx.held = ring->state.counters.held;
		add_counters(&stats->rx, &ring->rx);
		add_counters(&stats->tx, &nic->tx[r]);
		stats->halted += ring->halted;
		stats->broken += ring->state.counters.broken;
	}
	pthread_mutex_unlock(&nic->lock);
}

void account_end(struct nic *nic)
{
	struct frame_totals *totals = nic->totals;
	struct nic_stats stats;

	/* It has never begun. */
	if (!nic->wire)
		return;
	for (__u32 r = 0; r < nic->queues; r++)
		ring_report(&nic->ring[r]);
	account_tell(nic, ~0ull);
	nic_stats(nic, &stats);
	totals->in = stats.in;
	totals->in_bytes = stats.in_bytes;
	totals->delivered = stats.rx.frames;
	totals->delivered_bytes = stats.rx.bytes;
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		totals->lost[reason] = stats.rx.lost[reason];
	totals->lost[LOSS_BEFORE_NIC] += stats.missed;
	totals->lost_innocent = nic->lost_innocent;
	totals->held = stats.rx.held;
	totals->held_ever = stats.rx.held_ever;
	totals->sent = stats.tx.frames;
	totals->sent_bytes = stats.tx.bytes;
	totals->sent_lost = sum_lost(&stats.tx);
	totals->interrupts = stats.rx.interrupts;
	totals->halted = stats.halted;
	totals->begin_ns = nic->windows.begin_ns;
	totals->end_ns = nic->windows.end_ns;
	totals->has_least = frame_windows_least(&nic->windows, &totals->least_bytes);
	totals->steady_ns = frame_windows_steady_ns(&nic->windows);
	flow_table_settle(nic->flows);
	totals->stalls = nic->stalls;
	totals->stall_max_ns = nic->stall_max_ns;
}

int account_create(struct nic *nic)
{
	const struct flow_config config = {
		.flows = FLOWS_KNOWN,
		.ranges = RANGES_OPEN,
		.last_number = &last_flow,
		.recovered = range_recovered,
		.settled = flow_was_settled,
		.argument = nic,
	};

	int err = flow_table_create(&nic->flows, &config);

	for (__u32 r = 0; !err && r < nic->queues; r++)
		err = loss_runs_create(&nic->ring[r].runs, LOSS_RUNS_MAX, run_told, &nic->ring[r]);
	return err;
}

void account_destroy(struct nic *nic)
{
	for (__u32 r = 0; r < nic->queues; r++)
		loss_runs_destroy(nic->ring[r].runs);
	flow_table_destroy(nic->flows);
}
