// SPDX-License-Identifier: GPL-2.0
/* The stock drivers on a bus of their own host, and users of I/Os: all data right, whatever the sizes; what is wrong is found. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "injectors/cluster/accel.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/nvme_driver.h"
#include "injectors/cluster/nvme_engine.h"
#include "lib/base/fail.h"
#include "tests/unit/cluster_fixture.h"

static void slow_death(struct cluster_config *config)
{
	config->dead_ns = 20 * SECOND;
}

static void with_intx(struct cluster_config *config)
{
	slow_death(config);
	for (__u32 i = 0; i < config->device_count; i++)
		config->devices[i].intx = config->devices[i].model == MODEL_NVME;
}

static void quick_death(struct cluster_config *config)
{
	config->dead_ns = 200 * MS;
}

static void local_open(struct cluster_fixture *fixture, bool iommu, const char *device,
		       struct bus *bus, void (*change)(struct cluster_config *config))
{
	__u32 index;

	fixture_open(fixture, fixture_two(iommu), change);
	index = fixture_device(fixture, device);
	fixture->cluster->host = fixture->cluster->self = fixture->config.devices[index].host;
	if (bus_local_open(bus, fixture->cluster, function_of(fixture->cluster, index, 0)))
		fail_msg("%s", failure_text());
}

static void must_run(struct cluster_fixture *fixture, struct bus *bus,
		     const struct borrow_config *borrow, struct io_user *user)
{
	if (nvmes_start(fixture->cluster))
		fail_msg("%s", failure_text());
	if (io_user_open(user, fixture->cluster, &borrow->io, bus->device, 0, 1))
		fail_msg("%s", failure_text());
	if (stock_driver_run(bus, borrow, user, NULL))
		fail_msg("%s", failure_text());
	nvmes_stop(fixture->cluster);
	assert_int_equal(user->counts->ios, borrow->io.ios);
	assert_int_equal(user->counts->bytes, borrow->io.ios * borrow->io.block);
	assert_int_equal(user->counts->errors, 0);
	assert_int_equal(user->counts->wrong, 0);
	assert_int_equal(user->counts->outstanding, 0);
	assert_true(user->counts->model_ns > 0);
}

static void test_local(void **state)
{
	static const struct io_config kinds[] = {
		{.ios = 137, .depth = 1, .block = 512, .write_percent = 50},
		{.ios = 211, .depth = 5, .block = 4096, .write_percent = 40},
		{.ios = 101, .depth = 7, .block = 11 * 512, .write_percent = 60},
		{.ios = 67,
		 .depth = 13,
		 .block = 64 << 10,
		 .write_percent = 50,
		 .sequential = true},
		{.ios = 13, .depth = 2, .block = 1 << 20, .write_percent = 50},
	};

	for (int iommu = 0; iommu < 2; iommu++)
		for (unsigned int i = 0; i < COUNT(kinds); i++) {
			struct cluster_fixture fixture;
			struct borrow_config borrow = {.io = kinds[i], .peer = CLUSTER_NONE};
			struct nvme_stats stats;
			struct io_user user;
			struct bus bus;
			__u64 writes;

			borrow.io.verify = true;
			local_open(&fixture, iommu, "disk", &bus, i == 1 ? with_intx : slow_death);
			must_run(&fixture, &bus, &borrow, &user);
			nvme_stats(fixture.cluster, bus.function, &stats);
			assert_int_equal(stats.commands, borrow.io.ios);
			assert_int_equal(stats.failed, 0);
			writes = user.counts->writes_acknowledged;
			assert_in_range(writes, 1, borrow.io.ios - 1);
			io_user_close(&user);
			bus_local_close(&bus);
			fixture_close(&fixture);
		}
}

/* One that is begun anew goes on where the other has ended, and still knows what it has written. */
static void test_second_life(void **state)
{
	struct cluster_fixture fixture;
	struct borrow_config borrow = {.io = {.ios = 61,
					      .depth = 3,
					      .block = 2048,
					      .write_percent = 50,
					      .region_start = 512,
					      .region_bytes = 16 * 2048,
					      .verify = true},
				       .peer = CLUSTER_NONE};
	struct io_user user;
	struct bus bus;

	local_open(&fixture, true, "disk", &bus, slow_death);
	must_run(&fixture, &bus, &borrow, &user);
	io_user_close(&user);
	borrow.io.ios = 127;
	must_run(&fixture, &bus, &borrow, &user);
	for (__u32 block = 0; block < 66; block++)
		assert_true(nvme_applied(fixture.cluster, bus.device, block).times <= 1);
	io_user_close(&user);
	bus_local_close(&bus);
	fixture_close(&fixture);
}

/* A write that was lost, one that came twice, one that came from another block: reads find them. */
static void test_wrong_is_found(void **state)
{
	struct io_config config = {.ios = 0, .depth = 1, .block = 1024, .verify = true};
	struct cluster_fixture fixture;
	struct io_user user;
	struct io_next write = {0}, read;
	__u8 old[1024], new[1024], zero[1024] = {0};
	__u64 wait_ns;

	fixture_open(&fixture, fixture_two(false), NULL);
	config.write_percent = 100;
	config.region_bytes = 1024; /* one place */
	assert_int_equal(io_user_open(&user, fixture.cluster, &config,
				      fixture_device(&fixture, "disk"), 0, 1),
			 0);
#define READ(data, expected)                                             \
	do {                                                             \
		__u64 before = user.counts->wrong;                       \
		config.write_percent = 0;                                \
		assert_true(io_user_next(&user, &read, &wait_ns));       \
		assert_false(read.write);                                \
		io_user_done(&user, &read, data, 0, 0, 1);               \
		assert_int_equal(user.counts->wrong - before, expected); \
	} while (0)
#define WRITE(data, status)                                         \
	do {                                                        \
		config.write_percent = 100;                         \
		assert_true(io_user_next(&user, &write, &wait_ns)); \
		assert_true(write.write);                           \
		io_user_fill(&user, &write, data);                  \
		io_user_done(&user, &write, data, status, 0, 1);    \
	} while (0)
	READ(zero, 0);
	WRITE(old, 0);
	READ(old, 0);
	READ(zero, 1);
	WRITE(new, 0);
	READ(new, 0);
	READ(old, 1);
	WRITE(old, -EIO); /* may have been applied or not */
	READ(new, 0);
	READ(old, 0);
	WRITE(new, 0);
	READ(old, 1);
	memcpy(old, new, 512);
	memcpy(old + 512, new, 512);
	READ(old, 1);
	memcpy(old, new, 1024);
	old[1000] ^= 1;
	READ(old, 1);
	config.write_percent = 0;
	assert_true(io_user_next(&user, &read, &wait_ns));
	assert_false(io_user_next(&user, &read, &wait_ns)); /* never two at a time */
	assert_true(wait_ns > 0);
	io_user_close(&user);
	fixture_close(&fixture);
}

static void test_shares_and_refusals(void **state)
{
	struct io_config config = {.depth = 1, .block = 4096};
	struct cluster_fixture fixture;
	struct io_user user;
	__u32 disk;

	fixture_open(&fixture, fixture_two(false), NULL);
	disk = fixture_device(&fixture, "disk");
	for (__u32 i = 0; i < 30; i++) {
		assert_int_equal(io_user_open(&user, fixture.cluster, &config, disk, i, 30), 0);
		assert_int_equal(user.region_bytes, 68 * 4096);
		assert_int_equal(user.region_start, i * user.region_bytes);
		io_user_close(&user);
	}
	config.region_start = 8 << 20;
	config.region_bytes = 4096;
	assert_int_equal(io_user_open(&user, fixture.cluster, &config, disk, 0, 1), -ERANGE);
	config.region_start = 0;
	config.region_bytes = 2048;
	assert_int_equal(io_user_open(&user, fixture.cluster, &config, disk, 0, 1), -ERANGE);
	config.block = 1000;
	assert_int_equal(io_user_open(&user, fixture.cluster, &config, disk, 0, 1), -EINVAL);
	fixture_close(&fixture);
}

/* Of a device, and with the devices whose memory is copied to it, no byte is two users'. */
static void shares_apart(const struct borrow_config *borrows, __u32 count)
{
	struct cluster_fixture fixture;
	struct io_user users[8];

	fixture_open(&fixture, fixture_two(false), NULL);
	fixture.config.borrow_count = count;
	fixture.config.borrows = (struct borrow_config *)borrows;
	cluster_destroy(fixture.cluster);
	assert_int_equal(cluster_create(&fixture.cluster, &fixture.config, &fixture.costs), 0);
	for (__u32 i = 0; i < count; i++) {
		assert_int_equal(io_user_open(&users[i], fixture.cluster, &borrows[i].io,
					      borrows[i].device, CLUSTER_NONE, 0),
				 0);
		assert_true(users[i].region_bytes >= borrows[i].io.block);
		for (__u32 n = 0; n < i; n++)
			assert_true(users[n].region_start + users[n].region_bytes <=
				    users[i].region_start);
		io_user_close(&users[i]);
	}
	fixture_close(&fixture);
}

static void test_shares_do_not_overlap(void **state)
{
	static const __u64 blocks[] = {64 << 10, 4 << 10, 64 << 10, 512,
				       96 << 10, 4 << 10, 48 << 10};
	struct borrow_config borrows[7];
	struct cluster_fixture fixture;
	__u32 disk, near, far;

	fixture_open(&fixture, fixture_two(false), NULL);
	disk = fixture_device(&fixture, "disk");
	near = fixture_device(&fixture, "gpu");
	far = fixture_device(&fixture, "gpua");
	fixture_close(&fixture);
	for (__u32 i = 0; i < 7; i++)
		borrows[i] = (struct borrow_config){.device = disk,
						    .peer = CLUSTER_NONE,
						    .io = {.depth = 1, .block = blocks[i]}};
	shares_apart(borrows, 7);
	/* Who copies to a peer, the peer's own user, and who has nothing to do with it but its device. */
	for (__u32 i = 0; i < 7; i++)
		borrows[i].device = i % 2 ? near : far;
	borrows[2].peer = near;
	shares_apart(borrows, 7);
}

/* Whose share another's region= crosses cannot tell what that one has written from what is wrong. */
static void test_region_in_a_share(void **state)
{
	struct borrow_config borrows[3];
	struct cluster_fixture fixture;
	struct io_user user;

	fixture_open(&fixture, fixture_two(false), NULL);
	for (__u32 i = 0; i < 3; i++)
		borrows[i] = (struct borrow_config){.device = fixture_device(&fixture, "disk"),
						    .peer = CLUSTER_NONE,
						    .io = {.depth = 1, .block = 4096}};
	borrows[2].io.region_start = borrows[2].io.region_bytes = 4096;
	fixture.config.borrow_count = 3;
	fixture.config.borrows = borrows;
	for (__u32 i = 0; i < 3; i++) {
		assert_int_equal(io_user_open(&user, fixture.cluster, &borrows[i].io,
					      borrows[i].device, CLUSTER_NONE, 0),
				 0);
		assert_int_equal(user.alone, i == 1);
		io_user_close(&user);
	}
	fixture_close(&fixture);
}

static void test_rate(void **state)
{
	struct io_config config = {.depth = 9, .block = 512, .rate = 1000};
	struct cluster_fixture fixture;
	struct io_user user;
	struct io_next io;
	__u64 wait_ns;
	int count = 0;

	fixture_open(&fixture, fixture_two(false), NULL);
	assert_int_equal(io_user_open(&user, fixture.cluster, &config,
				      fixture_device(&fixture, "disk"), 0, 1),
			 0);
	user.opened_ns += 1000 * SECOND; /* nothing but the first is due, whenever it is asked */
	assert_false(io_user_next(&user, &io, &wait_ns));
	assert_true(wait_ns > 900 * SECOND);
	/* All are. The clock may have begun a second ago: a time before that would be one far ahead. */
	user.opened_ns = 0;
	config.rate = 1000000;
	while (count < 1009 && io_user_next(&user, &io, &wait_ns))
		count++;
	assert_int_equal(count, 1009);
	io_user_close(&user);
	fixture_close(&fixture);
}

/* Nobody runs the device. */
static void test_dead_device(void **state)
{
	struct cluster_fixture fixture;
	struct borrow_config borrow = {.io = {.ios = 7, .depth = 2, .block = 512},
				       .peer = CLUSTER_NONE};
	struct io_user user;
	struct bus bus;

	local_open(&fixture, false, "disk", &bus, quick_death);
	assert_int_equal(io_user_open(&user, fixture.cluster, &borrow.io, bus.device, 0, 1), 0);
	assert_int_equal(stock_driver_run(&bus, &borrow, &user, NULL), -ENODEV);
	assert_non_null(strstr(failure_text(), "200 ms"));
	io_user_close(&user);
	bus_local_close(&bus);
	fixture_close(&fixture);
}

static void test_stop(void **state)
{
	struct cluster_fixture fixture;
	struct borrow_config borrow = {.io = {.depth = 2, .block = 512}, .peer = CLUSTER_NONE};
	struct io_user user;
	struct bus bus;
	int stop = 1;

	local_open(&fixture, false, "disk", &bus, slow_death);
	assert_int_equal(nvmes_start(fixture.cluster), 0);
	assert_int_equal(io_user_open(&user, fixture.cluster, &borrow.io, bus.device, 0, 1), 0);
	assert_int_equal(stock_driver_run(&bus, &borrow, &user, &stop), 0);
	assert_int_equal(user.counts->ios, 0);
	borrow.io.depth = 0;
	assert_int_equal(stock_driver_run(&bus, &borrow, &user, &stop), -EINVAL);
	borrow.io.depth = NVME_DEPTH_MAX + 1;
	assert_int_equal(stock_driver_run(&bus, &borrow, &user, &stop), -EINVAL);
	borrow.io.depth = 1;
	borrow.io.block = 2 << 20;
	assert_int_equal(stock_driver_run(&bus, &borrow, &user, &stop), -EINVAL);
	nvmes_stop(fixture.cluster);
	io_user_close(&user);
	bus_local_close(&bus);
	fixture_close(&fixture);
}

static void test_accelerator(void **state)
{
	for (int iommu = 0; iommu < 2; iommu++) {
		struct cluster_fixture fixture;
		struct borrow_config borrow = {.io = {.ios = 53,
						      .depth = 1,
						      .block = 96 << 10,
						      .write_percent = 50,
						      .verify = true},
					       .peer = CLUSTER_NONE};
		struct path_stats stats;
		struct io_user user;
		struct bus bus;

		local_open(&fixture, iommu, "gpu", &bus, slow_death);
		must_run(&fixture, &bus, &borrow, &user);
		path_stats(fixture.cluster, bus.device, PURPOSE_DATA, &stats);
		assert_int_equal(stats.transactions, 53);
		assert_int_equal(stats.bytes, 53ull * (96 << 10));
		io_user_close(&user);
		bus_local_close(&bus);
		fixture_close(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_second_life),
		cmocka_unit_test(test_wrong_is_found),
		cmocka_unit_test(test_shares_and_refusals),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_dead_device),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_accelerator),
		cmocka_unit_test(test_shares_do_not_overlap),
		cmocka_unit_test(test_region_in_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
