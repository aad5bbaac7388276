// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>

#include "injectors/emu/memory_private.h"
#include "lib/base/fail.h"

/* UFFDIO_POISON of Linux 6.6, which the headers to build with may not know. */
struct poison {
	struct uffdio_range range;
	__u64 mode;
	__s64 updated;
};
#define POISON _IOWR(UFFDIO, 0x08, struct poison)

int memory_write_protect(int faults, __u64 address, __u64 bytes, enum memory_protection protection)
{
	static const __u64 modes[] = {
		[PROTECT] = UFFDIO_WRITEPROTECT_MODE_WP,
		[PROTECT_LIFT_LATER] = UFFDIO_WRITEPROTECT_MODE_DONTWAKE,
	};
	struct uffdio_writeprotect change = {
		.range = {address, bytes},
		.mode = modes[protection],
	};

	while (ioctl(faults, UFFDIO_WRITEPROTECT, &change)) {
		if (errno != EAGAIN)
			return -errno;
	}
	return 0;
}

int memory_poison(int faults, __u64 address)
{
	struct poison poison = {.range = {address, PAGE_BYTES}};

	/* EEXIST: it was a late message, the page is back by now. */
	return ioctl(faults, POISON, &poison) && errno != EEXIST ? -errno : 0;
}

int memory_faults_register(int faults, void *mapping, __u64 bytes, __u64 mode)
{
	struct uffdio_register range = {.range = {(__u64)mapping, bytes}, .mode = mode};

	if (ioctl(faults, UFFDIO_REGISTER, &range))
		return failed(-errno, "cannot register memory with userfaultfd: %s",
			      strerror(errno));
	return 0;
}
