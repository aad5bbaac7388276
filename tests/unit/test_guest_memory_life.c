// SPDX-License-Identifier: GPL-2.0
/* Memory of programs that is the guest's while they unmap it, move it, free it and fork. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/guest/guest_open.h"
#include "injectors/guest/own_mappings.h"
#include "injectors/guest/static_memory.h"
#include "lib/base/fail.h"
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

static unsigned char *registered(struct guest_mr *region, __u64 pages, int value)
{
	unsigned char *memory = anonymous(pages * PAGE);

	memset(memory, value, pages * PAGE);
	assert_int_equal(reg(region, memory, pages * PAGE), 0);
	return memory;
}

/* Legal: real pins would keep the old pages. */
static void memory_may_be_unmapped_before_its_region_goes(void **state)
{
	__s64 pinned = pinned_by_kernel(0);
	__u64 before = room();
	struct guest_mr region;
	unsigned char *memory = registered(&region, 4, 1);

	/* What maps threads' stacks and tables meanwhile may take the hole. */
	assert_int_equal(munmap(memory, 2 * PAGE), 0);
	host.base[host.list[2]] = 7;
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	assert_int_equal(memory[2 * PAGE], 7);
	assert_int_equal(memory[4 * PAGE - 1], 1);
	memory[2 * PAGE] = 8;
	assert_int_equal(host.base[host.list[2]], 7);
	assert_int_equal(room(), before);
	munmap(memory + 2 * PAGE, 2 * PAGE);
	memory = registered(&region, 4, 1);
	assert_int_equal(munmap(memory, 4 * PAGE), 0);
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	assert_int_equal(room(), before);
	assert_int_equal(pinned_by_kernel(0), pinned);
}

static void other_memory_there_is_left_alone(void **state)
{
	__u64 before = room();
	struct guest_mr regions[2];
	unsigned char *memory = registered(&regions[0], 4, 1);

	assert_ptr_equal(mmap(memory, 4 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 memory);
	memset(memory, 9, 4 * PAGE);
	/* And is registered itself: other pages, which the first region's end does not touch. */
	assert_int_equal(reg(&regions[1], memory, 2 * PAGE), 0);
	assert_int_equal(host.base[host.list[0]], 9);
	assert_int_equal(room(), before - 6 * PAGE);
	assert_int_equal(guest_dereg_mr(device, &regions[0]), 0);
	assert_int_equal(room(), before - 2 * PAGE);
	host.base[host.list[0]] = 10;
	assert_int_equal(memory[0], 10);
	assert_int_equal(memory[4 * PAGE - 1], 9);
	assert_int_equal(guest_dereg_mr(device, &regions[1]), 0);
	assert_int_equal(memory[0], 10);
	assert_int_equal(memory[2 * PAGE - 1], 9);
	assert_int_equal(room(), before);
	munmap(memory, 4 * PAGE);
}

/* Longer it would show what others have of the guest. Where one page has moved, that is the program's again. */
static void moved_memory_is_found_and_never_grows(void **state)
{
	__u64 before = room();
	struct guest_mr region;
	unsigned char *memory = registered(&region, 4, 1), *there = anonymous(PAGE);

	assert_ptr_equal(mremap(memory, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE), MAP_FAILED);
	assert_ptr_equal(mremap(memory + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, there),
			 there);
	host.base[host.list[1]] = 5;
	assert_int_equal(there[0], 5);
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	assert_int_equal(there[0], 5);
	assert_int_equal(memory[0], 1);
	host.base[host.list[1]] = 6;
	assert_int_equal(there[0], 5);
	assert_int_equal(room(), before);
	munmap(memory, PAGE);
	munmap(memory + 2 * PAGE, 2 * PAGE);
	munmap(there, PAGE);
}

/* Blocks of a mapping each, which free() unmaps and realloc() would move. */
static void heap_may_be_freed_and_grown_before_its_region_goes(void **state)
{
	enum { BLOCK = 1 << 20 };
	__u64 before = room();
	unsigned char *block = malloc(BLOCK);
	struct guest_mr region;

	memset(block, 2, BLOCK);
	assert_int_equal(reg(&region, block, BLOCK), 0);
	block = realloc(block, 3 * BLOCK);
	assert_int_equal(block[BLOCK - 1], 2);
	memset(block, 5, 3 * BLOCK);
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	for (int i = 0; i < 3 * BLOCK; i += 512)
		assert_int_equal(block[i], 5);
	assert_int_equal(reg(&region, block, 3 * BLOCK), 0);
	free(block);
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	assert_int_equal(room(), before);
}

static int exit_status(pid_t child)
{
	int status = -1;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* What a child writes its parent does not see, nor the device; nor the other way round. */
static void a_child_has_memory_of_its_own(void **state)
{
	struct guest_mr region;
	unsigned char *memory = registered(&region, 3, 1);
	int go[2], sees;
	pid_t child;

	assert_int_equal(pipe(go), 0);
	child = fork();
	if (!child) {
		/* Once the parent has written. */
		sees = read(go[0], &sees, 1) == 1 && memory[0] == 1 && memory[3 * PAGE - 1] == 1;
		memset(memory, 6, 3 * PAGE);
		_exit(sees && guest_dereg_mr(device, &region) == -EPIPE ? 0 : 1);
	}
	memory[0] = 3;
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(exit_status(child), 0);
	assert_int_equal(memory[0], 3);
	assert_int_equal(memory[PAGE], 1);
	assert_int_equal(host.base[host.list[2]], 1);
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	assert_int_equal(memory[0], 3);
	munmap(memory, 3 * PAGE);
	close(go[0]);
	close(go[1]);
}

/* The end of the heap, with the allocator's own words in it. */
static void a_childs_heap_is_not_its_parents(void **state)
{
	unsigned char *block = malloc(3000), *others[50];
	struct guest_mr region;
	pid_t child;

	memset(block, 1, 3000);
	assert_int_equal(reg(&region, block, 3000), 0);
	child = fork();
	if (!child) {
		for (int i = 0; i < 50; i++)
			memset(malloc(500 + (size_t)i * 16), 0xff, 500 + (size_t)i * 16);
		_exit(block[2999] == 1 ? 0 : 1);
	}
	for (int i = 0; i < 50; i++)
		others[i] = memset(malloc(300 + (size_t)i * 16), i, 300 + (size_t)i * 16);
	assert_int_equal(exit_status(child), 0);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(others[i][299], i);
		free(others[i]);
	}
	assert_int_equal(guest_dereg_mr(device, &region), 0);
	free(block);
}

static void a_stack_in_a_region_is_forked_on_another(void **state)
{
	unsigned char buffer[2 * PAGE];
	struct guest_mr region;

	memset(buffer, 4, sizeof(buffer));
	for (int i = 0; i < 20; i++) {
		pid_t child;

		/* The page that this frame lies in is among them. */
		assert_int_equal(reg(&region, buffer, sizeof(buffer)), 0);
		child = guest_fork(fork);
		if (!child) {
			memset(buffer, 7, sizeof(buffer));
			_exit(20 + i);
		}
		assert_int_equal(exit_status(child), (20 + i) << 8);
		assert_int_equal(buffer[0], 4);
		assert_int_equal(guest_dereg_mr(device, &region), 0);
	}
	assert_int_equal(buffer[2 * PAGE - 1], 4);
}

static void mappings_are_as_the_kernels_text_says(void **state)
{
	struct own_mapping by_text, asked = {};
	struct own_mappings text, query;
	int count = 0;

	/* Both open before either is read: each has a mapping of its own. */
	assert_int_equal(own_mappings_open_text(&text), 0);
	assert_int_equal(own_mappings_open(&query), 0);
	if (!query.queried)
		skip();
	assert_true(own_mapping_from(&text, (__u64)host.base, &by_text));
	for (int i = 0; i < 2; i++) {
		/* The second time it goes back. */
		assert_true(own_mapping_from(&text, (__u64)host.base, &by_text));
		assert_true(own_mapping_from(&query, (__u64)host.base, &asked));
		assert_memory_equal(&by_text, &asked, sizeof(asked));
	}
	assert_true(asked.shared && asked.writable && asked.inode);
	for (asked = (struct own_mapping){}; own_mapping_from(&query, asked.end, &asked); count++) {
		assert_true(own_mapping_from(&text, asked.start, &by_text));
		assert_int_equal(by_text.inode, asked.inode);
		assert_int_equal(by_text.offset, asked.offset);
		assert_int_equal(by_text.writable, asked.writable);
	}
	assert_true(count > 10);
	own_mappings_close(&text);
	own_mappings_close(&query);
}

/* Pages of their own: the host here, whose memory is the program's too, would wait for itself. */
static _Alignas(4096) unsigned char initialized[3 * PAGE] = {1, 2, 3}, cleared[3 * PAGE];

static void static_memory_can_be_registered(void **state)
{
	unsigned char *both[] = {initialized, cleared};
	struct guest_mr region;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(reg(&region, both[i], 3 * PAGE), 0);
		host.base[host.list[1] + 7] = 9;
		assert_int_equal(guest_dereg_mr(device, &region), 0);
		assert_int_equal(both[i][PAGE + 7], 9);
	}
	assert_int_equal(initialized[2], 3);
}

static void a_files_memory_is_refused(void **state)
{
	FILE *file = tmpfile();
	struct guest_mr region;
	unsigned char *memory;

	assert_int_equal(ftruncate(fileno(file), PAGE), 0);
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(reg(&region, memory, PAGE), -EFAULT);
	assert_non_null(strstr(failure_text(), "a file's"));
	munmap(memory, PAGE);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(memory_may_be_unmapped_before_its_region_goes,
						begin, end),
		cmocka_unit_test_setup_teardown(other_memory_there_is_left_alone, begin, end),
		cmocka_unit_test_setup_teardown(moved_memory_is_found_and_never_grows, begin, end),
		cmocka_unit_test_setup_teardown(heap_may_be_freed_and_grown_before_its_region_goes,
						begin, end),
		cmocka_unit_test_setup_teardown(a_child_has_memory_of_its_own, begin, end),
		cmocka_unit_test_setup_teardown(a_childs_heap_is_not_its_parents, begin, end),
		cmocka_unit_test_setup_teardown(a_stack_in_a_region_is_forked_on_another, begin,
						end),
		cmocka_unit_test_setup_teardown(mappings_are_as_the_kernels_text_says, begin, end),
		cmocka_unit_test_setup_teardown(static_memory_can_be_registered, begin, end),
		cmocka_unit_test_setup_teardown(a_files_memory_is_refused, begin, end),
	};

	/* While there is one thread. */
	if (static_memory_begin())
		return failure_report(-EINVAL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
