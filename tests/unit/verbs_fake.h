/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device for the backend of the verbs that carries out next to nothing: it keeps books of what it was told, looks whether it
 * was told only what is right, and writes to all memory that it was given. Its engine completes each send at once.
 */
#ifndef FAULTLINE_TEST_VERBS_FAKE_H
#define FAULTLINE_TEST_VERBS_FAKE_H

#include <pthread.h>
#include <semaphore.h>

#include "injectors/emu/device.h"
#include "injectors/emu/verbs/verbs_backend.h"

#define FAKE_REGIONS 97
#define FAKE_QUEUES  31
#define FAKE_PAIRS   29
#define FAKE_SHARED  7

struct verbs_fake {
	struct port *port;
	__u64 iova, bytes; /* of the share that it may use */
	struct verbs_region_setup regions[FAKE_REGIONS];
	__u8 generations[FAKE_REGIONS];
	struct verbs_queue_setup queues[FAKE_QUEUES]; /* depth 0: none */
	__u64 written[FAKE_QUEUES], told[FAKE_QUEUES];
	struct verbs_pair_setup pairs[FAKE_PAIRS];
	__u64 sent[FAKE_PAIRS], received[FAKE_PAIRS];
	enum verbs_pair_state states[FAKE_PAIRS];
	__u32 peers[FAKE_PAIRS];
	struct verbs_shared_setup shared[FAKE_SHARED]; /* depth 0: none */
	__u64 posted;				       /* forwarded posts */
	__s64 pinned;
	__u64 commands;
	__u64 advised;	/* pages */
	__u64 wrong;	/* calls that should not have been made */
	__u32 refusals; /* so many objects to be created from now on are refused (EIO) */
	/* With `block`, a query of limits posts `blocked` and waits for `go`. */
	_Atomic bool block;
	sem_t blocked, go;
	pthread_t engine;
	_Atomic bool stopping;
};

extern const struct verbs_backend_ops verbs_fake_ops;

void verbs_fake_init(struct verbs_fake *fake, struct port *port, const struct channel *channel);
/* Objects that there are. */
__u32 verbs_fake_objects(const struct verbs_fake *fake);
/* A thread that takes sends and receives of all pairs. No pair is created or destroyed meanwhile. */
void verbs_fake_engine_start(struct verbs_fake *fake);
void verbs_fake_engine_stop(struct verbs_fake *fake);

#endif
