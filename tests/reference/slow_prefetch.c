// SPDX-License-Identifier: GPL-2.0
#include "tests/reference/slow_prefetch.h"

#include <stdlib.h>

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void slow_prefetch_begin(struct slow_prefetch *p, unsigned int buffer_entries)
{
	*p = (struct slow_prefetch){.hit_room = buffer_entries};
	p->successor = must(calloc(SLOW_SOURCES, sizeof(p->successor[0])));
	p->domain = must(calloc(SLOW_SOURCES, sizeof(p->domain[0])));
	p->newest = must(calloc(SLOW_SOURCES, sizeof(p->newest[0])));
	p->newest_count = must(calloc(SLOW_SOURCES, sizeof(p->newest_count[0])));
	p->hit = must(calloc(buffer_entries, sizeof(p->hit[0])));
	for (unsigned int source = 0; source < SLOW_SOURCES; source++)
		p->successor[source] = -1;
}

void slow_prefetch_end(struct slow_prefetch *p)
{
	free(p->sources);
	free(p->successor);
	free(p->domain);
	free(p->newest);
	free(p->newest_count);
	free(p->hit);
}

int slow_prefetch_learn(struct slow_prefetch *p, unsigned int source, unsigned int domain,
			unsigned int distance)
{
	if (p->count == p->room) {
		p->room = p->room * 2 + 1024;
		p->sources = must(realloc(p->sources, p->room * sizeof(p->sources[0])));
	}
	if (p->count >= distance) {
		unsigned int before = p->sources[p->count - distance];

		if (p->successor[before] == -1)
			p->successor[before] = (int)source;
	}
	p->sources[p->count] = source;
	p->count = p->count + 1;
	p->domain[source] = domain;
	return p->successor[source];
}

void slow_prefetch_remember(struct slow_prefetch *p, unsigned int source,
			    const struct slow_request *request, unsigned int pages)
{
	struct slow_request *newest = p->newest[source];

	for (unsigned int i = pages - 1; i > 0; i--)
		newest[i] = newest[i - 1];
	newest[0] = *request;
	if (p->newest_count[source] < pages)
		p->newest_count[source] = p->newest_count[source] + 1;
}

static unsigned int place(const struct slow_prefetch *p, uint64_t key)
{
	unsigned int i = 0;

	while (i < p->hit_count && p->hit[i] != key)
		i++;
	return i;
}

bool slow_prefetch_mark_hit(struct slow_prefetch *p, uint64_t key)
{
	if (place(p, key) < p->hit_count)
		return false;
	if (p->hit_count == p->hit_room)
		abort();
	p->hit[p->hit_count] = key;
	p->hit_count = p->hit_count + 1;
	return true;
}

bool slow_prefetch_unmark(struct slow_prefetch *p, uint64_t key)
{
	unsigned int i = place(p, key);

	if (i == p->hit_count)
		return false;
	p->hit_count = p->hit_count - 1;
	p->hit[i] = p->hit[p->hit_count];
	return true;
}
