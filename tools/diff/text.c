// SPDX-License-Identifier: GPL-2.0
/* For people: what is more than chance in sentences, then a table a device. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/printable.h"
#include "tools/diff/diff.h"

#define TEXT_DEVICES 10
#define TEXT_CHANGES 20
#define NAMES_TEXT   512

const char *diff_verdict_name(const struct diff_device *device, unsigned int subject)
{
	static const char *const names[] = {
		[DIFF_NOISE] = "noise",
		[DIFF_SMALL] = "small",
		[DIFF_FEW] = "too few",
		[DIFF_SLOWER] = "slower",
		[DIFF_FASTER] = "faster",
		[DIFF_SLOWER_TAIL] = "tail slower",
		[DIFF_FASTER_TAIL] = "tail faster",
		[DIFF_MORE] = "more",
		[DIFF_FEWER] = "fewer",
	};
	enum diff_verdict verdict = device->rows[subject].verdict;

	if (verdict == DIFF_ABSENT)
		return device->sides[DIFF_A].devices ? "only in A" : "only in B";
	return names[verdict];
}

struct compared_row {
	const struct diff_device *device;
	unsigned int subject;
};

static const char *both_counts(const struct compared_row *row, char *text)
{
	char number[DIFF_RUNS][UNITS_TEXT];

	for (unsigned int run = 0; run < DIFF_RUNS; run++)
		units_format_count(diff_count(&row->device->sides[run], row->subject), 5,
				   number[run]);
	snprintf(text, CELL_ROOM, "%5s->%s", number[DIFF_A], number[DIFF_B]);
	return text;
}

static const char *both_times(const struct diff_device *device, unsigned int subject,
			      double percent, char *text)
{
	char number[DIFF_RUNS][UNITS_TEXT];

	for (unsigned int run = 0; run < DIFF_RUNS; run++) {
		const struct histogram *times = diff_times(&device->sides[run], subject);

		if (times && times->count)
			units_format_duration(histogram_percentile(times, percent), number[run]);
		else
			strcpy(number[run], "-");
	}
	snprintf(text, CELL_ROOM, "%6s->%s", number[DIFF_A], number[DIFF_B]);
	return text;
}

static const char *row_times(const struct compared_row *row, double percent, char *text)
{
	return diff_row_is_of_times(row->subject)
		       ? both_times(row->device, row->subject, percent, text)
		       : "";
}

static const char *both_shares(const struct compared_row *row, char *text)
{
	double was = diff_share(&row->device->sides[DIFF_A], row->subject);
	double is = diff_share(&row->device->sides[DIFF_B], row->subject);
	char number[DIFF_RUNS][8] = {"-", "-"};

	if (!diff_row_is_of_times(row->subject))
		return "";
	if (!isnan(was))
		snprintf(number[DIFF_A], sizeof(number[DIFF_A]), "%.0f", was);
	if (!isnan(is))
		snprintf(number[DIFF_B], sizeof(number[DIFF_B]), "%.0f%%", is);
	snprintf(text, CELL_ROOM, "%3s->%s", number[DIFF_A], number[DIFF_B]);
	return text;
}

#define COMPARED(COLUMN)                                                      \
	COLUMN(stage, none, TEXT, 10, SHOWN, diff_subject_name(row->subject)) \
	COLUMN(count, none, TEXT, 12, SHOWN, both_counts(row, text))          \
	COLUMN(p50, none, TEXT, 14, SHOWN, row_times(row, 50, text))          \
	COLUMN(p99, none, TEXT, 14, SHOWN, row_times(row, 99, text))          \
	COLUMN(share, none, TEXT, 9, SHOWN, both_shares(row, text))           \
	COLUMN(verdict, none, TEXT, 0, SHOWN, diff_verdict_name(row->device, row->subject))
TABLE(compared, NULL, COMPARED, struct compared_row, void)

static const char *full_name(const struct diff_device *device, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", device->host, *device->host ? " " : "", device->name);
	return text;
}

static void write_compared(const struct diff *diff, const struct diff_device *device)
{
	char name[2 * NAME_TEXT + 64];
	struct table table = compared_table;
	struct printable shown;

	full_name(device, name, sizeof(name));
	shown = printable_of(name);
	table.title = shown.text;
	writer_begin(diff->writer, &table);
	for (unsigned int s = 0; s < DIFF_SUBJECTS; s++)
		if (diff_has_row(device, s))
			writer_row(diff->writer, &(struct compared_row){device, s});
	writer_end(diff->writer);
}

static void write_change(const struct diff *diff, const struct diff_device *device,
			 unsigned int subject)
{
	const struct diff_row *row = &device->rows[subject];
	char name[2 * NAME_TEXT + 64], p50[CELL_ROOM], p99[CELL_ROOM];

	full_name(device, name, sizeof(name));
	if (!diff_row_is_of_times(subject)) {
		writer_note(diff->writer,
			    "%s: %s%s faults, %.3g/s -> %.3g/s (%zu and %zu; P %.1g).", name,
			    diff_verdict_name(device, subject),
			    subject == DIFF_INCOMPLETE ? " incomplete" : "",
			    (double)diff_count(&device->sides[DIFF_A], subject) /
				    diff_seconds(&device->sides[DIFF_A]),
			    (double)diff_count(&device->sides[DIFF_B], subject) /
				    diff_seconds(&device->sides[DIFF_B]),
			    row->ranked[DIFF_A], row->ranked[DIFF_B], row->level);
		return;
	}
	both_times(device, subject, 50, p50);
	both_times(device, subject, 99, p99);
	writer_note(diff->writer, "%s: %s %s: p50 %s, p99 %s (%zu and %zu faults; P %.1g).", name,
		    diff_subject_name(subject), diff_verdict_name(device, subject),
		    p50 + strspn(p50, " "), p99 + strspn(p99, " "), row->ranked[DIFF_A],
		    row->ranked[DIFF_B], row->level);
}

static size_t write_changes(const struct diff *diff)
{
	size_t changes = 0;

	for (const struct diff_device *d = diff->devices; d; d = d->hh.next)
		for (unsigned int s = 0; s < DIFF_SUBJECTS; s++) {
			if (d->rows[s].verdict < DIFF_SLOWER || !diff_has_row(d, s))
				continue;
			if (changes++ < TEXT_CHANGES || diff->a.output.wide)
				write_change(diff, d, s);
		}
	if (changes > TEXT_CHANGES && !diff->a.output.wide)
		writer_note(diff->writer, "... and %zu more; --wide has all.",
			    changes - TEXT_CHANGES);
	return changes;
}

static void write_only(const struct diff *diff, enum diff_run run)
{
	char text[NAMES_TEXT] = "", name[2 * NAME_TEXT + 64];
	size_t count = 0, used = 0, told = 0;

	for (const struct diff_device *d = diff->devices; d; d = d->hh.next) {
		int length;

		if (d->sides[!run].devices)
			continue;
		count++;
		full_name(d, name, sizeof(name));
		if (used + strlen(name) + 3 >= sizeof(text))
			continue;
		length = snprintf(text + used, sizeof(text) - used, "%s%s", told ? ", " : "", name);
		used += (size_t)length;
		told++;
	}
	if (count > told)
		writer_note(diff->writer, "Only in %c: %s and %zu more.", run ? 'B' : 'A', text,
			    count - told);
	else if (count)
		writer_note(diff->writer, "Only in %c: %s.", run ? 'B' : 'A', text);
}

static void write_diff_answer(const struct diff *diff, size_t changes)
{
	char least[UNITS_TEXT];

	if (!diff->compared)
		writer_note(diff->writer, "Nothing to compare: no device has faults in both.");
	else if (!changes)
		writer_note(diff->writer,
			    "Nothing differs by more than chance and the host would do (%zu tests; "
			    "what is told: P of all together up to %g, changes from %g%% and %s).",
			    diff->compared, DIFF_LEVEL, diff->least,
			    units_format_duration(diff->least_ns, least));
}

static __u64 faults_of_both(const struct diff_device *device)
{
	return device->sides[DIFF_A].samples.seen + device->sides[DIFF_B].samples.seen;
}

/* First those that differ, then those that fault most. */
static int by_interest(const void *left, const void *right)
{
	const struct diff_device *a = *(struct diff_device *const *)left;
	const struct diff_device *b = *(struct diff_device *const *)right;

	if (a->changes != b->changes)
		return a->changes > b->changes ? -1 : 1;
	if (faults_of_both(a) != faults_of_both(b))
		return faults_of_both(a) > faults_of_both(b) ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void write_compared_devices(const struct diff *diff)
{
	struct diff_device **order =
		calloc(HASH_COUNT(diff->devices) + 1, sizeof(struct diff_device *));
	size_t count = 0, shown;

	if (!order) {
		writer_fail(diff->writer, failed(-ENOMEM, "no memory to order devices"));
		return;
	}
	for (struct diff_device *d = diff->devices; d; d = d->hh.next)
		if (faults_of_both(d))
			order[count++] = d;
	qsort(order, count, sizeof(struct diff_device *), by_interest);
	shown = count > TEXT_DEVICES && !diff->a.output.wide ? TEXT_DEVICES : count;
	if (shown)
		writer_note(diff->writer, "%s", "");
	for (size_t i = 0; i < shown; i++)
		write_compared(diff, order[i]);
	if (count > shown)
		writer_note(diff->writer, "... and %zu more devices; --wide has all.",
			    count - shown);
	free(order);
}

int diff_write_text(const struct diff *diff)
{
	writer_note(diff->writer, "A %s, B %s", diff->a.path, diff->b.path);
	write_diff_answer(diff, write_changes(diff));
	write_only(diff, DIFF_A);
	write_only(diff, DIFF_B);
	write_compared_devices(diff);
	return writer_error(diff->writer);
}
