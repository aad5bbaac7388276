/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel side of the dictionary of flows: the number that events carry in the place of addresses. */
#ifndef FAULTLINE_FLOW_BPF_H
#define FAULTLINE_FLOW_BPF_H

#include <bpf/bpf_endian.h>

#include "bpf/emit.bpf.h"

/* Its name goes first: no event may carry a number that user space cannot look up. */
static __attribute__((noinline)) __u32 flow_enter(const struct flow_key *key)
{
	struct capture_state *shared = shared_state();
	struct flow_state fresh = {}, *known;
	__u32 id;

	if (!shared)
		return 0;
	id = __sync_fetch_and_add(&shared->flows, 1) + 1;
	fresh.id = id;
	fresh.last_ns = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(&flow_names, &id, key, BPF_NOEXIST)) {
		if (!bpf_map_update_elem(&flows, key, &fresh, BPF_NOEXIST))
			return id;
		bpf_map_delete_elem(&flow_names, &id);
		/* Another CPU may have been first. */
		known = bpf_map_lookup_elem(&flows, key);
		if (known)
			return known->id;
	}
	state_failed();
	return 0;
}

/* The number of this flow, entered at first sight. 0 and counted: there is no room. */
static __always_inline __u32 flow_id_of(const struct flow_key *key)
{
	struct flow_state *known = bpf_map_lookup_elem(&flows, key);

	if (!known)
		return flow_enter(key);
	known->last_ns = bpf_ktime_get_ns();
	return known->id;
}

#endif
