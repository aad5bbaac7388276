// SPDX-License-Identifier: GPL-2.0
#include "tools/fabric/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/job/expect.h"
#include "lib/job/shelf.h"

#define FABRIC_OPTION(member) CLI_FIELD(struct fabric_command, member)

static const struct cli_option fabric_command_options[] = {
	{"sweep", 0, "SECTION.KEY=V1,V2",
	 "Run every value, with those of other --sweep every combination", CLI_LIST,
	 FABRIC_OPTION(sweeps), .most = FABRIC_SWEEPS_MAX,
	 .count = offsetof(struct fabric_command, sweep_count)},
	{"keys", 0, NULL, "List every key of a job with its meaning and default", CLI_FLAG,
	 FABRIC_OPTION(keys)},
	{0},
};

static int fabric_command_check(void *input)
{
	const struct fabric_command *command = input;
	const struct output_options *output = &command->output;
	bool more = command->job || command->overrides.set_count || command->sweep_count ||
		    command->overrides.shorten || output->to.format != OUTPUT_TEXT || output->table;

	if (command->keys && more)
		return failed(-EINVAL, "--keys lists all keys: accepted: without a job and other "
				       "options");
	if (!command->keys && !command->job)
		return failed(-EINVAL, "no JOB; accepted: a shipped job's name, or a file");
	return 0;
}

int fabric_command_parse(struct fabric_command *command, const char *about, int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{fabric_command_options},
		{job_override_options, offsetof(struct fabric_command, overrides)},
		{0}};
	static const struct cli_child children[] = {
		{&output_argp, offsetof(struct fabric_command, output)}, {0}};
	const struct cli cli = {.tables = tables,
				.children = children,
				.arguments = "JOB",
				.argument = offsetof(struct fabric_command, job),
				.check = fabric_command_check,
				.about = about};

	return cli_parse(&cli, argc, argv, command);
}

static int fabric_read_job(struct fabric_command *command)
{
	static const struct shelf shelf = {"tools/jobs", "sim"};
	char *path = command->job_path;
	int err = shelf_find(&shelf, command->job, path, PATH_MAX);

	if (err)
		return failed(failed_input(err), "%s%s", failure_text(),
			      destination_hint(&command->output.to, command->job));
	command->inputs[0] = path;
	err = failed_input(job_text_read(&command->text, path, "a fabric's job file"));
	if (!err && command->overrides.shorten)
		err = job_text_shorten(command->text);
	if (!err)
		err = fabric_job_complete(command->text);
	if (!err)
		err = job_overrides_assign(&command->overrides, command->text);
	for (size_t i = 0; !err && i < command->sweep_count; i++)
		err = sweep_option_add(command->text, command->sweeps[i]);
	if (!err)
		err = fabric_job_check(command->text);
	if (!err)
		err = fabric_job_sweep(command->text);
	return err ? err : sweep_build(&command->sweep, command->text);
}

static char *path_names(const struct fabric *fabric, const struct route *route)
{
	size_t room = route->count * (FABRIC_NAME + 1) + 1, used = 0;
	char *names = malloc(room);

	for (__u32 i = 0; names && i < route->count; i++)
		used += (size_t)snprintf(names + used, room - used, "%s%s", i ? " " : "",
					 fabric->nodes[route->nodes[i]].name);
	return names;
}

static int fabric_run_point(struct fabric_command *command, size_t number, struct idle_keys *idle)
{
	struct fabric_point *point = &command->points[number];
	struct scenario scenario = {0};
	struct job_text *text;
	int err = sweep_point_text(&text, &command->sweep, number, command->text);

	if (err)
		return err;
	err = scenario_configure(&scenario, text, idle);
	if (!err) {
		scenario_judge(&scenario, point->values);
		memcpy(point->stages, scenario.stages, sizeof(point->stages));
		point->stage_count = scenario.stage_count;
	}
	for (__u32 i = 0; !err && i < point->stage_count; i++) {
		point->paths[i] = path_names(scenario.fabric, &point->stages[i].route);
		if (!point->paths[i])
			err = failed(-ENOMEM, "no memory for the results");
	}
	scenario_free(&scenario);
	job_text_free(text);
	return err;
}

int fabric_command_run(struct fabric_command *command)
{
	const struct expression_scope scope = {.sweep = &command->sweep,
					       .columns = &fabric_job_columns};
	struct idle_keys idle = {0};
	int err = fabric_read_job(command);

	if (!err)
		err = expect_check(command->text, &scope);
	if (!err) {
		command->points = calloc(command->sweep.points, sizeof(command->points[0]));
		if (!command->points)
			err = failed(-ENOMEM, "no memory for %zu points", command->sweep.points);
	}
	for (size_t i = 0; !err && i < command->sweep.points; i++)
		err = fabric_run_point(command, i, &idle);
	if (!err)
		err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	return err;
}

void fabric_command_free(struct fabric_command *command)
{
	for (size_t i = 0; command->points && i < command->sweep.points; i++)
		for (int s = 0; s < SCENARIO_STAGES; s++)
			free(command->points[i].paths[s]);
	free(command->points);
	sweep_free(&command->sweep);
	job_text_free(command->text);
}

int fabric_command_keys(void)
{
	return common_print_keys(fabric_job_options());
}
