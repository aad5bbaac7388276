/* SPDX-License-Identifier: GPL-2.0 */
/* The slow model's prefetch unit: who comes after whom, what each source asked for last. */
#ifndef FAULTLINE_SLOW_PREFETCH_H
#define FAULTLINE_SLOW_PREFETCH_H

#include "tests/reference/slow_model.h"

#define SLOW_SOURCES	65536
#define SLOW_HISTORY	8
#define SLOW_PREFETCHES 4096 /* under way of one device */

/* All that was ever asked of a device, and what follows from it. */
struct slow_prefetch {
	unsigned int *sources; /* of each translation so far */
	uint64_t count, room;
	int *successor; /* of a source; -1: none yet */
	unsigned int *domain;
	struct slow_request (*newest)[SLOW_HISTORY]; /* of a source, newest first */
	unsigned int *newest_count;
	unsigned int under_way;
	/* Pages in the buffer that were hit. */
	uint64_t *hit;
	unsigned int hit_count, hit_room;
};

void slow_prefetch_begin(struct slow_prefetch *p, unsigned int buffer_entries);
void slow_prefetch_end(struct slow_prefetch *p);
/* Rule (1); returns the successor of the translation's source, -1 if none is known. */
int slow_prefetch_learn(struct slow_prefetch *p, unsigned int source, unsigned int domain,
			unsigned int distance);
/* Rule (3). */
void slow_prefetch_remember(struct slow_prefetch *p, unsigned int source,
			    const struct slow_request *request, unsigned int pages);
/* Entries of the buffer: true if the mark changed. */
bool slow_prefetch_mark_hit(struct slow_prefetch *p, uint64_t key);
bool slow_prefetch_unmark(struct slow_prefetch *p, uint64_t key);

#endif
