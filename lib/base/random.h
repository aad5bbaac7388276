/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Seeded draws: splitmix64 (Steele 2014), integers only but for random_unit(), so the same on every
 * machine. Any seed is good, neighbouring seeds give unrelated sequences, the state is one word.
 *
 * What a seed gives is part of the outputs (results of jobs, of `sim` and of the model's reference):
 * neither the generator nor how a draw is scaled may change.
 */
#ifndef FAULTLINE_RANDOM_H
#define FAULTLINE_RANDOM_H

#include <linux/types.h>

struct random {
	__u64 state;
};

static inline __u64 random_next(struct random *random)
{
	__u64 mixed = random->state += 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
	return mixed ^ mixed >> 31;
}

/* 0 to bound - 1, bound > 0, by multiplication and shift: the bias is below bound / 2^64. */
static inline __u64 random_below(struct random *random, __u64 bound)
{
	return (__u64)((unsigned __int128)random_next(random) * bound >> 64);
}

/* Uniform in [0, 1). */
static inline double random_unit(struct random *random)
{
	return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* Uniform in (0, 1]: what a logarithm is taken of. */
static inline double random_unit_above_0(struct random *random)
{
	return (double)((random_next(random) >> 11) + 1) * 0x1p-53;
}

#endif
