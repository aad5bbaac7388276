// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/rdma/observe.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/rdma/packet_runs.h"
#include "injectors/emu/truth.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define RDMA_PORT 1

struct observe {
	__u32 device, pasid;
	struct packet_runs *runs;
	__u64 counters[RDMA_COUNTERS];
	__u64 told[RDMA_COUNTERS]; /* of these, to the probe */
	__u64 told_ns;
};

static __u64 numbers_of(__u32 first, __u32 end)
{
	return (__u64)(first & RDMA_PSN_MASK) << 32 | (end & RDMA_PSN_MASK);
}

/* An event's code, and the fault that it names. */
static __u64 code_of(const struct observe *observe, __u8 code, struct observe_fault fault)
{
	if (!fault.known)
		return code;
	return code | (fault.group + 1ull) << 8 | (__u64)observe->pasid << 32;
}

static void run_tells(void *argument, const struct packet_run *run)
{
	const struct observe *observe = argument;
	const struct pair_probe probe = {
		.device = observe->device,
		.pair = run->pair,
		.address = numbers_of(run->first, run->end),
		.length = run->since_ns,
		.value = run->token,
		.group = run->packets,
		.code = run->code,
	};

	if (run->kind == PACKETS_DROPPED)
		PAIR_PROBE(packets_dropped, &probe);
	else
		PAIR_PROBE(packets_resent, &probe);
}

int observe_create(struct observe **observe, __u32 device, __u32 pasid, __u32 pairs)
{
	struct observe *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for what queue pairs tell");
	new->device = device;
	new->pasid = pasid;
	new->told_ns = monotonic_ns();
	error = packet_runs_create(&new->runs, pairs, run_tells, new);
	if (error) {
		free(new);
		return error;
	}
	*observe = new;
	return 0;
}

void observe_destroy(struct observe *observe)
{
	if (!observe)
		return;
	packet_runs_flush(observe->runs);
	packet_runs_destroy(observe->runs);
	free(observe);
}

/* Each event by itself, whatever becomes of its probe. */
static void truth_event(const struct observe *observe, __u32 pair,
			const struct transport_event *event, struct observe_fault fault, __u8 what,
			__u8 code, __u64 length)
{
	truth_log((struct truth_record){
		.fault = fault.known ? fault.truth : 0,
		.address = event->psn & RDMA_PSN_MASK,
		.length = length,
		.value = event->token,
		.device = observe->device,
		.pasid = observe->pasid,
		.group = pair,
		.queue = QUEUE_NONE,
		.who = TRUTH_DEVICE,
		.what = what,
		.code = code,
	});
}

static struct pair_probe probe_of(const struct observe *observe, __u32 pair,
				  const struct transport_event *event)
{
	return (struct pair_probe){
		.device = observe->device,
		.pair = pair,
		.address = event->psn & RDMA_PSN_MASK,
		.value = event->token,
		.code = event->code,
	};
}

static const struct observe_fault no_fault;

static void tell_rnr_sent(struct observe *observe, __u32 pair, const struct transport_event *event,
			  struct observe_fault fault)
{
	struct pair_probe probe = probe_of(observe, pair, event);

	probe.address |= (__u64)event->code << 32;
	probe.length = rnr_timer_ns(event->timer);
	probe.code = code_of(observe, (__u8)event->side, fault);
	observe->counters[RDMA_RNR_SENT]++;
	truth_event(observe, pair, event, fault, TRUTH_RNR_SENT, (__u8)event->side, probe.length);
	PAIR_PROBE(rnr_sent, &probe);
}

static void tell_rnr_received(struct observe *observe, __u32 pair,
			      const struct transport_event *event)
{
	struct pair_probe probe = probe_of(observe, pair, event);

	probe.length = rnr_timer_ns(event->timer);
	probe.code = 0;
	observe->counters[RDMA_RNR_RECEIVED]++;
	truth_event(observe, pair, event, no_fault, TRUTH_RNR_RECEIVED, 0, probe.length);
	PAIR_PROBE(rnr_received, &probe);
}

static void tell_packet(struct observe *observe, __u32 pair, const struct transport_event *event,
			struct observe_fault fault, enum packet_run_kind kind)
{
	const struct packet_run packet = {
		.token = event->token,
		.since_ns = event->now_ns,
		.pair = pair,
		.first = event->psn & RDMA_PSN_MASK,
		.end = (event->psn + 1) & RDMA_PSN_MASK,
		.packets = 1,
		.kind = (__u8)kind,
		.code = event->code,
	};

	if (kind == PACKETS_DROPPED) {
		observe->counters[RDMA_DUPLICATE] += event->code == RDMA_DROP_DUPLICATE;
		observe->counters[RDMA_OUT_OF_SEQUENCE] += event->code == RDMA_DROP_SEQUENCE;
	}
	truth_event(observe, pair, event, fault,
		    kind == PACKETS_DROPPED ? TRUTH_PACKET_DROPPED : TRUTH_PACKET_RESENT,
		    event->code, 1);
	packet_runs_add(observe->runs, &packet);
}

static void tell_rewound(struct observe *observe, __u32 pair, const struct transport_event *event)
{
	struct pair_probe probe = probe_of(observe, pair, event);

	probe.address = numbers_of(event->psn, event->psn + event->count);
	probe.length = event->since_ns;
	probe.group = event->count;
	observe->counters[RDMA_RETRY] += event->code == RDMA_RESEND_TIMEOUT;
	observe->counters[RDMA_SEQUENCE_NAK] += event->code == RDMA_RESEND_SEQUENCE;
	truth_event(observe, pair, event, no_fault, TRUTH_QP_REWOUND, event->code, event->count);
	PAIR_PROBE(qp_rewound, &probe);
}

static void tell_paused(struct observe *observe, __u32 pair, const struct transport_event *event,
			struct observe_fault fault)
{
	struct pair_probe probe = probe_of(observe, pair, event);

	probe.address = event->side;
	probe.code = code_of(observe, event->code, fault);
	truth_event(observe, pair, event, fault, TRUTH_QP_PAUSED, event->code, 0);
	PAIR_PROBE(qp_paused, &probe);
}

static void tell_resumed(struct observe *observe, __u32 pair, const struct transport_event *event)
{
	struct pair_probe probe = probe_of(observe, pair, event);

	probe.address = event->side;
	probe.length = event->since_ns;
	probe.group = event->count;
	truth_event(observe, pair, event, no_fault, TRUTH_QP_RESUMED, event->code, event->count);
	PAIR_PROBE(qp_resumed, &probe);
}

static void tell_pair_error(struct observe *observe, __u32 pair,
			    const struct transport_event *event)
{
	const struct pair_probe probe = probe_of(observe, pair, event);

	observe->counters[RDMA_RETRY_EXCEEDED] += event->code == VERBS_RETRY_EXC_ERR;
	observe->counters[RDMA_RNR_EXCEEDED] += event->code == VERBS_RNR_RETRY_EXC_ERR;
	truth_event(observe, pair, event, no_fault, TRUTH_QP_ERROR, event->code, 0);
	PAIR_PROBE(qp_error, &probe);
}

void observe_transport(struct observe *observe, __u32 pair, const struct transport_event *event,
		       struct observe_fault fault)
{
	switch (event->kind) {
	case TRANSPORT_RNR_SENT:
		tell_rnr_sent(observe, pair, event, fault);
		break;
	case TRANSPORT_RNR_RECEIVED:
		tell_rnr_received(observe, pair, event);
		break;
	case TRANSPORT_DROPPED:
		tell_packet(observe, pair, event, fault, PACKETS_DROPPED);
		break;
	case TRANSPORT_RESENT:
		tell_packet(observe, pair, event, no_fault, PACKETS_RESENT);
		break;
	case TRANSPORT_REWOUND:
		tell_rewound(observe, pair, event);
		break;
	case TRANSPORT_PAUSED:
		tell_paused(observe, pair, event, fault);
		break;
	case TRANSPORT_RESUMED:
		tell_resumed(observe, pair, event);
		break;
	case TRANSPORT_ERROR:
		tell_pair_error(observe, pair, event);
		break;
	}
}

void observe_suppressed(struct observe *observe, __u32 pair, enum rdma_side side, __u64 iova,
			__u64 bytes, bool window, struct observe_fault fault)
{
	const struct pair_probe probe = {
		.device = observe->device,
		.pair = pair,
		.address = iova,
		.length = bytes,
		.value = window,
		.code = code_of(observe, (__u8)side, fault),
	};

	truth_log((struct truth_record){
		.fault = fault.known ? fault.truth : 0,
		.address = iova,
		.length = bytes,
		.value = window,
		.device = observe->device,
		.pasid = observe->pasid,
		.group = pair,
		.queue = QUEUE_NONE,
		.who = TRUTH_DEVICE,
		.what = TRUTH_FAULT_SUPPRESSED,
		.code = (__u8)side,
	});
	PAIR_PROBE(fault_suppressed, &probe);
}

static __u64 sum_of(const __u64 *counts, size_t count)
{
	__u64 sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += counts[i];
	return sum;
}

void observe_state(struct observe *observe, __u32 pair, enum verbs_pair_state state,
		   const struct transport_counters *counters)
{
	__u64 operations = sum_of(counters->operations, VERBS_OPCODES);
	const struct pair_probe probe = {
		.device = observe->device,
		.pair = pair,
		.address = counters->rnr_sent << 32 | (__u32)counters->rnr_received,
		.length = counters->useful_bytes,
		.value = counters->paused_ns,
		.group = (__u32)sum_of(counters->resent, RDMA_RESENDS),
		.more = operations << 32 | (__u32)sum_of(counters->dropped, RDMA_DROPS),
		.code = state,
	};

	/* Who hears of the counters has heard of the packets. */
	packet_runs_flush_pair(observe->runs, pair);
	truth_log((struct truth_record){
		.length = counters->useful_bytes,
		.value = operations,
		.device = observe->device,
		.pasid = observe->pasid,
		.group = pair,
		.queue = QUEUE_NONE,
		.who = TRUTH_DEVICE,
		.what = TRUTH_QP_STATE,
		.code = (__u8)state,
	});
	PAIR_PROBE(qp_state, &probe);
}

static void tell_counter(const struct observe *observe, enum rdma_counter counter, __u64 moved,
			 __u64 now_ns)
{
	const struct pair_probe probe = {
		.device = observe->device,
		.pair = RDMA_PORT,
		.length = now_ns - observe->told_ns,
		.value = moved,
		.code = counter,
	};

	truth_log((struct truth_record){
		.value = moved,
		.device = observe->device,
		.pasid = observe->pasid,
		.queue = RDMA_PORT,
		.who = TRUTH_DEVICE,
		.what = TRUTH_RDMA_COUNTER,
		.code = (__u8)counter,
	});
	PAIR_PROBE(rdma_counter, &probe);
}

void observe_counters(struct observe *observe, __u64 now_ns)
{
	for (int k = 0; k < RDMA_COUNTERS; k++) {
		__u64 moved = observe->counters[k] - observe->told[k];

		if (moved)
			tell_counter(observe, (enum rdma_counter)k, moved, now_ns);
		observe->told[k] = observe->counters[k];
	}
	observe->told_ns = now_ns;
}

__u64 observe_counter(const struct observe *observe, enum rdma_counter counter)
{
	return observe->counters[counter];
}

static enum region_kind region_kind_of(enum verbs_region kind)
{
	switch (kind) {
	case VERBS_PINNED:
		return REGION_PINNED;
	case VERBS_IMPLICIT:
		return REGION_IMPLICIT;
	default:
		return REGION_DEMAND;
	}
}

void observe_region(__u32 device, __u32 pasid, __u32 key, __u64 iova, __u64 bytes,
		    enum verbs_region kind, enum odp_region_state state)
{
	const struct pair_probe probe = {
		.device = device,
		.address = iova,
		.length = bytes,
		.value = region_kind_of(kind),
		.group = key,
		.more = (__u64)pasid << 32,
		.code = state,
	};

	truth_log((struct truth_record){
		.address = iova,
		.length = bytes,
		.value = probe.value,
		.device = device,
		.pasid = pasid,
		.group = key,
		.queue = QUEUE_NONE,
		.who = TRUTH_DEVICE,
		.what = TRUTH_RDMA_REGION,
		.code = (__u8)state,
	});
	PAIR_PROBE(rdma_region, &probe);
}

void observe_advised(__u32 device, __u32 pasid, __u32 key, __u64 iova, __u64 bytes, __u32 pages,
		     __u64 took_ns, int error)
{
	const struct pair_probe probe = {
		.device = device,
		.address = iova,
		.length = bytes,
		.value = took_ns,
		.group = key,
		.more = (__u64)pasid << 32 | pages,
		.code = (__u8)-error,
	};

	truth_log((struct truth_record){
		.address = iova,
		.length = bytes,
		.value = pages,
		.device = device,
		.pasid = pasid,
		.group = key,
		.queue = QUEUE_NONE,
		.who = TRUTH_DEVICE,
		.what = TRUTH_RDMA_ADVISED,
		.code = (__u8)-error,
	});
	PAIR_PROBE(rdma_advised, &probe);
}
