/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One rank: messages to and from others over queue pairs of verbs. For patterns, in the rank's own thread.
 *
 * Two ranks that talk have two pairs of connected queue pairs. Over the one go small messages of pinned memory, over the other what the
 * program sends. No message goes before its receiver has a place for it, as in the rendezvous protocol of MPI libraries:
 *
 *	op=send		receive posted, GRANT -> send
 *	op=write	GRANT with address and key -> write, then an empty send that tells of it
 *	op=read		OFFER with address and key -> read -> FINISHED
 *
 * Messages between two ranks in one direction are numbered from 0 and stay in order.
 */
#ifndef FAULTLINE_RANK_H
#define FAULTLINE_RANK_H

#include "injectors/emu/ranks/ranks_group.h"
#include "injectors/emu/ranks/ranks_memory.h"
#include "injectors/emu/verbs/verbs_data.h"

/* A message between two ranks, at one of them. */
struct rank_message {
	__u64 address, bytes; /* of the program's buffer */
	__u64 seed;	      /* of its content; 0: the pattern's own affair */
	__u64 begun_ns;
	bool work;   /* in the rank's work buffers, which need no lease */
	bool posted; /* atomic: the device may use the buffer; for evictions */
	struct memory_lease lease;
};

/* One direction: wanted >= posted >= done. */
struct rank_direction {
	struct rank_message *message; /* by number modulo the window */
	__u64 wanted, posted, done;
};

/* 32 bytes of pinned memory. */
struct rank_control {
	__u64 number;
	__u64 address;
	__u32 key;
	__u32 kind; /* enum rank_control_kind */
	__u64 bytes;
};

enum rank_control_kind { RANK_GRANT = 1, RANK_OFFER, RANK_FINISHED };

/* Towards one other rank. */
struct rank_channel {
	__u32 peer;
	struct verbs_pair *pair[RANK_LANES];
	__u64 pair_address[RANK_LANES]; /* guest addresses of their memory */
	struct rank_direction out, in;
	struct rank_control *told; /* grants or offers of the peer, by number modulo the window */
	__u64 told_count;
	__u64 finished; /* op=read: messages that the peer has been told of */
	__u32 controls; /* small messages each way at once */
	__u64 control_sent, control_done;
	__u64 control_address; /* of `controls` to send, then as many to receive; guest */
};

struct rank_pattern;

struct rank {
	__u32 index;
	struct ranks_group *group;
	const struct ranks_config *config;
	const struct rank_pattern *pattern;
	struct rank_memory *memory;
	struct ranks_layout layout;
	struct verbs_queue *queue;
	__u64 queue_address;
	struct verbs_mr small, work; /* control messages; work buffers */
	__u64 small_address, work_address, work_bytes;
	__u64 buffers; /* guest address of its program's buffers */
	__u64 next_buffer, buffer_slots;
	struct rank_channel *channel[RANKS_MAX]; /* NULL: it does not talk to that one */
	__u64 due_ns;				 /* of the step under way */
	bool running, done;			 /* done: atomic */
	pthread_t thread;
	struct ranks_result result;
};

/* rank_setup.c: everything but the connection; then that, once all ranks of both devices exist. */
int rank_create(struct rank *rank);
int rank_connect(struct rank *rank);
/* Whatever of it there is. */
void rank_destroy(struct rank *rank);

/* rank.c */
void *rank_run(void *rank);

/* For patterns. 0, -ECANCELED (it stops), or another negative errno with a sentence. */
struct rank_part {
	__u32 peer;
	__u64 address, bytes;
	__u64 seed; /* filled with it before, checked after; 0: neither */
	bool work;
};
/* Begins; *number, if not NULL, is what to wait for. Waits only if the window is full. */
int rank_send(struct rank *rank, const struct rank_part *part, __u64 *number);
int rank_receive(struct rank *rank, const struct rank_part *part, __u64 *number);
int rank_await_sent(struct rank *rank, __u32 peer, __u64 number);
int rank_await_received(struct rank *rank, __u32 peer, __u64 number);
/* The next buffer of the program: another one each time with off_cache. */
__u64 rank_next_buffer(struct rank *rank);
void *rank_cpu(struct rank *rank, __u64 address);
/* One of the pattern's work buffers. */
__u64 rank_work_buffer(const struct rank *rank, __u32 index);

/* rank_channel.c */
/* Takes completions, up to some, and goes on with what they allow. Returns how many, or negative. */
int rank_progress(struct rank *rank);
/* Goes on with what is wanted of a channel as far as that goes now. */
int rank_advance(struct rank *rank, struct rank_channel *channel);
int rank_post_control_receives(struct rank *rank, struct rank_channel *channel);

/* rank_content.c: content of messages, made of a seed, every byte of it. */
void content_fill(void *to, __u64 bytes, __u64 seed);
bool content_is(const void *what, __u64 bytes, __u64 seed);

#endif
