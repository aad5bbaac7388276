// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/ntb_private.h"
#include "injectors/cluster/seen.h"
#include "lib/base/fail.h"

/*
 * Who wants a device's entry, once for each ntb_requester_add(), is a grant, and comes first; the entry follows. Who takes the last
 * grant away clears the entry, looks once more, and puts it back if somebody came meanwhile.
 */
static __u64 grant_word(__u32 index, __u32 far_host, __u32 function, __u32 owner)
{
	return 1ull << 63 | (__u64)(index & 0x7ff) << 48 | (__u64)(far_host & 0xff) << 40 |
	       (__u64)(function & 0xffff) << 16 | ((owner + 1) & 0xffff);
}
#define GRANT_OWNER(word)    (((__u32)(word)&0xffff) - 1)
#define GRANT_FUNCTION(word) ((__u32)((word) >> 16) & 0xffff)
#define GRANT_INDEX(word)    ((__u32)((word) >> 48) & 0x7ff)
#define GRANT_NO_OWNER(word) ((word) & ~0xffffull)

static __u32 index_of(const struct cluster *cluster, const struct ntb_adapter *adapter)
{
	return (__u32)(adapter - cluster->ntbs->adapters);
}

static __u32 slot_of_device(const struct ntb_adapter *adapter, __u32 device)
{
	for (__u32 s = NTB_CPU_ENTRIES; s < adapter->requesters; s++)
		if (__atomic_load_n(&adapter->entries[s], __ATOMIC_ACQUIRE) == device + 1)
			return s;
	return CLUSTER_NONE;
}

__u32 ntb_entry_of(const struct cluster *cluster, const struct ntb_adapter *adapter,
		   __u32 requester)
{
	return requester < FUNCTIONS_MAX
		       ? slot_of_device(adapter, function_device(cluster, requester))
		       : CLUSTER_NONE;
}

__u32 ntb_entries_used(const struct ntb_adapter *adapter)
{
	__u32 used = NTB_CPU_ENTRIES;

	for (__u32 s = NTB_CPU_ENTRIES; s < adapter->requesters; s++)
		used += __atomic_load_n(&adapter->entries[s], __ATOMIC_RELAXED) > 0;
	return used;
}

/* Of the port that this adapter is at: what all other adapters of its network send takes an entry of it. */
__u32 ntb_port_requesters(const struct cluster *cluster, __u32 adapter)
{
	const struct ntb_adapter *at = ntb_adapter(cluster, adapter);
	__u32 used = 0;

	if (!at || !at->network)
		return 0;
	for (__u32 i = 0; i < cluster->ntbs->count; i++) {
		const struct ntb_adapter *other = &cluster->ntbs->adapters[i];

		if (other != at && other->network == at->network)
			used += ntb_entries_used(other);
	}
	return used;
}

static bool port_is_over(const struct cluster *cluster, const struct ntb_adapter *adapter)
{
	for (__u32 i = 0; adapter->network && i < cluster->ntbs->count; i++) {
		const struct ntb_adapter *other = &cluster->ntbs->adapters[i];

		if (other != adapter && other->network == adapter->network &&
		    ntb_port_requesters(cluster, other->node) > NTB_PORT_REQUESTERS)
			return true;
	}
	return false;
}

static void requester_tell(struct cluster *cluster, const struct ntb_adapter *adapter, __u32 slot,
			   __u32 requester, bool added)
{
	truth_cluster(cluster, &(struct cluster_truth){
				       .what = added ? "requester_add" : "requester_remove",
				       .agent = cluster->self,
				       .device = function_device(cluster, requester),
				       .borrow = CLUSTER_NONE,
				       .queue = CLUSTER_NONE,
				       .address = requester,
				       .value = slot,
				       .number = adapter->node,
			       });
	seen_requester(cluster, adapter->node, slot, requester, added,
		       adapter->requesters - ntb_entries_used(adapter));
}

/* Its slot; *fresh: a new one, as there was none. */
static __u32 requester_entry_make(struct cluster *cluster, struct ntb_adapter *adapter,
				  __u32 function, bool *fresh)
{
	__u32 device = function_device(cluster, function), slot = slot_of_device(adapter, device);

	for (__u32 s = NTB_CPU_ENTRIES; slot == CLUSTER_NONE && s < adapter->requesters; s++) {
		__u32 nobody = 0;

		if (!__atomic_compare_exchange_n(&adapter->entries[s], &nobody, device + 1, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		slot = s;
		*fresh = true;
		requester_tell(cluster, adapter, s, function, true);
	}
	return slot;
}

static bool device_granted(const struct cluster *cluster, const struct ntb_adapter *adapter,
			   __u32 device)
{
	for (__u32 g = 0; g < NTB_GRANTS; g++) {
		__u64 word = __atomic_load_n(&cluster->ntbs->grants[g], __ATOMIC_SEQ_CST);

		if (word && GRANT_INDEX(word) == index_of(cluster, adapter) &&
		    function_device(cluster, GRANT_FUNCTION(word)) == device)
			return true;
	}
	return false;
}

static void entry_drop(struct cluster *cluster, struct ntb_adapter *adapter, __u32 function)
{
	__u32 device = function_device(cluster, function), slot;

	while (!device_granted(cluster, adapter, device)) {
		__u32 word = device + 1;

		slot = slot_of_device(adapter, device);
		if (slot == CLUSTER_NONE ||
		    !__atomic_compare_exchange_n(&adapter->entries[slot], &word, 0, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return;
		requester_tell(cluster, adapter, slot, function, false);
		if (device_granted(cluster, adapter, device)) {
			requester_entry_make(cluster, adapter, function, &(bool){false});
			return;
		}
	}
}

static __u64 *grant_put(struct ntbs *ntbs, __u64 word)
{
	for (__u32 g = 0; g < NTB_GRANTS; g++) {
		__u64 nothing = 0;

		if (__atomic_compare_exchange_n(&ntbs->grants[g], &nothing, word, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return &ntbs->grants[g];
	}
	return NULL;
}

int ntb_requester_add(struct cluster *cluster, __u32 adapter, __u32 far_host, __u32 requester,
		      __u32 owner)
{
	struct ntb_adapter *at = ntb_adapter(cluster, adapter);
	bool full = at && __atomic_load_n(&at->requesters_full, __ATOMIC_RELAXED);
	__u32 slot = CLUSTER_NONE;
	bool fresh = false;
	__u64 *grant;

	if (!at || requester >= FUNCTIONS_MAX || far_host >= cluster->config->host_count)
		return failed(-EINVAL,
			      "requester %u by node %u to host %u: accepted: a function, an "
			      "adapter of its host",
			      requester, adapter, far_host);
	full = full && ntb_entry_of(cluster, at, requester) == CLUSTER_NONE;
	grant = full ? NULL
		     : grant_put(cluster->ntbs,
				 grant_word(index_of(cluster, at), far_host, requester, owner));
	if (grant)
		slot = requester_entry_make(cluster, at, requester, &fresh);
	if (slot == CLUSTER_NONE) {
		if (grant)
			__atomic_store_n(grant, 0, __ATOMIC_SEQ_CST);
		return failed(-ENOSPC,
			      "%s: its requester table of %u is full: %u entries are CPUs', %u "
			      "devices'",
			      ntb_name(cluster, at), at->requesters, NTB_CPU_ENTRIES,
			      ntb_entries_used(at) - NTB_CPU_ENTRIES);
	}
	if (fresh) /* a dead borrower's domain may have left it blocked for whoever had the slot before */
		host_iommu_forget_entry(cluster, REQUESTER_ENTRY(adapter, slot, 0));
	if (!port_is_over(cluster, at))
		return 0;
	__atomic_store_n(grant, 0, __ATOMIC_SEQ_CST);
	entry_drop(cluster, at, requester);
	return failed(-ENOSPC,
		      "%s: another port of its switch has all of its %u requester entries "
		      "in use",
		      ntb_name(cluster, at), NTB_PORT_REQUESTERS);
}

/* A grant as wanted; with `any` one of another owner will do. NULL: there is none. */
static __u64 *grant_find(const struct cluster *cluster, __u64 wanted, bool any, __u64 *word)
{
	for (__u32 g = 0; g < NTB_GRANTS; g++) {
		__u64 *grant = &cluster->ntbs->grants[g];

		*word = __atomic_load_n(grant, __ATOMIC_SEQ_CST);
		if (*word == wanted || (any && GRANT_NO_OWNER(*word) == GRANT_NO_OWNER(wanted)))
			return grant;
	}
	return NULL;
}

static bool grant_take(struct cluster *cluster, __u64 wanted, bool any)
{
	__u64 word, *grant;

	do {
		grant = grant_find(cluster, wanted, any, &word);
	} while (grant && !__atomic_compare_exchange_n(grant, &word, 0, false, __ATOMIC_SEQ_CST,
						       __ATOMIC_RELAXED));
	return grant;
}

void ntb_requester_remove(struct cluster *cluster, __u32 adapter, __u32 far_host, __u32 requester)
{
	struct ntb_adapter *at = ntb_adapter(cluster, adapter);
	__u64 wanted;

	if (!at || requester >= FUNCTIONS_MAX)
		return;
	wanted = grant_word(index_of(cluster, at), far_host, requester, cluster->self);
	if (grant_take(cluster, wanted, false) || grant_take(cluster, wanted, true))
		entry_drop(cluster, at, requester);
}

void ntb_requester_remove_of(struct cluster *cluster, __u32 adapter, __u32 far_host,
			     __u32 requester, __u32 owner)
{
	struct ntb_adapter *at = ntb_adapter(cluster, adapter);

	if (at && requester < FUNCTIONS_MAX &&
	    grant_take(cluster, grant_word(index_of(cluster, at), far_host, requester, owner),
		       false))
		entry_drop(cluster, at, requester);
}

__u32 ntb_requester_seen(const struct cluster *cluster, __u32 adapter, __u32 far_host,
			 __u32 requester)
{
	const struct ntb_adapter *at = ntb_adapter(cluster, adapter);
	__u32 slot = at ? ntb_entry_of(cluster, at, requester) : CLUSTER_NONE;

	(void)far_host;
	if (at && requester == REQUESTER_CPU)
		return REQUESTER_ENTRY(adapter, 0, 0);
	return slot == CLUSTER_NONE
		       ? CLUSTER_NONE
		       : REQUESTER_ENTRY(adapter, slot, function_number(cluster, requester));
}

void ntb_entries_wipe(struct cluster *cluster, struct ntb_adapter *adapter)
{
	for (__u32 g = 0; g < NTB_GRANTS; g++) {
		__u64 word = __atomic_load_n(&cluster->ntbs->grants[g], __ATOMIC_SEQ_CST);

		if (word && GRANT_INDEX(word) == index_of(cluster, adapter))
			__atomic_store_n(&cluster->ntbs->grants[g], 0, __ATOMIC_SEQ_CST);
	}
	for (__u32 s = NTB_CPU_ENTRIES; s < adapter->requesters; s++) {
		__u32 device = __atomic_exchange_n(&adapter->entries[s], 0, __ATOMIC_SEQ_CST);

		if (device)
			requester_tell(cluster, adapter, s, function_of(cluster, device - 1, 0),
				       false);
	}
}

void ntb_entries_release(struct cluster *cluster, __u32 agent)
{
	struct ntbs *ntbs = cluster->ntbs;

	for (__u32 g = 0; g < NTB_GRANTS; g++) {
		__u64 word = __atomic_load_n(&ntbs->grants[g], __ATOMIC_SEQ_CST);

		if (!word || GRANT_OWNER(word) != agent)
			continue;
		__atomic_store_n(&ntbs->grants[g], 0, __ATOMIC_SEQ_CST);
		entry_drop(cluster, &ntbs->adapters[GRANT_INDEX(word)], GRANT_FUNCTION(word));
	}
	/* Of who was killed between its last grant and the entry. */
	for (__u32 i = 0; i < ntbs->count; i++)
		for (__u32 s = NTB_CPU_ENTRIES; s < ntbs->adapters[i].requesters; s++) {
			__u32 device =
				__atomic_load_n(&ntbs->adapters[i].entries[s], __ATOMIC_ACQUIRE);

			if (device)
				entry_drop(cluster, &ntbs->adapters[i],
					   function_of(cluster, device - 1, 0));
		}
}
