// SPDX-License-Identifier: GPL-2.0
/* View "lent": devices that emulated hosts lend, who has them, what he gets, how full his window is. */
#include "lib/analyze/lent_devices.h"
#include "tools/top/views.h"

static void view_lent_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	snprintf(text, VIEW_TOTALS, "lent devices in use %llu", lent_devices_count(a));
}

const struct view view_lent = {
	.name = "lent",
	.write = lent_devices_write,
	.columns =
		{
			{"DEVICE", "device", VIEW_AS_IS, 8, 0},
			{"MODEL", "model", VIEW_AS_IS, 5, 5},
			{"BORROWER", "borrower", VIEW_AS_IS, 8, 6},
			{"IO/s", "ios", VIEW_RATE, 5, 1},
			{"P99", "p99", VIEW_AS_IS, 5, 2},
			{"BYT/s", "moved", VIEW_RATE, 5, 4},
			{"WIN%", "window", VIEW_AS_IS, 5, 3},
			{"ERR/s", "errors", VIEW_RATE, 5, 7, 1, 1},
			{"WAIT", "longest", VIEW_AS_IS, 5, 8},
			{"BORROW", "borrow", VIEW_AS_IS, 6, 9},
		},
	.keys = 1,
	.sort = "IO/s",
	.totals = view_lent_totals,
	.count = lent_devices_count,
	.nothing = "No lent device of an emulated host",
	.paths = {PATH_LEND},
};
