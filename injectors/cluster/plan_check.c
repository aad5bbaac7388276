// SPDX-License-Identifier: GPL-2.0
/* I/Os that could never be: bounds that follow from several sections together. */
#include <errno.h>
#include <stdio.h>

#include "injectors/cluster/plan_private.h"
#include "injectors/cluster/share_private.h"
#include "lib/base/fail.h"

#define PLAN_PAGE 4096ull /* a driver has one for each I/O's list beside its data */

struct plan_room plan_room_of(const struct cluster_config *config, const struct plan_user *user)
{
	struct plan_room room = {.what = "its host's memory"};

	switch (user->kind) {
	case USER_BORROW:
		room.type = "borrow";
		room.device = config->borrows[user->index].device;
		room.host = config->borrows[user->index].host;
		break;
	case USER_VM:
		room.type = "vm";
		room.device = config->vms[user->index].device;
		room.host = config->vms[user->index].host;
		room.bytes = config->vms[user->index].low + config->vms[user->index].high;
		room.what = "its guest's memory";
		return room;
	case USER_CLIENT:
		room.type = "client";
		room.device = config->clients[user->index].device;
		room.host = config->clients[user->index].host;
		break;
	default:
		room.type = "target";
		room.device = config->targets[user->index].device;
		room.host = config->targets[user->index].initiator_host;
		room.what = "its initiator's memory";
		break;
	}
	room.bytes = config->hosts[room.host].memory;
	return room;
}

static int plan_check_region(const struct cluster_plan *plan, const struct job_section *section,
			     const struct io_config *io, __u32 device)
{
	const struct cluster_device_config *disk = &plan->config.devices[device];
	char accepted[192];

	if (!io->region_bytes ||
	    (io->region_start < disk->bytes && io->region_bytes <= disk->bytes - io->region_start &&
	     io->region_bytes >= io->block))
		return 0;
	if (io->region_start >= disk->bytes || disk->bytes - io->region_start < io->block) {
		snprintf(accepted, sizeof(accepted),
			 "up to %lld, a block of %llu before the end of %s, which has %llu",
			 (long long)(disk->bytes - io->block), (unsigned long long)io->block,
			 disk->name, (unsigned long long)disk->bytes);
		return plan_wrong(section, "region_start", accepted);
	}
	snprintf(accepted, sizeof(accepted), "%llu, one block, to %llu, what %s has from there on",
		 (unsigned long long)io->block,
		 (unsigned long long)(disk->bytes - io->region_start), disk->name);
	return plan_wrong(section, "region", accepted);
}

/* The shares of those without region=: each may have as much as another. */
static int plan_check_share(const struct cluster_plan *plan, const struct job_section *section,
			    const struct io_config *io, __u32 device)
{
	const struct cluster_device_config *disk = &plan->config.devices[device];
	char accepted[192];
	__u64 users = 0;

	for (__u32 i = 0; i < plan->user_count; i++)
		users += plan_room_of(&plan->config, &plan->users[i]).device == device;
	if (io->region_bytes || io->block <= disk->bytes / users)
		return 0;
	snprintf(accepted, sizeof(accepted), "up to %llu, the share of each of %llu users of %s",
		 disk->bytes / users / 512 * 512, users, disk->name);
	return plan_wrong(section, "block", accepted);
}

static int plan_check_room(const struct job_section *section, const struct io_config *io,
			   const struct plan_room *room)
{
	char accepted[192];

	if (io->depth * (io->block + PLAN_PAGE) <= room->bytes)
		return 0;
	snprintf(accepted, sizeof(accepted),
		 "less, or a lower depth: depth=%u of them and as many pages fit into %llu, all of "
		 "%s",
		 io->depth, (unsigned long long)room->bytes, room->what);
	return plan_wrong(section, "block", accepted);
}

/* Its driver's I/Os wait for each other where the window is too small for all of them; one must fit. */
static int plan_check_dma(const struct cluster_plan *plan, const struct job_section *section,
			  const struct borrow_config *borrow)
{
	const struct cluster_config *config = &plan->config;
	const struct fabric *fabric = config->fabric;
	__u32 lender = config->devices[borrow->device].host;
	__u64 least = borrow->io.depth * PLAN_PAGE + borrow->io.block, most = 0;
	char accepted[192];

	if (lender == borrow->host || !config->hosts[borrow->host].iommu ||
	    config->devices[borrow->device].model != MODEL_NVME)
		return 0;
	for (__u32 n = 0; n < fabric->node_count; n++)
		if (fabric->nodes[n].kind == FABRIC_ADAPTER && fabric->nodes[n].host == lender &&
		    (borrow->adapters[1] == CLUSTER_NONE || borrow->adapters[1] == n) &&
		    fabric->nodes[n].bar_bytes > most)
			most = fabric->nodes[n].bar_bytes;
	if (borrow->window >= least && borrow->window <= most)
		return 0;
	if (least > most)
		snprintf(
			accepted, sizeof(accepted),
			"at least %llu, a block and a page for each I/O, with a bar= of the lender's "
			"[adapter] that is larger",
			(unsigned long long)least);
	else
		snprintf(
			accepted, sizeof(accepted),
			"%llu, a block and a page for each I/O, to %llu, the lender's adapter's bar",
			(unsigned long long)least, (unsigned long long)most);
	return plan_wrong(section, "window", accepted);
}

static int plan_check_user(const struct cluster_plan *plan, const struct plan_user *user)
{
	const struct cluster_config *config = &plan->config;
	struct plan_room room = plan_room_of(config, user);
	const struct job_section *section = job_text_section(plan->text, room.type, user->name);
	const struct vm_config *vm = user->kind == USER_VM ? &config->vms[user->index] : NULL;
	char accepted[160];
	int err;

	if (user->kind == USER_CLIENT && user->io->depth >= SHARE_COMMANDS) {
		snprintf(accepted, sizeof(accepted), "1 to %u, of a client", SHARE_COMMANDS - 1);
		return plan_wrong(section, "depth", accepted);
	}
	if (vm && vm->low + vm->high > config->hosts[vm->host].memory) {
		snprintf(accepted, sizeof(accepted), "with high= up to %llu, the memory of %s",
			 (unsigned long long)config->hosts[vm->host].memory,
			 config->hosts[vm->host].name);
		return plan_wrong(section, "low", accepted);
	}
	err = plan_check_region(plan, section, user->io, room.device)
		      ?: plan_check_share(plan, section, user->io, room.device)
		      ?: plan_check_room(section, user->io, &room);
	if (!err && user->kind == USER_BORROW)
		err = plan_check_dma(plan, section, &config->borrows[user->index]);
	return err;
}

int plan_check_users(const struct cluster_plan *plan)
{
	int err = 0;

	for (__u32 i = 0; !err && i < plan->user_count; i++)
		err = plan_check_user(plan, &plan->users[i]);
	return err;
}
