// SPDX-License-Identifier: GPL-2.0
/* faultline top: live view of devices by fault rate. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/analyze/floor.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "tools/common.h"
#include "tools/top/options.h"
#include "tools/top/watch.h"
#include "tools/verbs.h"

/* How many objectives had no device, or no probe for its faults: '-' in every row is easily overlooked. */
static size_t top_unwatched(const struct top_watch *watch, char (*texts)[SLO_UNMEASURED_TEXT])
{
	const struct slo *slo = watch->analysis ? watch->analysis->slo : NULL;
	size_t count = 0;

	for (size_t i = 0; slo && i < watch->options->slos->count; i++)
		count += slo_unwatched(slo, i, texts[count]) != NULL;
	return count;
}

/* Before any output is begun. It is not opened: of a pipe that would be its one reader gone. */
static int check_input(const char *path)
{
	struct stat status;
	int error = 0;

	if (!path || !strcmp(path, "-"))
		return 0;
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) || stat(path, &status))
		error = failed(-errno, "%s: cannot be opened: %s", path, strerror(errno));
	else if (S_ISDIR(status.st_mode))
		error = failed(-EISDIR, "%s: is a directory; accepted: a recording", path);
	return failed_input(error);
}

static int top_end(struct top_watch *watch, int error)
{
	static char unmeasured[SLO_MAX][SLO_UNMEASURED_TEXT];
	size_t objectives = top_unwatched(watch, unmeasured);
	const struct live_summary *summary = &watch->model.summary;
	unsigned int floor = summary->floor | (memory_ran_out() ? 1u << FLOOR_MEMORY : 0);
	bool left = watch->options->count > watch->intervals;
	bool interrupted = watch_signal && left;
	const struct output_options output = {.to = watch->options->to};
	bool batch = watch->options->batch;
	char kept[KEPT_TEXT], stopped[STOPPED_TEXT] = "", asked[ASKED_TEXT] = "", why[FLOOR_TEXT];
	__u64 left_out = watch->left_out;
	int closing;

	snprintf(kept, sizeof(kept), "%s", watch->model.kept);
	if (batch && watch->analysis && !error)
		common_unknown(&output, watch->analysis->session);
	if (watch->analysis)
		session_stopped_text(watch->analysis->session, stopped);
	if (watch->analysis)
		asked_text(watch->analysis->session, asked);
	closing = watch_close(watch);
	if (error || closing)
		return common_failed(error ? error : closing);
	if (batch) {
		common_aside(&output, kept);
		common_aside(&output, asked);
	}
	if (*stopped)
		fprintf(stderr, "faultline: %s\n", stopped);
	if (left_out)
		fprintf(stderr,
			"faultline: %llu intervals are not shown one by one: more than a recording "
			"of this size can tell of\n",
			left_out);
	/* What was lost last may be in the end's account alone, behind all that was shown. */
	if (floor)
		fprintf(stderr, "faultline: counts are floors: %s\n", floor_text(floor, why));
	for (size_t i = 0; i < objectives; i++)
		fprintf(stderr, "faultline: %s\n", printable_of(unmeasured[i]).text);
	if (interrupted)
		return EXIT_INTERRUPTED;
	if (objectives)
		return EXIT_EXPECT;
	return floor ? EXIT_LOSS : EXIT_OK;
}

static int top_run(const struct top_options *top)
{
	struct top_watch watch;
	int error = watch_open(&watch, top);

	if (!error)
		error = top->input ? watch_replay(&watch) : watch_live(&watch);
	return top_end(&watch, error);
}

int verb_top(int argc, char **argv)
{
	static struct slo_set slos;
	struct top_options top;
	int error = top_options_parse(&top, argc, argv);

	if (error)
		return common_failed(error);
	error = check_input(top.input);
	if (error)
		return common_failed(error);
	if (top.slo_file) {
		if (slo_read(top.slo_file, &slos)) {
			common_failed(-EBADMSG);
			return EXIT_INPUT;
		}
		top.slos = &slos;
	}
	top.batch |= !isatty(STDOUT_FILENO);
	return top_run(&top);
}
