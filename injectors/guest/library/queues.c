// SPDX-License-Identifier: GPL-2.0
/* Completion queues and channels. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/library.h"

static struct library_cq *queues; /* of all devices, under `queues_lock` */
static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;

/* The program's, of an event that it gets, which counts as one; NULL: it is being destroyed. */
static struct library_cq *cq_find(const struct verbs_queue *queue, bool asynchronous)
{
	struct library_cq *cq;

	pthread_mutex_lock(&queues_lock);
	for (cq = queues; cq && cq->queue != queue; cq = cq->next)
		;
	if (cq)
		*(asynchronous ? &cq->async_got : &cq->got) += 1;
	pthread_mutex_unlock(&queues_lock);
	return cq;
}

struct library_cq *library_cq_failed(const struct verbs_queue *queue)
{
	return cq_find(queue, true);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **out, void **argument)
{
	struct library_channel *own = (struct library_channel *)channel;
	struct library_cq *cq = NULL;
	struct verbs_queue *queue;

	while (!cq) {
		bool waits = !(fcntl(channel->fd, F_GETFL) & O_NONBLOCK);
		int error = verbs_get_cq_event(own->verbs, &queue, waits ? 0 : 1);

		if (error) {
			errno = error == -ETIMEDOUT ? EAGAIN : error == -EPIPE ? EIO : -error;
			return -1;
		}
		cq = cq_find(queue, false);
	}
	*out = &cq->cq;
	*argument = cq->cq.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += count;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct library_device *device = device_of_context(context);
	struct library_channel *channel = calloc(1, sizeof(*channel));
	int error = channel ? verbs_create_channel(device->verbs, &channel->verbs) : -ENOMEM;
	int descriptor = error ? error : verbs_channel_descriptor(channel->verbs);

	if (descriptor < 0) {
		if (!error)
			(void)verbs_destroy_channel(channel->verbs);
		free(channel);
		return library_refused(device, "a completion channel", descriptor);
	}
	channel->channel.context = context;
	channel->channel.fd = descriptor;
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct ibv_context *context = channel->context;
	int error;
	bool used;

	pthread_mutex_lock(&context->mutex);
	used = channel->refcnt;
	pthread_mutex_unlock(&context->mutex);
	if (used)
		return EBUSY;
	error = verbs_destroy_channel(((struct library_channel *)channel)->verbs);
	if (error && error != -EPIPE)
		return -error;
	free(channel);
	return 0;
}

static int cq_open(struct library_cq *cq, struct library_device *device, __u32 entries)
{
	__u32 depth = entries ? depth_of(entries, device->limits.depth) : 0;
	__u64 address;
	int error;

	if (!depth)
		return -EINVAL;
	cq->bytes = verbs_completion_bytes(depth);
	cq->memory = library_memory(device, &cq->bytes, &address);
	if (!cq->memory)
		return -errno;
	error = verbs_create_cq(device->verbs, &cq->queue, address, depth);
	if (error) {
		guest_free(device->verbs, cq->memory, cq->bytes);
		return error;
	}
	cq->cq.cqe = (int)depth;
	return 0;
}

static void cq_list(struct library_cq *cq, bool there)
{
	struct library_cq **at;

	pthread_mutex_lock(&queues_lock);
	for (at = &queues; *at && *at != cq; at = &(*at)->next)
		;
	if (there) {
		cq->next = queues;
		queues = cq;
	} else if (*at) {
		*at = cq->next;
	}
	pthread_mutex_unlock(&queues_lock);
}

static void channel_use(struct ibv_context *context, struct ibv_comp_channel *channel, int more)
{
	pthread_mutex_lock(&context->mutex);
	channel->refcnt += more;
	pthread_mutex_unlock(&context->mutex);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *argument,
			     struct ibv_comp_channel *channel, int vector)
{
	struct library_device *device = device_of_context(context);
	struct library_cq *cq = calloc(1, sizeof(*cq));
	int error = !cq			    ? -ENOMEM
		    : vector || entries < 1 ? -EINVAL
					    : cq_open(cq, device, (__u32)entries);

	if (error) {
		free(cq);
		return library_refused(device, "a completion queue", error);
	}
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = argument;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	pthread_spin_init(&cq->poll, PTHREAD_PROCESS_PRIVATE);
	cq_list(cq, true);
	if (channel) {
		verbs_set_channel(cq->queue, ((struct library_channel *)channel)->verbs);
		channel_use(context, channel, 1);
	}
	return &cq->cq;
}

/* No event of it is got any more; until those that were are acknowledged. */
static void cq_drain(struct library_cq *cq)
{
	cq_list(cq, false);
	pthread_mutex_lock(&cq->cq.mutex);
	while (cq->cq.comp_events_completed != cq->got ||
	       cq->cq.async_events_completed != cq->async_got)
		pthread_cond_wait(&cq->cq.cond, &cq->cq.mutex);
	pthread_mutex_unlock(&cq->cq.mutex);
}

int ibv_destroy_cq(struct ibv_cq *queue)
{
	struct library_cq *cq = (struct library_cq *)queue;
	struct library_device *device = device_of_context(queue->context);
	int error = verbs_destroy_cq(cq->queue);

	/* As with all that is destroyed: a device that has gone has none of it. */
	if (error && error != -EPIPE)
		return -error;
	cq_drain(cq);
	if (queue->channel)
		channel_use(queue->context, queue->channel, -1);
	guest_free(device->verbs, cq->memory, cq->bytes);
	pthread_spin_destroy(&cq->poll);
	free(cq);
	return 0;
}

int library_notify(struct ibv_cq *cq, int solicited_only)
{
	(void)solicited_only; /* peers do not say which are */
	if (!cq->channel)
		return EINVAL;
	verbs_arm_cq(((struct library_cq *)cq)->queue);
	return 0;
}
