// SPDX-License-Identifier: GPL-2.0
/* The guest's memory for programs' use: who has which of its pages. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/guest/guest_private.h"

static size_t bits_bytes(__u64 pages)
{
	return (pages + 63) / 64 * sizeof(__u64);
}

int page_runs_init(struct page_runs *runs, __u64 pages)
{
	/* Pages of its own: they stay writable while the program's are not (guest_adopt.c). */
	void *taken = mmap(NULL, bits_bytes(pages) + 1, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (taken == MAP_FAILED)
		return -ENOMEM;
	*runs = (struct page_runs){.taken = taken, .pages = pages, .free = pages};
	pthread_mutex_init(&runs->lock, NULL);
	return 0;
}

void page_runs_destroy(struct page_runs *runs)
{
	if (!runs->taken)
		return;
	munmap(runs->taken, bits_bytes(runs->pages) + 1);
	pthread_mutex_destroy(&runs->lock);
	runs->taken = NULL;
}

static bool page_is_given(const struct page_runs *runs, __u64 page)
{
	return runs->taken[page / 64] >> page % 64 & 1;
}

__s64 page_runs_take(struct page_runs *runs, __u64 count)
{
	__s64 first = -ENOMEM;
	__u64 run = 0;

	pthread_mutex_lock(&runs->lock);
	for (__u64 page = 0; count && first < 0 && page < runs->pages; page++) {
		run = page_is_given(runs, page) ? 0 : run + 1;
		if (run == count)
			first = (__s64)(page + 1 - count);
	}
	for (__u64 i = 0; first >= 0 && i < count; i++)
		runs->taken[((__u64)first + i) / 64] |= 1ull << ((__u64)first + i) % 64;
	runs->free -= first < 0 ? 0 : count;
	pthread_mutex_unlock(&runs->lock);
	return first;
}

void page_runs_give(struct page_runs *runs, __u64 first, __u64 count)
{
	pthread_mutex_lock(&runs->lock);
	for (__u64 page = first; page < first + count; page++)
		runs->taken[page / 64] &= ~(1ull << page % 64);
	runs->free += count;
	pthread_mutex_unlock(&runs->lock);
}

static __u64 pages_for(__u64 bytes)
{
	return (bytes + PAGE_BYTES - 1) >> PAGE_BITS;
}

void *guest_allocate(struct verbs_device *device, __u64 bytes, __u64 *guest_address)
{
	struct guest_device *guest = guest_device_of(device);
	__s64 first =
		bytes > device->bytes ? -ENOMEM : page_runs_take(&guest->pages, pages_for(bytes));
	void *memory;

	if (first < 0)
		return NULL;
	*guest_address = device->start + ((__u64)first << PAGE_BITS);
	memory = device->base + *guest_address;
	memset(memory, 0, pages_for(bytes) << PAGE_BITS);
	return memory;
}

void guest_free(struct verbs_device *device, void *memory, __u64 bytes)
{
	struct guest_device *guest = guest_device_of(device);
	__u64 offset = (__u64)((unsigned char *)memory - device->base) - device->start;

	if (memory)
		page_runs_give(&guest->pages, offset >> PAGE_BITS, pages_for(bytes));
}

void guest_room(struct verbs_device *device, __u64 *all, __u64 *free)
{
	struct page_runs *runs = &guest_device_of(device)->pages;

	pthread_mutex_lock(&runs->lock);
	*all = runs->pages << PAGE_BITS;
	*free = runs->free << PAGE_BITS;
	pthread_mutex_unlock(&runs->lock);
}
