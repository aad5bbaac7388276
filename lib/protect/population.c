// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/population_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define SECONDS(n)    ((n)*NSEC_PER_SEC)
#define MINUTES(n)    SECONDS(60ull * (n))
#define DAY_NS	      SECONDS(86400.0)
#define AWAY_LEAST    MINUTES(1) /* of those who are hardly ever away */
#define TOGETHER_MOST 0.95	 /* a page of each model more is there in the least memory, too */
#define SIGMAS_MOST   9.0	 /* as far from the mean no rank of 2^32 devices is */

const char *const population_model_names[] = {"nic", "block", NULL};

void population_default(struct population_keys *keys)
{
	*keys = (struct population_keys){
		.nic_least = 0.015,
		.nic_most = 0.039,
		.nic_large = 0.04,
		.nic_large_most = 0.205,
		.nic_hot = 0.6,
		.nic_hot_gap_ns = SECONDS(60),
		.nic_gap_ns = SECONDS(30),
		.nic_drift = 0.0005,
		.nic_bound = 0.21,
		.nic_pauses = 0,
		.nic_pauses_spread = 0,
		.nic_pause_ns = MINUTES(30),
		.nic_rate = 30,
		.block_growth = 0.49,
		.block_bound = 0.494,
		.block_run = 6,
		.block_rate = 30,
		.block_once = 0.16,
		.block_hot = 0.033,
		.block_hot_gap_ns = SECONDS(40),
		.block_returning = 0.15,
		.block_returns = 4,
		.block_return_least_ns = SECONDS(150),
		.block_return_most_ns = SECONDS(700),
		.block_sessions = 0,
		.block_sessions_spread = 0,
		.block_session_ns = MINUTES(30),
	};
}

int population_check(const struct population_keys *k)
{
	if (k->nic_least > k->nic_most || k->nic_most > k->nic_bound ||
	    (k->nic_large > 0 &&
	     (k->nic_large_most < k->nic_most || k->nic_large_most > k->nic_bound)))
		return failed(
			-EINVAL,
			"nic_least=%g, nic_most=%g, nic_large_most=%g, nic_bound=%g: accepted: none above "
			"the next",
			k->nic_least, k->nic_most, k->nic_large_most, k->nic_bound);
	if (k->nic_bound + k->block_hot + k->block_bound > TOGETHER_MOST)
		return failed(
			-EINVAL,
			"nic_bound=%g, block_hot=%g, block_bound=%g: accepted: at most %g together, as "
			"they are parts of one memory",
			k->nic_bound, k->block_hot, k->block_bound, TOGETHER_MOST);
	if (k->block_return_least_ns > k->block_return_most_ns)
		return failed(
			-EINVAL,
			"block_return_least=%llus, block_return_most=%llus: accepted: the first not "
			"above the second",
			k->block_return_least_ns / NSEC_PER_SEC,
			k->block_return_most_ns / NSEC_PER_SEC);
	return 0;
}

__u64 population_exponential(struct population *p, double mean_ns)
{
	return (__u64)(-log(random_unit_above_0(&p->random)) * mean_ns);
}

/* Multiplication by a number without a common factor leaves no value out. */
double population_rank(const struct population_device *device, __u32 salt)
{
	static const __u32 primes[] = {2654435761u, 2246822519u, 3266489917u};
	__u64 step = primes[salt % 3], count = device->count ?: 1;

	if (step % count == 0)
		step = 1;
	return ((double)((device->number * (step % count) + count / 2 + salt) % count) + 0.5) /
	       (double)count;
}

double population_lognormal(double mean, double sigma, double rank)
{
	double low = -SIGMAS_MOST, high = SIGMAS_MOST;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (0.5 * erfc(-middle * M_SQRT1_2) < rank)
			low = middle;
		else
			high = middle;
	}
	return mean * exp(sigma * low - sigma * sigma / 2);
}

static bool due_before(const struct population_due *a, const struct population_due *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->page < b->page;
}

void population_put(struct population *p, __u64 time_ns, __u32 page)
{
	struct population_due due = {time_ns, page};
	size_t at = p->queue_count;

	if (!array_grow(&p->queue, &p->queue_room, p->queue_count + 1, sizeof(due), ARRAY_PLAIN)) {
		p->failed = true;
		return;
	}
	if (page != POPULATION_RUN)
		p->pages[page].due_ns = time_ns;
	p->queue_count++;
	for (; at && due_before(&due, &p->queue[(at - 1) / 2]); at = (at - 1) / 2)
		p->queue[at] = p->queue[(at - 1) / 2];
	p->queue[at] = due;
}

static void take_first(struct population *p)
{
	const struct population_due last = p->queue[--p->queue_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < p->queue_count) {
		if (child + 1 < p->queue_count &&
		    due_before(&p->queue[child + 1], &p->queue[child]))
			child++;
		if (!due_before(&p->queue[child], &last))
			break;
		p->queue[at] = p->queue[child];
		at = child;
	}
	p->queue[at] = last;
}

/* How long a device of so many absences or sessions a day is in the one state and in the other, on average. */
static void population_set_pauses(struct population *p)
{
	const struct population_keys *k = &p->keys;
	bool nic = p->device.model == POPULATION_NIC;
	double mean = nic ? k->nic_pauses : k->block_sessions;
	double sigma = nic ? k->nic_pauses_spread : k->block_sessions_spread;
	double times, length, rest;

	if (mean <= 0)
		return;
	times = population_lognormal(mean, sigma, population_rank(&p->device, 1));
	length = (double)(nic ? k->nic_pause_ns : k->block_session_ns);
	rest = fmin(fmax(DAY_NS / times - length, (double)AWAY_LEAST), 1e6 * DAY_NS);
	p->on_mean_ns = (__u64)(nic ? rest : length);
	p->off_mean_ns = (__u64)(nic ? length : rest);
	/* Traffic is there at first; work, as often as later. */
	if (!nic && random_unit(&p->random) * (length + rest) >= length)
		p->away_ns = population_exponential(p, rest);
	p->on_until_ns = population_exponential(p, (double)p->on_mean_ns);
}

static void end_pause(struct population *p)
{
	__u64 now = p->on_until_ns;

	p->away_ns += population_exponential(p, (double)p->off_mean_ns);
	p->on_until_ns += population_exponential(p, (double)p->on_mean_ns) + 1;
	if (p->device.model == POPULATION_NIC)
		population_resume_nic(p, now);
}

void population_range(const struct population_keys *k, enum population_model model,
		      __u64 memory_pages, __u32 *first, __u32 *end)
{
	double memory = (double)memory_pages;
	__u32 nic = (__u32)(k->nic_bound * memory) + 1;
	__u32 block = (__u32)((k->block_hot + k->block_bound) * memory) + 1;

	*first = model == POPULATION_NIC ? 0 : nic;
	*end = model == POPULATION_NIC ? nic : nic + block;
}

int population_create(struct population **population, const struct population_keys *keys,
		      const struct population_device *device)
{
	struct population *p = calloc(1, sizeof(*p));
	__u32 end;
	int err;

	*population = p;
	if (!p)
		return failed(-ENOMEM, "no memory for a made-up device");
	p->keys = *keys;
	p->device = *device;
	p->random.state = device->seed ^ (2 * (__u64)device->number + device->model) << 20;
	p->random.state = random_next(&p->random);
	p->runs_seed = random_next(&p->random);
	population_range(keys, device->model, device->memory_pages, &p->first_page, &end);
	p->page_count = end - p->first_page;
	p->pages = calloc(p->page_count, sizeof(p->pages[0]));
	if (!p->pages)
		return failed(-ENOMEM, "no memory for a made-up device of %u pages", p->page_count);
	population_set_pauses(p);
	err = device->model == POPULATION_NIC ? population_begin_nic(p) : population_begin_block(p);
	return err || !p->failed ? err : failed(-ENOMEM, "no memory for a made-up device");
}

void population_destroy(struct population *p)
{
	if (!p)
		return;
	free(p->queue);
	free(p->pages);
	free(p->slots);
	free(p);
}

/* Whether a use at `next_ns` is one of the same step, which no pause parts from it. */
static bool same_step(const struct population *p, __u64 time_ns, __u64 next_ns)
{
	__u64 step = p->device.resolution_ns;

	return next_ns && (!p->on_mean_ns || next_ns < p->on_until_ns) &&
	       (next_ns + p->away_ns) / step == time_ns / step;
}

static void population_use(struct population *p, __u32 page, __u64 now_ns,
			   struct what_if_access *access)
{
	__u64 time_ns = now_ns + p->away_ns, next_ns = now_ns;

	*access = (struct what_if_access){time_ns, p->first_page + page, p->device.domain, 0};
	do {
		access->count++;
		next_ns = p->device.model == POPULATION_NIC
				  ? population_again_nic(p, page, next_ns, &access->count)
				  : population_again_block(p, page, next_ns);
	} while (same_step(p, time_ns, next_ns));
	if (next_ns)
		population_put(p, next_ns, page);
	else
		p->pages[page].due_ns = 0;
}

bool population_next(struct population *p, struct what_if_access *access)
{
	while (p->queue_count && !p->failed) {
		const struct population_due first = p->queue[0];

		if (p->on_mean_ns && first.time_ns >= p->on_until_ns) {
			end_pause(p);
			continue;
		}
		take_first(p);
		if (first.page == POPULATION_RUN) {
			population_run_block(p, first.time_ns);
		} else if (p->pages[first.page].due_ns == first.time_ns) {
			population_use(p, first.page, first.time_ns, access);
			return !p->failed;
		}
	}
	return false;
}
