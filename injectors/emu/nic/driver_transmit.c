// SPDX-License-Identifier: GPL-2.0
/* The guest sends what its network gives it, or frames that are made up: a chain of buffers a frame. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "injectors/emu/nic/driver_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"

#define LATEST_STOP_NS (20 * NSEC_PER_MSEC)
#define FRAME_BUFFERS  40 /* a frame of 64K with its headers, in buffers of NIC_TX_BUFFER */

static void *ring_at(struct nic_driver_queue *queue, __u64 offset)
{
	return guest_memory_cpu(queue->driver->memory,
				queue->driver->channel->queue[queue->index].ring + offset);
}

static __u64 buffer_address(const struct nic_driver_queue *queue, __u16 id)
{
	const struct nic *nic = queue->driver->nic;

	return nic->layout.tx_buffers + ((__u64)queue->index * nic->depth + id) * NIC_TX_BUFFER;
}

void driver_transmit_prepare(struct nic_driver_queue *queue)
{
	__u32 depth = queue->driver->nic->depth;

	memset(ring_at(queue, 0), 0, ring_bytes(depth));
	for (__u32 id = 0; id < depth; id++)
		queue->free[queue->free_count++] = (__u16)id;
}

/* Takes the ids of frames that have been sent. */
static void reap_sent(struct nic_driver_queue *queue)
{
	__u32 depth = queue->driver->nic->depth;
	__u16 index = __atomic_load_n((__u16 *)ring_at(queue, ring_used_index_offset(depth)),
				      __ATOMIC_ACQUIRE);

	while (queue->used != index) {
		const struct ring_used *entry =
			ring_at(queue, ring_used_offset(depth, queue->used++));
		const struct ring_descriptor *descriptor;
		__u16 id = entry->id % depth;

		/* The chain is as we wrote it. */
		do {
			descriptor = ring_at(queue, ring_descriptor_offset(id));
			queue->free[queue->free_count++] = id;
			__atomic_store_n(&queue->tx_posted[id], false, __ATOMIC_RELAXED);
			id = descriptor->next;
		} while (descriptor->flags & RING_NEXT);
	}
}

/* Waits until `wanted` buffers are free; false: the driver is to end. */
static bool wait_free(struct nic_driver_queue *queue, __u32 wanted)
{
	__u32 seen = doorbell_count(&queue->registers->sent);

	while (!driver_stopping(queue->driver)) {
		reap_sent(queue);
		if (queue->free_count >= wanted)
			return true;
		seen = doorbell_wait(&queue->registers->sent, seen, 0);
	}
	return false;
}

/* Frees are taken from the end: the first `count` of a frame are free[free_count - 1], ... */
static int frame_iov(struct nic_driver_queue *queue, __u32 bytes, struct iovec *iov)
{
	int count = 0;

	for (__u32 done = 0; done < bytes; done += NIC_TX_BUFFER, count++) {
		__u16 id = queue->free[queue->free_count - 1 - (__u32)count];

		iov[count] = (struct iovec){
			guest_memory_cpu(queue->driver->memory, buffer_address(queue, id)),
			bytes - done < NIC_TX_BUFFER ? bytes - done : NIC_TX_BUFFER};
	}
	return count;
}

static void submit(struct nic_driver_queue *queue, __u32 length)
{
	const struct nic *nic = queue->driver->nic;
	struct channel_queue *registers = &queue->driver->channel->queue[queue->index];
	__u16 first = queue->free[queue->free_count - 1], id = first;

	for (__u32 done = 0; done < length; done += NIC_TX_BUFFER) {
		__u32 left = length - done;
		bool more = left > NIC_TX_BUFFER;
		struct ring_descriptor *descriptor = ring_at(queue, ring_descriptor_offset(id));

		queue->free_count--;
		__atomic_store_n(&queue->tx_posted[id], true, __ATOMIC_RELAXED);
		*descriptor = (struct ring_descriptor){
			.address = buffer_address(queue, id) + nic->iova_offset,
			.length = more ? NIC_TX_BUFFER : left,
			.pasid = nic->pasid,
			.opcode = RING_SEND,
			.flags = more ? RING_NEXT : 0,
			.next = more ? queue->free[queue->free_count - 1] : 0,
		};
		id = descriptor->next;
	}
	registers->submitted_ns[first] = monotonic_ns();
	*(__u16 *)ring_at(queue, ring_avail_offset(nic->depth, queue->available++)) = first;
	__atomic_store_n((__u16 *)ring_at(queue, ring_avail_index_offset(nic->depth)),
			 queue->available, __ATOMIC_RELEASE);
	doorbell_ring(&registers->doorbell);
}

static void scatter(const struct iovec *iov, int count, const unsigned char *from, size_t length)
{
	for (int i = 0; i < count && length; i++) {
		size_t piece = iov[i].iov_len < length ? iov[i].iov_len : length;

		memcpy(iov[i].iov_base, from, piece);
		from += piece;
		length -= piece;
	}
}

/* A frame from the guest's network; 0: the driver is to end. */
static long next_from_tap(struct nic_driver_queue *queue, int tap, const struct iovec *iov,
			  int count)
{
	struct pollfd ready[2] = {{.fd = tap, .events = POLLIN},
				  {.fd = queue->driver->stop, .events = POLLIN}};
	long length;

	while (!driver_stopping(queue->driver)) {
		length = readv(tap, iov, count);
		if (length > 0)
			return length;
		if (length < 0 && errno != EAGAIN && errno != EINTR) {
			fprintf(stderr, "faultline: the guest of %s reads no more frames: %s\n",
				queue->driver->nic->name, strerror(errno));
			return 0;
		}
		poll(ready, 2, -1);
	}
	return 0;
}

/* A frame that is made up; 0: there is none any more, or the driver is to end. */
static long next_made_up(struct nic_driver *driver, const struct iovec *iov, int count)
{
	__u32 header = nic_header_bytes(&driver->nic->settings), length = 0;
	__u32 room = driver->nic->frame_bytes - header;
	unsigned char *frame = driver->queue[0].made_up;
	__u64 due;

	while (!driver_stopping(driver)) {
		due = generator_due(driver->generator, driver->start_ns, monotonic_ns());
		if (due == ~0ull)
			break;
		if (!due) {
			/* The plan has seen to it that none is longer. */
			length = generator_next(driver->generator, frame + header, room);
			break;
		}
		sleep_until(due < monotonic_ns() + LATEST_STOP_NS
				    ? due
				    : monotonic_ns() + LATEST_STOP_NS);
	}
	if (!length) {
		__atomic_store_n(&driver->sent_all, true, __ATOMIC_RELEASE);
		return 0;
	}
	scatter(iov, count, frame, length + header);
	return length + header;
}

void *driver_transmit(void *argument)
{
	struct nic_driver_queue *queue = argument;
	struct nic *nic = queue->driver->nic;
	__u32 wanted = (nic->frame_bytes + NIC_TX_BUFFER - 1) / NIC_TX_BUFFER;
	int tap = nic_guest_tap(nic, queue->index);
	struct iovec iov[FRAME_BUFFERS];
	long length;

	while (wait_free(queue, wanted)) {
		int count = frame_iov(queue, nic->frame_bytes, iov);

		length = tap >= 0 ? next_from_tap(queue, tap, iov, count)
				  : next_made_up(queue->driver, iov, count);
		if (!length)
			break;
		submit(queue, (__u32)length);
		__atomic_fetch_add(&queue->driver->submitted, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}
