/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: the segment files of a flight recorder as found in their directory. */
#ifndef FAULTLINE_TRACE_SEGMENTS_H
#define FAULTLINE_TRACE_SEGMENTS_H

#include <linux/types.h>
#include <stddef.h>

struct trace_segments {
	__u32 *numbers; /* ascending */
	size_t count;
};

/* Lists PATH.NNNNNN. No match is no error. */
int trace_segments_list(const char *path, struct trace_segments *segments);
void trace_segments_free(struct trace_segments *segments);
/* Deletes an earlier flight recorder's segments, those below `end`; anything but segments stays. */
int trace_segments_remove(const char *path, __u32 end);

#endif
