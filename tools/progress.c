// SPDX-License-Identifier: GPL-2.0
#include "tools/progress.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/signals.h"
#include "lib/base/units.h"

#define PATIENCE_NS (2 * NSEC_PER_SEC)
#define REFRESH_NS  (NSEC_PER_SEC / 4)
#define CLEAR	    "\r\033[K"

static atomic_ullong progress;
static const char *word_of_parts = "points";
static volatile sig_atomic_t shown;

static void progress_on_signal(int signal)
{
	static const char sentence[] =
		CLEAR "faultline: stopped by a signal before the work was complete\n";
	size_t skip = shown ? 0 : sizeof(CLEAR) - 1;

	(void)signal;
	if (write(STDERR_FILENO, sentence + skip, sizeof(sentence) - 1 - skip) < 0)
		_exit(EXIT_INTERRUPTED);
	_exit(EXIT_INTERRUPTED);
}

void progress_end_on_signals(void)
{
	const struct sigaction action = {.sa_handler = progress_on_signal};

	/* A simulation in the background of a script stays when the terminal ends what is in front of it. */
	for (size_t i = 0; i < SIGNALS_END; i++)
		if (!signals_ignored(signals_end[i]))
			signals_catch(&action, &signals_end[i], 1);
}

void progress_parts(const char *word)
{
	word_of_parts = word;
}

void progress_add(__u64 count)
{
	atomic_fetch_add_explicit(&progress, count, memory_order_relaxed);
}

void progress_show(size_t done, size_t points, const char *what)
{
	static __u64 started_ns, shown_ns;
	char count[UNITS_TEXT], text[96];
	__u64 now_ns = monotonic_ns();

	if (!started_ns)
		started_ns = now_ns;
	if (now_ns - started_ns < PATIENCE_NS || now_ns - shown_ns < REFRESH_NS ||
	    !isatty(STDERR_FILENO))
		return;
	shown_ns = now_ns;
	shown = true;
	units_format_count(progress, 6, count);
	if (points)
		snprintf(text, sizeof(text), "%zu of %zu %s, ", done, points, word_of_parts);
	else
		text[0] = '\0';
	fprintf(stderr, CLEAR "%s%s %s, %llu s", text, count, what,
		(now_ns - started_ns) / NSEC_PER_SEC);
}

void progress_end(void)
{
	if (shown)
		fputs(CLEAR, stderr);
	shown = false;
}
