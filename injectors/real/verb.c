// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/files.h"
#include "lib/base/printable.h"
#include "lib/base/signals.h"

static const struct argp_option verb_argp_options[] = {
	RESULTS_OPTIONS(90),
	{"dry-run", 'n', NULL, 0,
	 "Print what would be done and written, do nothing; needs no consent", 90},
	CONSENT_OPTIONS(90),
	{"help", 'h', NULL, 0, "Show this help", -1},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct verb_options *options = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case 'n':
		options->dry_run = true;
		break;
	case CONSENT_OPTION:
		consent_add(&options->consents, argument, state);
		break;
	case ARGP_KEY_END:
		if (options->dry_run)
			results_refuse_dry_run(&options->results, state);
		break;
	default:
		return results_parse(key, argument, state, &options->results);
	}
	return 0;
}

const struct argp verb_argp = {verb_argp_options, parse, NULL, NULL, NULL, NULL, NULL};

int verb_require_consent(const struct verb_options *options, const char *name, const char *what)
{
	if (consent_given(&options->consents, name))
		return 0;
	if (options->dry_run) {
		printf("%s is nothing that Faultline has started: needs --yes-i-mean-it %s\n",
		       printable_of(what).text, printable_of(name).text);
		return 0;
	}
	return failed(-EPERM, "%s is nothing that Faultline has started; add --yes-i-mean-it %s",
		      what, name);
}

int verb_run_and_report(const struct verb_options *options, const char *table,
			int (*run)(void *argument),
			int (*report)(void *argument, struct writer *writer), void *argument)
{
	struct writer *writer;
	int stopped, err = results_open(&writer, &options->results, table), closed;

	if (err)
		return failure_report(err);
	verb_catch_signals();
	stopped = run(argument);
	if (stopped)
		failure_report(stopped);
	err = report(argument, writer);
	closed = writer_close(writer);
	err = err ? err : closed;
	return err ? failure_report(err) : (int)exit_code_of(stopped);
}

volatile sig_atomic_t verb_stop;

static void on_stop(int number)
{
	(void)number;
	verb_stop++;
}

void verb_catch_signals(void)
{
	const struct sigaction action = {.sa_handler = on_stop};

	signals_catch_end(&action);
	signals_ignore(SIGPIPE);
}

int verb_sleep_until(__u64 monotonic)
{
	struct timespec until = timespec_of_ns(monotonic);

	while (!verb_stop)
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != EINTR)
			return 0;
	return -EINTR;
}

int verb_end(int error, int acted)
{
	if (!error && acted == -EINTR)
		return EXIT_INTERRUPTED;
	error = error ? error : acted;
	return error ? failure_report(error) : EXIT_OK;
}
