/* SPDX-License-Identifier: GPL-2.0 */
/* What a NIC's frames have come to, written by its model when it stops. */
#ifndef FAULTLINE_FRAME_TOTALS_H
#define FAULTLINE_FRAME_TOTALS_H

#include "bpf/event.h"

#ifndef __bpf__
#include <stdbool.h>
#endif

struct frame_totals {
	/* in = delivered + held + the sum of lost, but for what was lost before the NIC saw it */
	__u64 in, delivered, delivered_bytes;
	__u64 in_bytes; /* of all that came in, whatever became of it */
	__u64 lost[LOSS_REASONS];
	__u64 lost_innocent; /* of LOSS_CACHE_FULL: their ring had nothing in the cache */
	__u64 held;	     /* still, as it stopped */
	__u64 held_ever;     /* had to wait, each once */
	__u64 sent, sent_bytes;
	__u64 sent_lost;  /* of what the guest sends: a fault that could not be resolved */
	__u64 refused;	  /* by the guest's own network, after they had been delivered */
	__u64 mismatches; /* of generated frames: damaged, twice or out of order (verify=yes) */
	__u64 interrupts;
	__u64 halted;		/* rings stopped by a descriptor that makes no sense */
	__u64 begin_ns, end_ns; /* first and last frame that was delivered; 0: none was */
	__u64 least_bytes;	/* fewest in any whole 100 ms between the two */
	bool has_least;		/* there was such a window */
	/* From the first frame to the first half second with 80% of the best one's bytes (frame_windows.h). */
	__u64 steady_ns; /* 0: not known */
	/* Of TCP flows: from a lost frame until all that was lost has come or will not, or the end. */
	__u64 stalls, stall_max_ns;
	__u64 pinned; /* bytes */
};

#endif
