/* SPDX-License-Identifier: GPL-2.0 */
/* The stores of a machine: which start, and what came of them. */
#ifndef FAULTLINE_KVSTORES_H
#define FAULTLINE_KVSTORES_H

#include <signal.h>

#include "injectors/emu/kvstore.h"

struct machine;
struct kvstores;

/*
 * Starts every store of the machine whose memory there is, then the clients of those; their NICs run. One that is
 * refused with ENOMEM is told on stderr, with both numbers, and left out. No stores: *stores is NULL.
 */
int kvstores_start(struct kvstores **stores, struct machine *machine);
/* 0 once all clients are done, -ETIMEDOUT. */
int kvstores_wait(struct kvstores *stores, __u64 timeout_ns);
/* Clients and servers end. Before their NICs; may be called twice. */
void kvstores_stop(struct kvstores *stores);
void kvstores_destroy(struct kvstores *stores);

/* After kvstores_stop(). */
const struct kvstore_result *kvstores_result(const struct kvstores *stores, __u32 store);

#endif
