// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/learner.h"

typedef unsigned __int128 learner_wide;

/* Near enough to the best: 39 of 40. */
#define NEAR	    39
#define NEAR_OF	    40
#define UNITS_A_GAP 256 /* in the shortest that is a fault */

void learner_init(struct learner *learner, __u64 from_ns, __u64 fault_after_ns)
{
	*learner = (struct learner){
		.from_ns = from_ns,
		.fault_after_ns = fault_after_ns,
		.unit_ns = fault_after_ns / UNITS_A_GAP ?: 1,
	};
}

void learner_start(struct learner *learner, __u64 time_ns)
{
	learner->decided_ns = time_ns;
}

static unsigned int class_with(__u64 units)
{
	unsigned int log;

	if (units < 8)
		return units;
	log = 63 - __builtin_clzll(units);
	return 8ull * (log - 2) + (units >> (log - 3) & 7);
}

/* The least of a class. */
static __u64 class_begin(unsigned int class)
{
	return class < 8 ? class : (__u64)(8 + class % 8) << (class / 8 - 1);
}

static __u64 learner_units(const struct learner *learner, __u64 idle_ns)
{
	const __u64 units =
		idle_ns > learner->from_ns ? (idle_ns - learner->from_ns) / learner->unit_ns : 0;

	return units < LEARNER_UNITS_MAX ? units : LEARNER_UNITS_MAX;
}

static void learner_end(struct learner_sums *sums, __u64 units)
{
	const unsigned int class = class_with(units);

	sums->ended[class]++;
	sums->within[class] += units - class_begin(class);
}

void learner_used(struct learner *learner, __u64 idle_ns)
{
	const __u64 units = learner_units(learner, idle_ns);

	if (idle_ns <= learner->from_ns)
		return;
	learner_end(&learner->sums, units);
	learner->hits[class_with(units)]++;
	learner->faults[class_with(units)] += idle_ns > learner->fault_after_ns;
}

void learner_lost(struct learner *learner, __u64 idle_ns)
{
	learner_end(&learner->sums, learner_units(learner, idle_ns));
}

/* Idle times that have not ended yet count as far as they have come, and from now on what is beyond. */
static void learner_cut(struct learner *learner, const struct page_store *store, __u64 time_ns)
{
	struct learner_sums *sums = &learner->sums, open = {0};
	__u64 longer = 0;

	for (__u32 i = 0; i < store->touched; i++)
		if (store->pages[i].state)
			learner_end(&open,
				    learner_units(learner, time_ns - store->pages[i].last_ns));
	for (unsigned int i = LEARNER_CLASSES; i--;) {
		const __u64 within = sums->within[i] + open.within[i];
		const __u64 width = class_begin(i + 1) - class_begin(i);

		learner->idle[i] = learner->idle[i] / 2 + within + width * longer;
		longer += sums->ended[i] + open.ended[i];
		sums->within[i] = -open.within[i];
		sums->ended[i] = -open.ended[i];
	}
	learner->units = learner->units / 2 + (time_ns - learner->decided_ns) / learner->unit_ns;
	learner->decided_ns = time_ns;
}

/* Half of what is known was known at the decision before. */
static void learner_age(struct learner *learner)
{
	for (unsigned int i = 0; i < LEARNER_CLASSES; i++) {
		learner->hits[i] /= 2;
		learner->faults[i] /= 2;
	}
}

struct learner_choice learner_decide(struct learner *learner, const struct page_store *store,
				     __u64 time_ns, __u64 room, __u64 stay_ns)
{
	const __u64 stay = stay_ns / learner->unit_ns;
	learner_wide pinned = 0, worth[LEARNER_CLASSES], best = 0, most;
	__u32 admitted[LEARNER_CLASSES];
	__u64 faults = 0;
	unsigned int chosen = 0;
	struct learner_choice choice = {.admitted = 0};

	learner_cut(learner, store, time_ns);
	most = (learner_wide)room * learner->units;
	for (unsigned int i = 0; i < LEARNER_CLASSES; i++) {
		pinned += learner->idle[i] + (learner_wide)stay * learner->hits[i];
		faults += learner->faults[i];
		admitted[i] = pinned <= most ? LEARNER_ALL : LEARNER_ALL * most / pinned;
		worth[i] = (learner_wide)faults * admitted[i];
		if (worth[i] > best)
			best = worth[i];
	}
	learner_age(learner);
	if (!best)
		return choice;
	while (worth[chosen] * NEAR_OF < best * NEAR)
		chosen++;
	choice.admitted = admitted[chosen];
	if (__builtin_mul_overflow(class_begin(chosen + 1), learner->unit_ns, &choice.window_ns))
		choice.window_ns = ~0ull;
	return choice;
}
