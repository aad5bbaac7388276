// SPDX-License-Identifier: GPL-2.0
/* What the guest got in each 100 ms from its first frame on: the slowest, and when it was steady. */
#include "injectors/emu/nic/frame_windows.h"
#include "lib/base/clock.h"

#define WINDOW_NS      (100 * NSEC_PER_MSEC)
#define STEADY_WINDOWS 5

void frame_windows_add(struct frame_windows *windows, __u64 now_ns, __u32 bytes)
{
	if (!windows->begin_ns)
		windows->begin_ns = now_ns;
	/* One that was not held counts from when it came, which may be before the newest that was. */
	if (now_ns < windows->end_ns)
		now_ns = windows->end_ns;
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

__u64 frame_windows_steady_ns(const struct frame_windows *windows)
{
	__u32 count = whole_windows(windows);
	__u64 best = 0, sum;

	for (int pass = 0; pass < 2; pass++) {
		sum = 0;
		for (__u32 i = 0; i < count; i++) {
			sum += windows->bytes[i];
			if (i >= STEADY_WINDOWS)
				sum -= windows->bytes[i - STEADY_WINDOWS];
			if (i + 1 < STEADY_WINDOWS)
				continue;
			if (!pass && sum > best)
				best = sum;
			else if (pass && best && sum >= best - best / 5)
				return (i + 2 - STEADY_WINDOWS) * WINDOW_NS;
		}
	}
	return 0;
}
