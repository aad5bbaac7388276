// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/hyv/pin_ring.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/emu/hyv/kernel_pins.h"
#include "lib/base/fail.h"

#define PROBES 3

static enum pin_counts counts = PINS_UNCOUNTED;
/*
 * Linux 7.3 counts no pins of rings that were set up by who has CAP_IPC_LOCK; 6.18 did. There they are set up without it, if
 * RLIMIT_MEMLOCK, which then holds for root too, can be lifted.
 */
static bool without_right;

static int pin_ring_register(int ring, unsigned int operation, void *argument, unsigned int count)
{
	return (int)syscall(__NR_io_uring_register, ring, operation, argument, count);
}

static int pin_ring_refused(int error)
{
	if (error == EPERM || error == ENOSYS)
		return failed(-EPERM, "io_uring is off, and it is what pins memory: set "
				      "kernel.io_uring_disabled=0, or allow io_uring_setup in the "
				      "seccomp filter");
	return failed(-error, "cannot create an io_uring to pin memory by: %s", strerror(error));
}

static int lock_right(struct __user_cap_data_struct data[2], bool set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return (int)syscall(set ? SYS_capset : SYS_capget, &header, data);
}

/* Of this thread alone, and it has its right back: what is effective is less than what is permitted. */
static int setup_without_right(struct io_uring_params *parameters)
{
	struct __user_cap_data_struct had[2], less[2];
	int ring, error;

	if (lock_right(had, false))
		return -1;
	memcpy(less, had, sizeof(less));
	less[0].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
	if (lock_right(less, true))
		return -1;
	ring = (int)syscall(__NR_io_uring_setup, 1, parameters);
	error = errno;
	(void)lock_right(had, true);
	errno = error;
	return ring;
}

static int setup(void)
{
	struct io_uring_params parameters = {0};

	return without_right ? setup_without_right(&parameters)
			     : (int)syscall(__NR_io_uring_setup, 1, &parameters);
}

static int open_pin_ring(__u32 slots, int *ring)
{
	struct io_uring_rsrc_register table = {
		.nr = slots,
		.flags = IORING_RSRC_REGISTER_SPARSE,
	};
	int opened = setup(), error;

	if (opened < 0)
		return pin_ring_refused(errno);
	if (pin_ring_register(opened, IORING_REGISTER_BUFFERS2, &table, sizeof(table))) {
		error = errno;
		close(opened);
		if (error == EPERM || error == ENOSYS)
			return pin_ring_refused(error);
		return failed(-error,
			      "cannot make a table of %u pins: %s; Linux 5.19 and later can", slots,
			      strerror(error));
	}
	*ring = opened;
	return 0;
}

/* Explicitly: whoever has inherited the descriptor would keep the pins, and the end of a ring is told late. */
void pin_ring_close(int ring)
{
	while (pin_ring_register(ring, IORING_UNREGISTER_BUFFERS, NULL, 0) && errno == EINTR)
		;
	close(ring);
}

int pin_ring_update(int ring, __u32 slot, __u64 address, __u64 bytes)
{
	struct iovec buffer = {.iov_base = (void *)(uintptr_t)address, .iov_len = bytes};
	struct io_uring_rsrc_update2 update = {
		.offset = slot,
		.data = (__u64)(uintptr_t)&buffer,
		.nr = 1,
	};
	int done;

	do
		done = pin_ring_register(ring, IORING_REGISTER_BUFFERS_UPDATE, &update,
					 sizeof(update));
	while (done < 0 && errno == EINTR);
	if (done < 0)
		return -errno;
	return done == 1 ? 0 : -EIO;
}

/* Who waits for the worker, here at the end of a table of files, lets it begin at once. */
void pin_ring_hasten(int ring)
{
	int none = -1;

	if (!pin_ring_register(ring, IORING_REGISTER_FILES, &none, 1))
		pin_ring_register(ring, IORING_UNREGISTER_FILES, NULL, 0);
}

/* Of a page: whether VmPin rises as it is pinned, and falls as soon as its slot is empty. */
static enum pin_counts counts_of_page(int ring, unsigned char *page)
{
	__s64 before = pinned_by_kernel(0), pinned, after;

	if (pin_ring_update(ring, 0, (__u64)(uintptr_t)page, PAGE_BYTES))
		return PINS_UNCOUNTED;
	pinned = pinned_by_kernel(0);
	if (pin_ring_update(ring, 0, 0, 0))
		return PINS_UNCOUNTED;
	after = pinned_by_kernel(0);
	if (pinned - after == (__s64)PAGE_BYTES)
		return PINS_COUNTED;
	return pinned - before == (__s64)PAGE_BYTES ? PINS_COUNTED_LATE : PINS_UNCOUNTED;
}

/* The best of some: others may pin by what is not ours. */
static enum pin_counts look_at_a_page(void)
{
	enum pin_counts best = PINS_UNCOUNTED;
	unsigned char *page;
	int ring;

	if (open_pin_ring(1, &ring))
		return best;
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; page != MAP_FAILED && best != PINS_COUNTED && i < PROBES; i++) {
		enum pin_counts seen = counts_of_page(ring, page);

		best = seen < best ? seen : best;
	}
	if (page != MAP_FAILED)
		munmap(page, PAGE_BYTES);
	pin_ring_close(ring);
	return best;
}

static bool limit_lifted(const struct rlimit *had)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};

	return had->rlim_cur == RLIM_INFINITY || !setrlimit(RLIMIT_MEMLOCK, &none);
}

static void look_how_counted(void)
{
	struct rlimit had;

	counts = look_at_a_page();
	if (counts != PINS_UNCOUNTED || getrlimit(RLIMIT_MEMLOCK, &had) || !limit_lifted(&had))
		return;
	without_right = true;
	counts = look_at_a_page();
	without_right = counts != PINS_UNCOUNTED;
	if (!without_right)
		(void)setrlimit(RLIMIT_MEMLOCK, &had);
}

enum pin_counts pin_ring_counts(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look_how_counted);
	return counts;
}

int pin_ring_open(__u32 slots, int *ring)
{
	(void)pin_ring_counts();
	return open_pin_ring(slots, ring);
}
