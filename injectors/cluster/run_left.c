// SPDX-License-Identifier: GPL-2.0
/* After a run everything must be as before: windows, requester entries, maps, pins, pages, borrows, segments. */
#include <errno.h>
#include <stdio.h>

#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/run_private.h"
#include "injectors/cluster/share.h"
#include "lib/base/fail.h"

static void left_count(const struct cluster *cluster, struct run_before *now)
{
	const struct fabric *fabric = cluster->config->fabric;

	*now = (struct run_before){0};
	for (__u32 n = 0; n < fabric->node_count; n++) {
		struct ntb_stats stats;

		if (fabric->nodes[n].kind != FABRIC_ADAPTER)
			continue;
		ntb_stats(cluster, n, &stats);
		now->windows += stats.windows_used;
		now->requesters += stats.requesters_used;
	}
	for (__u32 h = 0; h < cluster->config->host_count; h++) {
		struct host_iommu_stats stats;

		host_iommu_stats(cluster, h, &stats);
		now->mapped += stats.mapped_bytes;
		now->pinned += host_memory_pinned(cluster, h);
		now->checksums[h] = host_memory_checksum(cluster, h, false);
	}
}

static __u64 left_pages(const struct cluster *cluster)
{
	__u64 pages = 0;

	for (__u32 h = 0; h < cluster->config->host_count; h++)
		for (__u64 at = 0; at < cluster->config->hosts[h].memory; at += HOST_PAGE)
			pages += host_memory_owner(cluster, h, at) != CLUSTER_NONE;
	return pages;
}

void run_left_before(struct cluster_runner *runner)
{
	left_count(runner->cluster, &runner->before);
}

/* "3 windows, " where there are any. */
static size_t left_tell(char *text, size_t used, size_t room, __u64 count, const char *what)
{
	if (!count || used >= room)
		return used;
	return used + (size_t)snprintf(text + used, room - used, "%s%llu %s", used ? ", " : "",
				       count, what);
}

void run_left_after(struct cluster_runner *runner)
{
	struct cluster *cluster = runner->cluster;
	struct cluster_outcome *outcome = &runner->outcome;
	struct run_before now;
	char text[512] = "";
	size_t used = 0;

	left_count(cluster, &now);
	outcome->windows_left = now.windows - runner->before.windows;
	outcome->requesters_left = now.requesters - runner->before.requesters;
	outcome->mapped_left = now.mapped - runner->before.mapped;
	outcome->pinned_left = now.pinned - runner->before.pinned;
	for (__u32 h = 0; h < cluster->config->host_count; h++)
		outcome->memory_changed += now.checksums[h] != runner->before.checksums[h];
	used = left_tell(text, used, sizeof(text), outcome->windows_left, "windows");
	used = left_tell(text, used, sizeof(text), outcome->requesters_left, "requester entries");
	used = left_tell(text, used, sizeof(text), outcome->mapped_left, "bytes in IOMMUs");
	used = left_tell(text, used, sizeof(text), outcome->pinned_left, "pinned bytes");
	used = left_tell(text, used, sizeof(text), left_pages(cluster), "pages of RAM");
	used = left_tell(text, used, sizeof(text), lends_left(cluster), "borrows");
	used = left_tell(text, used, sizeof(text), segments_left(cluster, CLUSTER_NONE),
			 "segments");
	if (used)
		run_keep_error(runner,
			       failed(-EIO,
				      "left over after the run: %s; accepted: everything as "
				      "before it",
				      text));
}
