/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The live protector: policies of lib/protect, told of each access that the access log has, pin pages of the guests
 * (pins.h) for the devices that they expect to use them again.
 *
 *	access log's owner --records--> their order (record_order.h) --> a policy for each domain
 *	policy --pins and unpins, in their order--> a queue --> the thread "protector" --> machine_pin()
 *
 * It has no clock: a policy's time is that of the records of its domain. One that is silent follows the newest record
 * of any domain, PROTECTOR_LAG_NS behind. So the same policy, told of the same accesses as a recording has them, decides the
 * same (docs/protect.md). To bring a page takes up to milliseconds, so that it is done elsewhere than in the log's owner.
 */
#ifndef FAULTLINE_PROTECTOR_H
#define FAULTLINE_PROTECTOR_H

#include <stdbool.h>

#include "lib/capture/access_log.h"
#include "lib/job/protector_options.h"

#define PROTECTOR_LAG_NS 1000000000ull

#define PROTECTOR_PAGE_MAX (2ull << 20) /* guests' memory is a multiple of it */

struct machine;
struct protector;

/* Of the machine's `protector`, once its tenants are built. With policy `none`: *protector is NULL, as below wherever it may be. */
int protector_create(struct protector **protector, struct machine *machine);
/* Stops it, if nobody has. */
void protector_destroy(struct protector *protector);

/* By the owner of the access log, for each record; `protector` is one. */
void protector_take(void *protector, const struct access_record *record);

/* No page is brought in from now on: pins that are decided yet are left undone. */
void protector_halt(struct protector *protector);
/*
 * Once no record comes any more: all that wait are taken, all policies are advanced to the newest of their times, and all
 * that is pinned is let go. Its thread has ended when this returns.
 */
void protector_stop(struct protector *protector);

struct protector_stats {
	__u64 accesses;	    /* pages that records named, so far */
	__u64 pins, unpins; /* pages of `page` bytes, carried out */
	__u64 refused; /* pins that were not: no room among what may be pinned, or the queue was full */
	double pinned_mean;	   /* bytes, from the first record to protector_stop() */
	__u64 pinned, pinned_most; /* bytes, now and at most */
};
void protector_stats(struct protector *protector, struct protector_stats *stats);

#endif
