// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "lib/analyze/pool.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/stage.h"
#include "lib/base/fail.h"

#define OPEN_DEFAULT	262144
#define LINGER_DEFAULT	200000000ull
#define GIVE_UP_DEFAULT 120000000000ull
#define START_DEFAULT	60000000000ull
#define POOL_CHUNK	256
#define PAGE_MASK	(~(__u64)4095)

#define STAGE_BIT(kind) ((__u8)(1u << ((kind)-EVENT_FAULT_DETECT)))
#define ALL_STAGES	0xff

struct group_key {
	__u32 device, pasid, group, instance;
};

struct request {
	struct fault fault;
	struct request *next;
};

/* Open groups stand in `open` by age; resumed ones that lack a timestamp in `lingering`. */
struct group {
	struct group_key key;
	struct request *requests; /* in the order they appeared */
	struct request *last;
	struct group *prev, *next;
	__u64 first_ns;
	__u64 due_ns;		/* of a lingering group, else 0 */
	__u64 at[FAULT_STAGES]; /* group events, for requests that appear after them */
	__u64 cpu_fault_ns;	/* CPU faults not yet credited to a request */
	__u32 cpu_faults;
	__u32 handler_tid;
	__u16 handler_cpu;
	__u8 seen;
	__u8 code;
	UT_hash_handle hh;
};

struct faults {
	struct faults_config config;
	struct fault_sink sinks[FAULT_SINKS];
	size_t sink_count;
	struct group *groups;
	struct group *open, *lingering;
	struct pool group_pool, request_pool;
	struct slots owners; /* __u32 pid by device handle */
	struct faults_counts counts;
	__u64 first_ns; /* of the stream */
	int error;
};

static struct group *find_group(struct faults *f, const struct event *e)
{
	struct group_key key = {e->device, e->pasid, e->group, e->instance};
	struct group *group;

	HASH_FIND(hh, f->groups, &key, sizeof(key), group);
	return group;
}

static struct group *new_group(struct faults *f, const struct event *e)
{
	struct group *group = pool_take(&f->group_pool);

	if (!group) {
		f->error = failed(-ENOMEM, "no memory for another open fault");
		return NULL;
	}
	group->key = (struct group_key){e->device, e->pasid, e->group, e->instance};
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

static bool in_order(const struct fault *fault)
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

static enum fault_state judge(const struct faults *f, const struct group *group,
			      const struct fault *fault)
{
	bool began = fault->seen & STAGE_BIT(EVENT_FAULT_DETECT);
	bool resumed = fault->seen & STAGE_BIT(EVENT_FAULT_RESUME);
	bool early = group->first_ns < f->first_ns + f->config.start_ns;

	if (fault->state == FAULT_OVERFLOWED)
		return FAULT_OVERFLOWED;
	if (!in_order(fault))
		return FAULT_INCONSISTENT;
	if (began)
		return resumed ? FAULT_COMPLETE : FAULT_UNFINISHED;
	if (!fault->seen)
		return FAULT_UNFINISHED;
	if (early && (!resumed || only_beginning_missing(fault->seen)))
		return FAULT_UNFINISHED;
	return FAULT_INCONSISTENT;
}

static void count_state(struct faults *f, const struct fault *fault)
{
	switch (fault->state) {
	case FAULT_COMPLETE:
		f->counts.complete++;
		break;
	case FAULT_UNFINISHED:
		f->counts.unfinished++;
		if (!(fault->seen & STAGE_BIT(EVENT_FAULT_DETECT)))
			f->counts.cut++;
		break;
	case FAULT_INCONSISTENT:
		f->counts.inconsistent++;
		break;
	default:
		f->counts.overflowed++;
	}
}

/* Judges a group's requests, hands them over and forgets the group. */
static void close_group(struct faults *f, struct group *group)
{
	struct request *request, *next;

	HASH_DEL(f->groups, group);
	if (group->due_ns)
		DL_DELETE(f->lingering, group);
	else
		DL_DELETE(f->open, group);
	for (request = group->requests; request; request = next) {
		next = request->next;
		request->fault.state = (__u8)judge(f, group, &request->fault);
		f->counts.open--;
		count_state(f, &request->fault);
		for (size_t i = 0; i < f->sink_count; i++)
			if (f->sinks[i].finished)
				f->sinks[i].finished(f->sinks[i].self, &request->fault);
		pool_give(&f->request_pool, request);
	}
	pool_give(&f->group_pool, group);
}

/* Closes what has waited long enough by the time `now`. */
static void expire(struct faults *f, __u64 now)
{
	while (f->lingering && f->lingering->due_ns <= now)
		close_group(f, f->lingering);
	while (f->open && f->open->first_ns + f->config.give_up_ns <= now)
		close_group(f, f->open);
}

static void make_room(struct faults *f, const struct group *keep)
{
	while (f->counts.open >= f->config.open_max) {
		struct group *oldest = f->lingering ? f->lingering : f->open;

		if (oldest == keep)
			oldest = oldest->next;
		if (!oldest)
			return;
		f->counts.given_up++;
		close_group(f, oldest);
	}
}

static void stamp(struct fault *fault, unsigned int stage, __u64 time_ns)
{
	if (fault->seen & (1u << stage)) {
		if (fault->repeats < UINT8_MAX)
			fault->repeats++;
		return;
	}
	fault->seen |= (__u8)(1u << stage);
	fault->at[stage] = time_ns;
}

static struct request *new_request(struct faults *f, struct group *group, const struct event *e)
{
	struct request *request;
	struct fault *fault;
	const __u32 *owner = slots_find(&f->owners, e->device);

	make_room(f, group);
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
	fault = &request->fault;
	fault->device = e->device;
	fault->pasid = e->pasid;
	fault->group = e->group;
	fault->instance = e->instance;
	fault->queue = e->queue;
	fault->address = e->address;
	fault->length = e->length;
	fault->pid = owner ? *owner : 0;
	fault->handler_tid = group->handler_tid;
	fault->handler_cpu = group->handler_cpu;
	fault->code = group->code;
	for (unsigned int k = 0; k < FAULT_STAGES; k++)
		if (group->seen & (1u << k))
			stamp(fault, k, group->at[k]);
	f->counts.began++;
	f->counts.open++;
	return request;
}

static void announce(struct faults *f, const struct request *request)
{
	for (size_t i = 0; i < f->sink_count; i++)
		if (f->sinks[i].began)
			f->sinks[i].began(f->sinks[i].self, &request->fault);
}

static struct request *find_request(struct group *group, __u64 address)
{
	struct request *request = group->requests;

	while (request && (request->fault.address & PAGE_MASK) != (address & PAGE_MASK))
		request = request->next;
	return request;
}

static void claim_cpu_faults(struct faults *f, struct group *group, struct fault *fault)
{
	if (!group->cpu_faults)
		return;
	if (!fault->cpu_fault_ns)
		fault->cpu_fault_ns = group->cpu_fault_ns;
	fault->cpu_faults += group->cpu_faults;
	f->counts.cpu_faults += group->cpu_faults;
	group->cpu_faults = 0;
	group->cpu_fault_ns = 0;
}

static void apply(struct faults *f, struct group *group, struct fault *fault, const struct event *e)
{
	stamp(fault, e->kind - EVENT_FAULT_DETECT, e->time_ns);
	fault->flags |= e->flags & (EVENT_READ | EVENT_WRITE | EVENT_EXEC | EVENT_PRIV |
				    EVENT_LAST | EVENT_MAJOR);
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

/* A resumed group leaves at once if nothing more can come, else it waits for late events. */
static void after_resume(struct faults *f, struct group *group, __u64 now)
{
	for (struct request *r = group->requests; r; r = r->next) {
		if (r->fault.seen == ALL_STAGES || r->fault.state == FAULT_OVERFLOWED)
			continue;
		if (!group->due_ns) {
			DL_DELETE(f->open, group);
			group->due_ns = now + f->config.linger_ns;
			DL_APPEND(f->lingering, group);
		}
		return;
	}
	close_group(f, group);
}

static void group_event(struct faults *f, struct group *group, const struct event *e)
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
		struct request *request = new_request(f, group, e);

		if (request)
			announce(f, request);
		return;
	}
	for (struct request *r = group->requests; r; r = r->next)
		apply(f, group, &r->fault, e);
}

static void request_event(struct faults *f, struct group *group, const struct event *e)
{
	struct request *request = find_request(group, e->address);
	bool fresh = !request;

	if (fresh)
		request = new_request(f, group, e);
	if (!request)
		return;
	if (e->kind == EVENT_FAULT_OVERFLOW) {
		request->fault.state = FAULT_OVERFLOWED;
		if (request->fault.overflows < UINT8_MAX)
			request->fault.overflows++;
	} else {
		apply(f, group, &request->fault, e);
	}
	if (fresh)
		announce(f, request);
}

/* The number was used again: without an instance from the kernel, time tells the two apart. */
static bool is_successor(const struct group *group, const struct event *e)
{
	const unsigned int resume = EVENT_FAULT_RESUME - EVENT_FAULT_DETECT;

	return e->kind == EVENT_FAULT_DETECT && group->seen & (1u << resume) &&
	       e->time_ns > group->at[resume];
}

static void fault_event(struct faults *f, const struct event *e)
{
	struct group *group;

	expire(f, e->time_ns);
	group = find_group(f, e);
	if (group && is_successor(group, e)) {
		close_group(f, group);
		group = NULL;
	}
	if (!group)
		group = new_group(f, e);
	if (!group)
		return;
	if (e->flags & EVENT_GROUP && e->kind <= EVENT_FAULT_RESUME)
		group_event(f, group, e);
	else
		request_event(f, group, e);
	if (group->requests && group->requests->fault.seen & STAGE_BIT(EVENT_FAULT_RESUME))
		after_resume(f, group, e->time_ns);
}

static void unfinished_event(struct faults *f, const struct event *e)
{
	struct group *group;

	expire(f, e->time_ns);
	group = find_group(f, e);
	if (!group) {
		struct request *request;

		group = new_group(f, e);
		request = group ? new_request(f, group, e) : NULL;
		if (!request)
			return;
		announce(f, request);
	}
	close_group(f, group);
}

static void cpu_fault(struct faults *f, const struct event *e)
{
	struct group *group = find_group(f, e);
	struct request *request;

	if (!group) {
		f->counts.cpu_faults_unmatched++;
		return;
	}
	if (!group->cpu_faults++)
		group->cpu_fault_ns = e->time_ns;
	request = group->requests;
	if (request && request->next)
		request = find_request(group, e->address);
	if (request)
		claim_cpu_faults(f, group, &request->fault);
}

static int on_events(void *self, const struct event *events, size_t count)
{
	struct faults *f = self;

	if (!f->first_ns && count)
		f->first_ns = events[0].time_ns;
	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		/* The storm first: CPU faults that no handler took. */
		if (e->kind == EVENT_CPU_FAULT) {
			if (e->device != DEVICE_NONE)
				cpu_fault(f, e);
		} else if (e->kind == EVENT_FAULT_UNFINISHED) {
			unfinished_event(f, e);
		} else if (e->kind >= EVENT_FAULT_DETECT && e->kind <= EVENT_FAULT_OVERFLOW) {
			fault_event(f, e);
		}
	}
	return f->error;
}

static int on_device(void *self, const struct device_info *device)
{
	struct faults *f = self;
	__u32 *owner = slots_make(&f->owners, device->handle);

	if (owner)
		*owner = device->pid;
	return 0;
}

static int on_tick(void *self, __u64 now_ns)
{
	expire(self, now_ns);
	return 0;
}

static int on_end(void *self, __u64 end_ns)
{
	struct faults *f = self;

	(void)end_ns;
	while (f->lingering)
		close_group(f, f->lingering);
	while (f->open)
		close_group(f, f->open);
	return f->error;
}

int faults_create(struct faults **faults, const struct faults_config *config)
{
	struct faults *f = calloc(1, sizeof(*f));

	*faults = f;
	if (!f)
		return failed(-ENOMEM, "no memory for the reconstruction of faults");
	if (config)
		f->config = *config;
	if (!f->config.open_max)
		f->config.open_max = OPEN_DEFAULT;
	if (!f->config.linger_ns)
		f->config.linger_ns = LINGER_DEFAULT;
	if (!f->config.give_up_ns)
		f->config.give_up_ns = GIVE_UP_DEFAULT;
	if (!f->config.start_ns)
		f->config.start_ns = START_DEFAULT;
	pool_init(&f->group_pool, sizeof(struct group));
	pool_init(&f->request_pool, sizeof(struct request));
	slots_init(&f->owners, sizeof(__u32));
	return 0;
}

int faults_subscribe(struct faults *f, struct fault_sink sink)
{
	if (f->sink_count == FAULT_SINKS)
		return failed(-ENOSPC, "more than %d analyzers want faults", FAULT_SINKS);
	f->sinks[f->sink_count++] = sink;
	return 0;
}

struct stream faults_stream(struct faults *f)
{
	static const struct stream_ops ops = {
		.device = on_device,
		.events = on_events,
		.tick = on_tick,
		.end = on_end,
	};

	return (struct stream){&ops, f};
}

void faults_counts(const struct faults *f, struct faults_counts *counts)
{
	*counts = f->counts;
}

void faults_each_open(const struct faults *f,
		      void (*each)(void *argument, const struct fault *fault), void *argument)
{
	const struct group *group;

	DL_FOREACH(f->open, group)
	for (const struct request *r = group->requests; r; r = r->next)
		each(argument, &r->fault);
}

void faults_destroy(struct faults *f)
{
	if (!f)
		return;
	HASH_CLEAR(hh, f->groups);
	pool_free(&f->group_pool);
	pool_free(&f->request_pool);
	slots_free(&f->owners);
	free(f);
}
