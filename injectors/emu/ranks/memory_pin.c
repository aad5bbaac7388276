// SPDX-License-Identifier: GPL-2.0
/* Everything is registered and pinned before the first message: nothing to do later, and all of it stays in memory. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/ranks/ranks_memory.h"
#include "lib/base/fail.h"

static int pin_open(struct rank_memory *memory)
{
	struct verbs_mr *region = calloc(1, sizeof(*region));
	int err;

	if (!region)
		return failed(-ENOMEM, "no memory for a region");
	err = verbs_reg_mr(memory->device, region, memory->start, memory->bytes, VERBS_PINNED,
			   MEMORY_RIGHTS);
	if (err)
		free(region);
	else
		memory->own = region;
	return err;
}

static void pin_close(struct rank_memory *memory)
{
	if (!memory->own)
		return;
	verbs_dereg_mr(memory->device, memory->own);
	free(memory->own);
	memory->own = NULL;
}

static int pin_get(struct rank_memory *memory, struct memory_lease *lease)
{
	lease->sge = memory_piece(memory->own, memory->start, lease->address, lease->bytes);
	return 0;
}

static int pin_put(struct rank_memory *memory, struct memory_lease *lease, __u64 bytes)
{
	(void)memory;
	(void)lease;
	(void)bytes;
	return 0;
}

const struct memory_mode pin_memory = {
	.name = "pin",
	.open = pin_open,
	.close = pin_close,
	.get = pin_get,
	.put = pin_put,
};
