// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/evict.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define ROUNDS	   6	/* a page that was just faulted in may not be on a reclaim list yet */
#define ROUND_WAIT 1000 /* us */
#define UNDECIDED  PAGE_OUTCOMES

const char *const outcome_phrases[PAGE_OUTCOMES] = {
	[EVICTED_SWAP] = "to swap",
	[EVICTED_SWAP_CACHE] = "still in the swap cache",
	[EVICTED_STORAGE] = "to storage",
	[EVICTED_CACHED] = "still in the page cache",
	[EVICTED_DROPPED] = "dropped",
	[EVICTED_BACK] = "used again at once",
	[SKIPPED_UNMAPPED] = "not mapped",
	[SKIPPED_ABSENT] = "not present",
	[SKIPPED_LOCKED] = "locked",
	[SKIPPED_SHARED] = "mapped more than once",
	[SKIPPED_HUGETLB] = "hugetlb",
	[SKIPPED_ZERO] = "the zero page",
	[SKIPPED_SPECIAL] = "not ordinary memory",
	[SKIPPED_NO_SWAP] = "anonymous without swap to go to",
	[SKIPPED_COLD] = "marked cold only",
	[SKIPPED_REFUSED] = "refused by the kernel",
	[SKIPPED_HELD] = "held (pinned, or in use)",
	[SKIPPED_GONE] = "gone with the process",
};

/* One page that was asked for. */
struct visit {
	__u64 address;
	const struct process_mapping *mapping;
	enum page_kind kind;
	enum page_outcome outcome; /* UNDECIDED until it is known */
	__u64 frame;		   /* before */
	bool swapped, swap_cache;  /* after */
};

struct evict_batch {
	struct evictor *evictor;
	struct visit visits[EVICT_BATCH];
	size_t count;
	bool gone;
};

int evictor_open(struct evictor *evictor, const struct target *target, enum evict_advice advice)
{
	int err;

	*evictor = (struct evictor){.target = target, .advice = advice, .reclaim = -1};
	err = pages_open(&evictor->pages, target->pid);
	if (err)
		return err;
	err = mappings_read(&evictor->mappings, target->pid);
	if (err)
		pages_close(&evictor->pages);
	return err;
}

void evictor_close(struct evictor *evictor)
{
	pages_close(&evictor->pages);
	mappings_free(&evictor->mappings);
	if (evictor->reclaim >= 0)
		close(evictor->reclaim);
	evictor->reclaim = -1;
}

static int evict_by_address(const void *a, const void *b)
{
	__u64 left = *(const __u64 *)a, right = *(const __u64 *)b;

	return left < right ? -1 : left > right;
}

static bool swap_has_room(void)
{
	struct sysinfo info;

	return !sysinfo(&info) && info.freeswap > 0;
}

static enum page_kind kind_of(const struct process_mapping *mapping, const struct page_state *state)
{
	if (!mapping)
		return KIND_NONE;
	if (mapping->kind == KIND_SPECIAL || mapping->kind == KIND_HUGETLB || !state->present)
		return mapping->kind;
	return state->anonymous ? KIND_ANONYMOUS : mapping->kind;
}

/* What can be told before anything is tried. */
static enum page_outcome evict_foresee(enum page_kind kind, const struct page_state *state)
{
	if (kind == KIND_NONE)
		return SKIPPED_UNMAPPED;
	if (!state->present)
		return SKIPPED_ABSENT;
	if (kind == KIND_HUGETLB || state->hugetlb)
		return SKIPPED_HUGETLB;
	if (state->zero)
		return SKIPPED_ZERO;
	if (kind == KIND_SPECIAL || !state->ordinary)
		return SKIPPED_SPECIAL;
	if (state->locked)
		return SKIPPED_LOCKED;
	if (!state->own)
		return SKIPPED_SHARED;
	return UNDECIDED;
}

/* The mappings may have changed since they were read: once more before one is called missing. */
static int refresh_mappings(struct evictor *evictor, const __u64 *addresses, size_t count)
{
	struct process_mappings now;
	int err;

	for (size_t i = 0; i < count; i++) {
		if (mappings_find(&evictor->mappings, addresses[i]))
			continue;
		err = mappings_read(&now, evictor->target->pid);
		if (err)
			return err;
		mappings_free(&evictor->mappings);
		evictor->mappings = now;
		break;
	}
	return 0;
}

static int look_before(struct evict_batch *batch, const __u64 *addresses, size_t count)
{
	struct page_state states[EVICT_BATCH];
	struct evictor *evictor = batch->evictor;
	int err = refresh_mappings(evictor, addresses, count);

	if (!err)
		err = pages_read(&evictor->pages, addresses, count, states);
	batch->count = count;
	for (size_t i = 0; i < count; i++) {
		struct visit *visit = &batch->visits[i];

		*visit = (struct visit){.address = addresses[i], .outcome = UNDECIDED};
		visit->mapping = mappings_find(&evictor->mappings, addresses[i]);
		if (err) {
			visit->kind = visit->mapping ? visit->mapping->kind : KIND_NONE;
			continue;
		}
		visit->kind = kind_of(visit->mapping, &states[i]);
		visit->frame = states[i].frame;
		visit->outcome = evict_foresee(visit->kind, &states[i]);
	}
	return err;
}

static bool is_repeated(const struct evict_batch *batch, size_t i)
{
	return i && batch->visits[i].address == batch->visits[i - 1].address;
}

/* Neighbours become one range. Returns the number of ranges. */
static size_t evict_gather(const struct evict_batch *batch, struct iovec *ranges)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->count; i++) {
		const struct visit *visit = &batch->visits[i];
		struct iovec *last = count ? &ranges[count - 1] : NULL;

		if (visit->outcome != UNDECIDED || is_repeated(batch, i))
			continue;
		if (last && (__u64)(uintptr_t)last->iov_base + last->iov_len == visit->address)
			last->iov_len += PAGE_BYTES;
		else
			ranges[count++] =
				(struct iovec){(void *)(uintptr_t)visit->address, PAGE_BYTES};
	}
	return count;
}

static void evict_refuse(struct evict_batch *batch, const struct iovec *range, int error)
{
	__u64 start = (__u64)(uintptr_t)range->iov_base;

	batch->evictor->counts.refusal = error;
	for (size_t i = 0; i < batch->count; i++)
		if (batch->visits[i].outcome == UNDECIDED && batch->visits[i].address >= start &&
		    batch->visits[i].address < start + range->iov_len)
			batch->visits[i].outcome = SKIPPED_REFUSED;
}

/* The kernel stops at the first range that it does not like and then says only how far it came. */
static int evict_advise(struct evict_batch *batch)
{
	struct evictor *evictor = batch->evictor;
	int advice = evictor->advice == EVICT_COLD ? MADV_COLD : MADV_PAGEOUT;
	struct iovec ranges[EVICT_BATCH];
	size_t count = evict_gather(batch, ranges), at = 0;

	while (at < count) {
		long done = syscall(SYS_process_madvise, evictor->target->pidfd, ranges + at,
				    count - at, advice, 0);

		evictor->counts.calls++;
		if (done < 0) {
			int error = errno;

			if (error == EINTR || error == EAGAIN)
				continue;
			if (error == ESRCH)
				return -ESRCH;
			if (error == EPERM || error == ENOSYS)
				return failed(-EPERM,
					      "process_madvise() of process %d: %s: it needs Linux "
					      "5.10, CAP_SYS_NICE and the right to trace the "
					      "process",
					      evictor->target->pid, strerror(error));
			evict_refuse(batch, &ranges[at++], error);
			continue;
		}
		while (at < count && (size_t)done >= ranges[at].iov_len)
			done -= (long)ranges[at++].iov_len;
	}
	return 0;
}

/* Reads the undecided again; those that left are decided as far as the page table tells. */
static int look_after(struct evict_batch *batch, size_t *left)
{
	struct page_state states[EVICT_BATCH];
	__u64 addresses[EVICT_BATCH];
	size_t index[EVICT_BATCH], count = 0;
	int err;

	for (size_t i = 0; i < batch->count; i++) {
		if (batch->visits[i].outcome != UNDECIDED || is_repeated(batch, i))
			continue;
		addresses[count] = batch->visits[i].address;
		index[count++] = i;
	}
	*left = 0;
	if (!count)
		return 0;
	err = pages_read(&batch->evictor->pages, addresses, count, states);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		struct visit *visit = &batch->visits[index[i]];

		visit->swapped = states[i].swapped;
		visit->swap_cache = states[i].swap_cache;
		if (!states[i].present)
			visit->outcome = EVICTED_DROPPED; /* where to: evict_settle() */
		else if (states[i].frame != visit->frame)
			visit->outcome = EVICTED_BACK;
		else
			(*left)++;
	}
	return 0;
}

/*
 * A page that a CPU has just brought in waits in a list of that CPU, out of reclaim's sight, until
 * somebody drains it; madvise() does so for the CPU that it runs on.
 */
static int advise_from_everywhere(struct evict_batch *batch)
{
	cpu_set_t before, one;
	int err = 0;

	if (sched_getaffinity(0, sizeof(before), &before))
		return evict_advise(batch);
	for (int cpu = 0; cpu < CPU_SETSIZE && !err; cpu++) {
		if (!CPU_ISSET(cpu, &before))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!sched_setaffinity(0, sizeof(one), &one))
			err = evict_advise(batch);
	}
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}

static int evict_reclaim(struct evictor *evictor)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%llu", evictor->reclaim_bytes);

	evictor->counts.reclaims++;
	if (pwrite(evictor->reclaim, text, (size_t)length, 0) == length)
		return 0;
	/* It reclaimed something, only not all of it. */
	if (errno != EAGAIN && errno != EINTR)
		return failed(-errno, "memory.reclaim: %s", strerror(errno));
	evictor->counts.reclaim_again++;
	return 0;
}

static int try_all(struct evict_batch *batch)
{
	size_t left = 0;
	int err = 0;

	for (int round = 0; round < ROUNDS; round++) {
		if (round > 1)
			usleep(ROUND_WAIT);
		err = round == 1 ? advise_from_everywhere(batch) : evict_advise(batch);
		if (!err)
			err = look_after(batch, &left);
		if (err || !left || batch->evictor->advice == EVICT_COLD)
			break;
	}
	if (!err && batch->evictor->reclaim >= 0) {
		err = evict_reclaim(batch->evictor);
		if (!err)
			err = look_after(batch, &left);
	}
	return err;
}

static enum page_outcome why_stayed(const struct evict_batch *batch, const struct visit *visit)
{
	if (batch->gone)
		return SKIPPED_GONE;
	if (visit->swap_cache)
		return EVICTED_BACK;
	if (visit->kind == KIND_ANONYMOUS && !swap_has_room())
		return SKIPPED_NO_SWAP;
	if (batch->evictor->advice == EVICT_COLD && batch->evictor->reclaim < 0)
		return SKIPPED_COLD;
	return SKIPPED_HELD;
}

/* The file of a mapping is found by the mapping's bounds, which may have changed since. */
static int is_cached(struct evictor *evictor, const struct visit *visit, unsigned char *cached)
{
	int err = pages_cached(evictor->target->pid, visit->mapping, visit->address, 1, cached);
	const struct process_mapping *mapping;
	struct process_mappings now;

	if (!err || mappings_read(&now, evictor->target->pid))
		return err;
	mapping = mappings_find(&now, visit->address);
	err = mapping ? pages_cached(evictor->target->pid, mapping, visit->address, 1, cached)
		      : -ENOENT;
	mappings_free(&now);
	return err;
}

static enum page_outcome where_to(const struct evict_batch *batch, const struct visit *visit)
{
	unsigned char cached;

	if (visit->kind == KIND_ANONYMOUS && !visit->swapped)
		return EVICTED_DROPPED;
	if (visit->kind == KIND_ANONYMOUS)
		return pages_in_swap_cache(&batch->evictor->pages, visit->frame)
			       ? EVICTED_SWAP_CACHE
			       : EVICTED_SWAP;
	if (is_cached(batch->evictor, visit, &cached))
		return EVICTED_DROPPED;
	if (cached & 1)
		return EVICTED_CACHED;
	return visit->kind == KIND_SHARED_MEMORY ? EVICTED_SWAP : EVICTED_STORAGE;
}

static enum page_outcome repeat_of(enum page_outcome first)
{
	if (first == EVICTED_BACK)
		return SKIPPED_HELD;
	return first < FIRST_SKIPPED ? SKIPPED_ABSENT : first;
}

static void evict_settle(struct evict_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct visit *visit = &batch->visits[i];

		if (is_repeated(batch, i))
			visit->outcome = repeat_of(batch->visits[i - 1].outcome);
		else if (visit->outcome == EVICTED_DROPPED)
			visit->outcome = where_to(batch, visit);
		else if (visit->outcome == UNDECIDED)
			visit->outcome = why_stayed(batch, visit);
		batch->evictor->counts.pages[visit->kind][visit->outcome]++;
	}
}

int evict_pages(struct evictor *evictor, __u64 *addresses, size_t count)
{
	struct evict_batch batch = {.evictor = evictor};
	int err;

	qsort(addresses, count, sizeof(*addresses), evict_by_address);
	err = look_before(&batch, addresses, count);
	if (!err)
		err = try_all(&batch);
	batch.gone = err == -ESRCH || !target_alive(evictor->target);
	evict_settle(&batch);
	return batch.gone && !err ? -ESRCH : err;
}
