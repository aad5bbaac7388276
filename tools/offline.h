/* SPDX-License-Identifier: GPL-2.0 */
/* From a recording through the analyzers to a writer: what report, timeline, footprint and slo share. */
#ifndef FAULTLINE_TOOLS_OFFLINE_H
#define FAULTLINE_TOOLS_OFFLINE_H

#include "lib/analyze/analysis.h"
#include "lib/cli/cli.h"
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

/* The output's, the window's and the memory's options, of every such verb, whose struct begins with its struct
 * offline. */
extern const struct cli_child offline_children[];

/* For or as the verb's check: -EINVAL with a sentence without a recording. */
int offline_check(void *offline);

/* Of the verb's struct cli: FILE and these. */
#define OFFLINE_CLI .children = offline_children, .argument = offsetof(struct offline, path)

/* What is a verb's own. */
struct offline_verb {
	const struct analyzer *analyzer; /* whose tables it may write; NULL: all of a report */
	int (*begin)(struct offline
			     *offline); /* all is open, nothing read: subscribe now; may be NULL */
	int (*write)(struct offline *offline); /* all is read */
	int (*open)(struct offline *offline);  /* makes the writer; NULL: one by the options */
	bool damage_is_loss; /* damage that was read past ends with EXIT_LOSS, not EXIT_INPUT */
};

/*
 * Opens the recording, the writer and the analysis; reads; writes; closes all and prints the sentence of what
 * failed, or of the damage, which is no error before. The verb's exit code; -EINVAL of what it calls means that the
 * options do not fit the recording: a usage error.
 */
int offline_run(struct offline *offline, const struct analysis_config *config,
		const struct offline_verb *verb);
/* Whether people read it: text, and no table was asked for by its name. */
bool offline_is_text(const struct offline *offline);
/* For begin(), of who writes names while it reads (session_dictionary()). Standard input is not read twice. */
int offline_read_devices(struct offline *offline);
/* For write(): its tables, with facts and limits. */
int offline_write(const struct offline *offline, const struct analyzer *analyzer,
		  const struct table_wish *wish);
/* Facts of JSON and Parquet, whichever tables it has: recording, host, kernel, from, to, events, loss, what is missing. */
int offline_write_facts(const struct offline *offline);
/* The same in sentences of text, where something is missing: what was let go, which faults the window leaves
 * out, and why counts are floors. */
int offline_write_limits(const struct offline *offline);
#endif
