// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/hyv/quota.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "injectors/emu/machine.h"
#include "lib/base/fail.h"

/* limit 0: none. *have: what there was. */
static bool quota_take_one(_Atomic __u64 *account, __u64 amount, __u64 limit, __u64 *have)
{
	*have = atomic_load(account);
	do {
		if (limit && (amount > limit || *have > limit - amount))
			return false;
	} while (!atomic_compare_exchange_weak(account, have, *have + amount));
	return true;
}

static __u64 limit_of(const struct tenant_quota *quota, enum verbs_object object, const char **key)
{
	switch (object) {
	case VERBS_A_REGION:
		*key = "quota_regions";
		return quota->regions;
	case VERBS_A_QUEUE:
		*key = "quota_completion_queues";
		return quota->completion_queues;
	case VERBS_A_PAIR:
		*key = "quota_queue_pairs";
		return quota->queue_pairs;
	default:
		*key = "no quota";
		return 0;
	}
}

int quota_take(struct quota_account *account, const struct tenant_quota *quota,
	       enum verbs_object object, __u64 bytes)
{
	const char *key;
	__u64 limit = limit_of(quota, object, &key), have;

	if (!quota_take_one(&account->objects[object], 1, limit, &have))
		return failed(-ENOSPC, "its guest has %llu of %s=%llu", have, key, limit);
	if (quota_take_one(&account->pinned, bytes, quota->pinned_bytes, &have))
		return 0;
	atomic_fetch_sub(&account->objects[object], 1);
	return failed(-ENOMEM,
		      "its guest would pin %llu KiB more than %llu KiB, and quota_pinned=%lluK",
		      bytes >> 10, have >> 10, quota->pinned_bytes >> 10);
}

void quota_return(struct quota_account *account, enum verbs_object object, __u64 bytes)
{
	atomic_fetch_sub(&account->objects[object], 1);
	atomic_fetch_sub(&account->pinned, bytes);
}
