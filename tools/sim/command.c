// SPDX-License-Identifier: GPL-2.0
#include "tools/sim/command.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/floor.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "lib/job/expect.h"
#include "lib/job/shelf.h"
#include "tools/progress.h"

static const char *const formats[IMPORT_FORMATS + 1] = {"auto", "flt", "hypersio", "qemu"};

#define SIM(member) CLI_FIELD(struct sim_command, member)
#define SIM_LIST(list, number) \
	SIM(list), .most = SIM_VALUES_MAX, .count = offsetof(struct sim_command, number)

static const struct cli_option sim_command_options[] = {
	{"preset", 0, "NAME", "base, hypertrio, as-released, table2-literal; repeatable", CLI_LIST,
	 SIM_LIST(presets.at, presets.count)},
	{"tenants", 0, "N", "The same as --set trace.tenants=N", CLI_TEXT, SIM(tenants)},
	{"trace", 0, "FILE",
	 "Recording to take translations from instead of making them up; repeatable", CLI_LIST,
	 SIM_LIST(recordings.at, recordings.count)},
	{"format", 0, "NAME", "Of the recordings: auto, flt, hypersio, qemu", CLI_CHOICE,
	 SIM(format), .names = formats},
	{"keys", 0, NULL, "List every key of a job with its meaning and default", CLI_FLAG,
	 SIM(keys)},
	{0},
};

static const struct cli_option points_options[] = {
	{"sweep", 0, "SECTION.KEY=V1,V2",
	 "Run every value, with those of other --sweep every combination", CLI_LIST,
	 SIM_LIST(sweeps.at, sweeps.count)},
	{"threads", 'j', "N", "Points at a time (all CPUs)", CLI_COUNT, SIM(threads), 1,
	 SIM_THREADS_MAX},
	{0},
};

static int sim_refuse_sweep(const char *text, void *field)
{
	(void)text;
	(void)field;
	return failed(-EINVAL,
		      "there is one trace; accepted: --set SECTION.KEY=VALUE, a run for each "
		      "value");
}

static int sim_refuse_threads(const char *text, void *field)
{
	(void)text;
	(void)field;
	return failed(-EINVAL, "there is one trace, on one CPU; leave it out");
}

/* Where there is one trace they are understood, to say what to do instead. */
static const struct cli_option hidden_options[] = {
	{"sweep", 0, "SECTION.KEY=V1,V2", "", CLI_OWN, .parse = sim_refuse_sweep, .hidden = true},
	{"threads", 'j', "N", "", CLI_OWN, .parse = sim_refuse_threads, .hidden = true},
	{0},
};

static bool sim_only_keys(const struct sim_command *command)
{
	const struct output_options *output = &command->output;

	return !command->job && !command->presets.count && !command->overrides.set_count &&
	       !command->sweeps.count && !command->recordings.count && !command->tenants &&
	       !command->threads && !command->overrides.shorten &&
	       output->to.format == OUTPUT_TEXT && !output->table;
}

static int sim_command_check(void *input)
{
	const struct sim_command *command = input;

	if (command->keys && !sim_only_keys(command))
		return failed(-EINVAL, "--keys lists all keys: accepted: without a job and other "
				       "options");
	if (command->format != IMPORT_AUTO && !command->recordings.count)
		return failed(-EINVAL, "--format %s: accepted: with --trace FILE",
			      import_format_name(command->format));
	if (command->hosts.count && !command->recordings.count)
		return failed(-EINVAL, "--host %s: accepted: with --trace FILE",
			      command->hosts.patterns[0]);
	return 0;
}

int sim_command_parse(struct sim_command *command, const char *about, int argc, char **argv)
{
	const struct cli_table tables[] = {
		{sim_command_options},
		{command->one_trace ? hidden_options : points_options},
		{job_override_options, offsetof(struct sim_command, overrides)},
		{0}};
	static const struct cli_child children[] = {
		{&output_argp, offsetof(struct sim_command, output)},
		{&memory_argp},
		{&hosts_argp, offsetof(struct sim_command, hosts)},
		{0}};
	const struct cli cli = {.tables = tables,
				.children = children,
				.arguments = "[JOB]",
				.argument = offsetof(struct sim_command, job),
				.check = sim_command_check,
				.about = about};
	int err = cli_parse(&cli, argc, argv, command);

	if (err)
		return err;
	memory_keep_to(memory_limit_now());
	progress_end_on_signals();
	return 0;
}

/* Which of its points would be meant nobody has said. */
static int check_one_trace(const struct sim_command *command)
{
	const struct sweep *sweep = &command->sweep;

	for (size_t i = 0; i < sweep->dimension_count; i++) {
		const struct sweep_dimension *d = &sweep->dimensions[i];

		if (d->value_count > 1)
			return failed(
				-EBADMSG,
				"%s: %s has %zu values, and accesses are those of one trace; choose "
				"one: --set 'sweep.%s=%s: %s'",
				d->where, d->name, d->value_count, d->name, d->target,
				d->values[0]);
	}
	return 0;
}

static int read_job(struct sim_command *command)
{
	static const struct shelf shelf = {"tools/jobs", "sim"};
	char *path = command->job_path;
	int err = 0;

	if (command->job && (err = shelf_find(&shelf, command->job, path, PATH_MAX)))
		return failed(failed_input(err), "%s%s", failure_text(),
			      destination_hint(&command->output.to, command->job));
	if (command->job)
		err = failed_input(job_text_read(&command->text, path, "a simulation file"));
	else if (!(command->text = job_text_new("the command line")))
		err = failed(-ENOMEM, "no memory for the job");
	if (!err && command->overrides.shorten && !job_text_section(command->text, "short", NULL))
		return job_text_shorten(command->text); /* says that there is none */
	if (!err)
		err = sim_complete(command->text);
	if (!err && command->overrides.shorten)
		err = job_text_shorten(command->text);
	for (size_t i = 0; !err && i < command->presets.count; i++)
		err = sim_preset(command->text, command->presets.at[i]);
	if (!err)
		err = job_overrides_assign(&command->overrides, command->text);
	if (!err && command->tenants)
		err = job_text_set(command->text, "trace.tenants", command->tenants, "--tenants");
	for (size_t i = 0; !err && i < command->sweeps.count; i++)
		err = sweep_option_add(command->text, command->sweeps.at[i]);
	if (!err)
		err = sim_check_values(command->text);
	if (!err)
		err = sweep_build(&command->sweep, command->text);
	if (!err && command->one_trace)
		err = check_one_trace(command);
	return err;
}

static int configure_point(struct sim_command *command, size_t point, struct idle_keys *idle)
{
	struct sim_config *config = &command->configs[point];
	struct job_text *text;
	int err = sweep_point_text(&text, &command->sweep, point, command->text);

	if (err)
		return err;
	err = sim_configure(config, text, command->recordings.count, idle);
	job_text_free(text);
	if (!err && (err = model_check(&config->model)) == -EINVAL)
		err = -EBADMSG;
	return err;
}

/* Every point is understood before the first one runs. */
static int sim_command_configure(struct sim_command *command)
{
	const struct expression_scope scope = {.sweep = &command->sweep, .columns = &sim_columns};
	/* What a job expects it expects of all points of a simulation. */
	int err = command->one_trace ? 0 : expect_check(command->text, &scope);
	struct idle_keys idle = {0};

	command->configs = calloc(command->sweep.points, sizeof(command->configs[0]));
	if (!command->configs)
		return failed(-ENOMEM, "no memory for %zu points", command->sweep.points);
	for (size_t i = 0; !err && i < command->sweep.points; i++)
		err = configure_point(command, i, &idle);
	if (!err)
		err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	return err;
}

/* What is not in a recording is missing from the trace: the run ends with EXIT_LOSS, and here is why. */
static void note_missing(struct sim_command *command, const char *path,
			 const struct import_missing *missing)
{
	unsigned int floor = floor_of_loss(&missing->loss, 0);
	char text[FLOOR_TEXT];

	if (floor)
		fprintf(stderr, "faultline: %s: counts are floors: %s\n", printable_of(path).text,
			floor_text(floor, text));
	if (missing->counted_only)
		fprintf(stderr,
			"faultline: %s: counts are floors: %llu of its %llu I/Os were recorded one by one "
			"(slow ones and those that faulted), the others only counted; record with --kind "
			"io_complete to have all\n",
			printable_of(path).text, missing->taken,
			missing->taken + missing->counted_only);
	if (floor || missing->counted_only)
		command->lossy = true;
}

/* Before the end of that one, and of those behind it nothing. */
static void note_no_room(struct sim_command *command, size_t at)
{
	fprintf(stderr, "faultline: %s: counts are floors: %s\n",
		printable_of(command->recordings.at[at]).text, failure_text());
	while (++at < command->recordings.count)
		fprintf(stderr,
			"faultline: %s: counts are floors: not read, as there is no room left\n",
			printable_of(command->recordings.at[at]).text);
	command->lossy = true;
}

/* Hosts of a merged recording are as recordings of their own. */
static int read_recorded_hosts(struct sim_command *command, const char *path, __u32 *number)
{
	struct import_missing missing;
	struct trace_hosts hosts;
	int err = import_hosts(path, command->format, &hosts);

	for (size_t i = 0; !err && i < (hosts.count ?: 1); i++) {
		if (hosts.count && !hosts_want(&command->hosts, hosts.all[i].name))
			continue;
		if (*number == IMPORT_FILES)
			err = failed(-EINVAL, "%s: accepted: up to %d recordings and hosts", path,
				     IMPORT_FILES);
		else if (hosts.count)
			err = import_host(command->store, path, (__u32)i + 1, (*number)++,
					  &missing);
		else
			err = import_file(command->store, path, command->format, (*number)++,
					  &missing);
		if (!err || err == -EDQUOT)
			note_missing(command, path, &missing);
	}
	trace_hosts_free(&hosts);
	return err;
}

/* A host that is in no recording is a wrong option, and no wrong recording. */
static int check_hosts(const struct sim_command *command)
{
	int err = 0;

	for (size_t i = 0; !err && command->hosts.count && i < command->recordings.count; i++) {
		const char *path = command->recordings.at[i];
		struct trace_hosts hosts;

		err = failed_input(import_hosts(path, command->format, &hosts));
		if (err)
			return err;
		err = hosts_check_recording(&command->hosts, path, &hosts);
		trace_hosts_free(&hosts);
	}
	return err;
}

static int read_recordings(struct sim_command *command)
{
	int err = command->recordings.count ? failed_system(store_create(&command->store)) : 0;
	__u32 number = 0;

	if (err)
		return err;
	for (size_t i = 0; !err && i < command->recordings.count; i++) {
		err = read_recorded_hosts(command, command->recordings.at[i], &number);
		if (err == -EDQUOT) {
			note_no_room(command, i);
			return 0;
		}
	}
	return failed_input(err);
}

/* What the output may not replace. */
static void list_inputs(struct sim_command *command)
{
	const char **input = command->inputs;

	if (command->job)
		*input++ = command->job_path;
	for (size_t i = 0; i < command->recordings.count; i++)
		*input++ = command->recordings.at[i];
}

int sim_command_read(struct sim_command *command)
{
	int err = read_job(command);

	if (!err)
		err = sim_command_configure(command);
	if (!err)
		err = check_hosts(command);
	if (!err)
		err = read_recordings(command);
	list_inputs(command);
	/* How many were recorded is known only now. */
	for (size_t i = 0; !err && command->store && i < command->sweep.points; i++)
		if (!command->configs[i].tenants)
			command->configs[i].trace.turns.tenants = store_tenants(command->store);
	return err;
}

void sim_command_free(struct sim_command *command)
{
	free(command->configs);
	store_destroy(command->store);
	sweep_free(&command->sweep);
	job_text_free(command->text);
}

int sim_command_open(const struct sim_command *command, struct writer **writer,
		     const char *const *tables)
{
	return common_open_writer(writer, &command->output, command->inputs, tables);
}

/* At the end of each tenant whose recording is played. */
static __u64 left_out(const struct sim_config *config, const struct store *store)
{
	__u32 tenants = store_tenants(store);
	__u64 count = 0;

	if (!config->as_recorded && config->trace.turns.tenants < tenants)
		tenants = config->trace.turns.tenants;
	for (__u32 i = 0; i < tenants; i++)
		count += store_tenant_records(store, i) % config->requests;
	return count;
}

int sim_command_left_out(const struct sim_command *command, size_t points, struct writer *writer)
{
	char text[64 + MODEL_REQUESTS * 64], *at = text, *end = text + sizeof(text);
	__u64 told = 0, count; /* `told`: bit per size of a packet */

	for (size_t i = 0; command->store && i < points; i++) {
		const struct sim_config *config = &command->configs[i];

		if (told & 1ull << config->requests || !(count = left_out(config, command->store)))
			continue;
		told |= 1ull << config->requests;
		at += snprintf(at, (size_t)(end - at), "%s%llu of less than a packet of %u",
			       at == text ? "" : ", ", count, config->requests);
	}
	if (!told)
		return 0;
	if (sim_command_whole(command))
		fprintf(stderr, "faultline: recorded accesses left out at the end: %s\n", text);
	if (!writer_is_text(writer))
		return writer_fact(writer, "left_out", text);
	return writer_note(writer, "Recorded accesses left out at the end: %s.", text);
}

int sim_command_close(struct writer *writer, int err)
{
	if (!err)
		return writer_close(writer);
	writer_abandon(writer);
	return err;
}

bool sim_command_whole(const struct sim_command *command)
{
	return command->output.to.format != OUTPUT_TEXT || command->output.table;
}

int sim_command_keys(void)
{
	return common_print_keys(&sim_options);
}
