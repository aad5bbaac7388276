// SPDX-License-Identifier: GPL-2.0
/* What emulated hosts tell: devices and their numbers, rings that fill, a truth log that outlives who is killed. */
#include "tests/unit/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/seen_private.h"
#include "tests/unit/cluster_fixture.h"

static struct cluster_fixture fixture;
static struct borrow_config borrow;

static void lend_to_a(struct cluster_config *config)
{
	borrow = (struct borrow_config){.device = 0, .host = 0, .window = 1 << 20};
	config->borrows = &borrow;
	config->borrow_count = 1;
}

static int setup(void **state)
{
	(void)state;
	fixture_open(&fixture, fixture_two(false), lend_to_a);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_close(&fixture);
	return 0;
}

static void be(__u32 host)
{
	fixture.cluster->self = fixture.cluster->host = host;
}

static void every_device_has_its_place(void **state)
{
	struct cluster *c = fixture.cluster;
	struct registry_device *devices;
	__u32 a = fixture_host(&fixture, "a"), b = fixture_host(&fixture, "b"), count;
	__u32 disk = fixture_device(&fixture, "disk"), gpu = fixture_device(&fixture, "gpu");

	(void)state;
	assert_int_equal(disk, borrow.device);
	assert_int_equal(seen_registry(c, a, &devices, &count), 0);
	assert_string_equal(devices[seen_device(c, a, disk)].name, "a/disk@b");
	assert_string_equal(devices[seen_device(c, a, disk)].model, "nvme/lent");
	assert_string_equal(devices[seen_adapter(c, fixture_node(&fixture, "na"))].name, "a/na");
	assert_int_equal(seen_device(c, a, gpu), SEEN_NONE); /* nobody there may borrow it */
	for (__u32 i = 0; i < count; i++)
		for (__u32 j = 0; j < i; j++)
			assert_string_not_equal(devices[i].name, devices[j].name);
	free(devices);
	assert_int_equal(seen_registry(c, b, &devices, &count), 0);
	assert_string_equal(devices[seen_device(c, b, gpu)].name, "b/gpu");
	assert_string_equal(devices[seen_device(c, b, gpu)].model, "accel");
	free(devices);
}

static void tell(unsigned int times)
{
	const struct ntb_window window = {.adapter = fixture_node(&fixture, "na"), .bytes = 4096};

	for (unsigned int i = 0; i < times; i++)
		seen_window(fixture.cluster, &window, true, 7);
}

static void a_full_ring_loses_and_counts(void **state)
{
	(void)state;
	be(1);
	tell(SEEN_CROSS);
	assert_int_equal(seen_lost(fixture.cluster), 0);
	tell(43);
	assert_int_equal(seen_lost(fixture.cluster), 43);
	be(0);
	seen_relay(fixture.cluster);
	tell(1009); /* its own: fired at once */
	assert_int_equal(seen_lost(fixture.cluster), 43);
	be(1);
	tell(SEEN_CROSS);
	assert_int_equal(seen_lost(fixture.cluster), 43);
	tell(1);
	assert_int_equal(seen_lost(fixture.cluster), 44);
}

static void what_no_machine_has_is_lost(void **state)
{
	(void)state;
	be(0);
	seen_step(fixture.cluster,
		  &(struct step){.step = STEP_GRANT, .device = fixture_device(&fixture, "gpu")});
	assert_int_equal(seen_lost(fixture.cluster), 1);
}

static void a_damaged_ring_is_left_behind(void **state)
{
	struct sights *s = fixture.cluster->sights;
	struct seen_cursor *cursor = &s->cursors[1 * fixture.config.host_count + 0];

	(void)state;
	atomic_store(&cursor->head, 1ull << 60);
	be(0);
	seen_relay(fixture.cluster);
	assert_int_equal(atomic_load(&cursor->tail), 1ull << 60);
}

static void windows_are_charged_by_borrow(void **state)
{
	struct cluster *c = fixture.cluster;
	__u32 disk = fixture_device(&fixture, "disk");
	struct seen_gauges *g;

	(void)state;
	be(0);
	g = seen_gauges(c, 0, seen_device(c, 0, disk));
	seen_lend_map(c, disk, 5, 0, 3 * 4096, 1, true);
	seen_lend_map(c, disk, 5, 0, 4096, 1, true);
	seen_lend_map(c, disk, 5, 0, 3 * 4096, 1, false);
	assert_int_equal(g->charged, 4096);
	assert_int_equal(g->charged_most, 4 * 4096);
	assert_int_equal(g->window, borrow.window);
	seen_lend_map(c, disk, 6, 0, 8192, 1, true); /* another borrow begins with nothing */
	assert_int_equal(g->charged, 8192);
	assert_int_equal(g->charged_most, 8192);
}

static void failed_ios_are_counted_apart(void **state)
{
	struct cluster *c = fixture.cluster;
	__u32 disk = fixture_device(&fixture, "disk");
	struct seen_gauges *g;

	(void)state;
	be(0);
	g = seen_gauges(c, 0, seen_device(c, 0, disk));
	for (int i = 0; i < 7; i++)
		seen_io(c, &(struct seen_io){
				   .agent = 0, .device = disk, .bytes = 512, .error = i < 2});
	assert_int_equal(g->ios, 5);
	assert_int_equal(g->errors, 2);
	assert_int_equal(g->bytes, 5 * 512);
}

#define TOLD 4001u

static void log_forever(__u32 agent, unsigned int most)
{
	be(agent);
	for (unsigned int i = 0; i < most; i++)
		truth_cluster(fixture.cluster, &(struct cluster_truth){.what = "told",
								       .agent = agent,
								       .device = CLUSTER_NONE,
								       .value = i});
}

/* Every whole record of everybody is there, by time; a killed writer's last may be missing, no other. */
static void the_truth_outlives_who_is_killed(void **state)
{
	unsigned long long time, before = 0, value, next[2] = {0};
	struct sights *s = fixture.cluster->sights;
	unsigned int agent, lines = 0;
	char line[512];
	FILE *file = tmpfile();
	pid_t children[2];

	(void)state;
	log_forever(0, 1); /* nobody wants it yet */
	assert_int_equal(atomic_load(&s->truth_count), 0);
	cluster_truth_begin(fixture.cluster);
	for (__u32 i = 0; i < 2; i++) {
		children[i] = fork();
		if (!children[i]) {
			log_forever(i, i ? TOLD : 1u << 20);
			_exit(0);
		}
	}
	while (atomic_load(&s->truth_count) < TOLD)
		usleep(1000);
	kill(children[0], SIGKILL);
	for (int i = 0; i < 2; i++)
		waitpid(children[i], NULL, 0);
	assert_int_equal(cluster_truth_write(fixture.cluster, file), 0);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		assert_int_equal(sscanf(line,
					"{\"time_ns\":%llu,\"who\":\"cluster\",\"what\":\"told\","
					"\"agent\":%u,\"device\":null",
					&time, &agent),
				 2);
		assert_int_equal(sscanf(strstr(line, "\"value\""), "\"value\":%llu", &value), 1);
		assert_true(time >= before && agent < 2);
		assert_int_equal(value, next[agent]++);
		before = time;
		lines++;
	}
	fclose(file);
	assert_int_equal(next[1], TOLD);
	assert_in_range(lines, atomic_load(&s->truth_count) - 1, atomic_load(&s->truth_count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_device_has_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_ring_loses_and_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(what_no_machine_has_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_ring_is_left_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(windows_are_charged_by_borrow, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_ios_are_counted_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(the_truth_outlives_who_is_killed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
