// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/ranks/ranks_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

#define ARRIVE_NS (100 * NSEC_PER_USEC)

int ranks_group_create(struct ranks_group **group, const struct ranks_config *config)
{
	struct ranks_group *new = calloc(1, sizeof(*new));

	if (!new)
		return failed(-ENOMEM, "no memory for %u ranks", config->count);
	new->config = config;
	new->users = 1;
	for (__u32 t = 0; t < RANKS_MAX / 2; t++)
		new->team[t].end = config->operations ? config->operations : ~0ull;
	pthread_mutex_init(&new->lock, NULL);
	*group = new;
	return 0;
}

void ranks_group_use(struct ranks_group *group)
{
	pthread_mutex_lock(&group->lock);
	group->users++;
	pthread_mutex_unlock(&group->lock);
}

void ranks_group_drop(struct ranks_group *group)
{
	bool last;

	pthread_mutex_lock(&group->lock);
	last = !--group->users;
	pthread_mutex_unlock(&group->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&group->lock);
	free(group);
}

bool ranks_group_arrive(struct ranks_group *group)
{
	if (__atomic_add_fetch(&group->arrived, 1, __ATOMIC_ACQ_REL) == group->config->count)
		__atomic_store_n(&group->start_ns, monotonic_ns(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&group->start_ns, __ATOMIC_ACQUIRE)) {
		if (ranks_group_stopping(group))
			return false;
		sleep_until(monotonic_ns() + ARRIVE_NS);
	}
	return true;
}

/*
 * Time is over for all of a team at once: after the step that one of them has begun already. Else some would wait for
 * messages of others that have left.
 */
bool ranks_group_step(struct ranks_group *group, __u32 index, __u64 step)
{
	const struct ranks_config *config = group->config;
	struct ranks_team *team = &group->team[index];
	bool take;

	pthread_mutex_lock(&group->lock);
	if (config->duration_ns && monotonic_ns() >= group->start_ns + config->duration_ns &&
	    team->begun < team->end)
		team->end = team->begun;
	take = step < team->end;
	if (take && step >= team->begun)
		team->begun = step + 1;
	pthread_mutex_unlock(&group->lock);
	return take && !ranks_group_stopping(group);
}

static struct random group_draw(const struct ranks_group *group, __u64 a, __u64 b)
{
	struct random random = {group->config->seed * 0x9e3779b97f4a7c15ull + a};

	random.state = random_next(&random) + b;
	return random;
}

__u64 ranks_group_size(const struct ranks_group *group, __u32 team, __u64 step)
{
	const struct ranks_config *config = group->config;
	struct random random = group_draw(group, team, step);
	__u64 all = 0, at;

	for (__u32 i = 0; i < config->size_count; i++)
		all += config->size_weights[i];
	at = random_below(&random, all);
	for (__u32 i = 0; i < config->size_count; i++) {
		if (at < config->size_weights[i])
			return config->sizes[i];
		at -= config->size_weights[i];
	}
	return config->sizes[0];
}

__u64 ranks_group_seed(const struct ranks_group *group, __u32 from, __u32 to, __u64 step)
{
	struct random random = group_draw(group, (__u64)from * RANKS_MAX + to + 1, step);

	return random_next(&random) | 1;
}

void ranks_group_stop(struct ranks_group *group)
{
	__atomic_store_n(&group->stopping, true, __ATOMIC_RELEASE);
}

void ranks_group_fail(struct ranks_group *group, const char *sentence)
{
	pthread_mutex_lock(&group->lock);
	if (!*group->error)
		snprintf(group->error, sizeof(group->error), "%s", sentence);
	pthread_mutex_unlock(&group->lock);
	ranks_group_stop(group);
}
