// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/faults_private.h"

#include <errno.h>
#include <string.h>

#include "bpf/page.h"
#include "lib/analyze/stage.h"
#include "lib/base/fail.h"

#define PAGE_MASK (~((__u64)PAGE_BYTES - 1))
/* Past groups: more than capture keeps of them, and the oldest is forgotten. */
#define PAST_MAX 16384

enum fault_path fault_device_path(const struct faults *f, __u32 device)
{
	const struct fault_device *known = slots_find(&f->devices, device);

	return known ? known->path : FAULT_PATH_EMULATED;
}

struct fault_group *fault_group_find(struct faults *f, const struct event *e)
{
	struct fault_group_key key = {e->device, e->pasid, e->group, e->instance};
	struct fault_group *group;

	HASH_FIND(hh, f->groups, &key, sizeof(key), group);
	return group;
}

struct fault_group *fault_group_new(struct faults *f, const struct event *e)
{
	struct fault_group *group = pool_take(&f->group_pool);

	if (!group) {
		f->error = failed(-ENOMEM, "no memory for another open fault");
		return NULL;
	}
	group->key = (struct fault_group_key){e->device, e->pasid, e->group, e->instance};
	group->first_ns = e->time_ns;
	HASH_ADD(hh, f->groups, key, sizeof(group->key), group);
	if (!group->hh.tbl) {
		pool_give(&f->group_pool, group);
		f->error = failed(-ENOMEM, "no memory for another open fault");
		return NULL;
	}
	DL_APPEND(f->open, group);
	return group;
}

/* Stages that were seen run through to the last one: only the beginning is missing. */
static bool only_beginning_missing(__u8 seen)
{
	unsigned int first = seen ? (unsigned int)__builtin_ctz(seen) : FAULT_STAGES;

	return first > 0 && seen == (__u8)(ALL_STAGES << first);
}

bool fault_in_order(const struct fault *fault)
{
	__u64 before = 0;

	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		if (!(fault->seen & (1u << k)))
			continue;
		if (fault->at[k] < before)
			return false;
		before = fault->at[k];
	}
	return true;
}

static enum fault_state fault_group_judge(const struct faults *f, const struct fault_group *group,
					  const struct fault *fault)
{
	bool began = fault->seen & STAGE_BIT(EVENT_FAULT_DETECT);
	bool resumed = fault->ended || fault->seen & STAGE_BIT(EVENT_FAULT_RESUME);
	bool early = group->first_ns < f->first_ns + f->config.start_ns;

	if (!fault_served(fault))
		return fault->state;
	if (resumed && fault->code == RESPONSE_AUTOMATIC)
		return FAULT_DISCARDED;
	if (!fault_in_order(fault))
		return FAULT_INCONSISTENT;
	if (fault->kernel && fault->ended && (fault->seen & (fault->seen - 1)))
		return FAULT_COMPLETE;
	if (began && fault->abandoned_ns)
		return FAULT_ABANDONED;
	if (began)
		return resumed ? FAULT_COMPLETE : FAULT_UNFINISHED;
	if (!fault->seen || (fault->kernel && !fault->ended))
		return FAULT_UNFINISHED;
	if (early && (!resumed || fault->kernel || only_beginning_missing(fault->seen)))
		return FAULT_UNFINISHED;
	return FAULT_INCONSISTENT;
}

bool fault_was_cut(const struct fault *fault)
{
	__u8 first = STAGE_BIT(EVENT_FAULT_DETECT);

	if (fault->kernel)
		first = STAGE_BIT(EVENT_FAULT_ISR) | STAGE_BIT(EVENT_FAULT_HANDLER);
	return !(fault->seen & first);
}

/* Whether it began before the recording is not known where nobody watched beginnings. */
static void count_cut(struct faults *f, const struct fault *fault)
{
	enum fault_path path = fault_device_path(f, fault->device);
	const char *lacking = fault_watch_lacks(&f->probes.begin[path]);

	if (lacking) {
		f->counts.unwatched++;
		f->counts.unwatched_probe = lacking;
	} else {
		f->counts.cut++;
		f->counts.cut_core += path == FAULT_PATH_CORE;
	}
}

static void count_state(struct faults *f, const struct fault *fault)
{
	if (fault->state != FAULT_COMPLETE && fault->state != FAULT_INCONSISTENT &&
	    fault_was_cut(fault))
		count_cut(f, fault);
	switch (fault->state) {
	case FAULT_COMPLETE:
		f->counts.complete++;
		break;
	case FAULT_UNFINISHED:
		f->counts.unfinished++;
		break;
	case FAULT_INCONSISTENT:
		f->counts.inconsistent++;
		break;
	case FAULT_DISCARDED:
		f->counts.discarded++;
		break;
	case FAULT_ABANDONED:
		f->counts.abandoned++;
		break;
	default:
		f->counts.overflowed++;
	}
}

static void fault_group_finish(struct faults *f, const struct fault_request *request)
{
	const struct fault *fault = &request->fault;
	__u64 since_ns = f->config.period.since_ns;

	if (!request->left_out)
		count_state(f, fault);
	else if (fault_first_ns(fault) < since_ns)
		f->counts.left_across += !fault_over(fault) || fault_end_ns(fault) >= since_ns;
	for (size_t i = 0; i < f->sink_count; i++)
		if (f->sinks[i].finished && (!request->left_out || f->sinks[i].everything))
			f->sinks[i].finished(f->sinks[i].self, fault);
}

static void fault_tell_over(struct faults *f, const struct fault_group *group,
			    struct fault_request *request)
{
	struct fault *fault = &request->fault;

	fault->told_over = FAULT_TOLD_OVER;
	if (fault->abandoned_ns)
		fault->told_over |= FAULT_TOLD_GIVEN_UP;
	if (fault_group_judge(f, group, fault) == FAULT_ABANDONED)
		fault->told_over |= FAULT_TOLD_ABANDONED;
	if (fault->told_over & FAULT_TOLD_ABANDONED)
		f->given_up += !request->left_out;
	for (size_t i = 0; i < f->sink_count; i++)
		if (f->sinks[i].over && (!request->left_out || f->sinks[i].everything))
			f->sinks[i].over(f->sinks[i].self, fault);
}

void fault_group_tell_over(struct faults *f, struct fault_group *group)
{
	for (struct fault_request *r = group->requests; r; r = r->next)
		if (!r->fault.told_over && fault_over(&r->fault))
			fault_tell_over(f, group, r);
}

static void fault_group_hand_over(struct faults *f, struct fault_group *group)
{
	struct fault_request *request, *next;

	if (group->due_ns)
		DL_DELETE(f->lingering, group);
	else
		DL_DELETE(f->open, group);
	f->counts.automatic +=
		group->code == RESPONSE_AUTOMATIC && group->requests && !group->requests->left_out;
	for (request = group->requests; request; request = next) {
		next = request->next;
		request->fault.state = (__u8)fault_group_judge(f, group, &request->fault);
		f->counts.open--;
		if (request->fault.told_over & FAULT_TOLD_ABANDONED)
			f->given_up -= !request->left_out;
		fault_group_finish(f, request);
		pool_give(&f->request_pool, request);
	}
	group->requests = NULL;
}

void fault_group_close(struct faults *f, struct fault_group *group)
{
	fault_group_hand_over(f, group);
	HASH_DEL(f->groups, group);
	pool_give(&f->group_pool, group);
}

void fault_group_ended(struct faults *f, struct fault_group *group, __u64 now, bool seen)
{
	const struct fault_end end = {
		.device = group->key.device,
		.queue = group->queue,
		.seen = seen,
		.faults = group->hanging,
		.given_up_ns = group->given_up_ns,
		.time_ns = now,
	};

	group->hanging = 0;
	for (size_t i = 0; end.faults && i < f->sink_count; i++)
		if (f->sinks[i].ended)
			f->sinks[i].ended(f->sinks[i].self, &end);
}

static void fault_group_forget(struct faults *f, struct fault_group *group, __u64 now)
{
	fault_group_ended(f, group, now, false);
	DL_DELETE(f->past, group);
	f->past_count--;
	HASH_DEL(f->groups, group);
	pool_give(&f->group_pool, group);
}

static void note_hanging(struct fault_group *group, __u64 now)
{
	group->given_up_ns = now;
	group->queue = group->requests ? group->requests->fault.queue : QUEUE_NONE;
	for (struct fault_request *r = group->requests; r; r = r->next) {
		if (!now || fault_over(&r->fault))
			continue;
		r->fault.given_up_ns = now;
		group->hanging += !r->left_out;
	}
}

void fault_group_give_up(struct faults *f, struct fault_group *group, __u64 now)
{
	bool of_account = group->requests && !group->requests->left_out &&
			  !fault_over(&group->requests->fault);

	if (group->due_ns) {
		fault_group_close(f, group);
		return;
	}
	note_hanging(group, now);
	fault_group_hand_over(f, group);
	group->past = true;
	group->count = of_account ? group->count : 0;
	DL_APPEND(f->past, group);
	if (++f->past_count > PAST_MAX)
		fault_group_forget(f, f->past, 0);
}

/* Of a kernel path LAST is on the last stage that it shows. */
static bool is_end(const struct faults *f, const struct fault_group *group, const struct event *e)
{
	if (fault_device_path(f, group->key.device) == FAULT_PATH_EMULATED)
		return e->kind == EVENT_FAULT_RESUME || e->kind == EVENT_FAULT_ABANDON;
	return e->kind > EVENT_FAULT_HANDLER && e->flags & EVENT_LAST;
}

bool fault_group_went_on(struct faults *f, struct fault_group *group, const struct event *e)
{
	if (e->kind == EVENT_FAULT_DETECT) {
		fault_group_forget(f, group, e->time_ns);
		return false;
	}
	if (is_end(f, group, e))
		fault_group_ended(f, group, e->time_ns, true);
	f->counts.went_on += group->count;
	if (e->time_ns >= group->first_ns + f->config.give_up_ns)
		f->counts.went_on_late += group->count;
	group->count = 0;
	return true;
}

void fault_group_expire(struct faults *f, __u64 now)
{
	while (f->lingering && f->lingering->due_ns <= now)
		fault_group_close(f, f->lingering);
	while (f->open && f->open->first_ns + f->config.give_up_ns <= now)
		fault_group_give_up(f, f->open, f->open->first_ns + f->config.give_up_ns);
}

static void fault_group_make_room(struct faults *f, const struct fault_group *keep, __u64 now)
{
	while (f->counts.open >= f->config.open_max) {
		struct fault_group *oldest = f->lingering ? f->lingering : f->open;

		if (oldest == keep)
			oldest = oldest->next;
		if (!oldest)
			return;
		f->counts.given_up++;
		fault_group_give_up(f, oldest, now);
	}
}

void fault_stamp(struct fault *fault, unsigned int stage, __u64 time_ns)
{
	if (fault->seen & (1u << stage)) {
		if (fault->repeats < UINT8_MAX)
			fault->repeats++;
		return;
	}
	fault->seen |= (__u8)(1u << stage);
	fault->at[stage] = time_ns;
}

void fault_name_process(const struct faults *f, struct fault *fault)
{
	const struct pasid_process *process =
		fault->kernel ? pasids_find(f->pasids, fault->device, fault->pasid) : NULL;

	if (!process)
		return;
	fault->pid = process->pid;
	memcpy(fault->comm, process->comm, sizeof(fault->comm));
}

struct fault_request *fault_request_new(struct faults *f, struct fault_group *group,
					const struct event *e)
{
	struct fault_request *request;
	struct fault *fault;
	const struct fault_device *device = slots_find(&f->devices, e->device);

	fault_group_make_room(f, group, e->time_ns);
	request = pool_take(&f->request_pool);
	if (!request) {
		f->error = failed(-ENOMEM, "no memory for another open fault");
		return NULL;
	}
	if (group->last)
		group->last->next = request;
	else
		group->requests = request;
	group->last = request;
	group->count++;
	fault = &request->fault;
	fault->device = e->device;
	fault->pasid = e->pasid;
	fault->group = e->group;
	fault->instance = e->instance;
	fault->queue = e->queue;
	fault->address = e->address;
	fault->length = e->length;
	if (device) {
		fault->pid = device->pid;
		fault->kernel = device->path != FAULT_PATH_EMULATED;
	}
	fault_name_process(f, fault);
	fault->handler_tid = group->handler_tid;
	fault->handler_cpu = group->handler_cpu;
	fault->code = group->code;
	fault->abandoned_ns = group->abandoned_ns;
	for (unsigned int k = 0; k < FAULT_STAGES; k++)
		if (group->seen & (1u << k))
			fault_stamp(fault, k, group->at[k]);
	f->counts.open++;
	return request;
}

void fault_request_announce(struct faults *f, struct fault_request *request, const struct event *e)
{
	const struct period *period = &f->config.period;
	__u64 begin_ns = fault_first_ns(&request->fault) ?: e->time_ns;

	request->left_out = !period_has(period, begin_ns);
	if (!request->left_out)
		f->counts.began++;
	else if (begin_ns < period->since_ns)
		f->counts.left_before++;
	else
		f->counts.left_after++;
	for (size_t i = 0; i < f->sink_count; i++)
		if (f->sinks[i].began && (!request->left_out || f->sinks[i].everything))
			f->sinks[i].began(f->sinks[i].self, &request->fault);
}

struct fault_request *fault_request_at(struct fault_group *group, __u64 virtual_address)
{
	struct fault_request *request = group->requests;

	while (request && (request->fault.address ^ virtual_address) & SAME_PAGE_MASK)
		request = request->next;
	return request;
}

struct fault_request *fault_request_find(struct fault_group *group, __u64 address)
{
	struct fault_request *request = group->requests;

	while (request && (request->fault.address & PAGE_MASK) != (address & PAGE_MASK))
		request = request->next;
	return request;
}
