// SPDX-License-Identifier: GPL-2.0
/* A request's data: two streams of bytes in segments anywhere in the guest's memory. */
#include <errno.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/memory.h"
#include "injectors/emu/vhost/vhost_private.h"

/* Of a stream from a place on: bytes that lie together. */
struct stream_piece {
	__u64 guest_address, bytes;
	__u64 next; /* place in the stream behind it */
};

int vhost_translate(struct vhost *vhost, __u64 address, __u64 *guest_address, __u64 *bytes)
{
	return memory_table_guest(&vhost->table, address, guest_address, bytes);
}

static __u64 stream_bytes(const struct vhost_request *request, bool writable)
{
	return writable ? request->writable_bytes : request->readable_bytes;
}

/* -EINVAL: the stream is shorter, or the address lies nowhere. */
static int piece_at(const struct vhost_request *request, bool writable, __u64 at, __u64 most,
		    struct stream_piece *piece)
{
	const struct vhost_segment *segment = request->segment + (writable ? request->readable : 0);
	__u32 count = writable ? request->writable : request->readable;
	__u64 before = 0, rest, together;
	int error;

	for (; count && at - before >= segment->length; count--, segment++)
		before += segment->length;
	if (!count || !most)
		return -EINVAL;
	rest = segment->length - (at - before);
	error = vhost_translate(request->queue->vhost, segment->address + (at - before),
				&piece->guest_address, &together);
	if (error)
		return error;
	rest = rest < together ? rest : together;
	rest = rest < most ? rest : most;
	piece->bytes = rest < HUGE_BYTES ? rest : HUGE_BYTES;
	piece->next = at + piece->bytes;
	return 0;
}

static struct vhost_slot *request_slot(struct vhost_request *request)
{
	return (struct vhost_slot *)request;
}

/* What an earlier page request came to, told once. */
static int slot_error(struct vhost_slot *slot)
{
	int error = slot->error;

	slot->error = 0;
	return error;
}

static int dma_direct(struct vhost_queue *q, const struct stream_piece *piece, struct dma *dma)
{
	dma->iova = piece->guest_address;
	dma->length = piece->bytes;
	dma->segments = 1;
	dma->faulted = false;
	dma->iov[0] = (struct iovec){
		guest_memory_cpu(q->vhost->config.memory, piece->guest_address), piece->bytes};
	return 0;
}

static bool slot_asks_for(const struct port_request *asked, __u64 page)
{
	for (__u32 i = 0; i < asked->count; i++)
		if (asked->pages[i] == page)
			return true;
	return false;
}

/* Adds the absent pages of the stream from `at` on, all at once, as far as they may be asked for. */
static void list_absent_pages(struct vhost_slot *slot, bool writable, __u64 at, struct dma *dma)
{
	struct vhost_request *request = &slot->request;
	struct vhost_queue *q = request->queue;
	const struct vhost_config *config = &q->vhost->config;
	__u64 absent[PORT_REQUEST_PAGES];
	struct stream_piece piece;
	int found;

	while (slot->asked.count < slot->pages_most &&
	       !piece_at(request, writable, at, HUGE_BYTES, &piece)) {
		found = port_dma_try(config->port, q->index, config->pasid,
				     piece.guest_address + config->iova_offset, piece.bytes,
				     writable, dma, absent, PORT_REQUEST_PAGES);
		if (found < 0)
			return;
		if (!found)
			port_dma_end(config->port, dma);
		for (int i = 0; i < found && slot->asked.count < slot->pages_most; i++)
			if (!slot_asks_for(&slot->asked, absent[i]))
				slot->asked.pages[slot->asked.count++] = absent[i];
		at = piece.next;
	}
}

/* Tries, and parks the request if it must. */
static int dma_park(struct vhost_slot *slot, bool writable, __u64 at,
		    const struct stream_piece *piece, struct dma *dma)
{
	struct vhost_queue *q = slot->request.queue;
	const struct vhost_config *config = &q->vhost->config;
	__u64 absent;
	int found = port_dma_try(config->port, q->index, config->pasid,
				 piece->guest_address + config->iova_offset, piece->bytes, writable,
				 dma, &absent, 1);

	if (found <= 0)
		return found;
	slot->asked.count = 0;
	slot->asked.queue = q->index;
	slot->asked.access = writable ? EVENT_WRITE : EVENT_READ;
	list_absent_pages(slot, writable, at, dma);
	if (!slot->asked.count) /* it has come meanwhile */
		return slot_later(slot, 0);
	return slot_ask(slot);
}

int vhost_request_dma(struct vhost_request *request, bool writable, __u64 at, __u64 most,
		      struct dma *dma)
{
	const struct vhost_config *config = &request->queue->vhost->config;
	struct vhost_slot *slot = request_slot(request);
	struct stream_piece piece;
	int error = slot_error(slot);

	if (!error)
		error = piece_at(request, writable, at, most, &piece);
	if (error)
		return error;
	if (config->direct)
		return dma_direct(request->queue, &piece, dma);
	if (config->on_fault == VHOST_PARK)
		return dma_park(slot, writable, at, &piece, dma);
	error = port_dma_begin(config->port, request->index, config->pasid,
			       piece.guest_address + config->iova_offset, piece.bytes, writable,
			       dma);
	if (!error)
		request->faulted |= dma->faulted;
	return error;
}

void vhost_request_dma_end(struct vhost_request *request, struct dma *dma)
{
	if (!request->queue->vhost->config.direct)
		port_dma_end(request->queue->vhost->config.port, dma);
}

/* Between a buffer and memory of which references are held. */
static int copy_vector(const struct dma *dma, char *buffer, bool writable)
{
	int error = 0;

	for (__u32 i = 0; i < dma->segments && !error; i++) {
		const struct iovec *part = &dma->iov[i];

		error = writable ? dma_guard_copy(part->iov_base, buffer, part->iov_len)
				 : dma_guard_copy(buffer, part->iov_base, part->iov_len);
		buffer += part->iov_len;
	}
	return error;
}

static int request_copy(struct vhost_request *request, bool writable, __u64 at, char *buffer,
			size_t bytes)
{
	struct vhost *vhost = request->queue->vhost;
	struct dma dma;
	__u64 done = 0;
	int error = 0;

	if (at > stream_bytes(request, writable) || bytes > stream_bytes(request, writable) - at)
		return -EINVAL;
	while (done < bytes && !error) {
		error = vhost_request_dma(request, writable, at + done, bytes - done, &dma);
		if (error)
			break;
		do
			error = copy_vector(&dma, buffer + done, writable);
		while (error == -EFAULT && !vhost->config.direct &&
		       !port_dma_undiscard(vhost->config.port, &dma));
		if (error)
			port_dma_violation(vhost->config.port, dma.iova);
		vhost_request_dma_end(request, &dma);
		done += dma.length;
	}
	return error;
}

int vhost_request_read(struct vhost_request *request, __u64 at, void *to, size_t bytes)
{
	return request_copy(request, false, at, to, bytes);
}

int vhost_request_write(struct vhost_request *request, __u64 at, const void *from, size_t bytes)
{
	return request_copy(request, true, at, (char *)from, bytes);
}

__u32 vhost_request_ranges(struct vhost_request *request, bool writable, __u64 at, __u64 bytes,
			   struct io_range *ranges, __u32 room)
{
	__u64 end = at + bytes;
	struct stream_piece piece;
	__u32 count = 0;

	while (at < end && count < room && !piece_at(request, writable, at, end - at, &piece)) {
		ranges[count++] = (struct io_range){
			.address = piece.guest_address + request->queue->vhost->config.iova_offset,
			.length = (__u32)piece.bytes,
			.flags = writable ? EVENT_WRITE : EVENT_READ,
		};
		at = piece.next;
	}
	return count;
}

bool vhost_request_agreed(const struct vhost_request *request, unsigned int feature)
{
	return vhost_has(request->queue->vhost, feature);
}

int vhost_request_retry(struct vhost_request *request)
{
	return slot_later(request_slot(request), SLOT_PAUSE_NS);
}
