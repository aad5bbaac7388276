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
/*
 * From the first frame to the end of the first window of the first half second with 80% of the bytes of the best half
 * second: a guest that waits out timeouts until its ring is warm is not steady before. 0: it lasted for less than that.
 */
__u64 frame_windows_steady_ns(const struct frame_windows *windows);

#endif
