/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seven stages between a fault's eight timestamps (VPRI section 5.2, NPF figure 3).
 *
 * Stage s lies between the timestamps s and s + 1 of struct fault. Where timestamps between were
 * not seen, the whole time belongs to the stage that ends at the next seen one, which is then
 * marked as merged.
 */
#ifndef FAULTLINE_STAGE_H
#define FAULTLINE_STAGE_H

#include "lib/analyze/analyzer.h"

enum stage {
	STAGE_REQUEST,	/* detect to request: the device forms and queues the page request */
	STAGE_DELIVERY, /* request to isr: interrupt */
	STAGE_DISPATCH, /* isr to handler: scheduling of the bottom half */
	STAGE_RESOLVE,	/* handler to resolved: memory made present */
	STAGE_MAP,	/* resolved to mapped: I/O page table, PA-BITMAP or MTT updated */
	STAGE_RESPOND,	/* mapped to response: page response sent */
	STAGE_RESUME,	/* response to resume: device retried and went on */
	STAGES,
};

/* "request", "delivery", ...; "none" for STAGES. */
const char *stage_name(unsigned int stage);
/* Of how many stages before it a stage has the time, too, as these timestamps were seen. */
unsigned int stage_before(__u8 seen, unsigned int stage);
/* The stage with so many before it: "resolve+map" for sentences. Programs read stage_name(). */
#define STAGE_LABEL 64
const char *stage_label(unsigned int stage, unsigned int before, char text[STAGE_LABEL]);

/*
 * The same for people: "map*" where the stage holds the time of stages before it that were not seen.
 * What it means is said by STAGE_MERGED_NOTE.
 */
#define STAGE_MARKED_TEXT 12
#define STAGE_MERGED_NOTE "* holds the time of the stages before it that were not seen."
const char *stage_marked_name(unsigned int stage, bool merged, char text[STAGE_MARKED_TEXT]);

struct stage_times {
	__u64 ns[STAGES];
	__u8 measured; /* bit per stage that has a time */
	__u8 merged;   /* bit per stage that holds the time of unseen neighbours too */
};

/* The stage times of a fault, whatever its state; timestamps out of order give 0. */
void stage_times(const struct fault *fault, struct stage_times *times);
/*
 * detect to resume, 0 if either is missing. From a kernel path that has ended: the first to the last
 * timestamp seen.
 */
__u64 fault_total_ns(const struct fault *fault);
/* The stage that took longest, STAGES if none has a time. */
unsigned int fault_slowest_stage(const struct fault *fault);
/* Nobody waits any more: it has resumed or was given up, or ended where its source ends. */
static inline bool fault_over(const struct fault *fault)
{
	return fault->ended || fault->abandoned_ns ||
	       fault->seen & 1u << (EVENT_FAULT_RESUME - EVENT_FAULT_DETECT);
}
/* The host served it or may yet: not dropped by a full queue, nor thrown away after one. */
static inline bool fault_served(const struct fault *fault)
{
	return fault->state != FAULT_OVERFLOWED && fault->state != FAULT_DISCARDED;
}
/* When it began: detect, from a kernel path the first timestamp seen. 0 if that is missing. */
__u64 fault_begin_ns(const struct fault *fault);
/* Since when it is known to have been there: its beginning, else the first timestamp seen, else 0. */
__u64 fault_known_ns(const struct fault *fault);
/* "detect-resume", "isr-response": between which timestamps a total lies; "none" without any. */
#define SPAN_TEXT 24
const char *stage_span(__u8 seen, char text[SPAN_TEXT]);
/* First and last timestamp seen, 0 if there is none. */
__u64 fault_first_ns(const struct fault *fault);
__u64 fault_last_ns(const struct fault *fault);
/* Until when its device waited, as far as it was seen: the last timestamp, or when it was given up. */
__u64 fault_end_ns(const struct fault *fault);

/* "complete", "unfinished", ... */
const char *fault_state_name(unsigned int state);
/* The newest timestamp seen: "mapped", "resume"; "none" if there is none. */
const char *fault_reached_name(const struct fault *fault);
/* Whether it was seen how the page was brought, or that it was refused and none was. */
bool fault_effort_known(const struct fault *fault);
/* Whether storage was read for it. */
enum fault_effort {
	EFFORT_MINOR,
	EFFORT_MAJOR,
	EFFORT_UNKNOWN,
	EFFORT_NONE, /* not served: dropped, discarded, or given up by its device, whatever the host did for it then */
	EFFORTS,
};
enum fault_effort fault_effort(const struct fault *fault);
/* "minor", "major", "unknown", "-" for EFFORT_NONE. */
const char *fault_effort_name(const struct fault *fault);
/* "swap", "anonymous", ..., of an emulated device's fault "permission"; "-" where nobody told. */
const char *fault_cause_name(const struct fault *fault);
/* "sva", "iommufd", "other"; "-" if unknown. */
const char *fault_consumer_name(const struct fault *fault);
/* "success", "invalid", "failure", "automatic" if the IOMMU answered itself, "-" while there was none,
 * or a number's word. */
const char *fault_response_name(const struct fault *fault);

#endif
