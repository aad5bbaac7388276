/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event message queue (VPRI section 5, EMQ): the host's commands to the PA-BITMAPs of all
 * devices, one ring and one PA manager a machine, as one function of a DPU serves all of its
 * virtual functions.
 *
 * Order (VPRI section 5.1, R1-R3). The PA manager takes commands in the order of the ring. For an
 * invalidation it makes the range absent and calls told(); once no DMA holds a page of it, it
 * acknowledges. For a map it sets the PAEs that the IOPT grants and acknowledges. A command whose
 * DMAs take long holds up neither the taking nor the acknowledgement of those behind it: such a DMA
 * may itself wait for a page, and one tenant must not wait for another's.
 */
#ifndef FAULTLINE_EMQ_H
#define FAULTLINE_EMQ_H

#include <linux/types.h>

#include "lib/analyze/histogram.h"

struct lookup;
struct emq;

#define EMQ_ENTRIES 256

enum emq_command { EMQ_INVALIDATE, EMQ_MAP };

/* What the host asks. told(argument), which may be NULL, runs in the PA manager and must not post. */
struct emq_request {
	enum emq_command command;
	struct lookup *lookup; /* of the device; a PA-BITMAP within whose window the range lies */
	__u64 iova, length;    /* bytes; every page touched counts */
	void (*told)(void *argument);
	void *argument;
};

/* entries: a power of two, 2 to 65536; 0: EMQ_ENTRIES. Starts the PA manager. Negative errno. */
int emq_create(struct emq **emq, __u32 entries);
/* Serves what was posted, then ends the PA manager: returns once the DMAs of the last command have
 * ended, so stop the devices first. Again: nothing. */
void emq_stop(struct emq *emq);
/* Stops. The lookups may go before it only if nothing is posted any more. */
void emq_destroy(struct emq *emq);

/* Posts and sleeps until the device has acknowledged. While the ring is full it waits: no command
 * is ever lost. Any thread but the PA manager. -ESHUTDOWN, nothing done, once stopped. */
int emq_post(struct emq *emq, const struct emq_request *request);

struct emq_stats {
	__u64 invalidations, maps;   /* acknowledged */
	__u64 full_waits;	     /* commands that found the ring full */
	__u32 depth, depth_max;	     /* commands in the ring, not yet taken */
	struct histogram round_trip; /* ns, from post to acknowledgement seen, of invalidations */
};
void emq_stats(struct emq *emq, struct emq_stats *stats);

#endif
