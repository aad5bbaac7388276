/* SPDX-License-Identifier: GPL-2.0 */
/* Seeded draws of lib/translate: integers only, the same on every machine (splitmix64, Steele 2014). */
#ifndef FAULTLINE_TRANSLATE_RANDOM_H
#define FAULTLINE_TRANSLATE_RANDOM_H

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

/* 0 to bound - 1; the bias is below bound / 2^64. */
static inline __u32 random_below(struct random *random, __u32 bound)
{
	return (__u32)((unsigned __int128)random_next(random) * bound >> 64);
}

#endif
