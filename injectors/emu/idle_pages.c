// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/idle_pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "injectors/emu/machine_private.h"
#include "lib/base/fail.h"

#define LOOK_PAGES 128 /* one look of the kernel's at once */
#define SCAN_PAGES 512 /* what one entry of 2 MiB stands for, which has one bit */

struct idle_tenant {
	_Atomic __u32 *used; /* a page: number of the scan that found it used last, 0: none */
	_Atomic __u64 hand;  /* behind the last page that was found */
	atomic_bool *
		there; /* of a virtual machine, a page: present at the last scan, and not found to be taken since; else NULL */
};

struct idle_pages {
	struct machine *machine;
	__u32 scans;
	struct idle_tenant tenants[];
};

int idle_pages_create(struct idle_pages **idle, struct machine *machine)
{
	__u32 tenants = machine->config.tenant_count;
	struct idle_pages *new = calloc(1, sizeof(*new) + tenants * sizeof(new->tenants[0]));
	bool enough = new;

	for (__u32 i = 0; enough && i < tenants; i++) {
		__u64 pages = machine->tenants[i].config.memory >> PAGE_BITS;

		new->tenants[i].used = calloc(pages, sizeof(*new->tenants[i].used));
		if (machine->tenants[i].config.backend == MEMORY_VM)
			new->tenants[i].there = calloc(pages, sizeof(*new->tenants[i].there));
		enough = new->tenants[i].used &&
			 (new->tenants[i].there || machine->tenants[i].config.backend != MEMORY_VM);
	}
	if (new)
		new->machine = machine;
	if (!enough) {
		idle_pages_destroy(new);
		return failed(-ENOMEM, "no memory for when pages were used");
	}
	*idle = new;
	return 0;
}

void idle_pages_destroy(struct idle_pages *idle)
{
	for (__u32 i = 0; idle && i < idle->machine->config.tenant_count; i++) {
		free((void *)idle->tenants[i].used);
		free((void *)idle->tenants[i].there);
	}
	free(idle);
}

static void scan_piece(struct idle_pages *idle, __u32 index, __u64 base, __u32 count)
{
	const struct tenant *tenant = &idle->machine->tenants[index];
	bool used[SCAN_PAGES] = {false};

	for (__u32 n = 0; n < tenant->device_count; n++) {
		const struct machine_device *device = &idle->machine->devices[tenant->devices[n]];

		iommu_take_accessed(device->domain, (base << PAGE_BITS) + device->iova_offset,
				    count, used);
	}
	for (__u32 i = 0; i < count; i++)
		if (used[i])
			atomic_store_explicit(&idle->tenants[index].used[base + i], idle->scans,
					      memory_order_relaxed);
}

/* Those that were not there before have been touched. */
static void scan_returned(struct idle_pages *idle, __u32 index, __u64 base, __u32 count)
{
	struct guest_memory *memory = idle->machine->tenants[index].memory;
	struct idle_tenant *tenant = &idle->tenants[index];
	unsigned char looks[LOOK_PAGES];

	if (guest_memory_look(memory, base << PAGE_BITS, count, looks))
		return;
	for (__u32 i = 0; i < count; i++) {
		bool there = looks[i] & PAGE_LOOK_HELD;

		if (there && !atomic_load_explicit(&tenant->there[base + i], memory_order_relaxed))
			atomic_store_explicit(&tenant->used[base + i], idle->scans,
					      memory_order_relaxed);
		atomic_store_explicit(&tenant->there[base + i], there, memory_order_relaxed);
	}
}

static __u32 piece_pages(__u64 pages, __u64 base, __u32 most)
{
	return pages - base < most ? (__u32)(pages - base) : most;
}

void idle_pages_scan(struct idle_pages *idle)
{
	idle->scans++;
	for (__u32 i = 0; i < idle->machine->config.tenant_count; i++) {
		__u64 pages = idle->machine->tenants[i].config.memory >> PAGE_BITS;

		for (__u64 base = 0; base < pages; base += SCAN_PAGES)
			scan_piece(idle, i, base, piece_pages(pages, base, SCAN_PAGES));
		for (__u64 base = 0; idle->tenants[i].there && base < pages; base += LOOK_PAGES)
			scan_returned(idle, i, base, piece_pages(pages, base, LOOK_PAGES));
	}
}

/* The longest idle so far: a heap whose first goes before all others of it stay. */
struct candidate {
	__u32 used;
	__u64 turn; /* pages behind the hand */
	__u64 page;
};

static bool goes_before(const struct candidate *a, const struct candidate *b)
{
	return a->used != b->used ? a->used < b->used : a->turn < b->turn;
}

/* Puts `moved` where the heap below `at` wants it: the last to go is on top. */
static void idle_sink(struct candidate *heap, __u32 size, __u32 at, struct candidate moved)
{
	for (;;) {
		__u32 child = 2 * at + 1;

		if (child >= size)
			break;
		if (child + 1 < size && goes_before(&heap[child], &heap[child + 1]))
			child++;
		if (!goes_before(&moved, &heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static void idle_add(struct candidate *heap, __u32 *size, __u32 want, struct candidate new)
{
	__u32 at = *size;

	if (at == want) {
		if (goes_before(&new, &heap[0]))
			idle_sink(heap, *size, 0, new);
		return;
	}
	for (++*size; at && goes_before(&heap[(at - 1) / 2], &new); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = new;
}

static bool may_go(const struct tenant *tenant, __u64 page, unsigned char look)
{
	/* Of a virtual machine's pages its own process's page table tells, which this one does not see. */
	bool present = tenant->config.backend == MEMORY_PAGER ? look & PAGE_LOOK_MAPPED
							      : look & PAGE_LOOK_HELD;

	return present && !pins_hold(tenant->pins, page);
}

static void find_in_piece(struct idle_pages *idle, __u32 index, __u64 base, __u32 count, __u64 hand,
			  struct candidate *heap, __u32 *size, __u32 want)
{
	const struct tenant *tenant = &idle->machine->tenants[index];
	__u64 pages = tenant->config.memory >> PAGE_BITS;
	unsigned char looks[LOOK_PAGES];

	if (guest_memory_look(tenant->memory, base << PAGE_BITS, count, looks))
		return;
	for (__u32 i = 0; i < count; i++)
		if (may_go(tenant, base + i, looks[i]))
			idle_add(heap, size, want,
				 (struct candidate){
					 .used = atomic_load_explicit(
						 &idle->tenants[index].used[base + i],
						 memory_order_relaxed),
					 .turn = (base + i + pages - hand) % pages,
					 .page = base + i,
				 });
}

__u32 idle_pages_find(struct idle_pages *idle, __u32 tenant, __u64 first, __u64 pages, __u32 want,
		      __u64 found[IDLE_PAGES_MOST])
{
	__u64 hand = atomic_load(&idle->tenants[tenant].hand);
	struct candidate heap[IDLE_PAGES_MOST];
	__u32 size = 0, count;

	want = want < IDLE_PAGES_MOST ? want : IDLE_PAGES_MOST;
	for (__u64 done = 0; want && done < pages; done += LOOK_PAGES)
		find_in_piece(idle, tenant, first + done, piece_pages(pages, done, LOOK_PAGES),
			      hand, heap, &size, want);
	count = size;
	while (size) {
		found[size - 1] = heap[0].page;
		/* Whoever asks takes it: it may be back before the next scan. */
		if (idle->tenants[tenant].there)
			atomic_store_explicit(&idle->tenants[tenant].there[heap[0].page], false,
					      memory_order_relaxed);
		size--;
		idle_sink(heap, size, 0, heap[size]);
	}
	if (count)
		atomic_store(&idle->tenants[tenant].hand,
			     (found[count - 1] + 1) %
				     (idle->machine->tenants[tenant].config.memory >> PAGE_BITS));
	return count;
}
