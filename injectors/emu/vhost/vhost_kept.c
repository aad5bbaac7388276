// SPDX-License-Identifier: GPL-2.0
/* Requests that a model keeps, and whose data another thread of its moves: where that is now. */
#include <errno.h>

#include "injectors/emu/vhost/vhost_private.h"

static struct vhost_slot *kept_slot(struct vhost_request *request)
{
	return (struct vhost_slot *)request;
}

/* The guest address of a segment's byte, and how many follow it there; an IOVA's is known for its page alone. */
static int locate_piece(struct vhost *vhost, __u64 address, bool writable, __u64 *guest_address,
			__u64 *bytes)
{
	if (!vhost_translates(vhost))
		return vhost_translate(vhost, address, guest_address, bytes);
	*bytes = PAGE_BYTES - (address & (PAGE_BYTES - 1));
	return vhost_iotlb_look(vhost, address, writable, guest_address);
}

static bool piece_joins(const struct io_range *last, __u64 address, __u64 bytes)
{
	return last->address + last->length == address && last->length + bytes <= HUGE_BYTES;
}

struct located {
	struct io_range *ranges;
	__u32 count, room;
	__u64 unknown; /* address whose translation is not known */
};

static int locate_segment(struct vhost *vhost, const struct vhost_segment *segment, bool writable,
			  struct located *found)
{
	__u64 at = segment->address, end = at + segment->length, guest_address, bytes;
	int error;

	for (; at < end; at += bytes) {
		__u64 rest = end - at < HUGE_BYTES ? end - at : HUGE_BYTES;
		struct io_range *last = found->count ? &found->ranges[found->count - 1] : NULL;

		found->unknown = at;
		error = locate_piece(vhost, at, writable, &guest_address, &bytes);
		if (error)
			return error;
		bytes = bytes < rest ? bytes : rest;
		guest_address += vhost->config.iova_offset;
		if (last && piece_joins(last, guest_address, bytes)) {
			last->length += (__u32)bytes;
			continue;
		}
		if (found->count == found->room)
			return -EINVAL;
		found->ranges[found->count++] = (struct io_range){
			.address = guest_address,
			.length = (__u32)bytes,
			.flags = writable ? EVENT_WRITE : EVENT_READ,
		};
	}
	return 0;
}

static int locate(struct vhost_request *request, bool writable, struct located *found)
{
	const struct vhost_segment *segment = request->segment + (writable ? request->readable : 0);
	__u32 count = writable ? request->writable : request->readable;
	int error = 0;

	for (; count && !error; count--, segment++)
		error = locate_segment(request->queue->vhost, segment, writable, found);
	return error ? error : (int)found->count;
}

int vhost_request_known(struct vhost_request *request, bool writable, struct io_range *ranges,
			__u32 room)
{
	struct located found = {.ranges = ranges, .room = room};

	return locate(request, writable, &found);
}

int vhost_request_locate(struct vhost_request *request, bool writable, struct io_range *ranges,
			 __u32 room)
{
	struct located found = {.ranges = ranges, .room = room};
	int result = locate(request, writable, &found);

	if (result == -EAGAIN && vhost_iotlb_ask(request->queue->vhost, found.unknown, writable,
						 &kept_slot(request)->miss) == -EINVAL)
		return -EINVAL;
	return result;
}

int vhost_request_await(struct vhost_request *request, bool writable)
{
	struct io_range ranges[VHOST_SEGMENTS_MAX];
	struct located found = {.ranges = ranges, .room = VHOST_SEGMENTS_MAX};
	int result = locate(request, writable, &found);

	if (result == -EAGAIN)
		return slot_missed(kept_slot(request), found.unknown, writable);
	/* It has come meanwhile. */
	return result < 0 ? result : slot_later(kept_slot(request), 0);
}
