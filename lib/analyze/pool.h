/* SPDX-License-Identifier: GPL-2.0 */
/* Equal-sized items that come and go with every fault: allocated in chunks, reused, never moved. */
#ifndef FAULTLINE_POOL_H
#define FAULTLINE_POOL_H

#include <stddef.h>

struct pool {
	size_t size;
	void *free; /* linked through their first word */
	void **chunks;
	size_t chunk_count;
};

/* size: of one item, a multiple of a pointer's alignment, at least a pointer. */
void pool_init(struct pool *pool, size_t size);
/* A zeroed item, NULL without memory. */
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *item);
/* Frees every item, taken or not. */
void pool_free(struct pool *pool);

#endif
