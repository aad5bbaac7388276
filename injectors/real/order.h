/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In which order pages are asked for, reproducible from a seed. Sequential and random visit every
 * one of `items` once before any a second time; zipf draws with replacement, few of them often.
 */
#ifndef FAULTLINE_REAL_ORDER_H
#define FAULTLINE_REAL_ORDER_H

#include "injectors/emu/workload_pattern.h"

enum order_kind { ORDER_SEQUENTIAL, ORDER_RANDOM, ORDER_ZIPF };

extern const char *const order_names[]; /* NULL at the end */

struct order {
	enum order_kind kind;
	__u64 items;
	__u64 next; /* how many were given */
	__u64 seed;
	unsigned int half_bits;
	struct pattern zipf;
};

/* items > 0. */
void order_init(struct order *order, enum order_kind kind, __u64 items, __u64 seed);
/* Below `items`. */
__u64 order_next(struct order *order);

#endif
