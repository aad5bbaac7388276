// SPDX-License-Identifier: GPL-2.0
#include "lib/base/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/stream.h"

#define EVENT_KIND(c_name, number, name, group, counting, title, fields) \
	[number] = {name, group, title},
static const struct event_kind_info kinds[EVENT_KIND_MAX] = {
#include "bpf/event_kinds.def"
};
#undef EVENT_KIND

/* As long as all names with what separates them: a recording and a refusal have room for that. */
#define EVENT_KIND(c_name, number, name, group, ...) \
	char c_name##_text[sizeof(name ", " group ", ")];
struct kinds_names {
#include "bpf/event_kinds.def"
};
#undef EVENT_KIND
_Static_assert(sizeof(struct kinds_names) < HOST_FILTER_TEXT, "struct host_info has room for all");

const struct event_kind_info *event_kind(unsigned int kind)
{
	return kind < EVENT_KIND_MAX && kinds[kind].name ? &kinds[kind] : NULL;
}

const char *event_kind_name(unsigned int kind)
{
	const struct event_kind_info *info = event_kind(kind);

	return info ? info->title : "unknown event";
}

/* The next kind that there is, EVENT_KIND_MAX behind the last. */
static unsigned int kinds_next(unsigned int kind)
{
	do
		kind++;
	while (kind < EVENT_KIND_MAX && !kinds[kind].name);
	return kind;
}

#define for_each_kind(k) \
	for (unsigned int(k) = kinds_next(EVENT_NONE); (k) < EVENT_KIND_MAX; (k) = kinds_next(k))

/* A group is listed where its first kind is. */
static bool kinds_begins_group(unsigned int first)
{
	if (!*kinds[first].group)
		return false;
	for_each_kind(kind)
		if (kind < first && !strcmp(kinds[kind].group, kinds[first].group))
			return false;
	return true;
}

static int kinds_refuse(const char *word, size_t length)
{
	char accepted[sizeof(struct kinds_names)];
	size_t used = 0;

	for_each_kind(kind)
		if (kinds_begins_group(kind))
			used += (size_t)sprintf(accepted + used, "%s, ", kinds[kind].group);
	for_each_kind(kind)
		used += (size_t)sprintf(accepted + used, "%s%s", kinds[kind].name,
					kind + 1 < EVENT_KIND_MAX ? ", " : "");
	return failed(-EINVAL, "unknown kind '%.*s'; accepted: %s", length < 64 ? (int)length : 64,
		      word, accepted);
}

static bool kinds_same(const char *name, const char *word, size_t length)
{
	return length && !strncmp(name, word, length) && !name[length];
}

static bool kinds_add_word(const char *word, size_t length, struct kind_set *set)
{
	bool found = false;

	for_each_kind(kind) {
		if (!kinds_same(kinds[kind].name, word, length) &&
		    !kinds_same(kinds[kind].group, word, length))
			continue;
		kind_set_add(set, kind);
		found = true;
	}
	return found;
}

int kinds_parse(const char *text, struct kind_set *set)
{
	do {
		size_t length = strcspn(text, ",");

		if (!kinds_add_word(text, length, set))
			return kinds_refuse(text, length);
		text += length;
	} while (*text++);
	return 0;
}

/* Whether there is such a group and the set has all its kinds. */
static bool kinds_whole_group(const struct kind_set *set, const char *group)
{
	for_each_kind(kind)
		if (!strcmp(kinds[kind].group, group) && !kind_set_has(set, kind))
			return false;
	return *group;
}

void kinds_format(const struct kind_set *set, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for_each_kind(kind) {
		bool whole = kind_set_has(set, kind) && kinds_whole_group(set, kinds[kind].group);

		if (!kind_set_has(set, kind) || (whole && !kinds_begins_group(kind)))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 whole ? kinds[kind].group : kinds[kind].name);
		if (used >= size)
			return;
	}
}

bool kinds_name(const char *text, unsigned int kind)
{
	struct kind_set set = {0};

	if (!*text)
		return true;
	for (size_t length; *text; text += length) {
		text += strspn(text, ", ");
		length = strcspn(text, ",");
		kinds_add_word(text, length, &set);
	}
	return kind_set_has(&set, kind);
}
