// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what `faultline fabric JOB` reads, finds ways for and prices (tests/fuzz/made/ini.h). `fabric --seeds DIR` writes
 * first inputs.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "tests/fuzz/made/ini.h"
#include "tests/fuzz/made/seeds.h"
#include "tools/fabric/command.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fabric_command command = {0};
	char path[64];
	int err;

	make_ini(fabric_job_options(), data, size, path);
	command.job = path;
	err = fabric_command_run(&command);
	if (err && err != -EINVAL && err != -EBADMSG)
		abort();
	for (size_t i = 0; !err && i < command.sweep.points; i++)
		if (!command.points[i].stage_count || command.points[i].values[FABRIC_DELAYS] < 0)
			abort();
	fabric_command_free(&command);
	return 0;
}

static const char *const seeds[] = {
	"[host a]\niommu = yes\n[switch s]\nunder = a\n[adapter x]\nunder = s\n[device d]\nunder = s\n[host b]\n"
	"[adapter y]\nunder = b\n[link c]\nbetween = x y\n[transfer t]\nfrom = d\nto = b\n[transfer u]\nfrom = b\n"
	"to = d\nkind = read\nthrough = y x\n[transfer v]\nfrom = d\nto = a\nvia = b\n[io i]\ncpu = b\ndevice = d\n"
	"[fabric]\nsplit = 64\n[sweep]\nbytes = run.bytes: 1, 4K, 1M\n[expect]\na = latency > 0\n",
	"[host a]\n[host b]\n[switch o]\n[adapter x]\nunder = a\n[adapter y]\nunder = b\n[link 1]\nbetween = x o\n"
	"[link 2]\nbetween = o y\n[transfer t]\nfrom = a\nto = b\nengine = x\n[run]\nbytes = 64K\nscenario = t\n",
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	write_ini_seeds(directory, seeds, sizeof(seeds) / sizeof(seeds[0]));
	exit(0);
}
