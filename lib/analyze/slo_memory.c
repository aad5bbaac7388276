// SPDX-License-Identifier: GPL-2.0
/* What happened lately on a device, to find causes among: what is let go for newer is counted. */
#include <string.h>

#include "lib/analyze/slo_private.h"
#include "lib/base/memory.h"

void *memory_at(const struct memory *m, __u64 index)
{
	return (char *)m->items + (index & (m->capacity - 1)) * m->size;
}

static int memory_grow(struct memory *m)
{
	struct memory larger = *m;

	larger.capacity = m->capacity ? 2 * m->capacity : 16;
	larger.items = memory_calloc(larger.capacity, larger.size);
	if (!larger.items)
		return -1;
	for (__u64 i = m->head; i < m->tail; i++)
		memcpy(memory_at(&larger, i), memory_at(m, i), m->size);
	memory_free(m->items);
	*m = larger;
	return 0;
}

static void let_go_of_oldest(struct memory *m)
{
	__u64 until = m->until_ns(memory_at(m, m->head++));

	m->let_go++;
	if (until > m->let_go_ns)
		m->let_go_ns = until;
}

void *memory_push(struct memory *m)
{
	if (m->tail - m->head == m->capacity && (m->capacity >= SLO_MEMORY_MAX || memory_grow(m))) {
		if (!m->capacity)
			return NULL;
		let_go_of_oldest(m);
	}
	return memory_at(m, m->tail++);
}

void memory_expire(struct memory *m, __u64 since_ns)
{
	while (m->head < m->tail && m->until_ns(memory_at(m, m->head)) < since_ns)
		let_go_of_oldest(m);
}
