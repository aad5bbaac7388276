// SPDX-License-Identifier: GPL-2.0
/*
 * Ways of real transactions: peers at one lender, at two, at their borrower and in a guest; hops and roots of PIV Tables 1 and 2; pages
 * that are lost whole; counters of many writers; DMA that strays.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/fail.h"
#include "tests/unit/cluster_one.h"

#define MEMORY FUNCTION_MEMORY_BAR

static __u32 function(const char *name)
{
	return function_of(cluster, fixture_device(&fixture, name), 0);
}

static void lend(const char *name)
{
	cluster->host = function_host(cluster, function(name));
	cluster->self = cluster->host;
	assert_int_equal(lend_register(cluster, function(name)), 0);
}

/* What a peer's copy of eight bytes has come to, by which way. */
static struct access_result copy_to(const char *source, __u64 address, const char *target)
{
	static __u64 word = 0x1234;
	struct initiator from = function_initiator(cluster, function(source));
	struct access_result result;

	word += 7;
	access_write(cluster, &from, PURPOSE_PEER, address + 64, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_DONE);
	assert_true(((__u64 *)function_bar(cluster, function(target), MEMORY))[8] == word);
	return result;
}

static struct ntb_stats stats_of(const char *adapter)
{
	struct ntb_stats stats;

	ntb_stats(cluster, fixture_node(&fixture, adapter), &stats);
	return stats;
}

static const char *const two_gpus =
	"[host a]\niommu = %s\n[host b]\niommu = %s\n[switch sb]\nunder = b\n"
	"[adapter na]\nunder = a\nbar = 16M\nwindows = 32\n"
	"[adapter nb]\nunder = sb\nbar = 16M\nwindows = 32\n"
	"[device gpu1]\nunder = sb\n[device gpu2]\nunder = sb\n[device gpua]\nunder = a\n"
	"[link cable]\nbetween = na nb\n";

static void open_gpus(const char *iommu)
{
	char text[1024];

	snprintf(text, sizeof(text), two_gpus, iommu, iommu);
	open_one(text, NULL);
}

static void peers_of_one_lender(void **state)
{
	__u64 address;
	__u32 domain;

	open_gpus("no");
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpu2"), MEMORY, 1, &address),
		-EPERM);
	lend("gpu1");
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpu2"), MEMORY, 1, &address), 0);
	assert_true(address == function_bar_address(cluster, function("gpu2"), MEMORY));
	assert_int_equal(copy_to("gpu1", address, "gpu2").hops, 1);
	assert_int_equal(peer_resolve(cluster, function("gpu1"), function("gpu2"), 1, 1, &address),
			 -EINVAL);
	fixture_close(&fixture);
	/* An IOMMU sends it through the root, and at an address that it has. */
	open_gpus("yes");
	lend("gpu1");
	assert_int_equal(host_iommu_domain_create(cluster, 1, &domain), 0);
	assert_int_equal(host_iommu_attach(cluster, 1, function("gpu1"), domain), 0);
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpu2"), MEMORY, 1, &address), 0);
	assert_int_equal(copy_to("gpu1", address, "gpu2").roots, 1);
	/* A guest has it where the guest wants it. */
	peer_release(cluster, function("gpu1"), 1);
	assert_int_equal(peer_resolve_at(cluster, function("gpu1"), function("gpu2"), MEMORY, 1,
					 0x7e000000, &address),
			 0);
	assert_true(address == 0x7e000000);
	assert_int_equal(copy_to("gpu1", address, "gpu2").roots, 1);
	peer_release(cluster, function("gpu1"), 1);
	{
		struct host_iommu_stats stats;

		host_iommu_domain_stats(cluster, 1, domain, &stats);
		assert_int_equal(stats.mapped_bytes, 0);
		assert_int_equal(stats.maps, 2);
	}
}

static void a_peer_at_the_borrower(void **state)
{
	__u64 address, again;

	open_gpus("no");
	lend("gpu1");
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpua"), MEMORY, 3, &address), 0);
	assert_int_equal(stats_of("nb").windows_used, 4);
	assert_int_equal(stats_of("nb").requesters_used, 3);
	assert_int_equal(copy_to("gpu1", address, "gpua").crossings, 1);
	/* Once is enough. */
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpua"), MEMORY, 3, &again), 0);
	assert_true(again == address);
	assert_int_equal(stats_of("nb").windows_used, 4);
	/* Until its tables are gone. */
	ntb_link_set(cluster, 0, false, true);
	ntb_link_set(cluster, 0, true, false);
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpua"), MEMORY, 3, &again), 0);
	copy_to("gpu1", again, "gpua");
	peer_release(cluster, function("gpu1"), 3);
	assert_int_equal(stats_of("nb").windows_used, 0);
	assert_int_equal(stats_of("nb").requesters_used, 2);
	/* And of who has died nothing is left. */
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpua"), MEMORY, 3, &again), 0);
	ntb_release(cluster, cluster->self);
	assert_int_equal(stats_of("nb").windows_used, 0);
	assert_int_equal(stats_of("nb").requesters_used, 2);
}

static void a_peer_at_the_borrower_whose_iommu_is_on(void **state)
{
	__u32 nb, domain;
	__u64 address;

	open_gpus("yes");
	lend("gpu1");
	nb = fixture_node(&fixture, "nb");
	/* The borrower has given the device a domain of its own. */
	assert_int_equal(ntb_requester_add(cluster, nb, 0, function("gpu1"), 1), 0);
	assert_int_equal(host_iommu_domain_create(cluster, 0, &domain), 0);
	assert_int_equal(host_iommu_attach(cluster, 0,
					   ntb_requester_seen(cluster, nb, 0, function("gpu1")),
					   domain),
			 0);
	assert_int_equal(
		peer_resolve(cluster, function("gpu1"), function("gpua"), MEMORY, 3, &address), 0);
	copy_to("gpu1", address, "gpua");
	peer_release(cluster, function("gpu1"), 3);
	{
		struct host_iommu_stats stats;

		host_iommu_domain_stats(cluster, 0, domain, &stats);
		assert_int_equal(stats.mapped_bytes, 0);
	}
}

/* PIV Table 1, with the adapters' own windows. */
#define TABLE_1                                                                                                   \
	"[host borrower]\niommu = %s\n[host a]\niommu = %s\n[host b]\niommu = %s\n"                               \
	"[adapter borrower-a]\nunder = borrower\n" WIDE                                                           \
	"[adapter borrower-b]\nunder = borrower\n" WIDE                                                           \
	"[switch a-gpus]\nunder = a\n[switch a-adapters]\nunder = a\n"                                            \
	"[device gpu-a1]\nunder = a-gpus\n[device gpu-a2]\nunder = a-gpus\n[device gpu-a3]\nunder = a-adapters\n" \
	"[adapter a-borrower]\nunder = a-adapters\n" WIDE                                                         \
	"[adapter a-b]\nunder = a-adapters\n" WIDE                                                                \
	"[switch b-adapters]\nunder = b\n[device gpu-b3]\nunder = b-adapters\n"                                   \
	"[adapter b-borrower]\nunder = b-adapters\n" WIDE                                                         \
	"[adapter b-a]\nunder = b-adapters\n" WIDE                                                                \
	"[link borrower-to-a]\nbetween = borrower-a a-borrower\n"                                                 \
	"[link borrower-to-b]\nbetween = borrower-b b-borrower\n[link a-to-b]\nbetween = a-b b-a\n"
#define WIDE "bar = 16M\nwindows = 32\n"

/* From a device's own write into the borrower's RAM and the other's read of it: the root there counts once. */
static struct access_result through_ram(const char *source, const char *source_adapter,
					const char *target, const char *target_adapter,
					const char *host, __u64 far)
{
	struct ntb_window to = map_one(source_adapter, fixture_host(&fixture, host), far, 4096);
	struct ntb_window from = map_one(target_adapter, fixture_host(&fixture, host), far, 4096);
	struct initiator writer = function_initiator(cluster, function(source));
	struct initiator reader = function_initiator(cluster, function(target));
	struct access_result result, second;
	__u64 word = 4711, got = 0;

	assert_int_equal(ntb_requester_add(cluster, to.adapter, to.far_host, function(source), 0),
			 0);
	assert_int_equal(
		ntb_requester_add(cluster, from.adapter, from.far_host, function(target), 0), 0);
	access_write(cluster, &writer, PURPOSE_PEER, to.address, &word, 8, &result);
	access_read(cluster, &reader, PURPOSE_PEER, from.address, &got, 8, &second);
	assert_int_equal(result.status, ACCESS_DONE);
	assert_int_equal(got, word);
	result.hops += second.hops + 1;
	result.roots += second.roots + 1;
	result.model_ns += second.model_ns;
	return result;
}

static void piv_table_1(void **state)
{
	/* hops and roots: 1L-P2P, 2L-P2P, 1L-RAM, 2L-RAM */
	static const __u16 expected[2][4][2] = {{{1, 0}, {4, 0}, {11, 3}, {7, 1}},
						{{3, 1}, {8, 2}, {11, 3}, {11, 3}}};

	for (int iommu = 0; iommu < 2; iommu++) {
		const char *on = iommu ? "yes" : "no";
		struct access_result results[4];
		char text[2048];
		__u64 far, address;

		snprintf(text, sizeof(text), TABLE_1, "no", on, on);
		open_one(text, NULL);
		lend("gpu-a1");
		lend("gpu-a3");
		assert_int_equal(host_memory_alloc(cluster, 0, 4096, &far), 0);
		assert_int_equal(peer_resolve(cluster, function("gpu-a1"), function("gpu-a2"),
					      MEMORY, 1, &address),
				 0);
		results[0] = copy_to("gpu-a1", address, "gpu-a2");
		assert_int_equal(peer_resolve(cluster, function("gpu-a3"), function("gpu-b3"),
					      MEMORY, 2, &address),
				 0);
		results[1] = copy_to("gpu-a3", address, "gpu-b3");
		results[2] = through_ram("gpu-a1", "a-borrower", "gpu-a2", "a-borrower", "borrower",
					 far);
		results[3] = through_ram("gpu-a3", "a-borrower", "gpu-b3", "b-borrower", "borrower",
					 far);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(results[i].hops, expected[iommu][i][0]);
			assert_int_equal(results[i].roots, expected[iommu][i][1]);
		}
		assert_true(results[0].model_ns < results[1].model_ns);
		assert_true(results[1].model_ns < results[2].model_ns);
		fixture_close(&fixture);
	}
}

#define TABLE_2                                                                                    \
	"[host owner]\niommu = yes\n[switch card]\nunder = owner\n[switch uplink]\nunder = card\n" \
	"[switch chassis]\nunder = uplink\n[device gpu-1]\nunder = chassis\n"                      \
	"[device gpu-2]\nunder = chassis\n[adapter owner-adapter]\nunder = chassis\n" WIDE         \
	"[host borrower]\niommu = yes\n[switch borrower-switch]\nunder = borrower\n"               \
	"[adapter borrower-adapter]\nunder = borrower-switch\n" WIDE                               \
	"[link cable]\nbetween = owner-adapter borrower-adapter\n"

static void piv_table_2(void **state)
{
	struct access_result result;
	__u64 far, address;

	open_one(TABLE_2, NULL);
	lend("gpu-1");
	assert_int_equal(host_memory_alloc(cluster, 1, 4096, &far), 0);
	assert_int_equal(
		peer_resolve(cluster, function("gpu-1"), function("gpu-2"), MEMORY, 1, &address),
		0);
	result = copy_to("gpu-1", address, "gpu-2");
	assert_int_equal(result.hops, 7);
	assert_int_equal(result.roots, 1);
	result = through_ram("gpu-1", "owner-adapter", "gpu-2", "owner-adapter", "borrower", far);
	assert_int_equal(result.hops, 21);
	assert_int_equal(result.roots, 3);
}

/* A root splits what is read: 256 B ask for 4 x 64. */
static void pieces_behind_a_root(void **state)
{
	__u8 data[1024];

	for (int iommu = 0; iommu < 2; iommu++) {
		struct access_result result;
		struct initiator from;
		__u64 memory;

		fixture_open(&fixture, fixture_two(iommu), NULL);
		cluster = fixture.cluster;
		from = function_initiator(cluster, function("gpu"));
		memory = function_bar_address(cluster, function("disk"), 0);
		access_read(cluster, &from, PURPOSE_PEER, memory, data, 1024, &result);
		assert_int_equal(result.status, ACCESS_DONE);
		assert_int_equal(result.roots, iommu);
		assert_int_equal(result.pieces,
				 iommu ? 1024 / fixture.costs.split : 1024 / fixture.costs.request);
		fixture_close(&fixture);
	}
}

static bool stop;

static void *pull_the_cable(void *unused)
{
	for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		ntb_link_set(cluster, 0, i & 1, false);
		sched_yield();
	}
	ntb_link_set(cluster, 0, true, false);
	return unused;
}

/* 16 pages each time, all of one value: of each page all or nothing has come, whenever the cable went. */
static void pages_are_lost_whole(void **state)
{
	static __u8 data[16 * 4096], now[16 * 4096];
	struct ntb_window window;
	struct initiator cpu;
	__u32 lost = 0, partly = 0, done = 0;
	pthread_t thread;
	__u8 *ram;
	__u64 far;

	fixture_open(&fixture, fixture_two(false), NULL);
	cluster = fixture.cluster;
	cpu = cpu_of(cluster, 0);
	assert_int_equal(host_memory_alloc(cluster, 1, sizeof(data), &far), 0);
	ram = host_memory(cluster, 1, far, sizeof(data));
	window = map_one("na", fixture_host(&fixture, "b"), far, sizeof(data));
	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, pull_the_cable, NULL), 0);
	for (int i = 1; i < 20011 && (i < 499 || !partly || !lost || !done); i++) {
		struct access_result result;
		__u32 came = 0;

		memset(data, i % 251 + 1, sizeof(data));
		memset(ram, 0,
		       sizeof(now)); /* what the cable has lost may be more than 251 in a row */
		access_write(cluster, &cpu, PURPOSE_DATA, window.address, data, sizeof(data),
			     &result);
		memcpy(now, ram, sizeof(now));
		for (int page = 0; page < 16; page++) {
			assert_memory_equal(&now[page * 4096], &now[page * 4096 + 1], 4095);
			came += now[page * 4096] == data[0];
		}
		assert_int_equal(result.status == ACCESS_DONE, came == 16);
		done += came == 16;
		lost += !came;
		partly += came && came < 16;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_true(done && lost);
	/* The adapter's count is of transactions. */
	assert_int_equal(stats_of("na").lost_writes, lost + partly);
}

#define WRITERS 4
#define WRITES	1009

static struct ntb_window shared_window;

static void *write_much(void *unused)
{
	struct initiator from = function_initiator(cluster, function("disk"));
	__u64 word = 5;

	for (__u64 i = 0; i < WRITES; i++) {
		access_write(cluster, &from, PURPOSE_DATA, shared_window.address + i % 128 * 8,
			     &word, 8, NULL);
		access_read(cluster, &from, PURPOSE_FETCH, shared_window.address + (1 << 21), &word,
			    8, NULL);
	}
	return unused;
}

static void counts_of_many_are_exact(void **state)
{
	pthread_t threads[WRITERS];
	struct path_stats stats;
	__u64 far;

	fixture_open(&fixture, fixture_two(false), NULL);
	cluster = fixture.cluster;
	assert_int_equal(host_memory_alloc(cluster, 0, 4096, &far), 0);
	shared_window = map_one("nb", fixture_host(&fixture, "a"), far, 4096);
	assert_int_equal(ntb_requester_add(cluster, shared_window.adapter, 0, function("disk"), 0),
			 0);
	for (int t = 0; t < WRITERS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, write_much, NULL), 0);
	for (int t = 0; t < WRITERS; t++)
		pthread_join(threads[t], NULL);
	path_stats(cluster, fixture_device(&fixture, "disk"), PURPOSE_DATA, &stats);
	assert_int_equal(stats.transactions, WRITERS * WRITES);
	assert_int_equal(stats.bytes, 8 * WRITERS * WRITES);
	assert_int_equal(stats.lost_writes, 0);
	path_stats(cluster, fixture_device(&fixture, "disk"), PURPOSE_FETCH, &stats);
	assert_int_equal(stats.all_ones, WRITERS * WRITES);
	assert_int_equal(stats.bytes, 0);
	assert_int_equal(stats_of("nb").all_ones, WRITERS * WRITES);
	assert_int_equal(stats_of("nb").bytes, 8 * WRITERS * WRITES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(peers_of_one_lender, close_one),
		cmocka_unit_test_teardown(a_peer_at_the_borrower, close_one),
		cmocka_unit_test_teardown(a_peer_at_the_borrower_whose_iommu_is_on, close_one),
		cmocka_unit_test_teardown(piv_table_1, close_one),
		cmocka_unit_test_teardown(piv_table_2, close_one),
		cmocka_unit_test_teardown(pieces_behind_a_root, close_one),
		cmocka_unit_test_teardown(pages_are_lost_whole, close_one),
		cmocka_unit_test_teardown(counts_of_many_are_exact, close_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
