/* SPDX-License-Identifier: GPL-2.0 */
/* From a recording through the analyzers to a writer: what report, timeline, footprint and slo share. */
#ifndef FAULTLINE_TOOLS_OFFLINE_H
#define FAULTLINE_TOOLS_OFFLINE_H

#include "lib/analyze/analysis.h"
#include "lib/cli/cli.h"
#include "lib/cli/hosts.h"
#include "tools/common.h"

struct turn;

/* One of those that the verb tells of, with a stream and an analysis of its own. */
struct offline_host {
	__u32 number; /* in a merged recording; 0: it is of this host alone */
	char name[HOST_TEXT];
	struct trace_summary summary;
	struct period period; /* what the window's options ask for */
	struct analysis *analysis;
};

struct offline {
	struct output_options output;
	struct window_options window;
	struct host_options wanted;
	__u32 only; /* of a merged recording this host, by its number; 0: those that are wanted */
	const char *path;
	const char *inputs
		[3]; /* what is read, so never overwritten: the recording, and [1] of the verb's */

	struct offline_host *hosts; /* `count`, at least one */
	size_t count;
	size_t host;		   /* whose turn it is: of these two, and of the writer */
	struct analysis *analysis; /* of this host */
	struct analysis **all;	   /* of each */
	struct turn *turns;	   /* of each, while it is read */
	bool tells_hosts;	   /* there is a table of them */
	const char *called; /* what its sentences on stderr begin with; NULL: it is the only one */
	struct writer *writer;
	int damage;	     /* -EBADMSG: parts were unreadable; the rest was analyzed */
	char sentence[1024]; /* of the damage */
};

/* The output's, the window's, the memory's and the hosts' options, of every such verb, whose struct begins with its struct
 * offline. */
extern const struct cli_child offline_children[];

/* For or as the verb's check: -EINVAL with a sentence without a recording. */
int offline_check(void *offline);

/* Of the verb's struct cli: FILE and these. */
#define OFFLINE_CLI .children = offline_children, .argument = offsetof(struct offline, path)

/* What is a verb's own. */
struct offline_verb {
	const struct analyzer *analyzer; /* whose tables it may write; NULL: all of a report */
	/* All is open, nothing read: subscribe now, for each host in turn; may be NULL. */
	int (*begin)(struct offline *offline);
	int (*write)(struct offline *offline); /* all is read */
	int (*open)(struct offline *offline);  /* makes the writer; NULL: one by the options */
	/* Hears the host whose turn it is, after its analysis; NULL: nobody does. */
	struct stream (*stream)(struct offline *offline);
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
/* Whether it is of several hosts: their tables have a column for that, their text a heading each. */
bool offline_has_hosts(const struct offline *offline);
/* It is this host's turn. */
void offline_turn(struct offline *offline, size_t host);
/* For write(): for each host in turn, in text under its name; the first error. */
int offline_each(struct offline *offline, int (*tell)(struct offline *offline));
/* For begin(), of who writes names while it reads (session_dictionary()). Standard input is not read twice. */
int offline_read_devices(struct offline *offline);
/* For begin(), once for all hosts, in the last one's turn: reads all of it before, of each host into what `sink`
 * makes. Standard input is not read twice. */
int offline_read_ahead(struct offline *offline,
		       struct stream (*sink)(struct offline *offline, size_t host));
/* For write(): the tables of all hosts, with facts and limits. */
int offline_write(struct offline *offline, const struct analyzer *analyzer,
		  const struct table_wish *wish);
/* The same without limits. */
int offline_write_tables(struct offline *offline, const struct analyzer *analyzer,
			 const struct table_wish *wish);
/* The same of the host whose turn it is, for text: no facts. */
int offline_write_text(struct offline *offline, const struct analyzer *analyzer,
		       const struct table_wish *wish);
/* Facts of JSON and Parquet, whichever tables it has: recording, host, kernel, from, to, events, loss, what is missing. */
int offline_write_facts(const struct offline *offline);
/* The same in sentences of text, where something is missing: what was let go, which faults the window leaves
 * out, and why counts are floors. Of the host whose turn it is. */
int offline_write_limits(struct offline *offline);
#endif
