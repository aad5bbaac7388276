/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one table of all keys: it parses values, words the errors, prints `faultline-inject help` and
 * the reference in docs/jobs.md.
 */
#ifndef FAULTLINE_JOB_OPTIONS_H
#define FAULTLINE_JOB_OPTIONS_H

#include <stdio.h>

#include "injectors/job/job.h"

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
	OPTION_SIZES,  /* block sizes with weights of a workload */
};

struct option_choice {
	const char *name;
	int value;
};

struct option_row {
	const char *section; /* type */
	const char *key;
	enum option_type type;
	size_t offset, size;   /* of the field in the section's struct */
	double min, max;       /* inclusive, in base units */
	const char *otherwise; /* default as one would write it; NULL: the key is mandatory */
	const struct option_choice *choices;
	const char *meaning;
	bool power_of_two;
	double multiple; /* 0: any */
};

/* Rows of all sections, ordered by section. */
extern const struct option_row option_rows[];
extern const size_t option_row_count;

struct option_section {
	const char *type;
	const char *meaning; /* one sentence */
	bool named;	     /* [type NAME], any number of them; else [type], once */
};

extern const struct option_section option_sections[];
extern const size_t option_section_count;

/* The section of that type, NULL if there is none. */
const struct option_section *option_section(const char *type);

/* Fills `fields`, the struct of the section's type, with defaults, then with its entries.
 * -EBADMSG for unknown, repeated or missing keys and for values out of range. */
int options_fill(const struct job_section *section, void *fields);

/* What a row accepts, in words, in `text` or a constant. */
const char *option_accepted(const struct option_row *row, char *text, size_t size);

/* The candidate that a misspelt word most likely meant, NULL if none is near. */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

/* Help of every key, of one key ("rate") or one section's key ("inject.rate"); -ENOENT. */
int options_help(FILE *file, const char *key);
/* The same as Markdown tables, for docs/jobs.md. */
void options_markdown(FILE *file);

#endif
