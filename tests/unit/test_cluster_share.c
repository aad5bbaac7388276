// SPDX-License-Identifier: GPL-2.0
/* Shared controllers: what may be named to a device, where queues lie, and clients that are killed at random instants. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "injectors/cluster/agent_run.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/message.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/share.h"
#include "lib/base/random.h"
#include "tests/unit/share_rig.h"

#define KILLS 13
#define IOS   211

static void three_clients(struct cluster_config *config)
{
	config->client_count = 3;
	config->manager_count = 1;
	config->managers[0].host = 2;
	for (__u32 i = 0; i < 3; i++) {
		config->hosts[i].memory =
			4 << 20; /* without an IOMMU the manager's window covers it */
		config->clients[i] = share_rig_config(i, 0, IOS);
		config->clients[i].queue_hint = (enum segment_hint)i;
	}
	config->clients[2].queue_peer = 1;
	config->dead_ns = 5 * SECOND;
}

static void right(struct share_rig *rig, __u32 client, __u64 ios)
{
	const struct io_counts *counts =
		io_counts_of(rig->cluster, &rig->fixture.config.clients[client].io);

	assert_int_equal(counts->ios, ios);
	assert_int_equal(counts->errors, 0);
	assert_int_equal(counts->wrong, 0);
}

static void none_twice(struct share_rig *rig)
{
	for (__u64 block = 0; block < (8u << 20) / NVME_BLOCK; block++)
		assert_true(nvme_applied(rig->cluster, rig->device, block).times <= 1);
}

/* Of the lender, of a host of its own, of the manager's; queues in all three kinds of memory; with IOMMUs and without. */
static void test_clients_share(void **state)
{
	for (int iommu = 0; iommu < 2; iommu++) {
		struct share_rig rig;

		share_rig_open(&rig, fixture_three(iommu), three_clients);
		for (__u32 i = 0; i < 3; i++)
			share_rig_start(&rig, share_rig_client(&rig, i));
		for (__u32 i = 0; i < 3; i++) {
			assert_int_equal(share_rig_await(&rig, share_rig_client(&rig, i)), 0);
			right(&rig, i, IOS);
		}
		none_twice(&rig);
		share_rig_close(&rig);
	}
}

static void test_only_own_segments(void **state)
{
	struct share_rig rig;
	struct cluster own, other;
	struct segment segment;
	__u64 address, bus;
	void *memory;
	struct message create = {.type = MESSAGE_SHARE_CREATE};
	struct message open = {.type = MESSAGE_SHARE_OPEN};
	__u32 function;

	share_rig_open(&rig, fixture_three(true), three_clients);
	own = other = *rig.cluster;
	own.self = share_rig_client(&rig, 0);
	other.self = share_rig_client(&rig, 1);
	own.host = 0;
	other.host = 1;
	function = function_of(&own, rig.device, 0);
	while (message_call(&own, 2, &open, 0)) {
		open = (struct message){.type = MESSAGE_SHARE_OPEN, .words = {rig.device}};
		usleep(1000);
	}
	assert_int_equal(
		segment_create(&own, HINT_CPU_READS, rig.device, CLUSTER_NONE, 5000, &segment), 0);
	assert_int_equal(segment.bytes, 2 * HOST_PAGE);
	assert_int_equal(segment.host, 0);
	assert_int_equal(segment_map_device(&own, segment.id + 1, function,
					    fixture_node(&rig.fixture, "ba"), &address),
			 -EACCES);
	assert_int_equal(segment_map_device(&other, segment.id, function,
					    fixture_node(&rig.fixture, "ba"), &address),
			 -EACCES);
	assert_int_equal(segment_map_cpu(&other, &segment, CLUSTER_NONE, &bus, &memory), -EACCES);
	assert_int_equal(segment_map_device(&own, segment.id, function,
					    fixture_node(&rig.fixture, "ba"), &address),
			 0);
	/* Another's address, and one that nobody has, in a queue: the manager refuses. */
	create.words[0] = rig.device;
	create.words[2] = 16;
	create.words[3] = create.words[4] = address;
	assert_int_equal(message_call(&other, 2, &create, 0), -EACCES);
	create.words[0] = rig.device;
	create.words[1] = 0;
	create.words[2] = 16;
	create.words[3] = address;
	create.words[4] = address + segment.bytes - 15 * sizeof(struct nvme_command);
	assert_int_equal(message_call(&own, 2, &create, 0), -EACCES);
	assert_int_equal(segments_left(&own, own.self), 1);
	segment_destroy(&own, &segment);
	assert_int_equal(segment.id, 0);
	assert_int_equal(segments_left(&own, CLUSTER_NONE), 0);
	share_rig_close(&rig);
}

static void endless(struct cluster_config *config)
{
	three_clients(config);
	config->dead_ns = SECOND;
	for (__u32 i = 1; i < 3; i++)
		config->clients[i].io.ios = 0;
}

/* Whoever is killed, at whatever instant: its pair and its memory are given back, and the others do not notice. */
static void test_killed_clients(void **state)
{
	struct random random = {7};

	for (int i = 0; i < KILLS; i++) {
		struct share_rig rig;
		__u32 dead = 1 + (__u32)i % 2;

		share_rig_open(&rig, fixture_three(i % 3 == 0), endless);
		for (__u32 c = 0; c < 3; c++)
			share_rig_start(&rig, share_rig_client(&rig, c));
		if (i % 2)
			share_rig_await_ios(&rig, dead, random_below(&random, IOS));
		else
			usleep((useconds_t)random_below(&random, 20000));
		share_rig_kill(&rig, share_rig_client(&rig, dead));
		assert_int_equal(share_rig_await(&rig, share_rig_client(&rig, 0)), 0);
		right(&rig, 0, IOS);
		while (segments_left(rig.cluster, share_rig_client(&rig, dead)))
			usleep(1000);
		share_rig_await_ios(&rig, 3 - dead, IOS);
		share_rig_close(&rig);
	}
}

static const char *two_ways(void)
{
	return "[host a]\n[host b]\n[adapter a0]\nunder = a\n[adapter a1]\nunder = a\n"
	       "[adapter b0]\nunder = b\n[adapter b1]\nunder = b\n[device disk]\nunder = b\n"
	       "[link l0]\nbetween = a0 b0\n[link l1]\nbetween = a1 b1\n";
}

static void multipath(struct cluster_config *config)
{
	config->client_count = config->manager_count = 1;
	config->managers[0].host = 1;
	config->clients[0] = share_rig_config(0, 0, 0);
	config->clients[0].queue_hint = HINT_DEVICE_READS;
	config->clients[0].adapters[0] = fabric_find(config->fabric, "a0");
	config->clients[0].adapters[1] = fabric_find(config->fabric, "a1");
	config->clients[0].io.depth = 7;
	config->dead_ns = 5 * SECOND;
}

/* Cables that go and come back at random instants, with and without their tables; one is left at any time. */
static void test_cables(void **state)
{
	struct random random = {11};
	struct share_rig rig;
	const struct share_counts *counts;
	const struct io_counts *ios;

	share_rig_open(&rig, two_ways(), multipath);
	share_rig_start(&rig, share_rig_client(&rig, 0));
	counts = share_counts_of(rig.cluster, share_rig_client(&rig, 0));
	ios = io_counts_of(rig.cluster, &rig.fixture.config.clients[0].io);
	for (int i = 0; i < 2 * KILLS; i++) {
		__u32 link = (__u32)random_below(&random, 2);
		bool wipe = random_below(&random, 2);

		share_rig_await_ios(&rig, 0, ios->ios + 1 + random_below(&random, 53));
		ntb_link_set(rig.cluster, link, false, false);
		if (i % 3)
			share_rig_await_ios(&rig, 0, ios->ios + 1 + random_below(&random, 53));
		ntb_link_set(rig.cluster, link, true, wipe);
	}
	share_rig_await_ios(&rig, 0, ios->ios + IOS);
	assert_int_equal(counts->unknown, 0);
	assert_true(counts->failovers > 0);
	cluster_phase_set(rig.cluster, CLUSTER_USERS_END);
	assert_int_equal(share_rig_await(&rig, share_rig_client(&rig, 0)), 0);
	right(&rig, 0, ios->ios);
	none_twice(&rig);
	share_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients_share),
		cmocka_unit_test(test_only_own_segments),
		cmocka_unit_test(test_killed_clients),
		cmocka_unit_test(test_cables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
