// SPDX-License-Identifier: GPL-2.0
#include "lib/job/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

/* The next element of a comma-separated list, without blanks around it; cuts up *rest. */
static char *next_element(char **rest)
{
	char *element = strsep(rest, ","), *end;

	if (!element)
		return NULL;
	while (isspace((unsigned char)*element))
		element++;
	end = element + strlen(element);
	while (end > element && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return element;
}

static int bad_dimension(const struct job_entry *entry, const char *why)
{
	if (!strcmp(entry->where, "--sweep"))
		return failed(-EINVAL, "--sweep %s: %s; accepted: SECTION.KEY=V1,V2",
			      job_shown(entry->value).text, why);
	return failed(job_wrong(entry->where),
		      "%s: %s=%s: %s; accepted: NAME = SECTION.KEY: VALUE, VALUE ...", entry->where,
		      job_shown(entry->key).text, job_shown(entry->value).text, why);
}

static int check_target(const struct job_entry *entry, const char *target)
{
	static const char *const unswept[] = {"sweep.", "expect.", "short."};

	for (size_t i = 0; i < sizeof(unswept) / sizeof(unswept[0]); i++)
		if (!strncmp(target, unswept[i], strlen(unswept[i])))
			return bad_dimension(entry, "no point has such a value of its own");
	return 0;
}

static int add_value(struct sweep_dimension *dimension, const struct job_entry *entry,
		     const char *value)
{
	if (!*value)
		return bad_dimension(entry, "an empty value");
	if (dimension->value_count == SWEEP_VALUES)
		return bad_dimension(entry, "more than 64 values");
	for (size_t i = 0; i < dimension->value_count; i++)
		if (!strcmp(dimension->values[i], value))
			return bad_dimension(entry, "the same value twice");
	dimension->values[dimension->value_count] = strdup(value);
	if (!dimension->values[dimension->value_count++])
		return failed(-ENOMEM, "no memory for the sweep");
	return 0;
}

static bool is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) || strlen(name) > SWEEP_NAME)
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

static int add_dimension(struct sweep *sweep, const struct job_entry *entry)
{
	struct sweep_dimension *dimension = &sweep->dimensions[sweep->dimension_count];
	char *copy, *rest, *target, *value;
	int err = 0;

	if (!is_name(entry->key))
		return bad_dimension(entry, "NAME is made of up to 40 letters, digits and _");
	if (sweep_find(sweep, entry->key) >= 0)
		return bad_dimension(entry, "this name is already swept");
	if (!strcmp(entry->key, "point"))
		return bad_dimension(entry, "\"point\" is the number of a point");
	if (!strchr(entry->value, ':'))
		return bad_dimension(entry, "no colon");
	if (sweep->dimension_count == SWEEP_DIMENSIONS)
		return bad_dimension(entry, "more than 8 dimensions");
	copy = rest = strdup(entry->value);
	if (!copy)
		return failed(-ENOMEM, "no memory for the sweep");
	sweep->dimension_count++;
	target = strsep(&rest, ":");
	dimension->target = strdup(next_element(&target));
	dimension->name = strdup(entry->key);
	dimension->where = strdup(entry->where);
	if (!dimension->target || !dimension->name || !dimension->where)
		err = failed(-ENOMEM, "no memory for the sweep");
	else if (target)
		err = bad_dimension(entry, "more than one SECTION.KEY");
	else
		err = check_target(entry, dimension->target);
	while (!err && (value = next_element(&rest)))
		err = add_value(dimension, entry, value);
	free(copy);
	if (!err && (sweep->points *= dimension->value_count) > SWEEP_POINTS)
		err = bad_dimension(entry, "more than 4096 points");
	return err;
}

static int set_baseline(struct sweep *sweep, const struct job_entry *entry)
{
	if (sweep->baseline)
		return failed(job_wrong(entry->where),
			      "%s: baseline is already set at %s; accepted: once", entry->where,
			      sweep->baseline_where);
	sweep->baseline = strdup(entry->value);
	sweep->baseline_where = strdup(entry->where);
	return sweep->baseline && sweep->baseline_where
		       ? 0
		       : failed(-ENOMEM, "no memory for the sweep");
}

int sweep_build(struct sweep *sweep, const struct job_text *text)
{
	const struct job_section *section = job_text_section(text, "sweep", NULL);
	int err = 0;

	*sweep = (struct sweep){.points = 1};
	for (size_t i = 0; !err && section && i < section->entry_count; i++) {
		const struct job_entry *entry = &section->entries[i];

		err = !strcmp(entry->key, "baseline") ? set_baseline(sweep, entry)
						      : add_dimension(sweep, entry);
	}
	if (!err && sweep->baseline)
		sweep->points++;
	if (err)
		sweep_free(sweep);
	return err;
}

void sweep_free(struct sweep *sweep)
{
	for (size_t d = 0; d < sweep->dimension_count; d++) {
		struct sweep_dimension *dimension = &sweep->dimensions[d];

		for (size_t v = 0; v < dimension->value_count; v++)
			free(dimension->values[v]);
		free(dimension->name);
		free(dimension->target);
		free(dimension->where);
	}
	free(sweep->baseline);
	free(sweep->baseline_where);
	*sweep = (struct sweep){0};
}

bool sweep_is_baseline(const struct sweep *sweep, size_t point)
{
	return sweep->baseline && point == 0;
}

size_t sweep_index(const struct sweep *sweep, size_t point, size_t dimension)
{
	size_t rest = point - (sweep->baseline ? 1 : 0);

	for (size_t d = sweep->dimension_count - 1; d > dimension; d--)
		rest /= sweep->dimensions[d].value_count;
	return rest % sweep->dimensions[dimension].value_count;
}

int sweep_find(const struct sweep *sweep, const char *name)
{
	for (size_t d = 0; d < sweep->dimension_count; d++)
		if (!strcmp(sweep->dimensions[d].name, name))
			return (int)d;
	return -ENOENT;
}

static int apply_baseline(const struct sweep *sweep, struct job_text *text)
{
	char *copy = strdup(sweep->baseline), *rest = copy, *assignment;
	const char *where = sweep->baseline_where;
	const struct job_entry *set;
	int err = copy ? 0 : failed(-ENOMEM, "no memory for the sweep");

	while (!err && (assignment = next_element(&rest))) {
		char *value = strchr(assignment, '=');

		if (!value) {
			err = failed(job_wrong(where),
				     "%s: baseline=%s: accepted: SECTION.KEY=VALUE, ...", where,
				     job_shown(sweep->baseline).text);
			break;
		}
		*value++ = '\0';
		set = job_text_entry(text, assignment);
		if (set && !strcmp(set->where, where))
			err = failed(job_wrong(where),
				     "%s: %s is already set in the baseline; accepted: once", where,
				     assignment);
		else
			err = job_text_set(text, assignment, value, where);
	}
	free(copy);
	return err;
}

/* Two dimensions of one value, by whatever names, would name points by what they do not have. */
static int check_unswept(const struct sweep *sweep, size_t dimension, const struct job_text *text)
{
	const struct sweep_dimension *d = &sweep->dimensions[dimension];
	const struct job_entry *set = job_text_entry(text, d->target);

	for (size_t i = 0; set && i < dimension; i++)
		if (!strcmp(sweep->dimensions[i].where, set->where))
			return failed(job_wrong(d->where),
				      "%s: %s is already swept at %s; accepted: once", d->where,
				      d->target, sweep->dimensions[i].where);
	return 0;
}

int sweep_apply(const struct sweep *sweep, size_t point, struct job_text *text)
{
	int err = 0;

	if (sweep_is_baseline(sweep, point))
		return apply_baseline(sweep, text);
	for (size_t d = 0; !err && d < sweep->dimension_count; d++) {
		const struct sweep_dimension *dimension = &sweep->dimensions[d];

		err = check_unswept(sweep, d, text);
		if (!err)
			err = job_text_set(text, dimension->target,
					   dimension->values[sweep_index(sweep, point, d)],
					   dimension->where);
	}
	return err;
}

int sweep_point_text(struct job_text **own, const struct sweep *sweep, size_t point,
		     const struct job_text *text)
{
	int err;

	*own = job_text_copy(text);
	if (!*own)
		return failed(-ENOMEM, "no memory for the job");
	err = sweep_apply(sweep, point, *own);
	if (err) {
		job_text_free(*own);
		*own = NULL;
	}
	return err;
}

int sweep_option_read(struct sweep_option *option, const char *given, const struct job_text *text)
{
	const char *equals = strchr(given, '='), *dot = strchr(given, '.');
	const struct job_section *section = job_text_section(text, "sweep", NULL);
	bool taken = false;

	if (!equals || !dot || dot > equals || dot == given || dot + 1 == equals || !equals[1])
		return failed(-EINVAL, "--sweep %s: accepted: SECTION.KEY=V1,V2", given);
	snprintf(option->target, sizeof(option->target), "%.*s", (int)(equals - given), given);
	snprintf(option->name, sizeof(option->name), "%.*s", (int)(equals - dot - 1), dot + 1);
	for (size_t i = 0; section && i < section->entry_count; i++)
		taken |= !strcmp(section->entries[i].key, option->name);
	if (taken)
		snprintf(option->name, sizeof(option->name), "%.*s_%.*s", (int)(dot - given), given,
			 (int)(equals - dot - 1), dot + 1);
	option->values = equals + 1;
	return 0;
}

int sweep_option_add(struct job_text *text, const char *given)
{
	struct sweep_option option;
	char entry[sizeof(option.name) + 8], value[JOB_LINE_MAX];
	int err = sweep_option_read(&option, given, text);

	if (!err)
		err = job_text_need(text, "sweep", "--sweep");
	if (err)
		return err;
	snprintf(entry, sizeof(entry), "sweep.%s", option.name);
	snprintf(value, sizeof(value), "%s: %s", option.target, option.values);
	return job_text_set(text, entry, value, "--sweep");
}

const char *sweep_point_name(const struct sweep *sweep, size_t point, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	if (sweep_is_baseline(sweep, point)) {
		snprintf(out, size, "baseline");
		return out;
	}
	for (size_t d = 0; d < sweep->dimension_count && used < size; d++)
		used += (size_t)snprintf(out + used, size - used, "%s%s=%s", d ? ", " : "",
					 sweep->dimensions[d].name,
					 sweep->dimensions[d].values[sweep_index(sweep, point, d)]);
	return out;
}
