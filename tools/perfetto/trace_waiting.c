// SPDX-License-Identifier: GPL-2.0
/* I/Os, flows and queue pairs that had to wait, joined to the faults that they waited for. */
#include <stdlib.h>

#include "lib/analyze/ios.h"
#include "lib/analyze/sentence.h"
#include "lib/analyze/waits.h"
#include "lib/base/array.h"
#include "tools/perfetto/trace_private.h"

#define IOS_WAITING_MAX 65536

static bool touches(const struct event *io, const struct past_fault *fault)
{
	return fault->address < io->address + io->length &&
	       io->address < fault->address + (fault->length ?: 1);
}

/*
 * The fault of an I/O that met one: of those that ended within it that which is of its memory. Where none is, it
 * stood in its queue behind the I/O of another: it went on with the last of them that ended. 0: none is known.
 */
static uint64_t fault_of_io(const struct queue_tracks *queue, const struct event *io)
{
	__u64 kept = queue->past_count < queue->past_room ? queue->past_count : queue->past_room;
	__u64 from = io->time_ns - io->value, last = 0;
	uint64_t flow = 0;
	bool own = false;

	for (__u64 i = 1; i <= kept; i++) {
		const struct past_fault *past =
			&queue->past[(queue->past_count - i) & (queue->past_room - 1)];
		bool its = past->to_ns >= from && touches(io, past);

		if (past->to_ns > io->time_ns || its < own || (its == own && past->to_ns <= last))
			continue;
		own = its;
		last = past->to_ns;
		flow = past->flow;
	}
	return flow;
}

static void put_io(struct perfetto *p, const struct event *e)
{
	struct queue_tracks *queue = perfetto_queue(p, e->device, e->queue);
	bool emulated = e->kind == EVENT_IO_COMPLETE, faulted = emulated && e->code & IO_FAULTED;
	__u64 error = emulated ? e->code & ~(__u64)IO_FAULTED : e->code;
	__u64 length = e->value < e->time_ns ? e->value : e->time_ns;
	uint64_t flow;
	struct packet_arguments arguments = {0};
	struct perfetto_slice slice = {
		.from_ns = e->time_ns - length,
		.to_ns = e->time_ns,
		.category = "io",
		.name = faulted	   ? "I/O that met a fault"
			: emulated ? "slow I/O"
				   : "slow block request",
		.arguments = &arguments,
		.flows = &flow,
	};

	flow = faulted && queue ? fault_of_io(queue, e) : 0;
	slice.flow_count = flow != 0;
	packet_address(&arguments, emulated ? "address" : "sector", e->address);
	packet_count(&arguments, "length", e->length);
	packet_count_known(&arguments, "error", error);
	perfetto_slice(p, queue ? &queue->ios : NULL, &slice);
}

void perfetto_io(struct perfetto *p, const struct event *e)
{
	__u64 waiting = p->io_tail - p->io_head;
	size_t room = p->io_room ? 2 * p->io_room : 256;

	if (waiting == p->io_room && room <= IOS_WAITING_MAX) {
		struct event *larger = memory_calloc(room, sizeof(*larger));

		for (__u64 i = 0; larger && i < waiting; i++)
			larger[i] = p->ios[(p->io_head + i) & (p->io_room - 1)];
		if (larger) {
			memory_free(p->ios);
			p->ios = larger;
			p->io_room = room;
			p->io_head = 0;
			p->io_tail = waiting;
		}
	}
	if (!p->io_room) {
		p->left_out++;
		return;
	}
	if (waiting == p->io_room)
		put_io(p, &p->ios[p->io_head++ & (p->io_room - 1)]);
	p->ios[p->io_tail++ & (p->io_room - 1)] = *e;
}

void perfetto_flush_ios(struct perfetto *p, __u64 time_ns)
{
	while (p->io_head < p->io_tail && p->ios[p->io_head & (p->io_room - 1)].time_ns <= time_ns)
		put_io(p, &p->ios[p->io_head++ & (p->io_room - 1)]);
}

/* What waited for these faults. */
static void put_blamed(struct perfetto *p, struct lanes *lanes, struct perfetto_slice *slice,
		       const struct blamed *blamed)
{
	struct blame_key keys[BLAMED_MAX];
	uint64_t flows[BLAMED_MAX];

	blamed_keys(blamed, keys);
	for (__u32 i = 0; i < blamed->count; i++)
		flows[i] = perfetto_flow(&keys[i]);
	slice->flows = flows;
	slice->flow_count = blamed->count;
	perfetto_slice(p, lanes, slice);
}

void perfetto_on_stall(void *self, const struct stall *stall)
{
	struct perfetto *p = self;
	const struct session *session = p->analysis->session;
	struct packet_arguments arguments = {0};
	struct sentence cause = {0};
	char flow[FLOW_TEXT];
	__u64 to = stall->to_ns ?: session_last_ns(session);
	struct perfetto_slice slice = {
		.from_ns = stall->from_ns,
		.to_ns = to > stall->from_ns ? to : stall->from_ns,
		.category = "stall",
		.name = !stall->to_ns  ? "stall that goes on"
			: stall->error ? "stall until an error"
				       : "stall",
		.arguments = &arguments,
	};

	packet_text(&arguments, "flow", session_flow_text(session, stall->flow, flow));
	packet_count(&arguments, "frames", stall->frames);
	packet_count(&arguments, "bytes", stall->bytes);
	packet_count(&arguments, "faults", stall->blamed.count);
	if (stall->queue != QUEUE_NONE)
		packet_count(&arguments, "queue", stall->queue);
	if (stall->error && stall->error != STALL_UNTOLD)
		packet_count(&arguments, "error", (__u64)stall->error);
	stall_tell_cause(stall, session, &cause);
	packet_text(&arguments, "cause", cause.text);
	put_blamed(p, perfetto_lanes(p, stall->device, LANES_STALLS), &slice, &stall->blamed);
}

static void put_wait(struct perfetto *p, const struct wait *wait)
{
	const struct session *session = p->analysis->session;
	struct packet_arguments arguments = {0};
	struct sentence words = {0};
	__u64 to = wait->to_ns ?: session_last_ns(session);
	struct perfetto_slice slice = {
		.from_ns = wait->from_ns,
		.to_ns = to > wait->from_ns ? to : wait->from_ns,
		.category = "wait",
		.name = wait->to_ns ? "wait" : "wait that goes on",
		.arguments = &arguments,
	};

	packet_count(&arguments, "pair", wait->pair);
	packet_count(&arguments, "faults", wait->blamed.count);
	packet_count(&arguments, "dropped", wait->dropped);
	packet_count(&arguments, "resent", wait->resent);
	wait_tell(wait, session, &words);
	packet_text(&arguments, "cause", words.text);
	put_blamed(p, perfetto_lanes(p, wait->device, LANES_WAITS), &slice, &wait->blamed);
}

static int waits_by_begin(const void *a, const void *b)
{
	const struct wait *const *x = a, *const *y = b;

	return (*x)->from_ns < (*y)->from_ns ? -1 : (*x)->from_ns > (*y)->from_ns;
}

void perfetto_finish_waiting(struct perfetto *p)
{
	size_t count = 0;
	const struct wait **waits;

	perfetto_flush_ios(p, UINT64_MAX);
	stalls_each_open(p->analysis->stalls, perfetto_on_stall, p);
	waits = waits_longest(p->analysis->waits, session_last_ns(p->analysis->session), &count);
	if (!waits)
		return;
	qsort(waits, count, sizeof(struct wait *), waits_by_begin);
	for (size_t i = 0; i < count; i++)
		put_wait(p, waits[i]);
	free(waits);
}
