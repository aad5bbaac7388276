// SPDX-License-Identifier: GPL-2.0
/* What a manager does for clients, by message: it alone has the admin queue. */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/share_manager.h"
#include "lib/base/fail.h"

/* This host is to have a manager of it. */
static bool serve_awaited(const struct cluster *cluster, __u64 device)
{
	const struct cluster_config *config = cluster->config;

	for (__u32 i = 0; i < config->manager_count; i++)
		if (config->managers[i].host == cluster->host &&
		    config->managers[i].device == device)
			return true;
	return false;
}

static int serve_begin(struct cluster *cluster, const struct message *message,
		       struct manager **manager)
{
	__u64 device = message->words[0];

	*manager =
		device < cluster->config->device_count ? manager_of(cluster, (__u32)device) : NULL;
	if (message->from >= CLUSTER_AGENTS_MAX || (!*manager && !serve_awaited(cluster, device)))
		return failed(-ENXIO, "device %llu has no manager on host %s",
			      (unsigned long long)device,
			      cluster->config->hosts[cluster->host].name);
	if (!*manager)
		return failed(-EAGAIN, "the manager of %s has not begun",
			      cluster->config->devices[device].name);
	if (pthread_mutex_trylock(&(*manager)->lock))
		return failed(-EAGAIN, "the manager of %s is resetting it",
			      cluster->config->devices[device].name);
	if (share_controller(cluster, (__u32)device)->state == SHARE_READY && !(*manager)->lost)
		return 0;
	pthread_mutex_unlock(&(*manager)->lock);
	return failed(-EAGAIN, "the manager of %s has no admin queue yet",
		      cluster->config->devices[device].name);
}

/* One that could not reach its controller is to be asked again, unlike one that cannot be reached. */
static int share_serve_end(struct manager *manager, int err)
{
	pthread_mutex_unlock(&manager->lock);
	return err == -ETIMEDOUT || err == -ENODEV || err == -ENETUNREACH ? -EAGAIN : err;
}

int share_serve_open(struct cluster *cluster, struct message *message)
{
	const struct share_controller *controller;
	struct manager *manager;
	int err = serve_begin(cluster, message, &manager);

	if (err)
		return err;
	controller = share_controller(cluster, manager->device);
	message->words[0] = controller->function;
	message->words[1] = controller->epoch;
	message->words[2] = controller->queues;
	message->words[3] = controller->entries;
	message->words[4] = controller->blocks;
	access_user_set(cluster, manager->device, message->from, true);
	return share_serve_end(manager, 0);
}

/* Which pair of a client: `wanted` if it is its own already, or else the first that nobody has. 0: none. */
static __u32 pair_claim(struct share_controller *controller, __u32 wanted, __u32 from)
{
	if (wanted && wanted <= controller->queues && controller->pairs[wanted].claim == from + 1)
		return wanted;
	for (__u32 i = 1; i <= controller->queues; i++) {
		__u32 none = 0;

		if (__atomic_compare_exchange_n(&controller->pairs[i].claim, &none, from + 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return i;
	}
	return 0;
}

static int pair_create(struct manager *manager, __u32 queue, const struct message *message)
{
	__u32 entries = (__u32)message->words[2] - 1;
	struct nvme_command completions = {.opcode = NVME_CREATE_CQ,
					   .prp1 = message->words[3],
					   .cdw = {queue | entries << 16, 1}};
	struct nvme_command commands = {.opcode = NVME_CREATE_SQ,
					.prp1 = message->words[4],
					.cdw = {queue | entries << 16, 1 | queue << 16}};
	struct nvme_command undo = {.opcode = NVME_DELETE_CQ, .cdw = {queue}};
	struct nvme_completion completion;
	int err = manager_command(manager, &completions, &completion);

	if (err)
		return err;
	err = manager_command(manager, &commands, &completion);
	if (err)
		manager_command(manager, &undo, &completion);
	return err;
}

static int create_check(struct cluster *cluster, const struct message *message, __u32 function,
			__u32 entries)
{
	__u64 wanted = message->words[2];

	if (wanted < 2 || wanted > entries)
		return failed(-EINVAL, "a queue of %llu entries: accepted: 2 to %u",
			      (unsigned long long)wanted, entries);
	if (!segment_covers(cluster, message->from, function, message->words[3],
			    wanted * sizeof(struct nvme_completion)) ||
	    !segment_covers(cluster, message->from, function, message->words[4],
			    wanted * sizeof(struct nvme_command)))
		return failed(-EACCES,
			      "a queue at 0x%llx or 0x%llx: accepted: in the client's own segments",
			      (unsigned long long)message->words[3],
			      (unsigned long long)message->words[4]);
	return 0;
}

static void serve_step(struct manager *manager, enum cluster_step step,
		       const struct message *message, __u64 queue, int err)
{
	struct cluster *cluster = manager->cluster;

	cluster_step(cluster, &(struct step){.step = step,
					     .device = manager->device,
					     .borrow = manager->borrow.number,
					     .other_host = agent_info(cluster, message->from)->host,
					     .address = queue,
					     .error = -err});
}

int share_serve_create(struct cluster *cluster, struct message *message)
{
	struct share_controller *controller;
	struct manager *manager;
	__u32 queue;
	int err = serve_begin(cluster, message, &manager);

	if (err)
		return err;
	controller = share_controller(cluster, manager->device);
	err = create_check(cluster, message, manager->function, controller->entries);
	if (err)
		return share_serve_end(manager, err);
	queue = pair_claim(controller, (__u32)message->words[1], message->from);
	if (!queue)
		return share_serve_end(manager,
				       failed(-ENOSPC, "all %u queue pairs of %s are in use",
					      controller->queues,
					      cluster->config->devices[manager->device].name));
	err = pair_create(manager, queue, message);
	if (err)
		__atomic_store_n(&controller->pairs[queue].claim, 0, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&controller->pairs[queue].epoch, controller->epoch,
				 __ATOMIC_RELEASE);
	serve_step(manager, STEP_MANAGER_ADMIN, message, queue, err);
	message->words[0] = queue;
	message->words[1] = controller->epoch;
	return share_serve_end(manager, err);
}

/* Nothing of it is carried out any more afterwards. A pair of an epoch before went with its reset. */
static int pair_delete(struct manager *manager, __u32 queue)
{
	struct share_controller *controller = share_controller(manager->cluster, manager->device);
	struct nvme_command commands = {.opcode = NVME_DELETE_SQ, .cdw = {queue}};
	struct nvme_command completions = {.opcode = NVME_DELETE_CQ, .cdw = {queue}};
	struct nvme_completion completion = {0};
	int err;

	if (controller->pairs[queue].epoch != controller->epoch)
		return 0;
	err = manager_command(manager, &commands, &completion);
	if (err && NVME_STATUS(&completion) != NVME_INVALID_QUEUE)
		return err;
	err = manager_command(manager, &completions, &completion);
	if (!err)
		controller->pairs[queue].epoch = 0;
	return err;
}

/* Bits of `done`: commands, by their place in the question, that were carried out. */
static int pair_fates(struct manager *manager, __u32 queue, const struct message *message,
		      __u64 *done)
{
	struct nvme_command command = {
		.opcode = NVME_QUEUE_FATE, .prp1 = manager->page_address, .cdw = {queue}};
	const struct nvme_queue_fate *fate = manager->page;
	struct nvme_completion completion;
	int err = manager_command(manager, &command, &completion);

	*done = 0;
	for (__u64 i = 0; !err && i < message->words[2] && i < SHARE_COMMANDS; i++) {
		__u16 id = (__u16)(message->words[4 + i / 4] >> i % 4 * 16);

		for (__u32 slot = 0; slot < fate->entries && slot < NVME_QUEUE_ENTRIES; slot++)
			if (fate->slots[slot].id == id && fate->slots[slot].status == NVME_OK)
				*done |= 1ull << i;
	}
	return err;
}

int share_serve_delete(struct cluster *cluster, struct message *message)
{
	struct share_controller *controller;
	struct manager *manager;
	__u64 queue = message->words[1], done = 0;
	int err = serve_begin(cluster, message, &manager);

	if (err)
		return err;
	controller = share_controller(cluster, manager->device);
	if (!queue || queue > SHARE_QUEUES || controller->pairs[queue].claim != message->from + 1)
		return share_serve_end(manager,
				       failed(-EACCES, "queue pair %llu is not the caller's",
					      (unsigned long long)queue));
	err = pair_delete(manager, (__u32)queue);
	if (!err && message->words[2])
		err = pair_fates(manager, (__u32)queue, message, &done);
	if (!err && !message->words[3])
		__atomic_store_n(&controller->pairs[queue].claim, 0, __ATOMIC_RELEASE);
	serve_step(manager, STEP_MANAGER_ADMIN, message, queue, err);
	message->words[0] = done;
	message->words[1] = controller->epoch;
	return share_serve_end(manager, err);
}

static int admin_check(struct cluster *cluster, struct manager *manager,
		       const struct message *message)
{
	__u64 opcode = message->words[1], offset, prp = message->words[2];
	__u32 adapter, group, queue = (__u32)message->words[3] & 0xffff;

	if (opcode == NVME_ABORT)
		return queue && queue <= SHARE_QUEUES &&
				       share_controller(cluster, manager->device)
						       ->pairs[queue]
						       .claim == message->from + 1
			       ? 0
			       : failed(-EACCES, "queue pair %u is not the caller's", queue);
	if (opcode != NVME_IDENTIFY)
		return failed(-EPERM,
			      "admin command 0x%02llx for a client: accepted: Identify, Abort",
			      (unsigned long long)opcode);
	group = ntb_multicast_at(cluster, function_host(cluster, manager->function), prp, &offset,
				 &adapter);
	if (group != NTB_NO_GROUP && cluster->shares->groups[message->from].group == group + 1)
		return 0;
	return segment_covers(cluster, message->from, manager->function, prp, NVME_PAGE)
		       ? 0
		       : failed(-EACCES, "Identify to 0x%llx: accepted: the client's own segments",
				(unsigned long long)prp);
}

int share_serve_admin(struct cluster *cluster, struct message *message)
{
	struct nvme_command command = {.opcode = (__u8)message->words[1],
				       .prp1 = message->words[2],
				       .cdw = {(__u32)message->words[3]}};
	struct nvme_completion completion;
	struct manager *manager;
	int err = serve_begin(cluster, message, &manager);

	if (err)
		return err;
	err = admin_check(cluster, manager, message);
	if (!err) {
		command.namespace_id =
			command.opcode == NVME_IDENTIFY && command.cdw[0] == 0 ? NVME_NAMESPACE : 0;
		err = manager_command(manager, &command, &completion);
		serve_step(manager, STEP_MANAGER_ADMIN, message, 0, err);
		message->words[0] = err ? 0 : completion.result;
	}
	return share_serve_end(manager, err);
}

bool manager_delete_pairs(struct cluster *cluster, __u32 device, __u32 agent)
{
	struct share_controller *controller = share_controller(cluster, device);
	struct manager *manager = manager_of(cluster, device);
	int err = 0;

	if (!manager || pthread_mutex_trylock(&manager->lock))
		return false;
	for (__u32 i = 1; !err && i <= SHARE_QUEUES; i++)
		if (controller->pairs[i].claim == agent + 1) {
			err = pair_delete(manager, i);
			if (!err)
				__atomic_store_n(&controller->pairs[i].claim, 0, __ATOMIC_RELEASE);
		}
	pthread_mutex_unlock(&manager->lock);
	return !err;
}
