// SPDX-License-Identifier: GPL-2.0
/* Memory of a guest for programs, and memory of programs that becomes the guest's while they write to it. */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/guest/guest_open.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/guest_host.h"

#define RIGHTS (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define PAGE   4096ull

static struct guest_host host;
static struct verbs_device *device;

static int begin(void **state)
{
	guest_host_init(&host, RDMA_MODE_HYBRID);
	guest_host_start(&host);
	return guest_open(&device, host.guest_socket);
}

static int end(void **state)
{
	guest_close(device);
	guest_host_destroy(&host);
	return 0;
}

static void *anonymous(__u64 bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static int reg(struct guest_mr *region, void *address, __u64 bytes)
{
	return guest_reg_mr(device, region, 0, address, bytes, (__u64)address, VERBS_PINNED,
			    RIGHTS);
}

static __u64 room(void)
{
	__u64 all, free;

	guest_room(device, &all, &free);
	return free;
}

static void memory_is_given_and_taken_back(void **state)
{
	__u64 all, before = room(), addresses[3];
	unsigned char *memory[3];

	guest_room(device, &all, &before);
	assert_int_equal(all, before);
	for (int i = 0; i < 3; i++) {
		memory[i] = guest_allocate(device, (i + 1) * PAGE - 1, &addresses[i]);
		assert_non_null(memory[i]);
		assert_ptr_equal(memory[i], verbs_memory_at(device, addresses[i]));
		memset(memory[i], 0xff, (i + 1) * PAGE);
	}
	assert_int_equal(room(), before - 6 * PAGE);
	guest_free(device, memory[1], 2 * PAGE);
	/* The first hole that is large enough, and zeroed. */
	assert_ptr_equal(guest_allocate(device, 2 * PAGE, &addresses[1]), memory[1]);
	assert_int_equal(memory[1][2 * PAGE - 1], 0);
	assert_int_equal(memory[2][0], 0xff);
	assert_null(guest_allocate(device, before, &addresses[0]));
	for (int i = 0; i < 3; i++)
		guest_free(device, memory[i], (i + 1) * PAGE);
	assert_int_equal(room(), before);
}

static void a_region_shows_the_guest_what_the_program_has(void **state)
{
	__s64 pinned = pinned_by_kernel(0);
	__u64 before = room();
	unsigned char *memory = anonymous(5 * PAGE);
	struct guest_mr region;

	for (__u64 i = 0; i < 5 * PAGE; i++)
		memory[i] = (unsigned char)(i * 7);
	assert_int_equal(reg(&region, memory + PAGE + 5, 2 * PAGE), 0);
	assert_int_equal(room(), before - 3 * PAGE);
	assert_int_equal(pinned_by_kernel(0) - pinned, 3 * PAGE);
	for (__u64 i = 0; i < 5 * PAGE; i++)
		assert_int_equal(memory[i], (unsigned char)(i * 7));
	/* One page is the other: stores of the device are the program's to see, and those of the program the device's. */
	assert_int_equal(host.base[host.list[0] + 5], (unsigned char)((PAGE + 5) * 7));
	host.base[host.list[1] + 1] = 0xaa;
	assert_int_equal(memory[2 * PAGE + 1], 0xaa);
	memory[3 * PAGE] = 0xbb;
	assert_int_equal(host.base[host.list[2]], 0xbb);
	/* And it is the program's alone again, with what the device wrote last. */
	host.base[host.list[0]] = 0xcc;
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	assert_int_equal(pinned_by_kernel(0), pinned);
	assert_int_equal(room(), before);
	assert_int_equal(memory[PAGE], 0xcc);
	assert_int_equal(memory[2 * PAGE + 1], 0xaa);
	memory[PAGE] = 1;
	assert_int_equal(host.base[host.list[0]], 0xcc);
	munmap(memory, 5 * PAGE);
}

static void regions_may_overlap(void **state)
{
	__u64 before = room();
	unsigned char *memory = anonymous(8 * PAGE);
	struct guest_mr regions[3];

	memset(memory, 1, 8 * PAGE);
	assert_int_equal(reg(&regions[0], memory, 4 * PAGE), 0);
	assert_int_equal(reg(&regions[1], memory + 2 * PAGE, 4 * PAGE), 0);
	assert_int_equal(reg(&regions[2], memory, 8 * PAGE), 0);
	assert_int_equal(room(), before - 8 * PAGE);
	memory[3 * PAGE] = 9;
	assert_int_equal(guest_dereg_mr(device, &regions[0]), 0);
	assert_int_equal(room(), before - 8 * PAGE);
	assert_int_equal(guest_dereg_mr(device, &regions[2]), 0);
	assert_int_equal(room(), before - 4 * PAGE);
	assert_int_equal(memory[3 * PAGE], 9);
	assert_int_equal(guest_dereg_mr(device, &regions[1]), 0);
	assert_int_equal(room(), before);
	assert_int_equal(memory[3 * PAGE], 9);
	munmap(memory, 8 * PAGE);
}

static void what_is_refused_stays_as_it_was(void **state)
{
	__s64 pinned = pinned_by_kernel(0);
	__u64 before = room();
	unsigned char *memory = anonymous(4 * PAGE), *shared;
	struct guest_mr region;

	memset(memory, 3, 4 * PAGE);
	atomic_store(&host.refuse_error, -ENOMEM);
	atomic_store(&host.refuse_kind, VERBS_REGISTER_PAGES);
	assert_int_equal(reg(&region, memory, 4 * PAGE), -ENOMEM);
	atomic_store(&host.refuse_kind, 0);
	assert_int_equal(reg(&region, memory, GUEST_HOST_MEMORY), -EFAULT);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(reg(&region, shared, PAGE), -EFAULT);
	assert_true(strstr(failure_text(), "shared") != NULL);
	assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(reg(&region, memory, 3 * PAGE), -EFAULT);
	assert_int_equal(munmap(memory + 2 * PAGE, PAGE), 0);
	assert_int_equal(reg(&region, memory + 2 * PAGE, 2 * PAGE), -EFAULT);
	/* A deregistration that is refused leaves the region in force. */
	assert_int_equal(reg(&region, memory, PAGE), 0);
	atomic_store(&host.refuse_kind, VERBS_DEREGISTER);
	assert_int_equal(guest_dereg_mr(device, &region), -ENOMEM);
	atomic_store(&host.refuse_kind, 0);
	host.base[host.list[0]] = 77;
	assert_int_equal(memory[0], 77);
	memory[0] = 78;
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	assert_int_equal(memory[0], 78);
	assert_int_equal(room(), before);
	assert_int_equal(pinned_by_kernel(0), pinned);
	munmap(shared, PAGE);
	munmap(memory, 4 * PAGE);
}

/* Threads that count, each in words of its own on every page, by stores and by the kernel's. */
enum { WRITERS = 3, PAGES = 8, ROUNDS = 300 };
static unsigned char *written;
static _Atomic bool stop_writing;

struct writer {
	int index;
	bool by_kernel;
	__u64 count;
	pthread_t thread;
};

static __u64 *word_of(const struct writer *writer, __u64 page)
{
	return (__u64 *)(written + page * PAGE + (__u64)writer->index * 64);
}

/* A system call's stores: a pipe is read into the page. */
static void write_by_kernel(int pipe_ends[2], __u64 *word, __u64 value)
{
	assert_int_equal(write(pipe_ends[1], &value, sizeof(value)), sizeof(value));
	assert_int_equal(read(pipe_ends[0], word, sizeof(value)), sizeof(value));
}

static void *write_on(void *argument)
{
	struct writer *writer = argument;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	while (!atomic_load(&stop_writing)) {
		for (__u64 page = 0; page < PAGES; page++) {
			__u64 *word = word_of(writer, page);

			/* What it wrote last is still there, whatever pages are below now. */
			assert_int_equal(__atomic_load_n(word, __ATOMIC_RELAXED), writer->count);
			if (writer->by_kernel)
				write_by_kernel(ends, word, writer->count + 1);
			else
				__atomic_store_n(word, writer->count + 1, __ATOMIC_RELAXED);
		}
		writer->count++;
	}
	close(ends[0]);
	close(ends[1]);
	return NULL;
}

static void writers_lose_nothing(void **state)
{
	struct writer writers[WRITERS] = {{0}, {1, true}, {2}};
	struct guest_mr region;

	written = anonymous(PAGES * PAGE);
	atomic_store(&stop_writing, false);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i].thread, NULL, write_on, &writers[i]);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(reg(&region, written + 17, PAGES * PAGE - 17), 0);
		sched_yield();
		assert_int_equal(guest_dereg_mr(device, &region), 0);
	}
	atomic_store(&stop_writing, true);
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		assert_true(writers[i].count > 10);
		for (__u64 page = 0; page < PAGES; page++)
			assert_int_equal(*word_of(&writers[i], page), writers[i].count);
	}
	munmap(written, PAGES * PAGE);
}

static void the_callers_own_stack_can_be_registered(void **state)
{
	unsigned char buffer[3 * PAGE];
	struct guest_mr region;

	memset(buffer, 5, sizeof(buffer));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(reg(&region, buffer, sizeof(buffer)), 0);
		buffer[i] = (unsigned char)i;
		assert_int_equal(guest_dereg_mr(device, &region), 0);
		assert_int_equal(buffer[i], i);
	}
	assert_int_equal(buffer[3 * PAGE - 1], 5);
}

static void heap_can_be_registered_and_goes_on_to_be_heap(void **state)
{
	struct random random = {11};
	unsigned char *blocks[40];
	struct guest_mr regions[40];
	__u64 before = room();

	for (int i = 0; i < 40; i++) {
		blocks[i] = malloc(1000 + 700 * (size_t)i);
		memset(blocks[i], i, 1000 + 700 * (size_t)i);
		assert_int_equal(reg(&regions[i], blocks[i], 1000 + 700 * (__u64)i), 0);
	}
	for (int i = 0; i < 2000; i++) {
		void *other = malloc(random_next(&random) % 5000);

		free(other);
	}
	for (int i = 0; i < 40; i++) {
		assert_int_equal(guest_dereg_mr(device, &regions[i]), 0);
		for (int k = 0; k < 1000; k++)
			assert_int_equal(blocks[i][k], i);
		blocks[i] = realloc(blocks[i], 100000);
		assert_int_equal(blocks[i][999], i);
		free(blocks[i]);
	}
	assert_int_equal(room(), before);
}

static void scattered_pages_of_the_guest_do_too(void **state)
{
	__u64 all, address, given = 0;
	static unsigned char *taken[8192];
	unsigned char *memory = anonymous(9 * PAGE);
	struct guest_mr region;

	guest_room(device, &all, &address);
	for (; (taken[given] = guest_allocate(device, PAGE, &address)); given++)
		;
	/* Every other page of the last ones is free again. */
	for (__u64 i = 0; i < 9; i++)
		guest_free(device, taken[given - 1 - 2 * i], PAGE);
	for (__u64 i = 0; i < 9; i++)
		memory[i * PAGE] = (unsigned char)(i + 1);
	assert_int_equal(reg(&region, memory, 9 * PAGE), 0);
	for (__u64 i = 0; i < 9; i++)
		assert_int_equal(host.base[host.list[i]], i + 1);
	assert_int_equal(reg(&(struct guest_mr){}, anonymous(PAGE), PAGE), -ENOMEM);
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	munmap(memory, 9 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(memory_is_given_and_taken_back, begin, end),
		cmocka_unit_test_setup_teardown(a_region_shows_the_guest_what_the_program_has,
						begin, end),
		cmocka_unit_test_setup_teardown(regions_may_overlap, begin, end),
		cmocka_unit_test_setup_teardown(what_is_refused_stays_as_it_was, begin, end),
		cmocka_unit_test_setup_teardown(writers_lose_nothing, begin, end),
		cmocka_unit_test_setup_teardown(the_callers_own_stack_can_be_registered, begin,
						end),
		cmocka_unit_test_setup_teardown(heap_can_be_registered_and_goes_on_to_be_heap,
						begin, end),
		cmocka_unit_test_setup_teardown(scattered_pages_of_the_guest_do_too, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
