// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/ranks/ranks_driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/ranks/rank_pattern.h"
#include "injectors/emu/ranks/ranks_driver_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define WAIT_STEP_NS (2 * NSEC_PER_MSEC)

static int open_rank_memory(struct ranks_driver *driver, const struct driver_setup *setup)
{
	const struct ranks_config *config = setup->ranks;
	struct rank_memory *memory = &driver->memory;
	const struct rank_pattern *pattern = rank_patterns[config->pattern];
	__u32 leases = pattern->streams ? config->depth : pattern->leases;
	__u64 address, bytes, iova_offset;
	int err = verbs_open(&memory->device, setup);

	if (err)
		return err;
	verbs_memory(memory->device, &address, &bytes, &iova_offset);
	err = guest_heap_create(&memory->heap, address, bytes);
	if (err)
		return err;
	ranks_plan(config, driver->on_peer, setup->channel->config.bytes, &driver->layout);
	memory->memory = setup->memory;
	memory->mode = memory_modes[config->memory];
	memory->bytes = driver->layout.local * driver->layout.buffers;
	memory->cache_bytes = config->cache_bytes;
	memory->largest = driver->layout.largest;
	memory->bounces = driver->layout.local * leases;
	memory->advise =
		config->advise == RANKS_ADVISE_BOTH ||
		config->advise == (driver->on_peer ? RANKS_ADVISE_PEER : RANKS_ADVISE_DEVICE);
	return guest_heap_take(memory->heap, memory->bytes, &memory->start);
}

static void place_rank(struct ranks_driver *driver, __u32 place)
{
	const struct ranks_config *config = driver->group->config;
	__u64 used = config->working_set ? config->working_set : driver->layout.buffers;
	struct rank *rank = &driver->rank[place];

	rank->index = place * 2 + driver->on_peer;
	rank->group = driver->group;
	rank->config = config;
	rank->pattern = rank_patterns[config->pattern];
	rank->memory = &driver->memory;
	rank->layout = driver->layout;
	rank->buffers = driver->memory.start + place * driver->layout.buffers;
	rank->buffer_slots =
		config->off_cache ? used / driver->layout.largest : driver->layout.slots;
}

static int create_ranks(struct ranks_driver *driver)
{
	int err = 0;

	driver->rank = calloc(driver->layout.local, sizeof(*driver->rank));
	if (!driver->rank)
		return failed(-ENOMEM, "no memory for %u ranks", driver->layout.local);
	for (__u32 i = 0; i < driver->layout.local; i++)
		place_rank(driver, i);
	for (__u32 i = 0; !err && i < driver->layout.local; i++) {
		driver->created++;
		err = rank_create(&driver->rank[i]);
	}
	return err ? err : driver->memory.mode->open(&driver->memory);
}

static int connect_ranks(struct ranks_driver *driver)
{
	int err = 0;

	for (__u32 i = 0; !err && i < driver->created; i++)
		err = rank_connect(&driver->rank[i]);
	return err;
}

/* The ranks' threads have ended. */
static void take_down(struct ranks_driver *driver)
{
	if (!driver->memory.device)
		return;
	for (__u32 i = 0; i < driver->created; i++)
		rank_destroy(&driver->rank[i]);
	if (driver->memory.mode)
		driver->memory.mode->close(&driver->memory);
	verbs_close(driver->memory.device);
	driver->memory.device = NULL;
}

static void ranks_destroy(void *argument)
{
	struct ranks_driver *driver = argument;

	take_down(driver);
	guest_heap_destroy(driver->memory.heap);
	if (driver->group)
		ranks_group_drop(driver->group);
	pthread_mutex_destroy(&driver->memory.lock);
	free(driver->rank);
	free(driver);
}

static void leave_out(struct ranks_driver *driver)
{
	take_down(driver);
	driver->created = 0;
}

/* Ranks whose memory may not be pinned do not start, and others do: what they hold already is given back. The sentence is
 * the device's, in another thread; without one it was not a pin that failed. */
static int ranks_refused(struct ranks_driver *driver, const struct driver_setup *setup, int err)
{
	char refusal[256] = "";

	if (err == -ENOMEM)
		verbs_refusal(setup, refusal, sizeof(refusal));
	if (!*refusal)
		return failed_in(err, "[ranks %s]", setup->ranks->name);
	fprintf(stderr, "[ranks %s] does not start: memory=%s: %s\n", setup->ranks->name,
		memory_modes[setup->ranks->memory]->name, refusal);
	driver->group->refused = true;
	leave_out(driver);
	if (setup->peer)
		leave_out(setup->peer);
	return 0;
}

/* The second of the two devices connects both: now all numbers are known. */
static int set_up_ranks(struct ranks_driver *driver, const struct driver_setup *setup)
{
	int err = open_rank_memory(driver, setup);

	if (!err)
		err = create_ranks(driver);
	if (!err && setup->peer)
		err = connect_ranks(setup->peer);
	if (!err && setup->peer)
		err = connect_ranks(driver);
	return err;
}

static int ranks_create(void **argument, const struct driver_setup *setup)
{
	struct ranks_driver *peer = setup->peer, *driver;
	int err;

	*argument = NULL;
	if (!setup->ranks)
		return 0;
	driver = calloc(1, sizeof(*driver));
	if (!driver)
		return failed(-ENOMEM, "no memory for the driver of an RDMA device");
	pthread_mutex_init(&driver->memory.lock, NULL);
	driver->on_peer = setup->ranks->peer == setup->index;
	driver->channel = setup->channel;
	if (peer) {
		driver->group = peer->group;
		ranks_group_use(driver->group);
	}
	err = peer ? 0 : ranks_group_create(&driver->group, setup->ranks);
	if (!err && !driver->group->refused) {
		err = set_up_ranks(driver, setup);
		if (err)
			err = ranks_refused(driver, setup, err);
	}
	if (err) {
		ranks_destroy(driver);
		return err;
	}
	*argument = driver;
	return 0;
}

static int ranks_start(void *argument)
{
	struct ranks_driver *driver = argument;
	int err = 0;

	for (__u32 i = 0; !err && i < driver->created; i++) {
		struct rank *rank = &driver->rank[i];

		err = thread_start(&rank->thread, NULL, rank_run, rank, "rank%u", rank->index);
		rank->running = !err;
	}
	return err;
}

static bool ranks_over(const struct ranks_driver *driver)
{
	for (__u32 i = 0; i < driver->created; i++)
		if (!__atomic_load_n(&driver->rank[i].done, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static int ranks_wait(void *argument, __u64 timeout_ns)
{
	__u64 until = monotonic_ns() + timeout_ns;

	while (!ranks_over(argument)) {
		if (monotonic_ns() >= until)
			return -ETIMEDOUT;
		sleep_until(monotonic_ns() + WAIT_STEP_NS);
	}
	return 0;
}

static void ranks_stop(void *argument)
{
	struct ranks_driver *driver = argument;

	if (driver->stopped)
		return;
	driver->stopped = true;
	ranks_group_stop(driver->group);
	/* In the middle of a run every wait ends, also for a command: what is left its backend destroys. */
	if (!ranks_over(driver))
		verbs_shutdown(driver->memory.device);
	for (__u32 i = 0; i < driver->created; i++)
		if (driver->rank[i].running)
			pthread_join(driver->rank[i].thread, NULL);
	take_down(driver);
}

void ranks_driver_result(const void *argument, struct ranks_result *sum)
{
	const struct ranks_driver *driver = argument;

	sum->refused = driver->group->refused;
	for (__u32 i = 0; i < driver->created; i++) {
		const struct ranks_result *result = &driver->rank[i].result;

		sum->operations += result->operations;
		sum->bytes += result->bytes;
		sum->errors += result->errors;
		sum->mismatches += result->mismatches;
		histogram_merge(&sum->latency, &result->latency);
		if (result->start_ns && (!sum->start_ns || result->start_ns < sum->start_ns))
			sum->start_ns = result->start_ns;
		if (result->end_ns > sum->end_ns)
			sum->end_ns = result->end_ns;
	}
	sum->hits += driver->memory.hits;
	sum->misses += driver->memory.misses;
	sum->overflows += driver->memory.overflows;
	sum->copied += driver->memory.copied;
}

const char *ranks_driver_error(const void *argument)
{
	return ((const struct ranks_driver *)argument)->group->error;
}

const struct device_driver rdma_driver = {
	.create = ranks_create,
	.start = ranks_start,
	.wait = ranks_wait,
	.stop = ranks_stop,
	.destroy = ranks_destroy,
	.ring_pages = ranks_ring_pages,
	.buffer_bytes = ranks_buffer_bytes,
};
