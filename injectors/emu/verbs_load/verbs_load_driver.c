// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs_load/verbs_load_driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "injectors/emu/hyv/guest_process.h"
#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs_load/load_host.h"
#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/fail.h"

#define WAIT_STEP_NS (2 * NSEC_PER_MSEC)

/* An end: a thread of the machine, or a process. */
struct load_driver {
	struct driver_setup setup;
	struct load_share *share;
	int end;
	struct verbs_load_hosts host; /* of this device, once it is stopped */
	bool started, stopped;
	/* Of a guest that is a process. */
	struct load_guest guest;
	struct guest_process *process;
	/* Of the active end: takes memory away before it reads. */
	pthread_t presser;
	bool presses;
	/* Of one that is a thread. */
	pthread_t thread;
	struct load_place place;
	__u64 next, room; /* of the guest's memory */
};

/* Nothing is given back before the end's end. */
static void *allocate_here(struct load_place *place, __u64 bytes, __u64 *guest_address)
{
	struct load_driver *driver = place->argument;

	bytes = whole_pages(bytes);
	if (bytes > driver->room)
		return NULL;
	*guest_address = driver->next;
	driver->next += bytes;
	driver->room -= bytes;
	return guest_memory_cpu(driver->setup.memory, *guest_address);
}

static int open_here(struct load_driver *driver)
{
	struct load_place *place = &driver->place;
	__u64 offset;
	int error = verbs_open(&place->device, &driver->setup);

	if (error)
		return error;
	place->allocate = allocate_here;
	place->argument = driver;
	verbs_memory(place->device, &driver->next, &driver->room, &offset);
	return 0;
}

static void close_here(struct load_driver *driver)
{
	if (driver->place.device)
		verbs_close(driver->place.device);
	driver->place.device = NULL;
}

static void load_destroy(void *argument)
{
	struct load_driver *driver = argument;

	close_here(driver);
	load_share_drop(driver->share);
	free(driver);
}

static enum rdma_mode mode_of(const struct load_driver *driver)
{
	return ((const struct rdma_settings *)driver->setup.device->settings.bytes)->mode;
}

static bool is_process(const struct load_driver *driver)
{
	return mode_of(driver) > RDMA_MODE_NATIVE;
}

/* Control needs no peer: that end is over before it begins. */
static bool has_no_part(const struct load_driver *driver)
{
	return driver->end && !verbs_load_moves(driver->share->config.test);
}

static int load_create(void **argument, const struct driver_setup *setup)
{
	struct load_driver *driver, *peer = setup->peer;
	int error = 0;

	*argument = NULL;
	driver = calloc(1, sizeof(*driver));
	if (!driver)
		return failed(-ENOMEM, "no memory for the driver of an RDMA device");
	driver->setup = *setup;
	driver->end = setup->verbs->peer == setup->index;
	driver->share = peer ? peer->share : load_share_create(setup->verbs);
	if (!driver->share) {
		free(driver);
		return -ENOMEM;
	}
	driver->share->presses = setup->verbs->test == LOAD_pressure && setup->machine &&
				 machine_reclaims(setup->machine);
	if (peer)
		load_share_use(driver->share);
	if (has_no_part(driver))
		load_share_reach(driver->share, driver->end, LOAD_OVER);
	else if (!is_process(driver))
		error = open_here(driver);
	if (error) {
		load_destroy(driver);
		return failed_in(error, "[verbs %s]", setup->verbs->name);
	}
	*argument = driver;
	return 0;
}

static void *run_here(void *argument)
{
	struct load_driver *driver = argument;

	load_end_run(&driver->place, driver->share, driver->end);
	return NULL;
}

/*
 * Both ends have just touched all that is read, and the reclaimer's next pass may come when a short load is over: this one comes
 * before the first read.
 */
static void *press(void *argument)
{
	struct load_driver *driver = argument;
	struct load_share *share = driver->share;

	for (int end = 0; end < 2; end++)
		if (!load_share_await(share, end, LOAD_CONNECTED))
			return NULL;
	machine_reclaim(driver->setup.machine, &share->stopping);
	atomic_store(&share->pressed, true);
	return NULL;
}

static int start_presser(struct load_driver *driver)
{
	int error;

	if (driver->end || !driver->share->presses)
		return 0;
	error = thread_start(&driver->presser, NULL, press, driver, "verbs-press");
	driver->presses = !error;
	return error;
}

static int load_start(void *argument)
{
	struct load_driver *driver = argument;
	int error;

	if (has_no_part(driver))
		return 0;
	error = start_presser(driver);
	if (error)
		return error;
	driver->guest = (struct load_guest){driver->share, driver->end};
	if (is_process(driver))
		return load_host_start(&driver->process, &driver->setup, &driver->guest);
	error = thread_start(&driver->thread, NULL, run_here, driver, "verbs-end%d", driver->end);
	driver->started = !error;
	return error;
}

/* A guest that has been killed says nothing more: it is said for it, and its other end is let go. */
static void look_for_death(struct load_driver *driver)
{
	char sentence[128];
	int status;

	if (!driver->process || load_share_over(driver->share, driver->end) ||
	    guest_process_wait(driver->process, 0, &status) ||
	    load_share_over(driver->share, driver->end))
		return;
	if (WIFSIGNALED(status))
		snprintf(sentence, sizeof(sentence), "the guest of %s was ended by signal %d",
			 driver->setup.device->name, WTERMSIG(status));
	else
		snprintf(sentence, sizeof(sentence), "the guest of %s ended by itself, code %d",
			 driver->setup.device->name, WEXITSTATUS(status));
	load_share_fail(driver->share, -EIO, sentence);
	load_share_reach(driver->share, driver->end, LOAD_OVER);
}

static int load_wait(void *argument, __u64 timeout_ns)
{
	struct load_driver *driver = argument;
	__u64 until = monotonic_ns() + timeout_ns;

	for (;;) {
		look_for_death(driver);
		if (load_share_over(driver->share, driver->end))
			return 0;
		if (monotonic_ns() >= until)
			return -ETIMEDOUT;
		sleep_until(monotonic_ns() + WAIT_STEP_NS);
	}
}

static void stop_process(struct load_driver *driver)
{
	load_host_stop(driver->process, &driver->setup);
	driver->process = NULL;
	load_share_reach(driver->share, driver->end, LOAD_OVER);
}

static void load_stop(void *argument)
{
	struct load_driver *driver = argument;

	if (driver->stopped)
		return;
	driver->stopped = true;
	if (!load_share_over(driver->share, driver->end)) {
		load_share_stop(driver->share);
		if (driver->place.device)
			verbs_shutdown(driver->place.device);
	}
	if (driver->process)
		stop_process(driver);
	if (driver->presses)
		pthread_join(driver->presser, NULL);
	if (driver->started)
		pthread_join(driver->thread, NULL);
	close_here(driver);
	load_host_count(&driver->setup, &driver->host);
}

static __u64 load_buffer_bytes(void *argument)
{
	const struct load_driver *driver = argument;

	return verbs_load_bytes(&driver->share->config, driver->end);
}

const char *verbs_load_driver_result(const void *argument, struct verbs_load_result *sum)
{
	const struct load_driver *driver = argument;

	load_share_result(driver->share, sum);
	return driver->share->error;
}

void verbs_load_driver_host(const void *argument, struct verbs_load_hosts *sum)
{
	const struct verbs_load_hosts *host = &((const struct load_driver *)argument)->host;

	sum->registered_most += host->registered_most;
	for (int role = 0; role < 3; role++)
		sum->pinned_most[role] += host->pinned_most[role];
	sum->refused += host->refused;
	sum->remaps += host->remaps;
	sum->remaps_skipped += host->remaps_skipped;
	sum->unequal += host->unequal;
	sum->engine_ns += host->engine_ns;
	for (int step = 0; step < 3; step++)
		if (host->least_ns[step] &&
		    (!sum->least_ns[step] || host->least_ns[step] < sum->least_ns[step]))
			sum->least_ns[step] = host->least_ns[step];
}

const struct device_driver verbs_load_driver = {
	.create = load_create,
	.start = load_start,
	.wait = load_wait,
	.stop = load_stop,
	.destroy = load_destroy,
	.buffer_bytes = load_buffer_bytes,
};
