// SPDX-License-Identifier: GPL-2.0
/* Of a region that comes: which pages of the guest's it takes, and where they are until they are the program's. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/guest/adoptions.h"
#include "lib/base/fail.h"

void *adoption_map(__u64 bytes, int protection)
{
	void *at =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int adoption_begin(struct adoption *adoption, struct verbs_device *device, struct guest_mr *region)
{
	__u64 first = (__u64)region->address & ~(PAGE_BYTES - 1);
	__u64 end = whole_pages((__u64)region->address + region->bytes);

	*adoption = (struct adoption){
		.guest = guest_device_of(device),
		.region = region,
		.start = (unsigned char *)first,
		.pages = (__u32)((end - first) >> PAGE_BITS),
	};
	adoption->list =
		adoption_map(adoption->pages * sizeof(*adoption->list), PROT_READ | PROT_WRITE);
	adoption->made = adoption_map(adoption_bytes(adoption), PROT_NONE);
	adoption->swap = swap_new(adoption->pages);
	if (!adoption->list || !adoption->made || !adoption->swap)
		return failed(-ENOMEM, "no memory to register %llu bytes", region->bytes);
	if (region->list)
		memcpy(adoption->list, region->list, adoption->pages * sizeof(*region->list));
	return 0;
}

void adoption_end(struct adoption *adoption)
{
	if (adoption->list)
		munmap(adoption->list, adoption->pages * sizeof(*adoption->list));
	/* What was moved away has left holes. */
	if (adoption->made)
		munmap(adoption->made, adoption_bytes(adoption));
	swap_free(adoption->swap);
}

static int refuse_memory(__u64 here, const char *why)
{
	return failed(-EFAULT,
		      "memory at 0x%llx cannot be registered: it is %s; accepted: heap, stack, "
		      "private memory, and static memory of the program itself",
		      here, why);
}

/* Each page lies in a private, writable mapping: else whoever it is shared with would not see it any more. And in none of a file: writers to
 * those cannot be made to wait. NULL. */
static const char *refusal(const struct own_mapping *mapping, __u64 here)
{
	if (here < mapping->start)
		return "not mapped";
	if (!mapping->readable || !mapping->writable)
		return "not writable";
	if (mapping->shared)
		return "shared";
	return mapping->inode ? "a file's, as static memory of libraries is" : NULL;
}

/* The list gets those that are in a region already. */
static int mapped_pages_look(const struct guest_device *guest, struct own_mappings *mappings,
			     __u64 first, __u64 end, __u64 *list)
{
	struct own_mapping mapping = {};

	for (__u64 here = first; here < end; here += PAGE_BYTES) {
		__u64 guest_address, until;
		const char *why;

		if (here >= mapping.end && !own_mapping_from(mappings, here, &mapping))
			return refuse_memory(here, "not mapped");
		guest_address = adopted_there(guest, &mapping, here);
		if (guest_address && list)
			list[(here - first) >> PAGE_BITS] = guest_address;
		if (guest_address)
			continue;
		why = refusal(&mapping, here);
		if (why)
			return refuse_memory(here, why);
		until = mapping.end < end ? mapping.end : whole_pages(end);
		/* Each has to be there to be protected. */
		if (madvise((void *)here, until - here, MADV_POPULATE_WRITE))
			return failed(-EFAULT, "memory at 0x%llx cannot be written: %s", here,
				      strerror(errno));
		here = until - PAGE_BYTES;
	}
	return 0;
}

static int region_pages_look(const struct guest_device *guest, __u64 first, __u64 end, __u64 *list)
{
	struct own_mappings mappings;
	int error = own_mappings_open(&mappings);

	if (error)
		return error;
	error = mapped_pages_look(guest, &mappings, first, end, list);
	own_mappings_close(&mappings);
	return error;
}

/* Before anything is mapped here: it might come to lie where nothing is. */
int adoption_check(const struct guest_device *guest, void *address, __u64 bytes)
{
	return region_pages_look(guest, (__u64)address & ~(PAGE_BYTES - 1), (__u64)address + bytes,
				 NULL);
}

static void take_page(struct adoption *adoption, __u32 i, __u64 number)
{
	struct guest_device *guest = adoption->guest;

	adoption->list[i] = guest->device->start + (number << PAGE_BITS);
	adopted_page(guest, adoption->list[i])->here =
		(__u64)adoption->start + ((__u64)i << PAGE_BITS);
}

/* Pages that are not the guest's yet get ones of it, in as long a row as there is. */
static int take_pages(struct adoption *adoption, __u32 first, __u32 count)
{
	struct guest_device *guest = adoption->guest;

	while (count) {
		__u32 row = count;
		__s64 page;

		while ((page = page_runs_take(&guest->pages, row)) < 0 && row > 1)
			row /= 2;
		if (page < 0)
			return failed(-ENOMEM, "the guest has no %u pages left for a region",
				      count);
		for (__u32 i = 0; i < row; i++)
			take_page(adoption, first + i, (__u64)page + i);
		first += row;
		count -= row;
	}
	return 0;
}

bool adoption_page_is_new(const struct adoption *adoption, __u32 i)
{
	return !adoption->list[i] || !adopted_page(adoption->guest, adoption->list[i])->regions;
}

/* Of the list those that only this region has taken. */
void adoption_give_pages(struct adoption *adoption)
{
	struct guest_device *guest = adoption->guest;

	for (__u32 i = 0; i < adoption->pages; i++) {
		__u64 page = adoption->list[i];

		if (page && adoption_page_is_new(adoption, i))
			page_runs_give(&guest->pages, (page - guest->device->start) >> PAGE_BITS,
				       1);
	}
}

int adoption_list_pages(struct adoption *adoption)
{
	__u64 start = (__u64)adoption->start;
	int error = region_pages_look(adoption->guest, start, start + adoption_bytes(adoption),
				      adoption->list);

	for (__u32 i = 0; !error && i < adoption->pages; i++)
		if (adoption->list[i])
			adopted_page(adoption->guest, adoption->list[i])->here =
				start + ((__u64)i << PAGE_BITS);
	for (__u32 i = 0, row; !error && i < adoption->pages; i += row) {
		row = 1;
		if (!adoption_page_is_new(adoption, i))
			continue;
		while (i + row < adoption->pages && adoption_page_is_new(adoption, i + row))
			row++;
		error = take_pages(adoption, i, row);
	}
	return error;
}

/* The guest's pages in a row, for the guest's own pin and to be moved where the program has the region. */
int adoption_map_pages(struct adoption *adoption)
{
	for (__u32 i = 0, row; i < adoption->pages; i += row) {
		void *at = adoption->made + ((__u64)i << PAGE_BITS);

		for (row = 1; i + row < adoption->pages &&
			      adoption->list[i + row] == adoption->list[i] + row * PAGE_BYTES;)
			row++;
		if (mmap(at, (__u64)row << PAGE_BITS, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, adoption->guest->descriptor[HYV_MEMORY],
			 (off_t)adoption->list[i]) == MAP_FAILED)
			return failed(-errno, "mapping guest memory for a region: %s",
				      strerror(errno));
	}
	return 0;
}

static void page_found(void *argument, __u64 here, __u64 guest_address)
{
	struct adopted_page *page = adopted_page(argument, guest_address);

	if (!page->here)
		page->here = here;
}

int adoption_find_pages(struct adoption *adoption)
{
	struct guest_device *guest = adoption->guest;
	struct own_mapping mapping = {};
	struct own_mappings mappings;
	bool moved = false;
	int error = own_mappings_open(&mappings);

	if (error)
		return error;
	for (__u32 i = 0; i < adoption->pages; i++) {
		struct adopted_page *page = adopted_page(guest, adoption->list[i]);

		if (page->regions != 1)
			continue;
		if ((page->here < mapping.start || page->here >= mapping.end) &&
		    !own_mapping_from(&mappings, page->here, &mapping))
			mapping = (struct own_mapping){};
		if (adopted_there(guest, &mapping, page->here) == adoption->list[i])
			continue;
		page->here = 0;
		moved = true;
	}
	/* Unmapped, or moved: all that the program has is looked through. */
	if (moved)
		adopted_each(guest, &mappings, page_found, guest);
	own_mappings_close(&mappings);
	return 0;
}
