// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/run_directory.h"

char scratch[32], run_scratch[32];

int scratch_make(void **state)
{
	snprintf(scratch, sizeof(scratch), "/tmp/faultline-test-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

int scratch_remove(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf --one-file-system %s", scratch);
	return system(command);
}

int run_scratch_make(void **state)
{
	snprintf(run_scratch, sizeof(run_scratch), "/run/faultline-test.XXXXXX");
	return !mkdtemp(run_scratch) || setenv(RUN_DIRECTORY_VAR, run_scratch, 1) ? -1 : 0;
}

int run_scratch_remove(void **state)
{
	return rmdir(run_scratch);
}
