// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/order.h"

#define ZIPF_THETA    0.99 /* as YCSB and fio have it by default or in their examples */
#define FEISTEL_TURNS 4

const char *const order_names[] = {"sequential", "random", "zipf", NULL};

void order_init(struct order *order, enum order_kind kind, __u64 items, __u64 seed)
{
	*order = (struct order){.kind = kind, .items = items, .seed = seed, .half_bits = 1};
	while (order->half_bits < 31 && 1ull << (2 * order->half_bits) < items)
		order->half_bits++;
	if (kind == ORDER_ZIPF)
		pattern_init(&order->zipf, PATTERN_ZIPF, items, 1, ZIPF_THETA, seed);
}

static __u64 mix(__u64 value)
{
	struct random random = {value};

	return random_next(&random);
}

/*
 * A permutation without memory: a Feistel network over the smallest even number of bits that holds
 * all items, walked along until it lands among them.
 */
static __u64 permuted(const struct order *order, __u64 index, __u64 key)
{
	__u64 mask = (1ull << order->half_bits) - 1;

	do {
		__u64 left = index >> order->half_bits, right = index & mask;

		for (__u64 turn = 0; turn < FEISTEL_TURNS; turn++) {
			__u64 next = left ^ (mix(key ^ mix(right + (turn << 56))) & mask);

			left = right;
			right = next;
		}
		index = left << order->half_bits | right;
	} while (index >= order->items);
	return index;
}

__u64 order_next(struct order *order)
{
	__u64 index = order->next % order->items, pass = order->next / order->items;

	order->next++;
	switch (order->kind) {
	case ORDER_RANDOM:
		return permuted(order, index, mix(order->seed + pass));
	case ORDER_ZIPF:
		return pattern_next(&order->zipf, 1);
	default:
		return index;
	}
}
