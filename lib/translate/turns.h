/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose packet comes next: how the packets of many tenants interleave on one link (HyperTRIO section
 * IV-B, and three more). Seeded, integers only: the same on every machine.
 */
#ifndef FAULTLINE_TRANSLATE_TURNS_H
#define FAULTLINE_TRANSLATE_TURNS_H

#include <stdbool.h>

#include "lib/base/random.h"

#define TURNS_TENANTS	65536
#define TURNS_SHARES	64
#define TURNS_SHARE_MAX 100

enum turns_order {
	ORDER_ROUND_ROBIN, /* RRn: n packets of each in turn */
	ORDER_RANDOM,	   /* RANDn: n packets of one drawn */
	ORDER_BURSTY,	   /* n packets of one drawn; 2n with chance 1/2, 4n with 1/4, ... 32n */
	ORDER_ZIPF,	   /* n packets of one drawn, with a chance of 1 / rank ^ exponent */
	ORDER_COUNT,
};

struct turns_config {
	enum turns_order order;
	__u32 tenants;	     /* 1 to TURNS_TENANTS */
	__u32 turn;	     /* packets in a row: the n above; 1 to 1048576 */
	__u32 zipf_exponent; /* in hundredths, 0 to 400 */
	__u64 seed;
	/*
	 * Beyond the paper: unequal shares of the turns, given to tenants over and over. In turn, who
	 * has w of the largest share W comes in w of W rounds, evenly spaced and the last of them
	 * among these; drawn, chances are multiplied by shares.
	 */
	__u32 share_count;	   /* 0 to TURNS_SHARES; 0: all alike */
	__u8 shares[TURNS_SHARES]; /* 1 to TURNS_SHARE_MAX each */
};

/* The caller's; its fields are private. */
struct turns {
	struct turns_config config;
	struct random random;
	__u64 *chances; /* of unequal ones: sums up to each tenant */
	__u32 current, left;
	bool only; /* nobody but the current one */
	__u32 round, largest_share;
};

/* -EINVAL with the accepted range. */
int turns_check(const struct turns_config *config);
/* The same, and -ENOMEM. */
int turns_begin(struct turns *turns, const struct turns_config *config);
/* The tenant of the next packet, from 0. */
__u32 turns_next(struct turns *turns);
/* From now on every turn is this tenant's; no seed, no share matters. May be called again. */
void turns_only(struct turns *turns, __u32 tenant);
void turns_end(struct turns *turns);

#endif
