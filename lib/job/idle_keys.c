// SPDX-License-Identifier: GPL-2.0
#include "lib/job/idle_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"

/* A key of one section that needs others. */
struct idle_key {
	const struct option_row *row;
	char *name; /* of the section */
	bool used;  /* at some point */
	int error;
	char *sentence; /* of the first point where it was idle */
};

/* A value, and where it was written; NULL for a default. */
struct written {
	const char *value, *where;
};

static struct written value_in(const struct option_row *row, const struct job_section *section)
{
	const struct job_entry *entry = section ? job_section_entry(section, row->key) : NULL;
	struct written written = {entry ? entry->value : row->otherwise ?: "",
				  entry ? entry->where : NULL};

	if (row->type == OPTION_BOOL &&
	    (!strcmp(written.value, "1") || !strcmp(written.value, "true")))
		written.value = "yes";
	return written;
}

/* Is there no value that satisfies? `written` is then one that does not. "TYPE.KEY" may be of any section. */
static bool is_unsatisfied(const struct option_table *table, const struct job_text *text,
			   const struct job_section *section, const struct option_need *need,
			   struct written *written)
{
	const char *dot = strchr(need->key, '.'), *key = dot ? dot + 1 : need->key;
	const struct option_row *row;
	const char *type = section->type;
	char other[32];

	if (dot) {
		snprintf(other, sizeof(other), "%.*s", (int)(dot - need->key), need->key);
		type = other;
	}
	row = option_row_find(table, type, key);
	*written = value_in(row, dot ? job_text_section(text, type, NULL) : section);
	for (size_t i = 0; dot && i < text->section_count; i++)
		if (!strcmp(text->sections[i].type, type) &&
		    option_need_holds(need, value_in(row, &text->sections[i]).value))
			return false;
	return !option_need_holds(need, written->value);
}

static bool is_option(const char *where)
{
	return where && !strncmp(where, "--", 2);
}

static struct idle_key *find_or_add(struct idle_keys *idle, const struct option_row *row,
				    const char *name)
{
	struct idle_key *key;

	for (size_t i = 0; i < idle->count; i++)
		if (idle->keys[i].row == row && !strcmp(idle->keys[i].name, name))
			return &idle->keys[i];
	if (!array_grow(&idle->keys, &idle->room, idle->count + 1, sizeof(*key), ARRAY_PLAIN))
		return NULL;
	key = &idle->keys[idle->count];
	*key = (struct idle_key){.row = row, .name = strdup(name)};
	idle->count += key->name != NULL;
	return key->name ? key : NULL;
}

static int add_entry(struct idle_keys *idle, const struct option_table *table,
		     const struct job_text *text, const struct job_section *section,
		     const struct job_entry *entry)
{
	const struct option_row *row = option_row_of(table, section, entry->key);
	const struct option_need *need = row ? row->needs : NULL;
	bool unsatisfied = false;
	struct written written;
	char needed[OPTION_NEED_TEXT];
	struct idle_key *key;

	/* What a preset stands for ("[preset] design") nobody has written. */
	if (!need || !need->key || entry->where[0] == '[')
		return 0;
	key = find_or_add(idle, row, section->name);
	if (!key)
		return failed(-ENOMEM, "no memory for the job's keys");
	for (; need < row->needs + OPTION_NEEDS && need->key; need++)
		if ((unsatisfied = is_unsatisfied(table, text, section, need, &written)))
			break;
	/* What an option has switched off is not wrong in the file. */
	key->used |= !unsatisfied || (is_option(written.where) && !is_option(entry->where));
	if (key->used || key->sentence)
		return 0;
	key->error = job_wrong(entry->where);
	if (asprintf(&key->sentence, "%s: %s=%s: has no effect with %s=%s; accepted: with %s",
		     entry->where, job_key(section, entry).text, job_shown(entry->value).text,
		     need->key, written.value, option_need_text(need, needed)) < 0) {
		key->sentence = NULL;
		return failed(-ENOMEM, "no memory for the job's keys");
	}
	return 0;
}

int idle_keys_add(struct idle_keys *idle, const struct option_table *table,
		  const struct job_text *point)
{
	int err = 0;

	for (size_t i = 0; i < point->section_count; i++)
		for (size_t j = 0; !err && j < point->sections[i].entry_count; j++)
			err = add_entry(idle, table, point, &point->sections[i],
					&point->sections[i].entries[j]);
	return err;
}

int idle_keys_refuse(const struct idle_keys *idle)
{
	for (size_t i = 0; i < idle->count; i++)
		if (!idle->keys[i].used)
			return failed(idle->keys[i].error, "%s", idle->keys[i].sentence);
	return 0;
}

void idle_keys_free(struct idle_keys *idle)
{
	for (size_t i = 0; i < idle->count; i++) {
		free(idle->keys[i].name);
		free(idle->keys[i].sentence);
	}
	free(idle->keys);
	*idle = (struct idle_keys){0};
}
