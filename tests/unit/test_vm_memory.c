// SPDX-License-Identifier: GPL-2.0
/* A virtual machine's pages go and come back beside its CPUs, which lose nothing; what it gives back; and who goes past the pager. */
#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/memory_private.h"
#include "injectors/emu/memory_views.h"
#include "injectors/emu/truth.h"
#include "lib/base/random.h"
#include "tests/unit/amount.h"
#include "tests/unit/scratch.h"
#include "tests/unit/vm_world.h"

enum { PAGES = 67, THREADS = 3 };
/* Of each thread at least, and pages that are brought back meanwhile. */
#define WRITES	amount(100003, 20011)
#define BROUGHT amount(20011, 2003)

/* One that may have been evicted already. */
static unsigned int evict_one(struct random *random)
{
	struct truth_record truth = {.address = VM_PAGE(random_below(random, PAGES)),
				     .who = TRUTH_RECLAIMER,
				     .what = TRUTH_EVICTED};
	int result =
		guest_memory_evict_timed(vm.memory, truth.address, EVICT_MAJOR, &truth.time_ns);

	assert_true(!result || result == -ENOENT);
	assert_int_equal(!result, truth.time_ns != 0);
	if (!result)
		truth_log(truth);
	return !result;
}

/* While threads of the guest write to all pages; returns how many it were. */
static unsigned int evict_beside_writers(unsigned int brought)
{
	struct random random = {41};
	unsigned int evicted = 0;

	fake_qemu_tell(&vm.qemu, "churn %d %u %d", THREADS, WRITES, PAGES);
	while (vm_world_stats().page_in_file < brought)
		evicted += evict_one(&random);
	fake_qemu_tell(&vm.qemu, "stop");
	while (!fake_qemu_is_ready(&vm.qemu))
		evicted += evict_one(&random);
	return evicted;
}

/* The words of the pages, as `sum` of the fake makes it; each brought back, if it was out. */
static __u64 sum_here(void)
{
	const __u64 *words = guest_memory_cpu(vm.memory, 0);
	__u64 all = 0;

	for (__u32 i = 0; i < PAGES * (PAGE_BYTES / 8); i++)
		all = all * 31 + words[i];
	return all;
}

/* Of pages that are out, by the file in which they are. */
static unsigned int pages_in_file(void)
{
	unsigned char page[PAGE_BYTES], none[PAGE_BYTES] = {0};
	unsigned int count = 0;

	for (__u32 i = 0; i < PAGES; i++) {
		if (!pager_is_out(vm.memory, VM_PAGE(i)))
			continue;
		assert_int_equal(pread(vm.memory->backing, page, PAGE_BYTES, (off_t)VM_PAGE(i)),
				 PAGE_BYTES);
		assert_true(memcmp(page, none, PAGE_BYTES));
		count++;
	}
	return count;
}

static void nothing_is_lost_beside_evictions(void **state)
{
	struct guest_memory_stats stats;
	unsigned int evicted;
	__u64 theirs;

	vm_world_boot();
	evicted = evict_beside_writers(BROUGHT);
	assert_string_equal(fake_qemu_reply(&vm.qemu), "lost 0");
	stats = vm_world_stats();
	/* What went is in the file or has come back, each page for one fault. */
	assert_int_equal(stats.evicted_major, evicted);
	assert_int_equal(stats.evicted_major, stats.page_in_file + stats.out);
	assert_int_equal(stats.out, pages_in_file());
	assert_int_equal(stats.page_in_zero, PAGES);
	assert_int_equal(stats.view_faults, stats.page_in_zero + stats.page_in_file);
	assert_int_equal(stats.discarded + stats.bypassed, 0);
	theirs = strtoull(fake_qemu_ask(&vm.qemu, "sum 0 %d", PAGES), NULL, 10);
	for (__u32 i = 0; i < PAGES; i++)
		assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(i), EVICT_MAJOR), 0);
	assert_true(sum_here() == theirs);
	vm_world_power_down();
	assert_int_equal(guest_memory_find_bypassed(vm.memory), 0);
}

/* By the log, whose lines are in the order of their times: each page goes, comes back, goes again. */
static unsigned int brought_in_turn(const char *path)
{
	bool out[PAGES] = {0};
	unsigned int brought = 0;
	char line[512];
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		json_t *object = json_loads(line, 0, NULL);
		const char *what = json_string_value(json_object_get(object, "what"));
		__u64 page = json_integer_value(json_object_get(object, "address")) >> PAGE_BITS;
		bool evicted = !strcmp(what, "evicted");

		if (evicted || json_integer_value(json_object_get(object, "code")) == PAGE_FILE) {
			assert_true(page < PAGES);
			if (out[page] == evicted)
				fail_msg("page %llu: %s twice: %s", page, what, line);
			out[page] = evicted;
			brought += !evicted;
		}
		json_decref(object);
	}
	fclose(file);
	return brought;
}

static void the_log_has_each_page_go_and_come_in_turn(void **state)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/truth", scratch);
	vm_world_boot();
	assert_int_equal(truth_open(path, true), 0);
	evict_beside_writers(BROUGHT);
	assert_string_equal(fake_qemu_reply(&vm.qemu), "lost 0");
	assert_int_equal(truth_close(), 0);
	assert_int_equal(brought_in_turn(path), vm_world_stats().page_in_file);
	vm_world_power_down();
}

/* Else the first test could not fail. */
static void without_protection_writes_are_lost(void **state)
{
	unsigned long lost = 0;

	vm_world_boot();
	for (unsigned int round = 1; !lost && round < 100; round++) {
		evict_beside_writers(round * BROUGHT);
		assert_int_equal(sscanf(fake_qemu_reply(&vm.qemu), "lost %lu", &lost), 1);
	}
	assert_true(lost > 0);
	vm_world_power_down();
}

static void what_is_given_back_is_zeroes(void **state)
{
	struct guest_memory_stats stats;

	vm_world_boot();
	for (int i = 0; i < 7; i++)
		fake_qemu_ask(&vm.qemu, "write 0 %d %d", i, 1000 + i);
	/* Page 1 was out once: its content in the file is old. */
	assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(1), EVICT_MAJOR), 0);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "read 0 1"), "1001");
	for (int i = 1; i < 4; i++)
		assert_string_equal(fake_qemu_ask(&vm.qemu, "punch 0 %d", i), "done");
	assert_int_equal(vm_world_stats().discarded, 0);
	assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(2), EVICT_MAJOR), -ENOENT);
	for (int i = 0; i < 7; i++)
		assert_int_equal(atoi(fake_qemu_ask(&vm.qemu, "read 0 %d", i)),
				 i >= 1 && i < 4 ? 0 : 1000 + i);
	stats = vm_world_stats();
	assert_int_equal(stats.discarded, 3);
	assert_int_equal(stats.page_in_zero, 7 + 3);
	assert_int_equal(stats.evicted_major, 1);
	assert_int_equal(stats.bypassed, 0);
	vm_world_power_down();
}

/* Its devices, which had the page, were not told. */
static void a_device_finds_what_was_given_back(void **state)
{
	__u64 value = 0;
	bool major;

	assert_int_equal(dma_guard_install(), 0);
	vm_world_boot();
	fake_qemu_ask(&vm.qemu, "write 0 5 77");
	assert_int_equal(guest_memory_resolve(vm.memory, VM_PAGE(5), 0, true, &major), 0);
	assert_int_equal(guest_memory_dma_copy(vm.memory, VM_PAGE(5), &value, 8, false), 0);
	assert_int_equal(value, 77);
	fake_qemu_ask(&vm.qemu, "punch 0 5");
	assert_int_equal(guest_memory_dma_copy(vm.memory, VM_PAGE(5), &value, 8, false), 0);
	assert_int_equal(value, 0);
	value = 78;
	assert_int_equal(guest_memory_dma_copy(vm.memory, VM_PAGE(5), &value, 8, true), 0);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "read 0 5"), "78");
	assert_int_equal(vm_world_stats().discarded, 1);
	assert_int_equal(vm_world_stats().dma_violations, 0);
	/* What was evicted it does not find. */
	assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(5), EVICT_MAJOR), 0);
	assert_int_equal(guest_memory_dma_copy(vm.memory, VM_PAGE(5), &value, 8, false), -EFAULT);
	assert_int_equal(vm_world_stats().dma_violations, 1);
	vm_world_power_down();
}

static void evict_written(int page)
{
	fake_qemu_ask(&vm.qemu, "write 0 %d %d", page, 1000 + page);
	assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(page), EVICT_MAJOR), 0);
}

/* By the guest's write, by who evicts, by who brings it, and by looking: each page once. */
static void who_goes_past_the_pager_is_noticed(void **state)
{
	vm_world_boot();
	for (int i = 0; i < 5; i++)
		evict_written(i);
	assert_int_equal(vm_world_stats().out, 5);
	for (int i = 0; i < 4; i++)
		fake_qemu_ask(&vm.qemu, "stray %d %d", i, i);
	assert_int_equal(vm_world_stats().bypassed, 0);
	/* A write-protect fault on a page that is out. */
	fake_qemu_ask(&vm.qemu, "write 0 0 500");
	assert_int_equal(vm_world_stats().bypassed, 1);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "read 0 0"), "500");
	assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(1), EVICT_MAJOR), 0);
	assert_int_equal(vm_world_stats().bypassed, 2);
	assert_int_equal(guest_memory_find_bypassed(vm.memory), 4);
	assert_int_equal(guest_memory_find_bypassed(vm.memory), 4);
	assert_int_equal(atoi(fake_qemu_ask(&vm.qemu, "read 0 4")), 1004);
	assert_int_equal(vm_world_stats().bypassed, 4);
	assert_int_equal(vm_world_stats().out, 1);
	vm_world_power_down();
}

/* By QEMU's addresses, of three regions: the rest, and twice half a huge page. */
static void where_it_lies(void)
{
	__u64 at = 0;

	for (int region = 0; region < 3; region++) {
		__u64 base = strtoull(fake_qemu_ask(&vm.qemu, "where %d", region), NULL, 10);
		__u64 start = region ? VM_BYTES - HUGE_BYTES + (region - 1) * HUGE_BYTES / 2 : 0;
		__u64 bytes = region ? HUGE_BYTES / 2 : VM_BYTES - HUGE_BYTES;

		assert_int_equal(guest_memory_of_view(vm.memory, base, bytes, &at), 0);
		assert_int_equal(at, start);
		assert_int_equal(guest_memory_of_view(vm.memory, base + bytes - 1, 1, &at), 0);
		assert_int_equal(at, start + bytes - 1);
		assert_int_equal(guest_memory_of_view(vm.memory, base + 1, bytes, &at), -ENOENT);
		assert_int_equal(guest_memory_of_view(vm.memory, base, ~0ull, &at), -ENOENT);
	}
	assert_int_equal(guest_memory_of_view(vm.memory, 0, 1, &at), -ENOENT);
}

static void memory_that_is_plugged_in_has_its_own_part(void **state)
{
	struct vm_status status;

	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES - HUGE_BYTES), "mapped");
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", HUGE_BYTES / 2), "mapped");
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", HUGE_BYTES / 2), "mapped");
	vm_handover_status(vm.handover, &status);
	assert_int_equal(status.regions, 3);
	for (int region = 0; region < 3; region++)
		fake_qemu_ask(&vm.qemu, "write %d 3 %d", region, 100 + region);
	for (int region = 0; region < 3; region++) {
		__u64 page = region ? VM_BYTES - HUGE_BYTES + (region - 1) * HUGE_BYTES / 2 : 0;

		page += VM_PAGE(3);
		assert_int_equal(guest_memory_evict(vm.memory, page, EVICT_MAJOR), 0);
		assert_int_equal(*(__u64 *)guest_memory_cpu(vm.memory, page), 100 + region);
		assert_int_equal(guest_memory_evict(vm.memory, page, EVICT_MAJOR), 0);
		assert_int_equal(atoi(fake_qemu_ask(&vm.qemu, "read %d 3", region)), 100 + region);
	}
	where_it_lies();
	/* A hole in one is none in another. */
	fake_qemu_ask(&vm.qemu, "punch 2 3");
	for (int region = 0; region < 3; region++)
		assert_int_equal(atoi(fake_qemu_ask(&vm.qemu, "read %d 3", region)),
				 region == 2 ? 0 : 100 + region);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map 4096"), "refused 28");
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_non_null(strstr(vm.qemu.said, "tenant guest has 0 left for that"));
}

/* What the pager has told of, which it does before the access goes on. */
static struct watched {
	_Atomic __u32 tid; /* of which thread it shall */
	unsigned int begun, ended, major, writes;
	__u64 guest_address;
} watched;

static bool watch_begins(void *argument, struct memory_access *access)
{
	struct watched *w = argument;

	if (access->tid != atomic_load(&w->tid))
		return false;
	w->begun++;
	w->writes += access->write;
	w->guest_address = access->guest_address;
	access->delay_ns = MS;
	return true;
}

static void watch_ends(void *argument, const struct memory_access *access, bool major)
{
	struct watched *w = argument;

	w->ended += access->guest_address == w->guest_address && access->begin_ns > 0;
	w->major += major;
}

static int watched_setup(void **state)
{
	watched = (struct watched){0};
	return vm_world_watched((struct memory_watch){watch_begins, watch_ends, &watched});
}

/* By a device's own thread, in an instruction and in a system call; not by the guest's, nor where a page is asked for. */
static void accesses_of_a_device_are_told(void **state)
{
	volatile __u64 *words = guest_memory_cpu(vm.memory, 0);
	int file = guest_memory_file(vm.memory);
	bool major;

	atomic_store(&watched.tid, (__u32)gettid());
	vm_world_boot();
	for (int i = 0; i < 4; i++)
		evict_written(i);
	assert_int_equal(words[0], 1000);
	assert_int_equal(watched.begun, 1);
	assert_int_equal(watched.ended, 1);
	assert_int_equal(watched.major, 1);
	assert_int_equal(watched.writes, 0);
	/* The kernel writes: by a system call of this thread's. */
	assert_int_equal(pread(file, (void *)(words + PAGE_BYTES / 8), 8, (off_t)VM_PAGE(0)), 8);
	assert_int_equal(words[PAGE_BYTES / 8], 1000);
	assert_int_equal(watched.ended, 2);
	assert_int_equal(watched.writes, 1);
	assert_int_equal(watched.guest_address, VM_PAGE(1));
	/* Never touched: zeroes, and nothing of the file's. */
	assert_int_equal(words[9 * PAGE_BYTES / 8], 0);
	assert_int_equal(watched.ended, 3);
	assert_int_equal(watched.major, 2);
	atomic_store(&watched.tid, 1);
	assert_int_equal(guest_memory_resolve(vm.memory, VM_PAGE(2), 0, true, &major), 0);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "read 0 3"), "1003");
	assert_int_equal(watched.begun, 3);
	vm_world_power_down();
}

static void huge_pages_are_not_asked_for(void **state)
{
	vm_world_boot();
	assert_string_equal(fake_qemu_ask(&vm.qemu, "huge"), "small");
	vm_world_power_down();
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, vm_world_setup, vm_world_teardown)

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(nothing_is_lost_beside_evictions),
		IN_WORLD(the_log_has_each_page_go_and_come_in_turn),
		cmocka_unit_test_setup_teardown(without_protection_writes_are_lost,
						vm_world_unprotected, vm_world_teardown),
		IN_WORLD(what_is_given_back_is_zeroes),
		IN_WORLD(a_device_finds_what_was_given_back),
		IN_WORLD(who_goes_past_the_pager_is_noticed),
		cmocka_unit_test_setup_teardown(memory_that_is_plugged_in_has_its_own_part,
						vm_world_plug, vm_world_teardown),
		cmocka_unit_test_setup_teardown(accesses_of_a_device_are_told, watched_setup,
						vm_world_teardown),
		IN_WORLD(huge_pages_are_not_asked_for),
	};

	fake_qemu_main(count, arguments);
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
