// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include "lib/base/fail.h"
#include "tests/unit/cluster_one.h"

struct cluster_fixture fixture;
struct cluster *cluster;

void open_one(const char *text, void (*change)(struct cluster_config *config))
{
	fixture_open(&fixture, text, change);
	cluster = fixture.cluster;
}

int close_one(void **state)
{
	(void)state;
	if (fixture.cluster)
		fixture_close(&fixture);
	return 0;
}

struct ntb_window map_one(const char *adapter, __u32 far_host, __u64 far, __u64 bytes)
{
	const struct ntb_window wanted = {
		.adapter = fixture_node(&fixture, adapter),
		.kind = WINDOW_SEGMENT,
		.far_host = far_host,
		.far = far,
		.bytes = bytes,
		.owner = cluster->self,
		.borrow = CLUSTER_NONE,
	};
	struct ntb_window window;

	if (ntb_map(cluster, &wanted, ~0ull, &window))
		fail_msg("%s", failure_text());
	return window;
}
