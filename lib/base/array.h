/* SPDX-License-Identifier: GPL-2.0 */
/* Arrays that grow: a pointer, how many elements there is room for, and how many of them are used. */
#ifndef FAULTLINE_ARRAY_H
#define FAULTLINE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

enum array_memory {
	ARRAY_PLAIN,  /* realloc() */
	ARRAY_ZEROED, /* the same; elements that were not there before are zero */
	ARRAY_LIMITED, /* memory_realloc(): within the limit of lib/base/memory.h, memory_free() frees it */
};

/* Behind array_grow(): doubles the room until it is at least `needed`. */
bool array_double(void *array, size_t *room, size_t needed, size_t size, enum array_memory memory);

/*
 * Room for `needed` elements of `size` bytes in the array whose pointer `array` points at. False without
 * memory: then all is as it was.
 */
static inline bool array_grow(void *array, size_t *room, size_t needed, size_t size,
			      enum array_memory memory)
{
	return needed <= *room || array_double(array, room, needed, size, memory);
}

#endif
