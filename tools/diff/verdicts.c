// SPDX-License-Identifier: GPL-2.0
/* Whether conditions of --fail hold, and where. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/printable.h"
#include "tools/diff/diff.h"

#define PLACES	     5 /* of a condition that are told */
#define BEYOND_LEAST 2 /* faults beyond a percentile, or it is not judged */

/* Of a condition at a row: both numbers, and how likely chance makes B's look as far beyond the bound. */
struct diff_reading {
	const struct diff_device *device;
	unsigned int subject;
	double was, is;
	bool known;  /* there are enough faults to judge by */
	bool beyond; /* the numbers as they are */
	double p;
};

/* One-sided, as the bound is; of so many together that were judged. */
static bool is_broken(const struct diff_reading *reading, size_t judged)
{
	return reading->known && reading->beyond && reading->p / 2 * (double)judged <= DIFF_LEVEL;
}

struct diff_reader {
	struct diff *diff;
	const struct diff_condition *condition;
	__u16 *values[DIFF_RUNS];
	__u8 *blocks[DIFF_RUNS];
	double *numbers[DIFF_RUNS];
};

static const struct diff_side *reader_side(const struct diff_device *device, unsigned int run)
{
	return &device->sides[run];
}

static double bound_of(const struct diff_condition *condition, double was)
{
	return condition->relative ? was * condition->factor + condition->offset
				   : condition->offset;
}

static void judge_counts(struct diff_reader *r, const struct diff_device *device,
			 unsigned int subject, struct diff_reading *reading)
{
	const struct diff_condition *c = r->condition;
	struct compare_counts counts[DIFF_RUNS];
	struct comparison result;

	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		const struct diff_side *side = reader_side(device, run);

		fault_samples_counts(&side->samples, subject == DIFF_INCOMPLETE, side->from_ns,
				     side->to_ns, &counts[run]);
		/* Counts are not by time; a recording without the device has none of it in whatever time. */
		if (c->field == DIFF_FIELD_COUNT || !side->devices)
			counts[run].seconds = 1;
	}
	reading->was = (double)diff_count(&device->sides[DIFF_A], subject) / counts[DIFF_A].seconds;
	reading->is = (double)diff_count(&device->sides[DIFF_B], subject) / counts[DIFF_B].seconds;
	compare_counted_rates(&counts[DIFF_A], &counts[DIFF_B], c->relative ? c->factor : 0,
			      c->offset, &result);
	reading->known = true;
	reading->p = result.p;
}

static void take_values(struct diff_reader *r, const struct diff_device *device,
			unsigned int subject, struct compare_sample sample[DIFF_RUNS])
{
	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		const struct diff_side *side = reader_side(device, run);

		fault_samples_values(&side->samples, subject, side->from_ns, side->to_ns,
				     r->values[run], r->blocks[run], &sample[run]);
	}
}

/* A as it would be if it just reached the bound. */
static void stretch(const struct diff_condition *c, __u16 *values, size_t count)
{
	__u16 to[COMPARE_VALUES];

	for (unsigned int v = 0; v < COMPARE_VALUES; v++) {
		double ns = (double)histogram_bucket_middle(v) * c->factor + c->offset;

		to[v] = (__u16)histogram_bucket(ns > 0 ? (__u64)fmin(ns, 1e18) : 0);
	}
	for (size_t i = 0; i < count; i++)
		values[i] = to[values[i]];
}

/* P of the smallest, of so many tests, if it is on the bound's side. */
static double beyond_bound(const struct diff_condition *c, const struct comparison *results,
			   unsigned int count)
{
	double p = 1;

	for (unsigned int i = 0; i < count; i++)
		if (c->below ? results[i].difference < 0 : results[i].difference > 0)
			p = fmin(p, results[i].p * count);
	return p;
}

/*
 * As many of B as of A at the bound are above a percentile of both. Few faults are above a high one: that B's
 * are beyond the bound as a whole, or in their tail, says that these are, too, if their numbers do.
 */
static void judge_percentile(struct diff_reader *r, struct compare_sample sample[DIFF_RUNS],
			     struct diff_reading *reading)
{
	const struct diff_condition *c = r->condition;
	struct comparison results[3];
	__u16 limit;

	if (!c->relative) {
		__u64 ns = (__u64)c->offset;

		compare_above_known(&sample[DIFF_B], (__u16)histogram_bucket(ns),
				    1 - c->percentile / 100, results);
		reading->p = beyond_bound(c, results, 1);
		return;
	}
	stretch(c, r->values[DIFF_A], sample[DIFF_A].count);
	compare_ranks(&sample[DIFF_A], &sample[DIFF_B], &results[0]);
	limit = diff_percentile(&sample[DIFF_A], &sample[DIFF_B], c->percentile);
	compare_above(&sample[DIFF_A], limit, &sample[DIFF_B], limit, &results[1]);
	limit = diff_percentile(&sample[DIFF_A], &sample[DIFF_B],
				fmin(c->percentile, diff_tail(&sample[DIFF_A], &sample[DIFF_B])));
	compare_above(&sample[DIFF_A], limit, &sample[DIFF_B], limit, &results[2]);
	reading->p = beyond_bound(c, results, 3);
}

/* Of the share each fault's part in the ratio of sums (its linearization), of the mean its time. */
static void take_numbers(struct diff_reader *r, const struct diff_device *device,
			 unsigned int subject, struct compare_numbers numbers[DIFF_RUNS])
{
	struct compare_sample sample[DIFF_RUNS];

	take_values(r, device, subject, sample);
	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		const struct diff_side *side = reader_side(device, run);
		double share = diff_share(side, subject) / 100;
		double mean = side->group ? fmax(histogram_mean(&side->group->total), 1) : 1;
		size_t count = 0;

		for (size_t i = 0; i < side->samples.count; i++) {
			const __u16 *times = side->samples.all[i].times;
			double time, total;

			if (times[subject] == FAULT_UNTIMED)
				continue;
			time = (double)histogram_bucket_middle(times[subject]);
			total = (double)histogram_bucket_middle(times[STAGES]);
			r->numbers[run][count++] =
				r->condition->field == DIFF_FIELD_MEAN
					? time
					: 100 * (share + (time - share * total) / mean);
		}
		numbers[run] = (struct compare_numbers){r->numbers[run], r->blocks[run], count};
	}
}

static void judge_means(struct diff_reader *r, const struct diff_device *device,
			unsigned int subject, struct diff_reading *reading)
{
	const struct diff_condition *c = r->condition;
	struct compare_numbers numbers[DIFF_RUNS];
	struct comparison result;

	take_numbers(r, device, subject, numbers);
	compare_means(&numbers[DIFF_A], &numbers[DIFF_B], c->relative ? c->factor : 0, c->offset,
		      &result);
	reading->p = result.p;
}

static double number_of_times(const struct diff_condition *c, const struct diff_side *side,
			      unsigned int subject)
{
	const struct histogram *times = diff_times(side, subject);

	if (!times || !times->count)
		return NAN;
	return c->field == DIFF_FIELD_SHARE  ? diff_share(side, subject)
	       : c->field == DIFF_FIELD_MEAN ? histogram_mean(times)
					     : (double)histogram_percentile(times, c->percentile);
}

static bool enough(const struct diff_condition *c, const struct diff_side *side,
		   unsigned int subject)
{
	double count = (double)diff_count(side, subject);

	return count >= DIFF_SAMPLES_LEAST && (c->field != DIFF_FIELD_PERCENTILE ||
					       count * (100 - c->percentile) / 100 >= BEYOND_LEAST);
}

static void judge_times(struct diff_reader *r, const struct diff_device *device,
			unsigned int subject, struct diff_reading *reading)
{
	const struct diff_side *a = &device->sides[DIFF_A], *b = &device->sides[DIFF_B];
	const struct diff_condition *c = r->condition;
	struct compare_sample sample[DIFF_RUNS];

	reading->was = number_of_times(c, a, subject);
	reading->is = number_of_times(c, b, subject);
	reading->known = enough(c, b, subject) && (!c->relative || enough(c, a, subject));
	if (!reading->known)
		return;
	if (c->field != DIFF_FIELD_PERCENTILE) {
		judge_means(r, device, subject, reading);
		return;
	}
	take_values(r, device, subject, sample);
	judge_percentile(r, sample, reading);
}

static void judge_row(struct diff_reader *r, const struct diff_device *device, unsigned int subject,
		      struct diff_reading *reading)
{
	const struct diff_condition *c = r->condition;
	double bound;

	*reading = (struct diff_reading){.device = device, .subject = subject, .p = 1};
	if (c->field <= DIFF_FIELD_RATE)
		judge_counts(r, device, subject, reading);
	else
		judge_times(r, device, subject, reading);
	/* Nothing waits where there is nothing. */
	if (isnan(reading->is))
		reading->known = true;
	bound = bound_of(c, reading->was);
	reading->beyond = c->below ? reading->is < bound : reading->is > bound;
}

static const char *format_reading(const struct diff_condition *c, double number,
				  char text[UNITS_TEXT])
{
	if (isnan(number))
		snprintf(text, UNITS_TEXT, "-");
	else if (diff_condition_is_of_time(c))
		units_format_duration((__u64)number, text);
	else
		snprintf(text, UNITS_TEXT, "%.4g%s", number,
			 c->field == DIFF_FIELD_SHARE  ? "%"
			 : c->field == DIFF_FIELD_RATE ? "/s"
						       : "");
	return text;
}

/* A line of a verdict: on stdout in text, on stderr beside tables. */
static void say_of_condition(const struct diff *diff, const char *line)
{
	if (offline_is_text(&diff->a))
		writer_note(diff->writer, "%s", line);
	else
		fprintf(stderr, "faultline: %s\n", printable_of(line).text);
}

static void say_reading(const struct diff *diff, const struct diff_condition *c,
			const struct diff_reading *reading, const char *why)
{
	char was[UNITS_TEXT], is[UNITS_TEXT], line[CELL_ROOM], ratio[32] = "";
	const struct diff_device *d = reading->device;

	if (reading->was > 0 && !isnan(reading->is))
		snprintf(ratio, sizeof(ratio), ", %.3gx", reading->is / reading->was);
	snprintf(line, sizeof(line), "- %s%s%.128s %s: %s -> %s%s (%llu and %llu faults)%s",
		 d->host, *d->host ? " " : "", d->name, diff_subject_name(reading->subject),
		 format_reading(c, reading->was, was), format_reading(c, reading->is, is), ratio,
		 diff_count(&d->sides[DIFF_A], reading->subject),
		 diff_count(&d->sides[DIFF_B], reading->subject), why);
	say_of_condition(diff, line);
}

static void say_verdict(struct diff *diff, const struct diff_condition *c,
			const struct diff_reading *readings, size_t count)
{
	size_t known = 0, broken = 0, told = 0;
	char line[CELL_ROOM];

	for (size_t i = 0; i < count; i++)
		known += readings[i].known;
	for (size_t i = 0; i < count; i++)
		broken += is_broken(&readings[i], known);
	snprintf(line, sizeof(line), "%s %s",
		 broken	 ? "FAIL"
		 : known ? "PASS"
			 : "UNKNOWN",
		 c->text);
	say_of_condition(diff, line);
	for (size_t i = 0; i < count && told < PLACES; i++) {
		bool breaks = is_broken(&readings[i], known);

		if (!readings[i].beyond || (broken && !breaks))
			continue;
		say_reading(diff, c, &readings[i],
			    breaks		? ""
			    : readings[i].known ? ": it may be chance"
						: ": too few faults to say");
		told++;
	}
	if (!known)
		say_of_condition(diff, "- no device has faults enough in both to judge it by");
	diff->failed |= broken || !known;
}

static size_t judge_condition(struct diff_reader *r, struct diff_reading *readings)
{
	const struct diff_condition *c = r->condition;
	size_t count = 0;

	for (const struct diff_device *d = r->diff->devices; d; d = d->hh.next)
		for (unsigned int s = 0; s < DIFF_SUBJECTS; s++) {
			bool counted = c->field <= DIFF_FIELD_RATE;
			bool wanted = c->subject == DIFF_SUBJECTS	    ? s <= DIFF_TOTAL
				      : counted && c->subject == DIFF_TOTAL ? s == DIFF_FAULTS
									    : s == c->subject;

			if (wanted && diff_has_row(d, s))
				judge_row(r, d, s, &readings[count++]);
		}
	return count;
}

static int make_reader(struct diff_reader *r, struct diff *diff)
{
	*r = (struct diff_reader){.diff = diff};
	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		r->values[run] = calloc(FAULT_SAMPLES_MAX, sizeof(__u16));
		r->blocks[run] = calloc(FAULT_SAMPLES_MAX, sizeof(__u8));
		r->numbers[run] = calloc(FAULT_SAMPLES_MAX, sizeof(double));
		if (!r->values[run] || !r->blocks[run] || !r->numbers[run])
			return failed(-ENOMEM, "no memory to judge --fail");
	}
	return 0;
}

static void free_reader(struct diff_reader *r)
{
	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		free(r->values[run]);
		free(r->blocks[run]);
		free(r->numbers[run]);
	}
}

int diff_judge_conditions(struct diff *diff)
{
	size_t rows = DIFF_SUBJECTS * (size_t)HASH_COUNT(diff->devices) + 1;
	struct diff_reading *readings;
	struct diff_reader reader;
	int err;

	if (!diff->fail_count)
		return 0;
	err = make_reader(&reader, diff);
	readings = calloc(rows, sizeof(*readings));
	if (!readings)
		err = failed(-ENOMEM, "no memory to judge --fail");
	for (size_t i = 0; !err && i < diff->fail_count; i++) {
		reader.condition = &diff->conditions[i];
		say_verdict(diff, reader.condition, readings, judge_condition(&reader, readings));
	}
	free(readings);
	free_reader(&reader);
	return err;
}
