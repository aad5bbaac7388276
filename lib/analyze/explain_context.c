// SPDX-License-Identifier: GPL-2.0
/* What faults are explained by: remembered as it comes, found by time, thread, page or device. */
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"

static __u64 io_until(const void *item)
{
	return ((const struct explain_io *)item)->to_ns;
}

static __u64 overflow_until(const void *item)
{
	return ((const struct event *)item)->time_ns;
}

static __u64 run_until(const void *item)
{
	return ((const struct explain_run *)item)->handler_ns;
}

static __u64 explain_fault_until(const void *item)
{
	return fault_end_ns(&((const struct explain_fault *)item)->fault);
}

void explain_context_init(struct explain *e)
{
	e->faults = (struct memory){.size = sizeof(struct explain_fault),
				    .until_ns = explain_fault_until};
	e->ios = (struct memory){.size = sizeof(struct explain_io), .until_ns = io_until};
	e->overflows = (struct memory){.size = sizeof(struct event), .until_ns = overflow_until};
	pool_init(&e->thread_pool, sizeof(struct explain_thread));
	pool_init(&e->taken_pool, sizeof(struct explain_taken));
	pool_init(&e->named_pool, sizeof(struct explain_named));
	pool_init(&e->broken_pool, sizeof(struct explain_broken));
}

void explain_context_free(struct explain *e)
{
	for (struct explain_thread *thread = e->threads; thread; thread = thread->hh.next)
		memory_free(thread->runs.items);
	HASH_CLEAR(hh, e->threads);
	HASH_CLEAR(hh, e->taken);
	pool_free(&e->thread_pool);
	pool_free(&e->taken_pool);
	memory_free(e->faults.items);
	memory_free(e->ios.items);
	memory_free(e->overflows.items);
	memory_free(e->injections);
}

/* NULL: there are too many, or there is no room. */
static struct explain_thread *explain_thread_of(struct explain *e, __u32 tid)
{
	struct explain_thread *thread;

	HASH_FIND(hh, e->threads, &tid, sizeof(tid), thread);
	if (thread || HASH_COUNT(e->threads) >= EXPLAIN_THREADS_MAX)
		return thread;
	thread = pool_take(&e->thread_pool);
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->runs = (struct memory){.size = sizeof(struct explain_run), .until_ns = run_until};
	HASH_ADD(hh, e->threads, tid, sizeof(thread->tid), thread);
	if (thread->hh.tbl)
		return thread;
	pool_give(&e->thread_pool, thread);
	return NULL;
}

static void remember_run(struct explain *e, const struct event *event)
{
	struct explain_thread *thread = explain_thread_of(e, event->tid);
	struct explain_run *run = thread ? memory_push(&thread->runs) : NULL;

	if (run)
		*run = (struct explain_run){
			.handler_ns = event->time_ns,
			.woken_ns = thread->woken_ns,
			.ran_ns = thread->ran_ns,
			.key = {event->device, event->pasid, event->group, event->instance}};
}

static void remember_response(struct explain *e, const struct event *event)
{
	const struct blame_key key = {event->device, event->pasid, event->group, event->instance};
	struct explain_thread *thread = explain_thread_of(e, event->tid);
	struct explain_run *run;

	if (!thread || thread->runs.head == thread->runs.tail)
		return;
	run = memory_at(&thread->runs, thread->runs.tail - 1);
	if (!memcmp(&run->key, &key, sizeof(key)))
		run->response_ns = event->time_ns;
}

static void remember_scheduling(struct explain *e, const struct event *event)
{
	struct explain_thread *thread = explain_thread_of(e, event->tid);

	if (!thread)
		return;
	thread->ran_ns = event->time_ns;
	thread->woken_ns = event->time_ns > event->value ? event->time_ns - event->value : 0;
}

static struct explain_taken *taken_make(struct explain *e, const struct taken_key *key)
{
	struct explain_taken *taken;

	HASH_FIND(hh, e->taken, key, sizeof(*key), taken);
	if (taken)
		return taken;
	taken = HASH_COUNT(e->taken) < EXPLAIN_TAKEN_MAX ? pool_take(&e->taken_pool) : NULL;
	if (!taken) {
		e->taken_full = true;
		return NULL;
	}
	taken->key = *key;
	HASH_ADD(hh, e->taken, key, sizeof(taken->key), taken);
	if (taken->hh.tbl)
		return taken;
	pool_give(&e->taken_pool, taken);
	e->taken_full = true;
	return NULL;
}

static void page_taken(struct explain *e, const struct event *event, __u64 page)
{
	const struct taken_key key = {page, event->device, event->pasid};
	struct explain_taken *taken = taken_make(e, &key);
	struct taken_time *newest;

	if (!taken)
		return;
	newest = &taken->at[(taken->next + TAKEN_TIMES - 1) % TAKEN_TIMES];
	if (event->kind == EVENT_INVALIDATE_FREED && newest->token == event->value) {
		newest->freed_ns = event->time_ns;
		newest->tid = event->tid;
		newest->written = event->flags & EVENT_MAJOR;
		return;
	}
	taken->at[taken->next] = (struct taken_time){
		.sent_ns = event->time_ns,
		.freed_ns = event->kind == EVENT_INVALIDATE_FREED ? event->time_ns : 0,
		.token = event->value,
		.tid = event->kind == EVENT_INVALIDATE_FREED ? event->tid : 0,
		.written = event->flags & EVENT_MAJOR};
	taken->next = (taken->next + 1) % TAKEN_TIMES;
}

#define TAKEN_PAGES_MOST 512 /* of one invalidation: a page of 2 MiB */

static void remember_taken(struct explain *e, const struct event *event)
{
	__u64 first = event->address >> 12, pages = event->length >> 12;

	if (pages > TAKEN_PAGES_MOST)
		e->taken_full = true;
	for (__u64 i = 0; i < pages && i < TAKEN_PAGES_MOST; i++)
		page_taken(e, event, first + i);
}

static void remember_io(struct explain *e, const struct event *event)
{
	struct explain_io *io;

	if (!(event->code & IO_FAULTED) || event->code & IO_PART)
		return;
	io = memory_push(&e->ios);
	if (io)
		*io = (struct explain_io){.from_ns = event->time_ns > event->value
							     ? event->time_ns - event->value
							     : 0,
					  .to_ns = event->time_ns,
					  .address = event->address,
					  .length = event->length,
					  .device = event->device,
					  .queue = event->queue,
					  .code = event->code};
}

void explain_remember(struct explain *e, const struct event *event)
{
	struct event *overflow;

	switch (event->kind) {
	case EVENT_FAULT_HANDLER:
		remember_run(e, event);
		break;
	case EVENT_FAULT_RESPONSE:
		remember_response(e, event);
		break;
	case EVENT_SCHED_RUN:
		remember_scheduling(e, event);
		break;
	case EVENT_INJECT_START:
	case EVENT_INJECT_STOP:
		if (!e->foreseen)
			explain_remember_injection(e, event);
		break;
	case EVENT_INVALIDATE_DEVICE:
	case EVENT_INVALIDATE_FREED:
		remember_taken(e, event);
		if (!e->foreseen)
			explain_remember_injection(e, event);
		break;
	case EVENT_FAULT_OVERFLOW:
		overflow = memory_push(&e->overflows);
		if (overflow)
			*overflow = *event;
		break;
	case EVENT_IO_COMPLETE:
		remember_io(e, event);
		break;
	}
}

const struct explain_run *explain_run_of(const struct explain *e, const struct fault *fault,
					 const struct memory **runs, __u64 *index)
{
	__u64 handler_ns = explain_at(fault, EVENT_FAULT_HANDLER), low, high;
	struct explain_thread *thread;

	HASH_FIND(hh, e->threads, &fault->handler_tid, sizeof(fault->handler_tid), thread);
	if (!thread || !handler_ns)
		return NULL;
	low = thread->runs.head;
	high = thread->runs.tail;
	while (low < high) {
		__u64 middle = low + (high - low) / 2;
		const struct explain_run *run = memory_at(&thread->runs, middle);

		if (run->handler_ns < handler_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*runs = &thread->runs;
	*index = low;
	return low < thread->runs.tail ? memory_at(&thread->runs, low) : NULL;
}

bool explain_same_machine(const struct explain *e, __u32 a, __u32 b)
{
	const struct device_info *x = session_device(e->analysis->session, a);
	const struct device_info *y = session_device(e->analysis->session, b);

	return a == b || (x && y && x->kind == DEVICE_EMULATED && y->kind == DEVICE_EMULATED &&
			  x->pid == y->pid);
}

const struct taken_time *explain_taken_before(const struct explain *e, const struct fault *fault,
					      __u64 before_ns)
{
	const struct taken_key key = {fault->address >> 12, fault->device, fault->pasid};
	const struct taken_time *last = NULL;
	struct explain_taken *taken;

	HASH_FIND(hh, e->taken, &key, sizeof(key), taken);
	for (unsigned int i = 0; taken && i < TAKEN_TIMES; i++) {
		const struct taken_time *at = &taken->at[i];

		if (at->sent_ns && at->sent_ns <= before_ns &&
		    (!last || at->sent_ns > last->sent_ns))
			last = at;
	}
	return last;
}

bool explain_same_group(const struct fault *a, const struct fault *b)
{
	return a->device == b->device && a->pasid == b->pasid && a->group == b->group &&
	       a->instance == b->instance;
}

struct near {
	const struct fault *of;
	__u64 from_ns, to_ns;
	explain_visit *visit;
	void *argument;
};

/* What the host still did for a fault that was given up is a part of it. */
static __u64 last_of(const struct fault *fault)
{
	__u64 end = fault_end_ns(fault), last = fault_last_ns(fault);

	return end > last ? end : last;
}

static void visit_if_near(void *argument, const struct fault *fault)
{
	const struct near *near = argument;
	__u64 begin = fault_known_ns(fault);

	if (!begin || begin > near->to_ns ||
	    (explain_same_group(fault, near->of) && fault->address == near->of->address))
		return;
	if (!fault_over(fault) || last_of(fault) >= near->from_ns)
		near->visit(near->argument, fault);
}

static size_t block_of(__u64 index)
{
	return index / EXPLAIN_BLOCK % EXPLAIN_BLOCKS;
}

void explain_remember_fault(struct explain *e, const struct fault *fault)
{
	__u64 index = e->faults.tail, begin = fault_known_ns(fault);
	__u64 end = fault_over(fault) ? last_of(fault) : UINT64_MAX;
	struct explain_fault *kept = memory_push(&e->faults);
	struct explain_block *block = &e->blocks[block_of(index)];

	if (!kept)
		return;
	*kept = (struct explain_fault){.fault = *fault};
	if (index % EXPLAIN_BLOCK == 0)
		*block = (struct explain_block){begin, end};
	if (begin < block->least_begin_ns)
		block->least_begin_ns = begin;
	if (end > block->most_end_ns)
		block->most_end_ns = end;
}

void explain_each_near(const struct explain *e, const struct fault *of, __u64 from_ns, __u64 to_ns,
		       explain_visit *visit, void *argument)
{
	struct near near = {of, from_ns, to_ns, visit, argument};
	__u64 i = e->faults.tail;

	while (i > e->faults.head) {
		const struct explain_block *block = &e->blocks[block_of(i - 1)];
		__u64 first = (i - 1) / EXPLAIN_BLOCK * EXPLAIN_BLOCK;

		first = first > e->faults.head ? first : e->faults.head;
		for (; block->least_begin_ns <= to_ns && block->most_end_ns >= from_ns && i > first;
		     i--) {
			const struct explain_fault *kept = memory_at(&e->faults, i - 1);

			visit_if_near(&near, &kept->fault);
		}
		i = first;
	}
	faults_each_open(e->analysis->faults, visit_if_near, &near);
}
