// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/accel_driver.h"

#include <errno.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/seen.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "injectors/emu/thread.h"

#define STOP_LOOK_NS (20 * NSEC_PER_MSEC) /* while nothing is due */

struct accel_work {
	struct accel_driver driver;
	const struct borrow_config *borrow;
	void *buffer, *bounce;
	__u32 peer;	    /* function; CLUSTER_NONE: RAM is what it copies from and to */
	__u64 peer_address; /* of its memory, for our device */
};

/* Between RAM and our device's memory. What is only to get data there does not count: `model_ns` NULL. */
static int work_ram(struct accel_work *work, enum accel_opcode opcode, void *memory, __u64 local,
		    __u64 bytes, __u64 *model_ns)
{
	enum dma_direction direction = opcode == ACCEL_FROM_BUS ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	struct bus *bus = work->driver.bus;
	__u64 address;
	int err = bus->ops->dma_map(bus, memory, bytes, direction, &address);

	if (err)
		return err;
	err = accel_copy(&work->driver, opcode, false, address, local, bytes, model_ns);
	bus->ops->dma_unmap(bus, address, bytes, direction);
	return err;
}

/* From our device's memory to the peer's, straight or by RAM; the two have the same place in both. */
static int work_to_peer(struct accel_work *work, __u64 at, __u64 bytes, __u64 *model_ns)
{
	struct cluster *cluster = work->driver.bus->cluster;
	int err;

	if (!work->borrow->peer_bounce)
		return accel_copy(&work->driver, ACCEL_TO_BUS, true, work->peer_address + at, at,
				  bytes, model_ns);
	err = work_ram(work, ACCEL_TO_BUS, work->bounce, at, bytes, model_ns);
	return err ? err
		   : accel_peer_copy(cluster, work->peer, ACCEL_FROM_BUS, work->bounce, at, bytes,
				     model_ns);
}

static int work_from_peer(struct accel_work *work, __u64 at, __u64 bytes, __u64 *model_ns)
{
	struct cluster *cluster = work->driver.bus->cluster;
	int err;

	if (!work->borrow->peer_bounce)
		return accel_copy(&work->driver, ACCEL_FROM_BUS, true, work->peer_address + at, at,
				  bytes, model_ns);
	err = accel_peer_copy(cluster, work->peer, ACCEL_TO_BUS, work->bounce, at, bytes, model_ns);
	return err ? err : work_ram(work, ACCEL_FROM_BUS, work->bounce, at, bytes, model_ns);
}

static int work_io(struct accel_work *work, const struct io_next *io, __u64 *model_ns)
{
	bool peer = work->peer != CLUSTER_NONE;
	int err;

	if (io->write) {
		err = work_ram(work, ACCEL_FROM_BUS, work->buffer, io->offset, io->bytes,
			       peer ? NULL : model_ns);
		if (!err && peer)
			err = work_to_peer(work, io->offset, io->bytes, model_ns);
		return err;
	}
	err = peer ? work_from_peer(work, io->offset, io->bytes, model_ns) : 0;
	return err ? err
		   : work_ram(work, ACCEL_TO_BUS, work->buffer, io->offset, io->bytes,
			      peer ? NULL : model_ns);
}

static void work_seen(const struct accel_work *work, const struct io_next *io, __u64 begin_ns,
		      __u64 model_ns, int err)
{
	const struct bus *bus = work->driver.bus;
	struct seen_io seen = {
		.agent = bus->cluster->self,
		.device = bus->device,
		.number = (__u32)io->number,
		.offset = io->offset,
		.bytes = io->bytes,
		.begin_ns = begin_ns,
		.end_ns = monotonic_ns(),
		.write = io->write,
		.error = -err,
	};

	seen.model_ns[IO_STAGE_DATA] = model_ns;
	seen_io(bus->cluster, &seen);
}

static int work_loop(struct accel_work *work, struct io_user *user, const int *stop)
{
	struct cluster *cluster = work->driver.bus->cluster;
	int err = 0;

	while (!err && !cluster_stopping(cluster) &&
	       !(stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE))) {
		__u64 wait_ns, begin_ns, model_ns = 0;
		struct io_next io;

		if (!io_user_next(user, &io, &wait_ns)) {
			if (!wait_ns)
				break;
			sleep_until(monotonic_ns() +
				    (wait_ns < STOP_LOOK_NS ? wait_ns : STOP_LOOK_NS));
			continue;
		}
		if (io.write)
			io_user_fill(user, &io, work->buffer);
		begin_ns = monotonic_ns();
		err = work_io(work, &io, &model_ns);
		io_user_done(user, &io, work->buffer, err, begin_ns, model_ns);
		work_seen(work, &io, begin_ns, model_ns, err);
		if (err == -EIO) /* of this copy; what is worse names the device */
			err = 0;
	}
	return err;
}

static int work_peer_find(struct accel_work *work)
{
	const struct bus *bus = work->driver.bus;
	const struct cluster_device_config *devices = bus->cluster->config->devices;
	__u32 peer = work->borrow->peer;

	work->peer = CLUSTER_NONE;
	if (peer == CLUSTER_NONE)
		return 0;
	if (devices[peer].bytes < devices[bus->device].bytes)
		return failed(
			-EINVAL,
			"peer %s has %llu bytes of memory, %s has %llu: accepted: as much or more",
			devices[peer].name, devices[peer].bytes, devices[bus->device].name,
			devices[bus->device].bytes);
	work->peer = function_of(bus->cluster, peer, 0);
	if (work->borrow->peer_bounce)
		return 0;
	return peer_resolve(bus->cluster, bus->function, work->peer, ACCEL_MEMORY_BAR, bus->borrow,
			    &work->peer_address);
}

static int work_memory(struct accel_work *work)
{
	struct bus *bus = work->driver.bus;
	__u64 bytes = work->borrow->io.block;

	work->buffer = bus->ops->memory(bus, bytes);
	work->bounce = bus->ops->memory(bus, bytes);
	return work->buffer && work->bounce
		       ? 0
		       : failed(-ENOMEM, "no memory for two buffers of %llu bytes", bytes);
}

int accel_driver_run(struct bus *bus, const struct borrow_config *borrow, struct io_user *user,
		     const int *stop)
{
	__u32 peer = borrow->peer != CLUSTER_NONE && borrow->peer_bounce
			     ? function_of(bus->cluster, borrow->peer, 0)
			     : CLUSTER_NONE;
	struct accel_work work = {.driver = {.bus = bus,
					     .lock = PTHREAD_MUTEX_INITIALIZER,
					     .peer = peer,
					     .working = true},
				  .borrow = borrow,
				  .peer = CLUSTER_NONE};
	int err = accel_probe(&work.driver);

	if (err)
		return err;
	err = work_memory(&work);
	if (!err)
		err = work_peer_find(&work);
	if (!err)
		err = work_loop(&work, user, stop);
	if (!err)
		accel_linger(&work.driver, stop);
	accel_remove(&work.driver, err == -ENODEV);
	if (work.peer_address)
		peer_release(bus->cluster, bus->function, bus->borrow);
	if (work.buffer)
		bus->ops->memory_free(bus, work.buffer, borrow->io.block);
	if (work.bounce)
		bus->ops->memory_free(bus, work.bounce, borrow->io.block);
	return err;
}

int stock_driver_run(struct bus *bus, const struct borrow_config *borrow, struct io_user *user,
		     const int *stop)
{
	if (bus->cluster->config->devices[bus->device].model == MODEL_ACCEL)
		return accel_driver_run(bus, borrow, user, stop);
	return nvme_driver_run(bus, &borrow->io, user, stop);
}
