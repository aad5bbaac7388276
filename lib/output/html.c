// SPDX-License-Identifier: GPL-2.0
/*
 * Tables as a part of an HTML page. A cell shows what text would, and says what JSON would in data-v where that is
 * something else, so that whoever sorts or compares has the whole number. Tables without rows are left out.
 */
#include "lib/output/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"
#include "lib/output/writer.h"

struct html {
	__u64 rows; /* of the current table */
};

static const char *html_entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void html_text(FILE *file, const char *text)
{
	char *copy = printable_copy(text);

	for (const char *c = copy; c && *c; c++) {
		const char *entity = html_entity(*c);

		if (entity)
			fputs(entity, file);
		else
			putc(*c, file);
	}
	free(copy);
}

static int html_open(struct writer *writer)
{
	writer->state = calloc(1, sizeof(struct html));
	return writer->state ? 0 : failed(-ENOMEM, "no memory for an HTML writer");
}

/* What stands for an empty line of text has no paragraph. */
static int html_note(struct writer *writer, const char *sentence)
{
	if (!*sentence)
		return 0;
	fputs("<p>", writer->file);
	html_text(writer->file, sentence);
	fputs("</p>\n", writer->file);
	return 0;
}

static int html_fact(struct writer *writer, const char *name, const char *value)
{
	fputs("<div><dt>", writer->file);
	html_text(writer->file, name);
	fputs("</dt><dd>", writer->file);
	html_text(writer->file, value);
	fputs("</dd></div>\n", writer->file);
	return 0;
}

static bool html_is_number(const struct column *column)
{
	return column->type != COLUMN_TEXT && column->type != COLUMN_TIME;
}

static void put_class(const struct writer *writer, const struct column *column)
{
	bool number = html_is_number(column), wide = column->wide && !writer->config.wide;

	if (number || wide)
		fprintf(writer->file, " class=\"%s%s%s\"", number ? "n" : "",
			number && wide ? " " : "", wide ? "w" : "");
}

static void put_head(const struct writer *writer, const struct column *column)
{
	char field[2 * NAME_TEXT];

	fprintf(writer->file, "<th scope=\"col\" data-f=\"%s\"",
		writer_field(writer, column, field, sizeof(field)));
	put_class(writer, column);
	putc('>', writer->file);
	for (const char *c = column->name; *c; c++)
		putc(*c == '_' ? ' ' : *c, writer->file);
	if (column->unit && html_is_number(column) && column->type != COLUMN_DURATION &&
	    column->type != COLUMN_BYTES)
		fprintf(writer->file, " (%s)",
			!strcmp(column->unit, "percent") ? "%"
			: !strcmp(column->unit, "per_s") ? "/s"
							 : column->unit);
	fputs("</th>", writer->file);
}

static void html_heads(const struct writer *writer)
{
	const struct table *table = writer->table;
	const char *title = table->title ?: table->name;

	fputs("<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"", writer->file);
	html_text(writer->file, title);
	fprintf(writer->file, "\"><table data-name=\"%s\"><caption>", table->name);
	html_text(writer->file, title);
	fputs("</caption>\n<thead><tr>", writer->file);
	for (size_t i = 0; i < table->column_count; i++)
		put_head(writer, &table->columns[i]);
	fputs("</tr></thead>\n<tbody>\n", writer->file);
}

static int html_begin(struct writer *writer)
{
	((struct html *)writer->state)->rows = 0;
	return 0;
}

/* What people read is behind what data-v says. */
static void put_both(const struct writer *writer, const char *value, const char *shown)
{
	fprintf(writer->file, " data-v=\"%s\">%s", value, shown);
}

static void put_number(const struct writer *writer, const struct column *column, __u64 count)
{
	char shown[UNITS_TEXT], value[UNITS_TEXT];

	snprintf(value, sizeof(value), "%llu", count);
	if (column->type == COLUMN_DURATION)
		put_both(writer, value, units_format_duration(count, shown));
	else if (column->type == COLUMN_BYTES)
		put_both(writer, value, units_format_size(count, shown));
	else if (column->type == COLUMN_ADDRESS)
		fprintf(writer->file, ">0x%llx", count);
	else if (column->type == COLUMN_TIME && writer_wall_clock(writer))
		fprintf(writer->file, ">%s",
			units_format_time(writer_realtime(writer, count), shown));
	else
		fprintf(writer->file, ">%s", value);
}

static void put_real(const struct writer *writer, double real)
{
	char value[UNITS_TEXT], shown[UNITS_TEXT];
	double magnitude = fabs(real);

	if (!isfinite(real)) {
		put_both(writer, "", "-");
		return;
	}
	snprintf(shown, sizeof(shown), "%.*f", magnitude < 10 ? 2 : magnitude < 100 ? 1 : 0, real);
	put_both(writer, writer_real(real, value), shown);
}

static void html_cell(const struct writer *writer, const struct column *column, union cell cell)
{
	fputs("<td", writer->file);
	put_class(writer, column);
	if (column->type == COLUMN_TEXT) {
		putc('>', writer->file);
		html_text(writer->file, cell.text ?: "");
	} else if (column->type == COLUMN_REAL)
		put_real(writer, cell.real);
	else if (cell.count == CELL_NONE)
		put_both(writer, "", "-");
	else
		put_number(writer, column, cell.count);
	fputs("</td>", writer->file);
}

static int html_row(struct writer *writer, const void *row)
{
	const struct table *table = writer->table;
	struct html *html = writer->state;
	char text[CELL_ROOM];

	if (!html->rows++)
		html_heads(writer);
	if (writer->config.most_rows && html->rows > writer->config.most_rows)
		return 0;
	fputs("<tr>", writer->file);
	for (size_t i = 0; i < table->column_count; i++)
		html_cell(writer, &table->columns[i], writer_cell(writer, row, i, text));
	fputs("</tr>\n", writer->file);
	return 0;
}

static int html_end(struct writer *writer)
{
	const struct html *html = writer->state;
	size_t most = writer->config.most_rows;

	if (!html->rows)
		return 0;
	fputs("</tbody></table></div>\n", writer->file);
	if (most && html->rows > most)
		fprintf(writer->file,
			"<p class=\"more\">The first %zu of %llu rows; <code>--table %s</code> has "
			"all.</p>\n",
			most, html->rows, writer->table->name);
	return 0;
}

static int html_close(struct writer *writer)
{
	free(writer->state);
	return 0;
}

const struct writer_ops html_writer_ops = {
	.open = html_open,
	.note = html_note,
	.fact = html_fact,
	.begin = html_begin,
	.row = html_row,
	.end = html_end,
	.close = html_close,
};
