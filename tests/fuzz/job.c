// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what `faultline-inject check` and `run --dry-run` do with a job file (tests/fuzz/made/ini.h): each
 * point of its sweep is planned, none is started. `job --seeds DIR` writes first inputs.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/job/campaign.h"
#include "injectors/job/job.h"
#include "lib/base/fail.h"
#include "tests/fuzz/made/ini.h"
#include "tests/fuzz/made/seeds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
	for (; *text; text++)
		if ((*text < ' ' || *text > '~') && *text != '\n')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], *text;
	const struct campaign_options options = {.job = path, .both_grids = true};
	struct campaign campaign;
	struct job_text *given;
	size_t length;
	FILE *file;
	int err;

	make_ini(job_options(), data, size, path);
	err = campaign_read(&given, &options);
	if (!err)
		err = campaign_load(&campaign, given, &options);
	if (err) {
		if (err != -EINVAL && err != -EBADMSG)
			abort();
		check_text(failure_text());
		return 0;
	}
	file = open_memstream(&text, &length);
	err = campaign_print(&campaign, &options, file);
	campaign_judge(&campaign, file);
	fclose(file);
	if (err)
		abort();
	check_text(text);
	free(text);
	campaign_free(&campaign);
	return 0;
}

static const char *const seeds[] = {
	"[tenant vm]\ncount = 2\nmemory = 16M\n[device disk]\nqueues = 2\nfile_bytes = 16M\n"
	"[workload mix]\nsizes = 4K, 64K\nrate = 500/s\nduration = 30s\n[inject cold]\naction = evict\n"
	"device = vm0/disk\nwhat = next\nrate = 97/s\nduration = 30s\n[sweep]\nbaseline = "
	"cold.enabled=no\nrate = cold.rate: 1/s, 10/s\n[expect]\nmore = faults(rate=10/s) > 5 * "
	"faults(rate=1/s)\n[short]\nmix.duration = 1s\n[slo gold]\nlatency_target = 2ms\n",
	"[machine]\nscheduler = affined\n[tenant a]\n[device nic]\nmodel = accel\n[workload w]\ncount = 3\n"
	"[inject d]\naction = delay\nstage = resolve\ndelay = 1ms\ndistribution = exponential\n",
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	write_ini_seeds(directory, seeds, sizeof(seeds) / sizeof(seeds[0]));
	exit(0);
}
