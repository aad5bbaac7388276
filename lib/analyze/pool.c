// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/pool.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

#define POOL_CHUNK 256

void pool_init(struct pool *pool, size_t size)
{
	*pool = (struct pool){.size = size};
}

void *pool_take(struct pool *pool)
{
	void *item = pool->free;

	if (!item) {
		void **chunks =
			memory_realloc(pool->chunks, (pool->chunk_count + 1) * sizeof(*chunks));
		char *chunk;

		if (!chunks)
			return NULL;
		pool->chunks = chunks;
		chunk = memory_calloc(1, POOL_CHUNK * pool->size);
		if (!chunk)
			return NULL;
		chunks[pool->chunk_count++] = chunk;
		for (size_t i = POOL_CHUNK; i-- > 0;) {
			item = chunk + i * pool->size;
			*(void **)item = pool->free;
			pool->free = item;
		}
	}
	pool->free = *(void **)item;
	memset(item, 0, pool->size);
	return item;
}

void pool_give(struct pool *pool, void *item)
{
	*(void **)item = pool->free;
	pool->free = item;
}

void pool_free(struct pool *pool)
{
	for (size_t i = 0; i < pool->chunk_count; i++)
		memory_free(pool->chunks[i]);
	memory_free(pool->chunks);
}
