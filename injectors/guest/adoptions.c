// SPDX-License-Identifier: GPL-2.0
/* Which pages of the guest's are in regions, by their numbers, and which of the program's addresses show them. */
#include "injectors/guest/adoptions.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/fail.h"

void adoptions_init(struct adoptions *adoptions)
{
	*adoptions = (struct adoptions){.faults = -1};
	pthread_mutex_init(&adoptions->lock, NULL);
}

static __u64 table_bytes(const struct guest_device *guest)
{
	return (guest->device->bytes >> PAGE_BITS) * sizeof(struct adopted_page);
}

void adoptions_destroy(struct guest_device *guest)
{
	struct adoptions *adoptions = &guest->adoptions;

	if (adoptions->page)
		munmap(adoptions->page, table_bytes(guest));
	if (adoptions->faults >= 0)
		close(adoptions->faults);
	pthread_mutex_destroy(&adoptions->lock);
}

int adoptions_begin(struct guest_device *guest)
{
	struct adoptions *adoptions = &guest->adoptions;
	struct stat memory;
	void *made;

	if (adoptions->page)
		return 0;
	if (fstat(guest->descriptor[HYV_MEMORY], &memory))
		return failed(-EIO, "the file of guest memory: %s", strerror(errno));
	adoptions->inode = memory.st_ino;
	adoptions->major = major(memory.st_dev);
	adoptions->minor = minor(memory.st_dev);
	made = mmap(NULL, table_bytes(guest), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made == MAP_FAILED)
		return failed(-ENOMEM, "no memory for a table of %llu pages",
			      guest->device->bytes >> PAGE_BITS);
	adoptions->page = made;
	return 0;
}

struct adopted_page *adopted_page(const struct guest_device *guest, __u64 guest_address)
{
	return &guest->adoptions.page[(guest_address - guest->device->start) >> PAGE_BITS];
}

void adopted_page_count(struct guest_device *guest, __u64 guest_address, int change)
{
	struct adopted_page *page = adopted_page(guest, guest_address);

	guest->adoptions.count -= page->regions != 0;
	page->regions += (__u32)change;
	guest->adoptions.count += page->regions != 0;
}

/* Of the guest's memory, and not the guest's own view of it. */
static bool shows_memory(const struct guest_device *guest, const struct own_mapping *mapping)
{
	const struct adoptions *adoptions = &guest->adoptions;
	__u64 base = (__u64)guest->device->base;

	return mapping->shared && mapping->inode == adoptions->inode &&
	       mapping->major == adoptions->major && mapping->minor == adoptions->minor &&
	       (mapping->end <= base || mapping->start >= base + guest->hello.memory_bytes);
}

__u64 adopted_there(const struct guest_device *guest, const struct own_mapping *mapping, __u64 here)
{
	const struct verbs_device *device = guest->device;
	__u64 guest_address = mapping->offset + (here - mapping->start);

	if (here < mapping->start || here >= mapping->end || !shows_memory(guest, mapping) ||
	    guest_address < device->start || guest_address - device->start >= device->bytes)
		return 0;
	return adopted_page(guest, guest_address)->regions ? guest_address : 0;
}

void adopted_each(const struct guest_device *guest, struct own_mappings *mappings,
		  void (*call)(void *argument, __u64 here, __u64 guest_address), void *argument)
{
	struct own_mapping mapping = {};

	while (own_mapping_from(mappings, mapping.end, &mapping)) {
		if (!shows_memory(guest, &mapping))
			continue;
		for (__u64 here = mapping.start; here < mapping.end; here += PAGE_BYTES) {
			__u64 guest_address = adopted_there(guest, &mapping, here);

			if (guest_address)
				call(argument, here, guest_address);
		}
	}
}
