// SPDX-License-Identifier: GPL-2.0
/* RAM of hosts: who has it, who may touch it, and what is left of it; IOMMU tables at their edges; config space. */
#include "tests/unit/test.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "injectors/cluster/access_private.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/random.h"
#include "tests/unit/cluster_one.h"

static void pages_have_one_owner(void **state)
{
	__u8 owners[FIXTURE_MEMORY / HOST_PAGE] = {0};
	struct random random = {5};
	__u64 address;

	open_one(fixture_two(false), NULL);
	for (int i = 0; i < 211; i++) {
		__u64 bytes = 1 + random_below(&random, 20 * HOST_PAGE);

		cluster->self = 1 + (__u32)random_below(&random, 3);
		assert_int_equal(host_memory_alloc(cluster, 1, bytes, &address), 0);
		assert_int_equal(address % HOST_PAGE, 0);
		assert_int_not_equal(address, 0);
		for (__u64 at = address; at < address + bytes; at += HOST_PAGE) {
			assert_int_equal(owners[at / HOST_PAGE], 0);
			owners[at / HOST_PAGE] = (__u8)cluster->self;
		}
		memset(host_memory(cluster, 1, address, bytes), 0xa5, bytes);
	}
	for (__u64 p = 0; p < FIXTURE_MEMORY / HOST_PAGE; p++)
		assert_true(host_memory_owner(cluster, 1, p * HOST_PAGE) ==
			    (owners[p] ? owners[p] : CLUSTER_NONE));
	assert_int_not_equal(host_memory_checksum(cluster, 1, true), 0);
	assert_int_equal(host_memory_checksum(cluster, 1, false), 0);
	host_memory_release(cluster, 1);
	for (__u64 p = 0; p < FIXTURE_MEMORY / HOST_PAGE; p++)
		assert_true(host_memory_owner(cluster, 1, p * HOST_PAGE) ==
			    (owners[p] > 1 ? owners[p] : CLUSTER_NONE));
	host_memory_release(cluster, 2);
	host_memory_release(cluster, 3);
	assert_int_equal(host_memory_checksum(cluster, 1, true), 0);
	assert_int_equal(host_memory_release(cluster, 3), 0);
}

static void memory_ends(void **state)
{
	__u64 address, all = FIXTURE_MEMORY - HOST_PAGE, first;

	open_one(fixture_two(false), NULL);
	assert_int_equal(host_memory_alloc(cluster, 0, FIXTURE_MEMORY, &address), -ENOMEM);
	assert_int_equal(host_memory_alloc(cluster, 0, 0, &address), -ENOMEM);
	for (__u64 bytes = 0; bytes < all; bytes += HOST_PAGE)
		assert_int_equal(host_memory_alloc(cluster, 0, 1, &first), 0);
	assert_int_equal(host_memory_alloc(cluster, 0, 1, &address), -ENOMEM);
	host_memory_free(cluster, 0, first, 1);
	assert_int_equal(host_memory_alloc(cluster, 0, HOST_PAGE + 1, &address), -ENOMEM);
	assert_int_equal(host_memory_alloc(cluster, 0, HOST_PAGE, &address), 0);
	assert_int_equal(address, first);
	assert_null(host_memory(cluster, 0, FIXTURE_MEMORY, 1));
	assert_null(host_memory(cluster, 0, ~0ull, 2));
	assert_non_null(host_memory(cluster, 0, FIXTURE_MEMORY - 1, 1));
}

static void pins_are_counted(void **state)
{
	__u64 address;

	open_one(fixture_two(false), NULL);
	assert_int_equal(host_memory_alloc(cluster, 0, 5 * HOST_PAGE, &address), 0);
	assert_int_equal(host_memory_pin(cluster, 0, address + 100, HOST_PAGE), 0);
	assert_int_equal(host_memory_pinned(cluster, 0), 2 * HOST_PAGE);
	assert_int_equal(host_memory_pin(cluster, 0, address, 1), 0);
	host_memory_unpin(cluster, 0, address + 100, HOST_PAGE);
	assert_int_equal(host_memory_pinned(cluster, 0), HOST_PAGE);
	host_memory_unpin(cluster, 0, address + 100, HOST_PAGE);
	host_memory_unpin(cluster, 0, address + 100, HOST_PAGE);
	assert_int_equal(host_memory_pinned(cluster, 0), 0);
	assert_int_equal(host_memory_pin(cluster, 0, FIXTURE_MEMORY - 1, 2), -EFAULT);
	assert_int_equal(host_memory_pin(cluster, 0, address, HOST_PAGE), 0);
	host_memory_free(cluster, 0, address, 5 * HOST_PAGE);
	assert_int_equal(host_memory_pinned(cluster, 0), 0);
}

/* A rogue device: with its IOMMU off it reaches all, and is told; with it on, what it was given. */
static void what_strays_is_told_with_its_device(void **state)
{
	__u32 disk, domain;
	__u64 mine, others, word = 3;
	struct initiator from;
	struct access_result result;

	open_one(fixture_two(false), NULL);
	disk = fixture_device(&fixture, "disk");
	from = function_initiator(cluster, function_of(cluster, disk, 0));
	cluster->self = 4;
	assert_int_equal(host_memory_alloc(cluster, 1, HOST_PAGE, &mine), 0);
	cluster->self = 5;
	assert_int_equal(host_memory_alloc(cluster, 1, HOST_PAGE, &others), 0);
	access_write(cluster, &from, PURPOSE_DATA, mine, &word, 8, NULL);
	access_write(cluster, &from, PURPOSE_DATA, others, &word, 8, NULL);
	assert_int_equal(access_stray_bytes(cluster, disk), 0);
	access_user_set(cluster, disk, 4, true);
	access_write(cluster, &from, PURPOSE_DATA, mine, &word, 8, NULL);
	assert_int_equal(access_stray_bytes(cluster, disk), 0);
	access_write(cluster, &from, PURPOSE_DATA, others, &word, 8, NULL);
	assert_int_equal(access_stray_bytes(cluster, disk), 8);
	access_read(cluster, &from, PURPOSE_DATA, others + 8, &word, 8, NULL);
	assert_int_equal(access_stray_bytes(cluster, disk), 16);
	word = 9;
	access_write(cluster, &from, PURPOSE_DATA, FIXTURE_MEMORY - 8, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_DONE);
	assert_int_equal(access_stray_bytes(cluster, disk), 24);
	assert_int_not_equal(host_memory_checksum(cluster, 1, false), 0);
	assert_int_equal(access_stray_bytes(cluster, fixture_device(&fixture, "gpu")), 0);
	fixture_close(&fixture);

	open_one(fixture_two(true), NULL);
	assert_int_equal(host_iommu_domain_create(cluster, 1, &domain), 0);
	assert_int_equal(host_iommu_attach(cluster, 1, from.requester, domain), 0);
	for (__u64 at = 0; at < FIXTURE_MEMORY; at += 61 * HOST_PAGE) {
		access_write(cluster, &from, PURPOSE_DATA, at, &word, 8, &result);
		assert_int_equal(result.status, ACCESS_REFUSED);
	}
	assert_int_equal(host_memory_checksum(cluster, 1, true), 0);
}

static void mappings_at_edges(void **state)
{
	struct host_iommu_stats stats;
	const __u64 end = 1ull << 48;
	__u64 physical, run;
	__u32 domain;

	open_one(fixture_two(true), NULL);
	assert_int_equal(host_iommu_domain_create(cluster, 0, &domain), 0);
	assert_int_equal(host_iommu_attach(cluster, 0, 7, domain), 0);
	assert_int_equal(
		host_iommu_map(cluster, 0, domain, end - HOST_PAGE, 0x3000, HOST_PAGE, 3, 0), 0);
	assert_int_equal(host_iommu_map(cluster, 0, domain, end - 1, 0x3fff, 2, 3, 0), -EINVAL);
	assert_int_equal(host_iommu_map(cluster, 0, domain, 0, 0x4000, 1, 3, 0), 0);
	/* Rounded to pages, and over a border of each level's tables. */
	assert_int_equal(host_iommu_map(cluster, 0, domain, (1ull << 39) - 5, 0x8ffb, 10, 3, 0), 0);
	assert_int_equal(host_iommu_translate(cluster, 0, 7, end - 1, true, &physical, &run), 0);
	assert_int_equal(physical, 0x3fff);
	assert_int_equal(run, 1);
	assert_int_equal(host_iommu_translate(cluster, 0, 7, 4095, true, &physical, &run), 0);
	assert_int_equal(physical, 0x4fff);
	assert_int_equal(host_iommu_translate(cluster, 0, 7, 4096, true, &physical, &run), -EFAULT);
	assert_int_equal(host_iommu_translate(cluster, 0, 7, end, true, &physical, &run), -EFAULT);
	assert_int_equal(host_iommu_translate(cluster, 0, 7, ~0ull, true, &physical, &run),
			 -EFAULT);
	assert_int_equal(
		host_iommu_translate(cluster, 0, 7, (1ull << 39) + 4, false, &physical, &run), 0);
	assert_int_equal(physical, 0x9004);
	host_iommu_domain_stats(cluster, 0, domain, &stats);
	assert_int_equal(stats.mapped_bytes, 4 * HOST_PAGE);
	/* A map that meets another changes nothing. */
	assert_int_equal(host_iommu_map(cluster, 0, domain, (1ull << 39) - 3 * HOST_PAGE, 0,
					3 * HOST_PAGE, 3, 0),
			 -EEXIST);
	host_iommu_domain_stats(cluster, 0, domain, &stats);
	assert_int_equal(stats.mapped_bytes, 4 * HOST_PAGE);
	assert_int_equal(stats.maps, 3);
	assert_int_equal(host_iommu_unmap(cluster, 0, domain, 0, 1ull << 20, 0), HOST_PAGE);
	assert_int_equal(host_iommu_map(cluster, 0, domain, 0, 1, HOST_PAGE, 3, 0), -EINVAL);
	host_iommu_stats(cluster, 0, &stats);
	assert_int_equal(stats.faults, 3);
	/* As it was with a borrow that has been revoked: to be tried again, unlike what is wrong in itself. */
	host_iommu_domain_destroy(cluster, 0, domain);
	assert_int_equal(host_iommu_map(cluster, 0, domain, 0, 0x4000, 1, 3, 0), -ENODEV);
}

static void domains_run_out(void **state)
{
	__u32 domain, first = 0, count = 0;

	open_one(fixture_two(true), NULL);
	cluster->self = 6;
	while (!host_iommu_domain_create(cluster, 0, &domain)) {
		first = first ? first : domain;
		count++;
		assert_int_not_equal(domain, 0);
	}
	assert_int_equal(count, 128);
	assert_int_equal(host_iommu_release(cluster, 5), 0);
	assert_int_equal(host_iommu_release(cluster, 6), 128);
	assert_int_equal(host_iommu_domain_create(cluster, 0, &domain), 0);
	assert_int_equal(domain, first);
}

static void config_space_is_a_function_s(void **state)
{
	__u32 disk, gpu, value;

	open_one(fixture_two(false), NULL);
	disk = function_of(cluster, fixture_device(&fixture, "disk"), 0);
	gpu = function_of(cluster, fixture_device(&fixture, "gpu"), 0);
	assert_int_equal(function_config_read(cluster, disk, PCI_CLASS_REVISION + 1, 2), 0x0802);
	assert_int_equal(function_config_read(cluster, disk, FUNCTION_CAP_MSIX, 1),
			 PCI_CAP_ID_MSIX);
	assert_true(function_config_read(cluster, disk, FUNCTION_CONFIG - 2, 4) == 0xffffffffu);
	/* Its BAR's size, and then its address again. */
	function_config_write(cluster, gpu, PCI_BASE_ADDRESS_2, 4, 0xffffffff);
	value = function_config_read(cluster, gpu, PCI_BASE_ADDRESS_2, 4);
	assert_int_equal(~(value & ~15u) + 1, function_bar_bytes(cluster, gpu, 2));
	function_config_write(cluster, gpu, PCI_BASE_ADDRESS_2, 4, 0);
	value = function_config_read(cluster, gpu, PCI_BASE_ADDRESS_2, 4) & ~15u;
	assert_true(value == (__u32)function_bar_address(cluster, gpu, 2));
	function_config_write(cluster, disk, PCI_COMMAND, 2, 0xffff);
	assert_int_equal(function_config_read(cluster, disk, PCI_COMMAND, 2),
			 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
	((__u32 *)function_bar(cluster, disk, 0))[5] = 1;
	function_reset(cluster, disk);
	assert_int_equal(function_config_read(cluster, disk, PCI_COMMAND, 2), 0);
	assert_int_equal(((__u32 *)function_bar(cluster, disk, 0))[5], 0);
	assert_int_equal(function_resets(cluster, disk), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(pages_have_one_owner, close_one),
		cmocka_unit_test_teardown(memory_ends, close_one),
		cmocka_unit_test_teardown(pins_are_counted, close_one),
		cmocka_unit_test_teardown(what_strays_is_told_with_its_device, close_one),
		cmocka_unit_test_teardown(mappings_at_edges, close_one),
		cmocka_unit_test_teardown(domains_run_out, close_one),
		cmocka_unit_test_teardown(config_space_is_a_function_s, close_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
