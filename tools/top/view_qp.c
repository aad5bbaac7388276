// SPDX-License-Identifier: GPL-2.0
/* View "qp": queue pairs of RDMA devices, what they drop and send again, and how long they stop for it. */
#include "lib/analyze/queue_pairs.h"
#include "lib/analyze/waits.h"
#include "tools/top/views.h"

static __u64 view_qp_count(const struct analysis *a)
{
	return queue_pairs_naks(a->queue_pairs);
}

static void view_qp_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	snprintf(text, VIEW_TOTALS, "queue pairs %zu, RNR NAKs %llu, waits %llu",
		 queue_pairs_count(a->queue_pairs), view_qp_count(a), waits_count(a->waits));
}

const struct view view_qp = {
	.name = "qp",
	.write = queue_pairs_write,
	.columns =
		{
			{"DEVICE", "device", VIEW_AS_IS, 8, 0},
			{"PAIR", "pair", VIEW_AS_IS, 5, 1},
			{"STATE", "state", VIEW_AS_IS, 5, 8},
			{"OP/s", "operations", VIEW_RATE, 5, 4},
			{"BYT/s", "moved", VIEW_RATE, 5, 5},
			{"RNR/s", "rnr_out", VIEW_RATE, 5, 2, 1},
			{"HRD/s", "rnr_in", VIEW_RATE, 5, 6, 1},
			{"DRP/s", "dropped", VIEW_RATE, 5, 3, 1},
			{"RST/s", "resent", VIEW_RATE, 5, 7, 1},
			{"STOPD", "stopped", VIEW_AS_IS, 5, 9},
			{"FLT/s", "dropped_fault", VIEW_RATE, 5, 11, 1},
			{"TMO/s", "resent_timeout", VIEW_RATE, 5, 12, 1},
			{"SUP/s", "suppressed", VIEW_RATE, 5, 13, 1},
			{"WIR/s", "lost_wire", VIEW_RATE, 5, 14, 1, 1},
			{"STATUS", "status", VIEW_AS_IS, 6, 10},
		},
	.keys = 2,
	.sort = "RNR/s",
	.tables = {waits_write},
	.totals = view_qp_totals,
	.count = view_qp_count,
	.nothing = "No queue pair of an emulated RDMA device",
	.paths = {PATH_EMULATED},
};
