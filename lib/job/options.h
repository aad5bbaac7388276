/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of all keys of a kind of job: it parses values, words the errors, prints the help and the
 * reference in docs/.
 */
#ifndef FAULTLINE_JOB_OPTIONS_H
#define FAULTLINE_JOB_OPTIONS_H

#include <stdio.h>

#include "lib/job/column.h"
#include "lib/job/text.h"

enum option_type {
	OPTION_TEXT,  /* char[] of `size` */
	OPTION_COUNT, /* whole number */
	OPTION_BYTES,
	OPTION_TIME, /* ns */
	OPTION_RATE, /* double, per second */
	OPTION_REAL, /* double */
	OPTION_BOOL,
	OPTION_CHOICE, /* enum, by name */
	OPTION_CPUS,   /* cpu_set_t: "0-1,3" */
	OPTION_OWN,    /* what the row's own parser takes */
};

struct option_choice {
	const char *name;
	int value;
};

struct option_row;

/* A kind of value that only one program has. */
struct option_own {
	const char *name;      /* "sizes" */
	const char *beginning; /* of what is accepted, before the range */
	bool bytes;	       /* the range is in bytes, not a count */
	int (*parse)(const struct option_row *row, const char *text, void *fields);
};

/* What a key needs to have an effect: another key of its section, or TYPE.KEY of any section of TYPE. */
struct option_need {
	const char *key;
	const char
		*values; /* "a,b": one of them, "": empty, "*": any text, NULL: a number above 0 */
};

#define OPTION_NEEDS 3

struct option_row {
	const char *section; /* type */
	const char *key;
	enum option_type type;
	size_t offset, size;   /* of the field in the section's struct */
	double min, max;       /* inclusive, in base units; min of a text: characters */
	const char *otherwise; /* default as one would write it; NULL: the key is mandatory */
	const struct option_choice *choices;
	const char *meaning;
	bool power_of_two;
	double multiple; /* 0: any */
	const struct option_own *own;
	struct option_need needs[OPTION_NEEDS]; /* all of them */
};

struct option_section {
	const char *type;
	const char *meaning; /* one sentence */
	bool named;	     /* [type NAME], any number of them; else [type], once */
	bool any_name;	     /* also one that no SECTION.KEY could name */
};

/* All keys of one kind of job. */
struct option_table {
	const struct option_row *rows; /* of all sections, ordered by section */
	size_t row_count;
	const struct option_section *sections;
	size_t section_count;
	const struct job_columns *columns;
	const char *help; /* command that lists them */
};

/* The section of that type, NULL if there is none. */
const struct option_section *option_section(const struct option_table *table, const char *type);
/* -EBADMSG with the place and what is accepted: unknown, repeated, or wrongly named sections. */
int options_check_headings(const struct option_table *table, const struct job_text *text);

/* Fills `fields`, the struct of the section's type, with defaults, then with its entries.
 * -EBADMSG for unknown, repeated or missing keys and for values out of range. */
int options_fill(const struct option_table *table, const struct job_section *section, void *fields);

/* -EBADMSG for a value that no row of its key takes, whatever the section's other keys are: of a text that a sweep has not
 * been applied to, whose values it may replace in every point. `fields` is room for the section's struct. */
int options_check_values(const struct option_table *table, const struct job_section *section,
			 void *fields);

/* The row of a key, NULL if there is none. */
const struct option_row *option_row_find(const struct option_table *table, const char *section,
					 const char *key);

/* Several models may have a key of the same name, a row each: the one that the section's other keys choose. */
const struct option_row *option_row_of(const struct option_table *table,
				       const struct job_section *section, const char *key);
/* Whether a key with this value is what is needed. */
bool option_need_holds(const struct option_need *need, const char *value);

/* "action=evict", "iotlb_entries above 0" */
#define OPTION_NEED_TEXT 512
const char *option_need_text(const struct option_need *need, char text[OPTION_NEED_TEXT]);

/* What a row accepts, in words, in `text` or a constant. */
#define OPTION_ACCEPTED_TEXT 512
const char *option_accepted(const struct option_row *row, char *text, size_t size);
/* Is the number one that the row takes? For own parsers. */
bool option_in_range(const struct option_row *row, double value);

/* The candidate that a misspelt word most likely meant, NULL if none is near. */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

/* Help of every key, of one key ("rate") or one section's key ("inject.rate"); -ENOENT. */
int options_help(const struct option_table *table, FILE *file, const char *key);
/* The same as Markdown tables, for docs/jobs.md. */
void options_markdown(const struct option_table *table, FILE *file);

#endif
