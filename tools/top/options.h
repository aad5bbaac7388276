/* SPDX-License-Identifier: GPL-2.0 */
/* What the user asked of `faultline top`. */
#ifndef FAULTLINE_TOP_OPTIONS_H
#define FAULTLINE_TOP_OPTIONS_H

#include "lib/analyze/slo.h"
#include "lib/cli/hosts.h"
#include "lib/output/destination.h"
#include "tools/top/collect.h"

struct top_options {
	struct collect_filter filter;
	const char *input;	    /* a recording, NULL: this host, live */
	struct host_options hosts;  /* of it */
	const char *output;	    /* live: recorded into this .flt as well, NULL: not */
	const struct slo_set *slos; /* objectives to judge, NULL: none */
	double speed;		    /* of a replay; 0: as fast as it can be read */
	unsigned int view; /* the first to be shown; in batch mode the one that is printed */
	unsigned int sort; /* enum top_sort, or a column of the view */
	bool reverse;
	enum latency_span span;
	__u64 window_ns;
	size_t rows; /* at most so many devices, 0: all */
	bool batch;
	bool tcp;     /* live: TCP of all of the host */
	bool verbose; /* live: what the verifier says goes to stderr */
	struct destination to;
	double interval_s;
	__u64 count;	      /* intervals to show, 0: no limit */
	const char *slo_file; /* NULL: no objectives */
};

/* cli_parse() of the verb's command line: it ends the program where something is wrong. */
int top_options_parse(struct top_options *options, int argc, char **argv);

#endif
