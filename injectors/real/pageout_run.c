// SPDX-License-Identifier: GPL-2.0
/* Which processes and pages, and asking for them at the pace that was chosen. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/cgroup.h"
#include "injectors/real/pageout.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"

#define TICK_NS	     (10 * NSEC_PER_MSEC)
#define GUEST_MEMORY "memfd:faultline-guest" /* as injectors/emu/memory_pager.c names it */

static int add_range(struct aim *aim, struct address_range range)
{
	if (!array_grow(&aim->ranges, &aim->range_room, aim->range_count + 1, sizeof(range),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %zu ranges", aim->range_count + 1);
	aim->ranges[aim->range_count++] = range;
	aim->pages += (range.end - range.start) / PAGE_BYTES;
	return 0;
}

static bool name_matches(const struct pageout_options *options,
			 const struct process_mapping *mapping)
{
	for (size_t i = 0; i < options->mapping_count; i++)
		if (!fnmatch(options->mappings[i], mapping->name, 0))
			return true;
	return false;
}

/* Of an emulated machine only what its devices are given, not its own stacks and queues. */
static bool may_be_target(const struct aim *aim, const struct process_mapping *mapping)
{
	if (!mapping->writable || mapping->kind == KIND_SPECIAL)
		return false;
	return !aim->guest_only || strstr(mapping->name, GUEST_MEMORY);
}

static bool has_guest_memory(const struct process_mappings *mappings)
{
	for (size_t i = 0; i < mappings->count; i++)
		if (strstr(mappings->all[i].name, GUEST_MEMORY))
			return true;
	return false;
}

/* Ranges as given; mappings by name; or, if neither was named, all that a device may write to. */
static int choose_ranges(struct aim *aim, const struct pageout_options *options)
{
	int err = 0;

	for (size_t i = 0; i < options->range_count && !err; i++)
		err = add_range(aim, options->ranges[i]);
	for (size_t i = 0; i < aim->evictor.mappings.count && !err; i++) {
		const struct process_mapping *mapping = &aim->evictor.mappings.all[i];

		if (options->mapping_count ? name_matches(options, mapping)
					   : !options->range_count && may_be_target(aim, mapping))
			err = add_range(aim, (struct address_range){mapping->start, mapping->end});
	}
	if (!err && !aim->pages)
		err = failed(-ENOENT, "process %d (%s) has no mapping that was named",
			     aim->target.pid, aim->target.name);
	return err;
}

static int open_aim(struct pageout *pageout, pid_t pid)
{
	const struct pageout_options *options = pageout->options;
	struct aim *aim = &pageout->aims[pageout->aim_count];
	int err;

	*aim = (struct aim){.target.pidfd = -1};
	err = target_open(&aim->target, pid, options->device, &options->verb);
	if (err)
		return err;
	err = evictor_open(&aim->evictor, &aim->target, options->advice);
	if (err) {
		target_close(&aim->target);
		return err;
	}
	pageout->aim_count++;
	aim->guest_only = options->device && options->device[0] != '/' &&
			  has_guest_memory(&aim->evictor.mappings);
	err = choose_ranges(aim, options);
	if (!err && options->reclaim)
		err = cgroup_open_reclaim(options->cgroup, &aim->target, &options->verb,
					  &aim->evictor.reclaim, aim->cgroup, sizeof(aim->cgroup));
	aim->first = pageout->pages;
	pageout->pages += aim->pages;
	return err;
}

int pageout_open(void *self)
{
	struct pageout *pageout = self;
	const struct pageout_options *options = pageout->options;
	pid_t pids[PAGEOUT_PROCESSES] = {options->pid};
	int count = 1, err = 0;

	if (options->device)
		count = target_holders(options->device, pids, PAGEOUT_PROCESSES);
	if (count < 0)
		return count;
	for (int i = 0; i < count && !err; i++)
		err = open_aim(pageout, pids[i]);
	if (err)
		pageout_close(pageout);
	else
		order_init(&pageout->order, options->order, pageout->pages, options->seed);
	return err;
}

void pageout_close(void *self)
{
	struct pageout *pageout = self;

	for (size_t i = 0; i < pageout->aim_count; i++) {
		evictor_close(&pageout->aims[i].evictor);
		target_close(&pageout->aims[i].target);
		free(pageout->aims[i].ranges);
	}
	pageout->aim_count = 0;
}

static __u64 address_of(const struct aim *aim, __u64 page)
{
	const struct address_range *range = aim->ranges;

	while (page >= (range->end - range->start) / PAGE_BYTES) {
		page -= (range->end - range->start) / PAGE_BYTES;
		range++;
	}
	return range->start + page * PAGE_BYTES;
}

static struct aim *aim_of(struct pageout *pageout, __u64 item)
{
	struct aim *aim = &pageout->aims[pageout->aim_count - 1];

	while (item < aim->first)
		aim--;
	return aim;
}

/* Asks for the next `count` pages of the order, at most EVICT_BATCH. */
static int pageout_evict_next(struct pageout *pageout, size_t count)
{
	static __u64 addresses[PAGEOUT_PROCESSES][EVICT_BATCH];
	size_t counts[PAGEOUT_PROCESSES] = {0};
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		__u64 item = order_next(&pageout->order);
		struct aim *aim = aim_of(pageout, item);
		size_t index = (size_t)(aim - pageout->aims);

		addresses[index][counts[index]++] = address_of(aim, item - aim->first);
	}
	for (size_t i = 0; i < pageout->aim_count && !err; i++) {
		struct aim *aim = &pageout->aims[i];

		if (!counts[i])
			continue;
		aim->evictor.reclaim_bytes = pageout->options->reclaim_bytes
						     ? pageout->options->reclaim_bytes
						     : counts[i] * PAGE_BYTES;
		err = evict_pages(&aim->evictor, addresses[i], counts[i]);
		if (err == -ESRCH) {
			aim->gone = true;
			err = 0;
		}
	}
	pageout->asked += count;
	return err;
}

static bool all_gone(const struct pageout *pageout)
{
	for (size_t i = 0; i < pageout->aim_count; i++)
		if (!pageout->aims[i].gone && target_alive(&pageout->aims[i].target))
			return false;
	return true;
}

/* How many pages are to have been asked for at this time after the start. */
static __u64 due(const struct pageout *pageout, __u64 elapsed)
{
	const struct pageout_options *options = pageout->options;
	__u64 pages = pageout->pages, limit = UINT64_MAX;

	if (options->duration_ns && elapsed >= options->duration_ns)
		elapsed = options->duration_ns;
	if (options->rate > 0)
		pages = (__u64)(options->rate * (double)elapsed / (double)NSEC_PER_SEC + 1e-6);
	else if (options->burst)
		/* One that would begin with the end of the duration is not part of it. */
		pages = options->burst * ((elapsed - (options->duration_ns == elapsed && elapsed)) /
						  options->every_ns +
					  1);
	else
		limit = pages;
	if (options->pages)
		limit = options->pages;
	return pages < limit ? pages : limit;
}

static bool pageout_is_over(const struct pageout *pageout, __u64 elapsed)
{
	const struct pageout_options *options = pageout->options;

	if (options->duration_ns && elapsed >= options->duration_ns)
		return true;
	if (options->pages)
		return pageout->asked >= options->pages;
	return !(options->rate > 0) && !options->burst && pageout->asked >= pageout->pages;
}

static __u64 next_wakeup(const struct pageout *pageout, __u64 elapsed)
{
	const struct pageout_options *options = pageout->options;
	__u64 next = elapsed + TICK_NS;

	if (options->rate > 0 && (double)TICK_NS * options->rate < (double)NSEC_PER_SEC)
		next = (__u64)((double)(pageout->asked + 1) * (double)NSEC_PER_SEC / options->rate);
	else if (options->burst)
		next = (elapsed / options->every_ns + 1) * options->every_ns;
	if (next <= elapsed)
		next = elapsed + 1;
	return options->duration_ns && next > options->duration_ns ? options->duration_ns : next;
}

int pageout_run(void *self)
{
	struct pageout *pageout = self;
	__u64 begin = monotonic_ns(), last = 0;
	int err = 0;

	for (;;) {
		__u64 elapsed = monotonic_ns() - begin, pages = due(pageout, elapsed);

		while (!err && !verb_stop && pageout->asked < pages && !all_gone(pageout)) {
			__u64 count = pages - pageout->asked;

			err = pageout_evict_next(pageout,
						 count < EVICT_BATCH ? count : EVICT_BATCH);
			/* Pages still due when the time is over are not asked for late. */
			last = monotonic_ns() - begin;
			if (pageout->options->duration_ns &&
			    last > pageout->options->duration_ns + TICK_NS)
				break;
		}
		pageout->elapsed_ns = monotonic_ns() - begin;
		if (err || all_gone(pageout) || pageout_is_over(pageout, elapsed)) {
			pageout->behind = pages - (pageout->asked < pages ? pageout->asked : pages);
			return err;
		}
		if (verb_stop || verb_sleep_until(begin + next_wakeup(pageout, elapsed)))
			return failed(-EINTR,
				      "stopped by a signal after %llu pages; what was "
				      "evicted comes back when it is used",
				      pageout->asked);
	}
}
