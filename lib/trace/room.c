// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/room.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/trace/set_aside.h"

#define SEGMENT_LEAST (64u << 10)

int trace_room_plan(struct trace_store *store)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	__u64 bound = store->max_bytes ? store->max_bytes : UINT64_MAX;

	getrlimit(RLIMIT_FSIZE, &limit);
	if (limit.rlim_cur < SEGMENT_LEAST)
		return failed(-EFBIG,
			      "files may have %llu bytes here; a flight recorder needs %u: raise "
			      "the limit (ulimit -f)",
			      (unsigned long long)limit.rlim_cur, SEGMENT_LEAST);
	store->segment_most = bound / TRACE_RING_PARTS;
	store->frame_most = bound / 2;
	if (store->segment_most > limit.rlim_cur)
		store->segment_most = limit.rlim_cur;
	if (store->frame_most > limit.rlim_cur / 2)
		store->frame_most = limit.rlim_cur / 2;
	store->segment_now = store->segment_most;
	return 0;
}

static void unlink_oldest(struct trace_store *store)
{
	const struct trace_segment *segment = store->oldest, *next = segment->next;
	char path[PATH_MAX], name[PATH_MAX];

	if (!segment->set_aside) {
		if (!trace_segment_path(store->path, segment->number, name))
			unlink(name);
		store->dropped++;
		return;
	}
	if (trace_set_aside_path(store->path, segment->set_aside, path) ||
	    trace_segment_path(path, segment->number, name))
		return;
	unlink(name);
	if (!next || next->set_aside != segment->set_aside)
		unlink(path);
}

/* Deletes the oldest segment; the one that is being written stays. */
static bool drop_oldest(struct trace_store *store)
{
	struct trace_segment *segment = store->oldest;

	if (!segment || (segment == store->newest && store->fd >= 0))
		return false;
	unlink_oldest(store);
	store->bytes -= segment->bytes;
	store->oldest = segment->next;
	if (!store->oldest)
		store->newest = NULL;
	free(segment);
	return true;
}

int trace_room_make(struct trace_store *store, size_t size, __u64 now_ns)
{
	while (store->keep_ns && store->oldest && now_ns > store->oldest->last_ns &&
	       now_ns - store->oldest->last_ns > store->keep_ns && drop_oldest(store))
		;
	while (store->max_bytes && store->bytes + size > store->max_bytes)
		if (!drop_oldest(store))
			return failed(-EFBIG,
				      "%s: %zu bytes at once do not fit into a recorder bounded "
				      "to %llu bytes; raise its size",
				      store->path, size, (unsigned long long)store->max_bytes);
	return 0;
}

/*
 * The disk is the bound now: segments become an eighth of what it holds, so that the next one to be given
 * up is no great part of it.
 */
bool trace_room_give_up(struct trace_store *store)
{
	__u64 part = store->bytes / TRACE_RING_PARTS;

	if (!store->ring)
		return false;
	/* Deleted or not, what is open keeps its room. */
	trace_sync_wait(&store->sync);
	store->calm = 0;
	if (part < SEGMENT_LEAST)
		part = SEGMENT_LEAST;
	if (part < store->segment_now)
		store->segment_now = part;
	if (!drop_oldest(store))
		return false;
	store->given_up++;
	return true;
}

void trace_room_grow(struct trace_store *store)
{
	if (++store->calm < TRACE_RING_PARTS || store->segment_now == store->segment_most)
		return;
	store->calm = 0;
	store->segment_now = store->segment_now > store->segment_most / 2 ? store->segment_most
									  : 2 * store->segment_now;
}

/* The file's time as one of the recording's clock. */
static __u64 monotonic_of(__u64 realtime_ns)
{
	__u64 monotonic = monotonic_ns(), real = clock_ns(CLOCK_REALTIME);
	__u64 age = real > realtime_ns ? real - realtime_ns : 0;

	return monotonic > age ? monotonic - age : 1;
}

/* The segments of one ring, behind *end. */
static int take_over(struct trace_store *store, __u32 set_aside, struct trace_segment ***end)
{
	struct trace_segment_file file;
	char path[PATH_MAX], name[PATH_MAX];
	struct numbers numbers;
	struct trace_segment *segment;
	size_t found = 0;
	int err = trace_set_aside_path(store->path, set_aside, path);

	err = err ? err : trace_segments_list(path, &numbers);
	if (err)
		return err;
	for (size_t i = 0; !err && i < numbers.count; i++) {
		if (trace_segment_path(path, numbers.all[i], name) ||
		    !trace_segment_look(name, &file))
			continue;
		segment = calloc(1, sizeof(*segment));
		if (!segment) {
			err = failed(-ENOMEM, "no memory for the list of segments");
			break;
		}
		segment->number = numbers.all[i];
		segment->set_aside = set_aside;
		segment->bytes = file.bytes;
		segment->last_ns = monotonic_of(file.modified_ns);
		segment->next = **end;
		**end = segment;
		*end = &segment->next;
		store->bytes += segment->bytes;
		found++;
	}
	/* Its recorder was killed while it set aside, or while it let go. */
	if (!err && !found)
		trace_set_aside_forget(path);
	numbers_free(&numbers);
	return err;
}

int trace_room_take_over(struct trace_store *store)
{
	struct trace_segment **end = &store->oldest;
	struct numbers numbers;
	int err = trace_set_aside_list(store->path, &numbers);

	for (size_t i = 0; !err && i < numbers.count; i++)
		err = take_over(store, numbers.all[i], &end);
	numbers_free(&numbers);
	return err;
}

void trace_room_free(struct trace_store *store)
{
	struct trace_segment *next;

	for (struct trace_segment *s = store->oldest; s; s = next) {
		next = s->next;
		free(s);
	}
	store->oldest = store->newest = NULL;
}
