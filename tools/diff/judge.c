// SPDX-License-Identifier: GPL-2.0
/* Which differences are more than chance, and large enough to matter. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/diff/diff.h"

#define DIFF_TESTS \
	((size_t)2 * DIFF_SUBJECTS) /* of a device: ranks or rates, and a tail, of each row */

/* Of the middle of the times the mean is taken from here to there. */
#define MIDDLE_FROM 5
#define MIDDLE_TO   95

bool diff_row_is_of_times(unsigned int subject)
{
	return subject <= DIFF_TOTAL;
}

const char *diff_subject_name(unsigned int subject)
{
	static const char *const names[] = {"total", "faults", "incomplete"};

	return subject < STAGES ? stage_name(subject) : names[subject - DIFF_TOTAL];
}

const struct histogram *diff_times(const struct diff_side *side, unsigned int subject)
{
	if (!side->group || !diff_row_is_of_times(subject))
		return NULL;
	return subject == DIFF_TOTAL ? &side->group->total : &side->group->stages[subject];
}

__u64 diff_count(const struct diff_side *side, unsigned int subject)
{
	const struct histogram *times = diff_times(side, subject);

	if (subject == DIFF_FAULTS)
		return side->samples.seen;
	if (subject == DIFF_INCOMPLETE)
		return side->samples.incomplete;
	return times ? times->count : 0;
}

double diff_seconds(const struct diff_side *side)
{
	return side->to_ns > side->from_ns
		       ? (double)(side->to_ns - side->from_ns) / (double)NSEC_PER_SEC
		       : 0;
}

double diff_share(const struct diff_side *side, unsigned int subject)
{
	const struct histogram *times = diff_times(side, subject);

	if (!times || !side->group->total.sum)
		return NAN;
	return 100.0 * (double)times->sum / (double)side->group->total.sum;
}

bool diff_has_row(const struct diff_device *device, unsigned int subject)
{
	return diff_count(&device->sides[DIFF_A], subject) ||
	       diff_count(&device->sides[DIFF_B], subject);
}

/* Without the slowest and the fastest, which a few faults decide. */
static double middle_mean(const struct histogram *times)
{
	double from = (double)times->count * MIDDLE_FROM / 100;
	double to = (double)times->count * MIDDLE_TO / 100, seen = 0, sum = 0;

	for (unsigned int b = 0; b < HISTOGRAM_BUCKETS; b++) {
		double begin = fmax(seen, from), end;

		seen += times->buckets[b];
		end = fmin(seen, to);
		if (end > begin)
			sum += (end - begin) * (double)histogram_bucket_middle(b);
	}
	return to > from ? sum / (to - from) : 0;
}

static double tail_mean(const struct histogram *times)
{
	return (double)histogram_percentile(times, 99);
}

/* Large enough in itself, and in a fault's time. */
static bool matters(const struct diff *diff, const struct diff_device *device, unsigned int subject,
		    double (*of)(const struct histogram *))
{
	const struct diff_side *a = &device->sides[DIFF_A], *b = &device->sides[DIFF_B];
	double was = of(diff_times(a, subject)), is = of(diff_times(b, subject));
	double whole = fmax(of(&a->group->total), of(&b->group->total));

	return fabs(is - was) >= fmin(was, is) * diff->least / 100 &&
	       fabs(is - was) >= (double)diff->least_ns &&
	       fabs(is - was) >= whole * DIFF_FAULT_SHARE;
}

struct diff_room {
	__u16 *values[DIFF_RUNS];
	__u8 *blocks[DIFF_RUNS];
};

static void diff_values(const struct diff_device *device, unsigned int run, unsigned int subject,
			const struct diff_room *room, struct compare_sample *sample)
{
	const struct diff_side *side = &device->sides[run];

	fault_samples_values(&side->samples, subject, side->from_ns, side->to_ns, room->values[run],
			     room->blocks[run], sample);
}

__u16 diff_percentile(const struct compare_sample *a, const struct compare_sample *b,
		      double percent)
{
	size_t counts[COMPARE_VALUES] = {0}, seen = 0;
	unsigned int v = 0;

	for (size_t i = 0; i < a->count; i++)
		counts[a->values[i]]++;
	for (size_t i = 0; i < b->count; i++)
		counts[b->values[i]]++;
	for (; v < COMPARE_VALUES - 1; v++) {
		seen += counts[v];
		if ((double)seen * 100 >= (double)(a->count + b->count) * percent)
			break;
	}
	return (__u16)v;
}

double diff_tail(const struct compare_sample *a, const struct compare_sample *b)
{
	return a->count >= DIFF_SAMPLES_MANY && b->count >= DIFF_SAMPLES_MANY ? 99 : 95;
}

static void compare_times(struct diff *diff, struct diff_device *device, unsigned int subject,
			  const struct diff_room *room)
{
	struct diff_row *row = &device->rows[subject];
	struct compare_sample a, b;
	__u16 limit;

	diff_values(device, DIFF_A, subject, room, &a);
	diff_values(device, DIFF_B, subject, room, &b);
	row->ranked[DIFF_A] = a.count;
	row->ranked[DIFF_B] = b.count;
	row->verdict = DIFF_FEW;
	if (a.count < DIFF_SAMPLES_LEAST || b.count < DIFF_SAMPLES_LEAST)
		return;
	row->verdict = DIFF_NOISE;
	limit = diff_percentile(&a, &b, diff_tail(&a, &b));
	compare_ranks(&a, &b, &row->main);
	compare_above(&a, limit, &b, limit, &row->tail);
	diff->compared += 2;
}

static void compare_numbers(struct diff *diff, struct diff_device *device, unsigned int subject)
{
	struct diff_row *row = &device->rows[subject];
	struct compare_counts counts[DIFF_RUNS];

	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		const struct diff_side *side = &device->sides[run];

		fault_samples_counts(&side->samples, subject == DIFF_INCOMPLETE, side->from_ns,
				     side->to_ns, &counts[run]);
		row->ranked[run] = diff_count(side, subject);
	}
	row->verdict = DIFF_NOISE;
	compare_counted_rates(&counts[DIFF_A], &counts[DIFF_B], 1, 0, &row->main);
	diff->compared++;
}

static void compare_device(struct diff *diff, struct diff_device *device,
			   const struct diff_room *room)
{
	for (unsigned int subject = 0; subject < DIFF_SUBJECTS; subject++) {
		struct diff_row *row = &device->rows[subject];

		*row = (struct diff_row){.main.p = 1, .tail.p = 1, .level = 1};
		if (!device->sides[DIFF_A].devices || !device->sides[DIFF_B].devices)
			row->verdict = DIFF_ABSENT;
		else if (!diff_has_row(device, subject))
			continue;
		else if (diff_row_is_of_times(subject))
			compare_times(diff, device, subject, room);
		else
			compare_numbers(diff, device, subject);
	}
}

static enum diff_verdict verdict_of_times(const struct diff *diff, const struct diff_device *device,
					  unsigned int subject, double ranks, double tail)
{
	const struct diff_row *row = &device->rows[subject];

	if (ranks <= DIFF_LEVEL && matters(diff, device, subject, middle_mean))
		return row->main.difference > 0 ? DIFF_SLOWER : DIFF_FASTER;
	if (tail <= DIFF_LEVEL && matters(diff, device, subject, tail_mean))
		return row->tail.difference > 0 ? DIFF_SLOWER_TAIL : DIFF_FASTER_TAIL;
	return ranks <= DIFF_LEVEL || tail <= DIFF_LEVEL ? DIFF_SMALL : DIFF_NOISE;
}

static enum diff_verdict verdict_of_numbers(const struct diff *diff,
					    const struct diff_device *device, unsigned int subject)
{
	const struct diff_side *a = &device->sides[DIFF_A], *b = &device->sides[DIFF_B];
	const struct diff_row *row = &device->rows[subject];
	double was = (double)diff_count(a, subject) / diff_seconds(a);
	double is = (double)diff_count(b, subject) / diff_seconds(b);

	if (!(row->level <= DIFF_LEVEL))
		return DIFF_NOISE;
	if (fabs(is - was) < fmin(was, is) * diff->least / 100)
		return DIFF_SMALL;
	return is > was ? DIFF_MORE : DIFF_FEWER;
}

static void diff_decide(const struct diff *diff, struct diff_device *device, const double *levels)
{
	for (unsigned int subject = 0; subject < DIFF_SUBJECTS; subject++) {
		struct diff_row *row = &device->rows[subject];
		const double *own = &levels[(size_t)2 * subject];
		double ranks = own[0], tail = own[1];

		row->level = fmin(ranks, tail);
		if (row->verdict != DIFF_NOISE || !diff_has_row(device, subject))
			continue;
		row->verdict = diff_row_is_of_times(subject)
				       ? verdict_of_times(diff, device, subject, ranks, tail)
				       : verdict_of_numbers(diff, device, subject);
		device->changes += row->verdict >= DIFF_SLOWER;
	}
}

static int diff_no_memory(const struct diff *diff)
{
	return failed(-ENOMEM, "no memory to compare %u devices", HASH_COUNT(diff->devices));
}

/* Holm's, of all tests of all devices: those that were not made have p = 1 and cost nothing. */
static int correct_and_decide(struct diff *diff)
{
	size_t tests = DIFF_TESTS * (size_t)HASH_COUNT(diff->devices), count = 0, i = 0;
	double *p = memory_calloc(tests + 1, sizeof(*p)), *made, *levels;
	size_t *order = memory_calloc(tests + 1, sizeof(*order));

	made = memory_calloc(tests + 1, sizeof(*made));
	levels = p;
	if (p && order && made) {
		for (struct diff_device *d = diff->devices; d; d = d->hh.next)
			for (unsigned int s = 0; s < DIFF_TESTS; s++, i++)
				levels[i] = s % 2 ? d->rows[s / 2].tail.p : d->rows[s / 2].main.p;
		for (i = 0; i < tests; i++)
			if (levels[i] < 1)
				made[count++] = levels[i];
		compare_holm(made, count, diff->compared, order);
		for (i = 0, count = 0; i < tests; i++)
			if (levels[i] < 1)
				levels[i] = made[count++];
		i = 0;
		for (struct diff_device *d = diff->devices; d; d = d->hh.next)
			diff_decide(diff, d, &levels[DIFF_TESTS * i++]);
	}
	memory_free(order);
	memory_free(made);
	memory_free(p);
	return p && order && made ? 0 : diff_no_memory(diff);
}

int diff_judge(struct diff *diff)
{
	struct diff_room room;
	int err = 0;

	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		room.values[run] = calloc(FAULT_SAMPLES_MAX, sizeof(__u16));
		room.blocks[run] = calloc(FAULT_SAMPLES_MAX, sizeof(__u8));
		if (!room.values[run] || !room.blocks[run])
			err = diff_no_memory(diff);
	}
	for (struct diff_device *d = diff->devices; !err && d; d = d->hh.next)
		compare_device(diff, d, &room);
	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		free(room.values[run]);
		free(room.blocks[run]);
	}
	return err ? err : correct_and_decide(diff);
}
