// SPDX-License-Identifier: GPL-2.0
/* faultline-inject: emulated machines and the faults that a job file gives them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/campaign.h"
#include "injectors/cluster/options.h"
#include "injectors/emu/registry.h"
#include "injectors/exec.h"
#include "injectors/job/campaign.h"
#include "injectors/job/memory_group.h"
#include "injectors/real/journal.h"
#include "injectors/real/real.h"
#include "injectors/vm_lines.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/cli/program.h"
#include "lib/job/options.h"

/* Of `run` and `check`. */
struct job_arguments {
	struct campaign_options options;
	bool dry_run, check_only;
};

#define JOB(member) CLI_FIELD(struct job_arguments, member)

static int check_truth_path(const char *text, void *field)
{
	(void)field;
	return destination_check(text, false);
}

static const struct cli_option check_options[] = {
	{"seed", 's', "N", "Set machine.seed", CLI_TEXT, JOB(options.seed)},
	{0},
};

static const struct cli_option run_options[] = {
	{"dry-run", 'n', NULL, "Print what would be started and injected, do nothing", CLI_FLAG,
	 JOB(dry_run)},
	{"truth", 0, "FILE",
	 "Write what really happened, one JSON object a line; FILE.N for each of several points",
	 CLI_TEXT, JOB(options.truth), .parse = check_truth_path},
	{"console", 0, "FILE",
	 "Write what virtual machines print, each line with its tenant; FILE.N for each of several "
	 "points",
	 CLI_TEXT, JOB(options.console), .parse = check_truth_path},
	{"keep-going", 0, NULL, "Go on with the other points if one fails", CLI_FLAG,
	 JOB(options.keep_going)},
	{0},
};

#define JOB_TABLES                                                                      \
	{check_options},                                                                \
	{                                                                               \
		job_override_options, offsetof(struct job_arguments, options.overrides) \
	}

static int check_arguments(void *input)
{
	const struct job_arguments *arguments = input;
	const struct campaign_options *options = &arguments->options;
	const char *format = output_format_name(&options->output);

	if (!options->job)
		return failed(-EINVAL,
			      "no job file; `faultline-inject list` names the shipped ones");
	if (arguments->dry_run && format)
		return failed(-EINVAL, "--%s: accepted: without --dry-run, which has no results",
			      format);
	if (arguments->dry_run && options->truth)
		return failed(-EINVAL,
			      "--truth: accepted: without --dry-run, in which nothing happens");
	if (arguments->dry_run && options->console)
		return failed(
			-EINVAL,
			"--console: accepted: without --dry-run, in which nothing is printed");
	if (options->truth && options->output.to.path &&
	    !strcmp(options->truth, options->output.to.path))
		return failed(-EINVAL, "--truth %s: the results are to be there", options->truth);
	return 0;
}

/* A job with [host] sections is one of several machines, joined by bridges. */
static int load_and_run_cluster(const struct job_arguments *arguments, struct job_text *text)
{
	return cluster_campaign(text, &arguments->options,
				arguments->dry_run	? CLUSTER_CAMPAIGN_PRINT
				: arguments->check_only ? CLUSTER_CAMPAIGN_CHECK
							: CLUSTER_CAMPAIGN_RUN);
}

static int load_and_run(const struct job_arguments *arguments)
{
	struct campaign campaign;
	struct job_text *text;
	int err = campaign_read(&text, &arguments->options), code;

	if (!err && cluster_campaign_is(text))
		return load_and_run_cluster(arguments, text);
	if (!err)
		err = campaign_load(&campaign, text, &arguments->options);
	if (err)
		return failure_report(err);
	if (arguments->dry_run) {
		err = campaign_print(&campaign, &arguments->options, stdout);
		code = err ? failure_report(err) : EXIT_OK;
	} else if (arguments->check_only) {
		printf("%s: %zu point%s, nothing wrong\n", printable_of(campaign.text->path).text,
		       campaign.sweep.points, campaign.sweep.points == 1 ? "" : "s");
		code = EXIT_OK;
	} else {
		code = campaign_run(&campaign, &arguments->options);
	}
	campaign_free(&campaign);
	return code;
}

static int verb_run(int argc, char **argv)
{
	static const struct cli_table tables[] = {
		JOB_TABLES,
		{run_options},
		{consent_options, offsetof(struct job_arguments, options.consents)},
		{0}};
	const struct cli cli = {
		.tables = tables,
		.children =
			(const struct cli_child[]){
				{&results_argp, offsetof(struct job_arguments, options.output)},
				{0}},
		.arguments = "JOB",
		.argument = offsetof(struct job_arguments, options.job),
		.check = check_arguments,
		.about =
			"Runs a job file: starts the machine it describes, once for each point of its "
			"sweep, injects, and prints one row of results a point. JOB is the name of a "
			"shipped job or, with a slash or .ini, a file.\v"
			"EXAMPLES:\n"
			"  sudo faultline-inject run rtt --short\n"
			"  sudo faultline-inject run burst-block --csv=burst.csv\n"
			"  sudo faultline-inject run job.ini --set storm.rate=20/s --seed 7\n",
	};
	struct job_arguments arguments = {.options.output.growing = true};

	cli_parse(&cli, argc, argv, &arguments);
	return load_and_run(&arguments);
}

static int verb_check_job(int argc, char **argv)
{
	static const struct cli_table tables[] = {JOB_TABLES, {0}};
	const struct cli cli = {
		.tables = tables,
		.arguments = "JOB",
		.argument = offsetof(struct job_arguments, options.job),
		.check = check_arguments,
		.about =
			"Reads a job file and checks all of it, also what --short makes of it; starts nothing.\v"
			"EXAMPLES:\n"
			"  faultline-inject check job.ini\n"
			"  faultline-inject check rtt --short\n",
	};
	struct job_arguments arguments = {.check_only = true, .options.both_grids = true};

	cli_parse(&cli, argc, argv, &arguments);
	return load_and_run(&arguments);
}

struct help_arguments {
	bool markdown, hosts;
	const char *key;
};

static int check_help(void *input)
{
	const struct help_arguments *arguments = input;

	if (!arguments->key || !arguments->markdown)
		return 0;
	return failed(-EINVAL, "%s: accepted: without --markdown, which explains all",
		      arguments->key);
}

static int verb_help(int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"hosts", 0, NULL, "Of jobs with [host] sections, which emulate several machines",
		 CLI_FLAG, CLI_FIELD(struct help_arguments, hosts)},
		{"markdown", 0, NULL, "As the tables of docs/jobs.md", CLI_FLAG,
		 CLI_FIELD(struct help_arguments, markdown)},
		{0},
	};
	static const struct cli_table tables[] = {{options}, {0}};
	static const struct cli cli = {
		.tables = tables,
		.arguments = "[KEY]",
		.argument = offsetof(struct help_arguments, key),
		.check = check_help,
		.about = "Explains the keys of job files: meaning, unit, range, default.\v"
			 "EXAMPLES:\n"
			 "  faultline-inject help\n"
			 "  faultline-inject help inject.rate\n"
			 "  faultline-inject help results\n",
	};
	const struct option_table *table = job_options();
	struct help_arguments arguments = {0};
	int err = 0;

	cli_parse(&cli, argc, argv, &arguments);
	if (arguments.hosts)
		table = cluster_options();
	if (arguments.markdown)
		options_markdown(table, stdout);
	else
		err = options_help(table, stdout, arguments.key);
	if (err)
		failure_report(err);
	return err ? EXIT_USAGE : EXIT_OK;
}

/* The first comment line of a job file says what it is for. */
static void print_job(void *argument, const char *directory, const char *file)
{
	char path[PATH_MAX + NAME_MAX + 2], line[256] = "";
	FILE *job;

	(void)argument;
	snprintf(path, sizeof(path), "%s/%s", directory, file);
	job = fopen(path, "re");
	while (job && fgets(line, sizeof(line), job))
		if (line[0] == ';' && !strstr(line, "SPDX"))
			break;
	if (job)
		fclose(job);
	line[strcspn(line, "\n")] = '\0';
	printf("%-20.*s %s\n", (int)strlen(file) - 4, file, line + strspn(line, "; "));
}

static int verb_list(int argc, char **argv)
{
	static const struct cli_table tables[] = {{0}};
	static const struct cli cli = {.tables = tables,
				       .about = "Lists the shipped jobs, and what each is for.\v"
						"EXAMPLES:\n"
						"  faultline-inject list\n"};
	int err;

	cli_parse(&cli, argc, argv, NULL);
	err = shelf_list(&campaign_shelf, print_job, NULL);
	return err ? failure_report(err) : EXIT_OK;
}

static int verb_recover(int argc, char **argv)
{
	static const struct cli_option known[] = {
		{"dry-run", 'n', NULL, "Print what would be undone, do nothing", CLI_FLAG,
		 CLI_FIELD(struct journal_options, dry_run)},
		{0},
	};
	static const struct cli_table tables[] = {{known}, {0}};
	static const struct cli cli = {
		.tables = tables,
		.about =
			"Undoes what killed programs left behind: changes of the kernel's state that "
			"are in their journals, and entries of machines.\v"
			"EXAMPLES:\n"
			"  sudo faultline-inject recover --dry-run\n"
			"  sudo faultline-inject recover\n",
	};
	struct journal_options options = {.log = stdout};
	struct journal_recovery recovery;
	int removed, err, code;

	cli_parse(&cli, argc, argv, &options);
	err = journal_recover(&options, &recovery);
	if (err) {
		code = failure_report(err);
		if (!options.dry_run) {
			registry_remove_stale();
			memory_group_remove_stale();
		}
		return code;
	}
	if (options.dry_run) {
		printf("%u change%s to undo\n", recovery.left, recovery.left == 1 ? "" : "s");
		return EXIT_OK;
	}
	removed = registry_remove_stale();
	if (removed < 0)
		return failure_report(removed);
	removed += memory_group_remove_stale();
	printf("%d stale entr%s removed; %u change%s undone\n", removed, removed == 1 ? "y" : "ies",
	       recovery.undone, recovery.undone == 1 ? "" : "s");
	return EXIT_OK;
}

static const struct verb verbs[] = {
	{"run", "run a job file and print its results", verb_run},
	{"check", "check a job file, start nothing", verb_check_job},
	{"help", "explain the keys of job files", verb_help},
	{"list", "list the shipped jobs", verb_list},
	{"exec", "run a command inside a running machine's network", verb_exec},
	{"iopf", "make the devices of the kernel module faultline_device fault", real_iopf},
	{"odp", "RDMA traffic over memory that pages on demand and is not there", real_odp},
	{"pageout", "evict the DMA targets of a process, so that it faults for real", real_pageout},
	{"slow", "make storage that answers late, as swap or to be mapped", real_slow},
	{"recover", "undo what killed programs left behind", verb_recover},
	{"vm", "tell how somebody else starts a job's virtual machines", verb_vm},
	{"vfio", "drive devices from user space, into IOMMU faults and limits", real_vfio},
};

int main(int argc, char **argv)
{
	const struct program program = {
		"faultline-inject",
		"Makes I/O page faults happen: on emulated machines, and on real ones.",
		"  sudo faultline-inject run demo\n"
		"  sudo faultline-inject run rtt --short --csv=rtt.csv\n"
		"  faultline-inject help inject.rate\n",
		verbs,
		sizeof(verbs) / sizeof(verbs[0]),
	};

	return program_run(&program, argc, argv);
}
