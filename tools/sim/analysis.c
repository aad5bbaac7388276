// SPDX-License-Identifier: GPL-2.0
/* Which pages a trace needs, asked of its packets: for `faultline accesses` and [trace] analyze. */
#include "tools/sim/origin.h"

#define BATCH 256

static int take_all(struct pages *pages, struct origin *origin, void (*meanwhile)(void))
{
	struct model_packet packets[BATCH];
	int count, err = 0;

	while (!err && (count = origin_next(origin, packets, BATCH)) > 0) {
		for (int i = 0; !err && i < count; i++)
			err = pages_take(pages, &packets[i]);
		if (meanwhile)
			meanwhile();
	}
	if (!err)
		err = count;
	return err ? err : pages_finish(pages);
}

int sim_pages(struct pages **pages, const struct sim_config *config, const struct store *store,
	      void (*meanwhile)(void))
{
	struct origin origin = {0};
	int err = pages_create(pages);

	if (err)
		return err;
	err = origin_open(&origin, config, store, 0);
	if (!err)
		err = take_all(*pages, &origin, meanwhile);
	origin_close(&origin);
	if (err)
		pages_destroy(*pages);
	return err;
}

int sim_analyze(struct sim_outcome *o, const struct sim_config *config, const struct store *store)
{
	const struct tenant_use *uses;
	struct pages *pages;
	int err = sim_pages(&pages, config, store, NULL);
	size_t count;

	if (err)
		return err;
	/* Both are in the order of tenants; only the first device's are known here. */
	uses = pages_tenants(pages, &count);
	for (size_t tenant = 0, use = 0; tenant < o->tenant_count && use < count; tenant++)
		if (o->tenants[tenant].watch.source == uses[use].tenant)
			o->tenants[tenant].use = uses[use++];
	pages_destroy(pages);
	return 0;
}
