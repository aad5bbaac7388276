/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the verbs share: options that mean the same everywhere, and the way from a recording to a
 * writer.
 */
#ifndef FAULTLINE_TOOLS_COMMON_H
#define FAULTLINE_TOOLS_COMMON_H

#include "lib/analyze/period.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"
#include "lib/base/usage.h"
#include "lib/cli/output.h"
#include "lib/output/table.h"
#include "lib/trace/trace.h"

struct session;

/* --since TIME, --until TIME */
struct window_options {
	bool has_since, has_until;
	struct units_time since, until;
	const char *since_text, *until_text;
};

extern const struct argp window_argp;

/*
 * --max-memory SIZE: the limit of lib/base/memory.h, half of the machine's memory unless it is given. What it
 * does not count is kept to the memory that is available.
 */
extern const struct argp memory_argp;

/* -EINVAL for an empty pattern of devices: what a variable that is not set leaves of one is no wish. */
int common_check_pattern(const char *pattern);

struct capture;
/*
 * Says it if emulated machines cannot be found: what should be their directory is not to be trusted, or
 * is named and cannot be had; or if no account of those can be kept that end soon.
 */
void common_tell_run_directory(const struct capture *capture);

/* Prints the sentence of the last failure once and returns its exit code; -EINVAL is a wrong option. */
int common_failed(int err);

struct option_table;
/* All keys of a job, on standard output; returns the exit code. */
int common_print_keys(const struct option_table *table);

/* output_open(), into nothing that is a part of the inputs. */
int common_open_writer(struct writer **writer, const struct output_options *options,
		       const char *const *inputs, const char *const *tables);

/* A sentence on stderr, where tables go to files and nobody reads notes; nothing if it is "". */
void common_aside(const struct output_options *output, const char *sentence);
/* Likewise, for each probe that is off, what is therefore unknown (lib/analyze/unknown.h). */
void common_unknown(const struct output_options *output, const struct session *session);
/* "yes", or why the recording is not all there: a fact of JSON. */
const char *common_complete(const struct session *session);
/*
 * After all output: on stderr, where tables go to files and nobody reads notes, what a flight recorder
 * let go and why counts are floors (lib/analyze/floor.h). Returns EXIT_LOSS for floors.
 */
int common_limits(const struct output_options *output, const char *kept, unsigned int floor);

/*
 * Looks at `path` and fills in what the window asks for, whose times may be wall-clock, from the start or
 * before the end. `summary` is filled in for files and all 0 for "-", where only a window after
 * the start makes no sense either: it needs a file. Free it in any case.
 */
int common_open_recording(const char *path, const struct window_options *window,
			  struct period *period, struct trace_summary *summary);

/* The same of what was looked at already. */
int common_resolve_window(const struct window_options *window, const struct trace_summary *summary,
			  struct period *period);
/*
 * Of several hosts at once: what is after the start, before the end or a time of day is so of all of them
 * together, by their wall-clocks.
 */
int common_resolve_hosts(const struct window_options *window, struct trace_summary *const *hosts,
			 struct period *periods, size_t count);

/* A sink that gives the writer, unless it is NULL, its clock; put it before whatever prints. */
struct stream common_clock(struct writer *writer);

/*
 * A sink that shows on stderr, if that is a terminal, how far a long read has come: nothing during
 * the first two seconds, then a line that rewrites itself. common_progress_end() clears it.
 */
struct progress {
	const char *what; /* "reading run.flt" */
	__u64 total;	  /* events; 0: unknown */
	__u64 done;
	__u64 started_ns;
	__u64 shown_ns;
};

struct stream common_progress(struct progress *progress);
void common_progress_end(struct progress *progress);

#endif
