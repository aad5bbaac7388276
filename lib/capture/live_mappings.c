// SPDX-License-Identifier: GPL-2.0
/* What a live capture does with the table of mappings: measures it, tells of it, at the end too. */
#include "lib/base/clock.h"
#include "lib/capture/inside.h"

#define OLD_MAPPING (60 * NSEC_PER_SEC)

int capture_owners_create(struct capture *c)
{
	const struct owners_config config = {
		.table = c->maps.mappings,
		.stacks = c->maps.stacks,
		.names = c->maps.process_names,
		.old_ns = c->config.old_mapping_ns ? c->config.old_mapping_ns : OLD_MAPPING,
		.devices = c->devices,
	};

	return owners_create(&c->owners, &config);
}

static int take_live(void *self, const struct event *event)
{
	struct capture *c = self;

	return merge_push(c->merge, source_local(c), event);
}

static bool anything_mapped(const struct capture *c)
{
	return capture_kind_asked(&c->config, EVENT_DMA_LIVE) &&
	       __atomic_load_n(&c->maps.state->mapping_classes, __ATOMIC_RELAXED);
}

int capture_owners_poll(struct capture *c, __u64 now_ns)
{
	int error;

	if (!anything_mapped(c))
		return 0;
	error = owners_measure(c->owners, c->windows, now_ns);
	if (error || !owners_snapshot_due(c->owners, now_ns))
		return error;
	return owners_snapshot(c->owners, now_ns, take_live, c);
}

int capture_owners_finish(struct capture *c, __u64 now_ns)
{
	int error;

	if (!anything_mapped(c))
		return 0;
	error = owners_measure(c->owners, c->windows, now_ns);
	return error ? error : owners_snapshot(c->owners, now_ns, take_live, c);
}
