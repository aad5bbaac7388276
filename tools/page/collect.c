// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/stage.h"
#include "tools/page/page_private.h"

__u64 page_fault_ns(const struct fault *fault)
{
	return fault_last_ns(fault) - fault_first_ns(fault);
}

/* Equal ones in the order they ended. */
static void keep_slowest(struct page_draft *page, const struct fault *fault)
{
	size_t at = page->slowest_count;

	while (at > 0 && page_fault_ns(&page->slowest[at - 1]) < page_fault_ns(fault))
		at--;
	if (at == PAGE_SLOWEST)
		return;
	memmove(&page->slowest[at + 1], &page->slowest[at],
		(page->slowest_count - at) * sizeof(*fault));
	page->slowest[at] = *fault;
	page->slowest_count += page->slowest_count < PAGE_SLOWEST;
}

static void page_on_finished(void *self, const struct fault *fault)
{
	struct page_draft *page = self;

	page_series_add(&page->faults, fault_first_ns(fault), page_fault_ns(fault));
	keep_slowest(page, fault);
}

static int page_on_events(void *self, const struct event *events, size_t count)
{
	struct page_draft *page = self;

	for (size_t i = 0; i < count; i++)
		if (event_is_io(&events[i]))
			page_series_add(&page->io_single, events[i].time_ns, events[i].value);
	return 0;
}

static bool page_counts_io(const struct aggregate_row *row)
{
	return row->key.kind == EVENT_BLOCK_COMPLETE ||
	       (row->key.kind == EVENT_IO_COMPLETE && !(row->key.code & IO_PART));
}

static int page_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct page_draft *page = self;
	__u64 time_ns = frame->window * AGGREGATE_WINDOW_NS;
	struct aggregate_counts sum = {0};

	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_counts *counts = &frame->rows[i].counts;

		if (!page_counts_io(&frame->rows[i]))
			continue;
		sum.count += counts->count;
		sum.latency_sum_ns += counts->latency_sum_ns;
		if (counts->latency_max_ns > sum.latency_max_ns)
			sum.latency_max_ns = counts->latency_max_ns;
	}
	page_series_add(&page->ios, time_ns, sum.count);
	if (!sum.count || !sum.latency_max_ns)
		return 0;
	page_series_add(&page->io_mean, time_ns, sum.latency_sum_ns / sum.count);
	page_series_add(&page->io_most, time_ns, sum.latency_max_ns);
	return 0;
}

int page_collect(struct page_draft *page)
{
	const struct trace_summary *summary = page->part->summary;
	__u64 first = page->part->host->start_ns, last = summary->last_ns;

	if (!first || (summary->first_ns && summary->first_ns < first))
		first = summary->first_ns;
	page_series_init(&page->faults, first, last, 1000);
	page_series_init(&page->io_single, first, last, 1000);
	page_series_init(&page->ios, first, last, AGGREGATE_WINDOW_NS);
	page_series_init(&page->io_mean, first, last, AGGREGATE_WINDOW_NS);
	page_series_init(&page->io_most, first, last, AGGREGATE_WINDOW_NS);
	return faults_subscribe(page->analysis->faults,
				(struct fault_sink){NULL, page_on_finished, page});
}

struct stream page_stream(struct page_draft *page)
{
	static const struct stream_ops ops = {.events = page_on_events,
					      .aggregate = page_on_aggregate};

	return (struct stream){&ops, page};
}
