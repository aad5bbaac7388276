// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/oracle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

static bool oracle_room(struct pin_oracle *oracle, size_t more)
{
	oracle->sorted = false;
	return array_grow(&oracle->stretches, &oracle->room, oracle->count + more,
			  sizeof(*oracle->stretches), ARRAY_LIMITED);
}

int pin_oracle_add(struct pin_oracle *oracle, __u64 gap_ns, __u64 idle_ns)
{
	if (!oracle_room(oracle, 1))
		return failed(-ENOMEM, "no memory for %zu faults", oracle->count + 1);
	oracle->stretches[oracle->count++] = gap_ns - idle_ns;
	return 0;
}

int pin_oracle_join(struct pin_oracle *oracle, const struct pin_oracle *other)
{
	if (!other->count)
		return 0;
	if (!oracle_room(oracle, other->count))
		return failed(-ENOMEM, "no memory for %zu faults", oracle->count + other->count);
	memcpy(oracle->stretches + oracle->count, other->stretches,
	       other->count * sizeof(*other->stretches));
	oracle->count += other->count;
	return 0;
}

static int shortest_first(const void *one, const void *other)
{
	const __u64 a = *(const __u64 *)one, b = *(const __u64 *)other;

	return a < b ? -1 : a > b;
}

__u64 pin_oracle_avoided(struct pin_oracle *oracle, unsigned __int128 budget,
			 unsigned __int128 *taken)
{
	unsigned __int128 sum = 0;
	size_t avoided = 0;

	if (!oracle->sorted && oracle->count)
		qsort(oracle->stretches, oracle->count, sizeof(*oracle->stretches), shortest_first);
	oracle->sorted = true;
	while (avoided < oracle->count && sum + oracle->stretches[avoided] <= budget)
		sum += oracle->stretches[avoided++];
	*taken = sum;
	return avoided;
}

void pin_oracle_free(struct pin_oracle *oracle)
{
	memory_free(oracle->stretches);
	*oracle = (struct pin_oracle){0};
}
