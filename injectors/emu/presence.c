// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/memory.h"
#include "lib/base/fail.h"

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)

static int pagemap;

/* One descriptor for all: with hundreds of tenants they are scarce. */
static void pagemap_open(void)
{
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		pagemap = -errno;
}

static int pagemap_read(const void *address, unsigned int pages, __u64 *entries)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	off_t offset = (off_t)(((uintptr_t)address >> PAGE_BITS) * sizeof(__u64));
	ssize_t bytes = (ssize_t)(pages * sizeof(*entries));

	pthread_once(&once, pagemap_open);
	if (pagemap < 0)
		return failed(pagemap, "cannot open /proc/self/pagemap: is /proc mounted?");
	if (pread(pagemap, entries, (size_t)bytes, offset) != bytes)
		return failed(-EIO, "cannot read /proc/self/pagemap of address %p", address);
	return 0;
}

static int pagemap_bit(const void *address, __u64 bit)
{
	__u64 entry;
	int error = pagemap_read(address, 1, &entry);

	return error ? error : (entry & bit) != 0;
}

int pages_look_mapped(const void *address, unsigned int pages, unsigned char *mapped)
{
	__u64 entries[PAGES_LOOK_MOST];
	int error = pages > PAGES_LOOK_MOST ? -EINVAL : pagemap_read(address, pages, entries);

	for (unsigned int i = 0; !error && i < pages; i++)
		mapped[i] = (entries[i] & PAGEMAP_PRESENT) != 0;
	return error;
}

int pages_look_cached(const void *address, unsigned int pages, unsigned char *cached)
{
	if (mincore((void *)(uintptr_t)address, pages * PAGE_BYTES, cached))
		return failed(-errno, "mincore of address %p failed", address);
	return 0;
}

int page_mapped(const void *address)
{
	return pagemap_bit(address, PAGEMAP_PRESENT);
}

int page_swapped(const void *address)
{
	return pagemap_bit(address, PAGEMAP_SWAPPED);
}

int page_cached(const void *address)
{
	void *page = (void *)((uintptr_t)address & ~(PAGE_BYTES - 1));
	unsigned char cached;

	if (mincore(page, PAGE_BYTES, &cached))
		return failed(-errno, "mincore of address %p failed", address);
	return cached & 1;
}
