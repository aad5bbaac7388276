// SPDX-License-Identifier: GPL-2.0
/* Pins of the kernel's: what a pinner says is what VmPin says, at each step and whatever ends it. */
#include "tests/unit/test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/emu/hyv/kernel_pins.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/child.h"

#define REGIONS 257
#define PINNERS 3
#define GIB	(1ull << 30)

static struct pinner *pinners[PINNERS];
static __s64 base;

static int setup(void **state)
{
	for (int i = 0; i < PINNERS; i++) {
		if (pinner_create(&pinners[i]))
			return -1;
	}
	base = pinned_by_kernel(0);
	return base < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < PINNERS; i++)
		pinner_destroy(pinners[i]);
	return pinned_by_kernel(0) == base ? 0 : -1;
}

static unsigned char *memory_of(__u64 pages, int protection)
{
	void *memory =
		mmap(NULL, pages * PAGE_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	madvise(memory, pages * PAGE_BYTES, MADV_NOHUGEPAGE);
	return memory;
}

static unsigned char *writable(__u64 pages)
{
	return memory_of(pages, PROT_READ | PROT_WRITE);
}

/* What all pinners say and what the kernel says. */
static void assert_pinned(__u64 pages)
{
	__u64 said = 0;

	for (int i = 0; i < PINNERS; i++)
		said += pinner_bytes(pinners[i]);
	assert_int_equal(said, pages * PAGE_BYTES);
	assert_int_equal(pinned_by_kernel(0) - base, pages * PAGE_BYTES);
}

static void each_pin_counts(void **state)
{
	static const __u64 primes[] = {1, 2, 3, 5, 7, 11, 13, 101, 257, 1009};
	__u32 pin[COUNT(primes)][PINNERS];
	__u64 pinned = 0;
	unsigned char *memory[COUNT(primes)];

	for (size_t i = 0; i < COUNT(primes); i++) {
		memory[i] = writable(primes[i]);
		for (int p = 0; p < PINNERS; p++) {
			assert_int_equal(pinner_pin(pinners[p], memory[i], primes[i] * PAGE_BYTES,
						    &pin[i][p]),
					 0);
			assert_pinned(pinned += primes[i]);
		}
	}
	for (int p = 0; p < PINNERS; p++) {
		for (size_t i = 0; i < COUNT(primes); i++) {
			assert_int_equal(pinner_unpin(pinners[p], pin[i][p]), 0);
			assert_pinned(pinned -= primes[i]);
		}
	}
	assert_int_equal(pinned, 0);
	for (size_t i = 0; i < COUNT(primes); i++)
		munmap(memory[i], primes[i] * PAGE_BYTES);
}

static void a_range_is_rounded_to_its_pages(void **state)
{
	unsigned char *memory = writable(4);
	__u32 one, three;

	assert_int_equal(pinner_pin(pinners[0], memory + 4095, 1, &one), 0);
	assert_pinned(1);
	assert_int_equal(pinner_pin(pinners[0], memory + 4095, PAGE_BYTES + 2, &three), 0);
	assert_pinned(4);
	assert_int_equal(pinner_unpin(pinners[0], one), 0);
	assert_pinned(3);
	assert_int_equal(pinner_unpin(pinners[0], three), 0);
	assert_pinned(0);
	munmap(memory, 4 * PAGE_BYTES);
}

static void many_regions_go_in_any_order(void **state)
{
	unsigned char *memory = writable(REGIONS * 7);
	struct random random = {17};
	__u32 pin[REGIONS], order[REGIONS];
	__u64 pinned = 0;

	for (__u32 i = 0; i < REGIONS; i++) {
		order[i] = i;
		assert_int_equal(pinner_pin(pinners[i % PINNERS], memory + i * 7 * PAGE_BYTES,
					    (i % 7 + 1) * PAGE_BYTES, &pin[i]),
				 0);
		assert_pinned(pinned += i % 7 + 1);
	}
	for (__u32 left = REGIONS; left; left--) {
		__u32 at = (__u32)(random_next(&random) % left), i = order[at];

		order[at] = order[left - 1];
		assert_int_equal(pinner_unpin(pinners[i % PINNERS], pin[i]), 0);
		assert_pinned(pinned -= i % 7 + 1);
	}
	munmap(memory, REGIONS * 7 * PAGE_BYTES);
}

/* More than a registered buffer may have: 2 MiB of memory, 513 times, one behind the other. */
static unsigned char *more_than_a_gib(void)
{
	int file = memfd_create("pins", MFD_CLOEXEC);
	unsigned char *memory = memory_of((GIB + 2 * (2ull << 20)) / PAGE_BYTES, PROT_NONE);

	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, 2 << 20), 0);
	for (__u64 at = 0; at < GIB + (2u << 20); at += 2u << 20)
		assert_true(mmap(memory + at, 2u << 20, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED);
	close(file);
	return memory;
}

static void a_long_range_takes_several_slots_or_none(void **state)
{
	unsigned char *memory = more_than_a_gib();
	const __u64 bytes = GIB + (2u << 20);
	__u32 pin, other;

	/* A page behind it is not there: what was pinned before that is given back. */
	assert_int_equal(pinner_pin(pinners[0], memory, bytes + PAGE_BYTES, &pin), -EFAULT);
	assert_non_null(strstr(failure_text(), "mapped"));
	assert_pinned(0);
	assert_int_equal(pinner_pin(pinners[0], memory, bytes, &pin), 0);
	assert_int_equal(pinner_pin(pinners[0], memory + GIB, 1, &other), 0);
	assert_pinned(bytes / PAGE_BYTES + 1);
	assert_int_equal(pinner_unpin(pinners[0], pin), 0);
	assert_pinned(1);
	assert_int_equal(pinner_unpin(pinners[0], other), 0);
	assert_pinned(0);
	munmap(memory, GIB + 2 * (2ull << 20));
}

static void a_table_that_is_full_says_so(void **state)
{
	unsigned char *memory = writable(1);
	__u32 *pin = calloc(PINNER_SLOTS, sizeof(*pin)), more;

	for (__u32 i = 0; i < PINNER_SLOTS; i++)
		assert_int_equal(pinner_pin(pinners[1], memory, 1, &pin[i]), 0);
	assert_pinned(PINNER_SLOTS);
	assert_int_equal(pinner_pin(pinners[1], memory, 1, &more), -ENOSPC);
	assert_non_null(strstr(failure_text(), "16384"));
	assert_pinned(PINNER_SLOTS);
	assert_int_equal(pinner_unpin(pinners[1], pin[4711]), 0);
	assert_int_equal(pinner_pin(pinners[1], memory, 1, &more), 0);
	assert_int_equal(more, pin[4711]);
	/* The teardown sees that all go with the ring. */
	free(pin);
	munmap(memory, PAGE_BYTES);
}

static void there_are_no_other_pins(void **state)
{
	unsigned char *memory = writable(1), *constant = memory_of(1, PROT_READ);
	__u32 pin;

	assert_int_equal(pinner_pin(pinners[0], memory, 1, &pin), 0);
	assert_int_equal(pinner_unpin(pinners[1], pin), -EINVAL);
	assert_int_equal(pinner_unpin(pinners[0], pin), 0);
	assert_int_equal(pinner_unpin(pinners[0], pin), -EINVAL);
	assert_int_equal(pinner_unpin(pinners[0], PINNER_SLOTS), -EINVAL);
	assert_int_equal(pinner_pin(pinners[0], constant, 1, &pin), -EFAULT);
	assert_int_equal(pinner_pin(pinners[0], memory, 0, &pin), -EFAULT);
	assert_int_equal(pinner_pin(pinners[0], memory, ~0ull, &pin), -EFAULT);
	assert_int_equal(pinner_pin(pinners[0], memory, ~0ull - PAGE_BYTES, &pin), -EFAULT);
	munmap(memory, PAGE_BYTES);
	assert_int_equal(pinner_pin(pinners[0], memory, 1, &pin), -EFAULT);
	assert_pinned(0);
	munmap(constant, PAGE_BYTES);
}

/* Where the kernel is slow to release (6.1) there are fewer rounds. */
static int rounds_of(int rounds)
{
	unsigned char *memory = writable(1);
	__u64 start = monotonic_ns();
	__u32 pin;

	assert_int_equal(pinner_pin(pinners[0], memory, 1, &pin), 0);
	assert_int_equal(pinner_unpin(pinners[0], pin), 0);
	munmap(memory, PAGE_BYTES);
	return monotonic_ns() - start < 10 * MS ? rounds : 1;
}

static int rounds;

static void *pin_and_unpin(void *argument)
{
	struct random random = {(uintptr_t)argument};
	unsigned char *memory = writable(16);
	__u32 pin[16];

	for (int round = 0; round < rounds; round++) {
		__u32 count = (__u32)(random_next(&random) % 16) + 1;

		for (__u32 i = 0; i < count; i++)
			assert_int_equal(pinner_pin(pinners[0], memory + i * PAGE_BYTES,
						    (16 - i) * PAGE_BYTES, &pin[i]),
					 0);
		while (count--)
			assert_int_equal(pinner_unpin(pinners[0], pin[count]), 0);
	}
	munmap(memory, 16 * PAGE_BYTES);
	return NULL;
}

static void threads_share_a_pinner(void **state)
{
	pthread_t threads[4];

	rounds = rounds_of(211);
	for (uintptr_t i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pin_and_unpin, (void *)(i + 1)),
				 0);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	assert_pinned(0);
}

/* Others that have inherited the ring's descriptor do not keep what it pinned. */
static void the_end_of_a_ring_ends_its_pins(void **state)
{
	unsigned char *memory = writable(101);
	__u32 pin;
	pid_t child;

	for (int i = 0; i < 5; i++)
		assert_int_equal(pinner_pin(pinners[2], memory, 101 * PAGE_BYTES, &pin), 0);
	assert_int_equal(pinner_pin(pinners[0], memory, PAGE_BYTES, &pin), 0);
	child = child_fork();
	if (!child) {
		pause();
		_exit(0);
	}
	pinner_destroy(pinners[2]);
	pinners[2] = NULL;
	assert_int_equal(pinned_by_kernel(0) - base, PAGE_BYTES);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(memory, 101 * PAGE_BYTES);
}

/* In a process of its own, which writes one byte as soon as it has pinned and goes on until it is killed. */
static void pin_and_wait(int ready)
{
	unsigned char *memory = writable(211);
	struct pinner *mine;
	__u32 pin;

	if (pinner_create(&mine))
		_exit(1);
	for (int i = 0; i < 7; i++) {
		if (pinner_pin(mine, memory, 211 * PAGE_BYTES, &pin))
			_exit(2);
	}
	if (write(ready, "", 1) != 1)
		_exit(3);
	for (;;)
		pause();
}

static void a_killed_process_has_no_pins(void **state)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = child_fork();
	if (!child)
		pin_and_wait(ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(pinned_by_kernel(child), 7 * 211 * PAGE_BYTES);
	assert_pinned(0);
	kill(child, SIGKILL);
	/* Not waited for yet: a process without memory. */
	assert_int_equal(read(ready[0], &byte, 1), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(pinned_by_kernel(child), -ESRCH);
	waitpid(child, NULL, 0);
	assert_int_equal(pinned_by_kernel(child), -ESRCH);
	close(ready[0]);
}

static int limited(void)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	unsigned char *memory = writable(512);
	struct pinner *mine;
	__u32 pin, more;

	/* A user of this test's alone: the limit is one of the user's. */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setuid(1900000000u + (uid_t)getpid()) ||
	    pinner_create(&mine))
		return 1;
	if (pinner_pin(mine, memory, 128 * PAGE_BYTES, &pin))
		return 2;
	if (pinner_pin(mine, memory, 512 * PAGE_BYTES, &more) != -ENOMEM ||
	    !strstr(failure_text(), "RLIMIT_MEMLOCK of 1024 KiB"))
		return 3;
	if (pinner_bytes(mine) != 128 * PAGE_BYTES || pinned_by_kernel(0) != 128 * PAGE_BYTES)
		return 4;
	if (pinner_unpin(mine, pin) || pinner_pin(mine, memory, 192 * PAGE_BYTES, &pin))
		return 5;
	return pinned_by_kernel(0) == 192 * PAGE_BYTES ? 0 : 6;
}

static int refused_by(int error)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {COUNT(steps), steps};
	struct pinner *mine;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 1;
	error = pinner_create(&mine);
	if (exit_code_of(error) != EXIT_PRIVILEGE)
		return 2;
	return strstr(failure_text(), "kernel.io_uring_disabled") ? 0 : 3;
}

static int off_by_permission(void)
{
	return refused_by(EPERM);
}

static int off_by_absence(void)
{
	return refused_by(ENOSYS);
}

static int result_of(int (*run)(void))
{
	pid_t child = child_fork();
	int status;

	if (!child)
		_exit(run());
	waitpid(child, &status, 0);
	return status;
}

static void others_than_root_are_held_to_their_limit(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(result_of(limited), 0);
}

static void without_io_uring_there_is_a_sentence(void **state)
{
	assert_int_equal(result_of(off_by_permission), 0);
	assert_int_equal(result_of(off_by_absence), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_pin_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_range_is_rounded_to_its_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(many_regions_go_in_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_range_takes_several_slots_or_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_table_that_is_full_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(there_are_no_other_pins, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_share_a_pinner, setup, teardown),
		cmocka_unit_test_setup_teardown(the_end_of_a_ring_ends_its_pins, setup, teardown),
		cmocka_unit_test_setup_teardown(a_killed_process_has_no_pins, setup, teardown),
		cmocka_unit_test_setup_teardown(others_than_root_are_held_to_their_limit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_io_uring_there_is_a_sentence, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
