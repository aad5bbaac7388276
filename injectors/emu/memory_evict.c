// SPDX-License-Identifier: GPL-2.0
/*
 * Eviction with guest CPUs running beside it.
 *
 * Major: the page is write-protected by userfaultfd, in each view, copied out, its frame freed by punching a hole
 * into the memfd (MADV_DONTNEED would leave it in the page cache), the protection lifted. A guest
 * CPU that writes in the meantime waits in its fault; one that touches the page after the hole
 * finds it missing and has it brought back, from a backing file that is already written.
 * A virtual machine's views stay protected until the page is back, or a writer that waited finds it missing.
 * Minor: both mappings drop the page, the page cache keeps it, and so do views of other processes (memory_views.h).
 *
 * A page may be back before its absence was proven: then all is done again, EVICT_TRIES times at most.
 */
#include "injectors/emu/memory_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/presence.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

static int memory_protect(struct guest_memory *memory, __u64 page_address,
			  enum memory_protection protection)
{
	int error = memory_write_protect(memory->cpu_faults, (__u64)memory->cpu + page_address,
					 PAGE_BYTES, protection);
	int others = memory_views_protect(memory, page_address, protection);

	error = error ? error : others;
	return error ? failed(error, "cannot write-protect page 0x%llx: %s", page_address,
			      strerror(-error))
		     : 0;
}

static int memory_write_out(struct guest_memory *memory, __u64 page_address)
{
	unsigned char page[PAGE_BYTES];
	ssize_t done;

	/* The memfd and not the mapping is read: that can fault in nothing. */
	done = pread(memory->memfd, page, PAGE_BYTES, (off_t)page_address);
	if (done == (ssize_t)PAGE_BYTES)
		done = pwrite(memory->backing, page, PAGE_BYTES, (off_t)page_address);
	if (done != (ssize_t)PAGE_BYTES) {
		int error = done < 0 ? errno : ENOSPC;

		return failed(-error, "cannot write page 0x%llx to the backing file: %s",
			      page_address, strerror(error));
	}
	return 0;
}

static int free_frame(struct guest_memory *memory, __u64 page_address)
{
	if (fallocate(memory->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)page_address, PAGE_BYTES))
		return failed(-errno, "cannot free page 0x%llx: %s", page_address, strerror(errno));
	return 0;
}

/* A virtual machine's views stay protected while the page is out (memory_vm.c). */
static int memory_lift(struct guest_memory *memory, __u64 page_address, bool taken)
{
	if (!taken || !memory->vm)
		return memory_protect(memory, page_address, PROTECT_LIFT);
	return memory_write_protect(memory->cpu_faults, (__u64)memory->cpu + page_address,
				    PAGE_BYTES, PROTECT_LIFT);
}

/* Between copy and hole of a page that nobody protects: the some microseconds that this takes are too few for a quick guest to write in. */
#define UNPROTECTED_NS (300 * NSEC_PER_USEC)

static int take_major(struct guest_memory *memory, __u64 page_address)
{
	int cached = page_cached(memory->cpu + page_address), error, lifted;

	/* A page that is out has its content in the backing file: what a hole reads as is not it. */
	if (cached <= 0)
		return cached;
	(void)vm_page_bypassed(memory, page_address);
	error = memory->unprotected ? 0 : memory_protect(memory, page_address, PROTECT);
	if (!error)
		error = memory_write_out(memory, page_address);
	if (memory->unprotected)
		memory_sleep(UNPROTECTED_NS);
	if (!error) {
		pager_set_out(memory, page_address, true);
		error = free_frame(memory, page_address);
		if (error)
			pager_set_out(memory, page_address, false);
	}
	lifted = memory->unprotected ? 0 : memory_lift(memory, page_address, !error);
	return error ? error : lifted;
}

static int take_minor(struct guest_memory *memory, __u64 page_address)
{
	if (madvise(memory->dma + page_address, PAGE_BYTES, MADV_DONTNEED_LOCKED) ||
	    madvise(memory->cpu + page_address, PAGE_BYTES, MADV_DONTNEED))
		return failed(-errno, "cannot unmap page 0x%llx: %s", page_address,
			      strerror(errno));
	return 0;
}

/* 1: proven, 0: the page is there, negative errno: cannot tell. */
static int proven_absent(struct guest_memory *memory, __u64 page_address, enum evict_kind kind)
{
	int there = page_mapped(memory->cpu + page_address);

	if (!there)
		there = page_mapped(memory->dma + page_address);
	if (!there && kind == EVICT_MAJOR)
		there = page_cached(memory->cpu + page_address);
	return there < 0 ? there : !there;
}

int pager_evict(struct guest_memory *memory, __u64 page_address, enum evict_kind kind,
		__u64 *gone_ns)
{
	int result = 0;

	pthread_mutex_lock(&memory->evicting);
	if (memory_overlaid(memory, page_address))
		result = failed(-EBUSY, "page 0x%llx is under memory of the host's", page_address);
	else if (kind == EVICT_MAJOR && memory->vm && !page_cached(memory->cpu + page_address))
		result = failed(-ENOENT, "page 0x%llx is not there: the guest gave it back",
				page_address);
	for (int tries = 0; !result && tries < EVICT_TRIES; tries++) {
		result = kind == EVICT_MAJOR ? take_major(memory, page_address)
					     : take_minor(memory, page_address);
		if (!result)
			result = proven_absent(memory, page_address, kind);
	}
	/* With the lock, without which nobody brings a page. */
	if (result > 0)
		*gone_ns = monotonic_ns();
	pthread_mutex_unlock(&memory->evicting);
	if (result > 0)
		return 0;
	return result ? result
		      : failed(-EBUSY, "page 0x%llx was back %d times before it was proven absent",
			       page_address, EVICT_TRIES);
}

int pager_unmap(struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	int error;

	pthread_mutex_lock(&memory->evicting);
	error = madvise(memory->cpu + guest_address, bytes, MADV_DONTNEED) ? -errno : 0;
	pthread_mutex_unlock(&memory->evicting);
	return error ? failed(error, "cannot unmap pages from 0x%llx on: %s", guest_address,
			      strerror(-error))
		     : 0;
}

void pager_wait_eviction(struct guest_memory *memory)
{
	pthread_mutex_lock(&memory->evicting);
	pthread_mutex_unlock(&memory->evicting);
}
