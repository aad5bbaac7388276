/* SPDX-License-Identifier: GPL-2.0 */
/* Devices whose control goes through the hypervisor: what their probes tell. Arguments: injectors/emu/probes.h. */
#ifndef FAULTLINE_HYV_BPF_H
#define FAULTLINE_HYV_BPF_H

#include "bpf/lend.bpf.h"

/* Most are as those of emulated hosts; of verb_stages and of work_request: */
struct verb_stages_arguments {
	__u32 device;
	__u16 kind;
	__u8 code, flags;
	__u64 start_ns;
	__u32 token, key;
	__u32 ns[VERB_STAGES];
};

struct work_arguments {
	__u32 device;
	__u16 opcode;
	__u8 code, flags;
	__u64 status, length;
	__u32 pair, index;
	__u32 ns[WORK_STAGES];
};

static __always_inline bool is_hyv(__u32 kind)
{
	return kind >= EVENT_VERB && kind <= EVENT_WORK_REQUEST;
}

struct verb_part {
	__u64 begun_ns;
	__u32 device, token, key, stage, ns, last;
	__u16 kind;
};

static __attribute__((noinline)) int verb_stage(struct probe_counter *counter,
						const struct verb_part *part)
{
	struct event *event = event_reserve(counter, EVENT_VERB_STAGE);

	if (event) {
		event->device = part->device;
		event->address = part->begun_ns;
		event->value = part->ns;
		event->group = part->token;
		event->instance = part->key;
		event->queue = part->kind;
		event->code = part->stage;
		event->flags = part->last ? EVENT_LAST : 0;
		event_submit(counter, event);
	}
	return 0;
}

static __always_inline void take_verb_stages(struct probe_counter *counter,
					     const struct verb_stages_arguments *a, __u32 device)
{
	struct verb_part part = {
		.begun_ns = a->start_ns,
		.device = device,
		.token = a->token,
		.key = a->key,
		.kind = a->kind,
	};
	__u32 last = 0;

#pragma unroll
	for (__u32 i = 0; i < VERB_STAGES; i++)
		if (a->ns[i])
			last = i;
#pragma unroll
	for (__u32 i = 0; i < VERB_STAGES; i++) {
		part.stage = i;
		part.ns = a->ns[i];
		part.last = i == last;
		if (part.ns)
			verb_stage(counter, &part);
		part.begun_ns += part.ns;
	}
}

struct work_part {
	__u64 status, length;
	__u32 device, pair, index, stage, ns;
	__u16 opcode;
	__u8 flags;
};

static __attribute__((noinline)) int work_stage(struct probe_counter *counter,
						const struct work_part *part)
{
	struct aggregate_key key = {
		.device = part->device,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.kind = EVENT_WORK_REQUEST,
		.queue = part->opcode,
		.code = part->stage,
		.flags = part->flags & EVENT_MAJOR,
	};
	bool total = part->stage == WORK_TOTAL;
	struct event *event = event_or_count(counter, &key, total ? part->length : 0, part->ns);

	if (event) {
		event->address = part->status;
		event->length = total ? part->length : 0;
		event->value = part->ns;
		event->group = part->pair;
		event->instance = part->index;
		event->flags |= total ? EVENT_LAST : 0;
		event_submit(counter, event);
	}
	return 0;
}

static __always_inline void take_work(struct probe_counter *counter, const struct work_arguments *a,
				      __u32 device)
{
	struct work_part part = {
		.status = a->status,
		.length = a->length,
		.device = device,
		.pair = a->pair,
		.index = a->index,
		.opcode = a->opcode,
		.flags = a->flags,
	};

#pragma unroll
	for (__u32 i = 0; i < WORK_STAGES; i++) {
		part.stage = i;
		part.ns = a->ns[i];
		if (part.ns || i == WORK_TOTAL)
			work_stage(counter, &part);
	}
}

/* The same arguments, as they may be read. */
struct hyv_told {
	const struct lend_arguments *plain;
	const struct lend_io_arguments *io;
	const struct verb_stages_arguments *stages;
	const struct work_arguments *work;
};

static __always_inline void take_hyv(struct probe_counter *counter, const struct hyv_told *told,
				     __u32 kind, __u32 device)
{
	struct event *event;

	barrier_var(kind); /* as of take_lend() */
	if (!kind_wanted(kind))
		return;
	if (kind == EVENT_VERB_STAGE) {
		take_verb_stages(counter, told->stages, device);
	} else if (kind == EVENT_WORK_REQUEST) {
		take_work(counter, told->work, device);
	} else {
		event = event_reserve(counter, kind);
		if (!event)
			return;
		fill_lend(event, told->plain, device);
		event_submit(counter, event);
	}
}

static __always_inline bool hyv_is_told(__u32 kind)
{
	return is_lend(kind) || is_hyv(kind);
}

static __always_inline void hyv_take_told(struct probe_counter *counter,
					  const struct hyv_told *told, __u32 kind, __u32 device)
{
	if (is_hyv(kind))
		take_hyv(counter, told, kind, device);
	else
		take_lend(counter, told->plain, told->io, kind, device);
}

#endif
