/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How people write quantities: "100ms", "1.5G", "10/s", "14:02", and how we print them back: on
 * command lines, in job files and in SLO files alike.
 *
 * Parsing is strict: the whole text must be one quantity, in range, with a unit where leaving it
 * out would be a guess. Errors are -EINVAL or -ERANGE with a sentence that quotes the text and
 * names what is accepted; callers put the option or the file and line before it (failed_in()).
 */
#ifndef FAULTLINE_UNITS_H
#define FAULTLINE_UNITS_H

#include <linux/types.h>
#include <stddef.h>

#include "lib/base/clock.h"

/* "10m", "1.5s", "100ms", "5us", "20ns", "2h", "1d"; "0" needs no unit, any other number does. */
int units_parse_duration(const char *text, __u64 *ns);

/* The same within [least, most], which the error names. */
int units_parse_duration_within(const char *text, __u64 least, __u64 most, __u64 *ns);

/* A hundred years: what may be added to any clock without going beyond 64 bits. */
#define UNITS_DURATION_MOST (36500ull * 86400 * NSEC_PER_SEC)

/* "4096", "4K", "1.5G", "64KiB"; powers of 1024, letters of either case, up to "E". */
int units_parse_size(const char *text, __u64 *bytes);

/* The same within [least, most], which the error names. */
int units_parse_size_within(const char *text, __u64 least, __u64 most, __u64 *bytes);

/* "10", "0.5", "1e6"; neither signs nor "inf", "nan" and hexadecimal digits. */
int units_parse_real(const char *text, double *value);

/* "2.5G", with k, M or G of 1000, or "off": 0. -EINVAL, also if it is out of range. */
int units_parse_bit_rate(const char *text, __u64 least, __u64 most, __u64 *bits);

/* "10", "10/s", "600/m", all ten a second. */
int units_parse_rate(const char *text, double *per_s);

/* "99.9", "99.9%": a number of percent. */
int units_parse_percent(const char *text, double *percent);

/* "0.999", "99.9%": a share of one. */
int units_parse_share(const char *text, double *share);

/* A whole number in [minimum, maximum]: decimal digits, "1e6", or 0x and hexadecimal digits. */
int units_parse_count(const char *text, __u64 minimum, __u64 maximum, __u64 *count);

/* What a point in time is counted from. Only the first needs no recording to be understood. */
enum units_time_base {
	UNITS_TIME_REALTIME,	/* ns since 1970, UTC */
	UNITS_TIME_OF_DAY,	/* ns since midnight UTC of the recording's day */
	UNITS_TIME_AFTER_START, /* ns after the recording's start */
	UNITS_TIME_BEFORE_END,	/* ns before its end */
};

struct units_time {
	enum units_time_base base;
	__u64 ns;
};

/*
 * "2026-11-21T14:02:03.25Z" (or a blank instead of T, no seconds, an offset "+02:00"; UTC if none
 * is given), "@1795269723.5" (seconds since 1970), "14:02[:03[.25]]", "+90s" (after the start),
 * "-10m" (before the end).
 */
int units_parse_time(const char *text, struct units_time *time);

#define UNITS_TEXT 40 /* room for any of these texts */

/* Three significant digits and a unit: "0", "812ns", "4.21us", "1.50s", "2m05s", "3h07m". */
const char *units_format_duration(__u64 ns, char text[UNITS_TEXT]);
/* "0", "512", "4K", "1.5M", "2.25G". */
const char *units_format_size(__u64 bytes, char text[UNITS_TEXT]);
/* A count in at most `width` (>= 5) columns: all digits if they fit, else "12.3k", "4.56M". */
const char *units_format_count(__u64 count, unsigned int width, char text[UNITS_TEXT]);
/* ISO 8601, UTC, nine decimals: "2026-11-21T14:02:03.250000000Z" (30 characters). */
const char *units_format_time(__u64 realtime_ns, char text[UNITS_TEXT]);

#endif
