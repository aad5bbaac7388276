// SPDX-License-Identifier: GPL-2.0
#include "lib/job/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"

struct quantity_unit {
	const char *suffix;
	double factor;
	enum quantity_kind kind;
};

/* What quantity_text() writes: in each kind from large to small, so that it finds the largest that divides. */
static const struct quantity_unit units[] = {
	{"G", 1ull << 30, QUANTITY_BYTES}, {"M", 1 << 20, QUANTITY_BYTES},
	{"K", 1 << 10, QUANTITY_BYTES},	   {"h", 3600e9, QUANTITY_TIME},
	{"m", 60e9, QUANTITY_TIME},	   {"s", 1e9, QUANTITY_TIME},
	{"ms", 1e6, QUANTITY_TIME},	   {"us", 1e3, QUANTITY_TIME},
	{"ns", 1, QUANTITY_TIME},	   {"/s", 1, QUANTITY_RATE},
};

#define UNITS (sizeof(units) / sizeof(units[0]))

int quantity_parse(const char *text, enum quantity_kind kind, double *value)
{
	__u64 whole = 0;
	int err;

	switch (kind) {
	case QUANTITY_RATE:
		return units_parse_rate(text, value);
	case QUANTITY_REAL:
		return units_parse_share(text, value);
	case QUANTITY_BYTES:
		err = units_parse_size(text, &whole);
		break;
	case QUANTITY_TIME:
		err = units_parse_duration(text, &whole);
		break;
	default:
		/* An address in the place of a count is a slip. */
		if (!strncasecmp(text, "0x", 2))
			return -EINVAL;
		err = units_parse_count(text, 0, UINT64_MAX, &whole);
	}
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
