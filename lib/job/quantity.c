// SPDX-License-Identifier: GPL-2.0
#include "lib/job/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

struct unit {
	const char *suffix;
	double factor;
	enum quantity_kind kind;
};

/* In each kind from large to small, so that quantity_text() finds the largest that divides. */
static const struct unit units[] = {
	{"G", 1ull << 30, QUANTITY_BYTES}, {"M", 1 << 20, QUANTITY_BYTES},
	{"K", 1 << 10, QUANTITY_BYTES},	   {"h", 3600e9, QUANTITY_TIME},
	{"m", 60e9, QUANTITY_TIME},	   {"s", 1e9, QUANTITY_TIME},
	{"ms", 1e6, QUANTITY_TIME},	   {"us", 1e3, QUANTITY_TIME},
	{"ns", 1, QUANTITY_TIME},	   {"/s", 1, QUANTITY_RATE},
	{"/m", 1 / 60.0, QUANTITY_RATE},   {"%", 0.01, QUANTITY_REAL},
};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* Count, rate or share: a plain number, then perhaps a unit of its kind. */
static int parse_plain(const char *text, enum quantity_kind kind, double *value)
{
	char *end;

	/* strtod also takes "inf", "nan", "0x1p3" and a sign; none is a quantity. */
	if (!isdigit((unsigned char)text[0]) || !strncasecmp(text, "0x", 2))
		return -EINVAL;
	*value = strtod(text, &end);
	if (kind == QUANTITY_COUNT && *value != floor(*value))
		return -EINVAL;
	if (!*end)
		return 0;
	for (size_t i = 0; i < UNITS; i++) {
		if (units[i].kind != kind || strcmp(units[i].suffix, end) != 0)
			continue;
		*value *= units[i].factor;
		return 0;
	}
	return -EINVAL;
}

int quantity_parse(const char *text, enum quantity_kind kind, double *value)
{
	__u64 whole;
	int err;

	if (kind != QUANTITY_BYTES && kind != QUANTITY_TIME)
		return parse_plain(text, kind, value);
	err = kind == QUANTITY_BYTES ? units_parse_size(text, &whole)
				     : units_parse_duration(text, &whole);
	if (!err)
		*value = (double)whole;
	return err;
}

int quantity_parse_any(const char *text, double *value)
{
	for (int kind = QUANTITY_COUNT; kind <= QUANTITY_REAL; kind++)
		if (!quantity_parse(text, (enum quantity_kind)kind, value))
			return 0;
	return -EINVAL;
}

const char *quantity_text(double value, enum quantity_kind kind, char *buffer, size_t size)
{
	for (size_t i = 0; value != 0 && i < UNITS; i++) {
		double scaled = value / units[i].factor;

		if (units[i].kind != kind || kind == QUANTITY_REAL || scaled != floor(scaled))
			continue;
		snprintf(buffer, size, "%.0f%s", scaled, units[i].suffix);
		return buffer;
	}
	snprintf(buffer, size, "%.10g", value);
	return buffer;
}
