// SPDX-License-Identifier: GPL-2.0
/* Which pages hold what the guest has posted, for those who take them away. */
#include "injectors/emu/nic/driver_private.h"

struct page_list {
	__u64 *pages;
	__u32 limit;
	long count;
	__u64 last; /* buffers come in ascending order */
};

static void add_buffer(struct page_list *list, __u64 address, __u64 bytes)
{
	__u64 first = address & ~(PAGE_BYTES - 1), end = address + bytes;

	for (__u64 page = first; page < end; page += PAGE_BYTES) {
		if (list->count && page <= list->last)
			continue;
		if (list->count < list->limit)
			list->pages[list->count] = page;
		list->last = page;
		list->count++;
	}
}

static void add_posted(struct page_list *list, const struct nic_driver *driver, const bool *posted,
		       __u64 buffers, __u64 bytes)
{
	for (__u32 id = 0; id < driver->nic->depth; id++)
		if (__atomic_load_n(&posted[id], __ATOMIC_RELAXED))
			add_buffer(list, buffers + id * bytes, bytes);
}

long driver_ring_pages(void *argument, unsigned int sides, __u64 *pages, __u32 limit)
{
	const struct nic_driver *driver = argument;
	const struct nic *nic = driver->nic;
	struct page_list list = {.pages = pages, .limit = limit};

	for (__u32 q = 0; q < driver->queues && sides & RING_SIDE(RING_RX); q++)
		add_posted(&list, driver, driver->queue[q].rx_posted,
			   nic->layout.rx_buffers + (__u64)q * nic->depth * nic->settings.rx_buffer,
			   nic->settings.rx_buffer);
	for (__u32 q = 0; q < driver->queues && sides & RING_SIDE(RING_TX); q++)
		add_posted(&list, driver, driver->queue[q].tx_posted,
			   nic->layout.tx_buffers + (__u64)q * nic->depth * NIC_TX_BUFFER,
			   NIC_TX_BUFFER);
	return list.count;
}

__u64 driver_buffer_bytes(void *argument)
{
	const struct nic_driver *driver = argument;

	return driver->nic->layout.tx_buffers - driver->channel->data_address;
}
