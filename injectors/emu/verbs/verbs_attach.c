// SPDX-License-Identifier: GPL-2.0
/* Guests that are threads of the machine: the command ring, an eventfd of each completion queue, no pins of their own. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/emu/channel.h"
#include "injectors/emu/memory.h"
#include "injectors/emu/verbs/verbs_handles.h"
#include "injectors/emu/verbs/verbs_ring.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static int attached_command(struct verbs_device *device, struct verbs_call *call)
{
	struct verbs_command_ring *ring = device->transport_data;

	/* There is nowhere to put a list but in the guest's own memory. */
	if (call->page_count)
		return -EOPNOTSUPP;
	return verbs_ring_command(ring, &call->command);
}

static int attached_back(struct verbs_device *device, struct verbs_backing *backing)
{
	backing->at = verbs_own_memory(device, backing->guest_address, backing->bytes);
	return 0;
}

static bool attached_gone(struct verbs_device *device)
{
	const struct verbs_command_ring *ring = device->transport_data;

	return atomic_load(&ring->registers->stopping);
}

static void attached_stop(struct verbs_device *device)
{
	const struct verbs_command_ring *ring = device->transport_data;

	verbs_registers_stop(ring->registers);
}

static void attached_close(struct verbs_device *device)
{
	verbs_ring_destroy(device->transport_data);
	free(device->transport_data);
}

static int attached_queue_begin(struct verbs_queue *queue)
{
	const struct verbs_command_ring *ring = queue->device->transport_data;
	int descriptor = atomic_load(&ring->registers->eventfd[queue->number % VERBS_QUEUES_MAX]);

	queue->eventfd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	return queue->eventfd < 0 ? -errno : 0;
}

static void attached_queue_end(struct verbs_queue *queue)
{
	if (queue->eventfd < 0)
		return;
	/* The backend keeps another descriptor of it open. */
	if (queue->channel)
		(void)epoll_ctl(queue->channel->descriptor, EPOLL_CTL_DEL, queue->eventfd, NULL);
	close(queue->eventfd);
}

/* Waits until a descriptor can be read. False: the deadline has passed. */
static bool await_readable(int fd, __u64 deadline_ns)
{
	struct pollfd descriptor = {.fd = fd, .events = POLLIN};
	__u64 now_ns = deadline_ns ? monotonic_ns() : 0;
	struct timespec left;

	if (deadline_ns && now_ns >= deadline_ns)
		return poll(&descriptor, 1, 0) > 0;
	left = timespec_of_ns(deadline_ns - now_ns);
	(void)ppoll(&descriptor, 1, deadline_ns ? &left : NULL, NULL);
	return true;
}

static bool attached_queue_wait(struct verbs_queue *queue, __u64 *seen, __u64 deadline_ns)
{
	eventfd_t told;

	(void)seen;
	if (!await_readable(queue->eventfd, deadline_ns))
		return false;
	(void)eventfd_read(queue->eventfd, &told);
	return true;
}

static int attached_channel_begin(struct verbs_channel *channel)
{
	channel->descriptor = epoll_create1(EPOLL_CLOEXEC);
	return channel->descriptor < 0 ? -errno : 0;
}

static int attached_channel_descriptor(struct verbs_channel *channel)
{
	return channel->descriptor;
}

static void attached_channel_end(struct verbs_channel *channel)
{
	close(channel->descriptor);
}

static void attached_channel_add(struct verbs_channel *channel, struct verbs_queue *queue)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = queue};

	(void)epoll_ctl(channel->descriptor, EPOLL_CTL_ADD, queue->eventfd, &event);
}

static int attached_channel_wait(struct verbs_channel *channel, struct verbs_queue **queue,
				 __u64 deadline_ns)
{
	struct epoll_event event;
	eventfd_t told;

	do {
		if (attached_gone(channel->device))
			return -EPIPE;
		if (!await_readable(channel->descriptor, deadline_ns))
			return -ETIMEDOUT;
		/* Level-triggered: of several each is reported in its turn. Who was faster leaves none. */
		if (epoll_wait(channel->descriptor, &event, 1, 0) != 1)
			continue;
		*queue = event.data.ptr;
		if (!eventfd_read((*queue)->eventfd, &told) && !attached_gone(channel->device))
			return 0;
	} while (true);
}

static const struct verbs_transport attached = {
	.command = attached_command,
	.back = attached_back,
	.gone = attached_gone,
	.stop = attached_stop,
	.close = attached_close,
	.queue_begin = attached_queue_begin,
	.queue_end = attached_queue_end,
	.queue_wait = attached_queue_wait,
	.channel_begin = attached_channel_begin,
	.channel_end = attached_channel_end,
	.channel_add = attached_channel_add,
	.channel_descriptor = attached_channel_descriptor,
	.channel_wait = attached_channel_wait,
};

int verbs_attach(struct verbs_device **device, struct verbs_registers *registers,
		 const struct channel *channel, struct guest_memory *memory)
{
	const struct channel_config *config = &channel->config;
	struct verbs_command_ring *ring = malloc(sizeof(*ring));
	struct verbs_device *new = ring ? verbs_device_new() : NULL;
	int error;

	if (!new) {
		free(ring);
		return failed(-ENOMEM, "no memory for the guest's side of an RDMA device");
	}
	verbs_ring_init(ring, registers, guest_memory_cpu(memory, channel->data_address));
	new->transport = &attached;
	new->transport_data = ring;
	new->registers = registers;
	new->base = guest_memory_cpu(memory, 0);
	new->start = channel->data_address + PAGE_BYTES;
	new->bytes = config->guest_address + config->bytes - new->start;
	new->iova_offset = config->iova_offset;
	error = verbs_device_begin(new);
	if (!error)
		*device = new;
	return error;
}
