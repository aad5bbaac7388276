// SPDX-License-Identifier: GPL-2.0
/* DMA maps of a lent function's driver: what they cost whom, where they lie, and one that is undone too early. */
#include "tests/unit/lend_rig.h"

#include <errno.h>
#include <string.h>

#include "injectors/cluster/inject.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

static int forget(void **state)
{
	rig_close();
	return 0;
}

/* Config cycles, registers and setup are messages and windows; what the driver does per I/O is neither. */
static void maps_cost_no_message(void **state)
{
	struct lend_counts before, after;
	struct lend_borrow borrow;
	struct bus bus;
	void *memory;
	__u64 address, last = 0;

	rig_open(true, NULL);
	rig_borrow(&borrow);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	memory = bus.ops->memory(&bus, 3 * HOST_PAGE);
	assert_non_null(memory);
	lend_counts_of(rig.a, borrow.number, &before);
	for (int i = 0; i < 101; i++) {
		assert_int_equal(bus.ops->dma_map(&bus, (char *)memory + 17, 2 * HOST_PAGE,
						  DMA_BOTH, &address),
				 0);
		lend_counts_of(rig.a, borrow.number, &after);
		/* It touches three pages. */
		assert_int_equal(after.bytes, 3 * HOST_PAGE);
		assert_int_equal(host_memory_pinned(rig.a, RIG_A), 3 * HOST_PAGE);
		assert_int_equal(address % HOST_PAGE, 17);
		/* Its place is used again last. */
		assert_true(address > last);
		last = address;
		bus.ops->dma_unmap(&bus, address, 2 * HOST_PAGE, DMA_BOTH);
	}
	lend_counts_of(rig.a, borrow.number, &after);
	assert_int_equal(after.messages, before.messages);
	assert_int_equal(after.maps, 101);
	assert_int_equal(host_memory_pinned(rig.a, RIG_A), 0);
	bus.ops->memory_free(&bus, memory, 3 * HOST_PAGE);
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
}

static void window_is_full(void **state)
{
	struct lend_wish wish;
	struct lend_borrow borrow;
	struct lend_counts counts;
	struct bus bus;
	char *memory;
	__u64 addresses[8], again;

	rig_open(true, NULL);
	wish = rig_wish();
	wish.window = 8 * HOST_PAGE;
	assert_int_equal(lend_borrow(rig.a, &wish, &borrow), 0);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	memory = bus.ops->memory(&bus, 9 * HOST_PAGE);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(bus.ops->dma_map(&bus, memory + (size_t)i * HOST_PAGE, HOST_PAGE,
						  DMA_BOTH, &addresses[i]),
				 0);
		assert_int_equal(addresses[i], borrow.dma_device + (__u64)i * HOST_PAGE);
	}
	assert_int_equal(
		bus.ops->dma_map(&bus, memory + 8ul * HOST_PAGE, HOST_PAGE, DMA_BOTH, &again),
		-ENOSPC);
	assert_non_null(strstr(failure_text(), "window"));
	bus.ops->dma_unmap(&bus, addresses[3], HOST_PAGE, DMA_BOTH);
	bus.ops->dma_unmap(&bus, addresses[5], HOST_PAGE, DMA_BOTH);
	/* Two pages are free, but not in a row. */
	assert_int_equal(bus.ops->dma_map(&bus, memory, 2 * HOST_PAGE, DMA_BOTH, &again), -ENOSPC);
	assert_int_equal(bus.ops->dma_map(&bus, memory, HOST_PAGE, DMA_BOTH, &again), 0);
	assert_int_equal(again, addresses[3]);
	/* What is no memory of this host's has no address. */
	assert_int_equal(bus.ops->dma_map(&bus, addresses, 8, DMA_BOTH, &again), -EFAULT);
	lend_counts_of(rig.a, borrow.number, &counts);
	assert_int_equal(counts.refused, 2);
	assert_int_equal(counts.bytes_most, 8 * HOST_PAGE);
	/* The driver leaves without unmapping: its bus does. */
	bus_lent_close(&bus);
	lend_counts_of(rig.a, borrow.number, &counts);
	assert_int_equal(counts.bytes, 0);
	assert_int_equal(host_memory_pinned(rig.a, RIG_A), 0);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
}

struct live_map {
	__u64 address, bytes;
	char *memory;
};

static __u64 charged_of(const struct live_map *map)
{
	return ((map->address + map->bytes + HOST_PAGE - 1) / HOST_PAGE -
		map->address / HOST_PAGE) *
	       HOST_PAGE;
}

static bool maps_meet(const struct live_map *a, const struct live_map *b)
{
	return a->address / HOST_PAGE <= (b->address + b->bytes - 1) / HOST_PAGE &&
	       b->address / HOST_PAGE <= (a->address + a->bytes - 1) / HOST_PAGE;
}

/* At any time: what the IOMMU has is what the window is charged with, maps do not meet, and the device reaches just its memory. */
static void charged_is_mapped(void **state)
{
	struct random random = {2003};
	struct live_map live[23] = {{0}};
	struct host_iommu_stats iommu;
	struct lend_borrow borrow;
	struct lend_counts counts;
	struct lend_wish wish;
	struct initiator from;
	struct bus bus;
	char *memory;
	__u64 charged = 0, word;

	rig_open(true, NULL);
	wish = rig_wish();
	wish.window = 31 * HOST_PAGE;
	assert_int_equal(lend_borrow(rig.a, &wish, &borrow), 0);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	memory = bus.ops->memory(&bus, 64 * HOST_PAGE);
	from = function_initiator(rig.a, rig.function);
	for (word = 1; word <= 2003; word++) {
		struct live_map *map = &live[random_below(&random, COUNT(live))];

		if (map->bytes) {
			assert_true(*(__u64 *)map->memory != word);
			access_write(rig.a, &from, PURPOSE_DATA, map->address, &word, 8, NULL);
			assert_true(*(__u64 *)map->memory == word);
			charged -= charged_of(map);
			bus.ops->dma_unmap(&bus, map->address, map->bytes, DMA_BOTH);
			access_write(rig.a, &from, PURPOSE_DATA, map->address, &(__u64){0}, 8,
				     NULL);
			assert_true(*(__u64 *)map->memory == word);
			map->bytes = 0;
			continue;
		}
		map->memory = memory + random_below(&random, 60 * HOST_PAGE / 8) * 8;
		map->bytes = 8 + random_below(&random, 3 * HOST_PAGE);
		if (bus.ops->dma_map(&bus, map->memory, map->bytes, DMA_BOTH, &map->address)) {
			map->bytes = 0;
			continue;
		}
		charged += charged_of(map);
		for (size_t i = 0; i < COUNT(live); i++)
			assert_false(&live[i] != map && live[i].bytes && maps_meet(&live[i], map));
		host_iommu_stats(rig.a, RIG_A, &iommu);
		lend_counts_of(rig.a, borrow.number, &counts);
		assert_int_equal(iommu.mapped_bytes, charged);
		assert_int_equal(counts.bytes, charged);
	}
	lend_counts_of(rig.a, borrow.number, &counts);
	assert_true(counts.refused > 11);
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
}

static void early_unmap(struct cluster_config *config)
{
	config->injection_count = 1;
	rig.injection = (struct cluster_injection){.kind = CLUSTER_UNMAP_IN_FLIGHT,
						   .probability = 100,
						   .host = CLUSTER_NONE,
						   .adapter = CLUSTER_NONE,
						   .device = CLUSTER_NONE,
						   .agent = CLUSTER_NONE,
						   .step = CLUSTER_NONE};
}

/* What the device writes to a page that the driver has given back goes nowhere, and the IOMMU tells. */
static void unmapped_too_early(void **state)
{
	struct initiator from;
	struct host_iommu_stats iommu;
	struct access_result result;
	struct lend_borrow borrow;
	struct lend_counts counts;
	struct bus bus;
	__u64 address, word = 77;
	__u64 *memory;

	rig_open(true, early_unmap);
	rig_borrow(&borrow);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	memory = bus.ops->memory(&bus, HOST_PAGE);
	from = function_initiator(rig.a, rig.function);
	assert_int_equal(bus.ops->dma_map(&bus, memory, 8, DMA_BOTH, &address), 0);
	access_write(rig.a, &from, PURPOSE_DATA, address, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_DONE);
	bus.ops->dma_unmap(&bus, address, 8, DMA_BOTH);
	cluster_inject_set(rig.a, 0, true);
	assert_int_equal(bus.ops->dma_map(&bus, memory, 8, DMA_BOTH, &address), 0);
	word = 78;
	access_write(rig.a, &from, PURPOSE_DATA, address, &word, 8, &result);
	assert_int_equal(result.status, ACCESS_REFUSED);
	assert_int_equal(*memory, 77);
	host_iommu_stats(rig.a, RIG_A, &iommu);
	assert_int_equal(iommu.faults, 1);
	lend_counts_of(rig.a, borrow.number, &counts);
	assert_int_equal(counts.early, 1);
	bus.ops->dma_unmap(&bus, address, 8, DMA_BOTH);
	assert_int_equal(host_memory_pinned(rig.a, RIG_A), 0);
	cluster_inject_set(rig.a, 0, false);
	bus.ops->memory_free(&bus, memory, HOST_PAGE);
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(maps_cost_no_message, forget),
		cmocka_unit_test_teardown(window_is_full, forget),
		cmocka_unit_test_teardown(charged_is_mapped, forget),
		cmocka_unit_test_teardown(unmapped_too_early, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
