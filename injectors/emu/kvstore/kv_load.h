/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire's side: clients that ask a store for keys, each over a connection of its own with one request at a time. At
 * first they fill it with the working set. A get that misses is followed by a set of the key, as a cache's user does.
 */
#ifndef FAULTLINE_KV_LOAD_H
#define FAULTLINE_KV_LOAD_H

#include <stdatomic.h>

#include "injectors/emu/kvstore.h"

struct network;
struct kv_load;

/* The loads of a machine begin to count at one instant: when all of their clients have filled what is theirs. */
struct kv_start {
	_Atomic __u32 clients; /* that there are, before any is started */
	_Atomic __u32 ready;
	_Atomic __u64 begin_ns; /* 0: not yet */
	atomic_bool stop;
};

/* Connects from the network's wire side, then starts the clients. `result` is filled as they end. */
int kv_load_start(struct kv_load **load, const struct network *network,
		  const struct kvstore_config *config, struct kv_start *start,
		  struct kvstore_result *result);
/* 0 once all clients have ended, -ETIMEDOUT. */
int kv_load_wait(struct kv_load *load, __u64 timeout_ns);
/* Ends its clients, also in the middle of a request; `start->stop` is set. Sums up and frees. */
void kv_load_stop(struct kv_load *load);

#endif
