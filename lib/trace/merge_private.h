/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: the recordings that are merged. */
#ifndef FAULTLINE_TRACE_MERGE_PRIVATE_H
#define FAULTLINE_TRACE_MERGE_PRIVATE_H

#include "lib/trace/frames.h"
#include "lib/trace/merge.h"

struct merge_host {
	struct wall_clock clock;
	struct loss_info loss; /* the last that was told */
	__u64 as_of_ns;	       /* likewise, 0: none was */
};

struct merge_input {
	const char *path;
	size_t first, count; /* of its hosts */
	struct trace_frames frames;
	__u64 key; /* wall-clock time of its current frame; never less than that of one before */
};

struct merge_inputs {
	struct merge_input *all;
	struct merge_host *hosts; /* of all inputs, in their order, as in result->hosts */
	struct trace_merged *result;
	size_t count; /* inputs */
	__u64 bytes;
};

/* Looks through every input once: who is in it, all anchors, whether it was given before. */
int merge_look(struct merge_inputs *inputs, const struct trace_merge_config *config,
	       struct trace_merged *result);
void merge_forget(struct merge_inputs *inputs);

#endif
