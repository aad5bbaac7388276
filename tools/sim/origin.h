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

/* Device 0 and others have tenants of their own. `store` NULL: made up. `origin` is all 0 before. */
int origin_open(struct origin *origin, const struct sim_config *config, const struct store *store,
		__u32 device);
/* Reads all packets, if a policy must know when a page is used next. After origin_open(). */
int origin_look_ahead(struct origin *origin, const struct sim_config *config);
/* A model_source_fn: `self` is the struct origin. */
int origin_next(void *self, struct model_packet *packets, int room);
/*
 * From now on only one tenant's packets, so many of them: those that it has among the others'. On an origin
 * whose packets nobody has taken, for one tenant after the other.
 */
int origin_only(struct origin *origin, const struct sim_config *config, __u32 tenant,
		__u64 packets);
void origin_close(struct origin *origin);

#endif
