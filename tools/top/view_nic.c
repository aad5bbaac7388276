// SPDX-License-Identifier: GPL-2.0
/* View "nic": rings of NICs, what they lose and hold, and what TCP sends again for it. */
#include "lib/analyze/flow_losses.h"
#include "lib/analyze/rings.h"
#include "lib/analyze/stalls.h"
#include "tools/top/views.h"

static __u64 view_nic_count(const struct analysis *a)
{
	return rings_frames_lost(a->rings);
}

static void view_nic_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	snprintf(text, VIEW_TOTALS, "rings %llu, frames lost %llu, stalls %llu",
		 rings_count(a->rings), view_nic_count(a), stalls_count(a->stalls));
}

const struct view view_nic = {
	.name = "nic",
	.write = rings_write,
	.columns =
		{
			{"DEVICE", "device", VIEW_AS_IS, 8, 0},
			{"Q", "queue", VIEW_AS_IS, 3, 1},
			{"SIDE", "side", VIEW_AS_IS, 4, 2},
			{"FRM/s", "frames", VIEW_RATE, 5, 4},
			{"BYT/s", "transferred", VIEW_RATE, 5, 6},
			{"LOS/s", "lost", VIEW_RATE, 5, 3, 1, 1},
			{"FLT/s", "lost_fault", VIEW_RATE, 5, 7, 1, 1},
			{"HELD", "held_now", VIEW_AS_IS, 5, 8, 1},
			{"POST", "posted", VIEW_AS_IS, 5, 9},
			{"HLD99", "hold_p99", VIEW_AS_IS, 5, 10},
			{"RTX/s", "retransmits", VIEW_RATE, 5, 5, 1},
			{"TMOUT", "timeouts", VIEW_AS_IS, 5, 11, 1, 1},
			{"NOB/s", "lost_no_buffer", VIEW_RATE, 5, 12, 1},
			{"CCH/s", "lost_cache_full", VIEW_RATE, 5, 13, 1},
			{"BCK/s", "lost_backup_full", VIEW_RATE, 5, 14, 1},
			{"WIR/s", "lost_wire", VIEW_RATE, 5, 15, 1},
		},
	.keys = 3,
	.sort = "LOS/s",
	.tables = {flow_losses_write, stalls_write},
	.totals = view_nic_totals,
	.count = view_nic_count,
	.nothing = "No ring of a NIC",
	.paths = {PATH_EMULATED, PATH_TCP},
};
