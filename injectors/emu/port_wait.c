// SPDX-License-Identifier: GPL-2.0
/* The policy of a queue that pauses: a DMA waits for its pages, and the queue with it. */
#include "injectors/emu/port_private.h"

#include <errno.h>

#include "injectors/emu/thread.h"

#define BACKOFF_NS	  (10 * NSEC_PER_USEC)
#define BACKOFF_DOUBLINGS 7 /* 1.28 ms */

/* With every index in use and no response coming: how often to look for ones that never will. */
#define SWEEP_NS (10 * NSEC_PER_MSEC)

/* What is absent of one DMA, and how cautiously to ask for it. On the waiting thread's stack. */
struct dma_wait {
	struct port_fault fault; /* its group_pages and group_limit: less after an overflow */
	pthread_cond_t answered;
	unsigned int overflows;
	__u64 pages[DMA_SEGMENTS];
	__u16 groups[GROUP_INDEX_MAX];
};

static void queue_block(struct port *port, __u16 queue, __u64 since_ns)
{
	atomic_store(&port->queues[queue].blocked_since, since_ns);
}

static void queue_unblock(struct port *port, __u16 queue)
{
	struct port_queue *q = &port->queues[queue];

	atomic_fetch_add(&q->blocked_ns, monotonic_ns() - atomic_exchange(&q->blocked_since, 0));
}

__u64 port_fault_end_ns(const struct port *port, __u16 queue)
{
	return port->queues[queue].fault_end_ns;
}

/* In this order a pause that ends in between is missed this time, never counted twice. */
__u64 port_blocked_ns(const struct port *port, __u16 queue)
{
	__u64 blocked = atomic_load(&port->queues[queue].blocked_ns);
	__u64 since = atomic_load(&port->queues[queue].blocked_since);

	return blocked + (since ? monotonic_ns() - since : 0);
}

/* The device knows what it wants and may not ask for it yet. */
static void hold_back(struct port *port, struct port_fault *fault)
{
	if (!fault->held_ns) {
		fault->held_ns = monotonic_ns();
		fault->logged_held_ns = monotonic_ns();
	}
	pthread_mutex_lock(&port->lock);
	if (!port_may_raise(port))
		monotonic_cond_wait_until(&port->index_freed, &port->lock,
					  monotonic_ns() + SWEEP_NS);
	pthread_mutex_unlock(&port->lock);
}

/* Gives up what is past its deadline; returns the next deadline. */
static __u64 expire_waiting(struct port *port, struct port_fault *fault, __u64 now)
{
	__u64 next = ~0ull;
	__u32 kept = 0;

	for (__u32 i = 0; i < fault->raised; i++) {
		const struct port_group *group = &port->groups[fault->groups[i]];

		if (group->state == GROUP_WAITING && group->deadline_ns <= now) {
			group_abandon(port, fault, fault->groups[i]);
			fault->unanswered--;
			continue;
		}
		if (group->state == GROUP_WAITING && group->deadline_ns < next)
			next = group->deadline_ns;
		fault->groups[kept++] = fault->groups[i];
	}
	fault->raised = kept;
	return next;
}

static int wait_answered(struct port *port, struct port_fault *fault)
{
	__u64 deadline;
	int error = 0;

	pthread_mutex_lock(&port->lock);
	while (fault->unanswered) {
		deadline = expire_waiting(port, fault, port->stopping ? ~0ull : monotonic_ns());
		if (fault->unanswered)
			monotonic_cond_wait_until(fault->answered, &port->lock, deadline);
	}
	if (port->stopping)
		error = -ESHUTDOWN;
	pthread_mutex_unlock(&port->lock);
	return error;
}

/* Raises page requests and waits until each group is answered or given up. 0: try the DMA again. */
static int wait_round(struct port *port, struct port_fault *fault)
{
	bool requested;
	int refused, error;

	fault->raised = 0;
	fault->unanswered = 0;
	fault->overflowed = false;
	fault->held_ns = 0;
	while ((refused = port_raise(port, fault)) == -EAGAIN)
		hold_back(port, fault);
	requested = fault->raised > 0;
	error = wait_answered(port, fault);
	/* Before it is told: what is submitted once the fault is known to be over has not met it. */
	if (requested)
		port->queues[fault->queue].fault_end_ns = monotonic_ns();
	if (!error) {
		error = port_verdict(port, fault);
		port_resume(port, fault);
	}
	return error ? error : refused;
}

/*
 * A group that overflowed was answered without any page being there: asking for as much at once again
 * would overflow again. Halves the groups in flight, then the pages of a group; waits a little.
 */
static void wait_ease(struct dma_wait *wait)
{
	struct port_fault *fault = &wait->fault;
	unsigned int doublings =
		wait->overflows < BACKOFF_DOUBLINGS ? wait->overflows : BACKOFF_DOUBLINGS;

	if (!fault->overflowed)
		return;
	wait->overflows++;
	if (fault->raised > 1)
		fault->group_limit = fault->raised / 2;
	else if (fault->group_pages > 1)
		fault->group_pages /= 2;
	sleep_until(monotonic_ns() + (BACKOFF_NS << doublings));
}

/* Until no page is absent; `absent` of them were found so first. */
static int wait_present(struct port *port, __u16 queue, struct dma *dma, bool write,
			struct dma_wait *wait, int absent)
{
	struct port_fault *fault = &wait->fault;
	int error = 0;

	*fault = (struct port_fault){
		.answered = &wait->answered,
		.pages = wait->pages,
		.groups = wait->groups,
		.group_pages = port->config.group_pages,
		.group_limit = GROUP_INDEX_MAX,
		.found_ns = monotonic_ns(),
		.queue = queue,
		.access = write ? EVENT_WRITE : EVENT_READ,
	};
	wait->overflows = 0;
	monotonic_cond_init(&wait->answered);
	while (absent > 0 && !error) {
		fault->count = (__u32)absent;
		/* Blocked is while a fault is open, as analyzers see it: not while it eases off. */
		queue_block(port, queue, fault->found_ns);
		error = wait_round(port, fault);
		queue_unblock(port, queue);
		if (error)
			break;
		wait_ease(wait);
		absent = port_dma_again(port, dma, write, wait->pages, DMA_SEGMENTS);
		fault->found_ns = monotonic_ns();
	}
	pthread_cond_destroy(&wait->answered);
	return error ? error : absent;
}

int port_dma_begin(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length,
		   bool write, struct dma *dma)
{
	struct dma_wait wait;
	int result = port_dma_try(port, queue, pasid, iova, length, write, dma, wait.pages,
				  DMA_SEGMENTS);

	if (result <= 0)
		return result;
	dma->faulted = true;
	return wait_present(port, queue, dma, write, &wait, result);
}
