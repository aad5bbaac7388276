/* SPDX-License-Identifier: GPL-2.0 */
/* Emulated hosts that lend devices: what their probes tell. Arguments: injectors/cluster/probes.h. */
#ifndef FAULTLINE_LEND_BPF_H
#define FAULTLINE_LEND_BPF_H

#include "bpf/emit.bpf.h"

/* As the arguments come. */
struct lend_arguments {
	__u32 device;
	__u16 queue;
	__u8 code, flags;
	__u64 address, length, value;
	__u32 group, instance, pasid, tid;
};

/* Of lend_io from its fourth on. */
struct lend_io_arguments {
	__u64 head[3];
	__u32 model_ns[IO_STAGES];
	__u32 number, agent;
};

static __always_inline bool is_lend(__u32 kind)
{
	return (kind >= EVENT_LEND_STEP && kind <= EVENT_LEND_LOST) || kind == EVENT_IOMMU_MAP ||
	       kind == EVENT_IOMMU_UNMAP;
}

static __always_inline bool lend_is_counted(__u32 kind)
{
	return kind == EVENT_LEND_MAP || kind == EVENT_LEND_UNMAP ||
	       kind == EVENT_INTERRUPT_RELAY || kind == EVENT_IOMMU_MAP ||
	       kind == EVENT_IOMMU_UNMAP;
}

static __always_inline void fill_lend(struct event *event, const struct lend_arguments *a,
				      __u32 device)
{
	event->device = device;
	event->queue = a->queue;
	event->code = a->code;
	event->flags = a->flags & ~(EVENT_GROUP | EVENT_LATE);
	event->address = a->address;
	event->length = a->length;
	event->value = a->value;
	event->group = a->group;
	event->instance = a->instance;
	event->pasid = a->pasid;
	event->tid = a->tid;
}

/* A time is what these have in `value`, but for mappings of an IOMMU. */
static __attribute__((noinline)) int
lend_count(struct probe_counter *counter, const struct lend_arguments *a, __u32 kind, __u32 device)
{
	bool timed = kind != EVENT_IOMMU_MAP && kind != EVENT_IOMMU_UNMAP;
	struct aggregate_key key = {
		.device = device,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.kind = kind,
		.queue = a->queue,
		.code = a->code,
	};
	struct event *event = event_or_count(counter, &key, a->length, timed ? a->value : 0);

	if (event) {
		fill_lend(event, a, device);
		event_submit(counter, event);
	}
	return 0;
}

struct lend_stage {
	__u64 address, length;
	__u32 device, stage, model_ns, number, agent, last;
	__u16 queue;
	__u8 flags;
};

static __attribute__((noinline)) int lend_io_stage(struct probe_counter *counter,
						   const struct lend_stage *s)
{
	struct aggregate_key key = {
		.device = s->device,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.kind = EVENT_LEND_IO,
		.queue = s->queue,
		.code = s->stage,
		.flags = s->flags & (EVENT_READ | EVENT_WRITE),
	};
	struct event *event = event_or_count(counter, &key, s->length, s->model_ns);

	if (event) {
		event->address = s->address;
		event->length = s->length;
		event->value = s->model_ns;
		event->group = s->number;
		event->instance = s->agent;
		event->flags |= s->last ? EVENT_LAST : 0;
		event_submit(counter, event);
	}
	return 0;
}

static __always_inline void take_lend_io(struct probe_counter *counter,
					 const struct lend_arguments *a,
					 const struct lend_io_arguments *io, __u32 device)
{
	struct lend_stage stage = {
		.address = a->address,
		.length = a->length,
		.device = device,
		.number = io->number,
		.agent = io->agent,
		.queue = a->queue,
		.flags = a->flags,
	};
	__u32 last = 0;

#pragma unroll
	for (__u32 i = 0; i < IO_STAGES; i++)
		if (io->model_ns[i])
			last = i;
#pragma unroll
	for (__u32 i = 0; i < IO_STAGES; i++) {
		stage.stage = i;
		stage.model_ns = io->model_ns[i];
		stage.last = i == last;
		if (stage.model_ns)
			lend_io_stage(counter, &stage);
	}
}

static __always_inline void take_lend(struct probe_counter *counter, const struct lend_arguments *a,
				      const struct lend_io_arguments *io, __u32 kind, __u32 device)
{
	struct event *event;

	/* Else the compiler knows from is_lend() that it is in range, which the verifier does not. */
	barrier_var(kind);
	if (kind == EVENT_LEND_LOST) /* lost on the way here, as if this ring had been full */
		__sync_fetch_and_add(&counter->lost, a->value);
	if (!kind_wanted(kind))
		return;
	if (kind == EVENT_LEND_IO) {
		take_lend_io(counter, a, io, device);
	} else if (lend_is_counted(kind)) {
		lend_count(counter, a, kind, device);
	} else {
		event = event_reserve(counter, kind);
		if (!event)
			return;
		fill_lend(event, a, device);
		event_submit(counter, event);
	}
}

#endif
