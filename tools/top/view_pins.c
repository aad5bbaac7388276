// SPDX-License-Identifier: GPL-2.0
/* View "pins": devices of guests whose memory is registered and pinned, by who pins it. */
#include "lib/analyze/guest_pins.h"
#include "lib/base/units.h"
#include "tools/top/views.h"

static void view_pins_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	char bytes[UNITS_TEXT];

	snprintf(text, VIEW_TOTALS, "pinned for guests %s",
		 units_format_size(guest_pins_bytes(a), bytes));
}

const struct view view_pins = {
	.name = "pins",
	.write = guest_pins_write,
	.columns =
		{
			{"DEVICE", "device", VIEW_AS_IS, 8, 0},
			{"TENANT", "tenant", VIEW_AS_IS, 6, 9},
			{"MODE", "mode", VIEW_AS_IS, 6, 7},
			{"REG", "registered", VIEW_AS_IS, 5, 1},
			{"GUEST", "guest", VIEW_AS_IS, 5, 2},
			{"REMAP", "remap", VIEW_AS_IS, 5, 3},
			{"DRIVER", "driver", VIEW_AS_IS, 6, 4},
			{"MOST", "most", VIEW_AS_IS, 5, 6},
			{"QUOTA", "quota", VIEW_AS_IS, 5, 5},
			{"REF/s", "refused", VIEW_RATE, 5, 8, 1, 1},
		},
	.keys = 1,
	.sort = "REG",
	.totals = view_pins_totals,
	.count = guest_pins_count,
	.nothing = "Nothing is told of memory registered with a device that has a mode",
	.paths = {PATH_HYV},
};
