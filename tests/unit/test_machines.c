// SPDX-License-Identifier: GPL-2.0
/* How many machines are watched at once: that there are more is said, not passed over. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "injectors/emu/registry_observers.h"
#include "injectors/emu/registry_socket.h"
#include "lib/base/clock.h"
#include "lib/base/run_directory.h"
#include "lib/capture/machines.h"

#define WATCHED 512
#define BEYOND	3

static char path[64];
static int directory;

static int setup(void **state)
{
	struct rlimit files = {2048, 4096};

	(void)state;
	snprintf(path, sizeof(path), "/run/faultline-test.XXXXXX");
	assert_non_null(mkdtemp(path));
	setenv(RUN_DIRECTORY_VAR, path, 1);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory < 0 || setrlimit(RLIMIT_NOFILE, &files);
}

static int teardown(void **state)
{
	(void)state;
	close(directory);
	/* Fails if anything was left behind. */
	return rmdir(path);
}

static int trust(void *self, __u32 pid, int executable)
{
	(void)self;
	(void)pid;
	(void)executable;
	return 0;
}

static void refused(void *self)
{
	(void)self;
}

static const struct machines_ops ops = {.trust = trust, .refused = refused};

static void more_machines_than_can_be_watched_are_told(void **state)
{
	static int listening[WATCHED + BEYOND];
	struct machines *machines;
	struct loss_info loss;
	char name[32];

	(void)state;
	for (int i = 0; i < WATCHED + BEYOND; i++) {
		snprintf(name, sizeof(name), "%d%s", i + 1, RUN_MACHINE_SUFFIX);
		listening[i] = registry_socket_listen(directory, name);
		assert_true(listening[i] >= 0);
	}
	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	machines_loss(machines, &loss);
	assert_int_equal(machines_count(machines), WATCHED);
	assert_int_equal(loss.machines_unknown, BEYOND);
	/* Room that is free again is used; what was not watched before stays told. */
	for (int i = 0; i < WATCHED + BEYOND; i++)
		close(listening[i]);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	assert_int_equal(machines_count(machines), 0);
	assert_int_equal(machines_poll(machines, monotonic_ns() + NSEC_PER_SEC), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_unknown, BEYOND);
	machines_destroy(machines);
}

/* The account alone: machines that are never met, in any order, with and without a total. */
static void machines_that_are_not_met_are_counted(void **state)
{
	struct registry_observers observers[7] = {0};
	struct machines *machines;
	struct loss_info loss;

	(void)state;
	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	for (int i = 0; i < 7; i++) {
		assert_int_equal(registry_observers_tell_begin(&observers[i], directory), 0);
		assert_int_equal(observers[i].count, 1);
		assert_int_equal(registry_observers_alive(&observers[i]), 1);
	}
	for (int i = 6; i >= 2; i--)
		registry_observers_tell_end(&observers[i], 1000 + (unsigned int)i);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_missed, 5);
	assert_int_equal(loss.access_missed, 5000 + 2 + 3 + 4 + 5 + 6);
	assert_int_equal(loss.machines_unknown, 0);
	assert_int_equal(machines_finish(machines), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_missed, 5);
	assert_int_equal(loss.machines_unknown, 2);
	machines_destroy(machines);
	/* Nobody waits for an observer that has gone, and telling it harms nobody. */
	assert_int_equal(registry_observers_alive(&observers[0]), 0);
	registry_observers_tell_end(&observers[0], 1);
	registry_observers_tell_end(&observers[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_that_are_not_met_are_counted),
		cmocka_unit_test(more_machines_than_can_be_watched_are_told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
