/* SPDX-License-Identifier: GPL-2.0 */
/* The items of a store: a hash table and a list by use outside of the memory that holds keys and values. */
#ifndef FAULTLINE_KV_ITEMS_H
#define FAULTLINE_KV_ITEMS_H

#include <linux/types.h>
#include <stddef.h>

#include "injectors/emu/kvstore.h"

#define KV_KEY_MOST 250

/* In guest memory: to touch one may wait for its page. */
struct kv_item {
	__u32 flags; /* the client's */
	__u32 bytes; /* of the value */
	__u8 key_bytes;
	char key[KV_KEY_MOST];
	__u8 unused[KVSTORE_HEADER - 2 * sizeof(__u32) - 1 - KV_KEY_MOST];
	unsigned char value[];
};

struct kv_items;

/* `memory` has room for `count` items of `item_bytes`, and nothing is read of it before it is written. */
int kv_items_create(struct kv_items **items, void *memory, __u64 count, __u32 item_bytes);
void kv_items_destroy(struct kv_items *items);

/* NULL: it is not there. */
struct kv_item *kv_items_find(struct kv_items *items, const char *key, size_t length);
/* The key's item for a new value, of another key's if there is no other place; never NULL. Key of 1 to KV_KEY_MOST bytes. */
struct kv_item *kv_items_take(struct kv_items *items, const char *key, size_t length);
/* Items that made way for others. */
__u64 kv_items_replaced(const struct kv_items *items);

#endif
