// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/block.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row block_rows[] = {
	{PROBE_BLOCK_ISSUE, "block_issue", OBJECT_BLOCK, EVENT_BLOCK_COMPLETE, false, NULL,
	 TP_BTF(block_rq_issue), .without = "block requests are not timed, and not counted"},
	{PROBE_BLOCK_COMPLETE, "block_complete", OBJECT_BLOCK, EVENT_BLOCK_COMPLETE, false, NULL,
	 TP_BTF(block_rq_complete), .without = "block requests are not timed, and not counted"},
};

const size_t block_row_count = sizeof(block_rows) / sizeof(block_rows[0]);
