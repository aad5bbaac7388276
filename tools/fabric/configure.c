// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/fabric/options.h"
#include "tools/fabric/options.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const once[] = {"fabric", "run"};

static bool is_scenario(const struct job_section *section)
{
	return !strcmp(section->type, "transfer") || !strcmp(section->type, "io");
}

int fabric_job_complete(struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < COUNT(once); i++)
		err = job_text_need(text, once[i], "the command line");
	return err;
}

int fabric_job_sweep(struct job_text *text)
{
	const struct job_entry *chosen = job_text_entry(text, "run.scenario");
	char value[JOB_LINE_MAX];
	size_t used = (size_t)snprintf(value, sizeof(value), "run.scenario:"), count = 0;
	int err;

	if ((chosen && *chosen->value) || job_text_entry(text, "sweep.scenario"))
		return 0;
	for (size_t i = 0; i < text->section_count; i++) {
		if (!is_scenario(&text->sections[i]))
			continue;
		if (used + strlen(text->sections[i].name) + 3 > sizeof(value))
			return failed(-EBADMSG,
				      "%s: the names of all scenarios have more than %d "
				      "characters; accepted: fewer, or run.scenario=",
				      text->sections[i].where, JOB_LINE_MAX);
		used += (size_t)snprintf(value + used, sizeof(value) - used, "%s %s",
					 count++ ? "," : "", text->sections[i].name);
	}
	if (!count)
		return failed(-EBADMSG,
			      "%s: no [transfer NAME] and no [io NAME]; accepted: one and more",
			      text->path);
	err = job_text_need(text, "sweep", "the command line");
	return err ? err : job_text_set(text, "sweep.scenario", value, text->path);
}

/* Room for the struct of any section. */
union any_keys {
	struct fabric_host_keys host;
	struct fabric_node_keys node;
	struct fabric_link_keys link;
	struct fabric_costs costs;
	struct transfer_keys transfer;
	struct io_keys io;
	struct run_keys run;
};

static bool has_options(const struct job_section *section)
{
	return strcmp(section->type, "sweep") != 0 && strcmp(section->type, "expect") != 0 &&
	       strcmp(section->type, "short") != 0;
}

/* A transfer and an I/O of one name would be one scenario. */
static int check_scenario_names(const struct job_text *text)
{
	for (size_t i = 0; i < text->section_count; i++)
		for (size_t j = 0; is_scenario(&text->sections[i]) && j < i; j++)
			if (is_scenario(&text->sections[j]) &&
			    !strcmp(text->sections[i].name, text->sections[j].name))
				return failed(job_wrong(text->sections[i].where),
					      "%s: [%s %s]: there is [%s %s] at %s; accepted: "
					      "names that no other scenario has",
					      text->sections[i].where, text->sections[i].type,
					      text->sections[i].name, text->sections[j].type,
					      text->sections[j].name, text->sections[j].where);
	return 0;
}

int fabric_job_check(const struct job_text *text)
{
	union any_keys keys;
	int err = options_check_headings(fabric_job_options(), text);

	if (!err)
		err = check_scenario_names(text);
	for (size_t i = 0; !err && i < text->section_count; i++)
		if (has_options(&text->sections[i]))
			err = options_check_values(fabric_job_options(), &text->sections[i], &keys);
	return err;
}

/* Whole sections: also keys that there are not are refused. */
static int check_sections(const struct job_text *text)
{
	union any_keys keys;
	int err = 0;

	for (size_t i = 0; !err && i < text->section_count; i++)
		if (has_options(&text->sections[i]))
			err = options_fill(fabric_job_options(), &text->sections[i], &keys);
	return err;
}

/* What a key may name. */
enum named { NAMED_HOST, NAMED_END, NAMED_DEVICE, NAMED_ENGINE, NAMED_ADAPTER };
static const char *const named_texts[] = {
	[NAMED_HOST] = "a host",
	[NAMED_END] = "a host, device or adapter",
	[NAMED_DEVICE] = "a device",
	[NAMED_ENGINE] = "a device or adapter",
	[NAMED_ADAPTER] = "names of adapters, up to 6",
};

static bool node_fits(const struct fabric *fabric, __u32 node, enum named named)
{
	static const unsigned int kinds[] = {
		[NAMED_HOST] = 1u << FABRIC_ROOT,
		[NAMED_END] = 1u << FABRIC_ROOT | 1u << FABRIC_DEVICE | 1u << FABRIC_ADAPTER,
		[NAMED_DEVICE] = 1u << FABRIC_DEVICE,
		[NAMED_ENGINE] = 1u << FABRIC_DEVICE | 1u << FABRIC_ADAPTER,
		[NAMED_ADAPTER] = 1u << FABRIC_ADAPTER,
	};

	return node != FABRIC_NONE && kinds[named] >> fabric->nodes[node].kind & 1;
}

/* A key without an entry has its default, which is empty. */
static int check_named(const struct scenario *scenario, const struct job_section *section,
		       const char *key, enum named named)
{
	const struct job_entry *entry = job_section_entry(section, key);
	char text[4 * FABRIC_NAME], *rest, *word;
	bool right = true;
	int count = 0;

	if (!entry || !*entry->value)
		return 0;
	snprintf(text, sizeof(text), "%s", entry->value);
	if (named != NAMED_ADAPTER)
		right = node_fits(scenario->fabric, fabric_find(scenario->fabric, text), named);
	else
		for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
			right &= node_fits(scenario->fabric, fabric_find(scenario->fabric, word),
					   named) &&
				 ++count <= ROUTE_THROUGH_MAX;
	if (right)
		return 0;
	return failed(job_wrong(entry->where), "%s: %s=%s: accepted: %s", entry->where,
		      job_key(section, entry).text, job_shown(entry->value).text,
		      named_texts[named]);
}

struct named_key {
	const char *key;
	enum named named;
};

static int check_names(const struct scenario *scenario, const struct job_section *section)
{
	static const struct named_key transfer[] = {{"from", NAMED_END},
						    {"to", NAMED_END},
						    {"via", NAMED_HOST},
						    {"engine", NAMED_ENGINE},
						    {"through", NAMED_ADAPTER}};
	static const struct named_key io[] = {{"cpu", NAMED_HOST},
					      {"device", NAMED_DEVICE},
					      {"queue", NAMED_END},
					      {"completions", NAMED_END},
					      {"data", NAMED_END}};
	const struct named_key *keys = scenario->is_io ? io : transfer;
	int err = 0;

	_Static_assert(COUNT(transfer) == COUNT(io), "one loop for both");
	for (size_t i = 0; !err && i < COUNT(io); i++)
		err = check_named(scenario, section, keys[i].key, keys[i].named);
	return err;
}

static int find_scenario(const struct job_text *text, const struct job_section **section)
{
	const struct job_entry *entry = job_text_entry(text, "run.scenario");
	const char *name = entry ? entry->value : "", *names[64], *near;
	size_t count = 0;

	for (size_t i = 0; i < text->section_count; i++) {
		if (!is_scenario(&text->sections[i]))
			continue;
		*section = &text->sections[i];
		if (!strcmp((*section)->name, name))
			return 0;
		if (count < COUNT(names))
			names[count++] = (*section)->name;
	}
	near = nearest_word(name, names, count);
	return failed(job_wrong(entry ? entry->where : ""),
		      "%s: run.scenario=%s: accepted: the name of a [transfer] or [io]%s%s%s",
		      entry ? entry->where : text->path, job_shown(name).text,
		      near ? "; did you mean " : "", near ?: "", near ? "?" : "");
}

static int set_bytes(struct scenario *scenario, const struct job_text *text)
{
	__u64 *bytes = scenario->is_io ? &scenario->io.bytes : &scenario->transfer.bytes;
	struct run_keys run = {0};
	int err = options_fill(fabric_job_options(), job_text_section(text, "run", NULL), &run);

	if (run.bytes)
		*bytes = run.bytes;
	return err;
}

int scenario_configure(struct scenario *scenario, const struct job_text *text,
		       struct idle_keys *idle)
{
	const struct job_section *section = NULL;
	int err = check_sections(text);

	*scenario = (struct scenario){0};
	if (!err)
		err = fabric_build(&scenario->fabric, text);
	if (!err)
		err = fabric_costs_read(&scenario->costs, text);
	if (!err)
		err = find_scenario(text, &section);
	if (err)
		return err;
	scenario->is_io = !strcmp(section->type, "io");
	err = check_names(scenario, section);
	if (!err)
		err = options_fill(fabric_job_options(), section,
				   scenario->is_io ? (void *)&scenario->io
						   : (void *)&scenario->transfer);
	if (!err)
		err = set_bytes(scenario, text);
	if (!err)
		err = idle_keys_add(idle, fabric_job_options(), text);
	if (!err && scenario_run(scenario))
		err = failed_in(job_wrong(section->where), "%s: [%s %s]", section->where,
				section->type, section->name);
	return err;
}

void scenario_free(struct scenario *scenario)
{
	fabric_free(scenario->fabric);
	scenario->fabric = NULL;
}
