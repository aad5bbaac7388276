/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device's side of a virtual machine's IOMMU: what vhost-user calls the IOTLB, a DevTLB by another name (docs/interop/vhost-user.rst, "IOMMU
 * support"). With VIRTIO_F_ACCESS_PLATFORM descriptors and rings have IOVAs. One that is not known is a miss, asked for on the channel
 * that SET_BACKEND_REQ_FD gave; the front-end tells of it by an UPDATE, and answers the miss: it was told, or the guest's IOMMU has no
 * such mapping. An INVALIDATE takes it back, and is answered once no DMA goes by it: the device first, then whoever waits for it.
 *
 *	device's table	VHOST_IOTLB_ENTRIES ranges, behind a lock; the socket's thread writes; 20 ns
 *	a queue's own	QUEUE_IOTLB_ENTRIES of them, without a lock: right as long as nothing has been taken back since; 13 ns
 *
 * A thread that uses a translation is inside (queue_iotlb_enter) from its look to the end of its DMA. It never waits for the front-end there:
 * what is not known is asked for, the request is parked, and tried again when an answer has come. An answer that is taken back before it was seen
 * is asked for again.
 *
 * Everything that comes is checked: a range is of whole pages, is no part of another address space than the memory table's, has permissions.
 */
#ifndef FAULTLINE_VHOST_IOTLB_H
#define FAULTLINE_VHOST_IOTLB_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/vhost/iova_table.h"
#include "injectors/emu/vhost/vhost_protocol.h"

#define VHOST_IOTLB_ENTRIES 2048
#define VHOST_IOTLB_MISSES  64 /* unanswered at once */
#define QUEUE_IOTLB_ENTRIES 64 /* a power of two */

struct vhost;
struct vhost_queue;

enum iotlb_miss_state { IOTLB_ASKED, IOTLB_TOLD, IOTLB_REFUSED };

struct iotlb_miss {
	__u64 page; /* IOVA */
	__u32 permissions;
	enum iotlb_miss_state state;
	__u32 again;	 /* times that it was answered before, without an UPDATE */
	__u64 untold_ns; /* when this was; 0: it was not */
};

struct vhost_iotlb_stats {
	__u64 misses, updates, invalidations;
	__u64 refused; /* misses that the guest's IOMMU has no mapping for */
	__u64 evicted; /* ranges that made way for others */
	__u64 entries; /* now */
};

struct vhost_iotlb {
	pthread_mutex_t lock; /* of all of it; innermost */
	struct iova_table *table;
	_Atomic __u64 generation; /* one more whenever something is taken back */
	/* By sequence numbers, modulo their number: those below `answered` have been, those below `asked` are under way. */
	struct iotlb_miss miss[VHOST_IOTLB_MISSES];
	__u64 asked, answered;
	unsigned char answer[sizeof(struct vhost_user_header) + sizeof(__u64)];
	__u32 answer_bytes; /* of it that have come; the socket's thread's */
	struct vhost_iotlb_stats stats;
};

/* A queue's own, its thread's but `inside`. */
struct queue_iotlb {
	_Atomic __u64 inside; /* odd: it is; one more at each change */
	__u32 depth;
	__u64 miss;	   /* sequence number of the one that its rings wait for; 0: none */
	bool unasked;	   /* they want one that could not be asked for yet */
	atomic_bool waits; /* to be told when an answer has come */
	struct queue_iotlb_entry {
		struct iova_range range;
		__u64 generation; /* 0: none */
	} entry[QUEUE_IOTLB_ENTRIES];
};

int vhost_iotlb_init(struct vhost *vhost);
void vhost_iotlb_free(struct vhost *vhost);
/* Forgets everything, what has been asked for included: nobody is inside, or goes on with it. The socket's thread. */
void vhost_iotlb_forget(struct vhost *vhost);
/* The channel from now on, -1: none; the one before is closed. The socket's thread. */
void vhost_iotlb_channel(struct vhost *vhost, int channel);

/* The socket's thread: an UPDATE or INVALIDATE. 0, or -EPROTO with a sentence. */
int vhost_iotlb_message(struct vhost *vhost, const struct vhost_user_iotlb *message);
/* The socket's thread: the channel can be read. 0, or -EPROTO with a sentence; there may be none afterwards. */
int vhost_iotlb_answer(struct vhost *vhost);

/* The queue's thread; may be nested. */
void queue_iotlb_enter(struct vhost_queue *q);
void queue_iotlb_leave(struct vhost_queue *q);

/*
 * Inside: the guest address of `iova`, and for how many bytes from there on it goes on as one piece, at most `most`. -EAGAIN: not known.
 * A queue's thread.
 */
int queue_iotlb_find(struct vhost_queue *q, __u64 iova, bool write, __u64 most,
		     __u64 *guest_address, __u64 *bytes);
/* The same in any thread, for those who use it for nothing but to know. */
int vhost_iotlb_look(struct vhost *vhost, __u64 iova, bool write, __u64 *guest_address);

/*
 * Asks for the page of `iova`, which was not known; never waits. `*miss`: 0, or what an earlier call for it gave. 0: an answer
 * will come, of the number that *miss then is; -EINVAL: it has come, and there is no such mapping, or nobody can be asked;
 * -EBUSY: too many are under way, or it was answered a moment ago, without an UPDATE. Any thread.
 */
int vhost_iotlb_ask(struct vhost *vhost, __u64 iova, bool write, __u64 *miss);
/* Tells queues that wait, and who looks for what comes next, that there is something new. */
void vhost_iotlb_wake(struct vhost *vhost);
/* Whether an answer to a miss has come. */
bool vhost_iotlb_answered(struct vhost *vhost, __u64 miss);

void vhost_iotlb_stats(struct vhost *vhost, struct vhost_iotlb_stats *stats);

#endif
