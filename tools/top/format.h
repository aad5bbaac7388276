/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers for humans in five cells: "999us", "12.3k", "1.5G". What does not fit is cut to its unit. */
#ifndef FAULTLINE_TOP_FORMAT_H
#define FAULTLINE_TOP_FORMAT_H

#include <linux/types.h>

#include "lib/base/wall_clock.h"

#define SHORT_TEXT 16

/* Each writes into `text` (SHORT_TEXT bytes) and returns it. */
char *short_duration(char *text, __u64 ns);
char *short_count(char *text, __u64 count);
char *short_bytes(char *text, __u64 bytes);
char *short_real(char *text, double value); /* NAN: "-" */
/* HH:MM:SS of a length of time. */
char *short_span(char *text, __u64 ns);

#define CLOCK_TEXT 40
/*
 * UTC of a monotonic instant: "2026-11-21 01:59:03", with `milliseconds` "01:59:03.123" alone.
 * Without a clock (NULL) or an anchor: seconds since boot.
 */
char *clock_text(char *text, const struct wall_clock *clock, __u64 monotonic_ns, bool milliseconds);

#endif
