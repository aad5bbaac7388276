// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/footprint.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/analyze/footprint_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define SIMULATED_DEFAULT 300000000000ull
#define HUGE_PAGES	  (FOOTPRINT_HUGE_SHIFT - PAGE_BITS)

static struct device_footprint *make_device(struct footprint *f, __u32 device)
{
	struct device_footprint **slot = slots_make(&f->devices, device);

	if (slot && !*slot) {
		*slot = memory_calloc(1, sizeof(**slot));
		if (*slot)
			histogram_init(&(*slot)->intervals);
	}
	return slot ? *slot : NULL;
}

const struct device_footprint *footprint_find(const struct footprint *f, __u32 device)
{
	struct device_footprint *const *slot = slots_find(&f->devices, device);

	return slot ? *slot : NULL;
}

static void drop_old_points(const struct footprint *f, struct device_footprint *d)
{
	size_t keep = f->config.history_windows;

	if (!keep || d->count < 2 * keep)
		return;
	memmove(d->points, d->points + d->count - keep, keep * sizeof(d->points[0]));
	d->count = keep;
}

/* The curve's point of this window; frames come in the order of their windows. */
static struct footprint_point *footprint_point_of(struct footprint *f, struct device_footprint *d,
						  __u64 window)
{
	if (d->count && d->points[d->count - 1].window >= window)
		return &d->points[d->count - 1];
	drop_old_points(f, d);
	if (!array_grow(&d->points, &d->capacity, d->count + 1, sizeof(*d->points), ARRAY_LIMITED))
		return NULL;
	d->points[d->count] = (struct footprint_point){.window = window};
	return &d->points[d->count++];
}

static void touch_accesses(struct page_entry *entry, __u64 accesses)
{
	entry->accesses = accesses > UINT32_MAX - entry->accesses
				  ? UINT32_MAX
				  : entry->accesses + (__u32)accesses;
}

/* Returns true if this is the page's first access in this window. */
static bool touch_page(struct footprint *f, const struct aggregate_page *page, __u64 accesses,
		       __u32 window, bool *fresh, bool *new_in_span)
{
	struct page_entry *entry =
		page_table_make(&f->pages, page->device, page->pasid, page->page);
	bool first;

	if (!entry)
		return false;
	*fresh = !entry->accesses;
	*new_in_span = *fresh || footprint_span_is_new(f, entry->last, window);
	first = *fresh || entry->last != window;
	entry->last = window;
	touch_accesses(entry, accesses);
	return first;
}

static void footprint_interval(struct footprint *f, struct device_footprint *d, __u32 windows)
{
	histogram_add(&d->intervals, windows);
	if (windows > f->threshold_windows)
		d->sums.simulated_faults++;
}

static bool touch_huge(struct footprint *f, struct device_footprint *d,
		       const struct aggregate_page *page, __u64 accesses, __u32 window, bool *fresh,
		       bool *new_in_span)
{
	struct page_entry *entry =
		page_table_make(&f->huge, page->device, page->pasid, page->page >> HUGE_PAGES);
	const struct page_entry *before;
	__u64 within = accesses;
	bool first;

	if (!entry)
		return false;
	*fresh = !entry->accesses;
	*new_in_span = *fresh || footprint_span_is_new(f, entry->last, window);
	first = *fresh || entry->last != window;
	before = *fresh ? page_table_find(&f->earlier, page->device, page->pasid, entry->page)
			: entry;
	if (first) {
		within--;
		if (before)
			footprint_interval(f, d, window - before->last);
	}
	/* Further accesses of the window came after less than a window: interval 0. */
	histogram_add_bucket(&d->intervals, 0, within > UINT32_MAX ? UINT32_MAX : (__u32)within);
	entry->last = window;
	touch_accesses(entry, accesses);
	return first;
}

/* Accesses of one second to a page, which is new in its window or not, at both sizes. False without memory. */
static bool footprint_span_touch(const struct footprint *f, struct device_footprint *d,
				 __u32 second, __u64 accesses, bool new_page, bool new_huge)
{
	struct footprint_window *window;
	__u64 number;

	if (!f->span)
		return true;
	number = footprint_span_of(f, second);
	if (!d->window_count || d->windows[d->window_count - 1].number < number) {
		if (!array_grow(&d->windows, &d->window_room, d->window_count + 1,
				sizeof(*d->windows), ARRAY_LIMITED))
			return false;
		d->windows[d->window_count++] = (struct footprint_window){.number = number};
	}
	window = &d->windows[d->window_count - 1];
	window->accesses += accesses;
	window->bytes += new_page ? 1ull << PAGE_BITS : 0;
	window->huge_bytes += new_huge ? 1ull << FOOTPRINT_HUGE_SHIFT : 0;
	return true;
}

static int footprint_touch(struct footprint *f, const struct aggregate_page *page, __u64 window)
{
	__u64 accesses = (__u64)page->reads + page->writes;
	__u32 relative = (__u32)(window - f->first_window);
	bool fresh = false, fresh_huge = false, new = false, new_huge = false;
	struct footprint_point *point;
	struct device_footprint *d;

	/* What no device can have has no footprint; the session counts it as left out. */
	if (!accesses || page->device >= SLOTS_MAX)
		return 0;
	d = make_device(f, page->device);
	point = d ? footprint_point_of(f, d, window) : NULL;
	if (!point)
		return failed(-ENOMEM, "no memory for the footprint of device %u", page->device);
	if (touch_page(f, page, accesses, relative, &fresh, &new))
		point->window_bytes += 1ull << PAGE_BITS;
	if (touch_huge(f, d, page, accesses, relative, &fresh_huge, &new_huge))
		point->window_huge_bytes += 1ull << FOOTPRINT_HUGE_SHIFT;
	if (!footprint_span_touch(f, d, relative, accesses, new, new_huge))
		return failed(-ENOMEM, "no memory for the windows of device %u", page->device);
	if (fresh)
		d->sums.bytes += 1ull << PAGE_BITS;
	if (fresh_huge)
		d->sums.huge_bytes += 1ull << FOOTPRINT_HUGE_SHIFT;
	d->sums.reads += page->reads;
	d->sums.writes += page->writes;
	d->sums.accesses += accesses;
	point->accesses += accesses;
	point->bytes = d->sums.bytes;
	point->huge_bytes = d->sums.huge_bytes;
	point->simulated_faults = d->sums.simulated_faults;
	return 0;
}

static int touch_before(struct footprint *f, const struct aggregate_page *page, __u64 window)
{
	struct page_entry *entry =
		page_table_make(&f->earlier, page->device, page->pasid, page->page >> HUGE_PAGES);

	if (!entry)
		return failed(-ENOMEM, "no memory for the footprint of device %u", page->device);
	entry->accesses = 1;
	entry->last = (__u32)(window - f->first_window);
	return 0;
}

static int footprint_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct footprint *f = self;
	bool within;
	int error = 0;

	if (!f->begun) {
		f->begun = true;
		f->first_window = frame->window;
	}
	/* A window from before the first can only come from a damaged recording. */
	if (frame->window < f->first_window ||
	    period_is_after_window(&f->config.period, frame->window))
		return 0;
	within = period_has_window(&f->config.period, frame->window);
	if (within && !f->has_origin) {
		f->has_origin = true;
		f->origin = (__u32)(frame->window - f->first_window);
	}
	for (size_t i = 0; !error && i < frame->page_count; i++)
		error = within ? footprint_touch(f, &frame->pages[i], frame->window)
			       : touch_before(f, &frame->pages[i], frame->window);
	return error;
}

int footprint_create(struct footprint **footprint, const struct footprint_config *config)
{
	struct footprint *f = memory_calloc(1, sizeof(*f));

	*footprint = f;
	if (!f)
		return failed(-ENOMEM, "no memory for the footprint");
	if (config)
		f->config = *config;
	if (!f->config.simulated_fault_ns)
		f->config.simulated_fault_ns = SIMULATED_DEFAULT;
	f->span = (__u32)(f->config.window_ns / AGGREGATE_WINDOW_NS);
	f->threshold_windows = (__u32)(f->config.simulated_fault_ns / AGGREGATE_WINDOW_NS);
	slots_init(&f->devices, sizeof(struct device_footprint *));
	return 0;
}

struct stream footprint_stream(struct footprint *f)
{
	static const struct stream_ops ops = {.aggregate = footprint_on_aggregate};

	return (struct stream){&ops, f};
}

void footprint_destroy(struct footprint *f)
{
	if (!f)
		return;
	for (__u32 h = 0; h < f->devices.end; h = slots_next(&f->devices, h)) {
		struct device_footprint **slot = slots_find(&f->devices, h);

		if (!slot || !*slot)
			continue;
		memory_free((*slot)->points);
		memory_free((*slot)->windows);
		memory_free(*slot);
	}
	slots_free(&f->devices);
	page_table_free(&f->pages);
	page_table_free(&f->huge);
	page_table_free(&f->earlier);
	memory_free(f);
}

struct footprint_device footprint_device(const struct footprint *f, __u32 device)
{
	const struct device_footprint *d = footprint_find(f, device);
	struct footprint_device sums = d ? d->sums : (struct footprint_device){0};

	if (d && d->count)
		sums.window_bytes = d->points[d->count - 1].window_bytes;
	return sums;
}

const struct histogram *footprint_intervals(const struct footprint *f, __u32 device)
{
	const struct device_footprint *d = footprint_find(f, device);

	return d ? &d->intervals : NULL;
}

double footprint_percent(const struct session *session, __u32 device, __u64 bytes)
{
	const struct device_info *info = session_device(session, device);

	return info && info->memory ? 100.0 * (double)bytes / (double)info->memory : NAN;
}
