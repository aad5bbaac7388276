// SPDX-License-Identifier: GPL-2.0
/* Chains of descriptors, from the available ring to a request: copied once, then checked, then used. */
#include <errno.h>
#include <string.h>

#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/clock.h"

/* What the driver has published, and some of its entries. 1: there are; 0: nothing new. */
static int fetch_batch(struct vhost_queue *q)
{
	__u32 size = q->ring.size, count, at = q->next & (size - 1);
	int error;

	if (q->next == q->available) {
		error = virtqueue_available_index(q, &q->available);
		if (error)
			return error;
		q->seen_ns = monotonic_ns();
	}
	count = (__u16)(q->available - q->next);
	if (count > size)
		return failed(-EPROTO, "%u chains are available at once in a queue of %u", count,
			      size);
	if (!count)
		return 0;
	count = count < RING_BATCH ? count : RING_BATCH;
	count = count < size - at ? count : size - at;
	error = virtqueue_read(q, q->ring.available + 2 * sizeof(__u16) + at * sizeof(__u16),
			       q->batch, count * sizeof(__u16));
	if (error)
		return error;
	q->fetched = (__u16)count;
	q->returned = 0;
	return 1;
}

/* The head of the next chain. */
static int fetch_head(struct vhost_queue *q, __u16 *head)
{
	int found;

	if (q->again_next < q->again_count) {
		*head = q->again[q->again_next];
		return 1;
	}
	if (q->returned == q->fetched) {
		found = fetch_batch(q);
		if (found <= 0)
			return found;
	}
	*head = q->batch[q->returned];
	if (*head >= q->ring.size)
		return failed(-EPROTO, "descriptor %u of %u is available", *head, q->ring.size);
	if (queue_slot(q, *head)->state != SLOT_FREE)
		return failed(-EPROTO, "descriptor %u is available, and was already", *head);
	return 1;
}

/* A new one is marked as taken. */
static void take_head(struct vhost_queue *q, __u16 head)
{
	if (q->again_next < q->again_count) {
		q->again_next++;
		atomic_fetch_add(&q->resubmitted, 1);
		return;
	}
	if (q->inflight)
		inflight_take(q->inflight, head, q->counter++);
	q->returned++;
	q->next++;
}

/* A copy of an indirect table, which may lie in several regions. */
static int fetch_table(struct vhost_queue *q, const struct vring_desc *indirect, __u32 *entries)
{
	__u64 done = 0, guest_address, piece;
	int error = 0;

	*entries = indirect->len / sizeof(struct vring_desc);
	if (!*entries || indirect->len % sizeof(struct vring_desc) || *entries > VHOST_SEGMENTS_MAX)
		return failed(-EPROTO,
			      "an indirect table of %u bytes: accepted: 1 to %d descriptors",
			      indirect->len, VHOST_SEGMENTS_MAX);
	if (vhost_translates(q->vhost))
		return virtqueue_read(q, indirect->addr, q->table, indirect->len);
	while (done < indirect->len && !error) {
		error = vhost_translate(q->vhost, indirect->addr + done, &guest_address, &piece);
		if (error)
			return failed(-EPROTO, "an indirect table at 0x%llx, which is no memory",
				      indirect->addr + done);
		piece = piece < indirect->len - done ? piece : indirect->len - done;
		error = virtqueue_read(q, guest_address, (char *)q->table + done, piece);
		done += piece;
	}
	return error;
}

static int chain_add(struct vhost_request *request, const struct vring_desc *part)
{
	bool writable = part->flags & VRING_DESC_F_WRITE;
	__u32 count = (__u32)request->readable + request->writable;

	if (!part->len || part->addr + part->len < part->addr)
		return failed(-EPROTO, "a descriptor of %u bytes at 0x%llx", part->len, part->addr);
	if (count == VHOST_SEGMENTS_MAX)
		return failed(-EPROTO, "a chain of more than %d descriptors", VHOST_SEGMENTS_MAX);
	if (!writable && request->writable)
		return failed(-EPROTO, "a readable descriptor behind a writable one");
	request->segment[count] = (struct vhost_segment){part->addr, part->len};
	if (writable) {
		request->writable++;
		request->writable_bytes += part->len;
	} else {
		request->readable++;
		request->readable_bytes += part->len;
	}
	return 0;
}

/* Of an indirect table. One that comes back to a descriptor is longer than it. */
static int walk_table(struct vhost_queue *q, const struct vring_desc *indirect,
		      struct vhost_request *request)
{
	__u32 entries, at = 0;
	int error;

	if (!vhost_has(q->vhost, VIRTIO_RING_F_INDIRECT_DESC) ||
	    indirect->flags & VRING_DESC_F_NEXT)
		return failed(-EPROTO,
			      "an indirect descriptor with flags 0x%x, which was not agreed on",
			      indirect->flags);
	error = fetch_table(q, indirect, &entries);
	for (__u32 walked = 0; !error; walked++) {
		const struct vring_desc *part = &q->table[at];

		if (walked == entries || part->flags & VRING_DESC_F_INDIRECT)
			return failed(-EPROTO,
				      "an indirect table of %u descriptors that loops or nests",
				      entries);
		error = chain_add(request, part);
		if (error || !(part->flags & VRING_DESC_F_NEXT))
			return error;
		at = part->next;
		if (at >= entries)
			return failed(-EPROTO, "descriptor %u of an indirect table of %u", at,
				      entries);
	}
	return error;
}

static int walk_chain(struct vhost_queue *q, struct vhost_request *request)
{
	struct vring_desc part;
	__u32 at = request->head;
	int error;

	for (__u32 walked = 0; walked < q->ring.size; walked++) {
		error = virtqueue_read(q, q->ring.descriptors + at * sizeof(part), &part,
				       sizeof(part));
		if (error)
			return error;
		if (part.flags & VRING_DESC_F_INDIRECT)
			return walk_table(q, &part, request);
		error = chain_add(request, &part);
		if (error || !(part.flags & VRING_DESC_F_NEXT))
			return error;
		at = part.next;
		if (at >= q->ring.size)
			return failed(-EPROTO, "descriptor %u of %u in the chain of %u", at,
				      q->ring.size, request->head);
	}
	return failed(-EPROTO, "the chain of descriptor %u has no end", request->head);
}

int queue_fetch(struct vhost_queue *q, struct vhost_slot **slot)
{
	struct vhost_request *request;
	void *own;
	__u16 head;
	int found = fetch_head(q, &head), error;

	if (found <= 0)
		return found;
	*slot = queue_slot(q, head);
	request = &(*slot)->request;
	own = request->own;
	*request = (struct vhost_request){
		.queue = q,
		.index = q->index,
		.head = head,
		.segment = (*slot)->segment,
		.start_ns = q->seen_ns,
		.own = own,
	};
	if (own)
		memset(own, 0, q->vhost->config.model->request_bytes);
	(*slot)->miss = 0;
	(*slot)->pieces = 0;
	error = walk_chain(q, request);
	if (error)
		return error;
	take_head(q, head);
	(*slot)->state = SLOT_SERVED;
	(*slot)->error = 0;
	(*slot)->tries = 0;
	(*slot)->pages_most = PORT_REQUEST_PAGES;
	q->open++;
	return 1;
}

int queue_recover(struct vhost_queue *q)
{
	int count, error = virtqueue_used_index(q, &q->used);

	if (error)
		return error;
	q->next = q->base;
	q->again_count = q->again_next = 0;
	q->counter = 0;
	if (q->inflight) {
		count = inflight_recover(q->inflight, (__u16)q->ring.size, q->used, q->again,
					 &q->counter);
		if (count < 0)
			return count;
		q->again_count = (__u16)count;
		q->next = (__u16)(q->used + count);
	}
	q->available = q->next;
	q->seen_ns = monotonic_ns();
	q->fetched = q->returned = 0;
	q->recovered = true;
	return 0;
}
