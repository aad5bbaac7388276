// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of a program's own memory. Registered first, so that the guest's pages for it are pinned, then filled and moved under the
 * program's addresses (guest_swap.h). As the region goes the program's writers wait, the host lets go of the pages, and what these hold then is
 * copied into the program's own again: what a DMA has written until the last moment is in it.
 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/guest/adoptions.h"
#include "injectors/guest/guest_swap.h"
#include "lib/base/fail.h"

/* A piece for each row of pages of which `wanted` is true, and which lie in a row here and where their new ones are. */
static void find_pieces(struct adoption *adoption,
			bool (*wanted)(const struct adoption *adoption, __u32 page))
{
	struct swap *swap = adoption->swap;

	for (__u32 i = 0; i < adoption->pages; i++) {
		unsigned char *made = adoption->made + ((__u64)i << PAGE_BITS), *here;
		struct swap_piece *last = swap->count ? &swap->piece[swap->count - 1] : NULL;

		if (!wanted(adoption, i))
			continue;
		here = (unsigned char *)adopted_page(adoption->guest, adoption->list[i])->here;
		if (last && last->here + last->bytes == here && last->made + last->bytes == made &&
		    adoption->list[i] == adoption->list[i - 1] + PAGE_BYTES)
			last->bytes += PAGE_BYTES;
		else
			swap->piece[swap->count++] = (struct swap_piece){
				.here = here,
				.made = made,
				.bytes = PAGE_BYTES,
			};
	}
}

static int swap_faults(struct guest_device *guest)
{
	if (guest->adoptions.faults < 0)
		guest->adoptions.faults = guest_faults_open(guest);
	return guest->adoptions.faults;
}

/*
 * Who makes a mapping of shared memory longer sees more of it: of the guest's, here what others have. The kernel refuses that for what is not
 * one mapping, and realloc() then copies. So a row is two, by advice of which nothing comes in memory.
 */
static void rows_part(const struct swap *swap)
{
	for (__u32 i = 0; i < swap->done; i++)
		if (swap->piece[i].bytes > PAGE_BYTES)
			(void)madvise(swap->piece[i].here, PAGE_BYTES, MADV_RANDOM);
}

static int adopted_release(struct adoption *adoption);

/* The region is registered: its pages come under the program's addresses. */
static int region_show(struct adoption *adoption)
{
	struct swap *swap = adoption->swap;
	int error;

	find_pieces(adoption, adoption_page_is_new);
	swap->faults = adoption->guest->adoptions.faults;
	swap->modes = UFFDIO_REGISTER_MODE_WP;
	error = swap->count ? swap_run(swap) : 0;
	rows_part(swap);
	return error;
}

/* Are they the program's now? All, or those that were swapped before one failed, and those that have been in another region before. */
static void count_adopted(struct adoption *adoption)
{
	const struct swap *swap = adoption->swap;

	for (__u32 i = 0; i < adoption->pages; i++)
		if (!adoption_page_is_new(adoption, i))
			adopted_page_count(adoption->guest, adoption->list[i], 1);
	for (__u32 i = 0; i < swap->done; i++)
		for (__u64 at = 0; at < swap->piece[i].bytes; at += PAGE_BYTES) {
			__u64 offset = (__u64)(swap->piece[i].here - adoption->start) + at;

			adopted_page_count(adoption->guest, adoption->list[offset >> PAGE_BITS], 1);
		}
}

static int adopted_register(struct adoption *adoption, __u32 domain, __u64 iova,
			    unsigned int rights)
{
	struct guest_mr *region = adoption->region;
	const struct verbs_range range = {
		.address = iova,
		.bytes = region->bytes,
		.pages = adoption->list,
		.page_count = adoption->pages,
		.here = adoption->made + (__u64)region->address % PAGE_BYTES,
	};
	struct verbs_device *device = adoption->guest->device;
	int error = verbs_reg_range(device, &region->mr, domain, &range, VERBS_PINNED, rights);

	if (error)
		return error;
	error = region_show(adoption);
	count_adopted(adoption);
	if (!error) {
		memcpy(region->list, adoption->list, adoption->pages * sizeof(*region->list));
		return 0;
	}
	/* All or nothing. */
	(void)adopted_release(adoption);
	return error;
}

/* What the program has unmapped stays so, as does what it has there instead. */
static bool page_goes_back(const struct adoption *adoption, __u32 i)
{
	const struct adopted_page *page = adopted_page(adoption->guest, adoption->list[i]);

	return page->regions == 1 && page->here;
}

static int deregister_between(void *argument)
{
	struct adoption *adoption = argument;
	struct verbs_mr mr = adoption->region->mr;
	int error;

	/* The guest's own pin goes last, by who waits: it takes locks that nobody holds for writing. */
	mr.pin = 0;
	guest_commands_held = true;
	error = verbs_dereg_mr(adoption->guest->device, &mr);
	return error == -EPIPE ? 0 : error;
}

/* Which pages are the program's own again, and the guest's free. */
static void forget_pages(struct adoption *adoption)
{
	struct guest_device *guest = adoption->guest;

	for (__u32 i = 0; i < adoption->pages; i++) {
		const struct adopted_page *page = adopted_page(guest, adoption->list[i]);

		if (!page->regions)
			continue;
		adopted_page_count(guest, adoption->list[i], -1);
		if (page->regions)
			continue;
		page_runs_give(&guest->pages,
			       (adoption->list[i] - guest->device->start) >> PAGE_BITS, 1);
		adoption->list[i] = 0;
	}
}

/* Takes the region away from the host while who writes to it waits, and gives the program pages of its own. */
static int adopted_release(struct adoption *adoption)
{
	struct guest_device *guest = adoption->guest;
	struct swap *swap = adoption->swap;
	int error;

	swap->count = swap->done = 0;
	if (!mmap(adoption->made, adoption_bytes(adoption), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ||
	    madvise(adoption->made, adoption_bytes(adoption), MADV_POPULATE_WRITE))
		return failed(-ENOMEM, "no memory for %llu bytes that were registered",
			      adoption_bytes(adoption));
	error = adoption_find_pages(adoption);
	if (error)
		return error;
	find_pieces(adoption, page_goes_back);
	/* By the guest's own view, whose pages come back when they are touched: they are pinned no more. */
	for (__u32 i = 0; i < swap->count; i++)
		swap->piece[i].from =
			guest->device->base +
			adoption->list[(swap->piece[i].made - adoption->made) >> PAGE_BITS];
	swap->faults = guest->adoptions.faults;
	swap->modes = UFFDIO_REGISTER_MODE_WP | UFFDIO_REGISTER_MODE_MISSING;
	swap->between = deregister_between;
	swap->argument = adoption;
	pthread_rwlock_wrlock(&guest->commands);
	error = swap_run(swap);
	pthread_rwlock_unlock(&guest->commands);
	if (!swap->asked)
		return error;
	if (adoption->region->mr.pin)
		guest->device->transport->unpin(guest->device, adoption->region->mr.pin);
	/* Rows that could not be mapped stay the guest's: nobody else may have their pages. */
	if (!error)
		forget_pages(adoption);
	return 0;
}

/* Memory of the guest's own is registered as it is. */
static bool region_is_guests(const struct verbs_device *device, const void *address, __u64 bytes)
{
	__u64 offset = (__u64)address - (__u64)device->base;

	return (__u64)address >= (__u64)device->base + device->start && bytes <= device->bytes &&
	       offset - device->start <= device->bytes - bytes;
}

static int register_guests(struct verbs_device *device, struct guest_mr *region, __u32 domain,
			   __u64 iova, enum verbs_region kind, unsigned int rights)
{
	__u64 first = (__u64)((unsigned char *)region->address - device->base);
	__u64 pages = (first % PAGE_BYTES + region->bytes + PAGE_BYTES - 1) >> PAGE_BITS;
	__u64 *list = adoption_map(pages * sizeof(*list), PROT_READ | PROT_WRITE);
	struct verbs_range range = {
		.address = iova,
		.bytes = region->bytes,
		.pages = list,
		.page_count = (__u32)pages,
		.here = region->address,
	};
	int error;

	if (!list)
		return failed(-ENOMEM, "no memory to register %llu bytes", region->bytes);
	for (__u64 i = 0; i < pages; i++)
		list[i] = (first & ~(PAGE_BYTES - 1)) + (i << PAGE_BITS);
	error = verbs_reg_range(device, &region->mr, domain, &range, kind, rights);
	munmap(list, pages * sizeof(*list));
	return error;
}

static int adopt(struct guest_device *guest, struct adoption *adoption, __u32 domain, __u64 iova,
		 unsigned int rights)
{
	struct guest_mr *region = adoption->region;
	int error = adoptions_begin(guest)
			    ?: adoption_check(guest, region->address, region->bytes)
			    ?: adoption_begin(adoption, guest->device, region);

	if (!error && swap_faults(guest) < 0)
		error = guest->adoptions.faults;
	if (!error)
		error = adoption_list_pages(adoption) ?: adoption_map_pages(adoption);
	if (!error)
		error = adopted_register(adoption, domain, iova, rights);
	if (error && adoption->list)
		adoption_give_pages(adoption);
	adoption_end(adoption);
	return error;
}

int guest_reg_mr(struct verbs_device *device, struct guest_mr *region, __u32 domain, void *address,
		 __u64 bytes, __u64 iova, enum verbs_region kind, unsigned int rights)
{
	struct guest_device *guest = guest_device_of(device);
	struct adoption adoption = {.region = region};
	int error;

	if (!bytes || bytes > (__u64)HYV_LIST_MAX << PAGE_BITS || kind == VERBS_IMPLICIT ||
	    (iova ^ (__u64)address) & (PAGE_BYTES - 1) || (__u64)address + bytes < bytes)
		return -EINVAL;
	*region = (struct guest_mr){.address = address, .bytes = bytes};
	if (region_is_guests(device, address, bytes))
		return register_guests(device, region, domain, iova, kind, rights);
	region->adopted = true;
	/* A page more than its bytes are, as its first and last one need not be whole. */
	region->list = calloc((bytes >> PAGE_BITS) + 2, sizeof(*region->list));
	if (!region->list)
		return failed(-ENOMEM, "no memory to register %llu bytes", bytes);
	pthread_mutex_lock(&guest->adoptions.lock);
	error = adopt(guest, &adoption, domain, iova, rights);
	pthread_mutex_unlock(&guest->adoptions.lock);
	if (error)
		free(region->list);
	return error;
}

int guest_dereg_mr(struct verbs_device *device, struct guest_mr *region)
{
	struct guest_device *guest = guest_device_of(device);
	struct adoption adoption;
	int error;

	if (!region->adopted)
		return verbs_dereg_mr(device, &region->mr);
	pthread_mutex_lock(&guest->adoptions.lock);
	error = guest->child ? -EPIPE : adoption_begin(&adoption, device, region);
	if (!error)
		error = adopted_release(&adoption);
	if (!guest->child)
		adoption_end(&adoption);
	pthread_mutex_unlock(&guest->adoptions.lock);
	if (!error || guest->child)
		free(region->list);
	return error;
}
