/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a receive ring must do, in the simplest words: a list of frames in their order, of which the
 * guest sees those before the first that is held; no bitmap, no offset, no free lists. With the
 * guest's buffers, which hold what was written there.
 */
#ifndef FAULTLINE_RX_MODEL_H
#define FAULTLINE_RX_MODEL_H

#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/nic/rx_backup.h"
#include "injectors/emu/nic/rx_cache.h"

/* Ends the program: unit tests and fuzz targets are alike in that. */
#define RX_CHECK(model, condition)                                                              \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: %s: ring %u of %u, bitmap %u, step %llu: %s\n", \
				__FILE__, __LINE__, (model)->ring.policy->name, (model)->id,    \
				(model)->ring.size, (model)->ring.bm_size,                      \
				(unsigned long long)(model)->ring.counters.in, #condition);     \
			abort();                                                                \
		}                                                                               \
	} while (0)

#define RX_NOBODY  (~0ull)
#define RX_NOTHING (~0ull - 1) /* a buffer whose frame is lost */

enum rx_buffer_state { BUFFER_FREE, BUFFER_POSTED, BUFFER_WRITTEN };

struct rx_buffer {
	enum rx_buffer_state state;
	bool absent;
	__u32 part;
	__u64 told; /* absent, after so many retries */
	__u64 number;
};

struct rx_listed {
	__u64 number;
	__u32 length, count;
	bool held;
};

/* What rings of a device share. */
struct rx_shared {
	struct rx_backup *backup;
	struct rx_cache *cache;
	__u32 backup_free, cells_free;
};

struct rx_model {
	struct rx_ring ring;
	struct rx_shared *shared;
	__u32 id;
	struct rx_queue *queue;
	struct rx_buffer *buffers; /* of each slot */

	/* Accepted and not yet consumed by the guest; indices count on. */
	struct rx_listed *list;
	__u64 list_room, consumed_frames, visible_frames, listed_frames;

	__u64 consumed, head, tail; /* positions */
	__u64 waiting;		    /* buffers of listed frames that are not visible (`backup`) */
	__u64 *owners;		    /* of each bit of the bitmap: a frame's number or RX_NOBODY */
	__u16 *outstanding;	    /* `ooo`: posted slots, oldest first */
	__u32 outstanding_count;
	bool paused;
	__u64 retries;
	struct rx_counters counters; /* what the ring's must be */

	/* What was answered with true during a call. */
	__u32 answers[RX_FRAME_BUFFERS], answer_count;
};

void rx_model_create(struct rx_model *model, struct rx_settings *settings,
		     struct rx_shared *shared);
void rx_model_destroy(struct rx_model *model);

void rx_fill(char *bytes, __u32 length, __u64 number);

/* Each calls the ring and holds what it does to the model. */
enum rx_place rx_model_receive(struct rx_model *model, const struct rx_frame *frame);
/* `cache`: the next held frame is stored, or given up. False: none. */
bool rx_model_next(struct rx_model *model);
bool rx_model_discard(struct rx_model *model);
/* `backup`: the backup ring's oldest entry, which is of this ring, goes to the queue. */
void rx_model_take(struct rx_model *model);
/* `backup`: a frame of the queue is written, or given up; false: its buffers are not posted. */
bool rx_model_resolve(struct rx_model *model, __u64 number, bool written);
void rx_model_retry(struct rx_model *model);
void rx_model_post(struct rx_model *model, __u32 count);
/* The guest reads a frame that it sees, and has its buffers back. False: it sees none. */
bool rx_model_consume(struct rx_model *model);
/* What must hold at any time. */
void rx_model_check(const struct rx_model *model);

static inline __u32 rx_cells(__u32 length)
{
	return length ? (length + RX_CACHE_CELL - 1) / RX_CACHE_CELL : 1;
}

#endif
