// SPDX-License-Identifier: GPL-2.0
/* The admin queue of a shared controller: by the NVMe specification, on whatever bus its manager has. */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/share_manager.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* Commands of one queue in a turn, as many as controllers recommend: who has more outstanding gets more of each turn. */
#define ADMIN_BURST_LOG2   3u
#define ADMIN_POLL_NS	   (20 * NSEC_PER_USEC)
#define ADMIN_POLL_MOST_NS NSEC_PER_MSEC

static void manager_write(struct manager *manager, __u64 offset, __u32 bytes, __u64 value)
{
	manager->bus.ops->write(&manager->bus, 0, offset, bytes, value);
}

static __u64 manager_read(struct manager *manager, __u64 offset, __u32 bytes)
{
	return manager->bus.ops->read(&manager->bus, 0, offset, bytes);
}

/* Polls ever more slowly: two cores cannot hold one that spins. False: time is up. */
static bool admin_pause(__u64 begin_ns, __u64 timeout_ns, __u64 *pause_ns)
{
	struct timespec pause = timespec_of_ns(*pause_ns);

	if (monotonic_ns() - begin_ns >= timeout_ns)
		return false;
	nanosleep(&pause, NULL);
	*pause_ns = *pause_ns * 2 < ADMIN_POLL_MOST_NS ? *pause_ns * 2 : ADMIN_POLL_MOST_NS;
	return true;
}

static bool admin_completion(struct manager *manager, struct nvme_completion *completion)
{
	volatile struct nvme_completion *entry = &manager->completions[manager->head];
	__u16 status = __atomic_load_n(&entry->status, __ATOMIC_ACQUIRE);

	if ((status & 1) != manager->phase)
		return false;
	completion->result = entry->result;
	completion->id = entry->id;
	completion->status = status;
	manager->head = (manager->head + 1) % MANAGER_ENTRIES;
	manager->phase ^= manager->head == 0;
	manager_write(manager, NVME_DOORBELL_CQ(0), 4, manager->head);
	return true;
}

/* By its borrow's own adapter. */
static bool manager_reaches(struct manager *manager)
{
	const struct lend_borrow *borrow = &manager->borrow;
	struct cluster *cluster = manager->cluster;

	if (ntb_reaches(cluster, borrow->borrower, borrow->lender, borrow->borrower_adapter))
		return true;
	manager->detour = ntb_reaches(cluster, borrow->borrower, borrow->lender, CLUSTER_NONE);
	return false;
}

int manager_command(struct manager *manager, struct nvme_command *command,
		    struct nvme_completion *completion)
{
	const char *name = manager->cluster->config->devices[manager->device].name;
	__u64 begin = monotonic_ns(), pause = ADMIN_POLL_NS;

	if (!manager->open || manager->lost)
		return failed(-ENODEV, "the manager of %s has no admin queue now", name);
	if (manager->bus.ops->state(&manager->bus) || !manager_reaches(manager))
		return failed(-ENETUNREACH, "the manager of %s cannot reach it", name);
	command->id = ++manager->id;
	manager->commands[manager->tail] = *command;
	manager->tail = (manager->tail + 1) % MANAGER_ENTRIES;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	manager_write(manager, NVME_DOORBELL_SQ(0), 4, manager->tail);
	do {
		while (admin_completion(manager, completion))
			if (completion->id == command->id)
				return NVME_STATUS(completion)
					       ? failed(-EIO,
							"%s: admin command 0x%02x: status 0x%x",
							name, command->opcode,
							NVME_STATUS(completion))
					       : 0;
	} while (manager_reaches(manager) &&
		 admin_pause(begin, manager->cluster->config->dead_ns / 2, &pause));
	manager->lost = true;
	return failed(-ETIMEDOUT, "%s has not answered admin command 0x%02x", name,
		      command->opcode);
}

static int manager_enable(struct manager *manager, bool on)
{
	__u64 begin = monotonic_ns(), pause = ADMIN_POLL_NS;
	__u32 status;

	manager_write(manager, NVME_CC, 4, on ? NVME_CC_QUEUES | NVME_CC_ENABLE : 0);
	do {
		status = (__u32)manager_read(manager, NVME_CSTS, 4);
		if (status != 0xffffffff && (status & NVME_CSTS_READY) == on)
			return 0;
	} while (admin_pause(begin, manager->cluster->config->dead_ns, &pause));
	return failed(-ETIMEDOUT, "%s does not become %s: CSTS 0x%x",
		      manager->cluster->config->devices[manager->device].name,
		      on ? "ready" : "idle", status);
}

void manager_disable(struct manager *manager)
{
	if (manager->open && !manager->bus.ops->state(&manager->bus))
		manager_enable(manager, false);
}

/* Queues and blocks that it has, into shared memory for its clients. */
static int manager_identify(struct manager *manager)
{
	struct share_controller *controller = share_controller(manager->cluster, manager->device);
	struct nvme_command command = {.opcode = NVME_IDENTIFY,
				       .namespace_id = NVME_NAMESPACE,
				       .prp1 = manager->page_address};
	struct nvme_command features = {.opcode = NVME_SET_FEATURES};
	struct nvme_command burst = {.opcode = NVME_SET_FEATURES,
				     .cdw = {NVME_FEATURE_ARBITRATION, ADMIN_BURST_LOG2}};
	struct nvme_completion completion;
	int err = manager_command(manager, &command, &completion);

	if (err)
		return err;
	memcpy(&controller->blocks, manager->page, sizeof(controller->blocks)); /* NSZE */
	features.cdw[0] = NVME_FEATURE_QUEUES;
	features.cdw[1] = (SHARE_QUEUES - 1) << 16 | (SHARE_QUEUES - 1);
	err = manager_command(manager, &features, &completion);
	if (err)
		return err;
	controller->queues = (completion.result & 0xffff) + 1;
	if (controller->queues > SHARE_QUEUES)
		controller->queues = SHARE_QUEUES;
	controller->entries = (__u32)(manager_read(manager, NVME_CAP, 8) & 0xffff) + 1;
	return manager_command(manager, &burst, &completion);
}

int manager_reset_controller(struct manager *manager)
{
	int err = manager_enable(manager, false);

	if (err)
		return err;
	memset(manager->commands, 0, MANAGER_ENTRIES * sizeof(*manager->commands));
	memset((void *)manager->completions, 0, MANAGER_ENTRIES * sizeof(*manager->completions));
	manager->tail = manager->head = 0;
	manager->phase = 1;
	manager->lost = false;
	manager_write(manager, NVME_AQA, 4, (MANAGER_ENTRIES - 1) << 16 | (MANAGER_ENTRIES - 1));
	manager_write(manager, NVME_ASQ, 8, manager->commands_address);
	manager_write(manager, NVME_ACQ, 8, manager->completions_address);
	err = manager_enable(manager, true);
	return err ? err : manager_identify(manager);
}
