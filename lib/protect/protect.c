// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/protect_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define PROTECT_POLICY(name) extern const struct policy protect_policy_##name;
#include "lib/protect/policies.def"

const struct protect_policy *const protect_policies[] = {
#define PROTECT_POLICY(name) &protect_policy_##name.told,
#include "lib/protect/policies.def"
	NULL,
};

#define POLICIES (sizeof(protect_policies) / sizeof(protect_policies[0]) - 1)

static const struct policy *const policies[] = {
#define PROTECT_POLICY(name) &protect_policy_##name,
#include "lib/protect/policies.def"
};

int protect_policy_find(const char *name)
{
	for (size_t i = 0; i < POLICIES; i++)
		if (!strcmp(protect_policies[i]->name, name))
			return i;
	return -ENOENT;
}

void protect_keys_default(struct protect_keys *keys)
{
	const __u64 second = 1000000000;

	*keys = (struct protect_keys){
		.overflow = PROTECT_OVERFLOW_DROP,
		.active = 0.30,
		.inactive = 0.05,
		.lru = 0.10,
		.scan_ns = 20 * second,
		.promote_after_ns = 180 * second,
		.demote_after_ns = 30 * second,
		.fault_after_ns = 300 * second,
		.learn_ns = 600 * second,
		.run = 3,
		.ahead = 4,
		.expect_ns = 30 * second,
	};
}

static int check_share(const char *name, double share)
{
	/* Not a number is in no range. */
	if (share >= 0 && share <= 1)
		return 0;
	return failed(-EINVAL, "%s=%g: accepted: a share of the memory, 0 to 1", name, share);
}

static int check_count(const char *name, __u32 count)
{
	if (count && count <= PROTECT_RUN_MAX)
		return 0;
	return failed(-EINVAL, "%s=%u: accepted: 1 to %d", name, count, PROTECT_RUN_MAX);
}

static int protect_check(const struct protect_keys *keys, __u64 memory_pages)
{
	int error;

	if (keys->policy >= POLICIES)
		return failed(-EINVAL, "policy %u: there are %zu, from 0", keys->policy, POLICIES);
	if (keys->overflow > PROTECT_OVERFLOW_REFUSE)
		return failed(-EINVAL, "overflow %u: accepted: 0 (drop), 1 (refuse)",
			      keys->overflow);
	if (!memory_pages)
		return failed(-EINVAL, "a domain of no pages: accepted: 1 and more");
	error = check_share("active", keys->active);
	error = error ?: check_share("inactive", keys->inactive);
	error = error ?: check_share("lru", keys->lru);
	error = error ?: check_count("run", keys->run);
	error = error ?: check_count("ahead", keys->ahead);
	if (!error && !keys->scan_ns)
		error = failed(-EINVAL, "scan=0: accepted: 1 ns and more between two scans");
	return error;
}

int protect_create(struct protect **protect, const struct protect_keys *keys, __u64 memory_pages,
		   struct protect_sink sink)
{
	int error = protect_check(keys, memory_pages);
	struct protect *made;

	if (error)
		return error;
	made = memory_calloc(1, sizeof(*made) + policies[keys->policy]->own_bytes);
	if (!made)
		return failed(-ENOMEM, "no memory for a policy");
	made->policy = policies[keys->policy];
	made->own = made + 1;
	made->sink = sink;
	made->keys = *keys;
	made->memory_pages = memory_pages;
	page_store_init(&made->store);
	if (made->policy->begin)
		made->policy->begin(made);
	*protect = made;
	return 0;
}

void protect_destroy(struct protect *protect)
{
	if (!protect)
		return;
	page_store_free(&protect->store);
	memory_free(protect);
}

void protect_advance(struct protect *protect, __u64 time_ns)
{
	if (time_ns <= protect->newest_ns)
		time_ns = protect->newest_ns;
	else if (time_ns == NEVER)
		time_ns--;
	protect->newest_ns = time_ns;
	if (protect->started && protect->policy->advance)
		protect->policy->advance(protect, time_ns);
}

void protect_access(struct protect *protect, __u64 time_ns, __u64 page)
{
	protect_advance(protect, time_ns);
	if (!protect->started) {
		protect->started = true;
		if (protect->policy->start)
			protect->policy->start(protect, protect->newest_ns);
	}
	protect->policy->access(protect, protect->newest_ns, page);
}

static int by_page_number(const void *one, const void *other)
{
	const struct kept_page *a = one, *b = other;

	return a->number < b->number ? -1 : a->number > b->number;
}

void protect_release(struct protect *protect)
{
	struct page_store *store = &protect->store;
	__u32 pinned = 0;

	/* The pool itself is put in order, as nothing of it is needed any more. */
	for (__u32 i = 0; protect->policy->is_pinned && i < store->touched; i++)
		if (store->pages[i].state && protect->policy->is_pinned(&store->pages[i]))
			store->pages[pinned++] = store->pages[i];
	if (pinned)
		qsort(store->pages, pinned, sizeof(*store->pages), by_page_number);
	for (__u32 i = 0; i < pinned; i++)
		protect_unpin(protect, protect->newest_ns, i, PROTECT_DROPPED);
	page_store_free(store);
	protect->started = false;
	if (protect->policy->begin)
		protect->policy->begin(protect);
}

void protect_state(const struct protect *protect, struct protect_state *state)
{
	*state = protect->state;
	if (protect->policy->active)
		state->active = protect->policy->active(protect);
}

static void protect_tell(struct protect *protect, __u64 time_ns, __u32 index, bool pin,
			 enum protect_reason reason)
{
	const struct protect_action action = {
		.time_ns = time_ns,
		.page = protect->store.pages[index].number,
		.pin = pin,
		.reason = reason,
	};

	if (protect->sink.act)
		protect->sink.act(protect->sink.argument, &action);
}

void protect_pin(struct protect *protect, __u64 time_ns, __u32 index, enum protect_reason reason)
{
	struct protect_state *state = &protect->state;

	protect->store.pages[index].used = false;
	state->pins++;
	state->pinned++;
	if (state->pinned > state->pinned_max)
		state->pinned_max = state->pinned;
	protect_tell(protect, time_ns, index, true, reason);
}

void protect_unpin(struct protect *protect, __u64 time_ns, __u32 index, enum protect_reason reason)
{
	protect->state.unpins++;
	protect->state.pinned--;
	protect->state.useless += !protect->store.pages[index].used;
	protect_tell(protect, time_ns, index, false, reason);
}

__u64 protect_share(const struct protect *protect, double share)
{
	/* As a double, the largest numbers are 2^64, which is none. */
	const double pages = protect_rounding(share * (double)protect->memory_pages);
	const __u64 whole = pages < 0x1p63 ? (__u64)pages : 1ull << 63;

	return whole ?: 1;
}

__u32 protect_track(struct protect *protect, __u64 time_ns, __u64 page)
{
	__u32 index = page_store_add(&protect->store, page);

	if (index == NO_PAGE)
		protect->state.untracked++;
	else
		protect->store.pages[index].last_ns = time_ns;
	return index;
}
