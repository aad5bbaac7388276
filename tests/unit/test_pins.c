// SPDX-License-Identifier: GPL-2.0
/* Pins: what is pinned is there, stays, and costs its device no fault, whoever wants it at the same time. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"
#include "tests/unit/rig/rig.h"

enum { PAGES = 16, ROUNDS = 1009, SKIPPED = 101 };

static __u64 groups_of(__u32 device)
{
	struct port_stats stats;

	port_stats(rig->devices[device].port, &stats);
	return stats.groups;
}

static struct pins_stats pins_now(void)
{
	struct pins_stats stats;

	pins_stats(rig->tenants[0].pins, &stats);
	return stats;
}

static void write_to(__u32 device, __u64 address, __u64 word)
{
	assert_int_equal(port_dma_write(rig->devices[device].port, 0, PASID_NONE, address, &word,
					sizeof(word)),
			 0);
}

static void a_pinned_range_costs_no_fault(void **state)
{
	for (int kind = LOOKUP_PA_BITMAP; kind <= LOOKUP_ATS; kind++) {
		rig_build((struct rig_config){.lookup = (enum lookup_kind)kind, .devices = 2});
		/* Parts of pages 3 to 6. */
		assert_int_equal(
			machine_pin(rig, 0, 3 * PAGE_BYTES + 4095, 2 * PAGE_BYTES + 2, true), 0);
		assert_int_equal(pins_now().pinned, 4);
		for (__u64 page = 3; page < 7; page++)
			write_to(0, page * PAGE_BYTES, page);
		assert_int_equal(groups_of(0), 0);
		assert_int_equal(rig_truth_count(TRUTH_MAPPED), 0);
		/* Of its neighbours, and of another device, nothing was said. */
		write_to(0, 7 * PAGE_BYTES, 7);
		write_to(1, 3 * PAGE_BYTES, 3);
		assert_int_equal(groups_of(0), 1);
		assert_int_equal(groups_of(1), 1);
		assert_int_equal(rig_violations(rig), 0);
		if (kind == LOOKUP_PA_BITMAP)
			rig_destroy(rig);
	}
}

static void a_pinned_page_stays_until_its_last_pin(void **state)
{
	rig_build((struct rig_config){.devices = 2});
	assert_int_equal(machine_pin(rig, 0, 0, PAGE_BYTES, true), 0);
	assert_int_equal(machine_pin(rig, 1, 0, 2 * PAGE_BYTES, false), 0);
	assert_int_equal(pins_now().pinned, 2);
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++)
		assert_int_equal(evict_page(rig, 0, 0, (enum evict_kind)kind), EVICT_PINNED);
	assert_int_equal(machine_unpin(rig, 1, 0, 2 * PAGE_BYTES), 0);
	assert_int_equal(evict_page(rig, 0, 0, EVICT_MAJOR), EVICT_PINNED);
	assert_int_equal(rig_truth_count(TRUTH_INVALIDATE_START), 0);
	assert_int_equal(evict_page(rig, 0, PAGE_BYTES, EVICT_MAJOR), 0);
	assert_int_equal(machine_unpin(rig, 0, 0, PAGE_BYTES), 0);
	assert_int_equal(evict_page(rig, 0, 0, EVICT_MAJOR), 0);
	assert_int_equal(pins_now().pinned, 0);
	assert_int_equal(pins_now().most, 2);
	assert_int_equal(pins_now().skipped, 3);
	/* Nor is there one to take back. */
	assert_int_equal(machine_unpin(rig, 0, 0, PAGE_BYTES), -EINVAL);
	assert_int_equal(pins_now().pinned, 0);
}

static void what_cannot_be_pinned_is_not_in_part(void **state)
{
	rig_build((struct rig_config){0});
	assert_int_equal(machine_pin(rig, 0, HUGE_BYTES - PAGE_BYTES, PAGE_BYTES + 1, true),
			 -EFAULT);
	assert_non_null(strstr(failure_text(), "tenant0"));
	assert_int_equal(machine_pin(rig, 0, HUGE_BYTES, 1, true), -EFAULT);
	assert_int_equal(machine_pin(rig, 0, 0, ~0ull, true), -EFAULT);
	assert_int_equal(machine_pin(rig, 0, 0, 0, true), -EFAULT);
	/* Writes to the third page are refused, as a fault's would be. */
	rig->devices[0].read_only_start = 2 * PAGE_BYTES;
	rig->devices[0].read_only_end = 3 * PAGE_BYTES;
	rig->devices[0].config.refuse_writes = true;
	assert_int_equal(machine_pin(rig, 0, 0, 3 * PAGE_BYTES, true), -EFAULT);
	assert_int_equal(pins_now().pinned, 0);
	assert_int_equal(machine_pin(rig, 0, 0, 3 * PAGE_BYTES, false), 0);
	assert_int_equal(pins_now().pinned, 3);
}

static void an_entry_of_2_mib_is_not_split_for_a_pin(void **state)
{
	struct iommu_domain_stats stats;

	rig_build((struct rig_config){0});
	assert_int_equal(guest_memory_populate(rig->tenants[0].memory, 0, HUGE_BYTES), 0);
	assert_int_equal(iommu_map(rig->devices[0].domain, 0, rig->tenants[0].physical, HUGE_BYTES,
				   IOMMU_READ | IOMMU_WRITE, true),
			 0);
	assert_int_equal(machine_pin(rig, 0, 5 * PAGE_BYTES, PAGE_BYTES, true), 0);
	iommu_domain_stats(rig->devices[0].domain, &stats);
	assert_int_equal(stats.huge, 1);
	assert_int_equal(stats.splits, 0);
	write_to(0, 5 * PAGE_BYTES, 5);
	assert_int_equal(groups_of(0), 0);
}

static atomic_bool evicting;

static void *evict_around(void *argument)
{
	unsigned int seed = *(unsigned int *)argument;

	while (atomic_load(&evicting)) {
		__u64 page = (__u64)rand_r(&seed) % PAGES;
		enum evict_kind kind = rand_r(&seed) % 2 ? EVICT_MAJOR : EVICT_MINOR;

		(void)evict_page(rig, 0, page * PAGE_BYTES, kind);
	}
	return NULL;
}

struct pinner {
	pthread_t thread;
	__u32 device;
	__u64 rounds, faulted, absent;
};

/* From its pin to its unpin the page is there, and the device's DMA needs nothing. */
static void *pin_around(void *argument)
{
	struct pinner *pinner = argument;
	unsigned int seed = 100 + pinner->device;

	while (pinner->rounds < ROUNDS || pins_now().skipped < SKIPPED) {
		__u64 address = (__u64)rand_r(&seed) % (PAGES - 1) * PAGE_BYTES, groups;

		pinner->rounds++;
		if (machine_pin(rig, pinner->device, address, 2 * PAGE_BYTES, true))
			abort();
		groups = groups_of(pinner->device);
		for (int i = 0; i < 8; i++) {
			__u64 at = address + (__u64)(i % 2) * PAGE_BYTES;

			pinner->absent += !guest_memory_present(rig->tenants[0].memory, at);
			/* Each device has a word of its own. */
			if (port_dma_write(rig->devices[pinner->device].port, 0, PASID_NONE,
					   at + pinner->device * 8, &pinner->rounds,
					   sizeof(pinner->rounds)))
				abort();
		}
		pinner->faulted += groups_of(pinner->device) - groups;
		if (machine_unpin(rig, pinner->device, address, 2 * PAGE_BYTES))
			abort();
	}
	return NULL;
}

static void no_eviction_comes_between(void **state)
{
	unsigned int seeds[2] = {5, 6};
	pthread_t evictors[2];

	for (int kind = LOOKUP_PA_BITMAP; kind <= LOOKUP_ATS; kind++) {
		struct pinner pinners[2] = {{.device = 0}, {.device = 1}};

		rig_build((struct rig_config){.lookup = (enum lookup_kind)kind, .devices = 2});
		atomic_store(&evicting, true);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(thread_start(&evictors[i], NULL, evict_around, &seeds[i],
						      "evict-%d", i),
					 0);
			assert_int_equal(thread_start(&pinners[i].thread, NULL, pin_around,
						      &pinners[i], "pin-%d", i),
					 0);
		}
		for (int i = 0; i < 2; i++)
			pthread_join(pinners[i].thread, NULL);
		atomic_store(&evicting, false);
		for (int i = 0; i < 2; i++) {
			pthread_join(evictors[i], NULL);
			assert_int_equal(pinners[i].absent, 0);
			assert_int_equal(pinners[i].faulted, 0);
		}
		assert_int_equal(pins_now().pinned, 0);
		assert_true(rig_truth_count(TRUTH_EVICTED) > 0);
		assert_int_equal(rig_violations(rig), 0);
		if (kind == LOOKUP_PA_BITMAP)
			rig_destroy(rig);
	}
}

/* It takes what it may, and stops looking for what there is not. */
static void the_reclaimer_leaves_pinned_pages(void **state)
{
	struct guest_memory *memory;
	struct reclaimer *reclaimer;

	rig_build((struct rig_config){0});
	memory = rig->tenants[0].memory;
	assert_int_equal(guest_memory_populate(memory, 0, HUGE_BYTES), 0);
	assert_int_equal(machine_pin(rig, 0, 0, HUGE_BYTES / 2, true), 0);
	rig->config.premap = true;
	rig->config.reclaim_percent = 90;
	rig->config.reclaim_kind = EVICT_MAJOR;
	rig->config.reclaim_interval_ns = NSEC_PER_MSEC;
	assert_int_equal(reclaimer_start(&reclaimer, rig), 0);
	for (int tries = 0; tries < 3000 && rig_truth_count(TRUTH_EVICTED) < 256; tries++)
		sleep_until(monotonic_ns() + 10 * NSEC_PER_MSEC);
	reclaimer_stop(reclaimer);
	for (__u64 page = 0; page < 512; page++)
		assert_int_equal(guest_memory_present(memory, page * PAGE_BYTES), page < 256);
	assert_true(pins_now().skipped > 0);
}

/* Each pin counts, as in the kernel; what is too much is not brought in. */
static void beyond_the_limit_nothing_is_pinned(void **state)
{
	struct guest_memory *memory;

	rig_build((struct rig_config){.devices = 2, .memlock = 4 * PAGE_BYTES + 100});
	memory = rig->tenants[0].memory;
	assert_int_equal(pins_now().limit, 4 * PAGE_BYTES + 100);
	assert_int_equal(machine_pin(rig, 0, 0, 3 * PAGE_BYTES, true), 0);
	assert_int_equal(machine_pin(rig, 1, 2 * PAGE_BYTES, 2 * PAGE_BYTES, true), -ENOMEM);
	assert_non_null(strstr(failure_text(), "8 KiB"));
	assert_non_null(strstr(failure_text(), "make 20 KiB of tenant tenant0"));
	assert_non_null(strstr(failure_text(), "allows 16 KiB"));
	assert_false(guest_memory_present(memory, 3 * PAGE_BYTES));
	assert_int_equal(machine_pin(rig, 1, 2 * PAGE_BYTES, PAGE_BYTES, true), 0);
	assert_int_equal(pins_now().pinned, 3);
	assert_int_equal(pins_now().locked, 4 * PAGE_BYTES);
	assert_int_equal(machine_pin(rig, 0, 5 * PAGE_BYTES, 1, false), -ENOMEM);
	assert_int_equal(pins_now().refused, 2);
	assert_int_equal(pins_now().refused_locked, 5 * PAGE_BYTES);
	assert_int_equal(machine_unpin(rig, 0, 0, 3 * PAGE_BYTES), 0);
	assert_int_equal(pins_now().locked, PAGE_BYTES);
	/* A pin that fails for another reason takes nothing of it. */
	rig->devices[0].read_only_start = PAGE_BYTES;
	rig->devices[0].read_only_end = 2 * PAGE_BYTES;
	rig->devices[0].config.refuse_writes = true;
	assert_int_equal(machine_pin(rig, 0, 0, 3 * PAGE_BYTES, true), -EFAULT);
	assert_int_equal(pins_now().locked, PAGE_BYTES);
	assert_int_equal(machine_pin(rig, 0, 0, 3 * PAGE_BYTES, false), 0);
	assert_int_equal(pins_now().locked_most, 4 * PAGE_BYTES);
}

/* What it has brought in costs no fault and may leave at once, by whoever wants it to. */
static void advice_is_followed_and_kept_by_nobody(void **state)
{
	unsigned int seed = 7;
	pthread_t evictor;

	for (int kind = LOOKUP_PA_BITMAP; kind <= LOOKUP_ATS; kind++) {
		rig_build((struct rig_config){.lookup = (enum lookup_kind)kind});
		assert_int_equal(machine_advise(rig, 0, PAGE_BYTES, 3 * PAGE_BYTES, true), 0);
		for (__u64 page = 1; page < 4; page++)
			write_to(0, page * PAGE_BYTES, page);
		assert_int_equal(groups_of(0), 0);
		write_to(0, 4 * PAGE_BYTES, 4);
		assert_int_equal(groups_of(0), 1);
		assert_int_equal(pins_now().most, 0);
		assert_int_equal(machine_advise(rig, 0, HUGE_BYTES, 1, true), -EFAULT);
		atomic_store(&evicting, true);
		assert_int_equal(thread_start(&evictor, NULL, evict_around, &seed, "evict"), 0);
		for (__u64 round = 0; round < ROUNDS || rig_truth_count(TRUTH_EVICTED) < SKIPPED;
		     round++)
			assert_int_equal(machine_advise(rig, 0, round % PAGES * PAGE_BYTES,
							2 * PAGE_BYTES, true),
					 0);
		atomic_store(&evicting, false);
		pthread_join(evictor, NULL);
		assert_int_equal(rig_violations(rig), 0);
		if (kind == LOOKUP_PA_BITMAP)
			rig_destroy(rig);
	}
}

#define PIN_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PIN_TEST(a_pinned_range_costs_no_fault),
		PIN_TEST(a_pinned_page_stays_until_its_last_pin),
		PIN_TEST(what_cannot_be_pinned_is_not_in_part),
		PIN_TEST(an_entry_of_2_mib_is_not_split_for_a_pin),
		PIN_TEST(no_eviction_comes_between),
		PIN_TEST(the_reclaimer_leaves_pinned_pages),
		PIN_TEST(beyond_the_limit_nothing_is_pinned),
		PIN_TEST(advice_is_followed_and_kept_by_nobody),
	};

	return cmocka_run_group_tests_name("pins", tests, NULL, NULL);
}
