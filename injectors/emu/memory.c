// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/memory_private.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/probes.h"
#include "injectors/emu/truth.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define MEMORY_MAX     (64ull << 30)
#define PHYSICAL_ALIGN (1ull << 30)
#define CONTENT_FACTOR 0x9e3779b97f4a7c15ull /* odd: no two addresses share their content */

void memory_sleep(__u64 ns)
{
	struct timespec left = timespec_of_ns(ns);

	while (ns && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

void memory_fill(void *buffer, __u64 guest_address, __u64 bytes)
{
	__u64 *words = buffer;

	for (__u64 i = 0; i < bytes / sizeof(*words); i++)
		words[i] = (guest_address + i * sizeof(*words) + 1) * CONTENT_FACTOR;
}

static int config_check(const struct guest_memory_config *config)
{
	if (config->bytes < HUGE_BYTES || config->bytes > MEMORY_MAX ||
	    (config->bytes & (HUGE_BYTES - 1)))
		return failed(
			-EINVAL,
			"memory of %llu bytes: accepted: multiples of 2 MiB from 2 MiB to 64 GiB",
			config->bytes);
	if (config->physical & (PHYSICAL_ALIGN - 1))
		return failed(-EINVAL, "physical base 0x%llx: accepted: multiples of 1 GiB",
			      config->physical);
	return 0;
}

int memory_map(struct guest_memory *memory, int flags, int descriptor, unsigned char **view)
{
	size_t room = memory->bytes + HUGE_BYTES, before;
	unsigned char *reserved, *mapped;

	reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return failed(-errno, "cannot reserve %zu bytes: %s", room, strerror(errno));
	before = -(uintptr_t)reserved % HUGE_BYTES;
	mapped = mmap(reserved + before, memory->bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED,
		      descriptor, 0);
	if (mapped == MAP_FAILED) {
		munmap(reserved, room);
		return failed(-errno, "cannot map %llu bytes: %s", memory->bytes, strerror(errno));
	}
	if (before)
		munmap(reserved, before);
	munmap(mapped + memory->bytes, HUGE_BYTES - before);
	*view = mapped;
	if (madvise(mapped, memory->bytes, MADV_DONTFORK) ||
	    (madvise(mapped, memory->bytes, MADV_NOHUGEPAGE) && errno != EINVAL))
		return failed(-errno, "cannot set up a mapping of %llu bytes: %s", memory->bytes,
			      strerror(errno));
	return 0;
}

int guest_memory_create(struct guest_memory **memory, const struct guest_memory_config *config)
{
	struct guest_memory *created;
	int error = config_check(config);

	if (error)
		return error;
	error = dma_guard_install();
	if (error)
		return error;
	created = calloc(1, sizeof(*created));
	if (!created)
		return failed(-ENOMEM, "no memory for a tenant");
	created->ops = config->backend == MEMORY_SWAP ? &swap_ops : &pager_ops;
	created->bytes = config->bytes;
	created->tenant = config->tenant;
	created->injections = config->injections;
	created->wait_room = config->wait_room;
	created->room = config->room;
	created->watch = config->watch;
	created->vm = config->backend == MEMORY_VM;
	created->unprotected = created->vm && config->unprotected;
	created->memfd = created->backing = created->cpu_faults = created->dma_faults = -1;
	created->stop = -1;
	pthread_mutex_init(&created->evicting, NULL);
	pthread_mutex_init(&created->pending_lock, NULL);
	error = created->ops->create(created, config);
	if (error) {
		guest_memory_destroy(created);
		if (error == -EMFILE)
			failed(error, "%s; a tenant takes %d descriptors: raise ulimit -n",
			       failure_text(), PAGER_DESCRIPTORS);
		return failed_in(error, "memory of tenant %u", config->tenant);
	}
	*memory = created;
	return 0;
}

void guest_memory_destroy(struct guest_memory *memory)
{
	if (!memory)
		return;
	memory->ops->destroy(memory);
	pthread_mutex_destroy(&memory->evicting);
	pthread_mutex_destroy(&memory->pending_lock);
	free(memory);
}

void *guest_memory_cpu(struct guest_memory *memory, __u64 guest_address)
{
	return memory->cpu + guest_address;
}

void *guest_memory_dma(struct guest_memory *memory, __u64 guest_address)
{
	return memory->dma + guest_address;
}

int guest_memory_dma_copy(struct guest_memory *memory, __u64 guest_address, void *buffer,
			  size_t bytes, bool write)
{
	int error;

	if (!memory_range_valid(memory, guest_address, bytes))
		return failed(-EINVAL, "DMA of %zu bytes at 0x%llx leaves the tenant's memory",
			      bytes, guest_address);
	error = memory->ops->dma_copy(memory, guest_address, buffer, bytes, write);
	if (error == -EFAULT && !guest_memory_undiscard(memory, guest_address, bytes))
		error = memory->ops->dma_copy(memory, guest_address, buffer, bytes, write);
	if (error)
		atomic_fetch_add(&memory->dma_violations, 1);
	return error;
}

static int range_check(const struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	if (((guest_address | bytes) & (PAGE_BYTES - 1)) || !bytes ||
	    !memory_range_valid(memory, guest_address, bytes))
		return failed(-EINVAL,
			      "pages at 0x%llx, 0x%llx bytes: accepted: whole pages below "
			      "0x%llx",
			      guest_address, bytes, memory->bytes);
	return 0;
}

int guest_memory_populate(struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	int error = range_check(memory, guest_address, bytes);

	return error ? error : memory->ops->populate(memory, guest_address, bytes);
}

__u64 memory_take_delay(struct guest_memory *memory, __u64 page_address, __u32 *device)
{
	struct pending_resolve *pending;
	__u64 delay_ns = 0;

	*device = DEVICE_ALL;
	pthread_mutex_lock(&memory->pending_lock);
	for (pending = memory->pending; pending; pending = pending->next) {
		if (pending->page_address != page_address)
			continue;
		*device = pending->device;
		delay_ns = pending->delay_ns;
		pending->delay_ns = 0;
		break;
	}
	pthread_mutex_unlock(&memory->pending_lock);
	return delay_ns;
}

void memory_page_in(struct guest_memory *memory, __u64 page_address, __u32 device,
		    enum page_origin origin, __u64 start_ns, __u64 there_ns)
{
	_Atomic __u64 *counters[] = {
		[PAGE_ZERO] = &memory->page_in_zero,
		[PAGE_FILE] = &memory->page_in_file,
		[PAGE_SWAP] = &memory->page_in_swap,
	};
	struct truth_record record = {
		.address = page_address,
		.length = PAGE_BYTES,
		.device = device,
		.pasid = PASID_NONE,
		.tenant = memory->tenant,
		.queue = QUEUE_NONE,
		.who = TRUTH_PAGER,
		.what = TRUTH_PAGE_IN,
		.code = origin,
		.time_ns = there_ns,
		.value = there_ns - start_ns,
	};

	atomic_fetch_add(counters[origin], 1);
	truth_log(record);
}

/* While we touch, the pager finds our delay in the list and sleeps it before the page is seen. */
static int memory_touch_page(struct guest_memory *memory, struct pending_resolve *pending,
			     bool write)
{
	struct pending_resolve **link;
	int error;

	pthread_mutex_lock(&memory->pending_lock);
	pending->next = memory->pending;
	memory->pending = pending;
	pthread_mutex_unlock(&memory->pending_lock);

	error = dma_guard_touch(memory->cpu + pending->page_address, write);

	pthread_mutex_lock(&memory->pending_lock);
	for (link = &memory->pending; *link != pending; link = &(*link)->next)
		;
	*link = pending->next;
	pthread_mutex_unlock(&memory->pending_lock);
	return error;
}

static void sleep_rest(struct guest_memory *memory, struct pending_resolve *pending)
{
	inject_sleep(memory->injections, pending->delay_ns);
	pending->delay_ns = 0;
}

/* One attempt; returns the state that the page was in, or negative errno. */
static int resolve_once(struct guest_memory *memory, struct pending_resolve *pending, bool write)
{
	int state = memory->ops->state(memory, pending->page_address);
	__u64 start_ns;

	if (state < 0)
		return state;
	if (!memory->running || state < PAGE_NEVER)
		sleep_rest(memory, pending);
	start_ns = monotonic_ns();
	if (memory_touch_page(memory, pending, write))
		return failed(-EFAULT, "page 0x%llx cannot be read back from its store",
			      pending->page_address);
	sleep_rest(memory, pending); /* another's touch may have brought the page before ours */
	if (state == PAGE_GONE_MINOR)
		atomic_fetch_add(&memory->minor, 1);
	else if (!memory->running && state != PAGE_PRESENT)
		memory_page_in(memory, pending->page_address, pending->device,
			       state == PAGE_NEVER ? PAGE_ZERO : PAGE_SWAP, start_ns,
			       monotonic_ns());
	return state;
}

int guest_memory_resolve(struct guest_memory *memory, __u64 guest_address, __u32 device, bool write,
			 bool *major)
{
	struct pending_resolve pending = {.page_address = guest_address & ~(PAGE_BYTES - 1),
					  .device = device};
	int error = range_check(memory, pending.page_address, PAGE_BYTES), state;

	*major = false;
	if (error)
		return error;
	if (memory->injections)
		pending.delay_ns = inject_delay(memory->injections, INJECT_RESOLVE, device);
	for (int tries = 0; tries < RESOLVE_TRIES; tries++) {
		state = resolve_once(memory, &pending, write);
		if (state < 0)
			return state;
		*major |= state == PAGE_GONE_MAJOR;
		error = memory->ops->show_device(memory, pending.page_address);
		if (error != -EAGAIN)
			return error;
	}
	return failed(-EAGAIN, "page 0x%llx was evicted again %d times while it was resolved",
		      pending.page_address, RESOLVE_TRIES);
}

int guest_memory_evict(struct guest_memory *memory, __u64 guest_address, enum evict_kind kind)
{
	__u64 gone_ns;

	return guest_memory_evict_timed(memory, guest_address, kind, &gone_ns);
}

int guest_memory_evict_timed(struct guest_memory *memory, __u64 guest_address, enum evict_kind kind,
			     __u64 *gone_ns)
{
	__u64 page_address = guest_address & ~(PAGE_BYTES - 1);
	int error = range_check(memory, page_address, PAGE_BYTES);

	*gone_ns = 0;
	if (error)
		return error;
	error = memory->ops->evict(memory, page_address, kind, gone_ns);
	if (error)
		atomic_fetch_add(&memory->evict_failed, 1);
	else if (kind == EVICT_MAJOR)
		atomic_fetch_add(&memory->evicted_major, 1);
	else
		atomic_fetch_add(&memory->evicted_minor, 1);
	return error;
}

bool guest_memory_present(struct guest_memory *memory, __u64 guest_address)
{
	return memory_range_valid(memory, guest_address, 1) &&
	       memory->ops->state(memory, guest_address & ~(PAGE_BYTES - 1)) == PAGE_PRESENT;
}

__u64 guest_memory_held(const struct guest_memory *memory)
{
	return memory->ops->held(memory);
}

bool guest_memory_paged_to_memory(const struct guest_memory *memory)
{
	struct statfs system;

	if (memory->backing < 0 || fstatfs(memory->backing, &system))
		return false;
	return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

int guest_memory_look(struct guest_memory *memory, __u64 guest_address, __u32 pages,
		      unsigned char *looks)
{
	int error = range_check(memory, guest_address, pages * PAGE_BYTES);

	return error ? error : memory->ops->look(memory, guest_address, pages, looks);
}

int guest_memory_unmap(struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	int error = range_check(memory, guest_address, bytes);

	if (error || !memory->ops->unmap)
		return error ? error : -ENOTSUP;
	return memory->ops->unmap(memory, guest_address, bytes);
}

int guest_memory_lock(struct guest_memory *memory, __u64 guest_address, bool lock)
{
	int error = range_check(memory, guest_address, PAGE_BYTES);

	if (error || !memory->ops->lock)
		return error;
	return memory->ops->lock(memory, guest_address & ~(PAGE_BYTES - 1), lock);
}

void guest_memory_stats(const struct guest_memory *memory, struct guest_memory_stats *stats)
{
	*stats = (struct guest_memory_stats){
		.page_in_zero = atomic_load(&memory->page_in_zero),
		.page_in_file = atomic_load(&memory->page_in_file),
		.page_in_swap = atomic_load(&memory->page_in_swap),
		.minor = atomic_load(&memory->minor),
		.evicted_minor = atomic_load(&memory->evicted_minor),
		.evicted_major = atomic_load(&memory->evicted_major),
		.evict_failed = atomic_load(&memory->evict_failed),
		.dma_violations = atomic_load(&memory->dma_violations),
		.view_faults = atomic_load(&memory->view_faults),
		.discarded = atomic_load(&memory->discarded),
		.bypassed = atomic_load(&memory->bypassed),
		.out = atomic_load(&memory->out_pages),
	};
}
