// SPDX-License-Identifier: GPL-2.0
/* Split virtqueues (virtio 1.2, 2.7), by the same faulting DMA as data. Each word of the driver's is read once. */
#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/memory.h"
#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/clock.h"

#define RING_PAUSE_NS NSEC_PER_MSEC /* before a failed access is tried again */

static int virtqueue_direct(struct vhost_queue *q, __u64 guest_address, void *buffer, size_t bytes,
			    bool write)
{
	void *at = guest_memory_cpu(q->vhost->config.memory, guest_address);

	return write ? dma_guard_copy(at, buffer, bytes) : dma_guard_copy(buffer, at, bytes);
}

/* A device cannot go on without its rings, and a failed page response may be followed by a good one. */
static int virtqueue_try(struct vhost_queue *q, int error)
{
	struct timespec pause = timespec_of_ns(RING_PAUSE_NS);

	if (!error || error == -ESHUTDOWN)
		return error;
	if (atomic_load(&q->vhost->stopping))
		return -ESHUTDOWN;
	if (queue_ordered(q) == QUEUE_ABANDON)
		return -ECANCELED;
	nanosleep(&pause, NULL);
	return 1;
}

/* Asks for a translation; the queue is woken when there is an answer. */
static int virtqueue_miss(struct vhost_queue *q, __u64 iova, bool write)
{
	int error;

	atomic_store(&q->iotlb.waits, true);
	error = vhost_iotlb_ask(q->vhost, iova, write, &q->iotlb.miss);
	q->iotlb.unasked = error == -EBUSY;
	if (error == -EINVAL)
		return failed(-EPROTO, "its rings at IOVA 0x%llx are mapped nowhere", iova);
	return -EAGAIN;
}

static int virtqueue_copy(struct port *port, const struct dma *dma, void *buffer, size_t bytes,
			  bool write)
{
	void *at = dma->iov[0].iov_base;
	int error;

	do
		error = write ? dma_guard_copy(at, buffer, bytes)
			      : dma_guard_copy(buffer, at, bytes);
	while (error == -EFAULT && !port_dma_undiscard(port, dma));
	return error;
}

static int virtqueue_find_page(struct vhost_queue *q, __u64 iova, size_t bytes, bool write,
			       __u64 *guest_address)
{
	__u64 together;
	int error;

	queue_iotlb_enter(q);
	error = queue_iotlb_find(q, iova, write, bytes, guest_address, &together);
	if (error)
		queue_iotlb_leave(q);
	return error;
}

/*
 * Within a page. It is made present by its guest address first, without keeping who takes the translation back waiting; if that is another's
 * afterwards, again.
 */
static int virtqueue_page(struct vhost_queue *q, __u64 iova, void *buffer, size_t bytes, bool write)
{
	const struct vhost_config *config = &q->vhost->config;
	__u64 before, now;
	struct dma dma;
	int error;

	if (virtqueue_find_page(q, iova, bytes, write, &before))
		return virtqueue_miss(q, iova, write);
	if (config->direct) {
		error = virtqueue_direct(q, before, buffer, bytes, write);
		queue_iotlb_leave(q);
		return error;
	}
	queue_iotlb_leave(q);
	error = port_dma_begin(config->port, q->index, config->pasid, before + config->iova_offset,
			       bytes, write, &dma);
	if (error)
		return error;
	error = -EINTR;
	if (!virtqueue_find_page(q, iova, bytes, write, &now)) {
		if (now == before)
			error = virtqueue_copy(config->port, &dma, buffer, bytes, write);
		queue_iotlb_leave(q);
	}
	port_dma_end(config->port, &dma);
	if (error == -EFAULT)
		port_dma_violation(config->port, dma.iova);
	return error;
}

static int virtqueue_translated(struct vhost_queue *q, __u64 iova, char *buffer, size_t bytes,
				bool write)
{
	size_t done = 0;
	int error = 0;

	while (done < bytes && error >= 0) {
		__u64 at = iova + done;
		size_t piece = PAGE_BYTES - (at & (PAGE_BYTES - 1));

		piece = piece < bytes - done ? piece : bytes - done;
		error = virtqueue_page(q, at, buffer + done, piece, write);
		if (error == -EAGAIN || error == -EPROTO)
			return error;
		error = error == -EINTR ? 1 : virtqueue_try(q, error);
		done += error ? 0 : piece;
	}
	return error < 0 ? error : 0;
}

static int virtqueue_access(struct vhost_queue *q, __u64 guest_address, void *buffer, size_t bytes,
			    bool write)
{
	const struct vhost_config *config = &q->vhost->config;
	__u64 iova = guest_address + config->iova_offset;
	int error = 1;

	if (vhost_translates(q->vhost))
		return virtqueue_translated(q, guest_address, buffer, bytes, write);
	if (guest_address >= q->vhost->bytes || bytes > q->vhost->bytes - guest_address)
		return -EINVAL;
	while (error > 0) {
		if (config->direct)
			error = virtqueue_direct(q, guest_address, buffer, bytes, write);
		else if (write)
			error = port_dma_write(config->port, q->index, config->pasid, iova, buffer,
					       bytes);
		else
			error = port_dma_read(config->port, q->index, config->pasid, iova, buffer,
					      bytes);
		error = virtqueue_try(q, error);
	}
	return error;
}

int virtqueue_read(struct vhost_queue *q, __u64 address, void *to, size_t bytes)
{
	return virtqueue_access(q, address, to, bytes, false);
}

int virtqueue_write(struct vhost_queue *q, __u64 address, const void *from, size_t bytes)
{
	return virtqueue_access(q, address, (void *)from, bytes, true);
}

static __u64 available_at(const struct vhost_queue *q, __u32 entry)
{
	return q->ring.available + 2 * sizeof(__u16) + entry * sizeof(__u16);
}

static __u64 used_at(const struct vhost_queue *q, __u32 entry)
{
	return q->ring.used + 2 * sizeof(__u16) + entry * sizeof(struct vring_used_elem);
}

int virtqueue_available_index(struct vhost_queue *q, __u16 *index)
{
	int error = virtqueue_read(q, q->ring.available + sizeof(__u16), index, sizeof(*index));

	/* What the index covers must not be read before it. */
	atomic_thread_fence(memory_order_acquire);
	return error;
}

int virtqueue_used_index(struct vhost_queue *q, __u16 *index)
{
	return virtqueue_read(q, q->ring.used + sizeof(__u16), index, sizeof(*index));
}

/* With an event index the driver says at which entry it wants to be told; it lies behind the available entries. */
static int driver_wants(struct vhost_queue *q, __u16 old, __u16 new, bool *wants)
{
	__u16 word = 0;
	int error;

	*wants = true;
	if (vhost_has(q->vhost, VIRTIO_RING_F_EVENT_IDX)) {
		error = virtqueue_read(q, available_at(q, q->ring.size), &word, sizeof(word));
		*wants = error || vring_need_event(word, new, old);
	} else {
		error = virtqueue_read(q, q->ring.available, &word, sizeof(word));
		*wants = error || !(word & VRING_AVAIL_F_NO_INTERRUPT);
	}
	return error;
}

static void driver_interrupt(struct vhost_queue *q)
{
	const __u64 one = 1;

	/* A counter that is full is as good: it has yet to be read. */
	if (q->call >= 0 && write(q->call, &one, sizeof(one)) < 0)
		return;
}

int virtqueue_put_used(struct vhost_queue *q, __u16 head, __u32 bytes)
{
	const struct vring_used_elem element = {.id = head, .len = bytes};
	__u16 old = q->used, new = (__u16)(old + 1);
	__u64 fault_ns;
	bool wants;
	int error;

	error = virtqueue_write(q, used_at(q, old & (q->ring.size - 1)), &element, sizeof(element));
	if (error)
		return error;
	if (q->inflight)
		inflight_begin_used(q->inflight, head);
	/* The entry must be visible before the index that covers it. */
	atomic_thread_fence(memory_order_release);
	q->used_ns = monotonic_ns();
	error = virtqueue_write(q, q->ring.used + sizeof(__u16), &new, sizeof(new));
	if (error)
		return error;
	fault_ns = port_fault_end_ns(q->vhost->config.port, q->index);
	if (fault_ns > q->used_ns) /* it had to wait for the ring */
		q->used_ns = fault_ns;
	q->used = new;
	if (q->inflight)
		inflight_end_used(q->inflight, head, new);
	/* Either the driver sees the index, or we that it wants to be told. */
	atomic_thread_fence(memory_order_seq_cst);
	error = driver_wants(q, old, new, &wants);
	/* It is told once too often rather than twice used. */
	if (error == -EAGAIN)
		error = 0;
	if (!error && wants)
		driver_interrupt(q);
	return error;
}

int virtqueue_ask_kick(struct vhost_queue *q)
{
	const __u16 flags = 0;
	__u16 index;
	int error;

	if (vhost_has(q->vhost, VIRTIO_RING_F_EVENT_IDX))
		error = virtqueue_write(q, used_at(q, q->ring.size), &q->next, sizeof(q->next));
	else
		error = virtqueue_write(q, q->ring.used, &flags, sizeof(flags));
	if (error)
		return error;
	atomic_thread_fence(memory_order_seq_cst);
	error = virtqueue_available_index(q, &index);
	if (error)
		return error;
	return index != q->next;
}
