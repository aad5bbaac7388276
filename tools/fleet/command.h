/* SPDX-License-Identifier: GPL-2.0 */
/* The options of `faultline fleet`, and the way from them to the configuration of every point. */
#ifndef FAULTLINE_TOOLS_FLEET_COMMAND_H
#define FAULTLINE_TOOLS_FLEET_COMMAND_H

#include <limits.h>

#include "lib/job/overrides.h"
#include "lib/job/sweep.h"
#include "tools/common.h"
#include "tools/fleet/options.h"

#define FLEET_SWEEPS_MAX  64 /* on a command line */
#define FLEET_THREADS_MAX 256

struct fleet_command {
	/* From the command line, whose texts are borrowed. */
	struct output_options output;
	const char *job;
	const char *sweeps[FLEET_SWEEPS_MAX];
	size_t sweep_count;
	struct job_overrides overrides;
	const char *write; /* NULL: no recordings */
	__u64 threads;	   /* machines at a time; 0: as many as there are CPUs */
	bool keys;

	/* From the job. */
	char job_path[PATH_MAX];
	const char *inputs[2]; /* what is read; NULL at the end */
	struct job_text *text;
	struct sweep sweep;
	struct fleet_config *configs; /* one a point */
};

/* cli_parse() into `command`, which is all 0 before. */
int fleet_command_parse(struct fleet_command *command, const char *about, int argc, char **argv);
/* Reads the job and checks every point. -EINVAL: an option; -EBADMSG: the job; else a negative errno. */
int fleet_command_read(struct fleet_command *command);
/* Also after an error. */
void fleet_command_free(struct fleet_command *command);

/* Whether all tables are wanted, not those that a terminal has room for. */
bool fleet_command_whole(const struct fleet_command *command);
/* Points from `point` on whose accesses are the same: they differ in the policy alone. */
size_t fleet_command_alike(const struct fleet_command *command, size_t point);
/* Lists every key and column; returns the exit code. */
int fleet_command_keys(void);

#endif
