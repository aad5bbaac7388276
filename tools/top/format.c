// SPDX-License-Identifier: GPL-2.0
#include "tools/top/format.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "lib/base/clock.h"

/* One decimal below ten of a unit, none above. */
static char *format_with_unit(char *text, double value, const char *unit)
{
	/* 9.96 would print as "10.0" and be a cell too wide. */
	snprintf(text, SHORT_TEXT, value < 9.95 ? "%.1f%s" : "%.0f%s", value, unit);
	return text;
}

char *short_duration(char *text, __u64 ns)
{
	static const struct {
		double limit, unit;
		const char *name;
	} units[] = {
		{999.5e3, 1e3, "us"}, {999.5e6, 1e6, "ms"},    {999.5e9, 1e9, "s"},
		{3600e9, 60e9, "m"},  {360000e9, 3600e9, "h"}, {999.5 * 86400e9, 86400e9, "d"},
	};

	if (ns < 1000) {
		snprintf(text, SHORT_TEXT, ns ? "%lluns" : "0", (unsigned long long)ns);
		return text;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if ((double)ns < units[i].limit)
			return format_with_unit(text, (double)ns / units[i].unit, units[i].name);
	return format_with_unit(text, (double)ns / (365 * 86400e9), "y");
}

char *short_count(char *text, __u64 count)
{
	static const char *const units[] = {"k", "M", "G", "T", "P", "E"};
	double value = (double)count;
	int unit = -1;

	if (count < 100000) {
		snprintf(text, SHORT_TEXT, "%llu", (unsigned long long)count);
		return text;
	}
	while (value >= 999.5) {
		value /= 1000;
		unit++;
	}
	return format_with_unit(text, value, units[unit]);
}

char *short_bytes(char *text, __u64 bytes)
{
	static const char *const units[] = {"B", "K", "M", "G", "T", "P", "E"};
	double value = (double)bytes;
	int unit = 0;

	if (!bytes) {
		snprintf(text, SHORT_TEXT, "0");
		return text;
	}
	while (value >= 1023.5) {
		value /= 1024;
		unit++;
	}
	/* Whole numbers stay whole: a page is 4K, not 4.0K. */
	if (value == floor(value)) {
		snprintf(text, SHORT_TEXT, "%.0f%s", value, units[unit]);
		return text;
	}
	return format_with_unit(text, value, units[unit]);
}

char *short_real(char *text, double value)
{
	if (isnan(value))
		snprintf(text, SHORT_TEXT, "-");
	else if (value == 0)
		snprintf(text, SHORT_TEXT, "0");
	else if (value < 99.95)
		snprintf(text, SHORT_TEXT, "%.1f", value);
	else
		short_count(text, value < 1e18 ? (__u64)(value + 0.5) : (__u64)1e18);
	return text;
}

char *short_span(char *text, __u64 ns)
{
	__u64 seconds = (ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
	__u64 hours = seconds / 3600;

	if (hours > 9999)
		hours = 9999;
	snprintf(text, SHORT_TEXT, "%02u:%02u:%02u", (unsigned int)hours,
		 (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
	return text;
}

char *clock_text(char *text, const struct wall_clock *clock, __u64 monotonic_ns, bool milliseconds)
{
	__u64 real = clock ? wall_clock_at(clock, monotonic_ns) : 0;
	time_t seconds = (time_t)(real / NSEC_PER_SEC);
	struct tm utc;

	if (!real || !gmtime_r(&seconds, &utc)) {
		snprintf(text, CLOCK_TEXT, "%.3f", (double)monotonic_ns / 1e9);
		return text;
	}
	if (milliseconds)
		snprintf(text, CLOCK_TEXT, "%02d:%02d:%02d.%03u", utc.tm_hour, utc.tm_min,
			 utc.tm_sec, (unsigned int)(real / NSEC_PER_MSEC % 1000));
	else
		strftime(text, CLOCK_TEXT, "%Y-%m-%d %H:%M:%S", &utc);
	return text;
}
