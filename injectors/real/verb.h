/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every verb that touches something real has in common: where results go, what the user has
 * consented to, --dry-run, and being told to stop.
 */
#ifndef FAULTLINE_REAL_VERB_H
#define FAULTLINE_REAL_VERB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "injectors/consent.h"
#include "lib/base/fail.h"
#include "lib/cli/output.h"

struct verb_options {
	struct output_options output;
	bool dry_run;
	struct consents consents;
};

/* --dry-run, for a struct verb_options */
extern const struct cli_option verb_options[];

/* The tables and children of a verb whose struct has a struct verb_options `verb`. */
#define VERB_TABLES(type)                                      \
	{verb_options, offsetof(type, verb)},                  \
	{                                                      \
		consent_options, offsetof(type, verb.consents) \
	}
#define VERB_CHILDREN(type)                                   \
	(const struct cli_child[])                            \
	{                                                     \
		{&results_argp, offsetof(type, verb.output)}, \
		{                                             \
			0                                     \
		}                                             \
	}

/* For a verb's check: a dry run has no output, so that options about it are refused: -EINVAL. */
int verb_check(const struct verb_options *options);

/* 0, or -EPERM with a sentence that says what to add. `what`: "process 4711 (qemu)". A dry run needs none: it
 * prints which it would need. */
int verb_require_consent(const struct verb_options *options, const char *name, const char *what);

/* output_open() of one table. */
int verb_open_output(struct writer **writer, const struct verb_options *options, const char *table);

/* What a verb does to `self`. Functions that it does not need are NULL. */
struct verb_work {
	const char *table;
	int (*open)(void *self); /* consent, and all that it takes; disturbs nothing */
	void (*print)(const void *self, FILE *file); /* --dry-run */
	int (*run)(void *self);
	int (*report)(const void *self, struct writer *writer);
	void (*close)(void *self); /* after open() */
};

/*
 * Opens, and prints what would be done; or opens the output of the one table, catches signals, runs, and
 * reports what was done even if that came to an early end. Prints failures; the exit code of the first of them.
 */
int verb_perform(const struct verb_work *work, const struct verb_options *options, void *self);

/*
 * How many of SIGINT, SIGTERM and SIGHUP came since verb_catch_signals(); sleeping calls return EINTR. From then
 * on SIGPIPE is ignored: a reader that is gone is a failed write, after which everything is still undone.
 */
extern volatile sig_atomic_t verb_stop;
void verb_catch_signals(void);
/* Sleeps until the point in CLOCK_MONOTONIC; -EINTR if told to stop before. */
int verb_sleep_until(__u64 monotonic);

/* The exit code of a verb whose work came to `acted` (-EINTR: told to stop), and all around it, undoing too, to
 * `error`, which must not hide behind a stop. Prints the sentence of a failure. */
int verb_end(int error, int acted);

#endif
