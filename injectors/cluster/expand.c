// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/expand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"

#define EXPAND_MOST 160

static int expand_no_memory(void)
{
	return failed(-ENOMEM, "no memory for the job");
}

/* NULL without memory. */
static char *expand_value(const char *value, const char *number)
{
	size_t bytes = strlen(value) + 1;
	char *result, *to;

	for (const char *c = value; *c; c++)
		bytes += *c == '%' ? strlen(number) : 0;
	result = to = malloc(bytes);
	for (; result && *value; value++) {
		if (*value == '%')
			to = stpcpy(to, number);
		else
			*to++ = *value;
	}
	if (result)
		*to = '\0';
	return result;
}

static int expand_entry(struct job_section *section, const char *key, char *value,
			const char *where)
{
	struct job_entry *entry;

	if (!array_grow(&section->entries, &section->entry_room, section->entry_count + 1,
			sizeof(*entry), ARRAY_PLAIN)) {
		free(value);
		return expand_no_memory();
	}
	entry = &section->entries[section->entry_count++];
	*entry = (struct job_entry){strdup(key), value, strdup(where)};
	return entry->key && entry->value && entry->where ? 0 : expand_no_memory();
}

static bool asks_for_ios(const struct job_section *section)
{
	static const char *const types[] = {"borrow", "vm", "client", "target"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(section->type, types[i]))
			return true;
	return false;
}

/* `number`: "" for a section that is one. */
static int expand_section(struct job_text *text, const struct job_section *from, const char *number)
{
	struct job_section *section;
	char name[96];
	int err = 0;

	if (!array_grow(&text->sections, &text->section_room, text->section_count + 1,
			sizeof(*section), ARRAY_PLAIN))
		return expand_no_memory();
	section = &text->sections[text->section_count++];
	snprintf(name, sizeof(name), "%s%s", from->name, number);
	*section = (struct job_section){
		.type = strdup(from->type), .name = strdup(name), .where = strdup(from->where)};
	if (!section->type || !section->name || !section->where)
		return expand_no_memory();
	for (size_t i = 0; !err && i < from->entry_count; i++) {
		const struct job_entry *entry = &from->entries[i];

		if (*number && !strcmp(entry->key, "count"))
			continue;
		err = expand_entry(section, entry->key,
				   *number ? expand_value(entry->value, number)
					   : strdup(entry->value),
				   entry->where);
	}
	if (!err && asks_for_ios(from) && !job_section_entry(from, "group"))
		err = expand_entry(section, "group", strdup(from->name), from->where);
	return err;
}

/* 0: it is one. Negative: wrong. */
static int expand_count(const struct job_section *section)
{
	const struct job_entry *entry = job_section_entry(section, "count");
	unsigned long count;
	char *end;

	/* Those have a meaning of their own, or none. */
	if (!entry || !*section->name)
		return 0;
	count = strtoul(entry->value, &end, 10);
	if (end == entry->value || *end || count > EXPAND_MOST)
		return failed(job_wrong(entry->where), "%s: %s=%s: accepted: 0 to %d", entry->where,
			      job_key(section, entry).text, job_shown(entry->value).text,
			      EXPAND_MOST);
	return (int)count;
}

int cluster_expand(const struct job_text *text, struct job_text **expanded)
{
	struct job_text *result = job_text_new(text->path);
	int err = result ? 0 : expand_no_memory();

	for (size_t i = 0; !err && i < text->section_count; i++) {
		const struct job_section *section = &text->sections[i];
		int count = expand_count(section);
		char number[16];

		if (count <= 0)
			err = count < 0 ? count : expand_section(result, section, "");
		for (int n = 0; !err && n < count; n++) {
			snprintf(number, sizeof(number), "%d", n);
			err = expand_section(result, section, number);
		}
	}
	if (err)
		job_text_free(result);
	else
		*expanded = result;
	return err;
}
