// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "injectors/cluster/accel_engine.h"
#include "injectors/cluster/agent.h"
#include "injectors/cluster/nvme_engine.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* Looks for a completion's price: at first the engine is about to write it, later it has been killed. */
#define PRICE_YIELDS   64
#define PRICE_SLEEPS   100
#define PRICE_SLEEP_NS (50 * NSEC_PER_USEC)

#define ENGINE_WAIT_NS (50 * NSEC_PER_MSEC) /* until it looks whether it is to end */

/* Of this process. */
static struct engine_thread {
	struct nvme_device *nvme; /* or */
	struct accel_device *accel;
	pthread_t thread;
} engines[CLUSTER_LENT_MAX];
static __u32 engine_count;

static int nvme_function_share(struct cluster *cluster, struct nvme_disk *disk,
			       struct nvme_function_shared *shared)
{
	shared->fates = shared_alloc(cluster, disk->queues * sizeof(*shared->fates));
	shared->prices = shared_alloc(cluster, (size_t)disk->queues * NVME_QUEUE_ENTRIES *
						       sizeof(*shared->prices));
	if (!shared->fates || !shared->prices)
		return -ENOMEM;
	return 0;
}

static int nvme_disk_create(struct cluster *cluster, struct nvme_disk *disk,
			    const struct cluster_device_config *config)
{
	__u64 blocks = config->bytes / NVME_BLOCK;
	int err = 0;

	disk->functions = config->functions ? config->functions : 1;
	disk->queues = config->queue_pairs + 1;
	disk->storage = shared_alloc(cluster, blocks * NVME_BLOCK);
	disk->buffer = shared_alloc(cluster, NVME_TRANSFER_BYTES);
	disk->records = shared_alloc(cluster, blocks * sizeof(*disk->records));
	disk->written = shared_alloc(cluster, blocks / NVME_STRETCH + 1);
	disk->journal = shared_alloc(cluster, sizeof(*disk->journal));
	disk->shared = shared_alloc(cluster, disk->functions * sizeof(*disk->shared));
	if (!disk->storage || !disk->buffer || !disk->records || !disk->written || !disk->journal ||
	    !disk->shared)
		return -ENOMEM;
	for (__u32 i = 0; !err && i < disk->functions; i++)
		err = nvme_function_share(cluster, disk, &disk->shared[i]);
	disk->blocks = blocks;
	return err;
}

int nvmes_create(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	int err = 0;

	cluster->nvmes = shared_alloc(cluster, sizeof(*cluster->nvmes));
	if (!cluster->nvmes)
		return -ENOMEM;
	cluster->nvmes->disks =
		shared_alloc(cluster, (config->device_count + 1) * sizeof(struct nvme_disk));
	if (!cluster->nvmes->disks)
		return -ENOMEM;
	for (__u32 i = 0; !err && i < config->device_count; i++)
		if (config->devices[i].model == MODEL_NVME)
			err = nvme_disk_create(cluster, &cluster->nvmes->disks[i],
					       &config->devices[i]);
	return err ? err : io_users_create(cluster);
}

struct nvme_disk *nvme_disk(const struct cluster *cluster, __u32 device)
{
	if (device >= cluster->config->device_count || !cluster->nvmes->disks[device].blocks)
		return NULL;
	return &cluster->nvmes->disks[device];
}

static struct nvme_function_shared *nvme_shared(const struct cluster *cluster, __u32 function,
						struct nvme_disk **disk)
{
	__u32 device = function_device(cluster, function);
	__u32 number;

	*disk = nvme_disk(cluster, device);
	if (!*disk)
		return NULL;
	number = function - function_of(cluster, device, 0);
	return number < (*disk)->functions ? &(*disk)->shared[number] : NULL;
}

struct io_price *nvme_price(const struct cluster *cluster, __u32 function, __u32 queue, __u32 entry)
{
	struct nvme_disk *disk;
	struct nvme_function_shared *shared = nvme_shared(cluster, function, &disk);

	if (!shared || queue >= disk->queues || entry >= NVME_QUEUE_ENTRIES)
		return NULL;
	return &shared->prices[queue * NVME_QUEUE_ENTRIES + entry];
}

void nvme_price_begin(struct io_price *price, __u32 user)
{
	*price = (struct io_price){.begin_ns = monotonic_ns(), .user = user};
}

__u64 nvme_price_take(struct io_price *price, struct io_price *taken)
{
	struct timespec pause = timespec_of_ns(PRICE_SLEEP_NS);
	__u64 sum = 0;

	for (int i = 0; i < PRICE_YIELDS + PRICE_SLEEPS; i++) {
		if (__atomic_load_n(&price->priced, __ATOMIC_ACQUIRE))
			break;
		if (i < PRICE_YIELDS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
	*taken = *price;
	for (int i = 0; i < IO_STAGES; i++)
		sum += taken->model_ns[i];
	return sum;
}

struct nvme_applied nvme_applied(const struct cluster *cluster, __u32 device, __u64 block)
{
	struct nvme_disk *disk = nvme_disk(cluster, device);
	const struct nvme_block_record *record;

	if (!disk || block >= disk->blocks)
		return (struct nvme_applied){0};
	record = &disk->records[block];
	return (struct nvme_applied){record->sequence, record->writer, record->word & 0xffff};
}

/* What nobody has written is passed over: a disk may be far larger than memory. */
__u64 nvme_applied_twice(const struct cluster *cluster, __u32 device)
{
	const struct nvme_disk *disk = nvme_disk(cluster, device);
	__u64 twice = 0;

	for (__u64 b = 0; disk && b < disk->blocks;)
		if (disk->written[b / NVME_STRETCH])
			twice += nvme_applied(cluster, device, b++).times > 1;
		else
			b += NVME_STRETCH;
	return twice;
}

void nvme_stats(const struct cluster *cluster, __u32 function, struct nvme_stats *stats)
{
	struct nvme_disk *disk;
	struct nvme_function_shared *shared = nvme_shared(cluster, function, &disk);

	*stats = shared ? shared->stats : (struct nvme_stats){0};
}

static bool engine_stopped(const struct cluster *cluster, const __u32 *stopped)
{
	return __atomic_load_n(stopped, __ATOMIC_ACQUIRE) ||
	       cluster_phase(cluster) >= CLUSTER_CLOSING;
}

static void engine_close(struct engine_thread *engine)
{
	if (engine->nvme)
		nvme_device_close(engine->nvme);
	if (engine->accel)
		accel_device_close(engine->accel);
	*engine = (struct engine_thread){0};
}

static void *nvme_main(void *argument)
{
	struct nvme_device *device = argument;
	struct cluster *cluster = device->cluster;

	while (!engine_stopped(cluster, &device->stopped)) {
		__u32 seen = function_writes(cluster, device->device);
		__u64 wait_ns = ENGINE_WAIT_NS;

		if (!nvme_device_turn(device, &wait_ns))
			function_wait(cluster, device->device, seen, wait_ns);
	}
	return NULL;
}

static void *accel_main(void *argument)
{
	struct accel_device *device = argument;
	struct cluster *cluster = device->cluster;

	while (!engine_stopped(cluster, &device->stopped)) {
		__u32 seen = function_writes(cluster, device->device);

		if (!accel_device_turn(device))
			function_wait(cluster, device->device, seen, ENGINE_WAIT_NS);
	}
	return NULL;
}

static int engine_open(struct engine_thread *engine, struct cluster *cluster, __u32 device)
{
	const struct cluster_device_config *config = &cluster->config->devices[device];
	bool accel = config->model == MODEL_ACCEL;
	int err = accel ? accel_device_open(&engine->accel, cluster, device)
			: nvme_device_open(&engine->nvme, cluster, device);

	if (err)
		return err;
	err = thread_start(&engine->thread, &cluster->config->hosts[config->host].cpus,
			   accel ? accel_main : nvme_main,
			   accel ? (void *)engine->accel : (void *)engine->nvme, "dev %s",
			   config->name);
	if (err)
		engine_close(engine);
	return err;
}

int nvmes_start(struct cluster *cluster)
{
	int err = 0;

	for (__u32 i = 0; !err && i < cluster->config->device_count; i++) {
		struct engine_thread *engine = &engines[engine_count];

		if (cluster->config->devices[i].host != cluster->host)
			continue;
		err = engine_open(engine, cluster, i);
		if (!err)
			engine_count++;
	}
	return err;
}

void nvmes_stop(struct cluster *cluster)
{
	(void)cluster;
	while (engine_count) {
		struct engine_thread *engine = &engines[--engine_count];

		__atomic_store_n(engine->nvme ? &engine->nvme->stopped : &engine->accel->stopped, 1,
				 __ATOMIC_RELEASE);
		pthread_join(engine->thread, NULL);
		engine_close(engine);
	}
}
