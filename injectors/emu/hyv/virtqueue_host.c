// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/hyv/virtqueue_host.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/fail.h"

#define LIST_ENTRIES (HYV_CONTROL_BYTES / sizeof(__u64))

void virtqueue_host_init(struct virtqueue_host *queue, void *area, __u64 guest_address)
{
	*queue = (struct virtqueue_host){.area = area, .guest_address = guest_address};
}

/* A part of a chain: where it is here, or NULL. */
static unsigned char *part_at(const struct virtqueue_host *queue, const struct vring_desc *part)
{
	__u64 offset = part->addr - queue->guest_address;

	if (part->addr < queue->guest_address || offset >= HYV_CONTROL_BYTES ||
	    part->len > HYV_CONTROL_BYTES - offset)
		return NULL;
	return queue->area + offset;
}

static int chain_broken(const struct virtqueue_chain *chain, const struct vring_desc *part)
{
	return failed(-EPROTO,
		      "chain %u: a part of %u bytes at 0x%llx, flags 0x%x, is none of a request",
		      chain->head, part->len, part->addr, part->flags);
}

/* Pages that the chain names, between its request and its answer. */
static int chain_list_add(struct virtqueue_chain *chain, const unsigned char *at, __u32 bytes)
{
	if (bytes % sizeof(__u64) || bytes / sizeof(__u64) > LIST_ENTRIES - chain->listed)
		return -EINVAL;
	memcpy(chain->list + chain->listed, at, bytes);
	chain->listed += bytes / sizeof(__u64);
	return 0;
}

static struct vring_desc part_copy(const struct virtqueue_host *queue, __u16 index)
{
	struct vring ring = virtqueue_at(queue->area);
	struct vring_desc part;

	memcpy(&part, &ring.desc[index], sizeof(part));
	/* So that no compiler reads what the guest writes meanwhile a second time. */
	atomic_signal_fence(memory_order_seq_cst);
	return part;
}

/* Of the chain that begins with `head`, which is in range. */
static int chain_walk(struct virtqueue_host *queue, struct virtqueue_chain *chain)
{
	__u16 index = chain->head;

	for (__u32 place = 0; place < HYV_QUEUE_ENTRIES; place++) {
		struct vring_desc part = part_copy(queue, index);
		bool last = !(part.flags & VRING_DESC_F_NEXT);
		unsigned char *at = part_at(queue, &part);

		if (!at || part.flags & ~(VRING_DESC_F_NEXT | VRING_DESC_F_WRITE) ||
		    last != !!(part.flags & VRING_DESC_F_WRITE) || (last && !place) ||
		    (!last && part.next >= HYV_QUEUE_ENTRIES))
			return chain_broken(chain, &part);
		if (last) {
			if (part.len < sizeof(struct verbs_answer))
				return chain_broken(chain, &part);
			chain->answer = at;
			return 0;
		}
		if (!place && part.len != sizeof(chain->request))
			return chain_broken(chain, &part);
		if (!place)
			memcpy(&chain->request, at, sizeof(chain->request));
		else if (!chain->error)
			chain->error = chain_list_add(chain, at, part.len);
		index = part.next;
	}
	return failed(-EPROTO, "chain %u has no end", chain->head);
}

int virtqueue_host_take(struct virtqueue_host *queue, struct virtqueue_chain *chain)
{
	struct vring ring = virtqueue_at(queue->area);
	__u16 published = __atomic_load_n(&ring.avail->idx, __ATOMIC_ACQUIRE);
	__u16 waiting = (__u16)(published - queue->taken);
	int error;

	if (!waiting)
		return 0;
	if (waiting > HYV_QUEUE_ENTRIES)
		return failed(-EPROTO, "%u chains at once in a virtqueue of %u", waiting,
			      HYV_QUEUE_ENTRIES);
	chain->head = __atomic_load_n(&ring.avail->ring[queue->taken % HYV_QUEUE_ENTRIES],
				      __ATOMIC_RELAXED);
	chain->listed = 0;
	chain->error = 0;
	queue->taken++;
	if (chain->head >= HYV_QUEUE_ENTRIES)
		return failed(-EPROTO, "a chain begins at descriptor %u of %u", chain->head,
			      HYV_QUEUE_ENTRIES);
	error = chain_walk(queue, chain);
	if (error)
		return error;
	if (!chain->error && chain->listed != chain->request.pages)
		chain->error = -EINVAL;
	return 1;
}

bool virtqueue_host_answer(struct virtqueue_host *queue, const struct virtqueue_chain *chain,
			   const struct verbs_answer *answer)
{
	struct vring ring = virtqueue_at(queue->area);
	const struct vring_used_elem element = {.id = chain->head, .len = sizeof(*answer)};

	memcpy(chain->answer, answer, sizeof(*answer));
	memcpy(&ring.used->ring[queue->used % HYV_QUEUE_ENTRIES], &element, sizeof(element));
	/* Sequentially consistent: either the guest sees the index, or we that it wants to be told. */
	__atomic_store_n(&ring.used->idx, ++queue->used, __ATOMIC_SEQ_CST);
	return !(__atomic_load_n(&ring.avail->flags, __ATOMIC_SEQ_CST) &
		 VRING_AVAIL_F_NO_INTERRUPT);
}
