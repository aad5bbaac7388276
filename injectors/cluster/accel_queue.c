// SPDX-License-Identifier: GPL-2.0
/* The accelerator's queue as its driver has it: registers, commands, waiting. One command is under way at a time. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "injectors/cluster/accel_driver.h"
#include "injectors/cluster/agent.h"
#include "injectors/cluster/function.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define CONFIG_COMMAND 0x04
#define COMMAND_ON     0x406u /* memory, Bus Master, no INTx */
#define CLASS_ACCEL    0x120000u
#define MSIX_ENABLE    0x8000u
#define ALL_ONES       0xffffffffu
#define PAUSE_NS       (500 * NSEC_PER_USEC)
#define WAIT_PARTS     8

/* Drivers that run in this process, by function. */
static pthread_mutex_t accel_lock = PTHREAD_MUTEX_INITIALIZER;
static struct accel_driver *accel_running[FUNCTIONS_MAX];

static __u32 accel_register_read(struct accel_driver *driver, __u64 offset)
{
	return (__u32)driver->bus->ops->read(driver->bus, 0, offset, 4);
}

static void accel_register_write(struct accel_driver *driver, __u64 offset, __u32 value)
{
	driver->bus->ops->write(driver->bus, 0, offset, 4, value);
}

static int accel_there_wait(struct accel_driver *driver)
{
	__u64 limit = driver->bus->cluster->config->dead_ns;
	__u64 deadline = monotonic_ns() + limit;
	struct timespec pause = timespec_of_ns(PAUSE_NS);

	while (accel_register_read(driver, ACCEL_ID) != ACCEL_MAGIC) {
		int err = driver->bus->ops->state(driver->bus);

		if (err)
			return err;
		if (monotonic_ns() > deadline)
			return failed(-ENODEV, "the accelerator has not come up in %llu ms",
				      limit / NSEC_PER_MSEC);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static void accel_interrupts_set(struct accel_driver *driver)
{
	struct bus *bus = driver->bus;
	__u64 address = MSI_ADDRESS + 4096ull * bus->function;
	__u32 command = bus->ops->config_read(bus, CONFIG_COMMAND, 2) | COMMAND_ON;
	__u32 control = bus->ops->config_read(bus, FUNCTION_CAP_MSIX + 2, 2) | MSIX_ENABLE;

	bus->ops->write(bus, 0, FUNCTION_MSIX_TABLE, 4, (__u32)address);
	bus->ops->write(bus, 0, FUNCTION_MSIX_TABLE + 4, 4, (__u32)(address >> 32));
	bus->ops->write(bus, 0, FUNCTION_MSIX_TABLE + 8, 4, 0);
	bus->ops->write(bus, 0, FUNCTION_MSIX_TABLE + 12, 4, 0);
	bus->ops->config_write(bus, FUNCTION_CAP_MSIX + 2, 2, control);
	bus->ops->config_write(bus, CONFIG_COMMAND, 2, command);
}

static void accel_running_set(struct accel_driver *driver, bool runs)
{
	pthread_mutex_lock(&accel_lock);
	accel_running[driver->bus->function % FUNCTIONS_MAX] = runs ? driver : NULL;
	pthread_mutex_unlock(&accel_lock);
}

int accel_probe(struct accel_driver *driver)
{
	struct bus *bus = driver->bus;
	__u32 class_code = bus->ops->config_read(bus, 0x08, 4) >> 8;
	int err;

	if (class_code != CLASS_ACCEL)
		return failed(-ENODEV, "class %#x is no accelerator's (%#x)", class_code,
			      CLASS_ACCEL);
	err = accel_there_wait(driver);
	if (err)
		return err;
	driver->tail = accel_register_read(driver, ACCEL_HEAD) % ACCEL_ENTRIES;
	accel_register_write(driver, ACCEL_TAIL, driver->tail);
	accel_interrupts_set(driver);
	accel_running_set(driver, true);
	return 0;
}

static bool accel_needed(const struct accel_driver *driver)
{
	bool needed = false;

	pthread_mutex_lock(&accel_lock);
	for (__u32 i = 0; i < FUNCTIONS_MAX; i++) {
		const struct accel_driver *other = accel_running[i];

		needed |= other && other != driver && other->working &&
			  other->peer == driver->bus->function;
	}
	pthread_mutex_unlock(&accel_lock);
	return needed;
}

/* Borrows of this host that are to copy through RAM to this one, and have not done so yet: their drivers may only come. */
static bool accel_expected(const struct accel_driver *driver)
{
	const struct cluster *cluster = driver->bus->cluster;
	const struct cluster_config *config = cluster->config;

	for (__u32 i = 0; i < config->borrow_count; i++) {
		const struct borrow_config *borrow = &config->borrows[i];
		const struct io_counts *counts = io_counts_of(cluster, &borrow->io);

		if (borrow->host == driver->bus->host && borrow->peer == driver->bus->device &&
		    borrow->peer_bounce && counts->ios + counts->errors < borrow->io.ios)
			return true;
	}
	return false;
}

void accel_linger(struct accel_driver *driver, const int *stop)
{
	__u64 deadline = monotonic_ns() + driver->bus->cluster->config->dead_ns;
	struct timespec pause = timespec_of_ns(PAUSE_NS);

	pthread_mutex_lock(&accel_lock);
	driver->working = false;
	pthread_mutex_unlock(&accel_lock);
	while ((accel_needed(driver) || (accel_expected(driver) && monotonic_ns() < deadline)) &&
	       !cluster_stopping(driver->bus->cluster) &&
	       !(stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE)))
		nanosleep(&pause, NULL);
}

/* A peer's driver that has found it before is done with it afterwards. */
void accel_remove(struct accel_driver *driver, bool gone)
{
	accel_running_set(driver, false);
	pthread_mutex_lock(&driver->lock);
	if (!gone)
		driver->bus->ops->config_write(driver->bus, CONFIG_COMMAND, 2, 0);
	pthread_mutex_unlock(&driver->lock);
}

static int accel_head_wait(struct accel_driver *driver)
{
	struct bus *bus = driver->bus;
	__u64 limit = bus->cluster->config->dead_ns;
	__u64 deadline = monotonic_ns() + limit;

	while (accel_register_read(driver, ACCEL_HEAD) != driver->tail) {
		int err = bus->ops->interrupt_wait(bus, 0, &driver->interrupts, limit / WAIT_PARTS);

		if (err && err != -ETIMEDOUT)
			return err;
		if (!err)
			continue;
		err = bus->ops->state(bus);
		if (err)
			return err;
		if (monotonic_ns() > deadline)
			return failed(-ENODEV, "the accelerator has not copied in %llu ms",
				      limit / NSEC_PER_MSEC);
	}
	return 0;
}

static int accel_command_run(struct accel_driver *driver, struct accel_command *command)
{
	struct bus *bus = driver->bus;
	__u64 slot = ACCEL_QUEUE + driver->tail * sizeof(*command);
	__u64 words[sizeof(*command) / 8];
	int err;

	memcpy(words, command, sizeof(words));
	for (__u32 i = 0; i < sizeof(words) / 8; i++)
		bus->ops->write(bus, 0, slot + i * 8ull, 8, words[i]);
	driver->tail = (driver->tail + 1) % ACCEL_ENTRIES;
	accel_register_write(driver, ACCEL_TAIL, driver->tail);
	err = accel_head_wait(driver);
	if (err)
		return err;
	for (__u32 i = 0; i < sizeof(words) / 8; i++)
		words[i] = bus->ops->read(bus, 0, slot + i * 8ull, 8);
	memcpy(command, words, sizeof(words));
	switch (command->status) {
	case ACCEL_OK:
		return 0;
	case ACCEL_TRANSFER_ERROR:
		return -EIO;
	case ALL_ONES: /* the way has closed in between */
		return bus->ops->state(bus) ?: -EIO;
	default:
		return -EINVAL;
	}
}

static int accel_copy_locked(struct accel_driver *driver, enum accel_opcode opcode, bool peer,
			     __u64 bus, __u64 local, __u64 bytes, __u64 *model_ns)
{
	int err = 0;

	while (!err && bytes) {
		__u64 part = bytes < ACCEL_COPY_BYTES ? bytes : ACCEL_COPY_BYTES;
		struct accel_command command = {
			.opcode = opcode, .peer = peer, .bus = bus, .local = local, .bytes = part};

		err = accel_command_run(driver, &command);
		if (!err && model_ns)
			*model_ns += command.model_ns;
		bus += part;
		local += part;
		bytes -= part;
	}
	return err;
}

int accel_copy(struct accel_driver *driver, enum accel_opcode opcode, bool peer, __u64 bus,
	       __u64 local, __u64 bytes, __u64 *model_ns)
{
	int err;

	pthread_mutex_lock(&driver->lock);
	err = accel_copy_locked(driver, opcode, peer, bus, local, bytes, model_ns);
	pthread_mutex_unlock(&driver->lock);
	return err;
}

/* Locked, or NULL. */
static struct accel_driver *accel_running_get(__u32 function)
{
	struct accel_driver *driver;

	pthread_mutex_lock(&accel_lock);
	driver = accel_running[function % FUNCTIONS_MAX];
	if (driver)
		pthread_mutex_lock(&driver->lock);
	pthread_mutex_unlock(&accel_lock);
	return driver;
}

static int accel_mapped_copy(struct accel_driver *driver, enum accel_opcode opcode, void *memory,
			     __u64 local, __u64 bytes, __u64 *model_ns)
{
	enum dma_direction direction = opcode == ACCEL_FROM_BUS ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	struct bus *bus = driver->bus;
	__u64 address;
	int err = bus->ops->dma_map(bus, memory, bytes, direction, &address);

	if (err)
		return err;
	err = accel_copy_locked(driver, opcode, false, address, local, bytes, model_ns);
	bus->ops->dma_unmap(bus, address, bytes, direction);
	return err;
}

int accel_peer_copy(struct cluster *cluster, __u32 function, enum accel_opcode opcode, void *memory,
		    __u64 local, __u64 bytes, __u64 *model_ns)
{
	__u64 deadline = monotonic_ns() + cluster->config->dead_ns;
	struct timespec pause = timespec_of_ns(PAUSE_NS);
	struct accel_driver *driver;
	int err;

	while (!(driver = accel_running_get(function))) {
		if (monotonic_ns() > deadline || cluster_stopping(cluster))
			return failed(-ENODEV, "no driver of this host runs function %u, the peer",
				      function);
		nanosleep(&pause, NULL);
	}
	err = accel_mapped_copy(driver, opcode, memory, local, bytes, model_ns);
	pthread_mutex_unlock(&driver->lock);
	return err;
}
