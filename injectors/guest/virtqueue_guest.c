// SPDX-License-Identifier: GPL-2.0
#include "injectors/guest/virtqueue_guest.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "injectors/emu/verbs/verbs_handles.h"
#include "lib/base/clock.h"

#define CHAIN	   3 /* descriptors of a command: request, list, answer */
#define LIST_START (2 * HYV_QUEUE_BYTES)
#define LIST_PAGES ((HYV_CONTROL_BYTES - LIST_START) / sizeof(__u64))

_Static_assert(VIRTQUEUE_SLOTS *CHAIN <= HYV_QUEUE_ENTRIES, "descriptors for all");
_Static_assert(VIRTQUEUE_SLOTS *(sizeof(struct verbs_request) + sizeof(struct verbs_answer)) <=
		       HYV_QUEUE_BYTES,
	       "requests and answers in the second page");

void virtqueue_guest_init(struct virtqueue_guest *queue,
			  const struct virtqueue_guest_config *config)
{
	unsigned char *control = config->control;

	memset(control, 0, LIST_START);
	*queue = (struct virtqueue_guest){
		.config = *config,
		.ring = virtqueue_at(control),
		.requests = (void *)(control + HYV_QUEUE_BYTES),
		.list = (void *)(control + LIST_START),
	};
	queue->answers = (void *)(queue->requests + VIRTQUEUE_SLOTS);
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
}

void virtqueue_guest_destroy(struct virtqueue_guest *queue)
{
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->lock);
}

static __u64 guest_address_of(const struct virtqueue_guest *queue, const void *at)
{
	const char *control = queue->config.control;

	return queue->config.control_address + (__u64)((const char *)at - control);
}

/* A place for a command; -EPIPE. Under the lock. */
static int slot_claim(struct virtqueue_guest *queue, bool listed)
{
	for (;;) {
		if (queue->gone)
			return -EPIPE;
		for (int i = 0; i < VIRTQUEUE_SLOTS && !(listed && queue->listing); i++) {
			if (queue->busy[i])
				continue;
			queue->busy[i] = true;
			queue->done[i] = false;
			queue->listing |= listed;
			return i;
		}
		pthread_cond_wait(&queue->changed, &queue->lock);
	}
}

static struct vring_desc *describe_part(struct virtqueue_guest *queue, int descriptor,
					const void *at, size_t bytes, __u16 flags)
{
	struct vring_desc *desc = &queue->ring.desc[descriptor];

	*desc = (struct vring_desc){
		.addr = guest_address_of(queue, at),
		.len = (__u32)bytes,
		.flags = flags,
		.next = (__u16)(flags & VRING_DESC_F_NEXT ? descriptor + 1 : 0),
	};
	return desc;
}

static void chain_write(struct virtqueue_guest *queue, int slot, const struct verbs_call *call)
{
	size_t listed = call->page_count * sizeof(*queue->list);
	int head = slot * CHAIN;
	struct vring_desc *first = describe_part(queue, head, &queue->requests[slot],
						 sizeof(struct verbs_request), VRING_DESC_F_NEXT);

	if (listed)
		describe_part(queue, head + 1, queue->list, listed, VRING_DESC_F_NEXT);
	else
		first->next = (__u16)(head + 2);
	describe_part(queue, head + 2, &queue->answers[slot], sizeof(struct verbs_answer),
		      VRING_DESC_F_WRITE);
}

static void kick(struct virtqueue_guest *queue)
{
	/* What has been published is seen before the host is asked whether it wants to be told. */
	atomic_thread_fence(memory_order_seq_cst);
	if (__atomic_load_n(&queue->ring.used->flags, __ATOMIC_RELAXED) & VRING_USED_F_NO_NOTIFY)
		return;
	atomic_fetch_add(queue->config.kicks, 1);
	(void)eventfd_write(queue->config.kick, 1);
}

/* Under the lock. */
static void publish(struct virtqueue_guest *queue, int slot, const struct verbs_call *call)
{
	struct verbs_request *request = &queue->requests[slot];

	*request = (struct verbs_request){
		.command = call->command,
		.token = ++queue->token,
		.called_ns = call->called_ns,
		.queued_ns = monotonic_ns(),
		.last_token = queue->last_token,
		.last_woken_ns = queue->last_woken_ns,
		.last_kind = queue->last_kind,
		.pages = call->page_count,
	};
	queue->last_token = 0;
	queue->answers[slot] = (struct verbs_answer){.error = -EINPROGRESS};
	chain_write(queue, slot, call);
	queue->ring.avail->ring[queue->published % HYV_QUEUE_ENTRIES] = (__u16)(slot * CHAIN);
	request->kicked_ns = monotonic_ns();
	__atomic_store_n(&queue->ring.avail->idx, ++queue->published, __ATOMIC_RELEASE);
	kick(queue);
}

/* Answers that there are. Under the lock. */
static bool reap_answers(struct virtqueue_guest *queue)
{
	__u16 used = __atomic_load_n(&queue->ring.used->idx, __ATOMIC_ACQUIRE);
	bool any = queue->reaped != used;

	while (queue->reaped != used) {
		__u32 head = queue->ring.used->ring[queue->reaped++ % HYV_QUEUE_ENTRIES].id;

		if (head % CHAIN == 0 && head / CHAIN < VIRTQUEUE_SLOTS)
			queue->done[head / CHAIN] = true;
	}
	if (any)
		pthread_cond_broadcast(&queue->changed);
	return any;
}

/* Sleeps for all that wait, without the lock. */
static void sleep_for_all(struct virtqueue_guest *queue)
{
	const struct timespec most = timespec_of_ns(VIRTQUEUE_KICK_NS);
	struct pollfd polled[] = {{.fd = queue->config.inject, .events = POLLIN},
				  {.fd = queue->config.socket, .events = POLLRDHUP}};
	eventfd_t told;
	int found;

	queue->sleeping = true;
	pthread_mutex_unlock(&queue->lock);
	found = ppoll(polled, 2, &most, NULL);
	if (polled[0].revents)
		(void)eventfd_read(queue->config.inject, &told);
	pthread_mutex_lock(&queue->lock);
	queue->sleeping = false;
	/* What it had answered counts before its end does. */
	if (!reap_answers(queue) && found > 0 && polled[1].revents)
		queue->gone = true;
	if (!found)
		kick(queue);
	pthread_cond_broadcast(&queue->changed);
}

/* Under the lock. */
static int await_answer(struct virtqueue_guest *queue, int slot)
{
	(void)reap_answers(queue);
	while (!queue->done[slot]) {
		if (queue->gone)
			return -EPIPE;
		if (queue->sleeping)
			pthread_cond_wait(&queue->changed, &queue->lock);
		else
			sleep_for_all(queue);
	}
	return 0;
}

int virtqueue_guest_call(struct virtqueue_guest *queue, struct verbs_call *call)
{
	bool listed = call->page_count > 0;
	__u64 token = 0;
	int slot, error;

	if (call->page_count > LIST_PAGES)
		return -E2BIG;
	pthread_mutex_lock(&queue->lock);
	slot = slot_claim(queue, listed);
	if (slot < 0) {
		pthread_mutex_unlock(&queue->lock);
		return slot;
	}
	if (listed)
		memcpy(queue->list, call->pages, call->page_count * sizeof(*call->pages));
	publish(queue, slot, call);
	token = queue->token;
	error = await_answer(queue, slot);
	if (!error) {
		const struct verbs_answer *answer = &queue->answers[slot];

		queue->last_token = token;
		queue->last_woken_ns = monotonic_ns();
		queue->last_kind = call->command.kind;
		memcpy(call->command.result, answer->result, sizeof(answer->result));
		error = answer->error == -EINPROGRESS ? -EIO : answer->error;
	}
	queue->busy[slot] = false;
	queue->listing &= !listed;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return error;
}

void virtqueue_guest_end(struct virtqueue_guest *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->gone = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	/* Who sleeps for all looks again. */
	(void)eventfd_write(queue->config.inject, 1);
}
