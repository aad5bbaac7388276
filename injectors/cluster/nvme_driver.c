// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/nvme_driver.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/seen.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define WAIT_PARTS \
	8 /* of the time after which a device is taken for dead: looks for lost interrupts */
#define NVME_RETRIES 5u /* of an I/O, as nvme_core.max_retries of Linux */

static int nvme_error(__u32 status)
{
	switch (status) {
	case NVME_OK:
		return 0;
	case NVME_OUT_OF_RANGE:
		return -ERANGE;
	case NVME_ABORTED:
		return -ECANCELED;
	default:
		return -EIO;
	}
}

static struct io_price *nvme_slot_price(struct nvme_driver *driver, const struct nvme_slot *slot)
{
	return nvme_price(driver->bus->cluster, driver->bus->function, driver->io.number,
			  slot->entry);
}

static enum dma_direction nvme_direction(const struct nvme_slot *slot)
{
	return slot->io.write ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/* The buffer is contiguous for the device. */
static void nvme_prps_set(struct nvme_driver *driver, struct nvme_slot *slot,
			  struct nvme_command *command)
{
	__u64 index = (__u64)(slot - driver->slots);
	__u64 *list = driver->lists + index * (NVME_PAGE / sizeof(*list));
	__u64 page = (slot->address & ~(__u64)(NVME_PAGE - 1)) + NVME_PAGE;
	__u64 end = slot->address + slot->io.bytes;
	__u32 count = 0;

	command->prp1 = slot->address;
	if (end > page)
		command->prp2 = page;
	if (end <= page + NVME_PAGE)
		return;
	for (; page < end; page += NVME_PAGE)
		list[count++] = page;
	command->prp2 = driver->lists_at + index * NVME_PAGE;
}

/* To the device, for the first time or again. */
static void nvme_issue(struct nvme_driver *driver, struct nvme_slot *slot)
{
	struct bus *bus = driver->bus;
	struct nvme_command command = {
		.opcode = slot->io.write ? NVME_WRITE : NVME_READ,
		.id = (__u16)(slot - driver->slots),
		.namespace_id = NVME_NAMESPACE,
		.cdw = {(__u32)(slot->io.offset / NVME_BLOCK),
			(__u32)(slot->io.offset / NVME_BLOCK >> 32),
			(__u32)(slot->io.bytes / NVME_BLOCK - 1)},
	};
	struct io_price *price;

	nvme_prps_set(driver, slot, &command);
	slot->asked_abort = false;
	slot->issued_ns = monotonic_ns();
	slot->entry = driver->io.tail;
	price = nvme_slot_price(driver, slot);
	nvme_price_begin(price, bus->cluster->self);
	nvme_pair_put(&driver->io, &command);
	bus->register_ns = 0;
	nvme_pair_ring(driver, &driver->io);
	price->model_ns[IO_STAGE_DOORBELL] = bus->register_ns;
}

/* -ENOSPC: no room to map it now. */
static int nvme_io_submit(struct nvme_driver *driver, struct nvme_slot *slot)
{
	struct bus *bus = driver->bus;
	int err = bus->ops->dma_map(bus, slot->buffer, slot->io.bytes, nvme_direction(slot),
				    &slot->address);

	if (err)
		return err;
	slot->used = true;
	slot->retries = 0;
	slot->begin_ns = monotonic_ns();
	driver->outstanding++;
	nvme_issue(driver, slot);
	return 0;
}

static void nvme_slot_done(struct nvme_driver *driver, struct io_user *user, struct nvme_slot *slot,
			   int status)
{
	struct seen_io seen = {
		.agent = driver->bus->cluster->self,
		.device = driver->bus->device,
		.queue = driver->io.number,
		.number = (__u32)slot->io.number,
		.offset = slot->io.offset,
		.bytes = slot->io.bytes,
		.begin_ns = slot->begin_ns,
		.write = slot->io.write,
		.error = -status,
	};
	struct io_price price = {0};
	__u64 model_ns = 0;

	driver->bus->ops->dma_unmap(driver->bus, slot->address, slot->io.bytes,
				    nvme_direction(slot));
	if (!status) {
		model_ns = nvme_price_take(nvme_slot_price(driver, slot), &price) +
			   driver->bus->notice_ns;
		price.model_ns[IO_STAGE_NOTICE] += driver->bus->notice_ns;
	}
	for (int i = 0; i < IO_STAGES; i++)
		seen.model_ns[i] = price.model_ns[i];
	slot->used = false;
	driver->outstanding--;
	io_user_done(user, &slot->io, slot->buffer, status, slot->begin_ns, model_ns);
	seen.end_ns = monotonic_ns();
	seen_io(driver->bus->cluster, &seen);
}

/* What was aborted because it was late is tried again. */
static void nvme_completed(struct nvme_driver *driver, struct io_user *user, struct nvme_slot *slot,
			   __u32 status)
{
	if (status == NVME_ABORTED && slot->retries++ < NVME_RETRIES)
		nvme_issue(driver, slot);
	else
		nvme_slot_done(driver, user, slot, nvme_error(status));
}

static __u32 nvme_reap(struct nvme_driver *driver, struct io_user *user)
{
	struct nvme_completion completion;
	__u32 reaped = 0;

	while (nvme_pair_reap(driver, &driver->io, &completion)) {
		reaped++;
		/* What names no command of ours is the device's mistake. */
		if (completion.id < driver->depth && driver->slots[completion.id].used)
			nvme_completed(driver, user, &driver->slots[completion.id],
				       NVME_STATUS(&completion));
	}
	return reaped;
}

static struct nvme_slot *nvme_slot_free(struct nvme_driver *driver)
{
	for (__u32 i = 0; i < driver->depth; i++)
		if (!driver->slots[i].used && &driver->slots[i] != driver->waiting)
			return &driver->slots[i];
	return NULL;
}

/* The next I/O, if there is one: one that waits comes first. *wait_ns: when it is due, *finished: there are none. */
static struct nvme_slot *nvme_next(struct nvme_driver *driver, struct io_user *user, __u64 *wait_ns,
				   bool *finished)
{
	struct nvme_slot *slot = driver->waiting;

	if (slot || *finished)
		return slot;
	slot = nvme_slot_free(driver);
	if (!slot)
		return NULL;
	if (!io_user_next(user, &slot->io, wait_ns)) {
		*finished = !*wait_ns;
		return NULL;
	}
	if (slot->io.write)
		io_user_fill(user, &slot->io, slot->buffer);
	return slot;
}

/* Until nothing more goes. */
static int nvme_fill(struct nvme_driver *driver, struct io_user *user, __u64 *wait_ns,
		     bool *finished)
{
	int err = 0;

	while (driver->outstanding < driver->depth) {
		struct nvme_slot *slot = nvme_next(driver, user, wait_ns, finished);

		if (!slot)
			return 0;
		driver->waiting = NULL;
		err = nvme_io_submit(driver, slot);
		if (err == -ENOSPC && driver->outstanding) {
			driver->waiting = slot;
			return 0;
		}
		if (err) {
			io_user_done(user, &slot->io, slot->buffer, err, monotonic_ns(), 0);
			return err;
		}
	}
	return 0;
}

static int nvme_abort(struct nvme_driver *driver, struct nvme_slot *slot)
{
	struct nvme_command command = {
		.opcode = NVME_ABORT,
		.cdw = {(__u32)(slot - driver->slots) << 16 | driver->io.number},
	};
	struct nvme_completion completion;

	slot->asked_abort = true;
	return nvme_driver_admin(driver, &command, &completion);
}

/* A doorbell, a command or a completion was lost on its way: the device and its driver have to begin anew. */
static int nvme_reset(struct nvme_driver *driver, const struct nvme_slot *late)
{
	int err;

	if (late->retries >= NVME_RETRIES)
		return failed(-ENODEV, "I/O %llu has had no completion for %llu ms",
			      late->io.number, (monotonic_ns() - late->begin_ns) / NSEC_PER_MSEC);
	err = nvme_driver_restart(driver);
	for (__u32 i = 0; !err && i < driver->depth; i++) {
		if (!driver->slots[i].used)
			continue;
		driver->slots[i].retries++;
		nvme_issue(driver, &driver->slots[i]);
	}
	return err;
}

/*
 * At half of the time after which the device is taken for dead it is asked to abort, after all of it it is reset, and what it
 * had under way is given to it again: as Linux has it. While it cannot be reached there is nothing to do but to wait.
 */
static int nvme_late(struct nvme_driver *driver)
{
	__u64 limit = driver->bus->cluster->config->dead_ns;
	__u64 now = monotonic_ns();
	int err = nvme_driver_state(driver);

	if (err || !nvme_driver_reaches(driver))
		return err;
	for (__u32 i = 0; !err && i < driver->depth; i++) {
		struct nvme_slot *slot = &driver->slots[i];
		__u64 age = now - slot->issued_ns;

		if (!slot->used || age < limit / 2)
			continue;
		if (age >= limit)
			return nvme_reset(driver, slot);
		if (!slot->asked_abort)
			err = nvme_abort(driver, slot);
	}
	return err;
}

static bool nvme_stopping(const struct nvme_driver *driver, const int *stop)
{
	return cluster_stopping(driver->bus->cluster) ||
	       (stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE));
}

static int nvme_io_wait(struct nvme_driver *driver, __u64 due_ns)
{
	struct bus *bus = driver->bus;
	__u64 part = bus->cluster->config->dead_ns / WAIT_PARTS;
	int err;

	if (due_ns && due_ns < part)
		part = due_ns;
	err = bus->ops->interrupt_wait(bus, driver->io.vector, &driver->io.interrupts, part);
	return err == -ETIMEDOUT ? nvme_late(driver) : err;
}

static int nvme_loop(struct nvme_driver *driver, struct io_user *user, const int *stop)
{
	int err = 0;

	while (!err) {
		__u64 due_ns = 0;
		bool finished = nvme_stopping(driver, stop);

		err = nvme_fill(driver, user, &due_ns, &finished);
		if (!err && finished && !driver->outstanding)
			break;
		if (!err && !nvme_reap(driver, user))
			err = nvme_io_wait(driver, due_ns);
	}
	if (err)
		nvme_reap(driver, user);
	return err;
}

static int nvme_slots_alloc(struct nvme_driver *driver)
{
	struct bus *bus = driver->bus;
	void *lists;
	int err = bus->ops->dma_alloc(bus, (__u64)driver->depth * NVME_PAGE, &lists,
				      &driver->lists_at);

	if (err)
		return err;
	driver->lists = lists;
	for (__u32 i = 0; i < driver->depth; i++) {
		driver->slots[i].buffer = bus->ops->memory(bus, driver->block);
		if (!driver->slots[i].buffer)
			return failed(-ENOMEM, "no memory for %u buffers of %llu bytes",
				      driver->depth, driver->block);
	}
	return 0;
}

static void nvme_slots_free(struct nvme_driver *driver)
{
	struct bus *bus = driver->bus;

	for (__u32 i = 0; i < driver->depth; i++)
		if (driver->slots[i].buffer)
			bus->ops->memory_free(bus, driver->slots[i].buffer, driver->block);
	if (driver->lists)
		bus->ops->dma_free(bus, (__u64)driver->depth * NVME_PAGE, driver->lists,
				   driver->lists_at);
}

int nvme_driver_run(struct bus *bus, const struct io_config *io, struct io_user *user,
		    const int *stop)
{
	struct nvme_driver driver = {.bus = bus, .depth = io->depth, .block = io->block};
	bool gone;
	int err;

	if (!io->depth || io->depth > NVME_DEPTH_MAX)
		return failed(-EINVAL, "a depth of %u: 1 to %u", io->depth, NVME_DEPTH_MAX);
	driver.slots = calloc(io->depth, sizeof(*driver.slots));
	if (!driver.slots)
		return failed(-ENOMEM, "no memory for %u I/Os", io->depth);
	err = nvme_driver_probe(&driver);
	if (!err)
		err = nvme_slots_alloc(&driver);
	if (!err)
		err = nvme_loop(&driver, user, stop);
	gone = err == -ENODEV;
	nvme_driver_remove(&driver, gone);
	for (__u32 i = 0; i < driver.depth; i++)
		if (driver.slots[i].used)
			nvme_slot_done(&driver, user, &driver.slots[i], err ? err : -EIO);
	if (driver.waiting)
		io_user_done(user, &driver.waiting->io, driver.waiting->buffer, err ? err : -EIO,
			     monotonic_ns(), 0);
	nvme_slots_free(&driver);
	free(driver.slots);
	return err;
}
