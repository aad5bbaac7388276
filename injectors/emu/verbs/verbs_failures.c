// SPDX-License-Identifier: GPL-2.0
/* What of a guest's objects has gone into error by itself, as the guest hears of it. */
#include <errno.h>

#include "injectors/emu/verbs/verbs_handles.h"

/* The first of the device's completion queues that has; under the lock. */
static struct verbs_queue *failed_queue(struct verbs_device *device)
{
	struct verbs_queue *queue = device->queues;

	while (queue &&
	       !verbs_registers_take_failure(device->registers, VERBS_QUEUE_FAILED, queue->number))
		queue = queue->next;
	return queue;
}

static struct verbs_pair *failed_pair(struct verbs_device *device)
{
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++)
		if (atomic_load(&device->pairs[i].live) &&
		    verbs_registers_take_failure(device->registers, VERBS_PAIR_FAILED, i))
			return &device->pairs[i];
	return NULL;
}

/* Queues first: theirs is what the pairs' follows from. */
int verbs_get_failure(struct verbs_device *device, struct verbs_failure *failure)
{
	struct verbs_pair *pair = NULL;
	struct verbs_queue *queue;

	pthread_mutex_lock(&device->lock);
	queue = failed_queue(device);
	if (queue)
		*failure = (struct verbs_failure){
			.what = VERBS_QUEUE_FAILED, .number = queue->number, .queue = queue};
	else
		pair = failed_pair(device);
	if (pair)
		*failure = (struct verbs_failure){
			.what = VERBS_PAIR_FAILED, .number = verbs_pair_number(pair), .pair = pair};
	pthread_mutex_unlock(&device->lock);
	return queue || pair ? 0 : -EAGAIN;
}
