/* SPDX-License-Identifier: GPL-2.0 */
/* What an initiator and its target agree on. */
#ifndef FAULTLINE_CLUSTER_TARGET_PRIVATE_H
#define FAULTLINE_CLUSTER_TARGET_PRIVATE_H

#include "injectors/cluster/lend_private.h"
#include "injectors/cluster/target.h"

/* What a target's software does for an I/O; each takes [target] stage= of model time. */
enum target_stage {
	TARGET_RECEIVE,	 /* notices the capsule, finds its queue */
	TARGET_SUBMIT,	 /* command to its controller, for the bounce buffer */
	TARGET_COMPLETE, /* interrupt of its controller */
	TARGET_COPY,	 /* between bounce buffer and the initiator's memory */
	TARGET_RESPOND,
	TARGET_STAGES
};

/* A slot each of 64 bytes, in the other's memory: posted writes, of which the last word is the last to arrive. */
struct target_capsule {
	__u64 offset, bytes;
	__u32 write, reserved;
	__u64 unused[4];
	__u64 turn; /* of this slot, from 1 on */
};
struct target_reply {
	__s32 status;
	__u32 stages, copies, reserved;
	__u64 model_ns; /* of the target's part, controller included */
	__u64 unused[4];
	__u64 turn;
};
_Static_assert(sizeof(struct target_capsule) == 64 && sizeof(struct target_reply) == 64,
	       "a write of one packet");

enum target_message { TARGET_CONNECT, TARGET_CAPSULE, TARGET_REPLY, TARGET_LEAVE };

/* In shared memory, but of one host each: what its control thread has been told by the other. */
struct mediator {
	/* the target's host; `capsules` by the target itself, 0: it is not ready */
	__u64 capsules;
	__u64 replies, data; /* on the initiator's host */
	__u32 connected, left;
	__u32 closed; /* the target writes to its initiator no more */
	__u32 told;   /* futex: capsules, and what else there is to look at */
	/* the initiator's host */
	__u32 replied; /* futex */
};
struct mediator *target_of(const struct cluster *cluster, __u32 target);

/* The other's memory, for this host's CPUs; of one's own host it is where it is. */
struct target_window {
	bool mapped;
	struct ntb_window window;
	__u64 address;
};
int target_window_map(struct cluster *cluster, __u32 far_host, __u64 far, __u64 bytes,
		      struct target_window *window);
void target_window_unmap(struct cluster *cluster, struct target_window *window);
/* Calls the other's host. */
int target_tell(struct cluster *cluster, __u32 target, enum target_message message);
__u32 target_agent(const struct cluster *cluster, __u32 target, bool initiator);

#endif
