// SPDX-License-Identifier: GPL-2.0
#include "load.h"

#include <time.h>

/* Of splitmix64: each bit of the result depends on each of the argument. */
static uint64_t mixed(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state += 0x9e3779b97f4a7c15u;
	return limit ? mixed(*state) % limit : 0;
}

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Word i of a page: the first two say whose it is. */
static uint64_t word(uint64_t i, uint64_t base, uint64_t owner, uint64_t generation)
{
	return i == 0 ? owner : i == 1 ? generation : base + i * 0x9e3779b97f4a7c15u;
}

void page_fill(void *page, uint64_t owner, uint64_t generation)
{
	uint64_t base = mixed(mixed(owner) + generation), *words = page;

	for (uint64_t i = 0; i < LOAD_PAGE_WORDS; i++)
		words[i] = word(i, base, owner, generation);
}

static uint64_t different_bytes(uint64_t difference)
{
	uint64_t count = 0;

	for (; difference; difference >>= 8)
		count += (difference & 0xff) != 0;
	return count;
}

uint64_t page_wrong_bytes(const void *page, uint64_t owner, uint64_t generation)
{
	uint64_t base = mixed(mixed(owner) + generation), wrong = 0;
	const uint64_t *words = page;

	for (uint64_t i = 0; i < LOAD_PAGE_WORDS; i++) {
		uint64_t difference = words[i] ^ word(i, base, owner, generation);

		if (difference)
			wrong += different_bytes(difference);
	}
	return wrong;
}

bool page_generation(const void *page, uint64_t owner, uint64_t *generation)
{
	const uint64_t *words = page;

	*generation = words[1];
	return words[0] == owner;
}
