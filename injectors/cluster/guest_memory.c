// SPDX-License-Identifier: GPL-2.0
/* A guest's RAM: which pages of its host's it is, and what its kernel has given away of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/cluster/guest_private.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

static __u64 guest_chunk_bytes(const struct guest_region *region, __u32 chunk)
{
	__u64 rest = region->bytes - chunk * region->chunk_bytes;

	return rest < region->chunk_bytes ? rest : region->chunk_bytes;
}

/* Its neighbours are no neighbours in the host's RAM, as after some time of use: what makes it contiguous are IOMMUs alone. The
 * last one may be shorter and stays where it is. */
static void guest_scatter(struct guest_region *region, __u64 seed)
{
	struct random random = {seed};
	__u32 whole = (__u32)(region->bytes / region->chunk_bytes);

	for (__u32 i = whole; i > 1; i--) {
		__u32 other = (__u32)random_below(&random, i);
		__u64 host = region->host[i - 1];

		region->host[i - 1] = region->host[other];
		region->host[other] = host;
	}
}

static int guest_chunks_take(struct bus_guest *guest, struct guest_region *region)
{
	const struct bus *bus = guest->bus;
	__u64 pieces =
		(region->bytes + GUEST_CHUNK * GUEST_CHUNKS - 1) / (GUEST_CHUNK * GUEST_CHUNKS);

	region->chunk_bytes = pieces * GUEST_CHUNK;
	while (region->chunks * region->chunk_bytes < region->bytes) {
		int err = host_memory_alloc(bus->cluster, bus->host,
					    guest_chunk_bytes(region, region->chunks),
					    &region->host[region->chunks]);

		if (err)
			return err;
		region->chunks++;
	}
	guest_scatter(region, bus->cluster->config->seed + guest->vm);
	return 0;
}

/* Its CPUs' view: the host's pages once more in this process, in the guest's order. An old size of 0 makes mremap() leave the
 * shared pages where they are and show them at a second place. */
static int guest_view(struct bus_guest *guest, struct guest_region *region)
{
	const struct bus *bus = guest->bus;

	region->view = mmap(NULL, region->bytes, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region->view == MAP_FAILED) {
		region->view = NULL;
		return failed(-ENOMEM, "no room for %llu bytes of %s's memory", region->bytes,
			      guest->config->name);
	}
	for (__u32 i = 0; i < region->chunks; i++) {
		__u64 bytes = guest_chunk_bytes(region, i);
		void *host = host_memory(bus->cluster, bus->host, region->host[i], bytes);

		if (!host || mremap(host, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
				    region->view + i * region->chunk_bytes) == MAP_FAILED)
			return failed(-ENOMEM, "cannot map %llu bytes of %s's memory: %s", bytes,
				      guest->config->name, strerror(errno));
	}
	return 0;
}

int guest_region_create(struct bus_guest *guest, enum guest_region_kind kind, __u64 start,
			__u64 bytes)
{
	struct guest_region *region = &guest->regions[kind];
	int err;

	region->start = start;
	region->bytes = bytes;
	if (!bytes)
		return 0;
	region->used = calloc((bytes / HOST_PAGE + 63) / 64, sizeof(*region->used));
	err = region->used
		      ? guest_chunks_take(guest, region)
		      : failed(-ENOMEM, "no memory for a map of %s's pages", guest->config->name);
	return err ? err : guest_view(guest, region);
}

void guest_region_destroy(struct bus_guest *guest, enum guest_region_kind kind)
{
	struct guest_region *region = &guest->regions[kind];

	if (region->view)
		munmap(region->view, region->bytes);
	for (__u32 i = 0; i < region->chunks; i++)
		host_memory_free(guest->bus->cluster, guest->bus->host, region->host[i],
				 guest_chunk_bytes(region, i));
	free(region->used);
	memset(region, 0, sizeof(*region));
}

int guest_resolve(const struct bus_guest *guest, __u64 address, __u64 *host)
{
	for (int kind = 0; kind < GUEST_REGIONS; kind++) {
		const struct guest_region *region = &guest->regions[kind];
		__u64 offset = address - region->start;

		if (address < region->start || offset >= region->bytes)
			continue;
		*host = region->host[offset / region->chunk_bytes] + offset % region->chunk_bytes;
		return 0;
	}
	return -EFAULT;
}

static bool guest_page_used(const struct guest_region *region, __u64 page)
{
	return region->used[page / 64] >> page % 64 & 1;
}

static void guest_page_flip(struct guest_region *region, __u64 page)
{
	region->used[page / 64] ^= 1ull << page % 64;
}

static void *guest_region_pages(struct guest_region *region, __u64 pages)
{
	__u64 run = 0;

	for (__u64 page = 0; page < region->bytes / HOST_PAGE; page++) {
		run = guest_page_used(region, page) ? 0 : run + 1;
		if (run < pages)
			continue;
		for (__u64 p = page + 1 - pages; p <= page; p++)
			guest_page_flip(region, p);
		page -= pages - 1;
		return memset(region->view + page * HOST_PAGE, 0, pages * HOST_PAGE);
	}
	return NULL;
}

/* Low and high take turns, so that both windows are used; the first buffer (no queue) after memory was added comes from there: its
 * kernel knows no difference. */
void *guest_pages(struct bus_guest *guest, __u64 bytes, __u64 mask, bool queue)
{
	struct guest_region *added = &guest->regions[GUEST_ADDED_RAM];
	__u64 pages = bytes / HOST_PAGE + (bytes % HOST_PAGE > 0);
	void *memory = NULL;

	if (!pages)
		return NULL;
	if (!queue && added->bytes && !guest->added_given &&
	    added->start + added->bytes - 1 <= mask) {
		memory = guest_region_pages(added, pages);
		guest->added_given = memory != NULL;
	}
	for (int i = 0; !memory && i < 2; i++) {
		struct guest_region *region = &guest->regions[(guest->turn + i) % 2];

		if (region->bytes && region->start + region->bytes - 1 <= mask)
			memory = guest_region_pages(region, pages);
	}
	guest->turn++;
	return memory;
}

static struct guest_region *guest_region_of(const struct bus_guest *guest, const void *memory,
					    __u64 bytes, __u64 *offset)
{
	for (int kind = 0; kind < GUEST_REGIONS; kind++) {
		const struct guest_region *region = &guest->regions[kind];

		*offset = (__u64)((const __u8 *)memory - region->view);
		if (region->view && (const __u8 *)memory >= region->view &&
		    *offset < region->bytes && bytes <= region->bytes - *offset)
			return (struct guest_region *)region;
	}
	return NULL;
}

void guest_pages_free(struct bus_guest *guest, void *memory, __u64 bytes)
{
	__u64 pages = bytes / HOST_PAGE + (bytes % HOST_PAGE > 0), offset;
	struct guest_region *region = guest_region_of(guest, memory, bytes, &offset);

	if (!region)
		return;
	for (__u64 p = offset / HOST_PAGE; p < offset / HOST_PAGE + pages; p++)
		if (guest_page_used(region, p))
			guest_page_flip(region, p);
	if (region == &guest->regions[GUEST_ADDED_RAM])
		guest->added_given = false;
}

int guest_physical(const struct bus_guest *guest, const void *memory, __u64 bytes, __u64 *address)
{
	__u64 offset;
	const struct guest_region *region = guest_region_of(guest, memory, bytes, &offset);

	if (!region)
		return failed(-EFAULT, "%s's driver maps memory that is not the guest's",
			      guest->config->name);
	*address = region->start + offset;
	return 0;
}
