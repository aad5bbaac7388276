// SPDX-License-Identifier: GPL-2.0
#include "lib/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define NS_PER_MINUTE (60 * NSEC_PER_SEC)
#define NS_PER_HOUR   (60 * NS_PER_MINUTE)
#define NS_PER_DAY    (24 * NS_PER_HOUR)

#define DURATION_ACCEPTED "a number with ns, us, ms, s, m, h or d, such as 100ms"
#define SIZE_ACCEPTED	  "a number of bytes, with K, M, G, T, P or E if wanted, such as 64M"
#define TIME_ACCEPTED                                                 \
	"2026-11-21T14:02:03Z, 14:02:03 (UTC), @SECONDS since 1970, " \
	"+90s after the start or -10m before the end"

struct unit {
	const char *name;
	__u64 scale;
};

/*
 * Reads "12" or "1.25" exactly: the fraction is kept as numerator over a power of ten, because a
 * double would turn 0.1us into 99 ns. Returns what follows, NULL if no digit starts the text.
 */
static const char *parse_decimal(const char *text, __u64 *whole, __u64 *fraction, __u64 *scale)
{
	const char *start = text;

	*whole = 0;
	*fraction = 0;
	*scale = 1;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(*whole, 10, whole) ||
		    __builtin_add_overflow(*whole, (__u64)(*text - '0'), whole))
			return NULL;
	if (text == start)
		return NULL;
	if (*text != '.')
		return text;
	start = ++text;
	for (; isdigit((unsigned char)*text); text++) {
		if (*scale >= NSEC_PER_SEC)
			continue; /* finer than any unit resolves */
		*fraction = *fraction * 10 + (__u64)(*text - '0');
		*scale *= 10;
	}
	return text == start ? NULL : text;
}

static bool scale_decimal(__u64 whole, __u64 fraction, __u64 fraction_scale, __u64 unit,
			  __u64 *result)
{
	unsigned __int128 part = (unsigned __int128)fraction * unit / fraction_scale;

	return !__builtin_mul_overflow(whole, unit, result) &&
	       !__builtin_add_overflow(*result, (__u64)part, result);
}

static const struct unit time_units[] = {
	{"ns", 1},	     {"us", 1000},	     {"ms", 1000000},
	{"s", NSEC_PER_SEC}, {"min", NS_PER_MINUTE}, {"m", NS_PER_MINUTE},
	{"h", NS_PER_HOUR},  {"d", NS_PER_DAY},
};

#define TIME_UNITS (sizeof(time_units) / sizeof(time_units[0]))

int units_parse_duration(const char *text, __u64 *ns)
{
	__u64 whole, fraction, scale;
	const char *suffix = parse_decimal(text, &whole, &fraction, &scale);

	if (!suffix)
		return failed(-EINVAL, "invalid duration '%s'; accepted: " DURATION_ACCEPTED, text);
	if (!*suffix && !whole && !fraction) {
		*ns = 0;
		return 0;
	}
	for (size_t i = 0; i < TIME_UNITS; i++) {
		if (strcmp(suffix, time_units[i].name) != 0)
			continue;
		if (!scale_decimal(whole, fraction, scale, time_units[i].scale, ns))
			return failed(-ERANGE, "duration '%s' is beyond 584 years", text);
		return 0;
	}
	return failed(-EINVAL, "invalid duration '%s'; accepted: " DURATION_ACCEPTED, text);
}

/* All digits, in the largest unit that needs no fraction. */
static const char *exact_duration(__u64 ns, char text[UNITS_TEXT])
{
	size_t unit = TIME_UNITS - 1;

	while (unit && (!ns || ns % time_units[unit].scale))
		unit--;
	snprintf(text, UNITS_TEXT, "%llu%s", (unsigned long long)(ns / time_units[unit].scale),
		 time_units[unit].name);
	return text;
}

int units_parse_duration_within(const char *text, __u64 least, __u64 most, __u64 *ns)
{
	char low[UNITS_TEXT], high[UNITS_TEXT];
	__u64 value;
	int err = units_parse_duration(text, &value);

	if (!err && (value < least || value > most))
		err = failed(-ERANGE, "'%s' is out of range; accepted: a duration from %s to %s",
			     text, exact_duration(least, low), exact_duration(most, high));
	if (!err)
		*ns = value;
	return err;
}

int units_parse_size(const char *text, __u64 *bytes)
{
	static const char letters[] = "KMGTPE";
	__u64 whole, fraction, scale, unit = 1;
	const char *suffix = parse_decimal(text, &whole, &fraction, &scale);
	const char *letter = NULL;

	if (!suffix)
		return failed(-EINVAL, "invalid size '%s'; accepted: " SIZE_ACCEPTED, text);
	if (*suffix)
		letter = strchr(letters, toupper((unsigned char)*suffix));
	if (letter) {
		unit = 1ull << (10 * (letter - letters + 1));
		suffix++;
	}
	if (*suffix && strcmp(suffix, "B") != 0 && !(letter && !strcmp(suffix, "iB")))
		return failed(-EINVAL, "invalid size '%s'; accepted: " SIZE_ACCEPTED, text);
	if (fraction && unit == 1)
		return failed(-EINVAL, "invalid size '%s'; accepted: whole bytes", text);
	if (!scale_decimal(whole, fraction, scale, unit, bytes))
		return failed(-ERANGE, "size '%s' is beyond 16 EiB", text);
	return 0;
}

int units_parse_size_within(const char *text, __u64 least, __u64 most, __u64 *bytes)
{
	char low[UNITS_TEXT], high[UNITS_TEXT];
	__u64 value;
	int err = units_parse_size(text, &value);

	if (!err && (value < least || value > most))
		err = failed(-ERANGE, "'%s' is out of range; accepted: a size from %s to %s", text,
			     units_format_size(least, low), units_format_size(most, high));
	if (!err)
		*bytes = value;
	return err;
}

/* Returns what follows the number, NULL if the text does not begin with one. */
static const char *parse_real(const char *text, double *value)
{
	char *end;

	/* strtod also takes blanks, signs, "inf", "nan" and "0x1p3". */
	if (!isdigit((unsigned char)*text) || !strncasecmp(text, "0x", 2))
		return NULL;
	errno = 0;
	*value = strtod(text, &end);
	return errno ? NULL : end;
}

int units_parse_real(const char *text, double *value)
{
	const char *rest = parse_real(text, value);

	if (rest && !*rest)
		return 0;
	return failed(-EINVAL, "invalid number '%s'; accepted: digits, such as 1.5 or 1e6", text);
}

int units_parse_rate(const char *text, double *per_s)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"/s", 1}, {"/m", 60}};
	const char *rest = parse_real(text, per_s);

	for (size_t i = 0; rest && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(rest, units[i].name) != 0)
			continue;
		*per_s /= units[i].seconds;
		return 0;
	}
	return failed(-EINVAL,
		      "invalid rate '%s'; accepted: a number a second, such as 10/s or 600/m",
		      text);
}

int units_parse_percent(const char *text, double *percent)
{
	const char *rest = parse_real(text, percent);

	if (rest && (!*rest || !strcmp(rest, "%")))
		return 0;
	return failed(-EINVAL, "invalid percentage '%s'; accepted: such as 99.9 or 99.9%%", text);
}

int units_parse_share(const char *text, double *share)
{
	const char *rest = parse_real(text, share);

	if (rest && !strcmp(rest, "%"))
		*share /= 100;
	else if (!rest || *rest)
		return failed(-EINVAL, "invalid share '%s'; accepted: such as 0.25 or 25%%", text);
	return 0;
}

static bool parse_whole(const char *text, __u64 *value)
{
	bool hexadecimal = !strncasecmp(text, "0x", 2);
	unsigned long long whole;
	const char *rest;
	double real;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	whole = strtoull(text, &end, hexadecimal ? 16 : 10);
	*value = whole;
	if (!*end)
		return !errno;
	/* "1e6": exact as far as doubles are. */
	rest = hexadecimal ? NULL : parse_real(text, &real);
	if (!rest || *rest || real > 0x1p53 || real != (double)(__u64)real)
		return false;
	*value = (__u64)real;
	return true;
}

int units_parse_count(const char *text, __u64 minimum, __u64 maximum, __u64 *count)
{
	__u64 value;

	bool whole = parse_whole(text, &value);

	if (!whole || value < minimum || value > maximum)
		return failed(errno == ERANGE ? -ERANGE : -EINVAL,
			      whole ? "'%s' is out of range; accepted: a number from %llu to %llu"
				    : "invalid number '%s'; accepted: %llu to %llu",
			      text, minimum, maximum);
	*count = value;
	return 0;
}

/* Two digits below `limit`. */
static const char *parse_two_digits(const char *text, int limit, int *value)
{
	if (!isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1]))
		return NULL;
	*value = (text[0] - '0') * 10 + (text[1] - '0');
	return *value < limit ? text + 2 : NULL;
}

/* HH:MM[:SS[.fraction]] into ns. Returns what follows, NULL if it is no such thing. */
static const char *parse_clock(const char *text, __u64 *ns)
{
	int hours, minutes, seconds = 0;
	__u64 whole, fraction = 0, scale = 1;
	const char *start;

	text = parse_two_digits(text, 24, &hours);
	if (!text || *text++ != ':')
		return NULL;
	text = parse_two_digits(text, 60, &minutes);
	if (!text)
		return NULL;
	if (*text == ':') {
		start = text + 1;
		text = parse_two_digits(start, 60, &seconds);
		if (text && *text == '.')
			text = parse_decimal(start, &whole, &fraction, &scale);
		if (!text)
			return NULL;
	}
	*ns = (__u64)hours * NS_PER_HOUR + (__u64)minutes * NS_PER_MINUTE +
	      (__u64)seconds * NSEC_PER_SEC + fraction * NSEC_PER_SEC / scale;
	return text;
}

/* "", "Z" or "+HH:MM". */
static bool parse_zone(const char *text, __s64 *offset_ns)
{
	__u64 ns;
	int sign;

	*offset_ns = 0;
	if (!*text || !strcmp(text, "Z"))
		return true;
	if (*text != '+' && *text != '-')
		return false;
	sign = *text == '-' ? -1 : 1;
	text = parse_clock(text + 1, &ns);
	if (!text || *text)
		return false;
	*offset_ns = sign * (__s64)ns;
	return true;
}

static bool parse_date(const char *text, __u64 *ns)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	__s64 offset_ns;
	__u64 clock_ns = 0;
	int day_of_month = tm.tm_mday;
	time_t day;

	if (!rest)
		return false;
	if (*rest == 'T' || *rest == ' ')
		rest = parse_clock(rest + 1, &clock_ns);
	if (!rest || !parse_zone(rest, &offset_ns))
		return false;
	day = timegm(&tm);
	/* timegm() makes 3 March of 31 February. */
	if (tm.tm_mday != day_of_month)
		return false;
	if (day < 2l * 86400 || day > 200l * 365 * 86400)
		return false;
	*ns = (__u64)((__s64)((__u64)day * NSEC_PER_SEC + clock_ns) - offset_ns);
	return true;
}

int units_parse_time(const char *text, struct units_time *time)
{
	__u64 whole, fraction, scale;
	const char *rest;
	int err;

	if (*text == '+' || *text == '-') {
		time->base = *text == '+' ? UNITS_TIME_AFTER_START : UNITS_TIME_BEFORE_END;
		err = units_parse_duration(text + 1, &time->ns);
		return err ? failed_in(err, "time '%s'", text) : 0;
	}
	time->base = UNITS_TIME_REALTIME;
	if (*text == '@') {
		rest = parse_decimal(text + 1, &whole, &fraction, &scale);
		if (rest && !*rest &&
		    scale_decimal(whole, fraction, scale, NSEC_PER_SEC, &time->ns))
			return 0;
	} else if (parse_date(text, &time->ns)) {
		return 0;
	}
	time->base = UNITS_TIME_OF_DAY;
	rest = parse_clock(text, &time->ns);
	if (rest && (!*rest || !strcmp(rest, "Z")))
		return 0;
	return failed(-EINVAL, "invalid time '%s'; accepted: " TIME_ACCEPTED, text);
}

/* Three significant digits of value / scale. */
static void format_scaled(__u64 value, __u64 scale, const char *unit, char text[UNITS_TEXT])
{
	double scaled = (double)value / (double)scale;
	int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;

	snprintf(text, UNITS_TEXT, "%.*f%s", decimals, scaled, unit);
}

const char *units_format_duration(__u64 ns, char text[UNITS_TEXT])
{
	__u64 seconds = ns / NSEC_PER_SEC;

	if (!ns)
		snprintf(text, UNITS_TEXT, "0");
	else if (ns < 1000)
		snprintf(text, UNITS_TEXT, "%lluns", (unsigned long long)ns);
	else if (ns < 999500)
		format_scaled(ns, 1000, "us", text);
	else if (ns < 999500000)
		format_scaled(ns, 1000000, "ms", text);
	else if (seconds < 60)
		format_scaled(ns, NSEC_PER_SEC, "s", text);
	else if (seconds < 3600)
		snprintf(text, UNITS_TEXT, "%llum%02llus", (unsigned long long)seconds / 60,
			 (unsigned long long)seconds % 60);
	else if (seconds < 100ull * 3600)
		snprintf(text, UNITS_TEXT, "%lluh%02llum", (unsigned long long)seconds / 3600,
			 (unsigned long long)seconds % 3600 / 60);
	else
		snprintf(text, UNITS_TEXT, "%llud%02lluh", (unsigned long long)seconds / 86400,
			 (unsigned long long)seconds % 86400 / 3600);
	return text;
}

const char *units_format_size(__u64 bytes, char text[UNITS_TEXT])
{
	static const char *const units[] = {"K", "M", "G", "T", "P", "E"};
	unsigned int unit = 0;
	__u64 scale = 1024;

	if (bytes < 1024) {
		snprintf(text, UNITS_TEXT, "%llu", (unsigned long long)bytes);
		return text;
	}
	while (unit + 1 < 6 && bytes / scale >= 1024) {
		unit++;
		scale <<= 10;
	}
	if (bytes % scale)
		format_scaled(bytes, scale, units[unit], text);
	else
		snprintf(text, UNITS_TEXT, "%llu%s", (unsigned long long)(bytes / scale),
			 units[unit]);
	return text;
}

const char *units_format_count(__u64 count, unsigned int width, char text[UNITS_TEXT])
{
	static const char *const units[] = {"k", "M", "G", "T", "P", "E"};
	unsigned int unit = 0;
	__u64 scale = 1000;

	if (snprintf(text, UNITS_TEXT, "%llu", (unsigned long long)count) <= (int)width)
		return text;
	while (unit + 1 < 6 && (double)count / (double)scale >= 999.5) {
		unit++;
		scale *= 1000;
	}
	format_scaled(count, scale, units[unit], text);
	return text;
}

const char *units_format_time(__u64 realtime_ns, char text[UNITS_TEXT])
{
	time_t seconds = (time_t)(realtime_ns / NSEC_PER_SEC);
	struct tm tm;
	size_t length;

	gmtime_r(&seconds, &tm);
	length = strftime(text, UNITS_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + length, UNITS_TEXT - length, ".%09lluZ",
		 (unsigned long long)(realtime_ns % NSEC_PER_SEC));
	return text;
}

int units_parse_bit_rate(const char *text, __u64 least, __u64 most, __u64 *bits)
{
	static const char units[] = "kMG";
	char number[32];
	const char *unit;
	size_t length = strlen(text);
	double value, scale = 1;

	*bits = 0;
	if (!strcmp(text, "off"))
		return 0;
	unit = length ? strchr(units, text[length - 1]) : NULL;
	if (unit && *unit) {
		length--;
		for (const char *u = units; u <= unit; u++)
			scale *= 1000;
	}
	snprintf(number, sizeof(number), "%.*s", (int)length, text);
	if (length >= sizeof(number) || units_parse_real(number, &value) ||
	    value * scale < (double)least || value * scale > (double)most)
		return -EINVAL;
	*bits = (__u64)(value * scale);
	return 0;
}
