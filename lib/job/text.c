// SPDX-License-Identifier: GPL-2.0
#include "lib/job/text.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fail.h"

/*
 * The reader stands between the file and inih: the packaged library reports neither line numbers
 * nor sections without entries, and cuts names at 50 characters.
 */
struct reader {
	struct job_text *text;
	FILE *file;
	int line;
	int error;
};

static char *trimmed(char *s)
{
	char *end = s + strlen(s);

	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static char *place(const struct reader *reader)
{
	char *where;

	return asprintf(&where, "%s:%d", reader->text->path, reader->line) < 0 ? NULL : where;
}

static struct job_section *append_section(struct job_text *text, const char *type, const char *name,
					  char *where)
{
	struct job_section *sections, *section;

	sections = reallocarray(text->sections, text->section_count + 1, sizeof(*sections));
	if (!sections) {
		free(where);
		return NULL;
	}
	text->sections = sections;
	section = &sections[text->section_count++];
	*section = (struct job_section){
		.type = strdup(type),
		.name = strdup(name),
		.where = where,
	};
	return section->type && section->name && where ? section : NULL;
}

static int append_entry(struct job_section *section, const char *key, const char *value,
			char *where)
{
	struct job_entry *entries, *entry;

	entries = reallocarray(section->entries, section->entry_count + 1, sizeof(*entries));
	if (!entries) {
		free(where);
		return failed(-ENOMEM, "no memory for the job file");
	}
	section->entries = entries;
	entry = &entries[section->entry_count++];
	*entry = (struct job_entry){.key = strdup(key), .value = strdup(value), .where = where};
	if (!entry->key || !entry->value || !where)
		return failed(-ENOMEM, "no memory for the job file");
	return 0;
}

static int begin_section(struct reader *reader, char *line)
{
	char *close = strchr(line, ']'), *type = line + 1, *name;

	if (!close)
		return failed(-EBADMSG, "%s:%d: %s: accepted: [TYPE] or [TYPE NAME]",
			      reader->text->path, reader->line, line);
	*close = '\0';
	type = trimmed(type);
	name = type + strcspn(type, " \t");
	if (*name)
		*name++ = '\0';
	name = trimmed(name);
	if (!*type)
		return failed(-EBADMSG, "%s:%d: [%s]: accepted: [TYPE] or [TYPE NAME]",
			      reader->text->path, reader->line, type);
	if (strlen(type) + strlen(name) > 40)
		return failed(-EBADMSG,
			      "%s:%d: [%s %s]: accepted: at most 40 characters in a section's name",
			      reader->text->path, reader->line, type, name);
	if (!append_section(reader->text, type, name, place(reader)))
		return failed(-ENOMEM, "no memory for the job file");
	return 0;
}

/* fgets() for inih: counts lines, refuses what inih would cut silently, sees section headings. */
static char *read_line(char *buffer, int size, void *stream)
{
	struct reader *reader = stream;
	char copy[JOB_LINE_MAX + 2];
	size_t length;

	if (reader->error || !fgets(buffer, size, reader->file))
		return NULL;
	reader->line++;
	length = strlen(buffer);
	if (length >= JOB_LINE_MAX ||
	    (length && buffer[length - 1] != '\n' && !feof(reader->file))) {
		reader->error =
			failed(-EBADMSG, "%s:%d: accepted: lines of text of at most %d characters",
			       reader->text->path, reader->line, JOB_LINE_MAX);
		return NULL;
	}
	memcpy(copy, buffer, length + 1);
	if (trimmed(copy)[0] == '[')
		reader->error = begin_section(reader, trimmed(copy));
	return reader->error ? NULL : buffer;
}

static int on_entry(void *user, const char *section, const char *key, const char *value)
{
	struct reader *reader = user;
	struct job_text *text = reader->text;

	(void)section; /* read_line() has its full name */
	if (reader->error)
		return 0;
	if (!text->section_count)
		reader->error = failed(-EBADMSG, "%s:%d: %s: accepted: entries after a [SECTION]",
				       text->path, reader->line, key);
	else if (!*key)
		reader->error = failed(-EBADMSG, "%s:%d: =%s: accepted: KEY = VALUE", text->path,
				       reader->line, value);
	else
		reader->error = append_entry(&text->sections[text->section_count - 1], key, value,
					     place(reader));
	return !reader->error;
}

static int parse(struct reader *reader)
{
	int line;

	ini_use_stack = false;
	ini_allow_realloc = false;
	ini_initial_alloc = ini_max_line = JOB_LINE_MAX + 3;
	ini_allow_multiline = false;
	line = ini_parse_stream(read_line, reader, on_entry, reader);
	if (reader->error)
		return reader->error;
	if (line == -2)
		return failed(-ENOMEM, "no memory for the job file");
	if (line)
		return failed(-EBADMSG, "%s:%d: accepted: [SECTION], KEY = VALUE or ; comment",
			      reader->text->path, line);
	if (ferror(reader->file))
		return failed(-EIO, "%s: cannot read: %s", reader->text->path, strerror(errno));
	return 0;
}

struct job_text *job_text_new(const char *path)
{
	struct job_text *text = calloc(1, sizeof(*text));

	if (text && (text->path = strdup(path)))
		return text;
	free(text);
	return NULL;
}

int job_text_read(struct job_text **text, const char *path)
{
	struct reader reader = {.text = job_text_new(path)};
	struct stat status;
	int err = 0;

	if (!reader.text)
		return failed(-ENOMEM, "no memory for the job file");
	reader.file = fopen(path, "re");
	if (!reader.file) {
		err = failed(-errno, "%s: cannot open the job file: %s", path, strerror(errno));
	} else if (fstat(fileno(reader.file), &status) || S_ISDIR(status.st_mode)) {
		err = failed(-EBADMSG, "%s: is a directory; accepted: a job file", path);
	} else {
		err = parse(&reader);
		if (!err && !reader.text->section_count)
			err = failed(-EBADMSG, "%s: is empty; accepted: a job file with [SECTION]s",
				     path);
	}
	if (reader.file)
		fclose(reader.file);
	if (err) {
		job_text_free(reader.text);
		return err;
	}
	*text = reader.text;
	return 0;
}

void job_text_free(struct job_text *text)
{
	if (!text)
		return;
	for (size_t i = 0; i < text->section_count; i++) {
		struct job_section *section = &text->sections[i];

		for (size_t j = 0; j < section->entry_count; j++) {
			free(section->entries[j].key);
			free(section->entries[j].value);
			free(section->entries[j].where);
		}
		free(section->entries);
		free(section->type);
		free(section->name);
		free(section->where);
	}
	free(text->sections);
	free(text->path);
	free(text);
}

struct job_text *job_text_copy(const struct job_text *text)
{
	struct job_text *copy = calloc(1, sizeof(*copy));
	bool whole = copy && (copy->path = strdup(text->path));

	for (size_t i = 0; whole && i < text->section_count; i++) {
		const struct job_section *from = &text->sections[i];
		struct job_section *to =
			append_section(copy, from->type, from->name, strdup(from->where));

		whole = to;
		for (size_t j = 0; whole && j < from->entry_count; j++)
			whole = !append_entry(to, from->entries[j].key, from->entries[j].value,
					      strdup(from->entries[j].where));
	}
	if (whole)
		return copy;
	job_text_free(copy);
	return NULL;
}

struct job_section *job_text_section(const struct job_text *text, const char *type,
				     const char *name)
{
	for (size_t i = 0; i < text->section_count; i++)
		if (!strcmp(text->sections[i].type, type) &&
		    (!name || !strcmp(text->sections[i].name, name)))
			return &text->sections[i];
	return NULL;
}

/* Is `target` (up to `length`) this section's "TYPE NAME", NAME, or, if it has none, TYPE? */
static bool section_is(const struct job_section *section, const char *target, size_t length)
{
	char full[128];
	const char *plain = *section->name ? section->name : section->type;

	snprintf(full, sizeof(full), "%s %s", section->type, section->name);
	return (strlen(full) == length && !strncmp(full, target, length)) ||
	       (strlen(plain) == length && !strncmp(plain, target, length));
}

int job_text_set(struct job_text *text, const char *target, const char *value, const char *where)
{
	const char *dot = strchr(target, '.');
	struct job_section *section = NULL;
	char *copy;

	if (!dot || dot == target || !dot[1])
		return failed(-EINVAL, "%s: %s=%s: accepted: SECTION.KEY=VALUE", where, target,
			      value);
	for (size_t i = 0; i < text->section_count; i++) {
		if (!section_is(&text->sections[i], target, (size_t)(dot - target)))
			continue;
		if (section)
			return failed(-EINVAL,
				      "%s: %s: names both [%s %s] and [%s %s]; "
				      "accepted: \"TYPE NAME.KEY\"",
				      where, target, section->type, section->name,
				      text->sections[i].type, text->sections[i].name);
		section = &text->sections[i];
	}
	if (!section && !strncmp(target, "machine.", 8))
		section = append_section(text, "machine", "", strdup(where));
	if (!section)
		return failed(-EINVAL, "%s: %s: %s has no section [%.*s]", where, target,
			      text->path, (int)(dot - target), target);
	copy = strdup(where);
	for (size_t j = 0; copy && j < section->entry_count; j++) {
		struct job_entry *entry = &section->entries[j];

		if (strcmp(entry->key, dot + 1) != 0)
			continue;
		free(entry->where);
		free(entry->value);
		entry->where = copy;
		entry->value = strdup(value);
		return entry->value ? 0 : failed(-ENOMEM, "no memory for the job file");
	}
	return append_entry(section, dot + 1, value, copy);
}

int job_text_need(struct job_text *text, const char *type, const char *where)
{
	if (job_text_section(text, type, NULL) || append_section(text, type, "", strdup(where)))
		return 0;
	return failed(-ENOMEM, "no memory for the job file");
}

int job_text_suggest(struct job_text *text, const char *target, const char *value,
		     const char *where)
{
	const char *dot = strchr(target, '.');

	for (size_t i = 0; dot && i < text->section_count; i++) {
		const struct job_section *section = &text->sections[i];

		if (!section_is(section, target, (size_t)(dot - target)))
			continue;
		for (size_t j = 0; j < section->entry_count; j++)
			if (!strcmp(section->entries[j].key, dot + 1))
				return 0;
	}
	return job_text_set(text, target, value, where);
}

int job_text_assign(struct job_text *text, const char *assignment)
{
	const char *value = strchr(assignment, '=');
	char *target;
	int err;

	if (!value)
		return failed(-EINVAL, "--set %s: accepted: SECTION.KEY=VALUE", assignment);
	target = strndup(assignment, (size_t)(value - assignment));
	err = target ? job_text_set(text, target, value + 1, "--set")
		     : failed(-ENOMEM, "no memory for --set %s", assignment);
	free(target);
	return err;
}

int job_text_shorten(struct job_text *text)
{
	struct job_section *section = job_text_section(text, "short", NULL);

	if (!section)
		return failed(-EBADMSG, "%s: has no [short] section, so --short changes nothing",
			      text->path);
	for (size_t j = 0; j < section->entry_count; j++) {
		const struct job_entry *entry = &section->entries[j];
		int err = job_text_set(text, entry->key, entry->value, entry->where);

		if (err)
			return -EBADMSG;
	}
	return 0;
}
