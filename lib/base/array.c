// SPDX-License-Identifier: GPL-2.0
#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

#define ROOM_LEAST 4

bool array_double(void *array, size_t *room, size_t needed, size_t size, enum array_memory memory)
{
	size_t more = *room ? *room : ROOM_LEAST, bytes;
	char *elements;

	while (more < needed)
		if (__builtin_mul_overflow(more, 2, &more))
			return false;
	if (__builtin_mul_overflow(more, size, &bytes))
		return false;
	/* The pointer is one of another type: copied, not looked at through a wrong one. */
	memcpy(&elements, array, sizeof(elements));
	elements = memory == ARRAY_LIMITED ? memory_realloc(elements, bytes)
					   : realloc(elements, bytes);
	if (!elements)
		return false;
	if (memory == ARRAY_ZEROED)
		memset(elements + *room * size, 0, (more - *room) * size);
	memcpy(array, &elements, sizeof(elements));
	*room = more;
	return true;
}
