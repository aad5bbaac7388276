// SPDX-License-Identifier: GPL-2.0
/* Pins under the rights that root has: some kernels count none of who has CAP_IPC_LOCK. */
#include "tests/unit/test.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/emu/hyv/kernel_pins.h"
#include "tests/unit/child.h"

#define BYTES (512 * PAGE_BYTES)

static long rights(int number, struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(number, &header, data);
}

/* As root in a container: it has CAP_IPC_LOCK, a limit, and no right to lift that. */
static int right_and_limit(void)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	struct __user_cap_data_struct data[2] = {{0}}, after[2];
	unsigned char *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pinner *mine;
	__s64 counted;
	__u32 pin;

	data[0].effective = data[0].permitted = CAP_TO_MASK(CAP_IPC_LOCK);
	if (memory == MAP_FAILED || madvise(memory, BYTES, MADV_NOHUGEPAGE) ||
	    setrlimit(RLIMIT_MEMLOCK, &limit) || rights(SYS_capset, data) || pinner_create(&mine))
		return 1;
	counted = pins_are_counted() ? BYTES : 0;
	for (int i = 0; i < 3; i++) {
		if (pinner_pin(mine, memory, BYTES, &pin))
			return 2;
		if (pinner_bytes(mine) != BYTES || pinned_by_kernel(0) != counted)
			return 3;
		/* An unpin that waits for what VmPin never tells is an error. */
		if (pinner_unpin(mine, pin) || pinner_bytes(mine) || pinned_by_kernel(0))
			return 4;
	}
	pinner_destroy(mine);
	return rights(SYS_capget, after) || memcmp(data, after, sizeof(data)) ? 5 : 0;
}

/* In a process of its own, and first: how the kernel counts is tried once, and what is forked inherits that. */
static void a_right_with_a_limit_pins_all_the_same(void **state)
{
	pid_t child;
	int status;

	if (geteuid())
		skip();
	child = child_fork();
	if (!child)
		_exit(right_and_limit());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Where rings are set up without it, too. */
static void the_right_is_kept(void **state)
{
	struct __user_cap_data_struct before[2], after[2];
	struct pinner *mine;

	assert_int_equal(rights(SYS_capget, before), 0);
	assert_int_equal(pinner_create(&mine), 0);
	assert_int_equal(rights(SYS_capget, after), 0);
	assert_memory_equal(before, after, sizeof(before));
	pinner_destroy(mine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_with_a_limit_pins_all_the_same),
		cmocka_unit_test(the_right_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
