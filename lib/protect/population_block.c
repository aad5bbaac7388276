// SPDX-License-Identifier: GPL-2.0
#include <math.h>

#include "lib/base/clock.h"
#include "lib/protect/population_private.h"

#define HOUR_NS	 (3600.0 * NSEC_PER_SEC)
#define SOON_NS	 (20.0 * NSEC_PER_SEC) /* mean between uses of a page that is new */
#define SLOWEST	 0.2		       /* of the fastest run's rate */
#define FEW_MOST 6		       /* further uses of such a page */

int population_begin_block(struct population *p)
{
	double memory = (double)p->device.memory_pages;

	p->hot = (__u32)(p->keys.block_hot * memory);
	p->next_page = p->hot;
	for (__u32 i = 0; i < p->hot; i++)
		population_put(p, 1 + random_below(&p->random, p->keys.block_hot_gap_ns), i);
	p->run_mean_ns = (__u64)(HOUR_NS * p->keys.block_run / (p->keys.block_growth * memory));
	population_put(p, population_exponential(p, (double)p->run_mean_ns) + 1, POPULATION_RUN);
	return 0;
}

/* From 1 on, with that mean. */
static __u32 geometric(struct random *random, double mean, __u32 most)
{
	double more = mean > 1 ? log(random_unit_above_0(random)) / log(1 - 1 / mean) : 0;

	return more < most ? 1 + (__u32)more : most;
}

/* A run returns as one: each page finds the same gap by itself, or that there is none any more. */
static __u64 next_return(const struct population *p, __u32 run, __u32 returns, __u64 time_ns)
{
	struct random random = {p->runs_seed ^ ((__u64)run << 24 | returns)};
	__u64 least = p->keys.block_return_least_ns;

	random.state = random_next(&random);
	if (returns && random_unit(&random) * p->keys.block_returns < 1)
		return 0;
	return time_ns + least + random_below(&random, p->keys.block_return_most_ns - least + 1);
}

static __u16 uses_soon(struct population *p)
{
	if (random_unit(&p->random) < p->keys.block_once)
		return 0;
	return (__u16)(1 + random_below(&p->random, FEW_MOST));
}

void population_run_block(struct population *p, __u64 now_ns)
{
	double rate = p->keys.block_rate * (SLOWEST + (1 - SLOWEST) * random_unit(&p->random));
	__u64 apart = (__u64)(NSEC_PER_SEC / rate);
	bool returns = random_unit(&p->random) < p->keys.block_returning;
	__u32 length = geometric(&p->random, p->keys.block_run, p->page_count - p->hot);

	for (__u32 i = 0; i < length; i++) {
		struct population_page *page = &p->pages[p->next_page];
		__u64 first = now_ns + i * apart + 1;

		page->run = p->runs;
		page->returns = 0;
		page->left = uses_soon(p);
		page->return_ns = returns ? next_return(p, p->runs, 0, first) : 0;
		population_put(p, first, p->next_page);
		if (++p->next_page == p->page_count)
			p->next_page = p->hot;
	}
	p->runs++;
	population_put(p, now_ns + population_exponential(p, (double)p->run_mean_ns) + 1,
		       POPULATION_RUN);
}

__u64 population_again_block(struct population *p, __u32 number, __u64 now_ns)
{
	struct population_page *page = &p->pages[number];
	__u64 soon = 0;

	if (number < p->hot)
		return now_ns + 1 +
		       (__u64)((double)p->keys.block_hot_gap_ns * (0.5 + random_unit(&p->random)));
	if (page->return_ns && page->return_ns <= now_ns)
		page->return_ns = next_return(p, page->run, ++page->returns, page->return_ns);
	if (page->left) {
		page->left--;
		soon = now_ns + 1 + population_exponential(p, SOON_NS);
	}
	if (!page->return_ns || (soon && soon < page->return_ns))
		return soon;
	return page->return_ns;
}
