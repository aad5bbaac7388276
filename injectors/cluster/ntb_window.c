// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "injectors/cluster/ntb_private.h"
#include "injectors/cluster/seen.h"
#include "lib/base/fail.h"

__u32 ntb_windows_used(const struct ntb_adapter *adapter)
{
	__u32 used = 0;

	for (__u32 s = 0; s < adapter->windows; s++)
		used += __atomic_load_n(&adapter->slots[s].claim, __ATOMIC_RELAXED) > 0;
	return used;
}

static void window_tell(struct cluster *cluster, const struct ntb_adapter *adapter,
			const struct ntb_window *window, bool mapped)
{
	const struct cluster_truth truth = {
		.what = mapped ? "window_map" : "window_unmap",
		.agent = window->owner,
		.device = CLUSTER_NONE,
		.borrow = window->borrow,
		.queue = CLUSTER_NONE,
		.address = window->address,
		.length = window->bytes,
		.value = window->far,
		.code = (__s32)window->kind,
		.number = window->adapter << 16 | window->slot,
	};

	truth_cluster(cluster, &truth);
	seen_window(cluster, window, mapped, adapter->windows - ntb_windows_used(adapter));
}

/* Takes slots in a row, or none. */
static bool claim_slots(struct ntb_adapter *adapter, __u32 slot, __u32 slots, __u64 claim)
{
	for (__u32 s = slot; s < slot + slots; s++) {
		__u64 nobody = 0;

		if (__atomic_compare_exchange_n(&adapter->slots[s].claim, &nobody, claim, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		while (s-- > slot)
			__atomic_store_n(&adapter->slots[s].claim, 0, __ATOMIC_RELEASE);
		return false;
	}
	return true;
}

/* The first slots that are free, below `end`; false: there are none. */
static bool find_slots(struct ntb_adapter *adapter, __u32 slots, __u32 end, __u64 claim,
		       __u32 *slot)
{
	__u32 run = 0;

	for (__u32 s = 0; s < end; s++) {
		run = __atomic_load_n(&adapter->slots[s].claim, __ATOMIC_RELAXED) ? 0 : run + 1;
		if (run < slots)
			continue;
		*slot = s + 1 - slots;
		if (claim_slots(adapter, *slot, slots, claim))
			return true;
		run = 0;
	}
	return false;
}

static void note_most(struct ntb_adapter *adapter)
{
	__u32 used = ntb_windows_used(adapter);
	__u32 most = __atomic_load_n(&adapter->windows_most, __ATOMIC_RELAXED);

	while (used > most &&
	       !__atomic_compare_exchange_n(&adapter->windows_most, &most, used, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* How many slots from the first on end within the mask. */
static __u32 slots_below(const struct ntb_adapter *adapter, __u64 mask, __u64 last_in_slot)
{
	__u64 end;

	if (mask < adapter->bar || mask - adapter->bar < last_in_slot)
		return 0;
	end = (mask - adapter->bar - last_in_slot) / adapter->window_bytes + 1;
	return end < adapter->windows ? (__u32)end : adapter->windows;
}

static bool slots_are_free(const struct ntb_adapter *adapter, __u64 slots)
{
	__u64 run = 0;

	for (__u32 s = 0; s < adapter->windows && run < slots; s++)
		run = __atomic_load_n(&adapter->slots[s].claim, __ATOMIC_RELAXED) ? 0 : run + 1;
	return run >= slots;
}

static int no_slots(const struct cluster *cluster, const struct ntb_adapter *adapter, __u64 slots,
		    __u64 mask)
{
	bool pretended = __atomic_load_n(&adapter->windows_full, __ATOMIC_RELAXED);

	if (!pretended && slots_are_free(adapter, slots))
		return failed(
			-ERANGE,
			"%s: no window that is free ends at 0x%llx or below: its BAR is at "
			"0x%llx; accepted: a device of more address bits, a lower or smaller BAR",
			ntb_name(cluster, adapter), mask, adapter->bar);
	return failed(-ENOSPC,
		      "%s: no %llu of %u windows of %llu bytes in a row are free (%u are used)",
		      ntb_name(cluster, adapter), slots, adapter->windows, adapter->window_bytes,
		      ntb_windows_used(adapter));
}

static void fill_slots(struct ntb_adapter *adapter, const struct ntb_window *window,
		       __u32 far_index)
{
	__u64 base = window->far / adapter->window_bytes * adapter->window_bytes;

	for (__u32 i = 0; i < window->slots; i++) {
		struct ntb_slot *slot = &adapter->slots[window->slot + i];

		slot->kind = window->kind;
		slot->far_host = window->far_host;
		slot->borrow = window->borrow;
		slot->slots = window->slots;
		slot->far = window->far;
		__atomic_store_n(&slot->bytes, i ? 0 : window->bytes, __ATOMIC_RELAXED);
		__atomic_store_n(&adapter->lut[window->slot + i],
				 LUT_WORD(base + i * adapter->window_bytes, far_index),
				 __ATOMIC_RELEASE);
	}
}

int ntb_map(struct cluster *cluster, const struct ntb_window *wanted, __u64 mask,
	    struct ntb_window *window)
{
	struct ntb_adapter *adapter = ntb_adapter(cluster, wanted->adapter);
	__u32 far_index, end;
	__u64 slots, claim;

	if (!adapter || !wanted->bytes || wanted->bytes > 1ull << 47 || wanted->far > 1ull << 47)
		return failed(
			-EINVAL,
			"a window of %llu bytes onto 0x%llx by node %u: accepted: an adapter, "
			"47 bits of address",
			wanted->bytes, wanted->far, wanted->adapter);
	far_index = ntb_far_adapter(cluster, adapter, wanted->far_host);
	if (far_index == CLUSTER_NONE)
		return failed(-ENETUNREACH, "%s has no way that is up to host %u",
			      ntb_name(cluster, adapter), wanted->far_host);
	*window = *wanted;
	claim = ntb_claim(cluster, wanted->owner, &window->id);
	slots = (wanted->far % adapter->window_bytes + wanted->bytes + adapter->window_bytes - 1) /
		adapter->window_bytes;
	/* Of the last of its slots all that it uses is below the mask. */
	end = slots_below(adapter, mask, (wanted->far + wanted->bytes - 1) % adapter->window_bytes);
	if (slots > end || __atomic_load_n(&adapter->windows_full, __ATOMIC_RELAXED) ||
	    !find_slots(adapter, (__u32)slots, end, claim, &window->slot))
		return no_slots(cluster, adapter, slots, mask);
	window->slots = (__u32)slots;
	window->address = adapter->bar + window->slot * adapter->window_bytes +
			  wanted->far % adapter->window_bytes;
	fill_slots(adapter, window, far_index);
	note_most(adapter);
	window_tell(cluster, adapter, window, true);
	return 0;
}

static void free_slot(struct ntb_adapter *adapter, __u32 slot)
{
	__atomic_store_n(&adapter->lut[slot], 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&adapter->slots[slot].bytes, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&adapter->slots[slot].claim, 0, __ATOMIC_RELEASE);
}

static bool slot_is(const struct ntb_adapter *adapter, __u32 slot, const struct ntb_window *window)
{
	return slot < adapter->windows &&
	       __atomic_load_n(&adapter->slots[slot].claim, __ATOMIC_ACQUIRE) ==
		       ((__u64)(window->owner + 1) << 32 | window->id);
}

bool ntb_mapped(const struct cluster *cluster, const struct ntb_window *window)
{
	const struct ntb_adapter *adapter = ntb_adapter(cluster, window->adapter);

	return adapter && window->id && slot_is(adapter, window->slot, window);
}

void ntb_unmap(struct cluster *cluster, const struct ntb_window *window)
{
	struct ntb_adapter *adapter = ntb_adapter(cluster, window->adapter);

	if (!ntb_mapped(cluster, window))
		return;
	for (__u32 s = window->slot; s < window->slot + window->slots; s++)
		if (slot_is(adapter, s, window))
			free_slot(adapter, s);
	window_tell(cluster, adapter, window, false);
}

/* What a slot says of its window. */
static void slot_window(const struct ntb_adapter *adapter, __u32 s, struct ntb_window *window)
{
	const struct ntb_slot *slot = &adapter->slots[s];
	__u64 claim = __atomic_load_n(&slot->claim, __ATOMIC_ACQUIRE);

	*window = (struct ntb_window){
		.adapter = adapter->node,
		.slot = s,
		.slots = slot->slots,
		.kind = (enum window_kind)slot->kind,
		.far_host = slot->far_host,
		.address = adapter->bar + s * adapter->window_bytes +
			   slot->far % adapter->window_bytes,
		.far = slot->far,
		.bytes = slot->bytes,
		.owner = (__u32)(claim >> 32) - 1,
		.borrow = slot->borrow,
		.id = (__u32)claim,
	};
}

void ntb_windows_wipe(struct cluster *cluster, struct ntb_adapter *adapter)
{
	for (__u32 s = 0; s < adapter->windows; s++) {
		struct ntb_window window;

		slot_window(adapter, s, &window);
		free_slot(adapter, s);
		if (window.id && window.bytes)
			window_tell(cluster, adapter, &window, false);
	}
	__atomic_add_fetch(&adapter->generation, 1, __ATOMIC_RELEASE);
}

__u32 ntb_windows_release(struct cluster *cluster, __u32 agent)
{
	__u32 released = 0;

	for (__u32 i = 0; i < cluster->ntbs->count; i++) {
		struct ntb_adapter *adapter = &cluster->ntbs->adapters[i];

		for (__u32 s = 0; s < adapter->windows; s++) {
			struct ntb_window window;

			slot_window(adapter, s, &window);
			if (!window.id || window.owner != agent)
				continue;
			free_slot(adapter, s);
			if (!window.bytes)
				continue;
			released++;
			window_tell(cluster, adapter, &window, false);
		}
	}
	return released;
}
