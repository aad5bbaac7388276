/* SPDX-License-Identifier: GPL-2.0 */
/* What the guest got in each 100 ms from its first frame on. Nothing is allocated by what adds to it. */
#ifndef FAULTLINE_NIC_FRAME_WINDOWS_H
#define FAULTLINE_NIC_FRAME_WINDOWS_H

#include <linux/types.h>
#include <stdbool.h>

#define WINDOWS_MAX 36000 /* an hour */

struct frame_windows {
	__u64 begin_ns, end_ns; /* first and last frame; 0: none */
	__u64 now;		/* which one end_ns is in */
	__u64 bytes[WINDOWS_MAX];
};

void frame_windows_add(struct frame_windows *windows, __u64 now_ns, __u32 bytes);
/* The fewest bytes of a whole window between the first frame and the last; false: there is none. */
bool frame_windows_least(const struct frame_windows *windows, __u64 *bytes);
/* Since the first frame, until the end of the first window with 80% of the median of the last half of them; 0: there
 * are too few. */
__u64 frame_windows_steady_ns(const struct frame_windows *windows);

#endif
