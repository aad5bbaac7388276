/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the engine: its state, and a queue's way to its rings (engine_ring.c). */
#ifndef FAULTLINE_ENGINE_PRIVATE_H
#define FAULTLINE_ENGINE_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/devices/engine.h"

#define FETCH_BATCH 16 /* available entries read by one DMA */

struct engine_queue {
	struct engine *engine;
	struct engine_request request;
	void *scratch;
	pthread_t thread;
	bool running;
	bool behind;	    /* the next entry may have been there while a fault was open */
	__u64 fault_end_ns; /* of the last one */
	__u16 index;
	__u16 next;		 /* available entries taken so far */
	__u16 available;	 /* index that the driver had published when last read */
	__u16 used;		 /* completions published */
	__u16 fetched, returned; /* of the batch */
	__u16 batch[FETCH_BATCH];
};

struct engine {
	const struct engine_model *operations;
	void *model;
	struct port *port;
	struct channel *channel;
	bool stopping;
	struct engine_queue queue[];
};

static inline bool engine_stopping(const struct engine *engine)
{
	return __atomic_load_n(&engine->stopping, __ATOMIC_ACQUIRE);
}

/*
 * The rest returns -ESHUTDOWN when the machine stops, and no other error. A DMA of the rings that
 * fails is tried until it works.
 */

/* Takes the next available id. 1: *id is valid, 0: queue empty. */
int ring_next(struct engine_queue *q, __u16 *id);
/* Copies the chain that starts at `id` into q->request. 0 with *status. */
int ring_read_request(struct engine_queue *q, __u16 id, enum ring_status *status);
/* Publishes that q->request is done. */
int ring_complete(struct engine_queue *q, enum ring_status status);

#endif
