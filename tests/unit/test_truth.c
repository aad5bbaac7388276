// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/truth.h"
#include "lib/base/fail.h"
#include "tests/unit/scratch.h"

#define THREADS 7
#define RECORDS 5003 /* each, several chunks */

static char path[64];

static int setup(void **state)
{
	int error = scratch_make(state);

	snprintf(path, sizeof(path), "%s/truth", scratch);
	return error;
}

static __u64 number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void a_record_is_one_line_of_json(void **state)
{
	const struct truth_record record = {.time_ns = 1234567890123456789ull,
					    .fault = 42,
					    .address = 0xffffffffff000,
					    .length = 4096,
					    .value = 77,
					    .device = 3,
					    .pasid = PASID_NONE,
					    .group = 9,
					    .tenant = 2,
					    .queue = QUEUE_NONE,
					    .who = TRUTH_SERVICE,
					    .what = TRUTH_RESPONSE,
					    .code = 15,
					    .flags = EVENT_READ | EVENT_LAST};
	char line[512], more[8];
	json_t *object;
	FILE *file;

	truth_log(record); /* no log is open: nothing happens */
	assert_int_equal(truth_open(path, false), 0);
	truth_log(record);
	assert_int_equal(truth_close(), 0);
	file = fopen(path, "re");
	assert_non_null(fgets(line, sizeof(line), file));
	assert_null(fgets(more, sizeof(more), file));
	fclose(file);
	object = json_loads(line, 0, NULL);
	assert_non_null(object);
	assert_int_equal(json_object_size(object), 15);
	assert_true(number(object, "time_ns") == record.time_ns);
	assert_string_equal(json_string_value(json_object_get(object, "who")), "service");
	assert_string_equal(json_string_value(json_object_get(object, "what")), "response");
	assert_int_equal(number(object, "fault"), 42);
	assert_int_equal(number(object, "device"), 3);
	assert_true(json_is_null(json_object_get(object, "pasid")));
	assert_true(json_is_null(json_object_get(object, "queue")));
	assert_int_equal(number(object, "group"), 9);
	assert_true(number(object, "address") == record.address);
	assert_int_equal(number(object, "length"), 4096);
	assert_int_equal(number(object, "value"), 77);
	assert_int_equal(number(object, "code"), 15);
	assert_int_equal(number(object, "flags"), EVENT_READ | EVENT_LAST);
	assert_int_equal(number(object, "tenant"), 2);
	assert_int_equal(number(object, "tid"), gettid());
	json_decref(object);
}

static void *log_records(void *argument)
{
	for (int i = 0; i < RECORDS; i++)
		truth_log((struct truth_record){
			.fault = i, .device = (__u32)(uintptr_t)argument, .queue = QUEUE_NONE});
	return NULL;
}

/* Twice: a thread that outlives a log must not write to its chunk again. */
static void all_threads_records_come_in_time_order(void **state)
{
	for (int round = 0; round < 2; round++) {
		__u64 next[THREADS + 1] = {0}, last = 0, lines = 0;
		pthread_t threads[THREADS];
		char line[512];
		FILE *file;

		assert_int_equal(truth_open(path, round > 0), 0);
		for (uintptr_t i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, log_records, (void *)i);
		log_records((void *)THREADS);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(truth_close(), 0);
		file = fopen(path, "re");
		for (; fgets(line, sizeof(line), file); lines++) {
			json_t *object = json_loads(line, 0, NULL);
			__u64 device = number(object, "device");

			assert_true(number(object, "time_ns") >= last);
			last = number(object, "time_ns");
			assert_int_equal(number(object, "fault"), next[device]++);
			json_decref(object);
		}
		fclose(file);
		assert_int_equal(lines, (THREADS + 1) * RECORDS);
	}
}

static void an_existing_file_is_not_touched(void **state)
{
	char target[80];

	assert_int_equal(truth_open(path, false), 0);
	assert_int_equal(truth_open(path, true), -EBUSY);
	assert_int_equal(truth_close(), 0);
	assert_int_equal(truth_open(path, false), -EEXIST);
	assert_non_null(strstr(failure_text(), path));
	unlink(path);
	snprintf(target, sizeof(target), "%s/target", scratch);
	assert_int_equal(symlink(target, path), 0);
	assert_int_not_equal(truth_open(path, true), 0);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(truth_open("/nonexistent/truth", false), -ENOENT);
	assert_int_equal(truth_close(), 0);
}

static void a_full_disk_is_reported(void **state)
{
	assert_int_equal(truth_open("/dev/full", true), 0);
	for (int i = 0; i < 101; i++)
		truth_log((struct truth_record){.fault = i});
	assert_true(truth_close() < 0);
	assert_non_null(strstr(failure_text(), "/dev/full"));
	assert_false(truth_enabled());
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, setup, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(a_record_is_one_line_of_json),
		WITH_FILE(all_threads_records_come_in_time_order),
		WITH_FILE(an_existing_file_is_not_touched),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests_name("truth", tests, NULL, NULL);
}
