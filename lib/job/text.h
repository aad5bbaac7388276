/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A job file as text: sections in order, each with its entries and where they were written.
 *
 * Nothing is interpreted here, so that a sweep or --set can replace a value before the one parser
 * of the option table sees it, and an error still names the place that the user can edit.
 */
#ifndef FAULTLINE_JOB_TEXT_H
#define FAULTLINE_JOB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define JOB_LINE_MAX 4000

struct job_entry {
	char *key;
	char *value;
	char *where; /* "job.ini:12" or "--set" */
};

/* What a sentence shows of a text that may be long: all, or its beginning and "...". */
struct job_shown {
	char text[80];
};
struct job_shown job_shown(const char *text);

/* The error of what is wrong at that place: -EINVAL for an option, -EBADMSG for a line of a file. */
int job_wrong(const char *where);

struct job_section {
	char *type; /* "tenant" of "[tenant vm]" */
	char *name; /* "vm", "" where there is none */
	char *where;
	struct job_entry *entries;
	size_t entry_count, entry_room;
};

struct job_text {
	char *path;
	struct job_section *sections;
	size_t section_count, section_room;
};

/*
 * -ENOENT and other errno of open; -EBADMSG for what is no INI file. Leaves a sentence, which calls what
 * is wanted by its `kind`: "a job file".
 */
int job_text_read(struct job_text **text, const char *path, const char *kind);
/* A job without a file: `path` stands for it in sentences. NULL without memory. */
struct job_text *job_text_new(const char *path);
/* A deep copy, for one sweep point's own values; NULL without memory. */
struct job_text *job_text_copy(const struct job_text *text);
void job_text_free(struct job_text *text);

/* The first section of a type, NULL if none; of a type and name. */
struct job_section *job_text_section(const struct job_text *text, const char *type,
				     const char *name);

/* What a sentence calls a key: with its section where the place is no line of a file: "devtlb.ways". */
struct job_key {
	char text[160];
};
struct job_key job_key(const struct job_section *section, const struct job_entry *entry);

/* The first entry of that key, NULL if none. */
struct job_entry *job_section_entry(const struct job_section *section, const char *key);

/*
 * Replaces or adds one value. `target` is SECTION.KEY, where SECTION is a section's name, its type
 * if it has no name, or "TYPE NAME"; [machine] is made if need be. `where` goes into errors about
 * the value. job_wrong() if no or more than one section is meant.
 */
int job_text_set(struct job_text *text, const char *target, const char *value, const char *where);

/* The entry that job_text_set() of `target` would replace, NULL if it would add one or refuse. */
struct job_entry *job_text_entry(const struct job_text *text, const char *target);

/* Makes [type] if there is none, so that values may be set in it. */
int job_text_need(struct job_text *text, const char *type, const char *where);
/* Sets a value only where there is none. */
int job_text_suggest(struct job_text *text, const char *target, const char *value,
		     const char *where);

/* "SECTION.KEY=VALUE" of an option --set, with job_text_set(). */
int job_text_assign(struct job_text *text, const char *assignment);

/* Applies every entry of the [short] section with job_text_set(), each key once. */
int job_text_shorten(struct job_text *text);

#endif
