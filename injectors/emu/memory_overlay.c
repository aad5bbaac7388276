// SPDX-License-Identifier: GPL-2.0
/* Host-owned pages in place of a guest's, in the views that this process has of its memory. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/memory_private.h"
#include "injectors/emu/memory_views.h"
#include "injectors/emu/presence.h"
#include "lib/base/fail.h"

struct page_range {
	__u64 start, bytes;
};

static int overlay_check(const struct guest_memory *memory, struct page_range range)
{
	if (memory->ops != &pager_ops)
		return failed(-EINVAL, "only memory of backend pager can be under host's pages");
	if (((range.start | range.bytes) & (PAGE_BYTES - 1)) || !range.bytes ||
	    !memory_range_valid(memory, range.start, range.bytes))
		return failed(-EINVAL,
			      "host's pages at 0x%llx, 0x%llx bytes: accepted: whole pages below "
			      "0x%llx",
			      range.start, range.bytes, memory->bytes);
	return 0;
}

static void mark(struct guest_memory *memory, struct page_range range, bool overlaid)
{
	for (__u64 at = range.start; at < range.start + range.bytes; at += PAGE_BYTES) {
		__u64 page = at >> PAGE_BITS, bit = 1ull << page % 64;

		if (overlaid)
			memory->overlaid[page / 64] |= bit;
		else
			memory->overlaid[page / 64] &= ~bit;
	}
}

static int map_over(unsigned char *at, __u64 bytes, int file, __u64 offset)
{
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
		 (off_t)offset) == MAP_FAILED)
		return failed(-errno, "cannot map %llu bytes of pages over others: %s", bytes,
			      strerror(errno));
	if (madvise(at, bytes, MADV_DONTFORK))
		return failed(-errno, "cannot keep %llu bytes of pages from processes: %s", bytes,
			      strerror(errno));
	return 0;
}

/* A page of which the guest has made a hole in its memory is not there, for anybody. */
static void map_present(unsigned char *at, __u64 bytes)
{
	for (__u64 done = 0; done < bytes; done += PAGE_BYTES) {
		if (page_cached(at + done) == 1)
			(void)dma_guard_touch(at + done, false);
	}
}

/*
 * A view's own pages again, as they were: mapped all of them, since all of them were when they went. They are before absent pages
 * become faults: no device finds one absent meanwhile.
 */
static int own_back(struct guest_memory *memory, struct page_range range, bool device)
{
	unsigned char *at = (device ? memory->dma : memory->cpu) + range.start;
	int error = map_over(at, range.bytes, memory->memfd, range.start);

	if (error)
		return error;
	if (madvise(at, range.bytes, MADV_NOHUGEPAGE) && errno != EINVAL)
		return failed(-errno, "cannot set up %llu bytes of pages: %s", range.bytes,
			      strerror(errno));
	if (device && mlock2(at, range.bytes, MLOCK_ONFAULT))
		return failed(-errno, "cannot lock the devices' view of memory: %s",
			      strerror(errno));
	map_present(at, range.bytes);
	return memory_faults_register(
		device ? memory->dma_faults : memory->cpu_faults, at, range.bytes,
		UFFDIO_REGISTER_MODE_MISSING |
			(device ? UFFDIO_REGISTER_MODE_MINOR : UFFDIO_REGISTER_MODE_WP));
}

/* Each page is free to go under, and there. */
static int pages_may_go(struct guest_memory *memory, struct page_range range)
{
	for (__u64 at = range.start; at < range.start + range.bytes; at += PAGE_BYTES) {
		int shown;

		if (memory_overlaid(memory, at))
			return failed(-EBUSY, "page 0x%llx is under host's pages already", at);
		shown = page_mapped(memory->dma + at);
		if (shown < 0)
			return shown;
		if (!shown)
			return failed(-EINVAL, "page 0x%llx is not pinned", at);
	}
	return 0;
}

static int overlay(struct guest_memory *memory, struct page_range range, int file, __u64 offset)
{
	int error = pages_may_go(memory, range);

	if (error)
		return error;
	error = map_over(memory->dma + range.start, range.bytes, file, offset);
	if (!error)
		error = map_over(memory->cpu + range.start, range.bytes, file, offset);
	if (!error) {
		mark(memory, range, true);
		return 0;
	}
	/* What has not been replaced is replaced by itself. */
	(void)own_back(memory, range, true);
	(void)own_back(memory, range, false);
	return error;
}

int guest_memory_overlay(struct guest_memory *memory, __u64 guest_address, __u64 bytes, int file,
			 __u64 offset)
{
	const struct page_range range = {guest_address, bytes};
	int error = overlay_check(memory, range);

	if (error)
		return error;
	pthread_mutex_lock(&memory->evicting);
	error = overlay(memory, range, file, offset);
	pthread_mutex_unlock(&memory->evicting);
	return error ? failed_in(error, "memory of tenant %u", memory->tenant) : 0;
}

int guest_memory_overlay_end(struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	const struct page_range range = {guest_address, bytes};
	int error = overlay_check(memory, range);

	if (error)
		return error;
	pthread_mutex_lock(&memory->evicting);
	for (__u64 at = guest_address; !error && at < guest_address + bytes; at += PAGE_BYTES) {
		if (!memory_overlaid(memory, at))
			error = failed(-EINVAL, "page 0x%llx is not under host's pages", at);
	}
	if (!error)
		error = own_back(memory, range, false);
	if (!error)
		error = own_back(memory, range, true);
	if (!error)
		mark(memory, range, false);
	pthread_mutex_unlock(&memory->evicting);
	return error ? failed_in(error, "memory of tenant %u", memory->tenant) : 0;
}
