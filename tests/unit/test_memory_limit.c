// SPDX-License-Identifier: GPL-2.0
/* memory_limit: what all guests hold stays below it, what is used stays, and what cannot be pinned is refused. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/emu/page_clock.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"
#include "tests/unit/rig/rig.h"

#define LIMIT MEMORY_LIMIT_LEAST
enum { TENANTS = 2, ROUNDS = 3, PAGES = HUGE_BYTES / PAGE_BYTES };

/* By mincore() of the guest's mapping: another count of the kernel's than the one that the reclaimer goes by. */
static __u64 pages_held(void)
{
	__u64 held = 0;

	for (__u32 t = 0; t < rig->config.tenant_count; t++) {
		static unsigned char cached[2 * PAGES];
		size_t bytes = rig->tenants[t].config.memory;

		assert_int_equal(
			mincore(guest_memory_cpu(rig->tenants[t].memory, 0), bytes, cached), 0);
		for (size_t i = 0; i < bytes / PAGE_BYTES; i++)
			held += cached[i] & 1;
	}
	return held;
}

static __u64 *word_of(__u32 tenant, __u64 page)
{
	return guest_memory_cpu(rig->tenants[tenant].memory, page * PAGE_BYTES);
}

/* Two guests of 4 MiB write all they have, by CPU and by DMA, with 2 MiB of the host's. */
static void what_is_held_stays_below_the_limit(void **state)
{
	struct memory_limit_stats stats;
	__u64 most = 0, read;

	rig_build((struct rig_config){
		.tenants = TENANTS, .memory = 2 * HUGE_BYTES, .memory_limit = LIMIT});
	assert_int_equal(memory_limit_start(rig->limit), 0);
	for (__u64 round = 1; round <= ROUNDS; round++)
		for (__u64 page = 0; page < 2 * PAGES; page++)
			for (__u32 t = 0; t < TENANTS; t++) {
				__u64 held, word = round * 1000003 + page * TENANTS + t;

				if (page % 2)
					*word_of(t, page) = word;
				else
					assert_int_equal(port_dma_write(rig->devices[t].port, 0,
									PASID_NONE,
									page * PAGE_BYTES, &word,
									sizeof(word)),
							 0);
				held = page % 61 ? 0 : pages_held();
				most = held > most ? held : most;
			}
	for (__u64 page = 0; page < 2 * PAGES; page++)
		for (__u32 t = 0; t < TENANTS; t++) {
			assert_int_equal(port_dma_read(rig->devices[t].port, 0, PASID_NONE,
						       page * PAGE_BYTES, &read, sizeof(read)),
					 0);
			assert_int_equal(read, ROUNDS * 1000003 + page * TENANTS + t);
		}
	memory_limit_stop(rig->limit);
	memory_limit_stats(rig->limit, &stats);
	print_message("held %llu pages at most of %llu, %llu reclaimed, %llu waits\n", most,
		      LIMIT / PAGE_BYTES, stats.reclaimed, stats.waits);
	/* A page may be brought once its wait is over, however busy the host: a few. */
	assert_true(most <= LIMIT / PAGE_BYTES * 9 / 8);
	assert_true(most >= LIMIT / PAGE_BYTES * 3 / 4);
	assert_int_equal(stats.present, pages_held() * PAGE_BYTES);
	assert_true(stats.present <= stats.present_most && stats.present_most <= LIMIT * 9 / 8);
	/* All of 8 MiB went through 2, once a round. */
	assert_true(stats.reclaimed >= (ROUNDS - 1) * 3ull * PAGES);
	assert_int_equal(rig_violations(rig), 0);
}

/* The hand comes by once and takes the marks; what is not used until it is back goes, and nothing else. */
static void what_is_used_stays(void **state)
{
	struct page_clock *clock;
	struct page_clock_step step;
	__u64 evicted = 0, word = 0, looked_at;
	unsigned char look;

	rig_build((struct rig_config){.memory_limit = LIMIT});
	assert_int_equal(guest_memory_populate(rig->tenants[0].memory, 0, HUGE_BYTES), 0);
	assert_int_equal(iommu_map(rig->devices[0].domain, 0, rig->tenants[0].physical, HUGE_BYTES,
				   IOMMU_READ | IOMMU_WRITE, false),
			 0);
	lookup_map_ahead(rig->devices[0].lookup, 0, HUGE_BYTES);
	assert_int_equal(machine_pin(rig, 0, 5 * PAGE_BYTES, PAGE_BYTES, true), 0);
	assert_int_equal(page_clock_create(&clock, rig), 0);
	assert_int_equal(page_clock_pages(clock), PAGES);
	for (looked_at = 0; looked_at < PAGES; looked_at += step.looked_at) {
		page_clock_step(clock, PAGES, &step);
		assert_int_equal(step.evicted, 0);
	}
	for (__u64 page = 0; page < PAGES; page++) {
		if (page % 3 == 0)
			word += *(volatile __u64 *)word_of(0, page);
		else if (page % 3 == 1)
			assert_int_equal(port_dma_read(rig->devices[0].port, 0, PASID_NONE,
						       page * PAGE_BYTES, &word, sizeof(word)),
					 0);
	}
	for (looked_at = 0; looked_at < PAGES; looked_at += step.looked_at) {
		page_clock_step(clock, PAGES, &step);
		evicted += step.evicted;
	}
	for (__u64 page = 0; page < PAGES; page++) {
		assert_int_equal(
			guest_memory_look(rig->tenants[0].memory, page * PAGE_BYTES, 1, &look), 0);
		assert_int_equal(!!(look & PAGE_LOOK_HELD), page % 3 != 2 || page == 5);
	}
	assert_int_equal(evicted, PAGES / 3 - 1);
	assert_int_equal(pages_held(), PAGES - evicted);
	/* And no more than is asked for. */
	for (looked_at = 0, evicted = 0; looked_at < 2 * PAGES && evicted < 7;
	     looked_at += step.looked_at) {
		page_clock_step(clock, 7 - evicted, &step);
		evicted += step.evicted;
	}
	assert_int_equal(evicted, 7);
	assert_int_equal(rig_violations(rig), 0);
	page_clock_destroy(clock);
}

static void what_cannot_be_pinned_is_refused(void **state)
{
	const __u64 pinnable = LIMIT - LIMIT / 16;
	char numbers[64];

	rig_build((struct rig_config){
		.tenants = TENANTS, .memory = 2 * HUGE_BYTES, .memory_limit = LIMIT});
	assert_int_equal(memory_limit_left(rig->limit), pinnable);
	assert_int_equal(machine_pin(rig, 0, 0, HUGE_BYTES / 2, true), 0);
	assert_int_equal(memory_limit_left(rig->limit), pinnable - HUGE_BYTES / 2);
	/* Once more is no more memory. */
	assert_int_equal(machine_pin(rig, 0, 0, HUGE_BYTES / 2, true), 0);
	assert_int_equal(memory_limit_left(rig->limit), pinnable - HUGE_BYTES / 2);
	assert_int_equal(machine_pin(rig, 1, 0, HUGE_BYTES / 2, true), -ENOMEM);
	assert_non_null(strstr(failure_text(), "tenant1"));
	snprintf(numbers, sizeof(numbers), "would pin %lu KiB, and %llu KiB are left",
		 HUGE_BYTES / 2 / 1024, (pinnable - HUGE_BYTES / 2) / 1024);
	assert_non_null(strstr(failure_text(), numbers));
	/* Nothing of it is pinned, nor was it brought in. */
	assert_int_equal(pages_held(), HUGE_BYTES / 2 / PAGE_BYTES);
	assert_int_equal(memory_limit_left(rig->limit), pinnable - HUGE_BYTES / 2);
	assert_int_equal(machine_pin(rig, 1, 0, pinnable - HUGE_BYTES / 2, true), 0);
	assert_int_equal(memory_limit_left(rig->limit), 0);
	assert_int_equal(machine_pin(rig, 1, HUGE_BYTES, 1, true), -ENOMEM);
	assert_int_equal(machine_unpin(rig, 0, 0, HUGE_BYTES / 2), 0);
	assert_int_equal(memory_limit_left(rig->limit), 0);
	assert_int_equal(machine_unpin(rig, 0, 0, HUGE_BYTES / 2), 0);
	assert_int_equal(memory_limit_left(rig->limit), HUGE_BYTES / 2);
	assert_int_equal(machine_pin(rig, 1, HUGE_BYTES, 1, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_is_held_stays_below_the_limit, rig_teardown),
		cmocka_unit_test_teardown(what_is_used_stays, rig_teardown),
		cmocka_unit_test_teardown(what_cannot_be_pinned_is_refused, rig_teardown),
	};

	return cmocka_run_group_tests_name("memory_limit", tests, NULL, NULL);
}
