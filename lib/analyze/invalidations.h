/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way back: the host takes memory from a device (VPRI section 5.1, unmap order; NPF section 4,
 * figure 3b). An invalidation is (device, token); four timestamps, three intervals: told, acked, freed.
 * Devices that share the memory are told with the same token, each on its own: of all devices together
 * there are as many invalidations as devices were told, but the memory is freed once.
 */
#ifndef FAULTLINE_INVALIDATIONS_H
#define FAULTLINE_INVALIDATIONS_H

#include "lib/analyze/histogram.h"
#include "lib/analyze/session.h"

#define INVALIDATION_STEPS     4
#define INVALIDATION_INTERVALS (INVALIDATION_STEPS - 1)

/* at[k - EVENT_INVALIDATE_START] is the time of step k, 0 if it was not seen. */
struct invalidation {
	__u64 at[INVALIDATION_STEPS];
	__u64 address;
	__u64 length;
	__u64 token;
	__u32 device;
	__u32 pasid;
	__u8 seen;
	__u8 flags; /* MAJOR: the memory was written out */
};

struct invalidation_counts {
	__u64 began;
	__u64 complete;	    /* all steps seen that are watched, in order */
	__u64 inconsistent; /* freed before the device acknowledged, or a watched step missing */
	__u64 unfinished;   /* never freed within the recording */
	__u64 written_out;  /* pieces of memory, of the complete ones */
	__u64 bytes;	    /* of memory, of the complete ones */
};

struct invalidation_totals {
	struct invalidation_counts counts;
	struct histogram intervals[INVALIDATION_INTERVALS]; /* both of whose ends were seen */
	struct histogram total;				    /* start to freed */
};

struct invalidations;

struct invalidation_sink {
	/* One of the period is over, or will never be: then its last steps were not seen. It is borrowed. */
	void (*closed)(void *self, const struct invalidation *invalidation);
	void *self;
};

/* Those that began outside of `period` (NULL: none are) are left out. */
int invalidations_create(struct invalidations **invalidations, const struct period *period);
struct stream invalidations_stream(struct invalidations *invalidations);
void invalidations_destroy(struct invalidations *invalidations);
/* At most one subscriber. */
void invalidations_subscribe(struct invalidations *invalidations, struct invalidation_sink sink);
/* "told", "acked", "freed": the interval between steps of this index and the next. */
const char *invalidation_interval_name(unsigned int interval);
/* All devices together, or one; NULL if it had none. */
const struct invalidation_totals *invalidations_all(const struct invalidations *invalidations);
const struct invalidation_totals *invalidations_of(const struct invalidations *invalidations,
						   __u32 device);
/* Table "invalidations": all devices together and, if `whole`, each. */
analyzer_write invalidations_write;

#endif
