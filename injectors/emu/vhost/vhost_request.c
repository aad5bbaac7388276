// SPDX-License-Identifier: GPL-2.0
/* A request's data: two streams of bytes in segments anywhere in the guest's memory. */
#include <errno.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/memory.h"
#include "injectors/emu/vhost/vhost_private.h"

#define MISS_AHEAD (32 * PAGE_BYTES) /* of a stream, whose translations are asked for together */

/* Of a stream from a place on: bytes that lie together. */
struct stream_piece {
	__u64 address; /* the driver's */
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

/* With an IOMMU inside, then -EAGAIN: not known. */
static int piece_find(struct vhost_queue *q, bool write, __u64 most, struct stream_piece *piece)
{
	int error;

	if (vhost_translates(q->vhost))
		return queue_iotlb_find(q, piece->address, write, most, &piece->guest_address,
					&piece->bytes);
	error = vhost_translate(q->vhost, piece->address, &piece->guest_address, &piece->bytes);
	piece->bytes = piece->bytes < most ? piece->bytes : most;
	return error;
}

/* -EINVAL: the stream is shorter, or the address lies nowhere. */
static int piece_at(const struct vhost_request *request, bool writable, __u64 at, __u64 most,
		    struct stream_piece *piece)
{
	const struct vhost_segment *segment = request->segment + (writable ? request->readable : 0);
	__u32 count = writable ? request->writable : request->readable;
	__u64 before = 0, rest;
	int error;

	for (; count && at - before >= segment->length; count--, segment++)
		before += segment->length;
	if (!count || !most)
		return -EINVAL;
	rest = segment->length - (at - before);
	rest = rest < most ? rest : most;
	rest = rest < HUGE_BYTES ? rest : HUGE_BYTES;
	piece->address = segment->address + (at - before);
	error = piece_find(request->queue, writable, rest, piece);
	piece->next = at + piece->bytes;
	return error;
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
	const struct vhost_config *config = &q->vhost->config;
	void *at = config->unserved ? config->unserved + piece->guest_address
				    : guest_memory_cpu(config->memory, piece->guest_address);

	dma->iova = piece->guest_address;
	dma->length = piece->bytes;
	dma->segments = 1;
	dma->faulted = false;
	dma->iov[0] = (struct iovec){at, piece->bytes};
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

static int dma_pause(struct vhost_request *request, bool writable, const struct stream_piece *piece,
		     struct dma *dma)
{
	const struct vhost_config *config = &request->queue->vhost->config;
	int error = port_dma_begin(config->port, request->index, config->pasid,
				   piece->guest_address + config->iova_offset, piece->bytes,
				   writable, dma);

	if (!error)
		request->faulted |= dma->faulted;
	return error;
}

static int dma_begin(struct vhost_request *request, bool writable, __u64 at,
		     const struct stream_piece *piece, struct dma *dma)
{
	const struct vhost_config *config = &request->queue->vhost->config;

	if (config->direct)
		return dma_direct(request->queue, piece, dma);
	if (config->on_fault == VHOST_PARK)
		return dma_park(request_slot(request), writable, at, piece, dma);
	return dma_pause(request, writable, piece, dma);
}

/* Pages of the stream that will be needed soon are asked for at once: an answer takes the front-end a while. */
static int dma_miss(struct vhost_request *request, bool writable, __u64 at, __u64 address)
{
	__u64 end = at + MISS_AHEAD, ahead;
	struct stream_piece piece;
	int result = slot_missed(request_slot(request), address, writable);

	for (at += PAGE_BYTES; result == VHOST_PARKED && at < end; at += PAGE_BYTES) {
		int error = piece_at(request, writable, at, 1, &piece);

		ahead = 0;
		if (error == -EINVAL ||
		    (error == -EAGAIN &&
		     vhost_iotlb_ask(request->queue->vhost, piece.address, writable, &ahead)))
			break;
	}
	return result;
}

/* Remembers what was reached: a part may be reached again after a wait. */
static void piece_remember(struct vhost_slot *slot, bool writable, __u64 at,
			   const struct stream_piece *piece)
{
	struct vhost_piece *last = slot->pieces ? &slot->piece[slot->pieces - 1] : NULL;

	while (last && last->writable == writable && last->at >= at) {
		slot->pieces--;
		last = slot->pieces ? last - 1 : NULL;
	}
	if (last && last->writable == writable && last->at + last->bytes == at &&
	    last->guest_address + last->bytes == piece->guest_address &&
	    last->bytes + piece->bytes < 1u << 31)
		last->bytes += (__u32)piece->bytes;
	else if (slot->pieces < VHOST_PIECES)
		slot->piece[slot->pieces++] = (struct vhost_piece){at, piece->guest_address,
								   (__u32)piece->bytes, writable};
}

/* Inside. A queue that pauses for pages leaves meanwhile, and goes by what the translation is afterwards. */
static int dma_translated(struct vhost_request *request, bool writable, __u64 at, __u64 most,
			  struct dma *dma)
{
	struct vhost_queue *q = request->queue;
	struct stream_piece piece, before;
	int error = piece_at(request, writable, at, most, &piece);

	if (error == -EAGAIN)
		return dma_miss(request, writable, at, piece.address);
	if (!error && (q->vhost->config.direct || q->vhost->config.on_fault == VHOST_PARK)) {
		error = dma_begin(request, writable, at, &piece, dma);
	} else if (!error) {
		before = piece;
		queue_iotlb_leave(q);
		error = dma_pause(request, writable, &before, dma);
		queue_iotlb_enter(q);
		if (error)
			return error;
		error = piece_at(request, writable, at, before.bytes, &piece);
		if (error || piece.guest_address != before.guest_address ||
		    piece.bytes != before.bytes) {
			port_dma_end(q->vhost->config.port, dma);
			return slot_later(request_slot(request), 0);
		}
	}
	if (!error)
		piece_remember(request_slot(request), writable, at, &piece);
	return error;
}

int vhost_request_dma(struct vhost_request *request, bool writable, __u64 at, __u64 most,
		      struct dma *dma)
{
	struct stream_piece piece;
	int error = slot_error(request_slot(request));

	if (error)
		return error;
	if (vhost_translates(request->queue->vhost)) {
		queue_iotlb_enter(request->queue);
		error = dma_translated(request, writable, at, most, dma);
		if (error)
			queue_iotlb_leave(request->queue);
		return error;
	}
	error = piece_at(request, writable, at, most, &piece);
	return error ? error : dma_begin(request, writable, at, &piece, dma);
}

void vhost_request_dma_end(struct vhost_request *request, struct dma *dma)
{
	struct vhost *vhost = request->queue->vhost;

	if (!vhost->config.direct)
		port_dma_end(vhost->config.port, dma);
	if (vhost_translates(vhost))
		queue_iotlb_leave(request->queue);
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

/* By what was reached. */
static __u32 remembered_ranges(struct vhost_request *request, bool writable, __u64 at, __u64 bytes,
			       struct io_range *ranges, __u32 room)
{
	const struct vhost_slot *slot = request_slot(request);
	__u32 count = 0;

	for (__u32 i = 0; i < slot->pieces && count < room; i++) {
		const struct vhost_piece *piece = &slot->piece[i];
		__u64 from = piece->at > at ? piece->at : at, end = piece->at + piece->bytes;

		end = end < at + bytes ? end : at + bytes;
		if (piece->writable != writable || from >= end)
			continue;
		ranges[count++] = (struct io_range){
			.address = piece->guest_address + (from - piece->at) +
				   request->queue->vhost->config.iova_offset,
			.length = (__u32)(end - from),
			.flags = writable ? EVENT_WRITE : EVENT_READ,
		};
	}
	return count;
}

__u32 vhost_request_ranges(struct vhost_request *request, bool writable, __u64 at, __u64 bytes,
			   struct io_range *ranges, __u32 room)
{
	__u64 end = at + bytes;
	struct stream_piece piece;
	__u32 count = 0;

	if (vhost_translates(request->queue->vhost))
		return remembered_ranges(request, writable, at, bytes, ranges, room);
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
