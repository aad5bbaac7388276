/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A receive ring of a NIC, and what becomes of a frame whose buffer is absent: state only, without
 * threads, guest memory or system calls, and without allocation once it is created. Every call is
 * made with the ring's lock held (the caller's), and the lock is held from rx_ring_receive() until
 * what it decided has been done.
 *
 * Indices count buffers since the ring began and never wrap; slot (position mod size, but for
 * `ooo`) is where the caller keeps what was posted there. As NPF's Fig. 6:
 *
 *	head			head + head_offset			tail
 *	| the guest sees none	| the next frame's			| not posted yet
 *	  of these before the
 *	  oldest is resolved
 *
 * head: the first buffer that the guest does not see as used. head_offset: how many behind it are
 * stored or skipped. Only with `backup` is it ever above 0, and only there may the next position be
 * beyond the tail.
 *
 * A frame takes as many buffers as it needs, all or none, and its last buffer passes the head with
 * its first. Of all frames that were told to a ring (in) each is stored, lost or held.
 */
#ifndef FAULTLINE_RX_RING_H
#define FAULTLINE_RX_RING_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/event.h"

#define RX_RING_SIZE_MAX   4096
#define RX_BITMAP_BITS_MAX 65536
#define RX_FRAME_BUFFERS   128 /* of one frame: longer ones are overlong */
#define RX_NO_SLOT	   (~0u)

struct rx_ring;
struct rx_backup;
struct rx_cache;

struct rx_frame {
	const void *bytes;
	__u32 length;
	/* The caller's; held frames bring them back. */
	__u64 arrived_ns;
	__u64 number;
};

enum rx_place {
	RX_STORE,  /* write it into buffers `position` to position + count - 1 */
	RX_BACKUP, /* copied into the backup ring; what it holds must go to `position` */
	RX_CACHE,  /* copied into the frame cache: rx_ring_next() gives it back */
	RX_LOST,
};

struct rx_verdict {
	enum rx_place place;
	enum loss_reason reason; /* of RX_LOST */
	__u32 count;		 /* buffers that it needs */
	__u32 advanced;		 /* buffers that the guest may see once this is written */
	__u64 position;		 /* of its first buffer */
	__u64 bit;		 /* RX_BACKUP: what rx_ring_resolve() wants back */
	__u32 absent;		 /* slot of the absent buffer that is in its way, or RX_NO_SLOT */
};

struct rx_policy {
	const char *name;
	const char *meaning; /* one line of help: what becomes of a frame whose buffer is absent */
	bool pins;	     /* rings and buffers are pinned */
	bool wants_backup;   /* struct rx_settings needs one */
	bool wants_cache;
	int (*create)(struct rx_ring *ring); /* what it keeps; NULL: nothing */
	enum rx_place (*receive)(struct rx_ring *ring, const struct rx_frame *frame,
				 struct rx_verdict *verdict);
	/* Those of the calls below; NULL: nothing to do. */
	void (*retry)(struct rx_ring *ring);
	bool (*next)(struct rx_ring *ring, struct rx_frame *frame, struct rx_verdict *verdict);
	void (*resolve)(struct rx_ring *ring, __u64 bit, __u32 count);
};

/* Every policy; the list ends with NULL. */
extern const struct rx_policy *const rx_policies[];
const struct rx_policy *rx_policy_find(const char *name); /* NULL: none of that name */

struct rx_settings {
	const struct rx_policy *policy;
	__u32 id;	    /* that backup entries name */
	__u32 size;	    /* buffers, 1 to RX_RING_SIZE_MAX */
	__u32 buffer_bytes; /* of each */
	__u32 frame_bytes;  /* the longest frame; a backup and a cache have room for one */
	__u32 bitmap_bits;  /* `backup`: how many buffers' frames may be held for this ring */
	/*
	 * May the device write this position's buffer now? On a real ring the answer true takes
	 * references and false has a page request started. Within one frame it is asked for every
	 * buffer, also behind one that is absent, so that all of them are requested. Of RX_STORE
	 * those that were answered true, in their order, are the frame's buffers; of any other
	 * verdict none is used.
	 */
	bool (*present)(void *self, __u64 position);
	void *self;
	struct rx_backup *backup; /* that all rings of a device share */
	struct rx_cache *cache;
};

struct rx_counters {
	__u64 in;		    /* = stored + held + the sum of lost */
	__u64 stored, stored_bytes; /* in buffers of the guest, also by who resolved a held one */
	__u64 held;		    /* now: in the cache, or from backup ring to buffer */
	__u64 held_ever;
	__u64 lost[LOSS_REASONS];
	__u64 advanced; /* buffers that the head has passed */
	__u64 skipped;	/* frames stored beyond a buffer that was absent */
	__u64 broken;	/* absent buffers of `pin`: somebody took what is pinned */
};

/* Held frames of one ring in the cache, oldest first. */
struct rx_cached_frames {
	__u32 first, last, count;
};

struct rx_ring {
	const struct rx_policy *policy;
	__u32 id, size, buffer_bytes, frame_bytes;
	bool (*present)(void *self, __u64 position);
	void *self;

	__u64 tail, head, head_offset;
	bool unseen; /* by the caller: the guest has posted more, whose descriptors are absent */
	struct rx_counters counters;

	/* backup */
	struct rx_backup *backup;
	__u64 *bitmap; /* a bit set: held, modulo bm_size */
	__u32 bm_size;
	__u64 bm_index; /* the head's bit */

	/* drop, cache: at an absent buffer, until rx_ring_retry() */
	bool paused;
	__u32 absent; /* also of ooo: slot of the first absent one that was met last */

	/* cache */
	struct rx_cache *cache;
	struct rx_cached_frames cached;

	/* ooo */
	__u16 *order;  /* slot of each position, modulo size */
	__u32 skipped; /* so many buffers from the head on are known as absent */
	__u32 starved; /* as many present ones were not found; 0: no such number */
};

/* -EINVAL with a sentence for a setting that is out of range, -ENOMEM. */
int rx_ring_create(struct rx_ring *ring, const struct rx_settings *settings);
void rx_ring_destroy(struct rx_ring *ring);

/* What becomes of a frame that has arrived. Bytes of a held one are copied before it returns. */
void rx_ring_receive(struct rx_ring *ring, const struct rx_frame *frame,
		     struct rx_verdict *verdict);

/* A frame of this ring was lost before rx_ring_receive(): on the wire, or without an end. */
void rx_ring_lose(struct rx_ring *ring, enum loss_reason reason);

/* The guest has posted buffers up to `tail`. -EINVAL if that is backwards or more than the ring
 * has: nothing changes. */
int rx_ring_post(struct rx_ring *ring, __u64 tail);

/* The guest has taken its ring back: nothing is posted any more. What was held must have been resolved or discarded. */
void rx_ring_restart(struct rx_ring *ring);

/*
 * Something absent may be present now: a page of this ring has come, or none was requested. Whoever
 * answered `present` with false owes this call, as `drop`, `cache` and `ooo` do not ask again
 * before.
 */
void rx_ring_retry(struct rx_ring *ring);

/*
 * `cache`: the oldest held frame leaves for its buffers (RX_STORE), or false: none, or not yet. Due
 * after rx_ring_retry() and rx_ring_post(), until false. Its bytes are good until the cache is
 * asked for the next one.
 */
bool rx_ring_next(struct rx_ring *ring, struct rx_frame *frame, struct rx_verdict *verdict);
/* Gives up the oldest held frame instead, its page being out of reach or the ring being reset.
 * False: none. */
bool rx_ring_discard(struct rx_ring *ring, enum loss_reason reason, struct rx_frame *frame);

/*
 * `backup`: a held frame has been written to its position (or is lost, its buffers then having
 * nothing of it: written is false and the guest is told so). Returns by how many buffers the head
 * has moved.
 */
__u32 rx_ring_resolve(struct rx_ring *ring, __u64 bit, __u32 count, __u32 length, bool written);

/* Has the guest posted all of these? What a held frame waits for beside pages. */
static inline bool rx_ring_posted(const struct rx_ring *ring, __u64 position, __u32 count)
{
	return position + count <= ring->tail;
}

/*
 * Where the caller keeps the buffer of a position, below size: from its rx_ring_post() on, and of a
 * stored frame until that slot is posted again. A later frame may change it of what is not stored.
 */
static inline __u32 rx_ring_slot(const struct rx_ring *ring, __u64 position)
{
	__u32 at = (__u32)(position % ring->size);

	return ring->order ? ring->order[at] : at;
}

#endif
