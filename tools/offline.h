/* SPDX-License-Identifier: GPL-2.0 */
/* From a recording through the analyzers to a writer: what report, timeline, footprint and slo share. */
#ifndef FAULTLINE_TOOLS_OFFLINE_H
#define FAULTLINE_TOOLS_OFFLINE_H

#include "lib/analyze/analysis.h"
#include "tools/common.h"

struct offline {
	struct output_options output;
	struct window_options window;
	const char *path;
	const char *inputs
		[3]; /* what is read, so never overwritten: the recording, and [1] of the verb's */

	struct period period; /* what the window's options ask for */
	struct trace_summary summary;
	struct analysis *analysis;
	struct writer *writer;
	int damage;	     /* -EBADMSG: parts were unreadable; the rest was analyzed */
	char sentence[1024]; /* of the damage */
};

/* FILE, the output's and the window's options: the children of every such verb's argp. */
extern const struct argp_child offline_children[];

/* For the verb's parser: takes the one FILE argument; ARGP_ERR_UNKNOWN for other keys. */
error_t offline_argument(struct offline *offline, int key, char *argument,
			 struct argp_state *state);

/*
 * Opens the recording, the writer and the analysis. Nothing is read yet: subscribe now. `tables`: the names of
 * all that the verb may write, NULL at the end.
 */
int offline_open(struct offline *offline, const struct analysis_config *config,
		 const char *const *tables);
/* Before it, for who writes names while it reads (session_dictionary()). Standard input is not read twice. */
int offline_read_devices(struct offline *offline);
/* Reads everything. Damage is kept for offline_close() and is no error here. */
int offline_read(struct offline *offline);
/* After reading. Facts of JSON, whichever tables it has: recording, host, kernel, from, to, events, loss, what is missing. */
int offline_write_facts(const struct offline *offline);
/* The same in sentences of text, where something is missing: what was let go, which faults the window leaves
 * out, and why counts are floors. */
int offline_write_limits(const struct offline *offline);
/* Closes all, prints the sentence of `err` or of the damage; the verb's exit code. -EINVAL means
 * that the options do not fit the recording: a usage error. */
int offline_close(struct offline *offline, int err);

#endif
