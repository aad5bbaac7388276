// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/page_clock.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/machine_private.h"
#include "lib/base/fail.h"

#define PIECE_PAGES 128 /* one look of the kernel's at once */

struct page_clock {
	struct machine *machine;
	__u32 tenant; /* where the hand is */
	__u64 page;
};

int page_clock_create(struct page_clock **clock, struct machine *machine)
{
	struct page_clock *new = calloc(1, sizeof(*new));

	if (!new)
		return failed(-ENOMEM, "no memory for the reclaimer");
	new->machine = machine;
	*clock = new;
	return 0;
}

void page_clock_destroy(struct page_clock *clock)
{
	free(clock);
}

__u64 page_clock_pages(const struct page_clock *clock)
{
	__u64 pages = 0;

	for (__u32 i = 0; i < clock->machine->config.tenant_count; i++)
		pages += clock->machine->tenants[i].config.memory >> PAGE_BITS;
	return pages;
}

static bool take_dma_mark(const struct tenant *tenant, __u64 page)
{
	return atomic_load_explicit(&tenant->touched[page], memory_order_relaxed) &&
	       atomic_exchange_explicit(&tenant->touched[page], 0, memory_order_relaxed);
}

/* Takes the marks that CPUs left on pages that follow each other. */
static void take_cpu_marks(const struct tenant *tenant, __u64 first, __u64 end)
{
	if (first < end)
		(void)guest_memory_unmap(tenant->memory, first << PAGE_BITS,
					 (end - first) << PAGE_BITS);
}

/* Moves on to the next tenant once this one's pages are over. */
static __u32 next_piece(struct page_clock *clock)
{
	__u64 pages = clock->machine->tenants[clock->tenant].config.memory >> PAGE_BITS;

	if (clock->page >= pages) {
		clock->page = 0;
		clock->tenant = (clock->tenant + 1) % clock->machine->config.tenant_count;
		pages = clock->machine->tenants[clock->tenant].config.memory >> PAGE_BITS;
	}
	return pages - clock->page < PIECE_PAGES ? (__u32)(pages - clock->page) : PIECE_PAGES;
}

void page_clock_step(struct page_clock *clock, __u64 want, struct page_clock_step *step)
{
	__u32 count = next_piece(clock), i;
	const struct tenant *tenant = &clock->machine->tenants[clock->tenant];
	__u64 base = clock->page, unmap_from = base;
	unsigned char looks[PIECE_PAGES];

	*step = (struct page_clock_step){0};
	if (guest_memory_look(tenant->memory, base << PAGE_BITS, count, looks)) {
		clock->page += count;
		return;
	}
	for (i = 0; i < count && step->evicted < want; i++) {
		__u64 page = base + i;
		bool held = looks[i] & PAGE_LOOK_HELD && !pins_hold(tenant->pins, page);
		bool used = held && take_dma_mark(tenant, page);

		if (held && looks[i] & PAGE_LOOK_MAPPED)
			continue; /* it is part of a run that loses its mapping */
		take_cpu_marks(tenant, unmap_from, page);
		unmap_from = page + 1;
		if (held && !used &&
		    !evict_held_page(clock->machine, clock->tenant, page << PAGE_BITS))
			step->evicted++;
	}
	take_cpu_marks(tenant, unmap_from, base + i);
	step->looked_at = i;
	clock->page += i;
}
