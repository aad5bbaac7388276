// SPDX-License-Identifier: GPL-2.0
/* Sections that a kind of job does not have, or not so often, or not by that name. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/job/options.h"

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

static int check_heading(const struct option_table *table, const struct job_text *text,
			 size_t index)
{
	const struct job_section *section = &text->sections[index];
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
	for (size_t i = 0; i < index; i++)
		if (!strcmp(text->sections[i].type, section->type) &&
		    !strcmp(text->sections[i].name, section->name))
			return failed(-EBADMSG, "%s: [%s%s%s] is already at %s; accepted: once",
				      section->where, section->type, *section->name ? " " : "",
				      section->name, text->sections[i].where);
	return 0;
}

int options_check_headings(const struct option_table *table, const struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < text->section_count; i++)
		err = check_heading(table, text, i);
	return err;
}
