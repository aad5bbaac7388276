// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/bus_dma.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/cluster/inject.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/seen.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define PAGE_MASK ((__u64)HOST_PAGE - 1)

static bool page_bit(const __u64 *bits, __u64 page)
{
	return bits[page / 64] >> page % 64 & 1;
}

int dma_space_open(struct dma_space *space)
{
	space->pages = space->bytes / HOST_PAGE;
	space->next = 0;
	space->used = calloc(space->pages / 64 + 1, sizeof(*space->used));
	space->behind = calloc(space->pages, sizeof(*space->behind));
	if (!space->used || !space->behind) {
		dma_space_close(space);
		return failed(-ENOMEM, "no memory for %llu pages of I/O addresses",
			      (unsigned long long)space->pages);
	}
	return 0;
}

void dma_space_close(struct dma_space *space)
{
	for (__u64 page = 0; space->domain && space->used && page < space->pages; page++)
		if (page_bit(space->used, page))
			dma_space_unmap(space, space->device_base + page * HOST_PAGE, HOST_PAGE);
	free(space->used);
	free(space->behind);
	space->used = NULL;
	space->behind = NULL;
}

/* Free pages from `from` on, before `end`; `end`: there are not so many in a row. */
static __u64 space_fit(const struct dma_space *space, __u64 from, __u64 end, __u64 pages)
{
	__u64 run = 0;

	for (__u64 page = from; page < end; page++) {
		if (!run && page % 64 == 0 && space->used[page / 64] == ~0ull) {
			page += 63;
			continue;
		}
		run = page_bit(space->used, page) ? 0 : run + 1;
		if (run == pages)
			return page + 1 - pages;
	}
	return end;
}

static int space_place(struct dma_space *space, __u64 pages, __u64 *page)
{
	*page = space_fit(space, space->next, space->pages, pages);
	if (*page == space->pages)
		*page = space_fit(space, 0, space->pages, pages);
	if (*page == space->pages)
		return -ENOSPC;
	space->next = *page + pages;
	return 0;
}

/* Whatever the caller's page offset. */
static __u64 space_charge(__u64 offset, __u64 bytes)
{
	return ((offset & PAGE_MASK) + bytes + PAGE_MASK) & ~PAGE_MASK;
}

static void space_tell(struct dma_space *space, const char *what, __u64 address, __u64 charged,
		       __u64 begin)
{
	__u64 took = monotonic_ns() - begin;

	if (space->borrow == CLUSTER_NONE)
		return;
	truth_cluster(space->cluster, &(struct cluster_truth){.what = what,
							      .agent = space->cluster->self,
							      .device = space->device,
							      .borrow = space->borrow,
							      .address = address,
							      .length = charged,
							      .value = took});
}

static void space_count(struct dma_space *space, __u64 charged, bool mapped)
{
	struct lend_counts *counts = space->counts;

	if (!counts)
		return;
	if (mapped) {
		counts->maps++;
		counts->bytes += charged;
		if (counts->bytes > counts->bytes_most)
			counts->bytes_most = counts->bytes;
	} else {
		counts->unmaps++;
		counts->bytes -= charged;
	}
}

/* The driver gives it back while the device may still write there. */
static void space_inject(struct dma_space *space, __u64 page, __u64 charged)
{
	if (space->borrow == CLUSTER_NONE ||
	    !cluster_inject(space->cluster, CLUSTER_UNMAP_IN_FLIGHT, space->device, NULL))
		return;
	host_iommu_unmap(space->cluster, space->host, space->domain, space->base + page * HOST_PAGE,
			 charged, space->device);
	if (space->counts)
		space->counts->early++;
}

/* In the own host's IOMMU. `page`: the place. */
static int space_put(struct dma_space *space, __u64 physical, __u64 charged,
		     enum dma_direction direction, __u64 *page)
{
	int access = (direction & DMA_TO_DEVICE ? HOST_IOMMU_READ : 0) |
		     (direction & DMA_FROM_DEVICE ? HOST_IOMMU_WRITE : 0);
	int err = space_place(space, charged / HOST_PAGE, page);

	if (err) {
		if (space->counts)
			space->counts->refused++;
		return failed(err,
			      "%s: %llu bytes do not fit into its DMA window of %llu with what is "
			      "mapped; accepted: a larger window=",
			      space->cluster->config->devices[space->device].name,
			      (unsigned long long)charged, (unsigned long long)space->bytes);
	}
	err = host_iommu_map(space->cluster, space->host, space->domain,
			     space->base + *page * HOST_PAGE, physical, charged, access,
			     space->device);
	for (__u64 i = 0; !err && i < charged / HOST_PAGE; i++) {
		space->used[(*page + i) / 64] |= 1ull << (*page + i) % 64;
		space->behind[*page + i] = physical / HOST_PAGE + i;
	}
	return err;
}

static __u64 space_physical(const struct dma_space *space, const void *memory)
{
	return (__u64)((const char *)memory -
		       (const char *)host_memory(space->cluster, space->host, 0, HOST_PAGE));
}

int dma_space_map(struct dma_space *space, void *memory, __u64 bytes, enum dma_direction direction,
		  __u64 *address)
{
	__u64 physical = space_physical(space, memory), page = 0, begin = monotonic_ns();
	__u64 charged = space_charge(physical, bytes), offset = physical & PAGE_MASK;
	int err;

	if (!bytes || host_memory(space->cluster, space->host, physical, bytes) != memory)
		return failed(-EFAULT, "%llu bytes at %#llx are no memory of %s",
			      (unsigned long long)bytes, (unsigned long long)physical,
			      space->cluster->config->hosts[space->host].name);
	err = host_memory_pin(space->cluster, space->host, physical - offset, charged);
	if (!err && space->domain) {
		err = space_put(space, physical - offset, charged, direction, &page);
		if (err)
			host_memory_unpin(space->cluster, space->host, physical - offset, charged);
	}
	if (err)
		return err;
	*address = space->device_base + (space->domain ? page * HOST_PAGE + offset : physical);
	space_count(space, charged, true);
	space_tell(space, "lend_map", *address, charged, begin);
	if (space->borrow != CLUSTER_NONE)
		seen_lend_map(space->cluster, space->device, space->borrow, *address, charged,
			      monotonic_ns() - begin, true);
	if (space->domain)
		space_inject(space, page, charged);
	return 0;
}

/* Unpins page by page, as they may lie anywhere by now: a driver may unmap several maps at once. */
static void space_take(struct dma_space *space, __u64 page, __u64 charged)
{
	__u64 pages = charged / HOST_PAGE;

	host_iommu_unmap(space->cluster, space->host, space->domain, space->base + page * HOST_PAGE,
			 charged, space->device);
	for (__u64 end = page + pages; page < end; page++) {
		host_memory_unpin(space->cluster, space->host,
				  (__u64)space->behind[page] * HOST_PAGE, HOST_PAGE);
		space->used[page / 64] &= ~(1ull << page % 64);
	}
}

/* All of them are mapped. */
static bool space_mapped(const struct dma_space *space, __u64 page, __u64 charged)
{
	for (__u64 end = page + charged / HOST_PAGE; page < end; page++)
		if (!page_bit(space->used, page))
			return false;
	return true;
}

void dma_space_unmap(struct dma_space *space, __u64 address, __u64 bytes)
{
	__u64 offset = address - space->device_base, begin = monotonic_ns();
	__u64 charged = space_charge(offset, bytes), first = offset & ~PAGE_MASK;
	__u64 page = first / HOST_PAGE;

	if (address < space->device_base || first + charged > space->bytes)
		return;
	if (!space->domain) {
		host_memory_unpin(space->cluster, space->host, first, charged);
	} else if (space_mapped(space, page, charged)) {
		space_take(space, page, charged);
	} else {
		return;
	}
	space_count(space, charged, false);
	space_tell(space, "lend_unmap", address, charged, begin);
	if (space->borrow != CLUSTER_NONE)
		seen_lend_map(space->cluster, space->device, space->borrow, address, charged,
			      monotonic_ns() - begin, false);
}

void *dma_memory(struct dma_space *space, __u64 bytes)
{
	__u64 address;

	if (host_memory_alloc(space->cluster, space->host, bytes, &address))
		return NULL;
	return host_memory(space->cluster, space->host, address, bytes);
}

void dma_memory_free(struct dma_space *space, void *memory, __u64 bytes)
{
	host_memory_free(space->cluster, space->host, space_physical(space, memory), bytes);
}

int dma_space_alloc(struct dma_space *space, __u64 bytes, void **memory, __u64 *address)
{
	int err;

	*memory = dma_memory(space, bytes);
	if (!*memory)
		return -ENOMEM;
	err = dma_space_map(space, *memory, bytes, DMA_BOTH, address);
	if (err)
		dma_memory_free(space, *memory, bytes);
	return err;
}

void dma_space_free(struct dma_space *space, __u64 bytes, void *memory, __u64 address)
{
	dma_space_unmap(space, address, bytes);
	dma_memory_free(space, memory, bytes);
}
