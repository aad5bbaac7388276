/* SPDX-License-Identifier: GPL-2.0 */
/* Where the packets of a simulated device come from: made up, or recorded; perhaps looked through. */
#ifndef FAULTLINE_TOOLS_SIM_ORIGIN_H
#define FAULTLINE_TOOLS_SIM_ORIGIN_H

#include "tools/sim/sim.h"

struct origin {
	struct tenants *tenants;
	struct store_play *play;
	struct oracle *oracle;
	__u64 given; /* packets not yet told to progress_add() */
};

/* Device 0 and others have tenants of their own. `store` NULL: made up. */
int origin_open(struct origin *origin, const struct sim_config *config, const struct store *store,
		__u32 device);
/* A model_source_fn: `self` is the struct origin. */
int origin_next(void *self, struct model_packet *packets, int room);
void origin_close(struct origin *origin);

#endif
