// SPDX-License-Identifier: GPL-2.0
#include "lib/job/options.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/job/quantity.h"
#include "lib/base/fail.h"

#define WORD_MAX 64

static enum quantity_kind quantity_of(const struct option_row *row)
{
	if (row->own)
		return row->own->bytes ? QUANTITY_BYTES : QUANTITY_COUNT;
	switch (row->type) {
	case OPTION_BYTES:
		return QUANTITY_BYTES;
	case OPTION_TIME:
		return QUANTITY_TIME;
	case OPTION_RATE:
		return QUANTITY_RATE;
	case OPTION_REAL:
		return QUANTITY_REAL;
	default:
		return QUANTITY_COUNT;
	}
}

static void accepted_choices(const struct option_row *row, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (const struct option_choice *c = row->choices; c->name && used < size; c++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 c == row->choices ? "" : ", ", c->name);
}

const char *option_accepted(const struct option_row *row, char *text, size_t size)
{
	char low[32], high[32], step[32];
	enum quantity_kind kind = quantity_of(row);

	switch (row->type) {
	case OPTION_TEXT:
		snprintf(text, size, row->min > 0 ? "1 to %zu characters" : "up to %zu characters",
			 row->size - 1);
		return text;
	case OPTION_BOOL:
		return "yes, no";
	case OPTION_CHOICE:
		accepted_choices(row, text, size);
		return text;
	case OPTION_CPUS:
		snprintf(text, size, "CPU numbers such as 0-1,3, each below %d", CPU_SETSIZE);
		return text;
	default:
		break;
	}
	quantity_text(row->multiple, kind, step, sizeof(step));
	snprintf(text, size, "%s%s to %s%s%s%s%s", row->own ? row->own->beginning : "",
		 quantity_text(row->min, kind, low, sizeof(low)),
		 quantity_text(row->max, kind, high, sizeof(high)),
		 row->power_of_two ? ", a power of two" : "",
		 row->multiple != 0 ? ", a multiple of " : "", row->multiple != 0 ? step : "",
		 row->type == OPTION_TIME ? "; with a unit: ns us ms s m h d" : "");
	return text;
}

/* Is the value one that the row takes? */
bool option_in_range(const struct option_row *row, double value)
{
	if (value < row->min || value > row->max)
		return false;
	if (row->power_of_two && ((__u64)value & ((__u64)value - 1)))
		return false;
	return row->multiple == 0 || fmod(value, row->multiple) == 0;
}

static void option_store(const struct option_row *row, void *field, double value)
{
	__s64 whole = (__s64)value;

	if (row->type == OPTION_RATE || row->type == OPTION_REAL)
		memcpy(field, &value, sizeof(value));
	else /* little endian: the low bytes come first */
		memcpy(field, &whole, row->size);
}

static int option_parse_number(const struct option_row *row, const char *text, void *field)
{
	bool negative = row->min < 0 && text[0] == '-';
	double value;

	if (quantity_parse(text + negative, quantity_of(row), &value))
		return -EINVAL;
	value = negative ? -value : value;
	if (!option_in_range(row, value))
		return -ERANGE;
	option_store(row, field, value);
	return 0;
}

static int parse_choice(const struct option_row *row, const char *text, void *field)
{
	for (const struct option_choice *c = row->choices; c->name; c++) {
		if (strcmp(c->name, text) != 0)
			continue;
		option_store(row, field, c->value);
		return 0;
	}
	return -EINVAL;
}

static int parse_bool(const char *text, bool *value)
{
	static const char *const yes[] = {"yes", "1", "true"}, *const no[] = {"no", "0", "false"};

	for (size_t i = 0; i < 3; i++) {
		if (!strcmp(text, yes[i]) || !strcmp(text, no[i])) {
			*value = !strcmp(text, yes[i]);
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_cpus(const char *text, cpu_set_t *cpus)
{
	CPU_ZERO(cpus);
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text || *text == '-' || *text == '+')
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (end == text || last < first)
				return -EINVAL;
		}
		if (last >= CPU_SETSIZE)
			return -EINVAL;
		for (; first <= last; first++)
			CPU_SET(first, cpus);
		if (*end && (*end != ',' || !end[1]))
			return -EINVAL;
		text = *end ? end + 1 : end;
	}
	return 0;
}

static int parse_value(const struct option_row *row, const char *text, void *fields)
{
	char *field = (char *)fields + row->offset;

	switch (row->type) {
	case OPTION_TEXT:
		if (strlen(text) >= row->size || (double)strlen(text) < row->min)
			return -ERANGE;
		memcpy(field, text, strlen(text) + 1);
		return 0;
	case OPTION_BOOL:
		return parse_bool(text, (bool *)field);
	case OPTION_CHOICE:
		return parse_choice(row, text, field);
	case OPTION_CPUS:
		return parse_cpus(text, (cpu_set_t *)field);
	case OPTION_OWN:
		return row->own->parse(row, text, fields);
	default:
		return option_parse_number(row, text, field);
	}
}

/* Optimal string alignment distance, so that two swapped letters count as one slip. */
static size_t option_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], la = strlen(a), lb = strlen(b);

	if (la > WORD_MAX || lb > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *now = rows[i % 3], *before = rows[(i - 1) % 3], *two = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);

			best = before[j] + 1 < best ? before[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			now[j] = best;
		}
	}
	return rows[la % 3][lb];
}

const char *nearest_word(const char *word, const char *const *candidates, size_t count)
{
	const char *best = NULL;
	size_t least = strlen(word) / 2 + 1;

	for (size_t i = 0; i < count; i++) {
		size_t d = option_distance(word, candidates[i]);

		if (d < least) {
			least = d;
			best = candidates[i];
		}
	}
	return best;
}

static int unknown_key(const struct option_table *table, const struct job_section *section,
		       const struct job_entry *entry)
{
	const char *keys[64] = {NULL}, *near;
	char list[OPTION_ACCEPTED_TEXT];
	size_t count = 0, used = 0;

	for (size_t i = 0; i < table->row_count && count < 64; i++)
		if (!strcmp(table->rows[i].section, section->type))
			keys[count++] = table->rows[i].key;
	near = nearest_word(entry->key, keys, count);
	if (near)
		return failed(job_wrong(entry->where),
			      "%s: %s: no such key in [%s]; did you mean %s?", entry->where,
			      job_shown(entry->key).text, section->type, near);
	for (size_t i = 0; i < count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 keys[i]);
	return failed(job_wrong(entry->where), "%s: %s: no such key in [%s]; accepted: %s",
		      entry->where, job_shown(entry->key).text, section->type, list);
}

static int bad_value(const struct option_row *row, const struct job_section *section,
		     const struct job_entry *entry)
{
	char accepted[OPTION_ACCEPTED_TEXT];
	const char *names[32] = {NULL}, *near = NULL;
	size_t count = 0;

	for (const struct option_choice *c = row->choices; c && c->name && count < 32; c++)
		names[count++] = c->name;
	if (count)
		near = nearest_word(entry->value, names, count);
	return failed(job_wrong(entry->where), "%s: %s=%s: accepted: %s%s%s%s", entry->where,
		      job_key(section, entry).text, job_shown(entry->value).text,
		      option_accepted(row, accepted, sizeof(accepted)),
		      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

const char *option_need_text(const struct option_need *need, char text[OPTION_NEED_TEXT])
{
	const char *at = need->values ?: "";
	size_t used;

	if (!*at || !strcmp(at, "*")) {
		snprintf(text, OPTION_NEED_TEXT,
			 !need->values ? "%s above 0"
			 : *at	       ? "a %s"
				       : "no %s",
			 need->key);
		return text;
	}
	used = (size_t)snprintf(text, OPTION_NEED_TEXT, "%s=", need->key);
	while (*at && used < OPTION_NEED_TEXT) {
		const char *comma = strchr(at, ','), *last = comma ? strchr(comma + 1, ',') : NULL;

		used += (size_t)snprintf(text + used, OPTION_NEED_TEXT - used, "%.*s%s",
					 (int)strcspn(at, ","), at,
					 !comma ? ""
					 : last ? ", "
						: " or ");
		at = comma ? comma + 1 : "";
	}
	return text;
}

static bool row_is_of(const struct option_row *row, const char *section, const char *key)
{
	return !strcmp(row->section, section) && !strcmp(row->key, key);
}

const struct option_row *option_row_find(const struct option_table *table, const char *section,
					 const char *key)
{
	for (size_t i = 0; i < table->row_count; i++)
		if (row_is_of(&table->rows[i], section, key))
			return &table->rows[i];
	return NULL;
}

static bool is_one_of(const char *value, const char *values)
{
	size_t length = strlen(value);

	while (strncmp(values, value, length) != 0 || (values[length] && values[length] != ',')) {
		values = strchr(values, ',');
		if (!values)
			return false;
		values++;
	}
	return true;
}

bool option_need_holds(const struct option_need *need, const char *value)
{
	double number;

	if (need->values && !strcmp(need->values, "*"))
		return *value;
	if (need->values)
		return is_one_of(value, need->values);
	return !quantity_parse_any(value, &number) && number > 0;
}

/* How many of a row's needs of its own section hold, from the first on. */
static unsigned int needs_that_hold(const struct option_table *table,
				    const struct job_section *section, const struct option_row *row)
{
	unsigned int held = 0;

	for (; held < OPTION_NEEDS && row->needs[held].key; held++) {
		const struct option_need *need = &row->needs[held];
		const struct option_row *of = option_row_find(table, section->type, need->key);
		const struct job_entry *entry = job_section_entry(section, need->key);

		if (of && !option_need_holds(need, entry ? entry->value : of->otherwise ?: ""))
			break;
	}
	return held;
}

const struct option_row *option_row_of(const struct option_table *table,
				       const struct job_section *section, const char *key)
{
	const struct option_row *best = option_row_find(table, section->type, key);

	for (size_t i = 0; best && i < table->row_count; i++) {
		const struct option_row *row = &table->rows[i];

		if (row_is_of(row, section->type, key) &&
		    needs_that_hold(table, section, row) > needs_that_hold(table, section, best))
			best = row;
	}
	return best;
}

static int fill_defaults(const struct option_table *table, const struct job_section *section,
			 void *fields)
{
	for (size_t i = 0; i < table->row_count; i++) {
		const struct option_row *row = &table->rows[i];

		if (strcmp(row->section, section->type) != 0)
			continue;
		if (!row->otherwise && !job_section_entry(section, row->key))
			return failed(-EBADMSG, "%s: [%s %s] needs %s=: %s", section->where,
				      section->type, section->name, row->key, row->meaning);
		if (row->otherwise && (*row->otherwise || row->type == OPTION_TEXT))
			parse_value(row, row->otherwise, fields);
	}
	return 0;
}

int options_fill(const struct option_table *table, const struct job_section *section, void *fields)
{
	int err = fill_defaults(table, section, fields);

	for (size_t i = 0; !err && i < section->entry_count; i++) {
		const struct job_entry *entry = &section->entries[i];
		const struct option_row *row = option_row_of(table, section, entry->key);
		const struct job_entry *first = job_section_entry(section, entry->key);

		if (!row)
			err = unknown_key(table, section, entry);
		else if (first != entry)
			err = failed(-EBADMSG, "%s: %s is already set at %s; accepted: once",
				     entry->where, entry->key, first->where);
		else if (parse_value(row, entry->value, fields))
			err = bad_value(row, section, entry);
	}
	return err;
}

int options_check_values(const struct option_table *table, const struct job_section *section,
			 void *fields)
{
	for (size_t i = 0; i < section->entry_count; i++) {
		const struct job_entry *entry = &section->entries[i];
		const struct option_row *own = option_row_of(table, section, entry->key);
		bool taken = !own || !parse_value(own, entry->value, fields);

		for (size_t r = 0; r < table->row_count && !taken; r++) {
			const struct option_row *row = &table->rows[r];

			taken = row_is_of(row, section->type, entry->key) &&
				!parse_value(row, entry->value, fields);
		}
		if (!taken)
			return bad_value(own, section, entry);
	}
	return 0;
}
