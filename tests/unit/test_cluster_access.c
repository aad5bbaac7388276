// SPDX-License-Identifier: GPL-2.0
/* Transactions through windows, tables and IOMMUs; links that drop; full tables; what is left after a death. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/fail.h"
#include "tests/unit/cluster_one.h"

#define A 0
#define B 1

static struct initiator device(const char *name)
{
	return function_initiator(cluster, function_of(cluster, fixture_device(&fixture, name), 0));
}

static void cpu_reaches_far_memory(void **state)
{
	__u8 out[9000], in[9000];
	struct access_result result;
	struct ntb_window window;
	struct initiator cpu;
	__u64 far;

	open_one(fixture_two(false), NULL);
	cpu = cpu_of(cluster, A);
	assert_int_equal(host_memory_alloc(cluster, B, 12288, &far), 0);
	window = map_one("na", B, far + 100, 9000);
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (__u8)(i * 7);
	access_write(cluster, &cpu, PURPOSE_DATA, window.address, out, sizeof(out), &result);
	assert_int_equal(result.status, ACCESS_DONE);
	assert_int_equal(result.far_host, B);
	assert_int_equal(result.crossings, 1);
	assert_memory_equal(host_memory(cluster, B, far + 100, sizeof(out)), out, sizeof(out));
	access_read(cluster, &cpu, PURPOSE_DATA, window.address, in, sizeof(in), &result);
	assert_int_equal(result.status, ACCESS_DONE);
	assert_memory_equal(in, out, sizeof(out));
	ntb_unmap(cluster, &window);
	access_write(cluster, &cpu, PURPOSE_DATA, window.address, out, 8, &result);
	assert_int_equal(result.status, ACCESS_LOST);
	access_read(cluster, &cpu, PURPOSE_DATA, window.address, in, 8, &result);
	assert_int_equal(result.status, ACCESS_ALL_ONES);
	for (int i = 0; i < 8; i++)
		assert_int_equal(in[i], 0xff);
}

static void device_needs_an_entry(void **state)
{
	__u32 nb, disk;
	struct access_result result;
	struct ntb_window window;
	struct initiator from;
	struct path_stats stats;
	__u64 far, word = 11;

	open_one(fixture_two(false), NULL);
	nb = fixture_node(&fixture, "nb");
	disk = fixture_device(&fixture, "disk");
	from = device("disk");
	assert_int_equal(host_memory_alloc(cluster, A, 4096, &far), 0);
	window = map_one("nb", A, far, 4096);
	access_write(cluster, &from, PURPOSE_DATA, window.address, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_LOST);
	assert_int_equal(ntb_requester_add(cluster, nb, A, from.requester, 0), 0);
	access_write(cluster, &from, PURPOSE_DATA, window.address, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_DONE);
	assert_int_equal(*(__u64 *)host_memory(cluster, A, far, 8), 11);
	path_stats(cluster, disk, PURPOSE_DATA, &stats);
	assert_int_equal(stats.transactions, 2);
	assert_int_equal(stats.lost_writes, 1);
	assert_int_equal(stats.bytes, 8);
	assert_int_equal(stats.crossings, 1);
	ntb_link_set(cluster, 0, false, false);
	word = 0;
	access_read(cluster, &from, PURPOSE_DATA, window.address, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_ALL_ONES);
	assert_true(word == ~0ull);
	ntb_link_set(cluster, 0, true, false);
	access_read(cluster, &from, PURPOSE_DATA, window.address, &word, 8, &result);
	assert_int_equal(word, 11);
}

static void registers_and_interrupts(void **state)
{
	struct initiator cpu, from;
	struct ntb_window bar, msi;
	__u32 f, nb;

	open_one(fixture_two(false), NULL);
	cpu = cpu_of(cluster, A);
	from = device("disk");
	f = from.requester;
	nb = fixture_node(&fixture, "nb");
	bar = map_one("na", B, function_bar_address(cluster, f, 0),
		      function_bar_bytes(cluster, f, 0));
	access_write_register(cluster, &cpu, bar.address + 0x1000, 4, 5);
	assert_int_equal(((__u32 *)function_bar(cluster, f, 0))[0x400], 5);
	assert_int_equal(function_writes(cluster, fixture_device(&fixture, "disk")), 1);
	assert_int_equal(access_read_register(cluster, &cpu, bar.address + 0x1000, 4), 5);
	msi = map_one("nb", A, MSI_ADDRESS + f * 4096, 4096);
	assert_int_equal(ntb_requester_add(cluster, nb, A, f, 0), 0);
	access_write_register(cluster, &from, msi.address, 4, 3);
	assert_int_equal(interrupt_count(cluster, A, f, 3), 1);
	assert_int_equal(interrupt_count(cluster, B, f, 3), 0);
	assert_int_equal(interrupt_wait(cluster, A, f, 3, 0, SECOND), 0);
}

static void iommu_confines(void **state)
{
	struct host_iommu_stats stats;
	struct access_result result;
	struct initiator from;
	__u32 domain, f;
	__u64 memory, word = 77;

	open_one(fixture_two(true), NULL);
	from = device("disk");
	f = from.requester;
	assert_int_equal(host_memory_alloc(cluster, B, 8192, &memory), 0);
	assert_int_equal(host_iommu_domain_create(cluster, B, &domain), 0);
	assert_int_equal(host_iommu_attach(cluster, B, f, domain), 0);
	access_write(cluster, &from, PURPOSE_DATA, memory, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_REFUSED);
	assert_int_equal(
		host_iommu_map(cluster, B, domain, 0x200000, memory, 8192, HOST_IOMMU_READ, 0), 0);
	assert_int_equal(
		host_iommu_map(cluster, B, domain, 0x201000, memory, 8192, HOST_IOMMU_READ, 0),
		-EEXIST);
	access_write(cluster, &from, PURPOSE_DATA, 0x200000, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_REFUSED);
	*(__u64 *)host_memory(cluster, B, memory, 8) = 99;
	access_read(cluster, &from, PURPOSE_DATA, 0x200000, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_DONE);
	assert_int_equal(word, 99);
	host_iommu_stats(cluster, B, &stats);
	assert_int_equal(stats.faults, 2);
	assert_int_equal(stats.mapped_bytes, 8192);
	assert_int_equal(host_iommu_unmap(cluster, B, domain, 0x200000, 8192, 0), 8192);
	host_iommu_domain_destroy(cluster, B, domain);
	access_read(cluster, &from, PURPOSE_DATA, 0x200000, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_REFUSED);
	host_iommu_detach(cluster, B, f);
	access_read(cluster, &from, PURPOSE_DATA, memory, &word, 8, &result);
	assert_int_equal(word, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(cpu_reaches_far_memory, close_one),
		cmocka_unit_test_teardown(device_needs_an_entry, close_one),
		cmocka_unit_test_teardown(registers_and_interrupts, close_one),
		cmocka_unit_test_teardown(iommu_confines, close_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
