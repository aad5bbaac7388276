// SPDX-License-Identifier: GPL-2.0
#include "load.h"

static unsigned int class_of(uint64_t ns)
{
	unsigned int power;

	if (ns < 16)
		return (unsigned int)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	return (power - 3) * 16 + (unsigned int)((ns >> (power - 4)) & 15);
}

/* The largest duration of a class. */
static uint64_t class_end(unsigned int class)
{
	unsigned int power = class / 16 + 3;

	if (class < 16)
		return class;
	return (((uint64_t)16 + class % 16 + 1) << (power - 4)) - 1;
}

void latency_add(struct latency *latency, uint64_t ns)
{
	latency->count++;
	latency->classes[class_of(ns)]++;
	if (ns > latency->max_ns)
		latency->max_ns = ns;
}

void latency_merge(struct latency *into, const struct latency *from)
{
	into->count += from->count;
	for (unsigned int i = 0; i < LATENCY_CLASSES; i++)
		into->classes[i] += from->classes[i];
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
}

uint64_t latency_percentile(const struct latency *latency, unsigned int per_mille)
{
	uint64_t beyond = latency->count * (1000 - per_mille) / 1000, seen = 0;

	if (beyond < 20)
		return 0;
	for (unsigned int i = 0; i < LATENCY_CLASSES; i++) {
		seen += latency->classes[i];
		if (seen >= latency->count - beyond)
			return class_end(i) < latency->max_ns ? class_end(i) : latency->max_ns;
	}
	return latency->max_ns;
}
