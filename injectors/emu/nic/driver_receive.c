// SPDX-License-Identifier: GPL-2.0
/* The guest takes what its NIC has received, gives it to its network and posts the buffers again. */
#include <errno.h>
#include <unistd.h>

#include "injectors/emu/nic/driver_private.h"

#define POST_BATCH 64

static void post(struct nic_driver_queue *queue, __u32 id)
{
	const struct nic *nic = queue->driver->nic;
	const struct nic_layout *layout = &nic->layout;
	struct nic_descriptor *descriptors = guest_memory_cpu(
		queue->driver->memory, layout->descriptors + queue->index * layout->ring_bytes);
	__u64 buffer = layout->rx_buffers +
		       ((__u64)queue->index * nic->depth + id) * nic->settings.rx_buffer;

	descriptors[queue->posted++ % nic->depth] = (struct nic_descriptor){
		.address = buffer + nic->iova_offset,
		.length = (__u32)nic->settings.rx_buffer,
		.id = id,
	};
	__atomic_store_n(&queue->rx_posted[id], true, __ATOMIC_RELAXED);
}

/* Sequentially consistent, as the device's part is: either it sees the tail or we see that it waits for it. */
static void move_tail(struct nic_driver_queue *queue)
{
	atomic_store(&queue->registers->tail, queue->posted);
	if (atomic_exchange(&queue->registers->tail_wanted, false))
		nic_kick(queue->driver->nic);
}

void driver_receive_prepare(struct nic_driver_queue *queue)
{
	for (__u32 id = 0; id < queue->driver->nic->depth; id++)
		post(queue, id);
	move_tail(queue);
}

static void verify(struct nic_driver_queue *queue, const struct iovec *iov, int count)
{
	struct nic_driver *driver = queue->driver;
	__u32 header = nic_header_bytes(&driver->nic->settings), length = 0;

	for (int i = 0; i < count; i++) {
		memcpy(queue->scratch + length, iov[i].iov_base, iov[i].iov_len);
		length += (__u32)iov[i].iov_len;
	}
	pthread_mutex_lock(&driver->verifying);
	if (verifier_check(driver->verifier, queue->scratch + header, length - header) >
	    FRAME_AFTER_GAP)
		driver->mismatches++;
	pthread_mutex_unlock(&driver->verifying);
}

static void deliver_frame(struct nic_driver_queue *queue, const struct iovec *iov, int count)
{
	struct nic_driver *driver = queue->driver;
	int tap = nic_guest_tap(driver->nic, queue->index);

	if (driver->verifier)
		verify(queue, iov, count);
	else if (tap >= 0 && writev(tap, iov, count) < 0)
		queue->refused++;
}

static const struct nic_completion *completion_at(struct nic_driver_queue *queue, __u64 position)
{
	const struct nic *nic = queue->driver->nic;
	const struct nic_completion *completions =
		guest_memory_cpu(queue->driver->memory,
				 nic->layout.completions + queue->index * nic->layout.ring_bytes);

	return &completions[position % nic->depth];
}

/* The head may stand within a frame: completions are written up to the array's end, then from its start on. */
static bool frame_complete(struct nic_driver_queue *queue, __u64 head)
{
	for (__u64 at = queue->consumed; at < head; at++)
		if (completion_at(queue, at)->flags & NIC_LAST)
			return true;
	return false;
}

/* One frame, all of whose completions are there: its buffers are posted again. */
static void take_received(struct nic_driver_queue *queue, __u64 head)
{
	const struct nic *nic = queue->driver->nic;
	struct iovec iov[RX_FRAME_BUFFERS];
	__u32 ids[RX_FRAME_BUFFERS], flags = 0;
	int count = 0;

	while (queue->consumed < head && count < RX_FRAME_BUFFERS && !(flags & NIC_LAST)) {
		struct nic_completion done = *completion_at(queue, queue->consumed++);
		__u64 buffer = nic->layout.rx_buffers +
			       ((__u64)queue->index * nic->depth + done.id % nic->depth) *
				       nic->settings.rx_buffer;

		flags = done.flags;
		ids[count] = done.id % nic->depth;
		__atomic_store_n(&queue->rx_posted[ids[count]], false, __ATOMIC_RELAXED);
		iov[count++] = (struct iovec){guest_memory_cpu(queue->driver->memory, buffer),
					      done.length};
	}
	if (!(flags & NIC_LOST))
		deliver_frame(queue, iov, count);
	for (int i = 0; i < count; i++)
		post(queue, ids[i]);
	if (!(flags & NIC_LOST))
		__atomic_fetch_add(&queue->taken, 1, __ATOMIC_RELAXED);
}

void *driver_receive(void *argument)
{
	struct nic_driver_queue *queue = argument;
	__u32 seen = 0;

	while (!driver_stopping(queue->driver)) {
		__u64 head = atomic_load_explicit(&queue->registers->head, memory_order_acquire);
		__u64 until = queue->posted + POST_BATCH;

		if (!frame_complete(queue, head)) {
			seen = doorbell_wait(&queue->registers->interrupt, seen, 0);
			continue;
		}
		while (queue->posted < until && frame_complete(queue, head))
			take_received(queue, head);
		move_tail(queue);
	}
	return NULL;
}
