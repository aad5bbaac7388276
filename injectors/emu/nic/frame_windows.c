// SPDX-License-Identifier: GPL-2.0
/* What the guest got in each 100 ms from its first frame on: the slowest, and when it was steady. */
#include <stdlib.h>

#include "injectors/emu/nic/frame_windows.h"
#include "lib/base/clock.h"

#define WINDOW_NS (100 * NSEC_PER_MSEC)

void frame_windows_add(struct frame_windows *windows, __u64 now_ns, __u32 bytes)
{
	if (!windows->begin_ns)
		windows->begin_ns = now_ns;
	/* Frames of a batch have one time: few need the division. */
	if (windows->end_ns != now_ns)
		windows->now = (now_ns - windows->begin_ns) / WINDOW_NS;
	windows->end_ns = now_ns;
	if (windows->now < WINDOWS_MAX)
		windows->bytes[windows->now] += bytes;
}

/* Whole ones between the first frame and the last. */
static __u32 whole_windows(const struct frame_windows *windows)
{
	__u64 count = (windows->end_ns - windows->begin_ns) / WINDOW_NS;

	return count < WINDOWS_MAX ? (__u32)count : WINDOWS_MAX;
}

bool frame_windows_least(const struct frame_windows *windows, __u64 *bytes)
{
	__u32 count = whole_windows(windows);

	*bytes = ~0ull;
	for (__u32 i = 0; i < count; i++)
		if (windows->bytes[i] < *bytes)
			*bytes = windows->bytes[i];
	return count > 0;
}

static int compare(const void *a, const void *b)
{
	__u64 left = *(const __u64 *)a, right = *(const __u64 *)b;

	return (left > right) - (left < right);
}

__u64 frame_windows_steady_ns(const struct frame_windows *windows)
{
	__u32 count = whole_windows(windows), half = count / 2;
	__u64 *sorted, goal;

	if (half < 2)
		return 0;
	sorted = calloc(count - half, sizeof(*sorted));
	if (!sorted)
		return 0;
	for (__u32 i = half; i < count; i++)
		sorted[i - half] = windows->bytes[i];
	qsort(sorted, count - half, sizeof(*sorted), compare);
	goal = sorted[(count - half) / 2] / 10 * 8;
	free(sorted);
	for (__u32 i = 0; i < count; i++)
		if (windows->bytes[i] >= goal)
			return (i + 1) * WINDOW_NS;
	return 0;
}
