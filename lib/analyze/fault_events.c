// SPDX-License-Identifier: GPL-2.0
/* What an event does to the groups and requests that are being reconstructed. */
#include "lib/analyze/faults_private.h"
#include "lib/analyze/stage.h"

#define NAMED_BACK 1024 /* groups that opened before the name of their PASID was told */

/*
 * The page is there. If no CPU fault of the handler named it, those since the last page was resolved
 * brought it; else, and if only the permission was missing, they were the handler's own (its stack, its
 * code).
 */
static void claim_cpu_faults(struct faults *f, struct fault_group *group, struct fault *fault)
{
	if (fault->cpu_faults || fault->cause == MM_PERMISSION) {
		f->counts.cpu_faults_unmatched += group->cpu_faults;
	} else if (group->cpu_faults) {
		fault->cpu_fault_ns = group->cpu_fault_ns;
		fault->cpu_faults = group->cpu_faults;
		f->counts.cpu_faults += group->cpu_faults;
	}
	group->cpu_faults = 0;
	group->cpu_fault_ns = 0;
}

/* What only kernel paths tell. On a stage after the handler LAST means: this was the end. */
static void apply_kernel(struct fault *fault, const struct event *e)
{
	if (e->kind == EVENT_FAULT_ISR) {
		fault->interrupt_ns = e->value;
		fault->flags |= e->flags & EVENT_LAST;
	} else if (e->kind == EVENT_FAULT_RESOLVED) {
		fault->mm_ns += e->value;
		fault->cause = e->code > fault->cause ? e->code : fault->cause;
	}
	if (e->kind > EVENT_FAULT_HANDLER && e->flags & EVENT_LAST)
		fault->ended = true;
}

/* A device that may not ask for more pages can name the fault only when it may: it tells since when. */
static __u64 detect_ns(struct fault *fault, const struct event *e)
{
	if (fault->kernel || !e->value || e->value >= e->time_ns)
		return e->time_ns;
	fault->held_ns = e->time_ns - e->value;
	return e->value;
}

static void fault_apply(struct faults *f, struct fault_group *group, struct fault *fault,
			const struct event *e)
{
	fault_stamp(fault, e->kind - EVENT_FAULT_DETECT,
		    e->kind == EVENT_FAULT_DETECT ? detect_ns(fault, e) : e->time_ns);
	if (fault->kernel)
		apply_kernel(fault, e);
	else
		fault->flags |= e->flags & EVENT_LAST;
	fault->flags |=
		e->flags & (EVENT_READ | EVENT_WRITE | EVENT_EXEC | EVENT_PRIV | EVENT_MAJOR);
	if (fault->queue == QUEUE_NONE)
		fault->queue = e->queue;
	switch (e->kind) {
	case EVENT_FAULT_REQUEST:
		/* A retry after an overflow got through: this is the request that counts. */
		if (fault->state == FAULT_OVERFLOWED) {
			fault->state = FAULT_OPEN;
			fault->at[EVENT_FAULT_REQUEST - EVENT_FAULT_DETECT] = e->time_ns;
		}
		break;
	case EVENT_FAULT_HANDLER:
		fault->handler_tid = e->tid;
		fault->handler_cpu = e->cpu;
		break;
	case EVENT_FAULT_RESOLVED:
		if (!fault->kernel)
			fault->cause = e->code;
		claim_cpu_faults(f, group, fault);
		break;
	case EVENT_FAULT_RESPONSE:
	case EVENT_FAULT_RESUME:
		fault->code = e->code;
		break;
	default:
		break;
	}
}

/* Every timestamp that the fault can have was seen. */
static bool nothing_more(const struct fault *fault)
{
	const __u8 dropped = STAGE_BIT(EVENT_FAULT_DETECT) | STAGE_BIT(EVENT_FAULT_RESUME),
		   taken = STAGE_BIT(EVENT_FAULT_REQUEST) | STAGE_BIT(EVENT_FAULT_ISR);

	__u8 seen = fault->seen;

	if (fault->abandoned_ns)
		seen |= STAGE_BIT(EVENT_FAULT_RESUME);
	switch (fault->state) {
	case FAULT_OVERFLOWED:
		return !(dropped & ~seen);
	case FAULT_DISCARDED:
		return !((dropped | taken) & ~seen);
	default:
		return seen == ALL_STAGES;
	}
}

/* The device went on without the host, which still has the request or will find it in the queue. */
static bool host_has_it(const struct fault *fault)
{
	bool answered = fault->seen & STAGE_BIT(EVENT_FAULT_RESPONSE);

	return (fault->code == RESPONSE_AUTOMATIC || (fault->abandoned_ns && !answered)) &&
	       fault_served(fault) && fault->seen & STAGE_BIT(EVENT_FAULT_REQUEST);
}

/* A group that is over leaves at once if nothing more can come, else it waits for late events. */
static void after_resume(struct faults *f, struct fault_group *group, __u64 now)
{
	for (struct fault_request *r = group->requests; r; r = r->next) {
		if (nothing_more(&r->fault))
			continue;
		fault_group_tell_over(f, group);
		if (host_has_it(&r->fault))
			return;
		if (!group->due_ns) {
			DL_DELETE(f->open, group);
			/* Never 0, which means open, whatever times a damaged stream has. */
			group->due_ns = now + f->config.linger_ns ?: 1;
			DL_APPEND(f->lingering, group);
		}
		return;
	}
	fault_group_close(f, group);
}

static void group_event(struct faults *f, struct fault_group *group, const struct event *e)
{
	unsigned int stage = e->kind - EVENT_FAULT_DETECT;

	if (!(group->seen & (1u << stage))) {
		group->seen |= (__u8)(1u << stage);
		group->at[stage] = e->time_ns;
	}
	if (e->kind == EVENT_FAULT_HANDLER) {
		group->handler_tid = e->tid;
		group->handler_cpu = e->cpu;
	} else if (e->kind >= EVENT_FAULT_RESPONSE) {
		group->code = e->code;
	}
	if (!group->requests) {
		struct fault_request *request = fault_request_new(f, group, e);

		if (request)
			fault_request_announce(f, request, e);
		return;
	}
	/* Only the device's going on is told to requests that the host has not. */
	for (struct fault_request *r = group->requests; r; r = r->next)
		if (fault_served(&r->fault) || e->kind == EVENT_FAULT_RESUME)
			fault_apply(f, group, &r->fault, e);
}

static void request_event(struct faults *f, struct fault_group *group, const struct event *e)
{
	struct fault_request *request = fault_request_find(group, e->address);
	bool fresh = !request;

	if (fresh)
		request = fault_request_new(f, group, e);
	if (!request)
		return;
	if (e->kind == EVENT_FAULT_OVERFLOW) {
		request->fault.state = FAULT_OVERFLOWED;
		if (request->fault.overflows < UINT8_MAX)
			request->fault.overflows++;
	} else if (e->kind == EVENT_FAULT_VOID) {
		request->fault.state = FAULT_DISCARDED;
	} else {
		fault_apply(f, group, &request->fault, e);
	}
	if (fresh)
		fault_request_announce(f, request, e);
}

/* The device waits no more; the host may not know yet. */
static void abandon_event(struct faults *f, struct fault_group *group, const struct event *e)
{
	struct fault_request *request;

	if (!group->abandoned_ns)
		group->abandoned_ns = e->time_ns;
	if (!group->requests) {
		request = fault_request_new(f, group, e);
		if (request)
			fault_request_announce(f, request, e);
	}
	for (request = group->requests; request; request = request->next)
		request->fault.abandoned_ns = group->abandoned_ns;
}

static bool fault_emulated(const struct faults *f, const struct event *e)
{
	return fault_device_path(f, e->device) == FAULT_PATH_EMULATED;
}

/*
 * The number was used again: without an instance from the kernel, time tells the two apart, or where not
 * each end of a group was seen, that a page is asked for anew.
 */
static bool is_successor(const struct faults *f, struct fault_group *group, const struct event *e)
{
	const unsigned int resume = EVENT_FAULT_RESUME - EVENT_FAULT_DETECT;
	const struct fault_request *request;

	if (e->kind != EVENT_FAULT_DETECT)
		return false;
	if (group->seen & (1u << resume))
		return e->time_ns > group->at[resume];
	if (!fault_emulated(f, e) || !(f->probes.resume_off || f->probes.abandon_off))
		return false;
	request = fault_request_find(group, e->address);
	return request && request->fault.seen & STAGE_BIT(EVENT_FAULT_DETECT);
}

/* It is of no page that was told, and tells of none by itself. */
static bool is_stray(const struct faults *f, struct fault_group *group, const struct event *e)
{
	bool of_group = e->flags & EVENT_GROUP || e->kind == EVENT_FAULT_ABANDON;

	return fault_emulated(f, e) && !fault_probes_begin(&f->probes, e->kind) &&
	       !(group && (of_group ? group->requests : fault_request_find(group, e->address)));
}

static bool is_full(const struct fault_group *group, const struct event *e)
{
	return group->count >= GROUP_REQUESTS_MAX && !(e->flags & EVENT_GROUP);
}

static void fault_event(struct faults *f, const struct event *e)
{
	struct fault_group *group;

	fault_group_expire(f, e->time_ns);
	group = fault_group_find(f, e);
	if (group && group->past) {
		if (fault_group_went_on(f, group, e))
			return;
		group = NULL;
	}
	if (is_stray(f, group, e))
		return;
	if (group && (is_successor(f, group, e) || is_full(group, e))) {
		f->counts.given_up += is_full(group, e);
		fault_group_close(f, group);
		group = NULL;
	}
	if (!group)
		group = fault_group_new(f, e);
	if (!group)
		return;
	if (e->kind == EVENT_FAULT_ABANDON)
		abandon_event(f, group, e);
	else if (e->flags & EVENT_GROUP && e->kind <= EVENT_FAULT_RESUME)
		group_event(f, group, e);
	else
		request_event(f, group, e);
	if (group->requests && fault_over(&group->requests->fault))
		after_resume(f, group, e->time_ns);
}

/* What is told of a group beside its stages. */
static void group_note(struct faults *f, const struct event *e)
{
	struct fault_group *group;

	fault_group_expire(f, e->time_ns);
	group = fault_group_find(f, e);
	for (struct fault_request *r = group ? group->requests : NULL; r; r = r->next) {
		if (e->kind == EVENT_FAULT_DELIVERED) {
			r->fault.delivered_ns = e->value;
		} else {
			r->fault.queued_ns = e->time_ns;
			r->fault.consumer = e->code;
		}
	}
}

/* A PASID that was attached before the recording is told with its first fault: one of the newest. */
static void pasid_event(struct faults *f, const struct event *e)
{
	struct fault_group *lists[] = {f->open, f->lingering};

	pasids_event(f->pasids, e);
	for (size_t i = 0; e->kind == EVENT_PASID_ATTACH && i < 2; i++) {
		struct fault_group *group = lists[i] ? lists[i]->prev : NULL;

		for (size_t back = 0; group && back < NAMED_BACK; back++) {
			for (struct fault_request *r = group->requests; r; r = r->next)
				if (r->fault.kernel && !r->fault.pid && r->fault.pasid == e->pasid)
					fault_name_process(f, &r->fault);
			group = group == lists[i] ? NULL : group->prev;
		}
	}
}

static void still_open(struct fault_group *group, __u64 now)
{
	for (struct fault_request *r = group->requests; r; r = r->next)
		if (!fault_over(&r->fault))
			r->fault.waited_ns = now;
}

static void unfinished_event(struct faults *f, const struct event *e)
{
	struct fault_group *group;

	fault_group_expire(f, e->time_ns);
	group = fault_group_find(f, e);
	if (is_stray(f, group, e))
		return;
	if (!group) {
		struct fault_request *request;

		group = fault_group_new(f, e);
		request = group ? fault_request_new(f, group, e) : NULL;
		if (!request)
			return;
		fault_request_announce(f, request, e);
	}
	for (struct fault_request *r = e->code == EVENT_FAULT_DISCARD ? group->requests : NULL; r;
	     r = r->next)
		r->fault.state = FAULT_DISCARDED;
	/* The recorder found it open; the kernel side, that it is over without our having seen its end. */
	if (group->past && e->tid) {
		fault_group_ended(f, group, e->time_ns, false);
	} else if (!group->past) {
		if (!e->tid)
			still_open(group, e->time_ns);
		fault_group_give_up(f, group, e->tid ? 0 : e->time_ns);
	}
}

static void faults_on_cpu_fault(struct faults *f, const struct event *e)
{
	const struct fault_device *device = slots_find(&f->devices, e->device);
	bool exact = device && device->mapped_at;
	struct fault_group *group = fault_group_find(f, e);
	struct fault_request *request = NULL;

	if (group && group->past)
		group = NULL;
	if (group)
		request = exact ? fault_request_find(group, e->address - device->mapped_at)
				: fault_request_at(group, e->address);
	if (!group || (exact && !request)) {
		f->counts.cpu_faults_unmatched++;
		return;
	}
	if (request) {
		if (!request->fault.cpu_faults++)
			request->fault.cpu_fault_ns = e->time_ns;
		f->counts.cpu_faults++;
	} else if (!group->cpu_faults++) {
		group->cpu_fault_ns = e->time_ns;
	}
}

int faults_on_events(void *self, const struct event *events, size_t count)
{
	struct faults *f = self;

	if (!f->first_ns && count)
		f->first_ns = events[0].time_ns;
	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		/* The storm first: CPU faults that no handler took. */
		if (e->kind == EVENT_CPU_FAULT) {
			if (e->device != DEVICE_NONE)
				faults_on_cpu_fault(f, e);
		} else if (e->kind == EVENT_FAULT_UNFINISHED) {
			unfinished_event(f, e);
		} else if ((e->kind >= EVENT_FAULT_DETECT && e->kind <= EVENT_FAULT_OVERFLOW) ||
			   e->kind == EVENT_FAULT_VOID || e->kind == EVENT_FAULT_ABANDON) {
			fault_event(f, e);
		} else if (e->kind == EVENT_FAULT_QUEUED || e->kind == EVENT_FAULT_DELIVERED) {
			group_note(f, e);
		} else if (e->kind == EVENT_PASID_ATTACH || e->kind == EVENT_PASID_DETACH) {
			pasid_event(f, e);
		}
	}
	return f->error;
}

int faults_on_end(void *self, __u64 end_ns)
{
	struct faults *f = self;

	(void)end_ns;
	while (f->lingering)
		fault_group_close(f, f->lingering);
	while (f->open) {
		still_open(f->open, WAITED_TO_END);
		fault_group_close(f, f->open);
	}
	return f->error;
}
