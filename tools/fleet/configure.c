// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "tools/fleet/options.h"

static const char *const once[] = {"fleet", "protector", "rule"};

#define MOMENT_NS    (60 * NSEC_PER_SEC)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "none, adp" is a sweep of its own, the last: its points are simulated together. */
int fleet_sweep_policies(struct job_text *text)
{
	struct job_entry *entry = job_text_entry(text, "protector.policy");
	char value[JOB_LINE_MAX];
	int err;

	if (!entry || !strchr(entry->value, ','))
		return 0;
	snprintf(value, sizeof(value), "protector.policy: %s", entry->value);
	err = job_text_need(text, "sweep", entry->where);
	if (!err && job_text_entry(text, "sweep.policy"))
		return failed(job_wrong(entry->where),
			      "%s: policy=%s: accepted: one name, as [sweep] has its own policy",
			      entry->where, job_shown(entry->value).text);
	if (!err)
		err = job_text_set(text, "sweep.policy", value, entry->where);
	if (!err)
		err = job_text_set(text, "protector.policy", "none", entry->where);
	return err;
}

int fleet_complete(struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < COUNT(once); i++)
		err = job_text_need(text, once[i], "the command line");
	return err;
}

static bool is_population(const struct job_section *section)
{
	return !strcmp(section->type, "population");
}

static bool is_options(const struct job_section *section)
{
	return strcmp(section->type, "sweep") != 0 && strcmp(section->type, "expect") != 0 &&
	       strcmp(section->type, "short") != 0;
}

int fleet_check_values(const struct job_text *text)
{
	struct fleet_config *config = calloc(1, sizeof(*config));
	int err = config ? 0 : failed(-ENOMEM, "no memory for the job");

	for (size_t i = 0; !err && i < text->section_count; i++) {
		const struct job_section *section = &text->sections[i];

		if (is_options(section))
			err = options_check_values(fleet_options(), section,
						   is_population(section)
							   ? (void *)config->populations
							   : (void *)config);
	}
	free(config);
	return err;
}

static int add_population(struct fleet_config *config, const struct job_section *section)
{
	struct fleet_population *p = &config->populations[config->population_count];
	int err;

	if (config->population_count == FLEET_POPULATIONS)
		return failed(job_wrong(section->where), "%s: more than %d populations",
			      section->where, FLEET_POPULATIONS);
	err = options_fill(fleet_options(), section, p);
	if (err)
		return err;
	snprintf(p->name, sizeof(p->name), "%s", section->name);
	if (population_check(&p->keys))
		return failed_in(job_wrong(section->where), "%s: [population %s]", section->where,
				 job_shown(section->name).text);
	if (config->machine_count + p->count > FLEET_MACHINES_MAX) {
		const struct job_entry *count = job_section_entry(section, "count");
		const char *where = count ? count->where : section->where;

		return failed(job_wrong(where), "%s: more than %d machines in all", where,
			      FLEET_MACHINES_MAX);
	}
	config->machine_count += p->count;
	config->population_count++;
	return 0;
}

/* Where the first of them was written. */
static const char *where_of(const struct job_text *text, const char *const *targets, size_t count)
{
	const struct job_entry *entry = NULL;

	for (size_t i = 0; !entry && i < count; i++)
		entry = job_text_entry(text, targets[i]);
	return entry ? entry->where : text->path;
}

/* Half of what the policy can tell apart at most: else it would see steps, not times. */
static int check_resolution(const struct fleet_config *config, const struct job_text *text)
{
	const struct protect_keys *keys = &config->protector.keys;
	__u64 least =
		keys->scan_ns < keys->promote_after_ns ? keys->scan_ns : keys->promote_after_ns;
	static const char *const targets[] = {"fleet.resolution", "protector.scan",
					      "protector.promote_after"};
	const char *where = where_of(text, targets, COUNT(targets));

	if (2 * config->resolution_ns <= least)
		return 0;
	return failed(
		job_wrong(where),
		"%s: resolution=%llums: accepted: up to %llums, half of scan and of promote_after",
		where, config->resolution_ns / NSEC_PER_MSEC, least / 2 / NSEC_PER_MSEC);
}

/*
 * What is taken goes linearly from share_low, below 0 none, to share_high and back, so that its mean over time is
 * what overcommit needs.
 */
static void set_shares(struct fleet_config *config)
{
	double mean = config->overcommit / (1 + config->overcommit), high = config->rule.share_high;

	config->rule.share_of_memory = true;
	if (mean <= 0 || high <= 0)
		config->rule.share_low = config->rule.share_high = 0;
	else if (mean >= high)
		config->rule.share_low = high;
	else if (mean >= high / 2)
		config->rule.share_low = 2 * mean - high;
	else
		config->rule.share_low = high - high * high / (2 * mean);
	if (config->rule.share_low < -1000)
		config->rule.share_low = -1000;
}

static int fleet_fill(struct fleet_config *config, const struct job_text *text)
{
	int err = options_check_headings(fleet_options(), text);

	for (size_t i = 0; !err && i < COUNT(once); i++)
		err = options_fill(fleet_options(), job_text_section(text, once[i], NULL), config);
	for (size_t i = 0; !err && i < text->section_count; i++)
		if (is_population(&text->sections[i]))
			err = add_population(config, &text->sections[i]);
	if (!err && !config->population_count)
		err = failed(-EBADMSG, "%s: no [population NAME]; accepted: one and more",
			     text->path);
	return err;
}

int fleet_configure(struct fleet_config *config, const struct job_text *text,
		    struct idle_keys *idle)
{
	int err;

	*config = (struct fleet_config){0};
	protect_keys_default(&config->protector.keys);
	err = fleet_fill(config, text);
	if (!err)
		err = check_resolution(config, text);
	if (!err)
		err = idle_keys_add(idle, fleet_options(), text);
	config->length_ns = (__u64)(config->hours * 3600 * NSEC_PER_SEC);
	config->moment_ns =
		config->length_ns / FLEET_MOMENTS_MOST / MOMENT_NS * MOMENT_NS + MOMENT_NS;
	set_shares(config);
	return err;
}
