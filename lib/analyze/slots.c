// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/slots.h"

#include <string.h>

#include "lib/base/memory.h"

void slots_init(struct slots *slots, size_t size)
{
	memset(slots, 0, sizeof(*slots));
	slots->size = size;
}

void *slots_find(const struct slots *slots, __u32 handle)
{
	char *chunk;

	if (handle >= SLOTS_MAX)
		return NULL;
	chunk = slots->chunks[handle / SLOTS_CHUNK];
	return chunk ? chunk + handle % SLOTS_CHUNK * slots->size : NULL;
}

void *slots_make(struct slots *slots, __u32 handle)
{
	void **chunk;

	if (handle >= SLOTS_MAX)
		return NULL;
	chunk = &slots->chunks[handle / SLOTS_CHUNK];
	if (!*chunk)
		*chunk = memory_calloc(SLOTS_CHUNK, slots->size);
	if (!*chunk)
		return NULL;
	if (handle >= slots->end)
		slots->end = handle + 1;
	return (char *)*chunk + handle % SLOTS_CHUNK * slots->size;
}

__u32 slots_next(const struct slots *slots, __u32 handle)
{
	__u32 chunk = ++handle / SLOTS_CHUNK;

	if (handle >= slots->end)
		return SLOTS_MAX;
	if (slots->chunks[chunk])
		return handle;
	while (!slots->chunks[chunk])
		chunk++;
	return chunk * SLOTS_CHUNK;
}

void slots_free(struct slots *slots)
{
	for (size_t i = 0; i < SLOTS_MAX / SLOTS_CHUNK; i++)
		memory_free(slots->chunks[i]);
	memset(slots->chunks, 0, sizeof(slots->chunks));
	slots->end = 0;
}
