/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two ends of a load share out of band, as perftest's do over TCP: numbers, keys and addresses before they can talk, a
 * common course, and what they have counted. It lies in memory that is shared over a fork: an end may be a process, and what it
 * had counted is there when it has been killed.
 */
#ifndef FAULTLINE_LOAD_SHARE_H
#define FAULTLINE_LOAD_SHARE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "injectors/emu/verbs_load/verbs_load.h"

/* How far an end is. */
enum load_stage { LOAD_BEGUN, LOAD_READY, LOAD_CONNECTED, LOAD_MEASURED, LOAD_OVER };

struct load_region {
	__u64 address;
	__u64 offset; /* in its end's memory: some that were before it may have been refused */
	__u32 key;
};

/* What the other end has to know of one. */
struct load_facts {
	__u32 pair[LOAD_CLIENTS_MAX];
	__u32 regions;
	struct load_region region[LOAD_PIECES_MAX];
};

struct load_share {
	struct verbs_load_config config;
	pid_t machine;
	_Atomic __u32 users;	/* drivers */
	_Atomic __u32 stage[2]; /* of an end: 0 the active one, 1 its peer */
	bool presses;		/* memory is under pressure: what an end filled is taken away ... */
	_Atomic bool pressed;	/* ... before anything is read */
	_Atomic bool stopping;
	_Atomic bool wrong; /* `error` is being said */
	char error[256];    /* of the first thing that went wrong, "" */
	struct load_facts facts[2];
	_Atomic __u64 refused[2];
	_Atomic __u64 stopped_calls;
	__u64 kicks, injections;
	struct verbs_load_footprint guest, machine_footprint;
	struct verbs_load_counts counts[2][LOAD_CLIENTS_MAX];
};

/* NULL with a sentence. */
struct load_share *load_share_create(const struct verbs_load_config *config);
void load_share_use(struct load_share *share);
/* By each that has created or used it. */
void load_share_drop(struct load_share *share);

void load_share_stop(struct load_share *share);
/* For the first one: what happened. Then both ends stop. */
void load_share_fail(struct load_share *share, int error, const char *sentence);
void load_share_reach(struct load_share *share, int end, enum load_stage stage);
/* Until the other end has come so far. False: it stops. */
bool load_share_await(struct load_share *share, int end, enum load_stage stage);
/* Until memory is under pressure, if it is to be. False: it stops. */
bool load_share_await_pressure(struct load_share *share);
bool load_share_over(const struct load_share *share, int end);

static inline bool load_share_stopping(const struct load_share *share)
{
	return atomic_load_explicit(&share->stopping, memory_order_relaxed);
}

/* Adds what both ends have come to. */
void load_share_result(const struct load_share *share, struct verbs_load_result *sum);

#endif
