/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the ranks of a section share out of band, as those of an MPI job have a launcher: numbers of queue pairs before they
 * can talk, a common begin, and an end that all agree on. Nothing of it is of a message.
 */
#ifndef FAULTLINE_RANKS_GROUP_H
#define FAULTLINE_RANKS_GROUP_H

#include <pthread.h>

#include "injectors/emu/ranks/ranks.h"

enum rank_lane { RANK_CONTROL, RANK_DATA, RANK_LANES };

/* Ranks that take every step together: all, or the two of a stream. */
struct ranks_team {
	__u64 begun; /* steps that a rank of it has begun */
	__u64 end;   /* steps of each; ~0: not known yet */
};

struct ranks_group {
	const struct ranks_config *config;
	pthread_mutex_t lock;
	__u32 users;   /* drivers */
	__u32 arrived; /* ranks, atomic */
	bool stopping; /* atomic: they end wherever they are */
	bool refused;  /* they do not start, as their memory may not be pinned */
	__u64 start_ns;
	struct ranks_team team[RANKS_MAX / 2];
	/* The queue pair of a rank (first) for another (second). */
	__u32 number[RANKS_MAX][RANKS_MAX][RANK_LANES];
	char error[256]; /* of the first completion that had one; "" */
};

int ranks_group_create(struct ranks_group **group, const struct ranks_config *config);
void ranks_group_use(struct ranks_group *group);
/* By each that has created or used it. */
void ranks_group_drop(struct ranks_group *group);

/* Returns once all ranks have come. False: it stops. */
bool ranks_group_arrive(struct ranks_group *group);
/* Whether a rank of the team is to take the step. */
bool ranks_group_step(struct ranks_group *group, __u32 team, __u64 step);
/* The size of its message: the same for all of the team. */
__u64 ranks_group_size(const struct ranks_group *group, __u32 team, __u64 step);
/* Of what is sent; never 0. */
__u64 ranks_group_seed(const struct ranks_group *group, __u32 from, __u32 to, __u64 step);
void ranks_group_stop(struct ranks_group *group);
/* For the first one: what happened. Then all stop. */
void ranks_group_fail(struct ranks_group *group, const char *sentence);

static inline bool ranks_group_stopping(const struct ranks_group *group)
{
	return __atomic_load_n(&group->stopping, __ATOMIC_ACQUIRE);
}

#endif
