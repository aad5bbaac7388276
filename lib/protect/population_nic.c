// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/protect/population_private.h"

#define HOUR_NS (3600.0 * NSEC_PER_SEC)

static double footprint_of(const struct population *p)
{
	const struct population_keys *k = &p->keys;
	double rank = population_rank(&p->device, 0), small = 1 - k->nic_large;

	if (rank < small)
		return k->nic_least + (k->nic_most - k->nic_least) * rank / small;
	return k->nic_most + (k->nic_large_most - k->nic_most) * (rank - small) / k->nic_large;
}

int population_begin_nic(struct population *p)
{
	double memory = (double)p->device.memory_pages, share = footprint_of(p);

	p->footprint = (__u32)fmin(fmax(share * memory, 1), p->page_count);
	p->hot = (__u32)ceil(p->keys.nic_hot * p->footprint);
	p->slots = malloc(p->footprint * sizeof(p->slots[0]));
	if (!p->slots)
		return failed(-ENOMEM, "no memory for a NIC of %u pages", p->footprint);
	/* A large one is that of a machine whose traffic does not pause (O1: whatever the intensity). */
	if (share > p->keys.nic_most)
		p->on_mean_ns = 0;
	for (__u32 i = 0; i < p->footprint; i++) {
		double gap = (double)(i < p->hot ? p->keys.nic_hot_gap_ns : p->keys.nic_gap_ns);

		p->slots[i] = i;
		population_put(p, 1 + (__u64)(random_unit(&p->random) * gap), i);
		p->pages[i].run = i;
	}
	p->next_page = p->footprint % p->page_count;
	if (p->keys.nic_drift > 0 && p->footprint < p->page_count) {
		p->drift_mean_ns = (__u64)(HOUR_NS / (p->keys.nic_drift * memory));
		p->pages[0].return_ns = population_exponential(p, (double)p->drift_mean_ns);
	}
	return 0;
}

/* The slot's buffer is freed, and the next one lies where none was for longest. */
static __u32 move_slot(struct population *p, __u32 slot)
{
	p->pages[p->slots[slot]].due_ns = 0;
	while (p->pages[p->next_page].due_ns)
		p->next_page = (p->next_page + 1) % p->page_count;
	p->slots[slot] = p->next_page;
	p->pages[p->next_page].run = slot;
	return p->next_page;
}

/* pages[0].return_ns serves as the time of the next move. */
static void drift(struct population *p, __u64 now_ns, __u32 using)
{
	while (p->drift_mean_ns && p->pages[0].return_ns <= now_ns) {
		__u32 slot = (__u32)random_below(&p->random, p->footprint);

		p->pages[0].return_ns += population_exponential(p, (double)p->drift_mean_ns) + 1;
		if (p->slots[slot] != using)
			population_put(p, now_ns + NSEC_PER_SEC, move_slot(p, slot));
	}
}

__u64 population_again_nic(struct population *p, __u32 page, __u64 now_ns, __u32 *count)
{
	double gap;

	drift(p, now_ns, page);
	if (p->pages[page].run >= p->hot)
		return now_ns + 1 + population_exponential(p, (double)p->keys.nic_gap_ns);
	gap = (double)p->keys.nic_hot_gap_ns * (0.5 + random_unit(&p->random));
	/* Some uses a second: what stands between two accesses that the model cares about. */
	*count += (__u32)fmin(gap / NSEC_PER_SEC, 1e6);
	return now_ns + 1 + (__u64)gap;
}

void population_resume_nic(struct population *p, __u64 now_ns)
{
	for (__u32 i = 0; i < p->hot; i++)
		population_put(p, now_ns + (__u64)(i * (NSEC_PER_SEC / p->keys.nic_rate)) + 1,
			       p->slots[i]);
}
