/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What `faultline sim` and `faultline accesses` have in common: the options that say which job and
 * which recordings are meant, and the way from them to the configuration of every point.
 */
#ifndef FAULTLINE_TOOLS_SIM_COMMAND_H
#define FAULTLINE_TOOLS_SIM_COMMAND_H

#include <limits.h>

#include "lib/cli/hosts.h"
#include "lib/job/overrides.h"
#include "tools/sim/sim.h"

#define SIM_VALUES_MAX	64 /* options of one kind on a command line */
#define SIM_THREADS_MAX 256

struct sim_values {
	const char *at[SIM_VALUES_MAX];
	size_t count;
};

struct sim_command {
	/* From the command line, whose texts are borrowed. */
	struct output_options output;
	const char *job;
	struct sim_values presets, sweeps, recordings;
	struct job_overrides overrides;
	enum import_format format;
	struct host_options hosts; /* of merged recordings */
	const char *tenants;
	__u64 threads; /* points at a time; 0: as many as there are CPUs */
	bool keys;
	bool one_trace; /* set before: neither --sweep nor --threads, a job of one point */

	/* From the job and the recordings. */
	char job_path[PATH_MAX];
	const char *inputs[SIM_VALUES_MAX + 2]; /* what is read; NULL at the end */
	struct job_text *text;
	struct sweep sweep;
	struct sim_config *configs; /* one a point */
	struct store *store;	    /* NULL: the trace is made up */
	bool lossy;		    /* a recording is not whole */
};

/*
 * cli_parse() with the options of both verbs into `command`, which is all 0 before but for `one_trace`. `about` is what
 * --help says of the verb before its options and, behind \v, after them.
 */
int sim_command_parse(struct sim_command *command, const char *about, int argc, char **argv);

/*
 * Reads the job and its recordings and checks every point. -EINVAL: an option; -EBADMSG: the job or a
 * recording; else a negative errno.
 */
int sim_command_read(struct sim_command *command);
/* Also after an error. */
void sim_command_free(struct sim_command *command);

/* Before the work, so that it is not done for an output that cannot be; the names end with NULL. */
int sim_command_open(const struct sim_command *command, struct writer **writer,
		     const char *const *tables);
/*
 * After the tables of the first `points`: how many recorded accesses were too few for a packet; as a note,
 * a fact of JSON, and on stderr where nobody reads notes.
 */
int sim_command_left_out(const struct sim_command *command, size_t points, struct writer *writer);
/* Completes the output, or after an error of ours does not; returns the first error. */
int sim_command_close(struct writer *writer, int err);

/* Whether all tables are wanted, not those that a terminal has room for. */
bool sim_command_whole(const struct sim_command *command);
/* Lists every key and column; returns the exit code. */
int sim_command_keys(void);

#endif
