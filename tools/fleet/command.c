// SPDX-License-Identifier: GPL-2.0
#include "tools/fleet/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/job/expect.h"
#include "lib/job/shelf.h"

#define FLEET_OPTION(member) CLI_FIELD(struct fleet_command, member)

static const struct cli_option fleet_command_options[] = {
	{"sweep", 0, "SECTION.KEY=V1,V2",
	 "Run every value, with those of other --sweep every combination", CLI_LIST,
	 FLEET_OPTION(sweeps), .most = FLEET_SWEEPS_MAX,
	 .count = offsetof(struct fleet_command, sweep_count)},
	{"threads", 'j', "N", "Machines at a time (all CPUs)", CLI_COUNT, FLEET_OPTION(threads), 1,
	 FLEET_THREADS_MAX},
	{"write", 0, "DIR",
	 "Also write the accesses as recordings into the new folder DIR, one a host, which other "
	 "verbs read",
	 CLI_TEXT, FLEET_OPTION(write)},
	{"keys", 0, NULL, "List every key of a job with its meaning and default", CLI_FLAG,
	 FLEET_OPTION(keys)},
	{0},
};

static bool fleet_only_keys(const struct fleet_command *command)
{
	const struct output_options *output = &command->output;

	return !command->job && !command->overrides.set_count && !command->sweep_count &&
	       !command->threads && !command->write && !command->overrides.shorten &&
	       output->to.format == OUTPUT_TEXT && !output->table;
}

static int fleet_command_check(void *input)
{
	const struct fleet_command *command = input;

	if (command->keys && !fleet_only_keys(command))
		return failed(-EINVAL, "--keys lists all keys: accepted: without a job and other "
				       "options");
	if (!command->keys && !command->job)
		return failed(-EINVAL, "no JOB; accepted: a shipped job's name, or a file");
	if (command->write && !*command->write)
		return failed(-EINVAL,
			      "--write '': accepted: the path of a folder that is not there");
	return 0;
}

int fleet_command_parse(struct fleet_command *command, const char *about, int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{fleet_command_options},
		{job_override_options, offsetof(struct fleet_command, overrides)},
		{0}};
	static const struct cli_child children[] = {
		{&output_argp, offsetof(struct fleet_command, output)}, {&memory_argp}, {0}};
	const struct cli cli = {.tables = tables,
				.children = children,
				.arguments = "JOB",
				.argument = offsetof(struct fleet_command, job),
				.check = fleet_command_check,
				.about = about};
	int err = cli_parse(&cli, argc, argv, command);

	if (!err)
		memory_keep_to(memory_limit_now());
	return err;
}

static int fleet_read_job(struct fleet_command *command)
{
	static const struct shelf shelf = {"tools/jobs", "sim"};
	char *path = command->job_path;
	int err = shelf_find(&shelf, command->job, path, PATH_MAX);

	if (err)
		return failed(failed_input(err), "%s%s", failure_text(),
			      destination_hint(&command->output.to, command->job));
	command->inputs[0] = path;
	err = failed_input(job_text_read(&command->text, path, "a fleet's job file"));
	/* Short values first, as --set goes before them and a list of policies may be among both. */
	if (!err && command->overrides.shorten)
		err = job_text_shorten(command->text);
	if (!err)
		err = fleet_complete(command->text);
	if (!err)
		err = job_overrides_assign(&command->overrides, command->text);
	for (size_t i = 0; !err && i < command->sweep_count; i++)
		err = sweep_option_add(command->text, command->sweeps[i]);
	if (!err)
		err = fleet_sweep_policies(command->text);
	if (!err)
		err = fleet_check_values(command->text);
	return err ? err : sweep_build(&command->sweep, command->text);
}

static int fleet_configure_point(struct fleet_command *command, size_t point,
				 struct idle_keys *idle)
{
	struct job_text *text;
	int err = sweep_point_text(&text, &command->sweep, point, command->text);

	if (err)
		return err;
	err = fleet_configure(&command->configs[point], text, idle);
	job_text_free(text);
	return err;
}

int fleet_command_read(struct fleet_command *command)
{
	const struct expression_scope scope = {.sweep = &command->sweep, .columns = &fleet_columns};
	struct idle_keys idle = {0};
	int err = fleet_read_job(command);

	if (!err)
		err = expect_check(command->text, &scope);
	if (!err) {
		command->configs = calloc(command->sweep.points, sizeof(command->configs[0]));
		if (!command->configs)
			err = failed(-ENOMEM, "no memory for %zu points", command->sweep.points);
	}
	for (size_t i = 0; !err && i < command->sweep.points; i++)
		err = fleet_configure_point(command, i, &idle);
	if (!err)
		err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	if (!err && command->write && command->sweep.points > 1 &&
	    fleet_command_alike(command, 0) < command->sweep.points)
		err = failed(-EINVAL, "--write: the points of the sweep have different accesses; "
				      "accepted: those of one, which --set chooses");
	return err;
}

void fleet_command_free(struct fleet_command *command)
{
	free(command->configs);
	sweep_free(&command->sweep);
	job_text_free(command->text);
}

bool fleet_command_whole(const struct fleet_command *command)
{
	return command->output.to.format != OUTPUT_TEXT || command->output.table;
}

size_t fleet_command_alike(const struct fleet_command *command, size_t point)
{
	const struct sweep *sweep = &command->sweep;
	const struct sweep_dimension *last;

	if (!sweep->dimension_count || sweep_is_baseline(sweep, point))
		return 1;
	last = &sweep->dimensions[sweep->dimension_count - 1];
	if (strcmp(last->target, "protector.policy") != 0 || last->value_count > FLEET_POLICIES)
		return 1;
	return last->value_count - sweep_index(sweep, point, sweep->dimension_count - 1);
}

int fleet_command_keys(void)
{
	return common_print_keys(fleet_options());
}
