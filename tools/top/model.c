// SPDX-License-Identifier: GPL-2.0
#include "tools/top/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const sort_names[SORT_COUNT] = {
	[SORT_RATE] = "rate", [SORT_TOTAL] = "total",
	[SORT_P50] = "p50",   [SORT_P99] = "p99",
	[SORT_MAX] = "max",   [SORT_BLOCKED] = "blocked",
	[SORT_SLO] = "slo",   [SORT_FOOTPRINT] = "footprint",
	[SORT_NAME] = "name",
};

const char *top_sort_name(enum top_sort sort)
{
	return sort_names[sort];
}

enum top_sort top_sort_from(const char *name)
{
	int sort = 0;

	while (sort < SORT_COUNT && strcmp(sort_names[sort], name) != 0)
		sort++;
	return (enum top_sort)sort;
}

void top_model_free(struct top_model *model)
{
	free(model->devices);
	view_table_free(&model->table);
	memset(model, 0, sizeof(*model));
}

void top_detail_free(struct top_detail *detail)
{
	for (int i = 0; i < VIEW_TABLES; i++)
		rows_free(&detail->tables[i]);
}

const struct live_latency *top_latency(const struct top_model *model,
				       const struct top_device *device)
{
	return &device->live.latency[model->span];
}

bool top_is_blind(const struct top_model *model, unsigned int view)
{
	bool blind = false;

	for (int i = 0; i < VIEW_PATHS && views[view]->paths[i] != PATH_NONE; i++)
		switch (model->watched[views[view]->paths[i]]) {
		case WATCHED_NOT:
		case WATCHED_NOT_WANTED:
			blind = true;
			break;
		default:
			return false;
		}
	return blind;
}

struct model_sorter {
	const struct top_model *model;
	enum top_sort sort;
	bool reverse;
};

static int compare_real(double a, double b)
{
	/* Unknown sorts below everything known. */
	if (isnan(a) || isnan(b))
		return !isnan(a) - !isnan(b);
	return (a > b) - (a < b);
}

static int compare_count(__u64 a, __u64 b)
{
	return (a > b) - (a < b);
}

static int model_compare(const void *left, const void *right, void *argument)
{
	const struct model_sorter *sorter = argument;
	const struct top_device *a = &sorter->model->devices[*(const __u32 *)left];
	const struct top_device *b = &sorter->model->devices[*(const __u32 *)right];
	const struct live_latency *x = top_latency(sorter->model, a);
	const struct live_latency *y = top_latency(sorter->model, b);
	int order = 0;

	switch (sorter->sort) {
	case SORT_RATE:
		order = compare_real(b->live.rate, a->live.rate);
		break;
	case SORT_TOTAL:
		order = compare_count(b->live.faults, a->live.faults);
		break;
	case SORT_P50:
		order = compare_count(y->p50_ns, x->p50_ns);
		break;
	case SORT_P99:
		order = compare_count(y->p99_ns, x->p99_ns);
		break;
	case SORT_MAX:
		order = compare_count(y->max_ns, x->max_ns);
		break;
	case SORT_BLOCKED:
		order = compare_real(b->live.blocked_percent, a->live.blocked_percent);
		break;
	case SORT_FOOTPRINT:
		order = compare_count(b->live.footprint_bytes, a->live.footprint_bytes);
		break;
	case SORT_SLO:
		order = compare_count(b->live.slo, a->live.slo);
		break;
	case SORT_NAME:
		order = strverscmp(a->name, b->name);
		break;
	case SORT_COUNT:
		break;
	}
	if (sorter->reverse)
		order = -order;
	if (!order && sorter->sort != SORT_TOTAL)
		order = compare_count(b->live.faults, a->live.faults);
	if (!order)
		order = strverscmp(a->name, b->name);
	return order ? order : compare_count(a->live.handle, b->live.handle);
}

size_t top_order(const struct top_model *model, enum top_sort sort, bool reverse,
		 const char *filter, __u32 *order)
{
	struct model_sorter sorter = {model, sort, reverse};
	size_t count = 0;

	for (size_t i = 0; i < model->device_count; i++) {
		const struct top_device *device = &model->devices[i];

		if (filter && *filter && !strcasestr(device->name, filter) &&
		    !strcasestr(device->owner, filter))
			continue;
		order[count++] = (__u32)i;
	}
	qsort_r(order, count, sizeof(*order), model_compare, &sorter);
	return count;
}

const struct top_device *top_find(const struct top_model *model, __u32 handle)
{
	for (size_t i = 0; i < model->device_count; i++)
		if (model->devices[i].live.handle == handle)
			return &model->devices[i];
	return NULL;
}

__u64 top_elapsed(const struct top_model *model)
{
	__u64 first = model->summary.first_ns;

	return first && model->now_ns > first ? model->now_ns - first : 0;
}

__u64 top_received(const struct live_summary *summary)
{
	return summary->loss.received > summary->events ? summary->loss.received : summary->events;
}

__u64 top_lost(const struct loss_info *loss)
{
	return loss->lost + loss->missed + loss->state_failed + loss->access_lost +
	       loss->access_missed + loss->damaged_frames;
}
