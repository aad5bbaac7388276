// SPDX-License-Identifier: GPL-2.0
/* The host's memory pressure: a thread that keeps a share of each tenant's memory out. With reclaim_order = idle it also
 * looks at the accessed bits, by which it and evictions go. */
#include "injectors/emu/machine_private.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define RECLAIM_INTERVAL_NS (100 * NSEC_PER_MSEC)
#define SCAN_INTERVAL_NS    (100 * NSEC_PER_MSEC)
#define RECLAIM_BATCH	    IDLE_PAGES_MOST /* pages of one tenant before the next has its turn */

struct reclaimer {
	struct machine *machine;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	const _Atomic bool *caller_stops; /* of a pass in a caller's thread, else NULL */
	struct random random;
	__u64 next_pass, next_scan;
};

/* Pages of a tenant that are not present, from what went and what came back; a virtual machine also gives pages back by itself. */
static __u64 pages_out(const struct machine *machine, const struct tenant *tenant)
{
	__u64 before = machine->config.premap ? 0 : tenant->config.memory >> PAGE_BITS;
	struct guest_memory_stats stats;
	__u64 out, in;

	if (tenant->config.backend == MEMORY_VM)
		return (tenant->config.memory - guest_memory_held(tenant->memory)) >> PAGE_BITS;
	guest_memory_stats(tenant->memory, &stats);
	out = before + stats.evicted_minor + stats.evicted_major;
	in = stats.page_in_zero + stats.page_in_file + stats.page_in_swap + stats.minor;
	return out > in ? out - in : 0;
}

static bool reclaim_stopping(struct reclaimer *reclaimer)
{
	bool stop;

	if (reclaimer->caller_stops)
		return atomic_load(reclaimer->caller_stops);
	pthread_mutex_lock(&reclaimer->lock);
	stop = reclaimer->stop;
	pthread_mutex_unlock(&reclaimer->lock);
	return stop;
}

static __u64 reclaim_random(struct reclaimer *reclaimer, __u32 index, __u64 want)
{
	struct machine *machine = reclaimer->machine;
	__u64 pages = machine->tenants[index].config.memory >> PAGE_BITS, evicted = 0;

	for (unsigned int tries = 0; tries < 4 * RECLAIM_BATCH && evicted < want; tries++) {
		__u64 address = choose(&reclaimer->random, pages) * PAGE_BYTES;

		if (reclaim_stopping(reclaimer))
			break;
		if (!evict_page(machine, index, address, machine->config.reclaim_kind))
			evicted++;
	}
	return evicted;
}

static __u64 reclaim_idle(struct reclaimer *reclaimer, __u32 index, __u64 want)
{
	struct machine *machine = reclaimer->machine;
	__u64 pages = machine->tenants[index].config.memory >> PAGE_BITS, evicted = 0;
	__u64 found[IDLE_PAGES_MOST];
	__u32 count = idle_pages_find(machine->idle, index, 0, pages, (__u32)want, found);

	for (__u32 i = 0; i < count && !reclaim_stopping(reclaimer); i++)
		if (!evict_page(machine, index, found[i] << PAGE_BITS,
				machine->config.reclaim_kind))
			evicted++;
	return evicted;
}

/* One batch of one tenant. True if there is more to evict. */
static bool reclaim_tenant(struct reclaimer *reclaimer, __u32 index)
{
	struct machine *machine = reclaimer->machine;
	const struct tenant *tenant = &machine->tenants[index];
	__u64 pages = tenant->config.memory >> PAGE_BITS;
	__u64 target = pages * machine->config.reclaim_percent / 100;
	__u64 out = pages_out(machine, tenant), want = target > out ? target - out : 0, evicted;

	want = want < RECLAIM_BATCH ? want : RECLAIM_BATCH;
	if (!want)
		return false;
	evicted = machine->idle ? reclaim_idle(reclaimer, index, want)
				: reclaim_random(reclaimer, index, want);
	return out + evicted < target && evicted;
}

static void pressure_pass(struct reclaimer *reclaimer)
{
	const struct machine *machine = reclaimer->machine;
	bool more;

	do {
		more = false;
		for (__u32 i = 0; i < machine->config.tenant_count; i++)
			more |= reclaim_tenant(reclaimer, i);
	} while (more && !reclaim_stopping(reclaimer));
}

bool machine_reclaims(const struct machine *machine)
{
	return machine->config.reclaim_percent > 0;
}

void machine_reclaim(struct machine *machine, const _Atomic bool *stopping)
{
	struct reclaimer once = {.machine = machine, .caller_stops = stopping};

	if (!machine_reclaims(machine))
		return;
	once.random = choice_begin(machine);
	pressure_pass(&once);
}

/* Whether it is time, and then when it is next. */
static bool reclaim_is_due(__u64 *next, __u64 interval)
{
	__u64 now = monotonic_ns();

	if (now < *next)
		return false;
	*next += interval;
	if (*next < now)
		*next = now + interval;
	return true;
}

static void reclaim_sleep(struct reclaimer *reclaimer, __u64 until)
{
	pthread_mutex_lock(&reclaimer->lock);
	while (!reclaimer->stop && monotonic_ns() < until)
		monotonic_cond_wait_until(&reclaimer->wake, &reclaimer->lock, until);
	pthread_mutex_unlock(&reclaimer->lock);
}

static void *reclaim_main(void *argument)
{
	struct reclaimer *reclaimer = argument;
	struct machine *machine = reclaimer->machine;
	__u64 pass_ns = machine->config.reclaim_interval_ns ?: RECLAIM_INTERVAL_NS;
	__u64 scan_ns = machine->config.reclaim_scan_ns ?: SCAN_INTERVAL_NS;

	reclaimer->next_pass = machine->config.reclaim_percent ? monotonic_ns() : UINT64_MAX;
	reclaimer->next_scan = machine->idle ? monotonic_ns() : UINT64_MAX;
	while (!reclaim_stopping(reclaimer)) {
		if (reclaim_is_due(&reclaimer->next_scan, scan_ns))
			idle_pages_scan(machine->idle);
		if (reclaim_is_due(&reclaimer->next_pass, pass_ns))
			pressure_pass(reclaimer);
		reclaim_sleep(reclaimer, reclaimer->next_pass < reclaimer->next_scan
						 ? reclaimer->next_pass
						 : reclaimer->next_scan);
	}
	return NULL;
}

static void reclaimer_free(struct reclaimer *reclaimer)
{
	pthread_cond_destroy(&reclaimer->wake);
	pthread_mutex_destroy(&reclaimer->lock);
	free(reclaimer);
}

int reclaimer_start(struct reclaimer **reclaimer, struct machine *machine)
{
	struct reclaimer *new;
	int error;

	*reclaimer = NULL;
	if (!machine->config.reclaim_percent && !machine->idle)
		return 0;
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for the reclaimer");
	new->machine = machine;
	new->random = choice_begin(machine);
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->wake);
	error = thread_start(&new->thread, NULL, reclaim_main, new, "reclaimer");
	if (error) {
		reclaimer_free(new);
		return error;
	}
	*reclaimer = new;
	return 0;
}

void reclaimer_stop(struct reclaimer *reclaimer)
{
	if (!reclaimer)
		return;
	pthread_mutex_lock(&reclaimer->lock);
	reclaimer->stop = true;
	pthread_cond_signal(&reclaimer->wake);
	pthread_mutex_unlock(&reclaimer->lock);
	pthread_join(reclaimer->thread, NULL);
	reclaimer_free(reclaimer);
}
