// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/inject.h"
#include "injectors/emu/memory.h"
#include "injectors/emu/probes.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "tests/unit/child.h"
#include "tests/unit/cpu_faults.h"

#define BYTES	     (4 * HUGE_BYTES)
#define PAGE(number) ((__u64)(number)*PAGE_BYTES)

static int setup(void **state)
{
	struct guest_memory_config config = {.bytes = BYTES, .physical = 1ull << 30};

	return guest_memory_create((struct guest_memory **)state, &config);
}

static int teardown(void **state)
{
	guest_memory_destroy(*state);
	return 0;
}

static __u64 first_word(struct guest_memory *memory, __u64 address)
{
	return *(volatile __u64 *)guest_memory_cpu(memory, address);
}

static void content_survives_both_evictions(void **state)
{
	struct guest_memory *memory = *state;
	struct guest_memory_stats stats;
	bool major;

	assert_int_equal(guest_memory_populate(memory, 0, BYTES), 0);
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
		for (int i = 0; i < 101; i++) {
			__u64 before = first_word(memory, PAGE(i * 7));

			assert_true(guest_memory_present(memory, PAGE(i * 7)));
			assert_int_equal(guest_memory_evict(memory, PAGE(i * 7), kind), 0);
			assert_false(guest_memory_present(memory, PAGE(i * 7)));
			assert_int_equal(
				guest_memory_resolve(memory, PAGE(i * 7), 3, i & 1, &major), 0);
			assert_int_equal(major, kind == EVICT_MAJOR);
			assert_true(first_word(memory, PAGE(i * 7)) == before);
		}
	}
	guest_memory_stats(memory, &stats);
	assert_int_equal(stats.evicted_minor, 101);
	assert_int_equal(stats.evicted_major, 101);
	assert_int_equal(stats.minor, 101);
	assert_int_equal(stats.page_in_file, 101);
	assert_int_equal(stats.evict_failed + stats.dma_violations, 0);
}

static void populated_pages_tell_their_address(void **state)
{
	struct guest_memory *memory = *state;

	assert_int_equal(guest_memory_populate(memory, PAGE(5), PAGE(11)), 0);
	for (int i = 5; i < 15; i++)
		assert_true(first_word(memory, PAGE(i)) != first_word(memory, PAGE(i + 1)));
	/* Once more over what is there, now written by the guest. */
	*(volatile __u64 *)guest_memory_cpu(memory, PAGE(7)) = 1;
	assert_int_equal(guest_memory_populate(memory, 0, PAGE(16)), 0);
	assert_true(first_word(memory, PAGE(7)) != 1);
}

static void untouched_memory_is_zero_and_not_major(void **state)
{
	struct guest_memory *memory = *state;
	struct guest_memory_stats stats;
	bool major;

	assert_int_equal(guest_memory_resolve(memory, PAGE(13), 0, false, &major), 0);
	assert_false(major);
	assert_int_equal(first_word(memory, PAGE(13)), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(13), EVICT_MAJOR), 0);
	assert_int_equal(guest_memory_resolve(memory, PAGE(13), 0, false, &major), 0);
	assert_true(major);
	assert_int_equal(first_word(memory, PAGE(13)), 0);
	guest_memory_stats(memory, &stats);
	assert_int_equal(stats.page_in_zero, 1);
	assert_int_equal(stats.page_in_file, 1);
}

static void evicting_what_is_gone_keeps_its_content(void **state)
{
	struct guest_memory *memory = *state;
	__u64 before;

	assert_int_equal(guest_memory_populate(memory, 0, PAGE(2)), 0);
	before = first_word(memory, PAGE(1));
	assert_int_equal(guest_memory_evict(memory, PAGE(1), EVICT_MINOR), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(1), EVICT_MAJOR), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(1), EVICT_MAJOR), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(1), EVICT_MINOR), 0);
	assert_true(first_word(memory, PAGE(1)) == before);
}

static void touch_both_views(struct guest_memory *memory, int first, int end)
{
	for (int i = first; i < end; i++) {
		char byte;

		first_word(memory, PAGE(i));
		guest_memory_dma_copy(memory, PAGE(i), &byte, 1, false);
	}
}

/* With the kernel's own count: nothing but the touch may fault in the resolving thread. */
static void one_cpu_fault_resolves_one_page(void **state)
{
	struct guest_memory *memory = *state;
	struct cpu_faults faults;
	bool major;

	if (cpu_faults_open(&faults)) {
		print_message("%s\n", failure_text());
		skip();
	}
	assert_int_equal(guest_memory_populate(memory, 0, BYTES), 0);
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
		for (int i = 0; i < 211; i++)
			assert_int_equal(guest_memory_evict(memory, PAGE(i), kind), 0);
		/* The first one warms up whatever code and stack are new to this thread. */
		assert_int_equal(guest_memory_resolve(memory, 0, 0, false, &major), 0);
		cpu_faults_start(&faults);
		for (int i = 1; i < 212; i++)
			guest_memory_resolve(memory, PAGE(i), 0, i & 1, &major);
		/* Page 211 was never evicted. */
		assert_int_equal(cpu_faults_stop(&faults), 210);
	}
	/* What was resolved costs neither guest nor device another one. */
#ifdef __SANITIZE_ADDRESS__
	touch_both_views(memory, 1, 211); /* the sanitizer's shadow of that memory faults once */
#endif
	cpu_faults_start(&faults);
	touch_both_views(memory, 1, 211);
	assert_int_equal(cpu_faults_stop(&faults), 0);
	cpu_faults_close(&faults);
}

static void dma_to_an_absent_page_fails_and_brings_nothing(void **state)
{
	struct guest_memory *memory = *state;
	struct guest_memory_stats stats;
	int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char buffer[64];

	assert_int_equal(dma_guard_install(), 0);
	assert_int_equal(guest_memory_populate(memory, 0, BYTES), 0);
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
		__u64 page = PAGE(17 + kind);

		assert_int_equal(guest_memory_evict(memory, page, kind), 0);
		assert_int_equal(guest_memory_dma_copy(memory, page - 32, buffer, 64, false),
				 -EFAULT);
		assert_int_equal(guest_memory_dma_copy(memory, page, buffer, 64, true), -EFAULT);
		assert_int_equal(read(file, guest_memory_dma(memory, page), 64), -1);
		assert_int_equal(errno, EFAULT);
		assert_false(guest_memory_present(memory, page));
	}
	/* A guest's touch brings the page for the guest, not for the device. */
	first_word(memory, PAGE(17));
	assert_int_equal(guest_memory_dma_copy(memory, PAGE(17), buffer, 64, false), -EFAULT);
	guest_memory_stats(memory, &stats);
	assert_int_equal(stats.dma_violations, 5);
	close(file);
}

static void dma_and_cpu_see_one_memory(void **state)
{
	struct guest_memory *memory = *state;
	char text[] = "from the device", back[sizeof(text)];
	bool major;

	assert_int_equal(guest_memory_resolve(memory, PAGE(3), 0, true, &major), 0);
	assert_int_equal(guest_memory_dma_copy(memory, PAGE(3) + 5, text, sizeof(text), true), 0);
	assert_string_equal((char *)guest_memory_cpu(memory, PAGE(3) + 5), text);
	assert_int_equal(guest_memory_evict(memory, PAGE(3), EVICT_MAJOR), 0);
	assert_int_equal(guest_memory_resolve(memory, PAGE(3), 0, false, &major), 0);
	assert_int_equal(guest_memory_dma_copy(memory, PAGE(3) + 5, back, sizeof(back), false), 0);
	assert_string_equal(back, text);
}

struct counting_guest {
	struct guest_memory *memory;
	pthread_t thread;
	unsigned int word;
	__u64 written;
};

static atomic_bool counted_enough;

static void *count_in_memory(void *argument)
{
	struct counting_guest *guest = argument;
	volatile __u64 *counter = guest_memory_cpu(guest->memory, PAGE(1));

	while (!atomic_load_explicit(&counted_enough, memory_order_relaxed)) {
		counter[guest->word]++;
		guest->written++;
	}
	return NULL;
}

/*
 * Would lose a count if a write fell between copying a page out and freeing its frame, or if the
 * pager, asked twice for one page, brought an old copy the second time.
 */
static void guests_writing_beside_evictions_lose_nothing(void **state)
{
	struct counting_guest guests[3] = {0};
	int proven = 0, error;
	volatile __u64 *counter = guest_memory_cpu(*state, PAGE(1));

	counted_enough = false;
	for (unsigned int i = 0; i < 3; i++) {
		guests[i].memory = *state;
		guests[i].word = i;
		assert_int_equal(
			pthread_create(&guests[i].thread, NULL, count_in_memory, &guests[i]), 0);
	}
	for (int i = 0; i < 10007; i++) {
		error = guest_memory_evict(*state, PAGE(1), i % 3 ? EVICT_MAJOR : EVICT_MINOR);
		assert_true(error == 0 || error == -EBUSY);
		proven += !error;
	}
	counted_enough = true;
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(guests[i].thread, NULL);
	assert_true(proven > 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(counter[i], guests[i].written);
}

/* Time that a resolve takes; the least of several, for a busy host only ever adds to it. */
static __u64 resolve_ns(struct guest_memory *memory, __u32 device, int kind, __u64 enough)
{
	__u64 least = ~0ull, start, took;
	bool major;

	for (int tries = 0; tries < 20 && least >= enough; tries++) {
		if (kind >= 0)
			assert_int_equal(guest_memory_evict(memory, 0, kind), 0);
		start = monotonic_ns();
		assert_int_equal(guest_memory_resolve(memory, 0, device, false, &major), 0);
		took = monotonic_ns() - start;
		least = took < least ? took : least;
	}
	return least;
}

static void the_devices_delay_is_slept_once(void **state)
{
	const __u64 delay = 50000000;
	struct injection injection = {.point = INJECT_RESOLVE,
				      .device = 5,
				      .id = 1,
				      .probability = 100,
				      .interval = 1,
				      .times = -1,
				      .distribution = INJECT_FIXED,
				      .delay_ns = delay};
	struct guest_memory_config config = {.bytes = HUGE_BYTES};
	struct guest_memory *memory;

	assert_int_equal(inject_table_create(&config.injections), 0);
	assert_int_equal(inject_arm(config.injections, &injection), 0);
	assert_int_equal(guest_memory_create(&memory, &config), 0);
	assert_int_equal(guest_memory_populate(memory, 0, HUGE_BYTES), 0);
	for (int kind = -1; kind <= EVICT_MAJOR; kind++) { /* -1: the page is there */
		__u64 took = resolve_ns(memory, 5, kind, 2 * delay);

		assert_true(took >= delay && took < 2 * delay);
	}
	assert_true(resolve_ns(memory, 6, EVICT_MAJOR, delay) < delay);
	guest_memory_destroy(memory);
	inject_table_destroy(config.injections);
}

static void a_child_does_not_inherit_guest_memory(void **state)
{
	struct guest_memory *memory = *state;
	unsigned char resident;
	int status;
	pid_t child;

	assert_int_equal(guest_memory_populate(memory, 0, PAGE(1)), 0);
	child = child_fork();
	if (!child)
		_exit(mincore(guest_memory_cpu(memory, 0), PAGE_BYTES, &resident) == 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void hundreds_of_tenants_leave_nothing_behind(void **state)
{
	struct guest_memory_config config = {.bytes = HUGE_BYTES};
	struct guest_memory *memories[151];
	int before = open_descriptors();
	bool major;

	for (int i = 0; i < 151; i++) {
		config.tenant = i;
		assert_int_equal(guest_memory_create(&memories[i], &config), 0);
	}
	for (int i = 0; i < 151; i++) {
		*(__u64 *)guest_memory_cpu(memories[i], PAGE(i)) = i;
		assert_int_equal(guest_memory_evict(memories[i], PAGE(i), EVICT_MAJOR), 0);
		assert_int_equal(guest_memory_resolve(memories[i], PAGE(i), 0, false, &major), 0);
	}
	for (int i = 0; i < 151; i++) {
		assert_int_equal(first_word(memories[i], PAGE(i)), i);
		guest_memory_destroy(memories[i]);
	}
	assert_int_equal(open_descriptors(), before);
}

static void a_full_disk_fails_the_eviction_and_keeps_the_page(void **state)
{
	struct guest_memory_config config = {.bytes = HUGE_BYTES};
	char directory[] = "/tmp/faultline-test-XXXXXX";
	struct guest_memory *memory;
	int failures = 0;

	assert_non_null(mkdtemp(directory));
	if (tiny_filesystem_mount(directory, "64k")) {
		rmdir(directory);
		skip();
	}
	config.directory = directory;
	assert_int_equal(guest_memory_create(&memory, &config), 0);
	assert_int_equal(guest_memory_populate(memory, 0, HUGE_BYTES), 0);
	for (int i = 0; i < 37; i++) {
		__u64 before = first_word(memory, PAGE(i));
		int error = guest_memory_evict(memory, PAGE(i), EVICT_MAJOR);

		assert_true(error == 0 || error == -ENOSPC);
		assert_true(first_word(memory, PAGE(i)) == before);
		*(volatile __u64 *)guest_memory_cpu(memory, PAGE(i)) = 1; /* still writable */
		failures += error != 0;
	}
	assert_int_equal(failures, 37 - 16);
	guest_memory_destroy(memory);
	tiny_filesystem_unmount(directory);
}

/* The backing file is unlinked: found among the descriptors by its size, beside the memfd. */
static int backing_file(__u64 bytes)
{
	for (int descriptor = 3; descriptor < 256; descriptor++) {
		char name[32], target[64] = "";
		struct stat file;

		snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
		if (readlink(name, target, sizeof(target) - 1) > 0 &&
		    strncmp(target, "/memfd:", 7) && !fstat(descriptor, &file) &&
		    S_ISREG(file.st_mode) && file.st_size == (off_t)bytes)
			return descriptor;
	}
	return -1;
}

static void content_that_cannot_be_read_back_is_an_error(void **state)
{
	struct guest_memory *memory = *state;
	struct utsname host;
	bool is_major;

	uname(&host);
	if (strverscmp(host.release, "6.6") < 0) {
		print_message("Linux 6.6 is the first that can poison a page\n");
		skip();
	}
	assert_int_equal(dma_guard_install(), 0);
	assert_int_equal(guest_memory_populate(memory, 0, PAGE(2)), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(1), EVICT_MAJOR), 0);
	assert_int_equal(ftruncate(backing_file(BYTES), 0), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(guest_memory_resolve(memory, PAGE(1), 0, i, &is_major), -EFAULT);
		assert_non_null(strstr(failure_text(), "page 0x1000"));
	}
	assert_int_equal(guest_memory_resolve(memory, PAGE(0), 0, true, &is_major), 0);
}

static void wrong_configurations_are_named(void **state)
{
	struct guest_memory_config config = {.bytes = HUGE_BYTES + PAGE_BYTES};
	struct guest_memory *memory;

	assert_int_equal(guest_memory_create(&memory, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), "2101248 bytes: accepted:"));
	config.bytes = HUGE_BYTES;
	config.physical = HUGE_BYTES;
	assert_int_equal(guest_memory_create(&memory, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), "multiples of 1 GiB"));
	config.physical = 0;
	config.directory = "/nonexistent";
	config.tenant = 7;
	assert_int_equal(guest_memory_create(&memory, &config), -ENOENT);
	assert_non_null(strstr(failure_text(), "tenant 7"));
	assert_non_null(strstr(failure_text(), "/nonexistent"));
}

static void addresses_outside_are_refused(void **state)
{
	struct guest_memory *memory = *state;
	bool major;
	char byte;

	assert_int_equal(guest_memory_resolve(memory, BYTES, 0, false, &major), -EINVAL);
	assert_int_equal(guest_memory_evict(memory, ~0ull, EVICT_MAJOR), -EINVAL);
	assert_int_equal(guest_memory_populate(memory, PAGE(1), BYTES), -EINVAL);
	assert_int_equal(guest_memory_dma_copy(memory, BYTES, &byte, 1, false), -EINVAL);
	assert_false(guest_memory_present(memory, BYTES));
}

static void swap_works_or_says_why_not(void **state)
{
	struct guest_memory_config config = {.bytes = HUGE_BYTES, .backend = MEMORY_SWAP};
	struct guest_memory *memory;
	struct sysinfo host;
	bool major;

	sysinfo(&host);
	if (!host.totalswap) {
		assert_int_equal(guest_memory_create(&memory, &config), -ENOTSUP);
		assert_non_null(strstr(failure_text(), "no swap"));
		return;
	}
	assert_int_equal(guest_memory_create(&memory, &config), 0);
	assert_int_equal(guest_memory_populate(memory, 0, HUGE_BYTES), 0);
	for (int i = 0; i < 101; i++) {
		__u64 before = first_word(memory, PAGE(i));
		char byte;

		assert_int_equal(guest_memory_evict(memory, PAGE(i), EVICT_MINOR), -ENOTSUP);
		assert_int_equal(guest_memory_evict(memory, PAGE(i), EVICT_MAJOR), 0);
		assert_int_equal(guest_memory_dma_copy(memory, PAGE(i), &byte, 1, false), -EFAULT);
		assert_int_equal(guest_memory_resolve(memory, PAGE(i), 0, true, &major), 0);
		assert_true(major);
		assert_true(first_word(memory, PAGE(i)) == before);
	}
	/* The kernel keeps what is locked, whoever asks. */
	assert_int_equal(guest_memory_lock(memory, PAGE(5), true), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(5), EVICT_MAJOR), -EINVAL);
	assert_true(guest_memory_present(memory, PAGE(5)));
	assert_int_equal(guest_memory_lock(memory, PAGE(5), false), 0);
	assert_int_equal(guest_memory_evict(memory, PAGE(5), EVICT_MAJOR), 0);
	guest_memory_destroy(memory);
}

#define WITH_MEMORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MEMORY(content_survives_both_evictions),
		WITH_MEMORY(populated_pages_tell_their_address),
		WITH_MEMORY(untouched_memory_is_zero_and_not_major),
		WITH_MEMORY(evicting_what_is_gone_keeps_its_content),
		WITH_MEMORY(one_cpu_fault_resolves_one_page),
		WITH_MEMORY(dma_to_an_absent_page_fails_and_brings_nothing),
		WITH_MEMORY(dma_and_cpu_see_one_memory),
		WITH_MEMORY(guests_writing_beside_evictions_lose_nothing),
		WITH_MEMORY(a_child_does_not_inherit_guest_memory),
		WITH_MEMORY(addresses_outside_are_refused),
		WITH_MEMORY(content_that_cannot_be_read_back_is_an_error),
		cmocka_unit_test(the_devices_delay_is_slept_once),
		cmocka_unit_test(hundreds_of_tenants_leave_nothing_behind),
		cmocka_unit_test(a_full_disk_fails_the_eviction_and_keeps_the_page),
		cmocka_unit_test(wrong_configurations_are_named),
		cmocka_unit_test(swap_works_or_says_why_not),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
