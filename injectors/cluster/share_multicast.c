// SPDX-License-Identifier: GPL-2.0
/*
 * One Identify that lands in many hosts (PV section 7.4.2): a page on each, a group of them at the lender's adapter, one admin
 * command whose data go to the group, and each host's own checksum of what has arrived.
 */
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/seen.h"
#include "injectors/cluster/share_client.h"
#include "lib/base/fail.h"

static __u32 group_adapter(const struct cluster *cluster)
{
	for (__u32 host = 0; host < cluster->config->host_count; host++) {
		__u32 adapter = host == cluster->host
					? CLUSTER_NONE
					: share_near_adapter(cluster, cluster->host, host);

		if (adapter != CLUSTER_NONE)
			return adapter;
	}
	return CLUSTER_NONE;
}

static int group_join(struct cluster *cluster, __u32 group, __u32 agent, __u64 *members)
{
	int err = 0;

	*members = 0;
	for (__u32 i = 0; !err && i < SEGMENTS_MAX; i++) {
		const struct segment_slot *slot = &cluster->shares->segments[i];

		if (!__atomic_load_n(&slot->live, __ATOMIC_ACQUIRE) || !slot->group ||
		    slot->segment.owner != agent)
			continue;
		err = ntb_multicast_join(cluster, group, slot->segment.host, slot->segment.address);
		*members += !err;
	}
	return err;
}

void share_group_destroy(struct cluster *cluster, __u32 agent)
{
	struct share_group *group = &cluster->shares->groups[agent];

	if (!group->group)
		return;
	if (group->domain)
		host_iommu_unmap(cluster, group->lender, group->domain, group->address, NVME_PAGE,
				 group->device);
	ntb_multicast_destroy(cluster, group->group - 1);
	group->group = 0;
}

static int group_create(struct cluster *cluster, __u32 device, struct share_group *group)
{
	__u32 number;
	int err = ntb_multicast_create(cluster, group_adapter(cluster), NVME_PAGE, &number,
				       &group->address);

	if (err)
		return err;
	group->lender = cluster->host;
	group->device = device;
	group->domain = share_controller(cluster, device)->lender_domain;
	group->group = number + 1;
	return group->domain ? host_iommu_map(cluster, cluster->host, group->domain, group->address,
					      group->address, NVME_PAGE, HOST_IOMMU_WRITE, device)
			     : 0;
}

/* By the lender: device, and 1 to begin it or 0 to end it. Answers its address and how many are in it. */
int share_serve_group(struct cluster *cluster, struct message *message)
{
	__u64 device = message->words[0];
	struct share_group *group;
	int err;

	if (device >= cluster->config->device_count || message->from >= CLUSTER_AGENTS_MAX ||
	    cluster->config->devices[device].host != cluster->host)
		return failed(-EINVAL, "device %llu is not this host's",
			      (unsigned long long)device);
	share_group_destroy(cluster, message->from);
	if (!message->words[1])
		return 0;
	group = &cluster->shares->groups[message->from];
	err = group_create(cluster, (__u32)device, group);
	if (!err)
		err = group_join(cluster, group->group - 1, message->from, &message->words[1]);
	if (err)
		share_group_destroy(cluster, message->from);
	message->words[0] = group->address;
	return err;
}

/* By any host: the checksum of a segment in its RAM. */
int share_serve_sum(struct cluster *cluster, struct message *message)
{
	struct segment_slot *slot = segment_of(cluster, (__u32)message->words[0], message->from);
	const void *memory;

	if (!slot)
		return -EACCES;
	memory = host_memory(cluster, cluster->host, slot->segment.address, slot->segment.bytes);
	if (slot->segment.host != cluster->host || !memory)
		return failed(-EINVAL, "segment %u is not on this host", slot->segment.id);
	message->words[0] = XXH3_64bits(memory, slot->segment.bytes);
	return 0;
}

static int identify_command(struct share_client *client)
{
	struct message group = {.type = MESSAGE_SHARE_GROUP, .words = {client->device, 1}};
	struct message admin = {.type = MESSAGE_SHARE_ADMIN,
				.words = {client->device, NVME_IDENTIFY, 0, 1}};
	int err = message_call(client->cluster, client->lender, &group, 0);

	if (err)
		return err;
	admin.words[2] = group.words[0];
	err = client_call(client, &admin);
	group.words[0] = client->device;
	group.words[1] = 0;
	message_call(client->cluster, client->lender, &group, 0);
	return err;
}

static int identify_sums(struct share_client *client, const struct segment *segments, __u32 count)
{
	static const __u8 nothing[HOST_PAGE];
	__u64 first = 0, empty = XXH3_64bits(nothing, HOST_PAGE);
	__u32 equal = 0;
	int err = 0;

	for (__u32 i = 0; !err && i < count; i++) {
		struct message sum = {.type = MESSAGE_SHARE_SUM, .words = {segments[i].id}};

		err = message_call(client->cluster, segments[i].host, &sum, 0);
		if (err)
			break;
		if (!i)
			first = sum.words[0];
		equal += sum.words[0] == first && first != empty;
	}
	client->counts->deliveries = equal;
	truth_cluster(client->cluster, &(struct cluster_truth){.what = "multicast",
							       .agent = client->cluster->self,
							       .device = client->device,
							       .borrow = client->controller->borrow,
							       .length = NVME_PAGE,
							       .value = first,
							       .number = equal});
	if (!err && equal != count)
		err = failed(-EIO, "%s: Identify by multicast: %u of %u hosts have it",
			     client->config->name, equal, count);
	return err;
}

int client_identify_all(struct share_client *client)
{
	struct cluster *cluster = client->cluster;
	struct segment segments[CLUSTER_HOSTS_MAX];
	__u32 count = 0;
	int err = 0;

	for (__u32 host = 0; !err && host < cluster->config->host_count; host++) {
		if (host == client->lender)
			continue;
		err = segment_create_on(cluster, host, NVME_PAGE, &segments[count]);
		count += !err;
	}
	if (!err)
		err = identify_command(client);
	if (!err)
		err = identify_sums(client, segments, count);
	while (count--)
		segment_destroy(cluster, &segments[count]);
	return err;
}
