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

const struct cli_option verb_options[] = {
	{.help = "Safety:", .group = 80},
	{"dry-run", 'n', NULL, "Print what would be done and written, do nothing; needs no consent",
	 CLI_FLAG, CLI_FIELD(struct verb_options, dry_run)},
	{0},
};

int verb_check(const struct verb_options *options)
{
	const char *format = output_format_name(&options->output);

	if (!options->dry_run || !format)
		return 0;
	return failed(-EINVAL, "--%s: accepted: without --dry-run, which has no results", format);
}

int verb_open_output(struct writer **writer, const struct verb_options *options, const char *table)
{
	return output_open(writer, &options->output, NULL, (const char *const[]){table, NULL});
}

int verb_require_consent(const struct verb_options *options, const char *name, const char *what)
{
	if (consent_given(&options->consents, name))
		return 0;
	if (options->dry_run) {
		printf("%s was not started by Faultline: needs --yes-i-mean-it %s\n",
		       printable_of(what).text, printable_of(name).text);
		return 0;
	}
	return failed(-EPERM, "%s was not started by Faultline; add --yes-i-mean-it %s", what,
		      name);
}

static int verb_run_and_report(const struct verb_work *work, const struct verb_options *options,
			       void *self)
{
	struct writer *writer;
	int stopped = 0, err = verb_open_output(&writer, options, work->table), closed;

	if (err)
		return failure_report(err);
	verb_catch_signals();
	if (work->run)
		stopped = work->run(self);
	if (stopped)
		failure_report(stopped);
	err = work->report(self, writer);
	closed = writer_close(writer);
	err = err ? err : closed;
	return err ? failure_report(err) : (int)exit_code_of(stopped);
}

int verb_perform(const struct verb_work *work, const struct verb_options *options, void *self)
{
	int err = work->open ? work->open(self) : 0, code = EXIT_OK;

	if (err)
		return failure_report(err);
	if (options->dry_run)
		work->print(self, stdout);
	else
		code = verb_run_and_report(work, options, self);
	if (work->close)
		work->close(self);
	return code;
}

volatile sig_atomic_t verb_stop;

static void verb_on_stop(int number)
{
	(void)number;
	verb_stop++;
}

void verb_catch_signals(void)
{
	const struct sigaction action = {.sa_handler = verb_on_stop};

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
