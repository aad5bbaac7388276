// SPDX-License-Identifier: GPL-2.0
/*
 * Of each thing the truth log is told first, by its own reading of the clock where the thing ends now; then the probe, whose event has
 * the time of the kernel. Stages of a verb are told to the log between its two probes.
 */
#include "injectors/emu/hyv/hyv_observe.h"

#include <stdint.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/truth.h"
#include "lib/base/clock.h"
#include "lib/base/verb_names.h"

#define VERB_KIND(name, number, text) \
	_Static_assert(VERBS_##name == (number), "recordings carry the number");
#include "bpf/verb_kinds.def"
#undef VERB_KIND
_Static_assert((int)VERBS_COMMAND_KINDS == (int)VERB_KINDS, "each verb has a name");
_Static_assert(VERBS_SEND == 0 && VERBS_RECEIVE == WORK_OPCODES - 1 &&
		       VERBS_OPCODES == WORK_OPCODES,
	       "each opcode has a name");

#define ARGUMENTS 8

static __u64 told_pair(__u32 low, __u32 high)
{
	return low | (__u64)high << 32;
}

/* The first argument. */
static __u64 told_device(__u32 device, __u16 queue, __u8 code, __u8 flags)
{
	return device | (__u64)queue << 32 | (__u64)code << 48 | (__u64)flags << 56;
}

static __u16 told_errno(int error)
{
	return (__u16)(error < 0 ? -error : error);
}

static __u32 fits_code(__u64 ns)
{
	return ns < UINT32_MAX ? (__u32)ns : UINT32_MAX;
}

static struct truth_record verb_truth(__u32 device, __u32 tenant, enum truth_what what)
{
	return (struct truth_record){
		.device = device,
		.tenant = tenant,
		.pasid = PASID_NONE,
		.queue = QUEUE_NONE,
		.who = TRUTH_HYPERVISOR,
		.what = (__u8)what,
	};
}

static void truth_verb(const struct verb_told *verb)
{
	struct truth_record record = verb_truth(verb->device, verb->tenant, TRUTH_VERB);

	if (!truth_enabled())
		return;
	record.time_ns = monotonic_ns();
	record.fault = verb->token;
	record.address = verb->start_ns;
	record.length = verb->bytes;
	record.value = record.time_ns > verb->start_ns ? record.time_ns - verb->start_ns : 0;
	record.group = verb->key;
	record.code = (__u8)verb->kind;
	record.queue = told_errno(verb->error);
	truth_log(record);
}

static void truth_verb_stages(const struct verb_told *verb)
{
	struct truth_record record = verb_truth(verb->device, verb->tenant, TRUTH_VERB_STAGE);

	record.fault = verb->token;
	record.code = (__u8)verb->kind;
	for (unsigned int stage = 0; stage < VERB_WAKE; stage++) {
		record.group = stage;
		record.value = verb->stage_ns[stage];
		record.address = stage == VERB_REMAP ? verb->runs : 0;
		if (record.value)
			truth_log(record);
	}
}

/* Of stages that have been: VERB_WAKE comes later. */
static __u64 verb_whole_ns(const struct verb_told *verb)
{
	__u64 took = 0;

	for (unsigned int stage = 0; stage < VERB_WAKE; stage++)
		took += verb->stage_ns[stage];
	return took;
}

static void probe_verb(const struct verb_told *verb)
{
	const __u16 error = told_errno(verb->error);
	const __u64 at[ARGUMENTS] = {
		told_device(verb->device, error, (__u8)verb->kind, error ? EVENT_MAJOR : 0),
		verb->start_ns,
		verb->bytes,
		verb_whole_ns(verb),
		told_pair(verb->token, verb->key),
		told_pair(PASID_NONE, verb->runs),
	};

	HYV_PROBE(verb, at);
}

static void probe_verb_stages(const struct verb_told *verb)
{
	__u64 at[ARGUMENTS] = {
		told_device(verb->device, (__u16)verb->kind, 0, 0),
		verb->start_ns,
		told_pair(verb->token, verb->key),
	};

	for (unsigned int stage = 0; stage < VERB_WAKE; stage++)
		at[3 + stage / 2] |= (__u64)fits_code(verb->stage_ns[stage]) << stage % 2 * 32;
	HYV_PROBE(verb_stages, at);
}

void observe_verb(const struct verb_told *verb)
{
	truth_verb(verb);
	probe_verb(verb);
	truth_verb_stages(verb);
	probe_verb_stages(verb);
}

void observe_verb_woken(__u32 device, __u32 tenant, __u32 token, enum verbs_command_kind kind,
			__u64 wake_ns, __u64 woken_ns)
{
	struct truth_record record = verb_truth(device, tenant, TRUTH_VERB_WOKEN);
	const __u64 at[ARGUMENTS] = {
		told_device(device, QUEUE_NONE, (__u8)kind, 0),
		woken_ns,
		0,
		wake_ns,
		told_pair(token, 0),
		PASID_NONE,
	};

	record.fault = token;
	record.code = (__u8)kind;
	record.address = woken_ns;
	record.value = wake_ns;
	truth_log(record);
	HYV_PROBE(verb_woken, at);
}

void observe_pinned(__u32 device, __u32 tenant, enum pin_role role, __s64 bytes, __u64 now,
		    __u64 quota, int refused)
{
	const bool given_back = bytes < 0;
	const __u64 size = given_back ? -(__u64)bytes : (__u64)bytes;
	const __u16 error = told_errno(refused);
	struct truth_record record =
		verb_truth(device, tenant, given_back ? TRUTH_UNPINNED : TRUTH_PINNED);
	const __u64 at[ARGUMENTS] = {
		told_device(device, error, (__u8)role, error ? EVENT_MAJOR : 0),
		quota,
		size,
		now,
		told_pair(given_back, 0),
		PASID_NONE,
	};

	record.code = (__u8)role;
	record.address = quota;
	record.length = size;
	record.value = now;
	record.group = error;
	truth_log(record);
	HYV_PROBE(pinned, at);
}

void observe_registered(__u32 device, __u32 tenant, __u64 bytes)
{
	struct truth_record record = verb_truth(device, tenant, TRUTH_REGISTERED);
	const __u64 at[ARGUMENTS] = {
		told_device(device, QUEUE_NONE, 0, 0), 0, 0, bytes, 0, PASID_NONE,
	};

	record.value = bytes;
	truth_log(record);
	HYV_PROBE(registered, at);
}

void observe_exits(__u32 device, __u32 tenant, const __u64 exits[EXIT_CAUSES])
{
	struct truth_record record = verb_truth(device, tenant, TRUTH_GUEST_EXITS);
	const __u64 at[ARGUMENTS] = {
		told_device(device, QUEUE_NONE, 0, 0),
		exits[EXIT_INJECT_EVENT],
		exits[EXIT_INJECT_CONTROL],
		exits[EXIT_KICK],
		told_pair((__u32)exits[EXIT_FORWARDED_POST], 0),
		PASID_NONE,
	};

	for (unsigned int cause = 0; cause < EXIT_CAUSES; cause++) {
		record.code = (__u8)cause;
		record.value = exits[cause];
		truth_log(record);
	}
	HYV_PROBE(guest_exits, at);
}

void observe_guest(__u32 device, __u32 tenant, __u32 pid, int started, int status)
{
	struct truth_record record =
		verb_truth(device, tenant, started ? TRUTH_GUEST_BEGAN : TRUTH_GUEST_ENDED);
	const __u64 at[ARGUMENTS] = {
		told_device(device, QUEUE_NONE, !!started, 0), 0, (__u32)status, pid, 0, PASID_NONE,
	};

	record.value = pid;
	record.length = (__u32)status;
	truth_log(record);
	HYV_PROBE(guest_state, at);
}

/* 0: one of both is not known, or a clock of the guest's says what cannot be. */
static __u64 ns_between(__u64 from, __u64 to)
{
	return from && to > from ? to - from : 0;
}

static void work_stages(const struct work_request_told *told, __u64 ns[WORK_STAGES])
{
	const __u64 at[] = {told->posted_ns,  told->doorbell_ns,  told->dma_start_ns,
			    told->dma_end_ns, told->completed_ns, told->reaped_ns};
	__u64 before = at[0] > at[1] && at[1] ? 0 : at[0];

	for (unsigned int stage = 0; stage < WORK_TOTAL; stage++) {
		const __u64 end = at[stage + 1];

		ns[stage] = ns_between(before, end);
		before = end ? end : before; /* a stage that is not known is part of the next */
	}
	ns[WORK_TOTAL] = 0;
	for (unsigned int stage = 0; stage < WORK_TOTAL; stage++)
		ns[WORK_TOTAL] += ns[stage];
}

static void truth_work(const struct work_request_told *told, const __u64 ns[WORK_STAGES])
{
	struct truth_record record = verb_truth(told->device, told->tenant, TRUTH_WORK_STAGE);

	if (!truth_enabled())
		return;
	record.who = TRUTH_DEVICE;
	record.fault = told->index;
	record.group = told->pair;
	record.code = told->opcode;
	for (unsigned int stage = 0; stage < WORK_TOTAL; stage++) {
		record.address = stage;
		record.value = ns[stage];
		if (record.value)
			truth_log(record);
	}
	record.what = TRUTH_WORK_REQUEST;
	record.address = told->status;
	record.length = told->bytes;
	record.value = ns[WORK_TOTAL];
	truth_log(record);
}

void observe_work_request(const struct work_request_told *told)
{
	__u64 ns[WORK_STAGES],
		at[ARGUMENTS] = {
			told_device(told->device, told->opcode, 0, told->status ? EVENT_MAJOR : 0),
			told->status,
			told->bytes,
			told_pair(told->pair, (__u32)told->index),
		};

	work_stages(told, ns);
	for (unsigned int stage = 0; stage < WORK_STAGES; stage++)
		at[4 + stage / 2] |= (__u64)fits_code(ns[stage]) << stage % 2 * 32;
	truth_work(told, ns);
	HYV_PROBE(work_request, at);
}
