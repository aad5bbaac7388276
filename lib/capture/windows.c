// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/windows.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/histogram.h"
#include "bpf/page.h"
#include "bpf/state.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/capture/window.h"

/* Rows of one window beside the kernel's: 300 MiB with their histograms. All that are open have twice that. */
#define OWN_ROWS_MAX 65536
/* Open at once: two, but for a recorder that was held up and finds the logs of all these seconds. */
#define OPEN_MAX 64
_Static_assert(OWN_ROWS_MAX + AGGREGATES_MAX <= AGGREGATE_ROWS_MAX, "a frame holds both");

struct windows {
	const struct shared_maps *maps;
	struct device_table *devices;
	struct capture_window open[OPEN_MAX]; /* by number modulo */
	__u64 oldest;			      /* first window not yet closed */
	__u64 newest;			      /* last window that has something */
	size_t own_rows, pages;		      /* of all that are open */
	__u64 aggregate_failed;
	struct aggregate_counts *per_cpu; /* one value of the kernel's per-CPU map */
	struct aggregate_key *keys;	  /* of the kernel's closed windows */
	size_t key_room;
	struct aggregate_bin_key *bin_keys;
	size_t bin_key_room;
	struct aggregate_row *rows; /* the frame */
	size_t row_room;
	struct aggregate_bin *bins;
	size_t bin_room;
};

int windows_create(struct windows **windows, const struct shared_maps *maps,
		   struct device_table *devices, __u64 now_ns)
{
	struct windows *w = calloc(1, sizeof(*w));

	if (w && maps)
		w->per_cpu = calloc(maps->cpus, sizeof(w->per_cpu[0]));
	if (!w || (maps && !w->per_cpu)) {
		free(w);
		return failed(-ENOMEM, "no memory for aggregate windows");
	}
	w->maps = maps;
	w->devices = devices;
	w->oldest = w->newest = now_ns / AGGREGATE_WINDOW_NS;
	*windows = w;
	return 0;
}

void windows_destroy(struct windows *windows)
{
	if (!windows)
		return;
	for (size_t i = 0; i < OPEN_MAX; i++)
		window_free(&windows->open[i]);
	free(windows->per_cpu);
	free(windows->keys);
	free(windows->bin_keys);
	free(windows->rows);
	free(windows->bins);
	free(windows);
}

/* The window of an instant, or the nearest that is open. */
static struct capture_window *windows_at(struct windows *windows, __u64 time_ns, __u64 *number)
{
	const __u64 last = windows->oldest + OPEN_MAX - 1;
	struct capture_window *window;

	*number = time_ns / AGGREGATE_WINDOW_NS;
	if (*number < windows->oldest)
		*number = windows->oldest;
	window = &windows->open[(*number < last ? *number : last) % OPEN_MAX];
	if (*number > last) {
		*number = last;
		window->incomplete = true;
	}
	if (*number > windows->newest)
		windows->newest = *number;
	return window;
}

/* How many elements a window may have: those of one, as long as all together stay below those of two. */
static size_t windows_limit_of(size_t mine, size_t all, size_t limit)
{
	size_t left = all < 2 * limit ? 2 * limit - all : 0;

	return mine + left < limit ? mine + left : limit;
}

/* The row of an instant: NULL without an error if the window has no room for it, which it tells. */
static int row_at(struct windows *windows, __u64 time_ns, const struct aggregate_key *key,
		  struct window_row **row)
{
	struct aggregate_key full = *key;
	struct capture_window *window = windows_at(windows, time_ns, &full.window);
	size_t before = window->row_count;

	*row = window_row(window, &full, windows_limit_of(before, windows->own_rows, OWN_ROWS_MAX));
	windows->own_rows += window->row_count - before;
	return *row || window->incomplete ? 0 : failed(-ENOMEM, "no memory for aggregate counts");
}

int windows_add(struct windows *windows, __u64 time_ns, const struct aggregate_key *key,
		__u64 bytes, __u64 latency_ns)
{
	struct window_row *row;
	int error = row_at(windows, time_ns, key, &row);

	if (!row)
		return error;
	row->counts.count++;
	row->counts.bytes += bytes;
	row->counts.latency_sum_ns += latency_ns;
	if (row->counts.latency_max_ns < latency_ns)
		row->counts.latency_max_ns = latency_ns;
	row->buckets[histogram_bucket(latency_ns)]++;
	return 0;
}

int windows_add_bytes(struct windows *windows, __u64 time_ns, const struct aggregate_key *key,
		      __u64 bytes)
{
	struct window_row *row;
	int error = row_at(windows, time_ns, key, &row);

	if (!row)
		return error;
	row->counts.bytes += bytes;
	return 0;
}

int windows_gauge(struct windows *windows, __u64 time_ns, const struct aggregate_key *key,
		  __u64 count, __u64 bytes)
{
	struct window_row *row;
	int error = row_at(windows, time_ns, key, &row);

	if (!row)
		return error;
	row->counts = (struct aggregate_counts){.count = count, .bytes = bytes};
	return 0;
}

int windows_add_pages(struct windows *windows, __u64 time_ns, __u32 device, __u32 pasid,
		      __u64 address, __u64 bytes, __u8 flags)
{
	__u64 number, last = (address + bytes - 1) >> PAGE_BITS;
	struct capture_window *window = windows_at(windows, time_ns, &number);

	for (__u64 page = address >> PAGE_BITS; bytes && page <= last; page++) {
		size_t before = window->page_count;
		struct aggregate_page *at =
			window_page(window, device, pasid, page,
				    windows_limit_of(before, windows->pages, AGGREGATE_PAGES_MAX));

		windows->pages += window->page_count - before;
		if (!at && !window->incomplete)
			return failed(-ENOMEM, "no memory for the footprint");
		if (!at)
			return 0;
		at->reads += !!(flags & EVENT_READ);
		at->writes += !!(flags & EVENT_WRITE);
	}
	return 0;
}

static bool add_bin(struct windows *w, struct aggregate_frame *frame, __u32 bucket, __u64 count)
{
	if (!array_grow(&w->bins, &w->bin_room, frame->bin_count + 1, sizeof(w->bins[0]),
			ARRAY_PLAIN))
		return false;
	w->bins[frame->bin_count++] = (struct aggregate_bin){bucket, count};
	return true;
}

static bool add_row(struct windows *w, struct aggregate_frame *frame,
		    const struct aggregate_key *key, const struct aggregate_counts *counts)
{
	if (!array_grow(&w->rows, &w->row_room, frame->row_count + 1, sizeof(w->rows[0]),
			ARRAY_PLAIN))
		return false;
	w->rows[frame->row_count++] = (struct aggregate_row){
		.key = *key, .counts = *counts, .histogram = frame->bin_count};
	return true;
}

static bool add_own_rows(struct windows *w, struct capture_window *window,
			 struct aggregate_frame *frame)
{
	for (size_t i = 0; i < window->row_count; i++) {
		const struct window_row *row = &window->rows[i];
		size_t before = frame->bin_count;

		if (!add_row(w, frame, &row->key, &row->counts))
			return false;
		for (__u32 bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
			if (row->buckets[bucket] &&
			    !add_bin(w, frame, bucket, row->buckets[bucket]))
				return false;
		w->rows[frame->row_count - 1].bins = frame->bin_count - before;
	}
	return true;
}

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct aggregate_key));
}

static int compare_bin_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct aggregate_key))
		       ?: (int)((const struct aggregate_bin_key *)a)->bucket -
				  (int)((const struct aggregate_bin_key *)b)->bucket;
}

/* Collects the keys of closed windows. The map grows meanwhile, but only by newer windows. */
static bool collect_keys(struct windows *w, __u64 window, size_t *key_count, size_t *bin_count)
{
	struct aggregate_key key, *previous = NULL;
	struct aggregate_bin_key bin, *previous_bin = NULL;

	*key_count = *bin_count = 0;
	while (!bpf_map_get_next_key(w->maps->aggregates, previous, &key)) {
		previous = &key;
		if (key.window > window)
			continue;
		if (!array_grow(&w->keys, &w->key_room, *key_count + 1, sizeof(key), ARRAY_PLAIN))
			return false;
		w->keys[(*key_count)++] = key;
	}
	while (!bpf_map_get_next_key(w->maps->aggregate_bins, previous_bin, &bin)) {
		previous_bin = &bin;
		if (bin.aggregate.window > window)
			continue;
		if (!array_grow(&w->bin_keys, &w->bin_key_room, *bin_count + 1, sizeof(bin),
				ARRAY_PLAIN))
			return false;
		w->bin_keys[(*bin_count)++] = bin;
	}
	/* Before the first key there is no array, which qsort() does not accept. */
	if (*key_count)
		qsort(w->keys, *key_count, sizeof(key), compare_keys);
	if (*bin_count)
		qsort(w->bin_keys, *bin_count, sizeof(bin), compare_bin_keys);
	return true;
}

/* First bin of a row among the sorted ones. */
static size_t find_bins(const struct windows *w, size_t bin_count, const struct aggregate_key *key)
{
	size_t low = 0, high = bin_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (memcmp(&w->bin_keys[middle].aggregate, key, sizeof(*key)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool add_kernel_row(struct windows *w, struct aggregate_frame *frame,
			   const struct aggregate_key *key, size_t bin_count)
{
	struct aggregate_counts sum = {};
	struct aggregate_key outside = *key;
	size_t before = frame->bin_count, at;

	if (bpf_map_lookup_elem(w->maps->aggregates, key, w->per_cpu))
		return true;
	outside.device = device_table_handle(w->devices, key->device);
	if (outside.device == HANDLE_DROPPED)
		return true;
	for (int cpu = 0; cpu < w->maps->cpus; cpu++) {
		sum.count += w->per_cpu[cpu].count;
		sum.bytes += w->per_cpu[cpu].bytes;
		sum.latency_sum_ns += w->per_cpu[cpu].latency_sum_ns;
		if (sum.latency_max_ns < w->per_cpu[cpu].latency_max_ns)
			sum.latency_max_ns = w->per_cpu[cpu].latency_max_ns;
	}
	if (!add_row(w, frame, &outside, &sum))
		return false;
	for (at = find_bins(w, bin_count, key);
	     at < bin_count && !memcmp(&w->bin_keys[at].aggregate, key, sizeof(*key)); at++) {
		__u64 count;

		if (bpf_map_lookup_elem(w->maps->aggregate_bins, &w->bin_keys[at], &count))
			continue;
		if (!add_bin(w, frame, w->bin_keys[at].bucket, count))
			return false;
	}
	w->rows[frame->row_count - 1].bins = frame->bin_count - before;
	return true;
}

/* Reads and deletes what the kernel counted up to this window. */
static bool add_kernel_rows(struct windows *w, struct aggregate_frame *frame)
{
	size_t keys, bins;

	if (!collect_keys(w, frame->window, &keys, &bins))
		return false;
	for (size_t i = 0; i < keys; i++) {
		/* Counted by a program that was held up for longer than the grace. */
		if (w->keys[i].window < frame->window)
			frame->incomplete = true;
		else if (!add_kernel_row(w, frame, &w->keys[i], bins))
			return false;
	}
	for (size_t i = 0; i < keys; i++)
		bpf_map_delete_elem(w->maps->aggregates, &w->keys[i]);
	for (size_t i = 0; i < bins; i++)
		bpf_map_delete_elem(w->maps->aggregate_bins, &w->bin_keys[i]);
	return true;
}

static int compare_pages(const void *a, const void *b)
{
	const struct aggregate_page *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->pasid != y->pasid)
		return x->pasid < y->pasid ? -1 : 1;
	return x->page < y->page ? -1 : x->page > y->page;
}

/* New devices first: the frame may name them. */
static int push(struct windows *w, struct stream sink, const struct aggregate_frame *frame)
{
	const struct device_info *info;
	int error = 0;

	while (w->devices && !error && (info = device_table_next_new(w->devices)))
		error = sink.ops->device ? sink.ops->device(sink.self, info) : 0;
	if (error || !sink.ops->aggregate)
		return error;
	return sink.ops->aggregate(sink.self, frame);
}

/* Two windows are open, most of the time, and have what memory they need; what a backlog needed is not kept. */
static void pass_memory_on(struct windows *w, struct capture_window *closed)
{
	struct capture_window *next = &w->open[(w->oldest + 2) % OPEN_MAX];

	if (w->newest > w->oldest + 1) {
		window_free(closed);
		return;
	}
	window_reset(closed);
	window_free(next);
	*next = *closed;
	*closed = (struct capture_window){};
}

static int close_window(struct windows *w, struct stream sink)
{
	struct capture_window *window = &w->open[w->oldest % OPEN_MAX];
	struct aggregate_frame frame = {.window = w->oldest, .incomplete = window->incomplete};
	int error = 0;

	if (w->maps) {
		__u64 failed_now =
			__atomic_load_n(&w->maps->state->aggregate_failed, __ATOMIC_RELAXED);

		frame.incomplete |= failed_now != w->aggregate_failed;
		w->aggregate_failed = failed_now;
	}
	if ((w->maps && !add_kernel_rows(w, &frame)) || !add_own_rows(w, window, &frame))
		return failed(-ENOMEM, "no memory for an aggregate frame of %zu rows",
			      frame.row_count);
	if (window->page_count)
		qsort(window->pages, window->page_count, sizeof(window->pages[0]), compare_pages);
	frame.rows = w->rows;
	frame.bins = w->bins;
	frame.pages = window->pages;
	frame.page_count = window->page_count;
	if (frame.row_count || frame.page_count || frame.incomplete)
		error = push(w, sink, &frame);
	w->own_rows -= window->row_count;
	w->pages -= window->page_count;
	pass_memory_on(w, window);
	w->oldest++;
	return error;
}

int windows_close(struct windows *windows, __u64 now_ns, struct stream sink)
{
	__u64 last;
	int error = 0;

	if (now_ns != UINT64_MAX)
		last = now_ns < WINDOW_GRACE_NS ? 0
						: (now_ns - WINDOW_GRACE_NS) / AGGREGATE_WINDOW_NS;
	else if (windows->newest > windows->oldest)
		last = windows->newest + 1;
	else
		last = windows->oldest + 2; /* the kernel's own may be newer than any of ours */
	while (!error && windows->oldest < last)
		error = close_window(windows, sink);
	return error;
}
