/* SPDX-License-Identifier: GPL-2.0 */
/* What ranks do with each other, step by step: a table of functions, a file each. */
#ifndef FAULTLINE_RANK_PATTERN_H
#define FAULTLINE_RANK_PATTERN_H

#include "injectors/emu/ranks/rank.h"

struct rank_pattern {
	const char *name;
	/* Whether the two ever talk; symmetric, a != b. */
	bool (*talk)(const struct ranks_config *config, __u32 a, __u32 b);
	bool streams; /* in teams of two, of which the even one sends, `depth` messages at once */
	__u32 slots;  /* buffers that a rank has in use at once; of a stream `depth` */
	__u32 leases; /* messages at once that may be under way of one rank's buffers; likewise */
	__u32 work;   /* buffers of its own, each as large as the largest message */
	/* One step of a rank; all of a team take each, with the same number and size. */
	int (*step)(struct rank *rank, __u64 step, __u64 bytes);
};

#define RANK_PATTERN(name) extern const struct rank_pattern name##_pattern;
#include "injectors/emu/ranks/patterns.def"
#undef RANK_PATTERN

extern const struct rank_pattern *const rank_patterns[RANKS_PATTERNS];

/* For talk: everybody with everybody. */
bool pattern_talks_to_all(const struct ranks_config *config, __u32 a, __u32 b);
bool pattern_is_neighbour(const struct ranks_config *config, __u32 a, __u32 b);

/* A message to one rank and one from another at once, from and to buffers of the program. */
int pattern_exchange(struct rank *rank, __u64 step, __u32 to, __u32 from, __u64 bytes);

#endif
