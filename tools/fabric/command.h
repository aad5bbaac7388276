/* SPDX-License-Identifier: GPL-2.0 */
/* The options of `faultline fabric`, and the way from them to every point. */
#ifndef FAULTLINE_TOOLS_FABRIC_COMMAND_H
#define FAULTLINE_TOOLS_FABRIC_COMMAND_H

#include <limits.h>

#include "lib/job/overrides.h"
#include "lib/job/sweep_table.h"
#include "tools/common.h"
#include "tools/fabric/options.h"

#define FABRIC_SWEEPS_MAX 64 /* on a command line */

/* What is kept of a point. */
struct fabric_point {
	double values[FABRIC_COLUMNS];
	struct scenario_transaction stages[SCENARIO_STAGES];
	__u32 stage_count;
	char *paths[SCENARIO_STAGES]; /* names of the nodes of each, with blanks between them */
};

struct fabric_command {
	/* From the command line, whose texts are borrowed. */
	struct output_options output;
	const char *job;
	const char *sweeps[FABRIC_SWEEPS_MAX];
	size_t sweep_count;
	struct job_overrides overrides;
	bool keys;

	/* From the job. */
	char job_path[PATH_MAX];
	const char *inputs[2]; /* what is read; NULL at the end */
	struct job_text *text;
	struct sweep sweep;
	struct fabric_point *points;
};

/* cli_parse() into `command`, which is all 0 before. */
int fabric_command_parse(struct fabric_command *command, const char *about, int argc, char **argv);
/* Reads the job, checks and computes every point. -EINVAL: an option; -EBADMSG: the job; else a negative errno. */
int fabric_command_run(struct fabric_command *command);
/* Also after an error. */
void fabric_command_free(struct fabric_command *command);
/* Lists every key and column; returns the exit code. */
int fabric_command_keys(void);

/* The names of the tables, for writer_announce(). */
extern const char *const fabric_tables[];
/* All of them, or what a terminal has room for. */
int fabric_write(struct writer *writer, const struct fabric_command *command);

#endif
