// SPDX-License-Identifier: GPL-2.0
#define XXH_INLINE_ALL
#include "injectors/cluster/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/base/fail.h"

#define HUGE_BYTES (2ull << 20)

/* Who has a page: the agent + 1, the one that has begun all is PARENT; 0: nobody. */
#define PARENT 0xffffffffu

struct host_ram {
	__u8 *bytes;
	int file;
	__u64 pages;
	__u32 *owners; /* by page; a page is taken by compare and exchange, and given back by its owner or who buries that */
	__u16 *pins;
	__u64 next; /* where the last allocation ended: a hint */
};

struct memories {
	struct host_ram hosts[CLUSTER_HOSTS_MAX];
};

static __u32 owner_word(__u32 agent)
{
	return agent == CLUSTER_NONE ? PARENT : agent + 1;
}

int memories_create(struct cluster *cluster)
{
	struct memories *memories = shared_alloc(cluster, sizeof(*memories));

	if (!memories)
		return -ENOMEM;
	cluster->memories = memories;
	for (__u32 h = 0; h < cluster->config->host_count; h++) {
		const struct host_config *host = &cluster->config->hosts[h];
		struct host_ram *ram = &memories->hosts[h];

		ram->pages = host->memory / HOST_PAGE;
		ram->next = 1;
		ram->bytes = shared_file(cluster, host->name, host->memory, &ram->file);
		ram->owners = shared_alloc(cluster, ram->pages * sizeof(*ram->owners));
		ram->pins = shared_alloc(cluster, ram->pages * sizeof(*ram->pins));
		if (!ram->bytes || !ram->owners || !ram->pins)
			return -ENOMEM;
	}
	return 0;
}

static struct host_ram *ram_of(const struct cluster *cluster, __u32 host)
{
	return &cluster->memories->hosts[host < CLUSTER_HOSTS_MAX ? host : 0];
}

static bool ram_has(const struct host_ram *ram, __u64 address, __u64 bytes)
{
	__u64 size = ram->pages * HOST_PAGE;

	return address <= size && bytes <= size - address;
}

void *host_memory(const struct cluster *cluster, __u32 host, __u64 address, __u64 bytes)
{
	const struct host_ram *ram = ram_of(cluster, host);

	return ram_has(ram, address, bytes) ? ram->bytes + address : NULL;
}

/* All zero; of many pages the memory is given back to the system. */
static void wipe(const struct host_ram *ram, __u64 page, __u64 pages)
{
	void *memory = ram->bytes + page * HOST_PAGE;

	if (pages * HOST_PAGE < HUGE_BYTES || madvise(memory, pages * HOST_PAGE, MADV_REMOVE))
		memset(memory, 0, pages * HOST_PAGE);
}

static void pages_give_back(struct host_ram *ram, __u64 page, __u64 pages)
{
	wipe(ram, page, pages);
	for (__u64 p = page; p < page + pages; p++) {
		__atomic_store_n(&ram->pins[p], 0, __ATOMIC_RELAXED);
		__atomic_store_n(&ram->owners[p], 0, __ATOMIC_RELEASE);
	}
}

/* Takes the run, or nothing. */
static bool take_run(struct host_ram *ram, __u64 page, __u64 pages, __u32 owner)
{
	for (__u64 p = page; p < page + pages; p++) {
		__u32 nobody = 0;

		if (__atomic_compare_exchange_n(&ram->owners[p], &nobody, owner, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		while (p-- > page)
			__atomic_store_n(&ram->owners[p], 0, __ATOMIC_RELEASE);
		return false;
	}
	return true;
}

/* Looks from page `from` to `end`; a run must not be taken before it was seen to be free. */
static bool pages_find(struct host_ram *ram, __u64 from, __u64 end, __u64 pages, __u64 align,
		       __u32 owner, __u64 *page)
{
	__u64 begin = (from + align - 1) / align * align;

	for (__u64 p = begin; begin + pages <= end;) {
		if (__atomic_load_n(&ram->owners[p], __ATOMIC_RELAXED)) {
			begin = p = (p + align) / align * align;
		} else if (++p == begin + pages) {
			*page = begin;
			if (take_run(ram, begin, pages, owner))
				return true;
			p = begin;
		}
	}
	return false;
}

int host_memory_alloc(struct cluster *cluster, __u32 host, __u64 bytes, __u64 *address)
{
	struct host_ram *ram = ram_of(cluster, host);
	__u64 pages = bytes / HOST_PAGE + (bytes % HOST_PAGE > 0), page;
	__u64 align = pages >= HUGE_BYTES / HOST_PAGE ? HUGE_BYTES / HOST_PAGE : 1;
	__u64 next = __atomic_load_n(&ram->next, __ATOMIC_RELAXED);
	__u32 owner = owner_word(cluster->self);

	if (!bytes || pages >= ram->pages ||
	    (!pages_find(ram, next, ram->pages, pages, align, owner, &page) &&
	     !pages_find(ram, 1, ram->pages, pages, align, owner, &page)))
		return failed(-ENOMEM, "%s has no %llu contiguous bytes of RAM left",
			      cluster->config->hosts[host].name, bytes);
	__atomic_store_n(&ram->next, page + pages, __ATOMIC_RELAXED);
	wipe(ram, page, pages);
	*address = page * HOST_PAGE;
	return 0;
}

void host_memory_free(struct cluster *cluster, __u32 host, __u64 address, __u64 bytes)
{
	struct host_ram *ram = ram_of(cluster, host);
	__u64 pages = bytes / HOST_PAGE + (bytes % HOST_PAGE > 0);

	if (!(address % HOST_PAGE) && ram_has(ram, address, pages * HOST_PAGE))
		pages_give_back(ram, address / HOST_PAGE, pages);
}

__u64 host_memory_release(struct cluster *cluster, __u32 agent)
{
	__u32 owner = owner_word(agent);
	__u64 released = 0;

	for (__u32 h = 0; h < cluster->config->host_count; h++) {
		struct host_ram *ram = ram_of(cluster, h);

		for (__u64 p = 0; p < ram->pages; p++) {
			__u64 end = p;

			while (end < ram->pages &&
			       __atomic_load_n(&ram->owners[end], __ATOMIC_ACQUIRE) == owner)
				end++;
			if (end > p)
				pages_give_back(ram, p, end - p);
			released += end - p;
			p = end > p ? end - 1 : p;
		}
	}
	return released;
}

__u32 host_memory_owner(const struct cluster *cluster, __u32 host, __u64 address)
{
	const struct host_ram *ram = ram_of(cluster, host);
	__u32 owner = 0;

	if (ram_has(ram, address, 1))
		owner = __atomic_load_n(&ram->owners[address / HOST_PAGE], __ATOMIC_ACQUIRE);
	return owner ? owner - 1 : CLUSTER_NONE;
}

static void unpin(struct host_ram *ram, __u64 page)
{
	__u16 pins = __atomic_load_n(&ram->pins[page], __ATOMIC_RELAXED);

	while (pins && !__atomic_compare_exchange_n(&ram->pins[page], &pins, (__u16)(pins - 1),
						    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

int host_memory_pin(struct cluster *cluster, __u32 host, __u64 address, __u64 bytes)
{
	struct host_ram *ram = ram_of(cluster, host);

	if (!bytes || !ram_has(ram, address, bytes))
		return failed(-EFAULT, "%s has no RAM at 0x%llx to 0x%llx to be pinned",
			      cluster->config->hosts[host].name, address, address + bytes);
	for (__u64 p = address / HOST_PAGE; p <= (address + bytes - 1) / HOST_PAGE; p++)
		__atomic_add_fetch(&ram->pins[p], 1, __ATOMIC_RELAXED);
	return 0;
}

void host_memory_unpin(struct cluster *cluster, __u32 host, __u64 address, __u64 bytes)
{
	struct host_ram *ram = ram_of(cluster, host);

	if (!bytes || !ram_has(ram, address, bytes))
		return;
	for (__u64 p = address / HOST_PAGE; p <= (address + bytes - 1) / HOST_PAGE; p++)
		unpin(ram, p);
}

__u64 host_memory_pinned(const struct cluster *cluster, __u32 host)
{
	const struct host_ram *ram = ram_of(cluster, host);
	__u64 pinned = 0;

	/* Counted anew each time: a count beside them would be wrong for good if its writer is killed between the two. */
	for (__u64 p = 0; p < ram->pages; p++)
		pinned += __atomic_load_n(&ram->pins[p], __ATOMIC_RELAXED) > 0;
	return pinned * HOST_PAGE;
}

/* The next page from `page` on that has ever been written: a hole of the file is zero, and reading it would fill it. */
static __u64 next_written(const struct host_ram *ram, __u64 page)
{
	off_t at = lseek(ram->file, (off_t)(page * HOST_PAGE), SEEK_DATA);

	return at < 0 ? ram->pages : (__u64)at / HOST_PAGE;
}

__u64 host_memory_checksum(const struct cluster *cluster, __u32 host, bool all)
{
	static const __u8 zero[HOST_PAGE];
	const struct host_ram *ram = ram_of(cluster, host);
	__u64 sum = 0;

	for (__u64 p = next_written(ram, 0); p < ram->pages; p = next_written(ram, p + 1)) {
		const void *page = ram->bytes + p * HOST_PAGE;

		if (!all && __atomic_load_n(&ram->owners[p], __ATOMIC_ACQUIRE))
			continue;
		if (memcmp(page, zero, HOST_PAGE) != 0)
			sum = XXH64(page, HOST_PAGE, sum ^ p);
	}
	return sum;
}
