/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One recording of several: the frames of each, as they are, in wall-clock order, each with the number of its
 * host (docs/flt-format.md). Nothing is renumbered or moved in time, so what is read of a host equals what
 * its own recording tells.
 */
#ifndef FAULTLINE_TRACE_MERGE_H
#define FAULTLINE_TRACE_MERGE_H

#include "lib/trace/trace.h"

struct trace_merge_config {
	const char *path; /* as of trace_writer_config: never in the place of an input */
	bool overwrite;
	const char *const *inputs; /* recordings, flight recorders, merged recordings */
	size_t count;
	/* Called now and then; an error, such as -ECANCELED, ends it. NULL: nobody asks. */
	int (*progress)(void *self, __u64 done, __u64 total);
	void *self;
};

/* What became of one host. Times are CLOCK_REALTIME, 0: not known. */
struct trace_merged_host {
	struct trace_origin origin;
	const char *input; /* of the configuration's */
	char boot_id[NAME_TEXT];
	__u64 start_ns; /* CLOCK_MONOTONIC, with the boot's id whose recording it is */
	__u64 from_ns, to_ns;
	__u64 events, frames;
	bool clock;		     /* it is known */
	struct wall_clock_step step; /* count 0: its clock was not set while it was recorded */
	struct loss_info loss;	     /* as its own recording tells it */
};

struct trace_merged {
	struct trace_merged_host *hosts;
	size_t count;
	__u64 frames, bytes; /* written */
};

/*
 * Memory does not grow with the recordings' length, and with their number by little more than their anchors. It
 * has all of them open at once. Damage is left out and counted in the loss of its host. -EINVAL with a
 * sentence: a recording is given twice, or is the output.
 */
int trace_merge(const struct trace_merge_config *config, struct trace_merged *merged);
void trace_merged_free(struct trace_merged *merged);

#endif
