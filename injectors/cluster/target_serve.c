// SPDX-License-Identifier: GPL-2.0
/* The target: takes capsules, uses the controller of its own host as a stock driver does, copies, replies. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/cluster/futex.h"
#include "injectors/cluster/nvme_driver.h"
#include "injectors/cluster/target_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define TARGET_WAIT_NS (20 * NSEC_PER_MSEC)

struct target_slot {
	struct target_capsule capsule;
	void *bounce;
	__u64 address; /* of it, for the device */
	__u64 turn;    /* taken so far */
	__u64 model_ns;
	__u32 entry;
	__s32 status;
	bool submitted;
};
struct target_server {
	struct cluster *cluster;
	const struct target_config *config;
	struct mediator *target;
	__u32 number;
	struct lend_borrow borrow; /* its device is nobody else's meanwhile */
	struct bus bus;
	struct nvme_driver driver;
	struct target_capsule *capsules; /* in this host's RAM */
	__u64 capsules_at, capsules_bytes;
	struct target_slot *slots;
	struct target_window replies, data;
	__u32 outstanding;
	__u32 initiator; /* agent */
};

static bool target_initiator_lives(const struct target_server *server)
{
	return agent_state(server->cluster, server->initiator) <= AGENT_RUNS;
}

static struct initiator target_cpu(const struct target_server *server)
{
	return cpu_of(server->cluster, server->cluster->host);
}

static void target_copy(struct target_server *server, struct target_slot *slot)
{
	struct initiator cpu = target_cpu(server);
	__u64 index = (__u64)(slot - server->slots);
	__u64 address = server->data.address + index * server->config->io.block;
	struct access_result result = {0};

	if (!target_initiator_lives(server)) {
		slot->status = -EIO;
		return;
	}
	if (slot->capsule.write)
		access_read(server->cluster, &cpu, PURPOSE_DATA, address, slot->bounce,
			    slot->capsule.bytes, &result);
	else
		access_write(server->cluster, &cpu, PURPOSE_DATA, address, slot->bounce,
			     slot->capsule.bytes, &result);
	slot->model_ns += result.model_ns;
	if (result.status != ACCESS_DONE)
		slot->status = -EIO;
}

static int target_respond(struct target_server *server, struct target_slot *slot)
{
	struct initiator cpu = target_cpu(server);
	__u64 index = (__u64)(slot - server->slots);
	struct target_reply reply = {
		.status = slot->status,
		.stages = TARGET_STAGES,
		.copies = 1,
		.model_ns = slot->model_ns + TARGET_STAGES * server->config->stage_ns,
		.turn = slot->turn,
	};

	if (!target_initiator_lives(server))
		return 0;
	access_write(server->cluster, &cpu, PURPOSE_COMPLETION,
		     server->replies.address + index * sizeof(reply), &reply, sizeof(reply), NULL);
	return target_tell(server->cluster, server->number, TARGET_REPLY);
}

/* The bounce buffer is contiguous for the device, and one page or two: what is longer has a list. */
static void target_submit(struct target_server *server, struct target_slot *slot)
{
	struct nvme_driver *driver = &server->driver;
	__u64 index = (__u64)(slot - server->slots);
	__u64 *list = driver->lists + index * (NVME_PAGE / sizeof(*list));
	const struct target_capsule *capsule = &slot->capsule;
	struct nvme_command command = {
		.opcode = capsule->write ? NVME_WRITE : NVME_READ,
		.id = (__u16)index,
		.namespace_id = NVME_NAMESPACE,
		.prp1 = slot->address,
		.cdw = {(__u32)(capsule->offset / NVME_BLOCK),
			(__u32)(capsule->offset / NVME_BLOCK >> 32),
			(__u32)(capsule->bytes / NVME_BLOCK - 1)},
	};
	__u32 count = 0;

	for (__u64 at = NVME_PAGE; at < capsule->bytes; at += NVME_PAGE)
		list[count++] = slot->address + at;
	if (count)
		command.prp2 = count == 1 ? list[0] : driver->lists_at + index * NVME_PAGE;
	slot->entry = driver->io.tail;
	nvme_price_begin(
		nvme_price(server->cluster, server->bus.function, driver->io.number, slot->entry),
		server->cluster->self);
	nvme_pair_put(&driver->io, &command);
	slot->submitted = true;
	server->outstanding++;
}

/* New ones of all slots; true: there were some. */
static bool target_take(struct target_server *server)
{
	bool any = false;

	for (__u32 i = 0; i < server->config->io.depth; i++) {
		struct target_slot *slot = &server->slots[i];
		const struct target_capsule *capsule = &server->capsules[i];

		if (slot->submitted ||
		    __atomic_load_n(&capsule->turn, __ATOMIC_ACQUIRE) != slot->turn + 1)
			continue;
		slot->capsule = *capsule;
		slot->turn++;
		slot->status = 0;
		slot->model_ns = 0;
		if (slot->capsule.bytes > server->config->io.block || !slot->capsule.bytes ||
		    slot->capsule.bytes % NVME_BLOCK || slot->capsule.offset % NVME_BLOCK) {
			slot->status = -EINVAL;
			target_respond(server, slot);
			continue;
		}
		if (slot->capsule.write)
			target_copy(server, slot);
		target_submit(server, slot);
		any = true;
	}
	if (any)
		nvme_pair_ring(&server->driver, &server->driver.io);
	return any;
}

static int target_done(struct target_server *server, struct target_slot *slot, __u32 status)
{
	struct io_price price;

	slot->submitted = false;
	server->outstanding--;
	slot->model_ns += nvme_price_take(nvme_price(server->cluster, server->bus.function,
						     server->driver.io.number, slot->entry),
					  &price);
	if (status)
		slot->status = -EIO;
	else if (!slot->capsule.write)
		target_copy(server, slot);
	return target_respond(server, slot);
}

static int target_reap(struct target_server *server)
{
	struct nvme_completion completion;
	int err = 0;

	while (!err && nvme_pair_reap(&server->driver, &server->driver.io, &completion))
		if (completion.id < server->config->io.depth &&
		    server->slots[completion.id].submitted)
			err = target_done(server, &server->slots[completion.id],
					  NVME_STATUS(&completion));
	return err;
}

/* False: its initiator has left or is dead, or the run ends. */
static bool target_wanted(const struct target_server *server)
{
	return !__atomic_load_n(&server->target->left, __ATOMIC_ACQUIRE) &&
	       target_initiator_lives(server) && cluster_phase(server->cluster) < CLUSTER_HOSTS_END;
}

/* It does not wait to be forced. */
static int target_has_device(const struct target_server *server)
{
	__u32 borrow = server->borrow.number;

	if (lend_lasts(server->cluster, borrow) && !lend_asked_back(server->cluster, borrow))
		return 0;
	return failed(-ENODEV, "%s was taken back from %s",
		      server->cluster->config->devices[server->config->device].name,
		      server->config->name);
}

static int target_loop(struct target_server *server)
{
	struct bus *bus = &server->bus;
	int err = 0;

	while (!err && (target_wanted(server) || server->outstanding)) {
		__u32 told = shared_counter(&server->target->told);

		if (target_take(server))
			continue;
		if (server->outstanding) {
			err = bus->ops->interrupt_wait(bus, server->driver.io.vector,
						       &server->driver.io.interrupts,
						       TARGET_WAIT_NS);
			err = err == -ETIMEDOUT ? nvme_driver_state(&server->driver) : err;
			err = err ?: target_reap(server);
		} else {
			shared_counter_wait(&server->target->told, told, TARGET_WAIT_NS);
		}
		err = err ?: target_has_device(server);
	}
	return err;
}

static int target_buffers(struct target_server *server)
{
	const struct io_config *io = &server->config->io;
	struct bus *bus = &server->bus;
	void *lists;
	int err = bus->ops->dma_alloc(bus, (__u64)io->depth * NVME_PAGE, &lists,
				      &server->driver.lists_at);

	if (err)
		return err;
	server->driver.lists = lists;
	server->slots = calloc(io->depth, sizeof(*server->slots));
	if (!server->slots)
		return failed(-ENOMEM, "no memory for %u I/Os", io->depth);
	for (__u32 i = 0; !err && i < io->depth; i++)
		err = bus->ops->dma_alloc(bus, io->block, &server->slots[i].bounce,
					  &server->slots[i].address);
	return err;
}

static int target_server_open(struct target_server *server)
{
	struct cluster *cluster = server->cluster;
	const struct io_config *io = &server->config->io;
	int err = bus_local_open(&server->bus, cluster,
				 function_of(cluster, server->config->device, 0));

	if (err)
		return err;
	server->driver =
		(struct nvme_driver){.bus = &server->bus, .depth = io->depth, .block = io->block};
	server->capsules_bytes = io->depth * sizeof(*server->capsules);
	err = nvme_driver_probe(&server->driver) ?: target_buffers(server)
		      ?: host_memory_alloc(cluster, cluster->host, server->capsules_bytes,
					   &server->capsules_at);
	if (err)
		return err;
	server->capsules =
		host_memory(cluster, cluster->host, server->capsules_at, server->capsules_bytes);
	__atomic_store_n(&server->target->capsules, server->capsules_at, __ATOMIC_RELEASE);
	return 0;
}

/* False: nobody has come, or will any more. */
static bool target_connected(struct target_server *server)
{
	while (target_wanted(server)) {
		__u32 told = shared_counter(&server->target->told);

		if (__atomic_load_n(&server->target->connected, __ATOMIC_ACQUIRE))
			return true;
		shared_counter_wait(&server->target->told, told, TARGET_WAIT_NS);
	}
	return false;
}

static int target_map(struct target_server *server)
{
	const struct io_config *io = &server->config->io;

	return target_window_map(server->cluster, server->config->initiator_host,
				 server->target->replies, io->depth * sizeof(struct target_reply),
				 &server->replies)
		       ?: target_window_map(server->cluster, server->config->initiator_host,
					    server->target->data, io->depth * io->block,
					    &server->data);
}

static void target_server_close(struct target_server *server)
{
	const struct io_config *io = &server->config->io;
	struct bus *bus = &server->bus;

	__atomic_store_n(&server->target->capsules, 0, __ATOMIC_RELEASE);
	target_window_unmap(server->cluster, &server->replies);
	target_window_unmap(server->cluster, &server->data);
	__atomic_store_n(&server->target->closed, 1, __ATOMIC_RELEASE);
	if (server->capsules)
		host_memory_free(server->cluster, server->cluster->host, server->capsules_at,
				 server->capsules_bytes);
	nvme_driver_remove(&server->driver, false);
	for (__u32 i = 0; server->slots && i < io->depth; i++)
		if (server->slots[i].bounce)
			bus->ops->dma_free(bus, io->block, server->slots[i].bounce,
					   server->slots[i].address);
	if (server->driver.lists)
		bus->ops->dma_free(bus, (__u64)io->depth * NVME_PAGE, server->driver.lists,
				   server->driver.lists_at);
	bus_local_close(bus);
	free(server->slots);
}

/* Its host is dead, and it will be in a moment: until then it may write capsules to memory that must still be ours. */
static void target_await_death(const struct target_server *server)
{
	struct cluster *cluster = server->cluster;
	__u64 begin = monotonic_ns();

	while (target_initiator_lives(server) && monotonic_ns() - begin < cluster->config->dead_ns)
		agent_wait(cluster, agent_events(cluster), NSEC_PER_MSEC);
}

int target_run(struct cluster *cluster)
{
	struct target_server server = {
		.cluster = cluster,
		.number = agent_info(cluster, cluster->self)->config,
	};
	int err;

	server.config = &cluster->config->targets[server.number];
	server.target = target_of(cluster, server.number);
	server.initiator = target_agent(cluster, server.number, true);
	err = lend_borrow(
		cluster,
		&(struct lend_wish){.function = function_of(cluster, server.config->device, 0)},
		&server.borrow);
	if (err)
		return err;
	err = target_server_open(&server);
	if (!err && target_connected(&server))
		err = target_map(&server) ?: target_loop(&server);
	if (err == -EHOSTDOWN)
		target_await_death(&server);
	if (server.bus.private)
		target_server_close(&server);
	lend_return(cluster, &server.borrow);
	/* Its initiator's host is dead: nobody is left to serve. */
	return err == -EHOSTDOWN ? 0 : err;
}
