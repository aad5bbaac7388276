/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The most faults that any policy could avoid under rule `interval` (what_if.h) for what it keeps pinned.
 *
 * It knows the future: avoiding one fault takes its page pinned from its last access + idle_ns until the fault, and
 * no longer. Such stretches of one page never overlap, and each avoids one fault; so for a given sum of pinned time most
 * are avoided by the shortest ones first. Whoever avoids faults has at least these stretches pinned: nobody does better,
 * whose first accesses are not counted as faults.
 */
#ifndef FAULTLINE_PROTECT_ORACLE_H
#define FAULTLINE_PROTECT_ORACLE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* All 0 before the first. */
struct pin_oracle {
	__u64 *stretches; /* ns */
	size_t count, room;
	bool sorted;
};

/* A fault `gap_ns` after the access before it. -ENOMEM. */
int pin_oracle_add(struct pin_oracle *oracle, __u64 gap_ns, __u64 idle_ns);
/* Those of another as well. -ENOMEM. */
int pin_oracle_join(struct pin_oracle *oracle, const struct pin_oracle *other);
/* How many are avoided for at most so much pinned time, in pages times ns, and how much of it that takes. */
__u64 pin_oracle_avoided(struct pin_oracle *oracle, unsigned __int128 budget,
			 unsigned __int128 *taken);
void pin_oracle_free(struct pin_oracle *oracle);

#endif
