// SPDX-License-Identifier: GPL-2.0
/* Text for people: at most 80 columns, human units, numbers right-aligned, words left-aligned. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/device_name.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"
#include "lib/output/writer.h"

#define LINE_WIDTH 80
#define GAP	   "  "
#define TIME_WIDTH 30 /* a whole ISO 8601 time */

static bool column_shown(const struct writer *writer, const struct column *column)
{
	return !column->wide || writer->config.wide;
}

static int text_no_memory(void)
{
	return failed(-ENOMEM, "no memory for a text");
}

static bool column_left_aligned(const struct column *column)
{
	return column->type == COLUMN_TEXT || column->type == COLUMN_TIME;
}

static bool is_last(const struct writer *writer, size_t index)
{
	const struct table *table = writer->table;

	for (size_t i = index + 1; i < table->column_count; i++)
		if (column_shown(writer, &table->columns[i]))
			return false;
	return true;
}

static void text_put_cell(struct writer *writer, size_t index, const char *text)
{
	const struct table *table = writer->table;
	const struct column *column = &table->columns[index];
	int width = (int)(writer->config.wide && column->whole ? column->whole : column->width);
	bool last = is_last(writer, index);

	if (!column_left_aligned(column))
		fprintf(writer->file, "%*s", width, text);
	else if (last)
		fputs(text, writer->file);
	else
		fprintf(writer->file, "%-*s", width, text);
	fputs(last ? "\n" : GAP, writer->file);
}

/*
 * A word that is too long is cut with a mark, unless the reader asked for all of it: at its end, but before
 * what tells devices, or virtual machines, of one name apart.
 */
static void cut_word(const struct writer *writer, const struct column *column, char *text)
{
	size_t width = column->width, length = strlen(text);
	size_t tail = device_text_tail(text);

	if (!width || writer->config.wide || length <= width)
		return;
	if (tail + 2 > width)
		tail = 0;
	text[width - tail - 1] = '~';
	memmove(text + width - tail, text + length - tail, tail + 1);
}

static void format_text(const struct writer *writer, const struct column *column, const char *value,
			char *text, size_t size)
{
	printable(value ? value : "", text, size);
	cut_word(writer, column, text);
}

/* The whole time if the column is wide enough, else as much of the time of day as fits. */
static void format_wall_clock(const struct writer *writer, const struct column *column, __u64 ns,
			      char *text)
{
	size_t width = column->width;

	units_format_time(writer_realtime(writer, ns), text);
	if (!width || width >= TIME_WIDTH || writer->config.wide)
		return;
	memmove(text, text + strlen("2026-11-21T"), strlen("14:02:03.123456789"));
	text[width < 10 ? 8 : width < 18 ? width : 18] = '\0';
}

static void format_number(const struct writer *writer, const struct column *column, __u64 count,
			  char text[UNITS_TEXT])
{
	unsigned int width = column->width;

	switch (column->type) {
	case COLUMN_BYTES:
		units_format_size(count, text);
		break;
	case COLUMN_DURATION:
		units_format_duration(count, text);
		break;
	case COLUMN_ADDRESS:
		snprintf(text, UNITS_TEXT, "0x%llx", (unsigned long long)count);
		break;
	case COLUMN_TIME:
		if (writer_wall_clock(writer)) {
			format_wall_clock(writer, column, count, text);
			break;
		}
		snprintf(text, UNITS_TEXT, "%llu", (unsigned long long)count);
		break;
	default:
		units_format_count(count, width && !writer->config.wide ? width : 20, text);
	}
}

static void format_real(double value, char text[UNITS_TEXT])
{
	double magnitude = fabs(value);

	if (isnan(value))
		strcpy(text, "-");
	else
		snprintf(text, UNITS_TEXT, "%.*f",
			 magnitude < 10	   ? 2
			 : magnitude < 100 ? 1
					   : 0,
			 value);
}

/* Where a column begins on its line. */
static size_t column_begin(const struct writer *writer, size_t index)
{
	const struct table *table = writer->table;
	size_t begin = 0;

	for (size_t i = 0; i < index; i++)
		if (column_shown(writer, &table->columns[i]))
			begin += table->columns[i].width + strlen(GAP);
	return begin;
}

/* Text of no fixed width at a line's end goes on below its beginning, at a blank. Nothing is cut. */
static int put_wrapped(struct writer *writer, size_t index, const char *value)
{
	size_t begin = column_begin(writer, index), at = begin;
	bool wraps = !writer->config.wide && begin < LINE_WIDTH / 2 + 4;
	char *copy = printable_copy(value);
	const char *text = copy;

	if (!copy)
		return text_no_memory();
	for (text += strspn(text, " "); *text;) {
		size_t word = strcspn(text, " ");

		if (wraps && at > begin && at + 1 + word > LINE_WIDTH) {
			fprintf(writer->file, "\n%*s", (int)begin, "");
			at = begin;
		} else if (at > begin) {
			putc(' ', writer->file);
			at++;
		}
		fwrite(text, 1, word, writer->file);
		at += word;
		text += word + strspn(text + word, " ");
	}
	putc('\n', writer->file);
	free(copy);
	return 0;
}

static int text_row(struct writer *writer, const void *row)
{
	const struct table *table = writer->table;
	char text[512], room[CELL_ROOM];
	int err = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];

		union cell cell;

		if (!column_shown(writer, column))
			continue;
		cell = writer_cell(writer, row, i, room);
		if (column->type == COLUMN_TEXT && !column->width && is_last(writer, i)) {
			err = put_wrapped(writer, i, cell.text ? cell.text : "");
			continue;
		}
		if (column->type == COLUMN_TEXT)
			format_text(writer, column, cell.text, text, sizeof(text));
		else if (column->type == COLUMN_REAL)
			format_real(cell.real, text);
		else if (cell.count == CELL_NONE)
			strcpy(text, "-");
		else
			format_number(writer, column, cell.count, text);
		text_put_cell(writer, i, text);
	}
	return err;
}

static int text_begin(struct writer *writer)
{
	const struct table *table = writer->table;
	char heading[2 * NAME_TEXT];

	if (writer->tables > 1)
		putc('\n', writer->file);
	if (table->title)
		fprintf(writer->file, "%s\n", table->title);
	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		const char *unit = column->type == COLUMN_COUNT || column->type == COLUMN_REAL
					   ? column->unit
					   : NULL;

		if (!column_shown(writer, column))
			continue;
		if (unit && !strcmp(unit, "percent"))
			unit = "%";
		else if (unit && !strcmp(unit, "per_s"))
			unit = "/s";
		snprintf(heading, sizeof(heading), "%s%s%s", column->name,
			 unit && isalpha((unsigned char)*unit) ? "_" : "", unit ? unit : "");
		for (char *c = heading; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		if (column->type == COLUMN_TEXT)
			cut_word(writer, column, heading);
		text_put_cell(writer, i, heading);
	}
	return 0;
}

static int text_end(struct writer *writer)
{
	(void)writer;
	return 0;
}

/* Wraps at blanks. */
static int text_note(struct writer *writer, const char *value)
{
	char *copy = printable_copy(value);
	const char *sentence = copy;
	size_t column = 0;

	if (!copy)
		return text_no_memory();
	while (*sentence) {
		size_t word = strcspn(sentence, " ");

		if (column && column + 1 + word > LINE_WIDTH) {
			putc('\n', writer->file);
			column = 0;
		} else if (column) {
			putc(' ', writer->file);
			column++;
		}
		fwrite(sentence, 1, word, writer->file);
		column += word;
		sentence += word + strspn(sentence + word, " ");
	}
	putc('\n', writer->file);
	free(copy);
	return 0;
}

static int text_fact(struct writer *writer, const char *name, const char *value)
{
	char text[512];

	fprintf(writer->file, "%s: %s\n", name, printable(value, text, sizeof(text)));
	return 0;
}

const struct writer_ops text_writer_ops = {
	.note = text_note,
	.fact = text_fact,
	.begin = text_begin,
	.row = text_row,
	.end = text_end,
};
