// SPDX-License-Identifier: GPL-2.0
/* Block requests. */
#include "lib/capture/paths/rows.h"
#include "bpf/block.skel.h"

static DEFINE_OBJECT(block, .knows_devices = true);

#define UNTIMED "block requests are not timed, and not counted"

static const struct probe_row rows[] = {
	{PROBE_BLOCK_ISSUE, "block_issue", &block_object, EVENT_BLOCK_COMPLETE,
	 METHODS(TRACEPOINT(block_rq_issue)), .without = UNTIMED,
	 .unaccused = "nothing need be read or written"},
	{PROBE_BLOCK_COMPLETE, "block_complete", &block_object, EVENT_BLOCK_COMPLETE,
	 METHODS(TRACEPOINT(block_rq_complete)), .without = UNTIMED,
	 .unaccused = "nothing need be read or written"},
};

const struct path block_path = {
	.name = "block requests",
	.needs = "a kernel with CONFIG_BLOCK",
	ROWS(rows),
};
