// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/job/options.h"
#include "lib/base/fail.h"

static const char *type_name(const struct option_row *row)
{
	static const char *const names[] = {
		[OPTION_TEXT] = "text",	  [OPTION_COUNT] = "count",	[OPTION_BYTES] = "bytes",
		[OPTION_TIME] = "time",	  [OPTION_RATE] = "per second", [OPTION_REAL] = "number",
		[OPTION_BOOL] = "yes/no", [OPTION_CHOICE] = "choice",	[OPTION_CPUS] = "CPU list",

	};

	return row->own ? row->own->name : names[row->type];
}

static const char *default_text(const struct option_row *row)
{
	if (!row->otherwise)
		return "mandatory";
	return *row->otherwise ? row->otherwise : "none";
}

#define NEEDS_TEXT ((size_t)OPTION_NEEDS * OPTION_NEED_TEXT)

/* "lookup=ats", "action=delay and distribution=uniform", "" for a row that needs nothing. */
static const char *needs_text(const struct option_row *row, char text[NEEDS_TEXT])
{
	char one[OPTION_NEED_TEXT];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < OPTION_NEEDS && row->needs[i].key; i++)
		used += (size_t)snprintf(text + used, NEEDS_TEXT - used, "%s%s", i ? " and " : "",
					 option_need_text(&row->needs[i], one));
	return text;
}

/* Behind six blanks, wrapped at 80 columns. */
static void print_wrapped(FILE *file, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column && column + 1 + word > 80) {
			fputc('\n', file);
			column = 0;
		}
		column += (size_t)fprintf(file, "%s%.*s", column ? " " : "      ", (int)word, text);
		text += word + strspn(text + word, " ");
	}
	fputc('\n', file);
}

static void print_row(FILE *file, const struct option_row *row)
{
	char accepted[OPTION_ACCEPTED_TEXT], needs[NEEDS_TEXT], line[2048];

	fprintf(file, "  %s.%s\n", row->section, row->key);
	print_wrapped(file, row->meaning);
	snprintf(line, sizeof(line), "%s: %s; default: %s", type_name(row),
		 option_accepted(row, accepted, sizeof(accepted)), default_text(row));
	if (*needs_text(row, needs))
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "; only with %s", needs);
	print_wrapped(file, line);
}

static void print_results(const struct job_columns *columns, FILE *file)
{
	fprintf(file, "Results: %s\n", columns->heading);
	for (size_t i = 0; i < columns->count; i++) {
		const struct job_column *column = &columns->columns[i];

		fprintf(file, "  %s%s%s\n", column->name, column->alias ? ", short " : "",
			column->alias ? column->alias : "");
		if (column->meaning)
			print_wrapped(file, column->meaning);
	}
}

/* "rate" fits inject.rate and workload.rate, "inject" all of a section, "inject.rate" one. */
static bool row_fits(const struct option_row *row, const char *key)
{
	size_t length = strlen(row->section);

	return !strcmp(row->key, key) || !strcmp(row->section, key) ||
	       (!strncmp(key, row->section, length) && key[length] == '.' &&
		!strcmp(key + length + 1, row->key));
}

int options_help(const struct option_table *table, FILE *file, const char *key)
{
	const char **words = calloc(table->section_count + table->row_count, sizeof(*words)), *near;
	size_t count = 0, found = 0;

	if (!words)
		return failed(-ENOMEM, "no memory for the names of keys");
	for (size_t s = 0; s < table->section_count; s++) {
		const char *type = table->sections[s].type;

		words[count++] = type;
		if (!key || !strcmp(key, type)) {
			fprintf(file, "[%s] %s\n", type, table->sections[s].meaning);
			found++;
		}
		for (size_t i = 0; i < table->row_count; i++) {
			const struct option_row *row = &table->rows[i];

			if (strcmp(row->section, type) != 0 || (key && !row_fits(row, key)))
				continue;
			print_row(file, row);
			found++;
		}
	}
	if (!key || !strcmp(key, "results")) {
		print_results(table->columns, file);
		found++;
	}
	for (size_t i = 0; i < table->row_count; i++)
		words[count++] = table->rows[i].key;
	near = found ? NULL : nearest_word(key, words, count);
	free(words);
	if (found)
		return 0;
	return failed(-ENOENT, "%s: no such key or section; %s%s", key,
		      near ? "did you mean " : table->help, near ? near : " lists them");
}

void options_markdown(const struct option_table *table, FILE *file)
{
	char accepted[OPTION_ACCEPTED_TEXT], needs[NEEDS_TEXT];

	for (size_t s = 0; s < table->section_count; s++) {
		bool begun = false;

		fprintf(file, "### [%s]\n\n%s\n\n", table->sections[s].type,
			table->sections[s].meaning);
		for (size_t i = 0; i < table->row_count; i++) {
			const struct option_row *row = &table->rows[i];

			if (strcmp(row->section, table->sections[s].type) != 0)
				continue;
			if (!begun)
				fputs("| key | type | accepted | default | meaning |\n"
				      "|---|---|---|---|---|\n",
				      file);
			begun = true;
			needs_text(row, needs);
			fprintf(file, "| `%s` | %s | %s | %s | %s%s%s%s |\n", row->key,
				type_name(row), option_accepted(row, accepted, sizeof(accepted)),
				default_text(row), row->meaning, *needs ? "; only with `" : "",
				needs, *needs ? "`" : "");
		}
		if (begun)
			fputc('\n', file);
	}
	fputs("### Results\n\n| column | short | unit | meaning |\n|---|---|---|---|\n", file);
	for (size_t i = 0; i < table->columns->count; i++) {
		const struct job_column *column = &table->columns->columns[i];

		fprintf(file, "| `%s` | %s | %s | %s |\n", column->name,
			column->alias ? column->alias : "", column->unit ? column->unit : "",
			column->meaning ? column->meaning : "");
	}
}
