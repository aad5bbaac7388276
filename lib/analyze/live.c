// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/live.h"

#include <errno.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stage_window.h"
#include "lib/analyze/unknown.h"

#define INTERVAL_MIN 10000000ull

static void live_fill(const struct analysis *a, const struct device_info *info, __u64 now_ns,
		      __u64 interval_ns, struct live_device *row)
{
	*row = (struct live_device){
		.handle = info->handle,
		.info = info,
		.now_ns = now_ns,
		.interval_ns = interval_ns,
		.unknown = unknown_numbers(a->session, info->handle),
	};
	for (size_t i = 0; analyzers[i]; i++)
		if (analyzers[i]->device)
			analyzers[i]->device(a, row);
}

static __u64 clamp_interval(__u64 interval_ns)
{
	return interval_ns < INTERVAL_MIN ? INTERVAL_MIN : interval_ns;
}

bool live_look(const struct analysis *a, __u64 now_ns, __u64 length_ns)
{
	for (size_t i = 0; analyzers[i]; i++)
		if (analyzers[i]->look)
			analyzers[i]->look(a, now_ns, length_ns);
	return stage_window_is_cut(a->stage_window);
}

size_t live_devices(const struct analysis *a, __u64 now_ns, __u64 interval_ns,
		    struct live_device *rows, size_t max)
{
	__u32 h = 0;
	size_t count = 0;

	interval_ns = clamp_interval(interval_ns);
	while ((h = session_device_next(a->session, h)) < SESSION_DEVICES) {
		const struct device_info *info = session_device(a->session, h);

		if (!info)
			continue;
		if (count < max)
			live_fill(a, info, now_ns, interval_ns, &rows[count]);
		count++;
	}
	return count;
}

int live_device(const struct analysis *a, __u32 handle, __u64 now_ns, __u64 interval_ns,
		struct live_device *row)
{
	const struct device_info *info = session_device(a->session, handle);

	if (!info)
		return -ENOENT;
	live_fill(a, info, now_ns, clamp_interval(interval_ns), row);
	return 0;
}

size_t live_faults(const struct analysis *a, __u32 handle, struct fault *faults, size_t max)
{
	return recent_faults(a->recent, handle, faults, max);
}

struct open_query {
	__u32 device;
	struct fault *faults;
	size_t max, count;
};

static void take_open(void *argument, const struct fault *fault)
{
	struct open_query *query = argument;

	if (fault->device == query->device && !fault_over(fault) && query->count < query->max)
		query->faults[query->count++] = *fault;
}

size_t live_open_faults(const struct analysis *a, __u32 handle, struct fault *faults, size_t max)
{
	struct open_query query = {handle, faults, max, 0};

	faults_each_open(a->faults, take_open, &query);
	return query.count;
}

void live_summary(const struct analysis *a, struct live_summary *summary)
{
	*summary = (struct live_summary){.floor = floor_of(a)};
	for (size_t i = 0; analyzers[i]; i++)
		if (analyzers[i]->summary)
			analyzers[i]->summary(a, summary);
}
