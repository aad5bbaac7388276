// SPDX-License-Identifier: GPL-2.0
/* faultline-inject: emulated machines and the faults that a job file gives them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/registry.h"
#include "injectors/job/campaign.h"
#include "lib/base/printable.h"
#include "lib/base/usage.h"
#include "lib/job/options.h"
#include "injectors/real/journal.h"
#include "injectors/real/real.h"
#include "lib/base/descriptors.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/limits.h"
#include "lib/base/signals.h"

enum { OPTION_TRUTH = 256, OPTION_SET, OPTION_SHORT, OPTION_KEEP_GOING, OPTION_MARKDOWN };

struct run_arguments {
	struct campaign_options options;
	bool dry_run, check_only;
};

static const struct argp_option check_options[] = {
	{"set", OPTION_SET, "SECTION.KEY=VALUE", 0, "Replace a value of the job file; repeatable",
	 0},
	{"short", OPTION_SHORT, NULL, 0, "Use the smaller grid of the job's [short] section", 0},
	{"seed", 's', "N", 0, "Set machine.seed", 0},
	{"help", 'h', NULL, 0, "Show this help", -1},
	{0},
};

static const struct argp_option run_options[] = {
	{"set", OPTION_SET, "SECTION.KEY=VALUE", 0, "Replace a value of the job file; repeatable",
	 0},
	{"short", OPTION_SHORT, NULL, 0, "Use the smaller grid of the job's [short] section", 0},
	{"seed", 's', "N", 0, "Set machine.seed", 0},
	{"dry-run", 'n', NULL, 0, "Print what would be started and injected, do nothing", 0},
	{"truth", OPTION_TRUTH, "FILE", 0,
	 "Write what really happened, one JSON object a line; FILE.N for each of several points",
	 0},
	RESULTS_OPTIONS(0),
	{"keep-going", OPTION_KEEP_GOING, NULL, 0, "Go on with the other points if one fails", 0},
	CONSENT_OPTIONS(0),
	{"help", 'h', NULL, 0, "Show this help", -1},
	{0},
};

static error_t parse_run(int key, char *argument, struct argp_state *state)
{
	struct run_arguments *arguments = state->input;
	struct campaign_options *options = &arguments->options;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case 'n':
		arguments->dry_run = true;
		break;
	case 's':
		options->seed = argument;
		break;
	case OPTION_TRUTH:
		if (destination_name(&options->truth, "--truth", argument, false))
			usage_error(state, "%s", failure_text());
		break;
	case OPTION_SHORT:
		options->shorten = true;
		break;
	case OPTION_KEEP_GOING:
		options->keep_going = true;
		break;
	case CONSENT_OPTION:
		consent_add(&options->consents, argument, state);
		break;
	case OPTION_SET:
		if (options->set_count == CAMPAIGN_SETS)
			usage_error(state, "--set: accepted: at most %d times", CAMPAIGN_SETS);
		options->sets[options->set_count++] = argument;
		break;
	case ARGP_KEY_ARG:
		if (options->job)
			usage_error(state, "%s: accepted: one job file%s", argument,
				    destination_hint(&options->results.to, argument));
		options->job = argument;
		break;
	case ARGP_KEY_END:
		if (!options->job)
			usage_error(state, "no job file; `faultline-inject list` names the shipped "
					   "ones");
		if (arguments->dry_run)
			results_refuse_dry_run(&options->results, state);
		if (arguments->dry_run && options->truth)
			usage_error(state, "--truth: accepted: without --dry-run, in which nothing "
					   "happens");
		if (options->truth && options->results.to.path &&
		    !strcmp(options->truth, options->results.to.path))
			usage_error(state, "--truth %s: the results are to be there",
				    options->truth);
		break;
	default:
		return results_parse(key, argument, state, &options->results);
	}
	return 0;
}

static int load_and_run(const struct run_arguments *arguments)
{
	struct campaign campaign;
	int err = campaign_load(&campaign, &arguments->options), code;

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
	static const struct argp argp = {
		run_options,
		parse_run,
		"JOB",
		"Runs a job file: starts the machine it describes, once for each point of its "
		"sweep, injects, and prints one row of results a point. JOB is the name of a "
		"shipped job or, with a slash or .ini, a file.\v"
		"EXAMPLES:\n"
		"  sudo faultline-inject run rtt --short\n"
		"  sudo faultline-inject run burst-block --csv=burst.csv\n"
		"  sudo faultline-inject run job.ini --set storm.rate=20/s --seed 7\n",
		NULL,
		NULL,
		NULL};
	struct run_arguments arguments = {.options.results.growing = true};

	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &arguments);
	return load_and_run(&arguments);
}

static int verb_check(int argc, char **argv)
{
	static const struct argp argp = {check_options,
					 parse_run,
					 "JOB",
					 "Reads a job file and checks all of it, also what --short "
					 "makes of it; starts nothing.\v"
					 "EXAMPLES:\n"
					 "  faultline-inject check job.ini\n"
					 "  faultline-inject check rtt --short\n",
					 NULL,
					 NULL,
					 NULL};
	struct run_arguments arguments = {.check_only = true, .options.both_grids = true};

	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &arguments);
	return load_and_run(&arguments);
}

struct help_arguments {
	const char *key;
	bool markdown;
};

static error_t parse_help(int key, char *argument, struct argp_state *state)
{
	struct help_arguments *arguments = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case OPTION_MARKDOWN:
		arguments->markdown = true;
		break;
	case ARGP_KEY_ARG:
		if (arguments->key)
			usage_error(state, "%s: accepted: one KEY", argument);
		arguments->key = argument;
		break;
	case ARGP_KEY_END:
		if (arguments->key && arguments->markdown)
			usage_error(state, "%s: accepted: without --markdown, which explains all",
				    arguments->key);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int verb_help(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"markdown", OPTION_MARKDOWN, NULL, 0, "As the tables of docs/jobs.md", 0},
		{"help", 'h', NULL, 0, "Show this help", -1},
		{0},
	};
	static const struct argp argp = {options,
					 parse_help,
					 "[KEY]",
					 "Explains the keys of job files: meaning, unit, range, "
					 "default.\v"
					 "EXAMPLES:\n"
					 "  faultline-inject help\n"
					 "  faultline-inject help inject.rate\n"
					 "  faultline-inject help results\n",
					 NULL,
					 NULL,
					 NULL};
	struct help_arguments arguments = {0};
	int err = 0;

	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &arguments);
	if (arguments.markdown)
		options_markdown(&job_options, stdout);
	else
		err = options_help(&job_options, stdout, arguments.key);
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

static error_t parse_bare(int key, char *argument, struct argp_state *state)
{
	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case 'n':
		((struct journal_options *)state->input)->dry_run = true;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "%s: accepted: no arguments", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int verb_list(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"help", 'h', NULL, 0, "Show this help", -1},
		{0},
	};
	static const struct argp argp = {options,
					 parse_bare,
					 "",
					 "Lists the shipped jobs, and what each is for.\v"
					 "EXAMPLES:\n"
					 "  faultline-inject list\n",
					 NULL,
					 NULL,
					 NULL};
	int err;

	usage_parse(&argp, argc, argv, ARGP_NO_HELP, NULL);
	err = shelf_list(&campaign_shelf, print_job, NULL);
	return err ? failure_report(err) : EXIT_OK;
}

static int verb_recover(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{"dry-run", 'n', NULL, 0, "Print what would be undone, do nothing", 0},
		{"help", 'h', NULL, 0, "Show this help", -1},
		{0},
	};
	static const struct argp argp = {known,
					 parse_bare,
					 "",
					 "Undoes what killed programs left behind: changes of the "
					 "kernel's state that are in their journals, and entries "
					 "of machines.\v"
					 "EXAMPLES:\n"
					 "  sudo faultline-inject recover --dry-run\n"
					 "  sudo faultline-inject recover\n",
					 NULL,
					 NULL,
					 NULL};
	struct journal_options options = {.log = stdout};
	struct journal_recovery recovery;
	int removed, err, code;

	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &options);
	err = journal_recover(&options, &recovery);
	if (err) {
		code = failure_report(err);
		if (!options.dry_run)
			registry_remove_stale();
		return code;
	}
	if (options.dry_run) {
		printf("%u change%s to undo\n", recovery.left, recovery.left == 1 ? "" : "s");
		return EXIT_OK;
	}
	removed = registry_remove_stale();
	if (removed < 0)
		return failure_report(removed);
	printf("%d stale entr%s removed; %u change%s undone\n", removed, removed == 1 ? "y" : "ies",
	       recovery.undone, recovery.undone == 1 ? "" : "s");
	return EXIT_OK;
}

static const struct {
	const char *name, *does;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{"run", "run a job file and print its results", verb_run},
	{"check", "check a job file, start nothing", verb_check},
	{"help", "explain the keys of job files", verb_help},
	{"list", "list the shipped jobs", verb_list},
	{"iopf", "make the devices of the kernel module faultline_device fault", real_iopf},
	{"odp", "RDMA traffic over memory that pages on demand and is not there", real_odp},
	{"pageout", "evict the DMA targets of a process, so that it faults for real", real_pageout},
	{"slow", "make storage that answers late, as swap or to be mapped", real_slow},
	{"recover", "undo what killed programs left behind", verb_recover},
	{"vfio", "drive devices from user space, into IOMMU faults and limits", real_vfio},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void usage(FILE *file)
{
	fprintf(file, "Usage: faultline-inject VERB [OPTION...]\n\n"
		      "Makes I/O page faults happen: on emulated machines, and on real ones.\n\n");
	for (size_t i = 0; i < VERBS; i++)
		fprintf(file, "  %-10s %s\n", verbs[i].name, verbs[i].does);
	fprintf(file,
		"\nEXAMPLES:\n"
		"  sudo faultline-inject run demo\n"
		"  sudo faultline-inject run rtt --short --csv=rtt.csv\n"
		"  faultline-inject help inject.rate\n\n"
		"`faultline-inject VERB --help` explains a verb; --version prints the version.\n");
}

int main(int argc, char **argv)
{
	char name[64];
	const char *verb = argc > 1 ? argv[1] : "";
	int code;

	descriptors_keep_standard();
	signals_unblock();
	files_keep_owner();
	if (limits_need_stack())
		return failure_report(-ENOMEM);
	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (verb[0] == '-' && argc > 2) {
		fprintf(stderr, "faultline: %s: accepted: %s alone\n", printable_of(argv[2]).text,
			printable_of(verb).text);
		return EXIT_USAGE;
	}
	if (!strcmp(verb, "--help") || !strcmp(verb, "-h")) {
		usage(stdout);
		return EXIT_OK;
	}
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V")) {
		puts("faultline-inject " FAULTLINE_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < VERBS; i++) {
		if (strcmp(verb, verbs[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "faultline-inject %s", verb);
		argv[1] = name;
		code = verbs[i].run(argc - 1, argv + 1);
		if (fflush(stdout) && !code) {
			failed(-errno, "cannot write to standard output: %s", strerror(errno));
			code = failure_report(-EIO);
		}
		return code;
	}
	fprintf(stderr, "faultline: %s: no such verb; `faultline-inject --help` lists them\n",
		printable_of(verb).text);
	return EXIT_USAGE;
}
