// SPDX-License-Identifier: GPL-2.0
/* faultline: observes I/O page faults. This file only finds the verb. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/descriptors.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/limits.h"
#include "lib/base/printable.h"
#include "lib/base/signals.h"
#include "tools/verbs.h"

struct verb {
	const char *name;
	const char *does;
	int (*run)(int argc, char **argv);
};

static const struct verb verbs[] = {
	{"record", "record events into a .flt file, around a command or until Ctrl-C", verb_record},
	{"top", "live view of devices by fault rate", verb_top},
	{"report", "what faulted, where, why, how long each stage took", verb_report},
	{"timeline", "single faults, stage by stage", verb_timeline},
	{"footprint", "which memory devices touch, and how often", verb_footprint},
	{"slo", "which I/O broke its objective, and which fault caused it", verb_slo},
	{"sim", "translation for many tenants, simulated: DevTLB, IOTLB, PTB, prefetching",
	 verb_sim},
	{"accesses", "which pages a trace needs, how soon again, who shares them", verb_accesses},
	{"doctor", "what this host can show and what not, path by path, and why", verb_doctor},
};

static void usage(FILE *file)
{
	fprintf(file, "Usage: faultline VERB [OPTION...]\n\n"
		      "Observes I/O page faults: live, or from a recording.\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(file, "  %-10s %s\n", verbs[i].name, verbs[i].does);
	fprintf(file, "\nEXAMPLES:\n"
		      "  sudo faultline record -o run.flt -- ./workload\n"
		      "  faultline report run.flt\n"
		      "  sudo faultline top\n\n"
		      "`faultline help VERB` explains a verb; --version prints the version.\n");
}

static const struct verb *find(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

static int run(const struct verb *verb, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof(name), "faultline %s", verb->name);
	argv[0] = name;
	return verb->run(argc, argv);
}

int main(int argc, char **argv)
{
	char help[] = "--help";
	const struct verb *verb;

	descriptors_keep_standard();
	signals_unblock();
	files_keep_owner();
	if (limits_need_stack())
		return failure_report(-ENOMEM);
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	/* `help report` is `report --help`. */
	if (argc == 3 && !strcmp(argv[1], "help") && (verb = find(argv[2])))
		return run(verb, 2, (char *[]){argv[2], help, NULL});
	if (argc > 2 && (argv[1][0] == '-' || !strcmp(argv[1], "help"))) {
		fprintf(stderr,
			"faultline: %s: accepted: `faultline %s` alone, or `faultline help VERB`\n",
			printable_of(argv[argc - 1]).text, printable_of(argv[1]).text);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("faultline " FAULTLINE_VERSION);
		return EXIT_OK;
	}
	verb = find(argv[1]);
	if (verb)
		return run(verb, argc - 1, argv + 1);
	fprintf(stderr, "faultline: %s: no such verb; `faultline help` lists them\n",
		printable_of(argv[1]).text);
	return EXIT_USAGE;
}
