// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/inject.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

#define INJECT_MAX 64

struct armed {
	struct injection injection;
	struct random random;
	__u64 candidates; /* asked so far */
	__u64 fired;
	bool used;
};

/*
 * Decisions are taken under one lock: a draw is tens of ns, and `times` and `interval` must count
 * exactly however many threads ask. Points at which nothing is armed never take it.
 */
struct inject_table {
	atomic_uint armed_at[INJECT_POINTS];
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopped;
	struct armed armed[INJECT_MAX];
};

int inject_table_create(struct inject_table **table)
{
	struct inject_table *new = calloc(1, sizeof(*new));

	if (!new)
		return failed(-ENOMEM, "no memory for the injection table");
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->stop);
	*table = new;
	return 0;
}

void inject_table_destroy(struct inject_table *table)
{
	if (!table)
		return;
	pthread_cond_destroy(&table->stop);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

/* Injections of equal seed must not fire together: a failure response that is always lost, too. */
static struct random random_begin(const struct injection *injection)
{
	struct random random = {injection->seed};

	random.state = random_next(&random) ^ injection->id;
	random.state = random_next(&random) ^ (__u64)injection->point;
	return (struct random){random_next(&random)};
}

static int inject_check(const struct injection *injection)
{
	if (injection->point >= INJECT_POINTS)
		return failed(-EINVAL, "injection point %d: accepted: 0 to %d",
			      (int)injection->point, INJECT_POINTS - 1);
	if (injection->probability < 1 || injection->probability > 100)
		return failed(-EINVAL, "probability=%u: accepted: 1 to 100 percent",
			      injection->probability);
	if (injection->interval < 1)
		return failed(-EINVAL, "interval=0: accepted: 1 (each candidate) and more");
	if (injection->distribution == INJECT_UNIFORM &&
	    injection->delay_max_ns < injection->delay_ns)
		return failed(-EINVAL, "uniform delay: upper bound %llu ns is below lower %llu ns",
			      injection->delay_max_ns, injection->delay_ns);
	return 0;
}

int inject_arm(struct inject_table *table, const struct injection *injection)
{
	int error = inject_check(injection);

	if (error)
		return error;
	error = -ENOSPC;
	pthread_mutex_lock(&table->lock);
	for (int i = 0; i < INJECT_MAX; i++) {
		if (table->armed[i].used)
			continue;
		table->armed[i] = (struct armed){
			.injection = *injection, .random = random_begin(injection), .used = true};
		atomic_fetch_add_explicit(&table->armed_at[injection->point], 1,
					  memory_order_relaxed);
		error = 0;
		break;
	}
	pthread_mutex_unlock(&table->lock);
	return error ? failed(error, "more than %d injections armed at once", INJECT_MAX) : 0;
}

__u64 inject_disarm(struct inject_table *table, __u32 id)
{
	__u64 fired = 0;

	pthread_mutex_lock(&table->lock);
	for (int i = 0; i < INJECT_MAX; i++) {
		struct armed *armed = &table->armed[i];

		if (!armed->used || armed->injection.id != id)
			continue;
		armed->used = false;
		atomic_fetch_sub_explicit(&table->armed_at[armed->injection.point], 1,
					  memory_order_relaxed);
		fired += armed->fired;
	}
	pthread_mutex_unlock(&table->lock);
	return fired;
}

static bool armed_acts(const struct inject_table *table, const struct armed *armed,
		       enum inject_point point, __u32 device)
{
	const struct injection *injection = &armed->injection;

	if (table->stopped || !armed->used || injection->point != point)
		return false;
	if (injection->device != DEVICE_ALL)
		return injection->device == device;
	return !injection->devices || injection->devices[device];
}

/* The order of the kernel's should_fail(): times, interval, then probability. */
static bool armed_draws(struct armed *armed)
{
	const struct injection *injection = &armed->injection;

	if (injection->times >= 0 && armed->fired >= (__u64)injection->times)
		return false;
	if (++armed->candidates % injection->interval)
		return false;
	if (injection->probability < 100 &&
	    random_next(&armed->random) % 100 >= injection->probability)
		return false;
	armed->fired++;
	return true;
}

static __u64 delay_of(struct armed *armed)
{
	const struct injection *injection = &armed->injection;
	__u64 span;

	switch (injection->distribution) {
	case INJECT_UNIFORM:
		span = injection->delay_max_ns - injection->delay_ns;
		return injection->delay_ns +
		       (__u64)((double)span * (1.0 - random_unit_above_0(&armed->random)));
	case INJECT_EXPONENTIAL:
		return (__u64)(-log(random_unit_above_0(&armed->random)) *
			       (double)injection->delay_ns);
	case INJECT_FIXED:
		break;
	}
	return injection->delay_ns;
}

/* Relaxed: of what is armed at this very moment the next candidate may be the first. */
static bool anything_armed(struct inject_table *table, enum inject_point point)
{
	return table && atomic_load_explicit(&table->armed_at[point], memory_order_relaxed);
}

__u64 inject_delay(struct inject_table *table, enum inject_point point, __u32 device)
{
	__u64 delay = 0;

	if (!anything_armed(table, point))
		return 0;
	pthread_mutex_lock(&table->lock);
	for (int i = 0; i < INJECT_MAX; i++)
		if (armed_acts(table, &table->armed[i], point, device) &&
		    armed_draws(&table->armed[i]))
			delay += delay_of(&table->armed[i]);
	pthread_mutex_unlock(&table->lock);
	return delay;
}

bool inject_fire(struct inject_table *table, enum inject_point point, __u32 device)
{
	bool fires = false;

	if (!anything_armed(table, point))
		return false;
	pthread_mutex_lock(&table->lock);
	for (int i = 0; i < INJECT_MAX; i++)
		if (armed_acts(table, &table->armed[i], point, device) &&
		    armed_draws(&table->armed[i]))
			fires = true;
	pthread_mutex_unlock(&table->lock);
	return fires;
}

void inject_sleep(struct inject_table *table, __u64 delay_ns)
{
	__u64 end;

	if (!table || !delay_ns)
		return;
	end = monotonic_ns() + delay_ns;
	pthread_mutex_lock(&table->lock);
	while (!table->stopped && monotonic_ns() < end)
		monotonic_cond_wait_until(&table->stop, &table->lock, end);
	pthread_mutex_unlock(&table->lock);
}

void inject_stop(struct inject_table *table)
{
	pthread_mutex_lock(&table->lock);
	table->stopped = true;
	pthread_cond_broadcast(&table->stop);
	pthread_mutex_unlock(&table->lock);
}
