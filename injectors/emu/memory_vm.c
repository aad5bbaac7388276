// SPDX-License-Identifier: GPL-2.0
/*
 * What a virtual machine does to its memory without telling anybody. It gives pages back (a balloon punches holes into the memory file): they
 * are missing, and not out, and are zeroes when they are touched again. And somebody may write to the file past the pager, by a mapping
 * that nobody serves: to a page that is out that is a new frame, whose content is not the page's.
 *
 * While a page is out it stays write-protected in all views: a guest CPU that writes to such a frame faults, and an eviction, or whoever
 * brings the page, finds it, too.
 */
#include "injectors/emu/memory_private.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "injectors/emu/memory_views.h"
#include "injectors/emu/presence.h"
#include "lib/base/fail.h"

void vm_page_came(struct guest_memory *memory, __u64 page_address, bool was_out)
{
	__u64 page = page_address >> PAGE_BITS, bit = 1ull << page % 64;
	__u64 *known = &memory->known[page / 64];

	if (!memory->vm)
		return;
	if (!was_out && *known & bit)
		atomic_fetch_add(&memory->discarded, 1);
	*known |= bit;
	if (was_out && !memory->unprotected)
		(void)memory_views_protect(memory, page_address, PROTECT_LIFT_LATER);
}

bool vm_page_bypassed(struct guest_memory *memory, __u64 page_address)
{
	if (!memory->vm || !pager_is_out(memory, page_address) ||
	    page_cached(memory->cpu + page_address) != 1)
		return false;
	pager_set_out(memory, page_address, false);
	atomic_fetch_add(&memory->bypassed, 1);
	if (!memory->bypass_told)
		fprintf(stderr,
			"faultline: page 0x%llx of tenant %u was written past the pager while it "
			"was out: what the guest had there is lost. Something reaches its memory "
			"by a mapping that nobody serves (O_DIRECT, vfio, kernel vhost); further "
			"pages are only counted\n",
			page_address, memory->tenant);
	memory->bypass_told = true;
	/* Told before the guest goes on. */
	(void)memory_views_protect(memory, page_address, PROTECT_LIFT);
	return true;
}

int guest_memory_unserved(struct guest_memory *memory, void **mapping)
{
	int error = 0;

	if (!memory->vm)
		return failed(-EINVAL, "only memory of backend vm is mapped without a pager");
	pthread_mutex_lock(&memory->evicting);
	if (!memory->unserved)
		error = memory_map(memory, MAP_SHARED | MAP_NORESERVE, memory->memfd,
				   &memory->unserved);
	*mapping = memory->unserved;
	pthread_mutex_unlock(&memory->evicting);
	return error;
}

__u64 guest_memory_find_bypassed(struct guest_memory *memory)
{
	for (__u64 at = 0; memory->vm && at < memory->bytes; at += PAGE_BYTES) {
		if (!pager_is_out(memory, at))
			continue;
		pthread_mutex_lock(&memory->evicting);
		(void)vm_page_bypassed(memory, at);
		pthread_mutex_unlock(&memory->evicting);
	}
	return atomic_load(&memory->bypassed);
}

static int undiscard(struct guest_memory *memory, __u64 page_address)
{
	_Alignas(PAGE_BYTES) unsigned char page[PAGE_BYTES];
	int result;

	do {
		/* Evicted: that its devices were not told before is the caller's fault. */
		if (pager_is_out(memory, page_address))
			return -EFAULT;
		result = pager_bring(memory, page, page_address, DEVICE_ALL);
		if (result >= 0)
			result = pager_show_device(memory, page_address);
	} while (result == -EAGAIN);
	return result;
}

int guest_memory_undiscard(struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	__u64 first = guest_address & ~(PAGE_BYTES - 1);
	int error = memory->vm ? 0 : -EFAULT;

	for (__u64 at = first; !error && at < guest_address + bytes; at += PAGE_BYTES)
		error = undiscard(memory, at);
	return error ? -EFAULT : 0;
}
