// SPDX-License-Identifier: GPL-2.0
/* The host's memory pressure: a thread that keeps a share of each tenant's memory out. */
#include "injectors/emu/machine_private.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define RECLAIM_INTERVAL_NS (100 * NSEC_PER_MSEC)
#define RECLAIM_BATCH	    256 /* pages of one tenant before the next has its turn */

struct reclaimer {
	struct machine *machine;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct random random;
};

/* Pages of a tenant that are not present, from what went and what came back. */
static __u64 pages_out(const struct machine *machine, const struct tenant *tenant)
{
	__u64 before = machine->config.premap ? 0 : tenant->config.memory >> PAGE_BITS;
	struct guest_memory_stats stats;
	__u64 out, in;

	guest_memory_stats(tenant->memory, &stats);
	out = before + stats.evicted_minor + stats.evicted_major;
	in = stats.page_in_zero + stats.page_in_file + stats.page_in_swap + stats.minor;
	return out > in ? out - in : 0;
}

static bool reclaim_stopping(struct reclaimer *reclaimer)
{
	bool stop;

	pthread_mutex_lock(&reclaimer->lock);
	stop = reclaimer->stop;
	pthread_mutex_unlock(&reclaimer->lock);
	return stop;
}

/* One batch of one tenant. True if there is more to evict. */
static bool reclaim_tenant(struct reclaimer *reclaimer, __u32 index)
{
	struct machine *machine = reclaimer->machine;
	const struct tenant *tenant = &machine->tenants[index];
	__u64 pages = tenant->config.memory >> PAGE_BITS;
	__u64 target = pages * machine->config.reclaim_percent / 100;
	__u64 out = pages_out(machine, tenant), evicted = 0;

	for (unsigned int tries = 0; tries < 4 * RECLAIM_BATCH; tries++) {
		__u64 address = choose(&reclaimer->random, pages) * PAGE_BYTES;

		if (out + evicted >= target || evicted == RECLAIM_BATCH ||
		    reclaim_stopping(reclaimer))
			break;
		if (!evict_page(machine, index, address, machine->config.reclaim_kind))
			evicted++;
	}
	return out + evicted < target && evicted;
}

static void *reclaim_main(void *argument)
{
	struct reclaimer *reclaimer = argument;
	struct machine *machine = reclaimer->machine;
	__u64 interval = machine->config.reclaim_interval_ns;
	__u64 next = monotonic_ns();
	bool more;

	if (!interval)
		interval = RECLAIM_INTERVAL_NS;
	while (!reclaim_stopping(reclaimer)) {
		do {
			more = false;
			for (__u32 i = 0; i < machine->config.tenant_count; i++)
				more |= reclaim_tenant(reclaimer, i);
		} while (more && !reclaim_stopping(reclaimer));
		next += interval;
		if (next < monotonic_ns())
			next = monotonic_ns() + interval;
		pthread_mutex_lock(&reclaimer->lock);
		while (!reclaimer->stop && monotonic_ns() < next)
			monotonic_cond_wait_until(&reclaimer->wake, &reclaimer->lock, next);
		pthread_mutex_unlock(&reclaimer->lock);
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
	if (!machine->config.reclaim_percent)
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
