// SPDX-License-Identifier: GPL-2.0
#include "tools/top/draw.h"

/* Ordered so that a low terminal shows the keys first. */
static const char *const lines[] = {
	"Tab       next view (Shift-Tab the one before; or its number): I/O page",
	"          faults, unrecoverable IOMMU faults, DMA mappings, VFIO, RDMA",
	"up down PgUp PgDn Home End   choose a device (also j k g G)",
	"Enter     details of the row; up down scroll        Esc, q  back",
	"w         times over the window, or since the start",
	"s S       next / previous sort column               r  reverse",
	"/         show only devices or owners with a text   Esc  show all",
	"p, space  hold the screen; events are still taken   + -  interval",
	"q         back, or quit                              Q  quit at once",
	"FLT/s     faults detected per second in the last interval",
	"P50 P99 MAX  from detection to the device's resume",
	"SLOWEST   stage that took most of the time: request, delivery (to the",
	"          interrupt), dispatch (to the handler), resolve (memory present),",
	"          map (translation updated), respond, resume (device went on);",
	"          + holds the time of stages before it that were not seen",
	"BLK%      share of the last interval a queue spent waiting for faults",
	"FOOT      memory the device has touched         SLO  ok, warn, BAD",
	"lost      events that did not arrive: numbers are then floors",
	"turned away: calls of an emulator's probes by other users' processes",
	"self      what this program costs: share of one CPU, memory",
};

void draw_help(struct canvas *canvas, const struct top_picture *picture)
{
	const struct rectangle *body = &picture->layout->body;

	int count = (int)(sizeof(lines) / sizeof(lines[0]));
	int shown = count > body->rows ? body->rows - 1 : count;

	for (int i = 0; i < shown; i++)
		canvas_text(canvas, body->row + i, 1, body->columns - 1, STYLE_PLAIN, lines[i]);
	if (shown < count)
		canvas_text(canvas, body->row + shown, 0, body->columns, STYLE_DIM,
			    "> more on a taller screen");
}
