// SPDX-License-Identifier: GPL-2.0
/*
 * The swap backend: private memory and the kernel's own swap. There is one mapping only (MADV_PAGEOUT
 * leaves alone what is mapped twice), so a DMA's check is explicit: between it and the access the
 * kernel may page out on its own, and the access then brings the page back unseen.
 */
#include "injectors/emu/memory_private.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "injectors/emu/presence.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static int swap_create(struct guest_memory *memory, const struct guest_memory_config *config)
{
	struct sysinfo host;
	int error;

	(void)config;
	if (sysinfo(&host) || !host.totalswap)
		return failed(-ENOTSUP,
			      "this host has no swap: use the pager backend, or add swap");
	error = memory_map(memory, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, &memory->cpu);
	memory->dma = memory->cpu;
	return error;
}

static void swap_destroy(struct guest_memory *memory)
{
	if (memory->cpu)
		munmap(memory->cpu, memory->bytes);
}

static int swap_populate(struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	memory_fill(memory->cpu + guest_address, guest_address, bytes);
	return 0;
}

static int swap_evict(struct guest_memory *memory, __u64 page_address, enum evict_kind kind,
		      __u64 *gone_ns)
{
	void *page = memory->cpu + page_address;
	int mapped = 1;

	if (kind == EVICT_MINOR)
		return failed(-ENOTSUP, "the swap backend evicts to swap only: ask for major, or "
					"use the pager backend");
	for (int tries = 0; mapped == 1 && tries < EVICT_TRIES; tries++) {
		if (madvise(page, PAGE_BYTES, MADV_PAGEOUT))
			return failed(-errno, "cannot page out page 0x%llx: %s", page_address,
				      strerror(errno));
		mapped = page_mapped(page);
	}
	if (mapped == 1)
		return failed(-EBUSY,
			      "page 0x%llx was still there after %d times paging it out: "
			      "is the swap full?",
			      page_address, EVICT_TRIES);
	*gone_ns = mapped ? 0 : monotonic_ns();
	return mapped;
}

static int swap_state(struct guest_memory *memory, __u64 page_address)
{
	int swapped, mapped = page_mapped(memory->cpu + page_address);

	if (mapped)
		return mapped < 0 ? mapped : PAGE_PRESENT;
	swapped = page_swapped(memory->cpu + page_address);
	if (swapped < 0)
		return swapped;
	return swapped ? PAGE_GONE_MAJOR : PAGE_NEVER;
}

static int swap_show_device(struct guest_memory *memory, __u64 page_address)
{
	return page_mapped(memory->dma + page_address) ? 0 : -EAGAIN;
}

static int swap_dma_copy(struct guest_memory *memory, __u64 guest_address, void *buffer,
			 size_t bytes, bool write)
{
	unsigned char *frame = memory->dma + guest_address;
	__u64 first = guest_address & ~(PAGE_BYTES - 1);

	for (__u64 page = first; page < guest_address + bytes; page += PAGE_BYTES) {
		if (page_mapped(memory->dma + page) != 1)
			return -EFAULT;
	}
	memcpy(write ? (void *)frame : buffer, write ? buffer : (void *)frame, bytes);
	return 0;
}

/* There is no count of one mapping's pages but to look at all of them. */
static __u64 swap_held(const struct guest_memory *memory)
{
	unsigned char mapped[PAGES_LOOK_MOST];
	__u64 held = 0;

	for (__u64 at = 0; at < memory->bytes; at += PAGES_LOOK_MOST * PAGE_BYTES) {
		__u64 left = (memory->bytes - at) >> PAGE_BITS;
		__u32 pages = left < PAGES_LOOK_MOST ? (__u32)left : PAGES_LOOK_MOST;

		if (pages_look_mapped(memory->cpu + at, pages, mapped))
			return held;
		for (__u32 i = 0; i < pages; i++)
			held += mapped[i] ? PAGE_BYTES : 0;
	}
	return held;
}

static int swap_look(struct guest_memory *memory, __u64 guest_address, __u32 pages,
		     unsigned char *looks)
{
	int error = pages_look_mapped(memory->cpu + guest_address, pages, looks);

	for (__u32 i = 0; !error && i < pages; i++)
		looks[i] = looks[i] ? PAGE_LOOK_HELD : 0;
	return error;
}

static int swap_lock(struct guest_memory *memory, __u64 page_address, bool lock)
{
	void *page = memory->cpu + page_address;

	if (!(lock ? mlock(page, PAGE_BYTES) : munlock(page, PAGE_BYTES)))
		return 0;
	return failed(-errno, "cannot %s page 0x%llx: %s", lock ? "lock" : "unlock", page_address,
		      strerror(errno));
}

const struct memory_ops swap_ops = {
	.create = swap_create,
	.destroy = swap_destroy,
	.populate = swap_populate,
	.evict = swap_evict,
	.show_device = swap_show_device,
	.dma_copy = swap_dma_copy,
	.state = swap_state,
	.held = swap_held,
	.look = swap_look,
	.lock = swap_lock,
};
