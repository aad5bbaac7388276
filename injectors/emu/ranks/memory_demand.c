// SPDX-License-Identifier: GPL-2.0
/* One region of all memory, and no page of it needs to be there: the device asks for what it meets. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/ranks/ranks_memory.h"
#include "lib/base/fail.h"

static int demand_open(struct rank_memory *memory)
{
	struct verbs_mr *region = calloc(1, sizeof(*region));
	int err;

	if (!region)
		return failed(-ENOMEM, "no memory for a region");
	err = verbs_reg_mr(memory->device, region, memory->start, memory->bytes, VERBS_DEMAND,
			   MEMORY_RIGHTS);
	if (err) {
		free(region);
		return err;
	}
	memory->own = region;
	return memory->advise
		       ? verbs_advise_mr(memory->device, region, memory->start, memory->bytes, true)
		       : 0;
}

static void demand_close(struct rank_memory *memory)
{
	if (!memory->own)
		return;
	verbs_dereg_mr(memory->device, memory->own);
	free(memory->own);
	memory->own = NULL;
}

static int demand_get(struct rank_memory *memory, struct memory_lease *lease)
{
	lease->sge = memory_piece(memory->own, memory->start, lease->address, lease->bytes);
	return 0;
}

static int demand_put(struct rank_memory *memory, struct memory_lease *lease, __u64 bytes)
{
	(void)memory;
	(void)lease;
	(void)bytes;
	return 0;
}

const struct memory_mode demand_memory = {
	.name = "demand",
	.open = demand_open,
	.close = demand_close,
	.get = demand_get,
	.put = demand_put,
};
