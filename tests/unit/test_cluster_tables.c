// SPDX-License-Identifier: GPL-2.0
/* Tables of adapters: how much they hold, at which addresses, who gets what back, and what a link's loss leaves of them. */
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/cluster_one.h"

#define A      0
#define B      1
#define WINDOW (512ull << 10) /* of the fixture's adapters, 32 of them */
#define BAR    (16ull << 20)

static int try_map(const char *adapter, __u32 far_host, __u64 far, __u64 bytes, __u64 mask,
		   struct ntb_window *window)
{
	const struct ntb_window wanted = {
		.adapter = fixture_node(&fixture, adapter),
		.kind = WINDOW_SEGMENT,
		.far_host = far_host,
		.far = far,
		.bytes = bytes,
		.owner = cluster->self,
		.borrow = 5,
	};

	return ntb_map(cluster, &wanted, mask, window);
}

static struct ntb_stats stats_of(const char *adapter)
{
	struct ntb_stats stats;

	ntb_stats(cluster, fixture_node(&fixture, adapter), &stats);
	return stats;
}

static void windows_are_equal_and_in_a_row(void **state)
{
	struct ntb_window one, two, three;

	open_one(fixture_two(false), NULL);
	assert_int_equal(try_map("na", B, 4096 + 5, 1, ~0ull, &one), 0);
	assert_int_equal(one.slots, 1);
	assert_int_equal(one.address % WINDOW, 4096 + 5);
	/* One byte more than a window, over a border: three of them. */
	assert_int_equal(try_map("na", B, WINDOW - 1, WINDOW + 2, ~0ull, &two), 0);
	assert_int_equal(two.slots, 3);
	assert_int_equal(two.slot, 1);
	assert_int_equal(try_map("na", B, WINDOW, WINDOW, ~0ull, &three), 0);
	assert_int_equal(three.slots, 1);
	assert_int_equal(three.slot, 4);
	assert_int_equal(stats_of("na").windows_used, 5);
	assert_int_equal(stats_of("na").bytes_mapped, 1 + WINDOW + 2 + WINDOW);
	ntb_unmap(cluster, &two);
	assert_false(ntb_mapped(cluster, &two));
	ntb_unmap(cluster, &two);
	assert_int_equal(stats_of("na").windows_used, 2);
	assert_int_equal(stats_of("na").windows_most, 5);
	assert_int_equal(stats_of("na").bytes_mapped, 1 + WINDOW);
	/* The hole is used again, and what has left it does not take it away. */
	assert_int_equal(try_map("na", B, 0, 3 * WINDOW, ~0ull, &three), 0);
	assert_int_equal(three.slot, 1);
	ntb_unmap(cluster, &two);
	assert_true(ntb_mapped(cluster, &three));
}

static void full_tables_say_so(void **state)
{
	struct ntb_window windows[32], more;

	open_one(fixture_two(false), NULL);
	for (int i = 0; i < 32; i++)
		assert_int_equal(try_map("na", B, 0, 1, ~0ull, &windows[i]), 0);
	assert_int_equal(windows[31].address + WINDOW, windows[0].address + BAR);
	assert_int_equal(try_map("na", B, 0, 1, ~0ull, &more), -ENOSPC);
	ntb_unmap(cluster, &windows[7]);
	ntb_unmap(cluster, &windows[9]);
	assert_int_equal(try_map("na", B, 0, 2 * WINDOW, ~0ull, &more), -ENOSPC);
	assert_non_null(strstr(failure_text(), "na: no 2 of 32 windows"));
	assert_int_equal(try_map("na", B, 0, WINDOW, ~0ull, &more), 0);
	assert_int_equal(more.slot, 7);
	ntb_pretend_full(cluster, fixture_node(&fixture, "na"), true, false);
	assert_int_equal(try_map("na", B, 0, WINDOW, ~0ull, &more), -ENOSPC);
	ntb_pretend_full(cluster, fixture_node(&fixture, "na"), false, false);
	assert_int_equal(try_map("na", B, 0, WINDOW, ~0ull, &more), 0);
	assert_int_equal(try_map("na", B, 0, 33 * WINDOW, ~0ull, &more), -ENOSPC);
	assert_int_equal(try_map("na", A, 0, 1, ~0ull, &more), -ENETUNREACH);
	assert_int_equal(try_map("a", B, 0, 1, ~0ull, &more), -EINVAL);
	assert_int_equal(try_map("na", B, 0, 0, ~0ull, &more), -EINVAL);
}

static void masks_are_kept(void **state)
{
	struct ntb_window window, high;
	__u64 bar;

	open_one(fixture_two(false), NULL);
	assert_int_equal(try_map("na", B, 0, 1, ~0ull, &window), 0);
	bar = window.address;
	ntb_unmap(cluster, &window);
	/* The last byte that can be addressed, and one less. */
	assert_int_equal(try_map("na", B, 100, 50, bar + 149, &window), 0);
	assert_int_equal(window.address + window.bytes - 1, bar + 149);
	assert_int_equal(try_map("na", B, 100, 50, bar + WINDOW + 148, &high), -ERANGE);
	assert_int_equal(try_map("na", B, 100, 50, bar + WINDOW + 149, &high), 0);
	assert_int_equal(try_map("na", B, 0, 1, bar - 1, &high), -ERANGE);
	assert_int_equal(try_map("na", B, 0, 1, 0, &high), -ERANGE);
}

static void many_devices(struct cluster_config *config)
{
	/* 31 more of host b, as the last one is. */
	config->devices = realloc(config->devices, 40 * sizeof(*config->devices));
	assert_non_null(config->devices);
	for (int i = 0; i < 31; i++)
		config->devices[config->device_count++] = config->devices[0];
	config->devices[0].functions = 2;
}

static void thirty_devices_and_two_cpus(void **state)
{
	__u32 nb, first = 1;

	open_one(fixture_two(false), many_devices);
	nb = fixture_node(&fixture, "nb");
	assert_int_equal(stats_of("nb").requesters, 32);
	assert_int_equal(stats_of("nb").requesters_used, 2);
	/* Two functions of a device have one entry, and are told apart behind it. */
	assert_int_equal(ntb_requester_add(cluster, nb, A, 0, 3), 0);
	assert_int_equal(ntb_requester_add(cluster, nb, A, 1, 3), 0);
	assert_int_equal(stats_of("nb").requesters_used, 3);
	assert_int_not_equal(ntb_requester_seen(cluster, nb, A, 0),
			     ntb_requester_seen(cluster, nb, A, 1));
	for (__u32 i = 1; i < 30; i++)
		assert_int_equal(ntb_requester_add(cluster, nb, A,
						   function_of(cluster, first + 2 + i, 0), 4),
				 0);
	assert_int_equal(stats_of("nb").requesters_used, 32);
	assert_int_equal(ntb_requester_add(cluster, nb, A, function_of(cluster, 33, 0), 4),
			 -ENOSPC);
	assert_non_null(strstr(failure_text(), "32 is full: 2 entries are CPUs', 30 devices'"));
	assert_int_equal(ntb_requester_seen(cluster, nb, A, function_of(cluster, 33, 0)),
			 CLUSTER_NONE);
	/* Two adds need two removes. */
	cluster->self = 3;
	ntb_requester_remove(cluster, nb, A, 1);
	assert_int_equal(stats_of("nb").requesters_used, 32);
	ntb_requester_remove_of(cluster, nb, A, 0, 4);
	assert_int_equal(stats_of("nb").requesters_used, 32);
	ntb_requester_remove_of(cluster, nb, A, 0, 3);
	assert_int_equal(stats_of("nb").requesters_used, 31);
	assert_int_equal(ntb_requester_add(cluster, nb, A, function_of(cluster, 33, 0), 5), 0);
	assert_int_equal(ntb_release(cluster, 4), 0);
	assert_int_equal(stats_of("nb").requesters_used, 3);
	ntb_pretend_full(cluster, nb, false, true);
	assert_int_equal(ntb_requester_add(cluster, nb, A, 0, 3), -ENOSPC);
	assert_int_equal(ntb_requester_add(cluster, nb, A, function_of(cluster, 33, 0), 3), 0);
}

/* The domain of a borrower that died is destroyed after its entry has become another device's. */
static void a_new_entry_is_in_no_former_domain(void **state)
{
	__u32 nb, seen, next, domain;

	(void)state;
	open_one(fixture_two(false), many_devices);
	nb = fixture_node(&fixture, "nb");
	next = function_of(cluster, 1, 0);
	assert_int_equal(ntb_requester_add(cluster, nb, A, 0, 3), 0);
	seen = ntb_requester_seen(cluster, nb, A, 0);
	assert_int_equal(host_iommu_domain_create(cluster, A, &domain), 0);
	assert_int_equal(host_iommu_attach(cluster, A, seen, domain), 0);
	/* A second user of the same device changes nothing. */
	assert_int_equal(ntb_requester_add(cluster, nb, A, 0, 4), 0);
	assert_int_equal(host_iommu_domain_of(cluster, A, seen), domain);
	ntb_requester_remove_of(cluster, nb, A, 0, 4);
	ntb_requester_remove_of(cluster, nb, A, 0, 3);
	assert_int_equal(ntb_requester_add(cluster, nb, A, next, 3), 0);
	assert_int_equal(ntb_requester_seen(cluster, nb, A, next), seen);
	assert_int_equal(host_iommu_domain_of(cluster, A, seen), 0);
	ntb_requester_remove_of(cluster, nb, A, next, 3);
	assert_int_equal(host_iommu_attach(cluster, A, seen, domain), 0);
	host_iommu_domain_destroy(cluster, A, domain);
	assert_int_equal(host_iommu_domain_of(cluster, A, seen), HOST_IOMMU_BLOCKED);
	assert_int_equal(ntb_requester_add(cluster, nb, A, next, 3), 0);
	assert_int_equal(host_iommu_domain_of(cluster, A, seen), 0);
}

static void a_switch_port_has_entries_of_all_others(void **state)
{
	__u32 n0;

	open_one(fixture_star(7), NULL);
	n0 = fixture_node(&fixture, "n0");
	assert_int_equal(ntb_port_requesters(cluster, fixture_node(&fixture, "n5")), 6 * 2);
	assert_int_equal(ntb_requester_add(cluster, n0, 3, 0, 0), 0);
	for (int h = 1; h < 7; h++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", h);
		assert_int_equal(ntb_port_requesters(cluster, fixture_node(&fixture, name)),
				 6 * 2 + 1);
	}
	assert_int_equal(ntb_port_requesters(cluster, n0), 6 * 2);
	ntb_requester_remove(cluster, n0, 3, 0);
	assert_int_equal(ntb_port_requesters(cluster, fixture_node(&fixture, "n5")), 6 * 2);
}

static void a_cable_may_come_back_with_tables_or_without(void **state)
{
	struct ntb_window window, other;
	__u32 events, nb;

	open_one(fixture_three(false), NULL);
	nb = fixture_node(&fixture, "ba");
	events = ntb_link_events(cluster);
	assert_int_equal(ntb_link_wait(cluster, events, 1), -ETIMEDOUT);
	assert_int_equal(try_map("ba", A, 0, 4096, ~0ull, &window), 0);
	assert_int_equal(try_map("bc", 2, 0, 4096, ~0ull, &other), 0);
	assert_int_equal(ntb_requester_add(cluster, nb, A, 0, 0), 0);
	ntb_link_set(cluster, fixture_link(&fixture, "cable_ab"), false, false);
	assert_int_equal(ntb_link_wait(cluster, events, SECOND), 0);
	assert_false(ntb_link_up(cluster, fixture_link(&fixture, "cable_ab")));
	/* There is no way round by a third host. */
	assert_false(ntb_reaches(cluster, A, B, CLUSTER_NONE));
	assert_false(ntb_reaches(cluster, B, A, nb));
	assert_true(ntb_reaches(cluster, B, 2, CLUSTER_NONE));
	assert_false(ntb_reaches(cluster, B, 2, nb));
	assert_true(ntb_reaches(cluster, B, B, CLUSTER_NONE));
	assert_true(ntb_mapped(cluster, &window));
	assert_int_equal(ntb_generation(cluster, nb), 0);
	ntb_link_set(cluster, fixture_link(&fixture, "cable_ab"), true, false);
	assert_true(ntb_mapped(cluster, &window));
	ntb_link_set(cluster, fixture_link(&fixture, "cable_ab"), false, true);
	ntb_link_set(cluster, fixture_link(&fixture, "cable_ab"), true, false);
	assert_false(ntb_mapped(cluster, &window));
	assert_true(ntb_mapped(cluster, &other));
	assert_int_equal(ntb_generation(cluster, nb), 1);
	assert_int_equal(ntb_generation(cluster, fixture_node(&fixture, "bc")), 0);
	assert_int_equal(stats_of("ba").windows_used, 0);
	assert_int_equal(stats_of("ba").requesters_used, 2);
	assert_int_equal(ntb_requester_seen(cluster, nb, A, 0), CLUSTER_NONE);
	assert_int_equal(ntb_link_events(cluster), events + 4);
}

static void one_write_reaches_59_hosts(void **state)
{
	__u8 page[4096];
	struct access_result result;
	struct path_stats stats;
	struct initiator from;
	__u64 address, overlay[60];
	__u32 group;

	open_one(fixture_star(60), NULL);
	from = function_initiator(cluster, 0);
	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (__u8)(i * 31 + i / 256);
	assert_int_equal(ntb_multicast_create(cluster, fixture_node(&fixture, "n0"), sizeof(page),
					      &group, &address),
			 0);
	assert_int_equal(ntb_multicast_join(cluster, group, 0, 0), -EINVAL);
	for (__u32 h = 1; h < 60; h++) {
		assert_int_equal(host_memory_alloc(cluster, h, 4096 * (1 + h % 3), &overlay[h]), 0);
		assert_int_equal(ntb_multicast_join(cluster, group, h, overlay[h]), 0);
	}
	access_write(cluster, &from, PURPOSE_DATA, address, page, sizeof(page), &result);
	assert_int_equal(result.status, ACCESS_DONE);
	for (__u32 h = 1; h < 60; h++)
		assert_memory_equal(host_memory(cluster, h, overlay[h], 4096), page, 4096);
	path_stats(cluster, 0, PURPOSE_DATA, &stats);
	assert_int_equal(stats.transactions, 1);
	assert_int_equal(stats.bytes, 4096);
	assert_int_equal(stats_of("n0").bytes, 4096);
	/* Device, adapter, switch, adapter, RAM. */
	assert_int_equal(result.hops, 4);
	/* One member's cable is out: all others have it. */
	ntb_link_set(cluster, fixture_link(&fixture, "l7"), false, false);
	memset(page, 3, sizeof(page));
	access_write(cluster, &from, PURPOSE_DATA, address + 4, page, 64, &result);
	assert_int_equal(result.status, ACCESS_LOST);
	for (__u32 h = 1; h < 60; h++)
		assert_int_equal(((__u8 *)host_memory(cluster, h, overlay[h], 68))[67] == 3,
				 h != 7);
	/* Writes only, and only within the group. */
	access_read(cluster, &from, PURPOSE_DATA, address, page, 8, &result);
	assert_int_equal(result.status, ACCESS_ALL_ONES);
	access_write(cluster, &from, PURPOSE_DATA, address + 4096, page, 8, &result);
	assert_int_equal(result.status, ACCESS_LOST);
	ntb_multicast_destroy(cluster, group);
	access_write(cluster, &from, PURPOSE_DATA, address, page, 8, &result);
	assert_int_equal(result.status, ACCESS_LOST);
}

/* Takes and gives back whatever there is, until it is killed. */
static void __attribute__((noreturn)) hammer(__u32 self)
{
	struct random random = {self};
	__u32 nb = fixture_node(&fixture, "nb");

	cluster->self = self;
	for (;;) {
		struct ntb_window window;
		__u32 function = (__u32)random_below(&random, 2), domain, group;
		__u64 address, at;
		int mapped = try_map("nb", A, random_below(&random, WINDOW),
				     1 + random_below(&random, 2 * WINDOW), ~0ull, &window);
		int added = ntb_requester_add(cluster, nb, A, function, self);
		int allocated =
			host_memory_alloc(cluster, A, 1 + random_below(&random, 40000), &at);
		int created = host_iommu_domain_create(cluster, A, &domain);
		int grouped = ntb_multicast_create(cluster, nb, 64, &group, &address);

		if (!created)
			host_iommu_map(cluster, A, domain, random_below(&random, 1 << 30) << 12, 0,
				       40960, HOST_IOMMU_READ, 0);
		if (!allocated)
			host_memory_pin(cluster, A, at, 4096);
		if (!mapped)
			ntb_unmap(cluster, &window);
		if (!added)
			ntb_requester_remove(cluster, nb, A, function);
		if (!allocated)
			host_memory_free(cluster, A, at, 4096);
		if (!created && random_below(&random, 2))
			host_iommu_domain_destroy(cluster, A, domain);
		if (!grouped)
			ntb_multicast_destroy(cluster, group);
	}
}

static void nothing_is_left_of_who_was_killed(void **state)
{
	struct random random = {11};
	struct host_iommu_stats iommu;
	struct ntb_window mine;
	pid_t children[2];

	open_one(fixture_two(true), NULL);
	cluster->self = 9;
	assert_int_equal(try_map("nb", A, 0, 4096, ~0ull, &mine), 0);
	assert_int_equal(ntb_requester_add(cluster, mine.adapter, A, 1, 9), 0);
	for (__u32 round = 0; round < 61; round++) {
		const struct timespec pause = {0, (long)random_below(&random, 1500000)};
		__u64 address;
		__u32 group, domain;

		for (__u32 c = 0; c < 2; c++) {
			children[c] = fork();
			assert_true(children[c] >= 0);
			if (!children[c])
				hammer(20 + 2 * round + c);
		}
		nanosleep(&pause, NULL);
		for (__u32 c = 0; c < 2; c++) {
			kill(children[c], SIGKILL);
			assert_int_equal(waitpid(children[c], NULL, 0), children[c]);
			ntb_release(cluster, 20 + 2 * round + c);
			host_iommu_release(cluster, 20 + 2 * round + c);
			host_memory_release(cluster, 20 + 2 * round + c);
		}
		assert_int_equal(stats_of("nb").windows_used, 1);
		assert_int_equal(stats_of("nb").requesters_used, 3);
		assert_int_equal(host_memory_pinned(cluster, A), 0);
		host_iommu_stats(cluster, A, &iommu);
		assert_int_equal(iommu.mapped_bytes, 0);
		assert_int_equal(host_memory_checksum(cluster, A, true), 0);
		assert_int_equal(host_iommu_domain_create(cluster, A, &domain), 0);
		assert_int_equal(domain, 1);
		host_iommu_domain_destroy(cluster, A, domain);
		assert_int_equal(ntb_multicast_create(cluster, mine.adapter, 64, &group, &address),
				 0);
		assert_int_equal(group, 0);
		ntb_multicast_destroy(cluster, group);
	}
	/* All of it can be had, and what was somebody else's is there. */
	assert_true(ntb_mapped(cluster, &mine));
	assert_int_not_equal(ntb_requester_seen(cluster, mine.adapter, A, 1), CLUSTER_NONE);
	for (int i = 0; i < 31; i++)
		assert_int_equal(try_map("nb", A, 0, WINDOW, ~0ull, &mine), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(windows_are_equal_and_in_a_row, close_one),
		cmocka_unit_test_teardown(full_tables_say_so, close_one),
		cmocka_unit_test_teardown(masks_are_kept, close_one),
		cmocka_unit_test_teardown(thirty_devices_and_two_cpus, close_one),
		cmocka_unit_test_teardown(a_new_entry_is_in_no_former_domain, close_one),
		cmocka_unit_test_teardown(a_switch_port_has_entries_of_all_others, close_one),
		cmocka_unit_test_teardown(a_cable_may_come_back_with_tables_or_without, close_one),
		cmocka_unit_test_teardown(one_write_reaches_59_hosts, close_one),
		cmocka_unit_test_teardown(nothing_is_left_of_who_was_killed, close_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
