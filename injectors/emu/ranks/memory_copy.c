// SPDX-License-Identifier: GPL-2.0
/* Pinned bounce buffers: the device never sees a program's buffer, each message is copied once on each side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/ranks/ranks_memory.h"
#include "lib/base/fail.h"

struct bounce_pool {
	struct verbs_mr region;
	bool registered;
	__u64 start; /* guest address */
	__u32 free;
	__u64 buffer[]; /* those that are free */
};

static int copy_open(struct rank_memory *memory)
{
	__u64 bytes = memory->bounces * memory->largest;
	struct bounce_pool *pool;
	int err;

	if (!bytes)
		return 0;
	pool = calloc(1, sizeof(*pool) + memory->bounces * sizeof(pool->buffer[0]));
	if (!pool)
		return failed(-ENOMEM, "no memory for bounce buffers");
	err = guest_heap_take(memory->heap, bytes, &pool->start);
	if (err) {
		free(pool);
		return err;
	}
	memory->own = pool;
	for (__u32 i = 0; i < memory->bounces; i++)
		pool->buffer[pool->free++] = pool->start + i * memory->largest;
	err = verbs_reg_mr(memory->device, &pool->region, pool->start, bytes, VERBS_PINNED,
			   MEMORY_RIGHTS);
	pool->registered = !err;
	return err;
}

static void copy_close(struct rank_memory *memory)
{
	struct bounce_pool *pool = memory->own;

	if (!pool)
		return;
	if (pool->registered)
		verbs_dereg_mr(memory->device, &pool->region);
	guest_heap_give(memory->heap, pool->start);
	free(pool);
	memory->own = NULL;
}

static void *copy_cpu(struct rank_memory *memory, __u64 address)
{
	return guest_memory_cpu(memory->memory, address);
}

/* Where a lease's bounce buffer lies. */
static __u64 bounce_address(const struct bounce_pool *pool, const struct memory_lease *lease)
{
	return pool->start + (lease->sge.address - pool->region.address);
}

static int copy_get(struct rank_memory *memory, struct memory_lease *lease)
{
	struct bounce_pool *pool = memory->own;
	__u64 bounce = 0;

	pthread_mutex_lock(&memory->lock);
	if (pool->free)
		bounce = pool->buffer[--pool->free];
	if (bounce && !lease->write)
		memory->copied += lease->bytes;
	pthread_mutex_unlock(&memory->lock);
	if (!bounce)
		return failed(-ENOBUFS, "all %u bounce buffers are in use", memory->bounces);
	if (!lease->write)
		memcpy(copy_cpu(memory, bounce), copy_cpu(memory, lease->address), lease->bytes);
	lease->sge = memory_piece(&pool->region, pool->start, bounce, lease->bytes);
	return 0;
}

static int copy_put(struct rank_memory *memory, struct memory_lease *lease, __u64 bytes)
{
	struct bounce_pool *pool = memory->own;
	__u64 bounce = bounce_address(pool, lease);

	if (lease->write)
		memcpy(copy_cpu(memory, lease->address), copy_cpu(memory, bounce), bytes);
	pthread_mutex_lock(&memory->lock);
	if (lease->write)
		memory->copied += bytes;
	pool->buffer[pool->free++] = bounce;
	pthread_mutex_unlock(&memory->lock);
	return 0;
}

const struct memory_mode copy_memory = {
	.name = "copy",
	.open = copy_open,
	.close = copy_close,
	.get = copy_get,
	.put = copy_put,
};
