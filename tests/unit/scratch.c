// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>

char scratch[32];

int scratch_make(void **state)
{
	(void)state;
	snprintf(scratch, sizeof(scratch), "/tmp/faultline-test-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

int scratch_remove(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command);
}
