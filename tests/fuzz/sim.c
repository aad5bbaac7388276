// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what `faultline sim JOB` reads and checks before it simulates (tests/fuzz/made/ini.h). `sim --seeds
 * DIR` writes first inputs.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "tests/fuzz/made/ini.h"
#include "tests/fuzz/made/seeds.h"
#include "tools/sim/command.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_command command = {.one_trace = size & 1};
	char path[64];
	int err;

	make_ini(&sim_options, data, size, path);
	command.job = path;
	err = sim_command_read(&command);
	if (err && err != -EINVAL && err != -EBADMSG)
		abort();
	if (!err && !command.sweep.points)
		abort();
	sim_command_free(&command);
	return 0;
}

static const char *const seeds[] = {
	"[trace]\npackets = 5003\n[sweep]\nbaseline = walk.mode=none\ndesign = preset.design: base, hypertrio\n"
	"packets = link.packet: 1542, 3K\ntenants = trace.tenants: 1, 8, 64\n[expect]\na = bandwidth > 1\n",
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	write_ini_seeds(directory, seeds, sizeof(seeds) / sizeof(seeds[0]));
	exit(0);
}
