// SPDX-License-Identifier: GPL-2.0
/* Fuzzes slo_read() (tests/fuzz/made/ini.h). `slo --seeds DIR` writes first inputs. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/slo.h"
#include "lib/base/fail.h"
#include "tests/fuzz/made/ini.h"
#include "tests/fuzz/made/seeds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slo_set *set = malloc(sizeof(*set)); /* whose ends are watched */
	char path[64];
	int err;

	make_ini(&slo_options, data, size, path);
	err = slo_read(path, set);
	if (err ? err != -EBADMSG && err != -EINVAL && err != -ENODATA
		: !set->count || set->count > SLO_MAX)
		abort();
	for (size_t i = 0; !err && i < set->count; i++)
		if (strlen(set->objectives[i].device) >= NAME_TEXT ||
		    set->objectives[i].window_ns % AGGREGATE_WINDOW_NS)
			abort();
	free(set);
	return 0;
}

static const char *const seeds[] = {
	"[slo gold]\ndevice = *disk0 ; a pattern\nlatency_target = 2ms\nlatency_percentile = 99.9\n"
	"latency_window = 2s\n[slo rest]\nmin_iops = 1000\nmin_bandwidth = 10M\nfault_rate = 10\nburst = 5\n"
	"loss = 0.1%\nmax_stall = 50ms\nmin_throughput = 10M\n",
	"\xef\xbb\xbf[slo a]\r\nburst=1\r\n[machine]\nname = b\n",
	"\vburst = 1\n[slo a]\nburst = 1\n",
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	write_ini_seeds(directory, seeds, sizeof(seeds) / sizeof(seeds[0]));
	exit(0);
}
