// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/hyv.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/output/table.h"

static const char *const hyv_modes[HYV_MODES] = {
	[HYV_OTHER] = "-",	 [HYV_NATIVE] = "native",
	[HYV_HYBRID] = "hybrid", [HYV_PASSTHROUGH] = "passthrough",
	[HYV_ODP] = "odp",
};

enum hyv_mode hyv_mode(const struct session *session, __u32 device)
{
	const struct device_info *info = session_device(session, device);

	if (!info || info->kind != DEVICE_EMULATED || strncmp(info->model, "rdma/", 5) != 0)
		return HYV_OTHER;
	for (unsigned int mode = HYV_NATIVE; mode < HYV_MODES; mode++)
		if (!strcmp(info->model + 5, hyv_modes[mode]))
			return mode;
	return HYV_OTHER;
}

const char *hyv_mode_name(enum hyv_mode mode)
{
	return hyv_modes[mode < HYV_MODES ? mode : HYV_OTHER];
}

const char *hyv_tenant(const struct session *session, __u32 device)
{
	const struct device_info *info = session_device(session, device);

	return info && info->vm[0] ? info->vm : "-";
}

struct histogram *hyv_histogram(struct histogram **histogram)
{
	if (!*histogram) {
		*histogram = memory_calloc(1, sizeof(struct histogram));
		if (*histogram)
			histogram_init(*histogram);
	}
	return *histogram;
}

void hyv_take_row(struct histogram *h, const struct aggregate_frame *frame,
		  const struct aggregate_row *row)
{
	__u64 sum = h->sum + row->counts.latency_sum_ns;
	__u64 max = h->max > row->counts.latency_max_ns ? h->max : row->counts.latency_max_ns;

	for (__u32 i = 0; i < row->bins; i++)
		histogram_add_bucket(h, frame->bins[row->histogram + i].bucket,
				     frame->bins[row->histogram + i].count);
	h->sum = sum;
	h->max = max;
}

__u64 hyv_percentile(const struct histogram *h, double percent)
{
	return h && h->count ? histogram_percentile(h, percent) : CELL_NONE;
}
