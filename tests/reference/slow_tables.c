// SPDX-License-Identifier: GPL-2.0
#include "tests/reference/slow_tables.h"

#include <stdlib.h>

/* Number of the entry of a level, counted from address 0. */
static uint64_t entry_number(uint64_t iova, unsigned int level)
{
	uint64_t bytes = 4096;

	for (unsigned int below = 1; below < level; below++)
		bytes = bytes * 512;
	return iova / bytes;
}

static bool in_entry(const struct slow_page *page, unsigned int domain, uint64_t iova,
		     unsigned int level)
{
	return page->domain == domain &&
	       entry_number(page->iova, level) == entry_number(iova, level);
}

bool slow_tables_map(struct slow_tables *t, unsigned int domain, uint64_t iova, unsigned int level)
{
	for (unsigned int i = 0; i < t->count; i++) {
		const struct slow_page *page = &t->pages[i];
		unsigned int larger = page->level > level ? page->level : level;

		if (in_entry(page, domain, iova, larger))
			return page->level == level;
	}
	if (t->count == SLOW_PAGES)
		abort();
	t->pages[t->count] = (struct slow_page){
		domain, level, iova / (UINT64_C(1) << (3 + 9 * level)) << (3 + 9 * level)};
	t->count = t->count + 1;
	return true;
}

/* Is there a table of this level, the root being of level 4? */
static bool has_table(const struct slow_tables *t, unsigned int domain, uint64_t iova,
		      unsigned int level)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (in_entry(&t->pages[i], domain, iova, level == 4 ? 5 : level + 1) &&
		    t->pages[i].level <= level)
			return true;
	return false;
}

static int leaf_at(const struct slow_tables *t, unsigned int domain, uint64_t iova,
		   unsigned int level)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (t->pages[i].level == level && in_entry(&t->pages[i], domain, iova, level))
			return (int)i;
	return -1;
}

struct slow_tables_walk slow_tables_walk(const struct slow_tables *t, unsigned int domain,
					 uint64_t iova, unsigned int level)
{
	struct slow_tables_walk walk = {.page = -1};

	while (level > 0 && walk.page == -1 && has_table(t, domain, iova, level)) {
		if (t->nested)
			walk.nested_reads += 4;
		walk.reads += 1;
		walk.page = leaf_at(t, domain, iova, level);
		level = level - 1;
	}
	if (walk.page != -1 && t->nested)
		walk.nested_reads += t->host_level == 2 ? 3 : 4;
	walk.reads += walk.nested_reads;
	return walk;
}

unsigned int slow_tables_count(const struct slow_tables *t)
{
	unsigned int count = 0;

	/* Each table once: counted at the first page that needs it. */
	for (unsigned int i = 0; i < t->count; i++)
		for (unsigned int level = t->pages[i].level; level <= 4; level++) {
			bool first = true;

			for (unsigned int before = 0; before < i; before++)
				if (in_entry(&t->pages[before], t->pages[i].domain,
					     t->pages[i].iova, level + 1) &&
				    t->pages[before].level <= level)
					first = false;
			count += first;
		}
	return count;
}
