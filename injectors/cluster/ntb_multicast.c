// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "injectors/cluster/ntb_private.h"
#include "lib/base/fail.h"

int ntb_multicast_create(struct cluster *cluster, __u32 adapter, __u64 bytes, __u32 *group,
			 __u64 *address)
{
	struct ntb_adapter *at = ntb_adapter(cluster, adapter);
	__u64 claim;
	__u32 id;

	if (!at || !bytes || bytes > NTB_MULTICAST_BYTES)
		return failed(-EINVAL,
			      "a multicast group of %llu bytes by node %u: accepted: an "
			      "adapter, up to %llu",
			      bytes, adapter, NTB_MULTICAST_BYTES);
	claim = ntb_claim(cluster, cluster->self, &id);
	for (__u32 g = 0; g < NTB_MULTICAST_GROUPS; g++) {
		struct ntb_group *at_group = &cluster->ntbs->groups[g];
		__u64 nobody = 0;

		if (!__atomic_compare_exchange_n(&at_group->claim, &nobody, claim, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		memset(at_group->members, 0, sizeof(at_group->members));
		at_group->adapter = (__u32)(at - cluster->ntbs->adapters);
		__atomic_store_n(&at_group->bytes, bytes, __ATOMIC_RELEASE);
		*group = g;
		*address = NTB_MULTICAST + g * NTB_MULTICAST_BYTES;
		return 0;
	}
	return failed(-ENOSPC, "all %u multicast groups are in use", NTB_MULTICAST_GROUPS);
}

int ntb_multicast_join(struct cluster *cluster, __u32 group, __u32 host, __u64 overlay)
{
	struct ntb_group *at = &cluster->ntbs->groups[group % NTB_MULTICAST_GROUPS];
	const struct ntb_adapter *adapter = &cluster->ntbs->adapters[at->adapter];
	__u32 far;

	if (group >= NTB_MULTICAST_GROUPS || !__atomic_load_n(&at->bytes, __ATOMIC_ACQUIRE) ||
	    host >= cluster->config->host_count || host == adapter->host)
		return failed(-EINVAL,
			      "host %u cannot join multicast group %u: accepted: a group that "
			      "is there, another host than its source's",
			      host, group);
	far = ntb_far_adapter(cluster, adapter, host);
	if (far == CLUSTER_NONE)
		return failed(-ENETUNREACH, "%s has no way that is up to host %u",
			      ntb_name(cluster, adapter), host);
	at->members[host].overlay = overlay;
	__atomic_store_n(&at->members[host].far_adapter, far + 1, __ATOMIC_RELEASE);
	return 0;
}

static void multicast_free(struct ntb_group *group)
{
	__atomic_store_n(&group->bytes, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&group->claim, 0, __ATOMIC_RELEASE);
}

void ntb_multicast_destroy(struct cluster *cluster, __u32 group)
{
	if (group < NTB_MULTICAST_GROUPS)
		multicast_free(&cluster->ntbs->groups[group]);
}

void ntb_groups_release(struct cluster *cluster, __u32 agent)
{
	for (__u32 g = 0; g < NTB_MULTICAST_GROUPS; g++) {
		struct ntb_group *group = &cluster->ntbs->groups[g];
		__u64 claim = __atomic_load_n(&group->claim, __ATOMIC_ACQUIRE);

		if (claim && (__u32)(claim >> 32) == agent + 1)
			multicast_free(group);
	}
}

__u32 ntb_multicast_at(const struct cluster *cluster, __u32 host, __u64 address, __u64 *offset,
		       __u32 *adapter)
{
	const struct ntbs *ntbs = cluster->ntbs;
	__u64 group = (address - NTB_MULTICAST) / NTB_MULTICAST_BYTES;
	const struct ntb_adapter *at;

	if (address < NTB_MULTICAST || group >= NTB_MULTICAST_GROUPS)
		return NTB_NO_GROUP;
	*offset = (address - NTB_MULTICAST) % NTB_MULTICAST_BYTES;
	at = &ntbs->adapters[ntbs->groups[group].adapter];
	*adapter = at->node;
	return at->host == host && *offset < __atomic_load_n(&ntbs->groups[group].bytes,
							     __ATOMIC_ACQUIRE)
		       ? (__u32)group
		       : NTB_NO_GROUP;
}

bool ntb_multicast_member(const struct cluster *cluster, __u32 group, __u32 n, __u32 *host,
			  __u64 *overlay, __u32 *far_adapter)
{
	const struct ntb_group *at = &cluster->ntbs->groups[group];

	for (__u32 h = 0; h < cluster->config->host_count; h++) {
		__u32 far = __atomic_load_n(&at->members[h].far_adapter, __ATOMIC_ACQUIRE);

		if (!far || n--)
			continue;
		*host = h;
		*overlay = at->members[h].overlay;
		*far_adapter = cluster->ntbs->adapters[far - 1].node;
		return true;
	}
	return false;
}
