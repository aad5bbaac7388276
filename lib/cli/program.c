// SPDX-License-Identifier: GPL-2.0
#include "lib/cli/program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/descriptors.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/limits.h"
#include "lib/base/printable.h"
#include "lib/base/signals.h"
#include "lib/cli/describe.h"

static void program_usage(const struct program *program, FILE *file)
{
	fprintf(file, "Usage: %s VERB [OPTION...]\n\n%s\n\n", program->name, program->does);
	for (size_t i = 0; i < program->verb_count; i++)
		fprintf(file, "  %-10s %s\n", program->verbs[i].name, program->verbs[i].does);
	fprintf(file,
		"\nEXAMPLES:\n%s\n"
		"`%s VERB --help` explains a verb; --version prints the version.\n",
		program->examples, program->name);
}

/* One line for each: manual pages and completion (docs/man) ask for the rest, verb by verb. */
static void program_describe(const struct program *program)
{
	printf("%s\t%s\n", program->name, program->does);
	for (size_t i = 0; i < program->verb_count; i++)
		printf("%s\t%s\n", program->verbs[i].name, program->verbs[i].does);
}

static const struct verb *program_verb(const struct program *program, const char *name)
{
	for (size_t i = 0; i < program->verb_count; i++)
		if (!strcmp(name, program->verbs[i].name))
			return &program->verbs[i];
	return NULL;
}

static int program_run_verb(const struct program *program, const struct verb *verb, int argc,
			    char **argv)
{
	char name[64];
	int code;

	snprintf(name, sizeof(name), "%s %s", program->name, verb->name);
	argv[0] = name;
	code = verb->run(argc, argv);
	signals_tell_cpu_limit();
	if (!fflush(stdout) || code)
		return code;
	failed(-EIO, "cannot write to standard output: %s", strerror(errno));
	return failure_report(-EIO);
}

int program_run(const struct program *program, int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "";
	const struct verb *verb = program_verb(program, first);
	bool help = !verb && !strcmp(first, "help");
	char option[] = "--help";

	descriptors_keep_standard();
	signals_unblock();
	limits_warn_of_cpu();
	files_keep_owner();
	if (limits_need_stack())
		return failure_report(-ENOMEM);
	if (verb)
		return program_run_verb(program, verb, argc - 1, argv + 1);
	if (argc == 2 && !strcmp(first, DESCRIBE_OPTION)) {
		program_describe(program);
		return EXIT_OK;
	}
	if (help && argc == 3 && (verb = program_verb(program, argv[2])))
		return program_run_verb(program, verb, 2, (char *[]){argv[2], option, NULL});
	if (argc > 2 && (first[0] == '-' || help)) {
		fprintf(stderr, "faultline: unexpected argument '%s'; accepted: `%s %s` alone%s\n",
			printable_of(argv[argc - 1]).text, program->name, printable_of(first).text,
			help ? ", or with a verb" : "");
		return EXIT_USAGE;
	}
	if (!strcmp(first, "--version") || !strcmp(first, "-V")) {
		printf("%s " FAULTLINE_VERSION "\n", program->name);
		return EXIT_OK;
	}
	help |= !strcmp(first, "--help") || !strcmp(first, "-h");
	if (help || argc < 2)
		program_usage(program, help ? stdout : stderr);
	else
		fprintf(stderr, "faultline: unknown verb '%s'; `%s --help` lists them\n",
			printable_of(first).text, program->name);
	return help ? EXIT_OK : EXIT_USAGE;
}
