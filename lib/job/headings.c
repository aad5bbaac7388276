// SPDX-License-Identifier: GPL-2.0
/* Sections that a kind of job does not have, or not so often, or not by that name. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/base/fail.h"
#include "lib/job/options.h"

/* Of a file at most 40 characters, to which a count= adds a number. */
#define HEADING_TEXT 128

const struct option_section *option_section(const struct option_table *table, const char *type)
{
	for (size_t i = 0; i < table->section_count; i++)
		if (!strcmp(table->sections[i].type, type))
			return &table->sections[i];
	return NULL;
}

static int unknown_section(const struct option_table *table, const struct job_section *section)
{
	const char *types[32], *near;
	char list[256];
	size_t count = 0, used = 0;

	for (; count < table->section_count && count < 32 && used < sizeof(list); count++) {
		types[count] = table->sections[count].type;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 count ? ", " : "", types[count]);
	}
	near = nearest_word(section->type, types, count);
	return failed(job_wrong(section->where), "%s: [%s]: accepted: %s%s%s%s", section->where,
		      section->type, list, near ? "; did you mean " : "", near ? near : "",
		      near ? "?" : "");
}

/* What it is, whatever others there are. */
static int check_heading(const struct option_table *table, const struct job_section *section)
{
	const struct option_section *known = option_section(table, section->type);

	if (!known)
		return unknown_section(table, section);
	if (!known->named && *section->name)
		return failed(-EBADMSG, "%s: [%s %s]: accepted: [%s], which has no name",
			      section->where, section->type, section->name, section->type);
	if (known->named && !*section->name)
		return failed(-EBADMSG, "%s: [%s]: accepted: [%s NAME]", section->where,
			      section->type, section->type);
	for (const char *c = section->name; *c && !known->any_name; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
			return failed(-EBADMSG,
				      "%s: [%s %s]: accepted: names of letters, digits, "
				      "_ and -",
				      section->where, section->type, section->name);
	return 0;
}

/* A section that there is, by what it is. */
struct heading {
	UT_hash_handle hh;
	const struct job_section *section;
	char text[HEADING_TEXT]; /* its type, NUL, its name */
};

static int heading_once(struct heading **known, const struct job_section *section)
{
	struct heading *heading = calloc(1, sizeof(*heading)), *before;
	size_t type = strlen(section->type) + 1, length = type + strlen(section->name);

	if (!heading || length > sizeof(heading->text)) {
		free(heading);
		return failed(-ENOMEM, "no memory for the sections of a job");
	}
	heading->section = section;
	memcpy(heading->text, section->type, type);
	memcpy(heading->text + type, section->name, length - type);
	HASH_FIND(hh, *known, heading->text, length, before);
	if (!before)
		HASH_ADD_KEYPTR(hh, *known, heading->text, length, heading);
	if (!before && heading->hh.tbl)
		return 0;
	free(heading);
	if (!before)
		return failed(-ENOMEM, "no memory for the sections of a job");
	return failed(-EBADMSG, "%s: [%s%s%s] is already at %s; accepted: once", section->where,
		      section->type, *section->name ? " " : "", section->name,
		      before->section->where);
}

int options_check_headings(const struct option_table *table, const struct job_text *text)
{
	struct heading *known = NULL, *heading, *next;
	int err = 0;

	for (size_t i = 0; !err && i < text->section_count; i++)
		err = check_heading(table, &text->sections[i])
			      ?: heading_once(&known, &text->sections[i]);
	HASH_ITER(hh, known, heading, next) {
		HASH_DEL(known, heading);
		free(heading);
	}
	return err;
}
