/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's side: get KEY, set KEY FLAGS EXPIRY BYTES [noreply], version and quit of memcached's text protocol, one key a
 * get; nothing expires. A thread for each connection; the items are under one lock, as those of memcached -t 1.
 */
#ifndef FAULTLINE_KV_SERVER_H
#define FAULTLINE_KV_SERVER_H

#include "injectors/emu/kvstore/kv_items.h"

struct network;
struct kv_server;

/* Listens in the network's guest side. The items stay the caller's. */
int kv_server_start(struct kv_server **server, const struct network *network,
		    struct kv_items *items, __u32 item_bytes);
/* Ends all connections, joins, frees. */
void kv_server_stop(struct kv_server *server);

#endif
