// SPDX-License-Identifier: GPL-2.0
/* Host's pages in place of a guest's: seen by all at once, and gone without a trace. */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/memory.h"
#include "injectors/emu/memory_views.h"
#include "injectors/emu/presence.h"
#include "lib/base/fail.h"
#include "tests/unit/child.h"

#define BYTES	     (4 * HUGE_BYTES)
#define PAGE(number) ((__u64)(number)*PAGE_BYTES)

enum { FIRST = 7, COVERED = 5, ROUNDS = 101 };

static struct guest_memory *memory;
static int resources;
static volatile __u64 *owned; /* what the host has of it */

static int setup(void **state)
{
	struct guest_memory_config config = {.bytes = BYTES, .physical = 1ull << 30};

	resources = memfd_create("resources", MFD_CLOEXEC);
	if (resources < 0 || ftruncate(resources, PAGE(16)))
		return -1;
	owned = mmap(NULL, PAGE(16), PROT_READ | PROT_WRITE, MAP_SHARED, resources, 0);
	for (__u64 page = 0; page < 16; page++)
		owned[page * 512] = 0xd00be110 + page;
	return guest_memory_create(&memory, &config) || guest_memory_populate(memory, 0, PAGE(32));
}

static int teardown(void **state)
{
	guest_memory_destroy(memory);
	munmap((void *)owned, PAGE(16));
	close(resources);
	return 0;
}

static __u64 cpu_word(__u64 page)
{
	return *(volatile __u64 *)guest_memory_cpu(memory, PAGE(page));
}

static __u64 dma_word(__u64 page)
{
	__u64 word = 0;

	assert_int_equal(guest_memory_dma_copy(memory, PAGE(page), &word, sizeof(word), false), 0);
	return word;
}

static __u64 content(__u64 page)
{
	return (PAGE(page) + 1) * 0x9e3779b97f4a7c15ull;
}

/* As /proc/self/status and /proc/self/maps have it: bytes locked, mappings of the memory file. */
static void count(long *locked_kib, long *mappings)
{
	FILE *status = fopen("/proc/self/status", "r"), *maps = fopen("/proc/self/maps", "r");
	char line[512];

	assert_true(status && maps);
	for (*locked_kib = 0; fgets(line, sizeof(line), status);)
		(void)sscanf(line, "VmLck: %ld", locked_kib);
	for (*mappings = 0; fgets(line, sizeof(line), maps);)
		*mappings += strstr(line, "faultline-guest") != NULL;
	fclose(status);
	fclose(maps);
}

static void assert_covered(__u64 first, __u64 end, __u64 offset)
{
	for (__u64 page = 0; page < 32; page++) {
		bool under = page >= first && page < end;
		__u64 word = under ? 0xd00be110 + page - first + offset : content(page);

		assert_int_equal(cpu_word(page), word);
		assert_int_equal(dma_word(page), word);
	}
}

static void both_views_show_it_and_then_their_own(void **state)
{
	long locked, mappings, now_locked, now_mappings;

	count(&locked, &mappings);
	assert_int_equal(mappings, 2);
	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(guest_memory_overlay(memory, PAGE(FIRST), PAGE(COVERED), resources,
						      PAGE(3)),
				 0);
		assert_covered(FIRST, FIRST + COVERED, 3);
		/* It is one memory, not a copy. */
		*(volatile __u64 *)guest_memory_cpu(memory, PAGE(FIRST) + 8) = round + 1ull;
		assert_int_equal(owned[3 * 512 + 1], round + 1);
		assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST), PAGE(COVERED)), 0);
		assert_covered(0, 0, 0);
	}
	count(&now_locked, &now_mappings);
	assert_int_equal(now_locked, locked);
	assert_int_equal(now_mappings, mappings);
}

/* Once it is over all is as ever: what is evicted is gone for devices, and comes back. */
static void pages_that_were_under_it_come_and_go(void **state)
{
	struct guest_memory_stats before, after;
	__u64 word;
	bool major;

	assert_int_equal(dma_guard_install(), 0); /* cmocka has taken its place */
	assert_int_equal(guest_memory_overlay(memory, PAGE(FIRST), PAGE(COVERED), resources, 0), 0);
	assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST), PAGE(COVERED)), 0);
	guest_memory_stats(memory, &before);
	for (__u64 page = FIRST; page < FIRST + COVERED; page++) {
		for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
			assert_true(guest_memory_present(memory, PAGE(page)));
			assert_int_equal(page_mapped(guest_memory_dma(memory, PAGE(page))), 1);
			assert_int_equal(
				guest_memory_evict(memory, PAGE(page), (enum evict_kind)kind), 0);
			assert_int_equal(guest_memory_dma_copy(memory, PAGE(page), &word, 8, false),
					 -EFAULT);
			assert_int_equal(guest_memory_resolve(memory, PAGE(page), 0, true, &major),
					 0);
			assert_int_equal(major, kind == EVICT_MAJOR);
			assert_int_equal(dma_word(page), content(page));
		}
	}
	guest_memory_stats(memory, &after);
	assert_int_equal(after.page_in_file - before.page_in_file, COVERED);
}

static void what_is_under_it_is_not_evicted(void **state)
{
	bool major;

	assert_int_equal(guest_memory_overlay(memory, PAGE(FIRST), PAGE(COVERED), resources, 0), 0);
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++)
		assert_int_equal(guest_memory_evict(memory, PAGE(FIRST), (enum evict_kind)kind),
				 -EBUSY);
	/* Its neighbour is; and one page of it once that is back. */
	assert_int_equal(guest_memory_evict(memory, PAGE(FIRST + COVERED), EVICT_MAJOR), 0);
	assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST + 1), PAGE_BYTES), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(FIRST + 1), EVICT_MAJOR), 0);
	assert_int_equal(cpu_word(FIRST + 1), content(FIRST + 1));
	assert_int_equal(cpu_word(FIRST + 2), 0xd00be112);
	assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST), PAGE(COVERED)), -EINVAL);
	assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST), PAGE_BYTES), 0);
	assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST + 2), PAGE(COVERED - 2)), 0);
	assert_int_equal(guest_memory_resolve(memory, PAGE(FIRST + 1), 0, true, &major), 0);
	assert_int_equal(guest_memory_resolve(memory, PAGE(FIRST + COVERED), 0, true, &major), 0);
	assert_covered(0, 0, 0);
}

static void refuse(__u64 start, __u64 bytes, __u64 offset, int error)
{
	assert_int_equal(guest_memory_overlay(memory, start, bytes, resources, offset), error);
	assert_true(failure_text()[0]);
}

static void what_cannot_be_is_refused_as_a_whole(void **state)
{
	long locked, mappings, now_locked, now_mappings;

	count(&locked, &mappings);
	refuse(PAGE(1) + 1, PAGE(1), 0, -EINVAL);
	refuse(PAGE(1), PAGE(1) + 1, 0, -EINVAL);
	refuse(PAGE(1), 0, 0, -EINVAL);
	refuse(BYTES - PAGE(1), PAGE(2), 0, -EINVAL);
	refuse(~0ull - 4095, PAGE(2), 0, -EINVAL);
	refuse(PAGE(1), ~0ull - 4095, 0, -EINVAL);
	refuse(PAGE(1), PAGE(1), 8, -EINVAL);
	refuse(PAGE(31), PAGE(2), 0, -EINVAL); /* nobody has brought the second */
	assert_int_equal(guest_memory_overlay(memory, PAGE(1), PAGE(1), -1, 0), -EBADF);
	assert_int_equal(guest_memory_overlay_end(memory, PAGE(1), PAGE(1)), -EINVAL);
	count(&now_locked, &now_mappings);
	assert_int_equal(now_locked, locked);
	assert_int_equal(now_mappings, mappings);
	assert_covered(0, 0, 0);
	assert_int_equal(guest_memory_overlay(memory, PAGE(2), PAGE(2), resources, 0), 0);
	refuse(PAGE(1), PAGE(2), 0, -EBUSY);
	assert_covered(2, 4, 0);
	assert_int_equal(guest_memory_overlay_end(memory, PAGE(2), PAGE(2)), 0);
	/* As it was, also for devices: that of the page which was refused with another, too. */
	assert_int_equal(guest_memory_evict(memory, PAGE(1), EVICT_MAJOR), 0);
	assert_int_equal(cpu_word(1), content(1));
}

static atomic_bool stop;

/* Reads one page for as long as the test changes what is there: it is the one or the other. */
static void *read_all_along(void *argument)
{
	atomic_uint *strange = argument;

	while (!atomic_load(&stop)) {
		__u64 cpu = cpu_word(FIRST), dma = 0;

		if (cpu != 0xd00be110 && cpu != content(FIRST))
			atomic_fetch_add(strange, 1);
		if (guest_memory_dma_copy(memory, PAGE(FIRST), &dma, 8, false) ||
		    (dma != 0xd00be110 && dma != content(FIRST)))
			atomic_fetch_add(strange, 1);
	}
	return NULL;
}

/* A device may touch the page at any instant: there is none at which there is nothing. */
static void who_looks_meanwhile_sees_one_or_the_other(void **state)
{
	atomic_uint strange = 0;
	pthread_t reader;

	assert_int_equal(pthread_create(&reader, NULL, read_all_along, &strange), 0);
	for (int round = 0; round < 1009; round++) {
		assert_int_equal(guest_memory_overlay(memory, PAGE(FIRST), PAGE(1), resources, 0),
				 0);
		assert_int_equal(cpu_word(FIRST), 0xd00be110);
		assert_int_equal(dma_word(FIRST), 0xd00be110);
		assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST), PAGE(1)), 0);
		assert_int_equal(cpu_word(FIRST), content(FIRST));
		assert_int_equal(dma_word(FIRST), content(FIRST));
	}
	atomic_store(&stop, true);
	pthread_join(reader, NULL);
	assert_int_equal(strange, 0);
}

static void a_process_that_starts_has_it_not(void **state)
{
	unsigned char there;
	pid_t child;
	int status;

	assert_int_equal(guest_memory_overlay(memory, PAGE(FIRST), PAGE(1), resources, 0), 0);
	for (int again = 0; again < 2; again++) {
		child = child_fork();
		if (!child)
			_exit(mincore(guest_memory_cpu(memory, PAGE(FIRST)), PAGE_BYTES, &there) &&
					      mincore(guest_memory_dma(memory, PAGE(FIRST)),
						      PAGE_BYTES, &there)
				      ? 0
				      : 1);
		waitpid(child, &status, 0);
		assert_int_equal(status, 0);
		assert_int_equal(guest_memory_overlay_end(memory, PAGE(FIRST), PAGE(1)),
				 again ? -EINVAL : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_views_show_it_and_then_their_own, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pages_that_were_under_it_come_and_go, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_under_it_is_not_evicted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_is_refused_as_a_whole, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_looks_meanwhile_sees_one_or_the_other, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_process_that_starts_has_it_not, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
