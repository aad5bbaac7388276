// SPDX-License-Identifier: GPL-2.0
#include "lib/job/text.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"

#define ASSIGNED "--set" /* the place of what this option assigned */

/*
 * The reader stands between the file and inih: the packaged library reports neither line numbers
 * nor sections without entries, and cuts names at 50 characters.
 */
struct text_reader {
	struct job_text *text;
	FILE *file;
	int line;
	int error;
};

struct job_shown job_shown(const char *text)
{
	struct job_shown shown;
	size_t length = strlen(text);

	if (length < sizeof(shown.text)) {
		memcpy(shown.text, text, length + 1);
		return shown;
	}
	length = sizeof(shown.text) - sizeof("...");
	while (length && ((unsigned char)text[length] & 0xc0) == 0x80) /* inside a character */
		length--;
	snprintf(shown.text, sizeof(shown.text), "%.*s...", (int)length, text);
	return shown;
}

int job_wrong(const char *where)
{
	return strncmp(where, "--", 2) ? -EBADMSG : -EINVAL;
}

static char *trimmed(char *s)
{
	char *end = s + strlen(s);

	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static char *job_text_place(const struct text_reader *reader)
{
	char *where;

	return asprintf(&where, "%s:%d", reader->text->path, reader->line) < 0 ? NULL : where;
}

static struct job_section *append_section(struct job_text *text, const char *type, const char *name,
					  char *where)
{
	struct job_section *section;

	if (!array_grow(&text->sections, &text->section_room, text->section_count + 1,
			sizeof(*section), ARRAY_PLAIN)) {
		free(where);
		return NULL;
	}
	section = &text->sections[text->section_count++];
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
	struct job_entry *entry;

	if (!array_grow(&section->entries, &section->entry_room, section->entry_count + 1,
			sizeof(*entry), ARRAY_PLAIN)) {
		free(where);
		return failed(-ENOMEM, "no memory for the job file");
	}
	entry = &section->entries[section->entry_count++];
	*entry = (struct job_entry){.key = strdup(key), .value = strdup(value), .where = where};
	if (!entry->key || !entry->value || !where)
		return failed(-ENOMEM, "no memory for the job file");
	return 0;
}

static bool is_comment(const char *text)
{
	return !*text || *text == ';' || *text == '#';
}

static int begin_section(struct text_reader *reader, char *line)
{
	char *close = strchr(line, ']'), *type = line + 1, *name;

	if (!close || !is_comment(trimmed(close + 1)))
		return failed(-EBADMSG, "%s:%d: %s: accepted: [TYPE] or [TYPE NAME]",
			      reader->text->path, reader->line, job_shown(line).text);
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
			      reader->text->path, reader->line, job_shown(type).text,
			      job_shown(name).text);
	if (!append_section(reader->text, type, name, job_text_place(reader)))
		return failed(-ENOMEM, "no memory for the job file");
	return 0;
}

static int bad_line(const struct text_reader *reader, const char *why)
{
	return failed(-EBADMSG, "%s:%d: %s; accepted: lines of text of at most %d characters",
		      reader->text->path, reader->line, why, JOB_LINE_MAX);
}

/* The next line with its end, as fgets() has it but for NUL, which would hide what follows. */
static size_t job_text_take_line(struct text_reader *reader, char *buffer)
{
	size_t length = 0;
	int c;

	while (length < JOB_LINE_MAX && (c = getc(reader->file)) != EOF) {
		if (!c)
			reader->error = bad_line(reader, "a NUL byte");
		if (!c || (buffer[length++] = (char)c) == '\n')
			break;
	}
	if (length == JOB_LINE_MAX && !reader->error)
		reader->error = bad_line(reader, "a longer line");
	buffer[length] = '\0';
	return length;
}

/* fgets() for inih: counts lines, refuses what inih would cut silently, sees section headings. */
static char *read_line(char *buffer, int size, void *stream)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which some editors write */
	struct text_reader *reader = stream;
	char copy[JOB_LINE_MAX + 2];
	size_t length;

	(void)size; /* JOB_LINE_MAX + 3 */
	if (reader->error)
		return NULL;
	reader->line++;
	length = job_text_take_line(reader, buffer);
	if (reader->error || !length)
		return NULL;
	if (reader->line == 1 && !strncmp(buffer, mark, strlen(mark)))
		memmove(buffer, buffer + strlen(mark), length - strlen(mark) + 1);
	snprintf(copy, sizeof(copy), "%s", buffer);
	if (trimmed(copy)[0] == '[')
		reader->error = begin_section(reader, trimmed(copy));
	return reader->error ? NULL : buffer;
}

static int on_entry(void *user, const char *section, const char *key, const char *value)
{
	struct text_reader *reader = user;
	struct job_text *text = reader->text;

	(void)section; /* read_line() has its full name */
	if (reader->error)
		return 0;
	if (!text->section_count)
		reader->error = failed(-EBADMSG, "%s:%d: %s: accepted: entries after a [SECTION]",
				       text->path, reader->line, job_shown(key).text);
	else if (!*key)
		reader->error = failed(-EBADMSG, "%s:%d: =%s: accepted: KEY = VALUE", text->path,
				       reader->line, job_shown(value).text);
	else
		reader->error = append_entry(&text->sections[text->section_count - 1], key, value,
					     job_text_place(reader));
	return !reader->error;
}

static int parse(struct text_reader *reader)
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

static const char *job_text_noun(const char *kind)
{
	return strchr(kind, ' ') + 1;
}

static int job_text_open_file(const char *path, const char *kind, FILE **file)
{
	int fd = files_open_input(path, kind), err = 0;

	if (fd == -EISDIR || fd == -EPROTO)
		return -EBADMSG;
	if (fd >= 0 && !(*file = fdopen(fd, "r"))) {
		err = -errno;
		close(fd);
	}
	err = fd < 0 ? fd : err;
	return err ? failed(err, "%s: cannot open the %s: %s", path, job_text_noun(kind),
			    strerror(-err))
		   : 0;
}

int job_text_read(struct job_text **text, const char *path, const char *kind)
{
	struct text_reader reader = {.text = job_text_new(path)};
	int err;

	if (!reader.text)
		return failed(-ENOMEM, "no memory for the %s", job_text_noun(kind));
	err = job_text_open_file(path, kind, &reader.file);
	if (!err) {
		err = parse(&reader);
		if (!err && !reader.text->section_count)
			err = failed(-EBADMSG, "%s: is empty; accepted: %s with [SECTION]s", path,
				     kind);
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

struct job_entry *job_section_entry(const struct job_section *section, const char *key)
{
	for (size_t i = 0; i < section->entry_count; i++)
		if (!strcmp(section->entries[i].key, key))
			return &section->entries[i];
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

static int no_section(const struct job_text *text, const char *target, const char *where)
{
	char list[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < text->section_count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s%s",
					 i ? ", " : "", text->sections[i].type,
					 *text->sections[i].name ? " " : "",
					 text->sections[i].name);
	return failed(job_wrong(where), "%s: %s: %s has no section [%.*s]; accepted: %s", where,
		      job_shown(target).text, text->path, (int)strcspn(job_shown(target).text, "."),
		      target, list);
}

struct job_key job_key(const struct job_section *section, const struct job_entry *entry)
{
	struct job_key key;

	if (strcmp(entry->where, ASSIGNED) != 0)
		snprintf(key.text, sizeof(key.text), "%s", entry->key);
	else
		snprintf(key.text, sizeof(key.text), "%s%s%s.%s", section->type,
			 *section->name ? " " : "", job_shown(section->name).text, entry->key);
	return key;
}

int job_text_set(struct job_text *text, const char *target, const char *value, const char *where)
{
	const char *dot = strchr(target, '.');
	struct job_section *section = NULL;
	struct job_entry *entry;
	char *copy;

	if (!dot || dot == target || !dot[1])
		return failed(job_wrong(where), "%s: %s=%s: accepted: SECTION.KEY=VALUE", where,
			      job_shown(target).text, job_shown(value).text);
	for (size_t i = 0; i < text->section_count; i++) {
		if (!section_is(&text->sections[i], target, (size_t)(dot - target)))
			continue;
		if (section)
			return failed(job_wrong(where),
				      "%s: %s: names both [%s %s] and [%s %s]; "
				      "accepted: \"TYPE NAME.KEY\"",
				      where, target, section->type, section->name,
				      text->sections[i].type, text->sections[i].name);
		section = &text->sections[i];
	}
	if (!section && !strncmp(target, "machine.", 8))
		section = append_section(text, "machine", "", strdup(where));
	if (!section)
		return no_section(text, target, where);
	copy = strdup(where);
	entry = job_section_entry(section, dot + 1);
	if (!copy || !entry)
		return append_entry(section, dot + 1, value, copy);
	free(entry->where);
	free(entry->value);
	entry->where = copy;
	entry->value = strdup(value);
	return entry->value ? 0 : failed(-ENOMEM, "no memory for the job file");
}

struct job_entry *job_text_entry(const struct job_text *text, const char *target)
{
	const char *dot = strchr(target, '.');
	struct job_entry *entry = NULL;

	for (size_t i = 0; !entry && dot && i < text->section_count; i++)
		if (section_is(&text->sections[i], target, (size_t)(dot - target)))
			entry = job_section_entry(&text->sections[i], dot + 1);
	return entry;
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
	return job_text_entry(text, target) ? 0 : job_text_set(text, target, value, where);
}

int job_text_assign(struct job_text *text, const char *assignment)
{
	char *target, *value;
	int err;

	if (!strchr(assignment, '='))
		return failed(-EINVAL, "--set %s: accepted: SECTION.KEY=VALUE",
			      job_shown(assignment).text);
	target = strdup(assignment);
	if (!target)
		return failed(-ENOMEM, "no memory for --set %s", job_shown(assignment).text);
	value = strchr(target, '=');
	*value++ = '\0';
	err = job_text_set(text, trimmed(target), trimmed(value), ASSIGNED);
	free(target);
	return err;
}

/* Setting a value may move sections about, so that they are looked up anew. */
int job_text_shorten(struct job_text *text)
{
	const struct job_section *section = job_text_section(text, "short", NULL);
	size_t count = section ? section->entry_count : 0;
	int err = 0;

	if (!section)
		return failed(-EBADMSG, "%s: has no [short] section, so --short changes nothing",
			      text->path);
	for (size_t j = 0; !err && j < count; j++) {
		const struct job_entry *entries = job_text_section(text, "short", NULL)->entries;
		const struct job_entry *set = job_text_entry(text, entries[j].key);
		const char *where = entries[j].where;

		/* By whatever name of its section: the place tells. */
		for (size_t i = 0; set && i < j; i++)
			if (!strcmp(entries[i].where, set->where))
				return failed(job_wrong(where),
					      "%s: %s is already set at %s; accepted: once", where,
					      entries[j].key, entries[i].where);
		err = job_text_set(text, entries[j].key, entries[j].value, where);
	}
	return err;
}
