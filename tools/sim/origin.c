// SPDX-License-Identifier: GPL-2.0
#include "tools/sim/origin.h"

#include <errno.h>

#include "lib/translate/oracle.h"
#include "tools/progress.h"

#define TOLD_AT_A_TIME 4096 /* threads share what they tell */

static bool needs_oracle(const struct model_config *m)
{
	return m->devtlb.cache.policy == REPLACE_BELADY ||
	       m->iotlb.cache.policy == REPLACE_BELADY ||
	       m->level2.cache.policy == REPLACE_BELADY || m->level3.cache.policy == REPLACE_BELADY;
}

static int trace_next(void *self, struct model_packet *packets, int room)
{
	struct origin *origin = self;

	return origin->tenants ? tenants_next(origin->tenants, packets, room)
			       : store_play_next(origin->play, packets, room);
}

int origin_next(void *self, struct model_packet *packets, int room)
{
	struct origin *origin = self;
	int count = origin->oracle ? oracle_next(origin->oracle, packets, room)
				   : trace_next(origin, packets, room);

	if (count > 0)
		origin->given += (__u64)count;
	if (origin->given >= TOLD_AT_A_TIME) {
		progress_add(origin->given);
		origin->given = 0;
	}
	return count;
}

int origin_open(struct origin *origin, const struct sim_config *c, const struct store *store,
		__u32 device)
{
	struct tenants_config trace = c->trace;
	int err;

	/* Devices have tenants of their own, who do not march in step with the others'. */
	trace.seed += device;
	trace.turns.seed += device;
	if (store)
		err = store_play_create(&origin->play, store,
					&(struct store_play_config){
						.requests = c->requests,
						.packets = c->recorded_packets,
						.apart = trace.apart,
						.turns = c->as_recorded ? NULL : &trace.turns,
					});
	else
		err = tenants_create(&origin->tenants, &trace);
	/* It is the job that does not suit the recordings, not the command line. */
	if (err == -EINVAL || err == -ENODATA)
		err = -EBADMSG;
	return err;
}

int origin_look_ahead(struct origin *origin, const struct sim_config *c)
{
	struct oracle *oracle;
	int err = needs_oracle(&c->model) ? oracle_create(&oracle, trace_next, origin) : 1;

	if (!err)
		origin->oracle = oracle;
	return err < 0 ? err : 0;
}

int origin_only(struct origin *origin, const struct sim_config *c, __u32 tenant, __u64 packets)
{
	oracle_destroy(origin->oracle);
	origin->oracle = NULL;
	if (origin->tenants)
		tenants_only(origin->tenants, tenant, packets);
	else
		store_play_only(origin->play, tenant, packets);
	return origin_look_ahead(origin, c);
}

void origin_close(struct origin *origin)
{
	tenants_destroy(origin->tenants);
	store_play_destroy(origin->play);
	oracle_destroy(origin->oracle);
}
