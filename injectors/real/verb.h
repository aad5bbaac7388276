/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every verb that touches something real has in common: where results go, what the user has
 * consented to, --dry-run, and being told to stop.
 *
 * A verb names verb_argp as child 0 and hands it its struct verb_options:
 *
 *	static const struct argp_child children[] = {{&verb_argp, 0, NULL, 0}, {0}};
 *	case ARGP_KEY_INIT:
 *		state->child_inputs[0] = &arguments->verb;
 */
#ifndef FAULTLINE_REAL_VERB_H
#define FAULTLINE_REAL_VERB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "injectors/consent.h"
#include "injectors/results.h"
#include "lib/base/fail.h"
#include "lib/base/usage.h"

struct verb_options {
	struct results_options results;
	bool dry_run;
	struct consents consents;
};

/* --csv, --json, --wide, --dry-run, --yes-i-mean-it and -h; its input is a struct verb_options. */
extern const struct argp verb_argp;

/* 0, or -EPERM with a sentence that says what to add. `what`: "process 4711 (qemu)". A dry run needs none: it
 * prints which it would need. */
int verb_require_consent(const struct verb_options *options, const char *name, const char *what);

/*
 * A verb's work between its two outputs: opens the writer, catches signals, runs, and reports what
 * was done even if that came to an early end. Prints failures; the exit code of the first of them.
 */
int verb_run_and_report(const struct verb_options *options, const char *table,
			int (*run)(void *argument),
			int (*report)(void *argument, struct writer *writer), void *argument);

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
