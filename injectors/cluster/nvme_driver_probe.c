// SPDX-License-Identifier: GPL-2.0
/* The stock driver's begin and end: config space, registers, its admin pair and an I/O pair. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/nvme_driver.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define CONFIG_COMMAND	    0x04
#define CONFIG_CLASS	    0x08 /* upper three bytes */
#define CONFIG_CAPABILITIES 0x34
#define COMMAND_ON	    0x006u /* memory, Bus Master */
#define COMMAND_NO_INTX	    0x400u
#define CLASS_NVME	    0x010802u
#define CAPABILITY_MSIX	    0x11
#define CAPABILITIES_MOST   48
#define MSIX_ENABLE	    0x8000u
#define ALL_ONES	    0xffffffffu
#define ADMIN_ENTRIES	    32u
#define REGISTER_PAUSE_NS   (200 * NSEC_PER_USEC)
#define CREATE_CONTIGUOUS   1u
#define CREATE_INTERRUPTS   2u
#define IDENTIFY_NAMESPACE  0
#define IDENTIFY_CONTROLLER 1
#define IDENTIFY_MDTS	    77

static __u32 nvme_register_read(struct nvme_driver *driver, __u64 offset)
{
	return (__u32)driver->bus->ops->read(driver->bus, 0, offset, 4);
}

static void nvme_register_write(struct nvme_driver *driver, __u64 offset, __u32 value)
{
	driver->bus->ops->write(driver->bus, 0, offset, 4, value);
}

int nvme_driver_state(struct nvme_driver *driver)
{
	return driver->bus->ops->state(driver->bus);
}

static int nvme_ready_wait(struct nvme_driver *driver, bool ready)
{
	__u64 limit = driver->bus->cluster->config->dead_ns;
	__u64 deadline = monotonic_ns() + limit;
	struct timespec pause = timespec_of_ns(REGISTER_PAUSE_NS);
	__u32 status;

	for (;;) {
		int err;

		status = nvme_register_read(driver, NVME_CSTS);
		/* All ones is a register's value as well: whether the device is there is the bus's to say. */
		err = status == ALL_ONES ? nvme_driver_state(driver) : 0;
		if (err)
			return err;
		if (status != ALL_ONES && status & NVME_CSTS_FATAL && ready)
			return failed(-EIO, "the controller has a fatal error: CSTS %#x", status);
		if (status != ALL_ONES && !(status & NVME_CSTS_READY) == !ready)
			return 0;
		if (monotonic_ns() > deadline)
			return failed(-ENODEV, "the controller is not %s after %llu ms: CSTS %#x",
				      ready ? "ready" : "off", limit / NSEC_PER_MSEC, status);
		nanosleep(&pause, NULL);
	}
}

static __u32 nvme_msix_find(struct bus *bus)
{
	__u32 at = bus->ops->config_read(bus, CONFIG_CAPABILITIES, 1);

	for (int i = 0; at >= 0x40 && at < 0x100 && i < CAPABILITIES_MOST; i++) {
		__u32 head = bus->ops->config_read(bus, at, 2);

		if ((head & 0xff) == CAPABILITY_MSIX)
			return at;
		at = head >> 8;
	}
	return 0;
}

/* Vector 0 is the admin pair's, 1 the I/O pair's if the device has that many. */
static void nvme_interrupts_set(struct nvme_driver *driver)
{
	struct bus *bus = driver->bus;
	__u32 command = bus->ops->config_read(bus, CONFIG_COMMAND, 2) | COMMAND_ON;
	__u32 msix = nvme_msix_find(bus);

	if (msix) {
		__u32 control = bus->ops->config_read(bus, msix + 2, 2);
		__u32 table = bus->ops->config_read(bus, msix + 4, 4);
		__u32 last = control & 0x7ff ? 1 : 0;

		for (__u32 vector = 0; vector <= last; vector++) {
			__u64 at = (table & ~7u) + vector * 16;
			__u64 address = MSI_ADDRESS + 4096ull * bus->function;

			bus->ops->write(bus, table & 7, at, 4, (__u32)address);
			bus->ops->write(bus, table & 7, at + 4, 4, (__u32)(address >> 32));
			bus->ops->write(bus, table & 7, at + 8, 4, vector);
			bus->ops->write(bus, table & 7, at + 12, 4, 0);
		}
		bus->ops->config_write(bus, msix + 2, 2, control | MSIX_ENABLE);
		command |= COMMAND_NO_INTX;
		driver->io.vector = last;
	}
	bus->ops->config_write(bus, CONFIG_COMMAND, 2, command);
}

static int nvme_pair_alloc(struct nvme_driver *driver, struct nvme_pair *pair, __u32 number,
			   __u32 entries)
{
	struct bus *bus = driver->bus;
	void *memory;
	int err = bus->ops->dma_alloc(bus, entries * sizeof(*pair->commands), &memory,
				      &pair->commands_at);

	if (err)
		return err;
	pair->commands = memory;
	pair->number = number;
	pair->entries = entries;
	err = bus->ops->dma_alloc(bus, entries * sizeof(*pair->completions), &memory,
				  &pair->completions_at);
	if (!err)
		pair->completions = memory;
	return err;
}

/* As a controller that knows nothing of it yet expects it. */
static void nvme_pair_clear(struct nvme_pair *pair)
{
	pair->tail = pair->head = 0;
	pair->phase = 1;
	memset(pair->completions, 0, pair->entries * sizeof(*pair->completions));
}

static void nvme_pair_free(struct nvme_driver *driver, struct nvme_pair *pair)
{
	struct bus *bus = driver->bus;

	if (pair->commands)
		bus->ops->dma_free(bus, pair->entries * sizeof(*pair->commands), pair->commands,
				   pair->commands_at);
	if (pair->completions)
		bus->ops->dma_free(bus, pair->entries * sizeof(*pair->completions),
				   pair->completions, pair->completions_at);
	pair->commands = NULL;
	pair->completions = NULL;
}

__u32 nvme_pair_put(struct nvme_pair *pair, const struct nvme_command *command)
{
	__u32 entry = pair->tail;

	pair->commands[entry] = *command;
	pair->tail = (entry + 1) % pair->entries;
	return entry;
}

void nvme_pair_ring(struct nvme_driver *driver, struct nvme_pair *pair)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	nvme_register_write(driver, NVME_DOORBELL_SQ(pair->number), pair->tail);
}

bool nvme_pair_reap(struct nvme_driver *driver, struct nvme_pair *pair,
		    struct nvme_completion *completion)
{
	struct nvme_completion *next = &pair->completions[pair->head];

	if ((__atomic_load_n(&next->status, __ATOMIC_ACQUIRE) & 1) != pair->phase)
		return false;
	*completion = *next;
	pair->head = (pair->head + 1) % pair->entries;
	if (!pair->head)
		pair->phase ^= 1;
	nvme_register_write(driver, NVME_DOORBELL_CQ(pair->number), pair->head);
	return true;
}

/* One at a time. An interrupt that was lost costs a part of the time that it may take. */
int nvme_driver_admin(struct nvme_driver *driver, struct nvme_command *command,
		      struct nvme_completion *completion)
{
	struct bus *bus = driver->bus;
	__u64 limit = bus->cluster->config->dead_ns;
	__u64 deadline = monotonic_ns() + limit;
	__u32 seen = driver->admin.interrupts;
	int err;

	command->id = ++driver->admin_id;
	nvme_pair_put(&driver->admin, command);
	nvme_pair_ring(driver, &driver->admin);
	for (;;) {
		while (nvme_pair_reap(driver, &driver->admin, completion))
			if (completion->id == command->id) {
				driver->admin.interrupts = seen;
				return 0;
			}
		err = bus->ops->interrupt_wait(bus, driver->admin.vector, &seen, limit / 8);
		if (err && err != -ETIMEDOUT)
			return err;
		if (!err)
			continue;
		err = nvme_driver_state(driver);
		if (err)
			return err;
		if (monotonic_ns() > deadline)
			return failed(
				-ENODEV,
				"the controller has not answered admin command %#x in %llu ms",
				command->opcode, limit / NSEC_PER_MSEC);
	}
}

static int nvme_admin_must(struct nvme_driver *driver, struct nvme_command command)
{
	struct nvme_completion completion;
	int err = nvme_driver_admin(driver, &command, &completion);

	if (err)
		return err;
	return NVME_STATUS(&completion)
		       ? failed(-EIO, "admin command %#x: the controller's status is %#x",
				command.opcode, NVME_STATUS(&completion))
		       : 0;
}

static int nvme_driver_identify(struct nvme_driver *driver)
{
	struct bus *bus = driver->bus;
	struct nvme_command command = {.opcode = NVME_IDENTIFY, .cdw = {IDENTIFY_CONTROLLER}};
	void *page;
	__u64 address, blocks;
	__u8 format;
	int err = bus->ops->dma_alloc(bus, NVME_PAGE, &page, &address);

	if (err)
		return err;
	command.prp1 = address;
	err = nvme_admin_must(driver, command);
	if (!err && driver->block > (__u64)NVME_PAGE << ((__u8 *)page)[IDENTIFY_MDTS])
		err = failed(-EINVAL, "I/Os of %llu bytes: the controller takes at most %llu",
			     driver->block, (__u64)NVME_PAGE << ((__u8 *)page)[IDENTIFY_MDTS]);
	command.namespace_id = NVME_NAMESPACE;
	command.cdw[0] = IDENTIFY_NAMESPACE;
	if (!err)
		err = nvme_admin_must(driver, command);
	if (!err) {
		memcpy(&blocks, page, sizeof(blocks));
		format = ((__u8 *)page)[130];
		driver->disk_bytes = blocks << format;
		if (1u << format != NVME_BLOCK)
			err = failed(-EIO, "blocks of %u bytes: %u is supported", 1u << format,
				     NVME_BLOCK);
	}
	bus->ops->dma_free(bus, NVME_PAGE, page, address);
	return err;
}

static int nvme_io_pair_create(struct nvme_driver *driver)
{
	struct nvme_pair *pair = &driver->io;
	int err;

	nvme_pair_clear(pair);
	err = nvme_admin_must(driver, (struct nvme_command){.opcode = NVME_SET_FEATURES,
							    .cdw = {NVME_FEATURE_QUEUES, 0}});
	if (!err)
		err = nvme_admin_must(
			driver,
			(struct nvme_command){
				.opcode = NVME_CREATE_CQ,
				.prp1 = pair->completions_at,
				.cdw = {(pair->entries - 1) << 16 | pair->number,
					pair->vector << 16 | CREATE_INTERRUPTS | CREATE_CONTIGUOUS},
			});
	if (!err)
		err = nvme_admin_must(driver,
				      (struct nvme_command){
					      .opcode = NVME_CREATE_SQ,
					      .prp1 = pair->commands_at,
					      .cdw = {(pair->entries - 1) << 16 | pair->number,
						      pair->number << 16 | CREATE_CONTIGUOUS},
				      });
	return err;
}

/* From off to ready, with an empty admin pair. */
static int nvme_start_anew(struct nvme_driver *driver)
{
	struct bus *bus = driver->bus;
	int err;

	nvme_register_write(driver, NVME_CC, 0);
	err = nvme_ready_wait(driver, false);
	if (err)
		return err;
	nvme_pair_clear(&driver->admin);
	nvme_register_write(driver, NVME_AQA, (ADMIN_ENTRIES - 1) << 16 | (ADMIN_ENTRIES - 1));
	bus->ops->write(bus, 0, NVME_ASQ, 8, driver->admin.commands_at);
	bus->ops->write(bus, 0, NVME_ACQ, 8, driver->admin.completions_at);
	nvme_register_write(driver, NVME_CC, NVME_CC_QUEUES | NVME_CC_ENABLE);
	return nvme_ready_wait(driver, true);
}

bool nvme_driver_reaches(struct nvme_driver *driver)
{
	return nvme_register_read(driver, NVME_CSTS) != ALL_ONES;
}

int nvme_driver_restart(struct nvme_driver *driver)
{
	int err = nvme_start_anew(driver);

	return err ? err : nvme_io_pair_create(driver);
}

int nvme_driver_probe(struct nvme_driver *driver)
{
	struct bus *bus = driver->bus;
	__u32 id = bus->ops->config_read(bus, 0, 4);
	int err;

	if (id == ALL_ONES) {
		err = nvme_driver_state(driver);
		return err ? err : failed(-ENODEV, "config space reads all ones");
	}
	if (bus->ops->config_read(bus, CONFIG_CLASS, 4) >> 8 != CLASS_NVME)
		return failed(-ENODEV, "class %#x is no NVMe controller's (%#x)",
			      bus->ops->config_read(bus, CONFIG_CLASS, 4) >> 8, CLASS_NVME);
	nvme_interrupts_set(driver);
	err = nvme_pair_alloc(driver, &driver->admin, 0, ADMIN_ENTRIES);
	if (!err)
		err = nvme_pair_alloc(driver, &driver->io, 1, driver->depth + 1);
	if (!err)
		err = nvme_start_anew(driver);
	if (!err)
		err = nvme_driver_identify(driver);
	return err ? err : nvme_io_pair_create(driver);
}

/* Once the controller is off it touches no memory any more; a device that is gone cannot, its windows are. */
void nvme_driver_remove(struct nvme_driver *driver, bool gone)
{
	if (!gone) {
		nvme_register_write(driver, NVME_CC, 0);
		nvme_ready_wait(driver, false);
	}
	nvme_pair_free(driver, &driver->io);
	nvme_pair_free(driver, &driver->admin);
}
