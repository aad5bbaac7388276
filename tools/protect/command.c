// SPDX-License-Identifier: GPL-2.0
/* From the command line to the configuration of every point and the accesses of every recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/job/expect.h"
#include "tools/progress.h"
#include "tools/protect/study.h"

#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))
#define STUDY(member)	 CLI_FIELD(struct study, member)
#define DEFAULT_POLICIES "none, lru, adp"

static int study_check_pattern(const char *text, void *field)
{
	(void)field;
	return common_check_pattern(text);
}

static const struct cli_option study_cli_options[] = {
	{.help = "What is asked:", .group = 5},
	{"policy", 0, "NAME,...", "Policies to compare (none,lru,adp); --keys lists them", CLI_TEXT,
	 STUDY(policies)},
	{"rule", 0, "NAME",
	 "When an access faults: interval (long after the one before), reclaim (its page was taken)",
	 CLI_TEXT, STUDY(rule)},
	{"drop", 0, "SHARE", "Share of the accesses that policies are not told of; all are judged",
	 CLI_TEXT, STUDY(drop)},
	{"sweep", 0, "SECTION.KEY=V1,V2",
	 "Run every value, with those of other --sweep every combination", CLI_LIST, STUDY(sweeps),
	 .most = COUNT(((struct study *)0)->sweeps), .count = offsetof(struct study, sweep_count)},
	{"keys", 0, NULL, "List every key of a job with its meaning and default", CLI_FLAG,
	 STUDY(keys)},
	{"threads", 'j', "N", "Runs at a time (all CPUs)", CLI_COUNT, STUDY(threads), 1, 256},
	{0},
};

static const struct cli_option study_recording_options[] = {
	{.help = "Of the recordings:", .group = 3},
	{"device", 'd', "PATTERN", "Only devices of this name, such as 'tenant0/*'", CLI_TEXT,
	 STUDY(device), .parse = study_check_pattern},
	{"source", 0, "NAME",
	 "Accesses: auto, pages (of each second), accesses (single I/Os), "
	 "mappings (DMA)",
	 CLI_CHOICE, STUDY(source), .names = study_sources},
	{0},
};

static const char about[] =
	"Tells what a policy would have pinned, had it seen the accesses of a recording, and which faults "
	"that would have avoided (VPRI sections 3.4 and 6.2). Results are a model's, labelled so.\v"
	"EXAMPLES:\n"
	"  faultline protect run.flt\n"
	"  faultline protect run.flt --policy none,adp,tuned --rule reclaim\n"
	"  faultline protect run.flt --policy adp --sweep protector.inactive=2%,5%,10%\n"
	"  faultline protect host1.flt host2.flt job.ini --csv=out\n"
	"  faultline protect run.flt --policy adp --table protect_actions --csv=-\n\n"
	"An argument that ends in .ini is a job. A job file has the sections and keys that --keys lists, "
	"[sweep], [expect] and [short] as in docs/jobs.md. Rules and policies: docs/protect.md.";

static int study_take(void *input, unsigned int number, const char *text)
{
	struct study *study = input;
	const size_t length = strlen(text);
	const bool job = length >= 4 && !strcmp(text + length - 4, ".ini");

	(void)number;
	if (job && study->job)
		return failed(-EINVAL, "two jobs: %s, %s; accepted: one", study->job, text);
	if (job) {
		study->job = text;
		return 0;
	}
	if (study->argument_count >= COUNT(study->arguments) - 2)
		return failed(-EINVAL, "more than %zu recordings", study->argument_count);
	study->arguments[study->argument_count++] = text;
	return 0;
}

static bool only_keys(const struct study *study)
{
	const struct output_options *output = &study->output;

	return !study->argument_count && !study->job && !study->policies && !study->rule &&
	       !study->drop && !study->sweep_count && !study->device && !study->source &&
	       !study->threads && !study->overrides.set_count && !study->overrides.shorten &&
	       output->to.format == OUTPUT_TEXT && !output->table;
}

static int study_check_options(void *input)
{
	const struct study *study = input;
	size_t standard_input = 0;

	if (study->keys)
		return only_keys(study)
			       ? 0
			       : failed(-EINVAL, "--keys lists all keys: accepted: without "
						 "recordings, a job and other options");
	if (!study->argument_count)
		return failed(-EINVAL, "no recording given; accepted: .flt files, or - for "
				       "standard input");
	for (size_t i = 0; i < study->argument_count; i++)
		standard_input += !strcmp(study->arguments[i], "-");
	if (standard_input > 1)
		return failed(-EINVAL, "standard input is named twice; accepted: once");
	return 0;
}

int study_parse(struct study *study, int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{study_recording_options},
		{study_cli_options},
		{job_override_options, offsetof(struct study, overrides)},
		{0}};
	static const struct cli_child children[] = {
		{&output_argp, offsetof(struct study, output), true},
		{&window_argp, offsetof(struct study, window), true},
		{&hosts_argp, offsetof(struct study, hosts), true},
		{&memory_argp, 0, true},
		{0}};
	static const struct cli cli = {.tables = tables,
				       .children = children,
				       .arguments = "FILE... [JOB.ini]",
				       .take = study_take,
				       .check = study_check_options,
				       .about = about};
	int err = cli_parse(&cli, argc, argv, study);

	if (err)
		return err;
	progress_end_on_signals();
	return 0;
}

/* "KEY: V1, V2" as the sweep of that name, which a job may have for the same key. */
static int set_sweep(struct study *study, const char *name, const char *target, const char *values,
		     const char *where)
{
	const struct job_section *section = job_text_section(study->text, "sweep", NULL);
	char entry[SWEEP_NAME + 16], value[JOB_LINE_MAX];
	const size_t length = strlen(target);

	snprintf(entry, sizeof(entry), "sweep.%s", name);
	for (size_t i = 0; i < section->entry_count; i++)
		if (!strncmp(section->entries[i].value, target, length) &&
		    strchr(": \t", section->entries[i].value[length]))
			snprintf(entry, sizeof(entry), "sweep.%.*s", SWEEP_NAME,
				 section->entries[i].key);
	snprintf(value, sizeof(value), "%s: %s", target, values);
	return job_text_set(study->text, entry, value, where);
}

static int take_sweep(struct study *study, const char *given)
{
	struct sweep_option option;
	int err = sweep_option_read(&option, given, study->text);

	return err ? err : set_sweep(study, option.name, option.target, option.values, "--sweep");
}

static bool names_a_policy(const struct study *study)
{
	const struct job_section *section = job_text_section(study->text, "protector", NULL);
	const struct job_section *sweep = job_text_section(study->text, "sweep", NULL);

	if (job_section_entry(section, "policy"))
		return true;
	for (size_t i = 0; i < sweep->entry_count; i++)
		if (!strncmp(sweep->entries[i].value, "protector.policy", 16))
			return true;
	return false;
}

static int study_read_job(struct study *study)
{
	int err = 0;

	if (study->job)
		err = failed_input(job_text_read(&study->text, study->job, "a job file"));
	else if (!(study->text = job_text_new("the command line")))
		err = failed(-ENOMEM, "no memory for the job");
	if (!err && study->overrides.shorten && !job_text_section(study->text, "short", NULL))
		return job_text_shorten(study->text); /* says that there is none */
	if (!err)
		err = study_complete(study->text);
	if (!err && study->overrides.shorten)
		err = job_text_shorten(study->text);
	if (!err)
		err = job_overrides_assign(&study->overrides, study->text);
	return err;
}

static int read_options(struct study *study)
{
	int err = 0;

	if (study->rule)
		err = job_text_set(study->text, "rule.kind", study->rule, "--rule");
	if (!err && study->drop)
		err = job_text_set(study->text, "log.drop", study->drop, "--drop");
	for (size_t i = 0; !err && i < study->sweep_count; i++)
		err = take_sweep(study, study->sweeps[i]);
	if (!err && study->policies)
		err = set_sweep(study, "policy", "protector.policy", study->policies, "--policy");
	else if (!err && !names_a_policy(study))
		err = set_sweep(study, "policy", "protector.policy", DEFAULT_POLICIES,
				"the command line");
	return err;
}

static int study_point(struct study *study, size_t point, struct idle_keys *idle)
{
	struct job_text *text;
	int err = sweep_point_text(&text, &study->sweep, point, study->text);

	if (err)
		return err;
	err = study_configure(&study->configs[point], text, idle);
	job_text_free(text);
	return err;
}

/* Every point is understood before anything is read. */
static int configure(struct study *study)
{
	const struct expression_scope scope = {.sweep = &study->sweep, .columns = &study_columns};
	struct idle_keys idle = {0};
	int err = expect_check(study->text, &scope);

	study->configs = calloc(study->sweep.points, sizeof(study->configs[0]));
	if (!study->configs)
		return failed(-ENOMEM, "no memory for %zu points", study->sweep.points);
	for (size_t i = 0; !err && i < study->sweep.points; i++)
		err = study_point(study, i, &idle);
	if (!err)
		err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	return err;
}

static __u32 smallest_page(const struct study *study)
{
	__u32 shift = 63;

	for (size_t i = 0; i < study->sweep.points; i++) {
		__u32 own = (__u32)__builtin_ctzll(study->configs[i].protector.page_bytes);

		shift = own < shift ? own : shift;
	}
	return shift;
}

static int study_read_one(struct study *study, const struct study_wish *wish)
{
	struct study_recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		return failed(-ENOMEM, "no memory for a recording");
	study->recordings[study->recording_count++] = recording;
	return study_read(recording, wish);
}

/* One that is merged is a recording a host, all of which are looked at once. */
static int study_read_hosts(struct study *study, const struct trace_hosts *hosts,
			    struct study_wish *wish)
{
	struct trace_summary *summaries = calloc(hosts->count, sizeof(*summaries));
	int err;

	if (!summaries)
		return failed(-ENOMEM, "no memory for %zu hosts", hosts->count);
	err = failed_input(trace_summarize_hosts(wish->path, summaries, hosts->count));
	for (size_t i = 0; !err && i < hosts->count; i++) {
		wish->host = (__u32)i + 1;
		wish->host_name = hosts->all[i].name;
		wish->summary = &summaries[i];
		if (hosts_want(&study->hosts, wish->host_name))
			err = study_read_one(study, wish);
	}
	for (size_t i = 0; i < hosts->count; i++)
		trace_summary_free(&summaries[i]);
	free(summaries);
	return err;
}

static int study_read_file(struct study *study, const struct trace_hosts *hosts,
			   struct study_wish *wish)
{
	struct study_recording **grown;
	int err = hosts_check_recording(&study->hosts, wish->path, hosts);

	if (err)
		return err;
	grown = realloc(study->recordings, (study->recording_count + hosts->count + 1) *
						   sizeof(struct study_recording *));
	if (!grown)
		return failed(-ENOMEM, "no memory for %zu hosts", hosts->count);
	study->recordings = grown;
	if (hosts->count)
		return study_read_hosts(study, hosts, wish);
	wish->host = 0;
	wish->summary = NULL;
	return study_read_one(study, wish);
}

static int study_read_all(struct study *study)
{
	struct study_wish wish = {.device = study->device,
				  .window = study->window,
				  .source = study->source,
				  .shift = smallest_page(study)};
	struct trace_hosts hosts;
	int err = 0;

	for (size_t i = 0; !err && i < study->argument_count; i++) {
		wish.path = study->arguments[i];
		err = failed_input(trace_hosts_read(wish.path, &hosts));
		if (err)
			break;
		err = study_read_file(study, &hosts, &wish);
		trace_hosts_free(&hosts);
	}
	return err;
}

/* Shares of what nobody knows the size of mean nothing. */
static int study_check_memory(const struct study *study, const struct study_tenant *tenant)
{
	for (size_t point = 0; point < study->sweep.points; point++) {
		const struct study_config *config = &study->configs[point];
		const bool whole = config->protector.scope == PROTECTOR_TENANT;

		if (config->memory_bytes || (whole && tenant->memory))
			continue;
		for (size_t i = 0; i < tenant->unit_count; i++)
			if (whole || !tenant->units[i].memory)
				return failed(
					-EINVAL,
					"%s: how much memory %s reaches was not recorded; accepted: "
					"--set protector.memory=SIZE for all, or -d PATTERN of devices "
					"that are known",
					tenant->recording->path,
					whole ? tenant->name : tenant->units[i].name);
	}
	return 0;
}

/* Each has a policy of its own, which under rule reclaim has to be asked at each access. */
static int check_domains(const struct study *study, const struct study_tenant *tenant)
{
	for (size_t point = 0; point < study->sweep.points; point++)
		if (study_domains(&study->configs[point], tenant) > WHAT_IF_DOMAINS)
			return failed(
				-EINVAL,
				"%s: %s has %zu devices and PASIDs; accepted: up to %d, chosen by "
				"-d PATTERN, or --set protector.scope=tenant",
				tenant->recording->path, tenant->name, tenant->unit_count,
				WHAT_IF_DOMAINS);
	return 0;
}

static int list_tenants(struct study *study)
{
	size_t room = 0;
	int err = 0;

	for (size_t r = 0; r < study->recording_count; r++)
		room += study->recordings[r]->tenant_count;
	study->tenants = calloc(room + 1, sizeof(struct study_tenant *));
	if (!study->tenants)
		return failed(-ENOMEM, "no memory for %zu tenants", room);
	for (size_t r = 0; r < study->recording_count; r++)
		for (size_t t = 0; !err && t < study->recordings[r]->tenant_count; t++) {
			const struct study_tenant *tenant = study->recordings[r]->tenants[t];

			if (!tenant->count)
				continue;
			err = study_check_memory(study, tenant);
			if (!err)
				err = check_domains(study, tenant);
			study->tenants[study->tenant_count++] = tenant;
		}
	return err;
}

int study_prepare(struct study *study)
{
	int err = study_read_job(study);

	if (!err)
		err = read_options(study);
	if (!err)
		err = study_check_values(study->text);
	if (!err)
		err = sweep_build(&study->sweep, study->text);
	if (!err)
		err = configure(study);
	if (!err)
		err = study_read_all(study);
	/* The output may not replace any of them, nor the job. */
	if (study->job)
		study->arguments[study->argument_count] = study->job;
	return err ? err : list_tenants(study);
}

void study_free(struct study *study)
{
	for (size_t i = 0; study->outcomes && i < study->sweep.points * study->tenant_count; i++)
		study_outcome_free(&study->outcomes[i]);
	for (size_t i = 0; i < study->recording_count; i++) {
		study_recording_free(study->recordings[i]);
		free(study->recordings[i]);
	}
	free(study->outcomes);
	free(study->values);
	free(study->tenants);
	free(study->recordings);
	free(study->configs);
	sweep_free(&study->sweep);
	job_text_free(study->text);
}

bool study_whole(const struct study *study)
{
	return study->output.to.format != OUTPUT_TEXT || study->output.table;
}
