// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/slow_learn.h"

#include <string.h>

static wide unit(const struct slow_learn *learn)
{
	return learn->fault_after_ns < 256 ? 1 : learn->fault_after_ns / 256;
}

static wide class_start(unsigned int class)
{
	return class < 8 ? class : (wide)(8 + class % 8) << (class / 8 - 1);
}

void slow_learn_begin(struct slow_learn *learn, wide promote_after_ns, wide fault_after_ns)
{
	memset(learn, 0, sizeof(*learn));
	learn->promote_after_ns = promote_after_ns;
	learn->fault_after_ns = fault_after_ns;
	learn->window_ns = -1;
	learn->admitted = 256;
}

void slow_learn_idle(struct slow_learn *learn, wide *counted, wide idle_ns)
{
	wide units = (idle_ns - learn->promote_after_ns) / unit(learn);

	units = units < 0 ? 0 : units;
	units = units < 1 << 20 ? units : (1 << 20) - 1;
	for (unsigned int i = 0; i < SLOW_CLASSES && class_start(i) < units; i++) {
		const wide low = *counted > class_start(i) ? *counted : class_start(i);
		const wide high = units < class_start(i + 1) ? units : class_start(i + 1);

		learn->now.idle[i] += high > low ? high - low : 0;
	}
	*counted = units;
}

void slow_learn_use(struct slow_learn *learn, wide *counted, wide idle_ns)
{
	unsigned int at = 0;

	slow_learn_idle(learn, counted, idle_ns);
	while (class_start(at + 1) <= *counted)
		at++;
	*counted = 0;
	if (idle_ns <= learn->promote_after_ns)
		return;
	learn->now.hits[at]++;
	if (idle_ns > learn->fault_after_ns)
		learn->now.faults[at]++;
}

static void sum_up(struct slow_learn *learn, wide time_ns)
{
	struct slow_sums *now = &learn->now, *before = &learn->before;

	for (unsigned int i = 0; i < SLOW_CLASSES; i++) {
		before->idle[i] = before->idle[i] / 2 + now->idle[i];
		before->hits[i] = before->hits[i] / 2 + now->hits[i];
		before->faults[i] = before->faults[i] / 2 + now->faults[i];
	}
	before->time = before->time / 2 + (time_ns - learn->decided_ns) / unit(learn);
	memset(now, 0, sizeof(*now));
	learn->decided_ns = time_ns;
}

/* What a window up to the end of a class would have been worth. */
static wide worth(const struct slow_sums *sums, unsigned int class, wide room, wide stay,
		  unsigned int *admitted)
{
	wide pinned = 0, faults = 0;

	for (unsigned int i = 0; i <= class; i++) {
		pinned += sums->idle[i] + sums->hits[i] * stay;
		faults += sums->faults[i];
	}
	*admitted = pinned > room ? (unsigned int)(room * 256 / pinned) : 256;
	return faults * *admitted;
}

void slow_learn_decide(struct slow_learn *learn, wide time_ns, wide room_pages, wide stay_ns)
{
	wide best = 0, worths[SLOW_CLASSES], room;
	unsigned int admitted[SLOW_CLASSES], i;

	sum_up(learn, time_ns);
	room = room_pages * learn->before.time;
	for (i = 0; i < SLOW_CLASSES; i++) {
		worths[i] = worth(&learn->before, i, room, stay_ns / unit(learn), &admitted[i]);
		best = worths[i] > best ? worths[i] : best;
	}
	if (!best)
		return;
	for (i = 0; worths[i] * 40 < best * 39;)
		i++;
	learn->window_ns = class_start(i + 1) * unit(learn);
	learn->admitted = admitted[i];
	if (learn->window_ns > (time_ns - learn->start_ns) / 4) {
		learn->window_ns = -1;
		learn->admitted = 256;
	}
}
