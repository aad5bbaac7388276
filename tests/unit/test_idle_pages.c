// SPDX-License-Identifier: GPL-2.0
/* What was idle for longest is found first, by the accessed bits of all devices; what is absent or pinned is not. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "injectors/emu/idle_pages.h"
#include "injectors/emu/thread.h"
#include "tests/unit/rig/rig.h"

enum { PAGES = 61, ALL = HUGE_BYTES / PAGE_BYTES };

static struct idle_pages *idle;
static __u64 found[IDLE_PAGES_MOST];

static void build(struct rig_config config, bool huge)
{
	__u64 bytes = config.memory ?: HUGE_BYTES;

	config.devices = 2;
	rig_build(config);
	assert_int_equal(guest_memory_populate(rig->tenants[0].memory, 0, bytes), 0);
	for (__u32 d = 0; d < 2; d++) {
		assert_int_equal(iommu_map(rig->devices[d].domain, 0, rig->tenants[0].physical,
					   bytes, IOMMU_READ | IOMMU_WRITE, huge),
				 0);
		lookup_map_ahead(rig->devices[d].lookup, 0, bytes);
	}
	assert_int_equal(idle_pages_create(&idle, rig), 0);
}

static int teardown(void **state)
{
	idle_pages_destroy(idle);
	return rig_teardown(state);
}

static void use(__u32 device, __u64 page)
{
	__u64 word = page;

	assert_int_equal(port_dma_write(rig->devices[device].port, 0, PASID_NONE, page * PAGE_BYTES,
					&word, sizeof(word)),
			 0);
}

static __u32 find(__u64 first, __u64 pages, __u32 want)
{
	return idle_pages_find(idle, 0, first, pages, want, found);
}

static void the_longest_idle_comes_first(void **state)
{
	for (int kind = LOOKUP_PA_BITMAP; kind <= LOOKUP_ATS; kind++) {
		build((struct rig_config){.lookup = (enum lookup_kind)kind}, false);
		/* Backwards, by either device, a scan after each; a DevTLB knows all of them the second time. */
		for (int round = 0; round < 2; round++)
			for (__u64 page = PAGES; page-- > 0;) {
				use(page % 2, page);
				idle_pages_scan(idle);
			}
		assert_int_equal(find(0, PAGES, PAGES), PAGES);
		for (__u64 i = 0; i < PAGES; i++)
			assert_int_equal(found[i], PAGES - 1 - i);
		/* What was never used goes before all that was. */
		assert_int_equal(find(0, PAGES + 1, 2), 2);
		assert_int_equal(found[0], PAGES);
		assert_int_equal(found[1], PAGES - 1);
		/* A use counts from the scan that finds it on. */
		use(0, PAGES - 1);
		assert_int_equal(find(0, PAGES, 1), 1);
		assert_int_equal(found[0], PAGES - 1);
		idle_pages_scan(idle);
		assert_int_equal(find(0, PAGES, 1), 1);
		assert_int_equal(found[0], PAGES - 2);
		assert_int_equal(rig_violations(rig), 0);
		if (kind == LOOKUP_PA_BITMAP)
			teardown(state);
	}
}

static void absent_and_pinned_pages_are_not_found(void **state)
{
	build((struct rig_config){0}, false);
	assert_int_equal(machine_pin(rig, 1, 3 * PAGE_BYTES, PAGE_BYTES, true), 0);
	assert_int_equal(evict_page(rig, 0, 5 * PAGE_BYTES, EVICT_MAJOR), 0);
	assert_int_equal(evict_page(rig, 0, 6 * PAGE_BYTES, EVICT_MINOR), 0);
	assert_int_equal(find(0, 8, 8), 5);
	for (int i = 0; i < 5; i++)
		assert_true(found[i] != 3 && found[i] != 5 && found[i] != 6);
	assert_int_equal(find(0, ALL, IDLE_PAGES_MOST), IDLE_PAGES_MOST);
	assert_int_equal(machine_unpin(rig, 1, 3 * PAGE_BYTES, PAGE_BYTES), 0);
	assert_int_equal(find(0, 8, 8), 6);
	assert_int_equal(find(0, 0, 8), 0);
	assert_int_equal(find(0, 8, 0), 0);
}

/* Of equals nobody is always the first. */
static void equals_take_turns(void **state)
{
	build((struct rig_config){0}, false);
	for (__u64 page = 0; page < 3; page++) {
		assert_int_equal(find(0, 3, 1), 1);
		assert_int_equal(found[0], page);
	}
	assert_int_equal(find(0, 3, 1), 1);
	assert_int_equal(found[0], 0);
}

/* One bit for 2 MiB: a use of any page of it is one of all. */
static void a_huge_entry_is_used_as_a_whole(void **state)
{
	build((struct rig_config){.memory = 2 * HUGE_BYTES}, true);
	use(0, 7);
	idle_pages_scan(idle);
	assert_int_equal(find(0, 2ull * ALL, 1), 1);
	assert_int_equal(found[0], ALL);
	use(0, ALL);
	idle_pages_scan(idle);
	/* Split, each has what the whole had. */
	use(0, ALL + 1);
	assert_int_equal(evict_page(rig, 0, (ALL + 5) * PAGE_BYTES, EVICT_MAJOR), 0);
	assert_int_equal(find(0, 2ull * ALL, 1), 1);
	assert_true(found[0] < ALL);
}

static void brought_back(__u64 page)
{
	assert_int_equal(
		guest_memory_populate(rig->tenants[0].memory, page * PAGE_BYTES, PAGE_BYTES), 0);
}

/* Of a virtual machine's pages one that has come since the last scan has been used, by whomever. */
static void what_comes_counts_of_a_virtual_machine(void **state)
{
	build((struct rig_config){0}, false);
	idle_pages_destroy(idle);
	rig->tenants[0].config.backend = MEMORY_VM;
	assert_int_equal(idle_pages_create(&idle, rig), 0);
	idle_pages_scan(idle);
	/* Away at a scan. */
	assert_int_equal(evict_page(rig, 0, 5 * PAGE_BYTES, EVICT_MAJOR), 0);
	idle_pages_scan(idle);
	brought_back(5);
	idle_pages_scan(idle);
	/* Between two scans: whoever has found it takes it. */
	assert_int_equal(find(2, 1, 1), 1);
	assert_int_equal(evict_page(rig, 0, 2 * PAGE_BYTES, EVICT_MAJOR), 0);
	brought_back(2);
	idle_pages_scan(idle);
	assert_int_equal(find(0, 8, 8), 8);
	assert_int_equal(found[6], 5);
	assert_int_equal(found[7], 2);
	for (int i = 0; i < 6; i++)
		assert_true(found[i] != 5 && found[i] != 2);
	rig->tenants[0].config.backend = MEMORY_PAGER;
}

/* The reclaimer goes by it: what is used stays, whatever it takes of the rest. */
static void the_reclaimer_takes_what_is_idle(void **state)
{
	const __u64 out = ALL * 70 / 100;
	struct guest_memory_stats stats;
	struct reclaimer *reclaimer;

	build((struct rig_config){0}, false);
	for (__u64 page = 0; page < 101; page++)
		use(page % 2, page * 5);
	idle_pages_scan(idle);
	rig->idle = idle;
	rig->config.premap = true;
	rig->config.reclaim_kind = EVICT_MAJOR;
	rig->config.reclaim_percent = 70;
	assert_int_equal(reclaimer_start(&reclaimer, rig), 0);
	do {
		sleep_until(monotonic_ns() + MS);
		guest_memory_stats(rig->tenants[0].memory, &stats);
	} while (stats.evicted_major < out);
	/* Nor does it go on. */
	sleep_until(monotonic_ns() + 250 * MS);
	reclaimer_stop(reclaimer);
	guest_memory_stats(rig->tenants[0].memory, &stats);
	assert_int_equal(stats.evicted_major, out);
	for (__u64 page = 0; page < 101; page++)
		assert_true(guest_memory_present(rig->tenants[0].memory, page * 5 * PAGE_BYTES));
}

#define IDLE_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IDLE_TEST(the_longest_idle_comes_first),
		IDLE_TEST(absent_and_pinned_pages_are_not_found),
		IDLE_TEST(equals_take_turns),
		IDLE_TEST(what_comes_counts_of_a_virtual_machine),
		IDLE_TEST(a_huge_entry_is_used_as_a_whole),
		IDLE_TEST(the_reclaimer_takes_what_is_idle),
	};

	return cmocka_run_group_tests_name("idle_pages", tests, NULL, NULL);
}
