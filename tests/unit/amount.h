/* SPDX-License-Identifier: GPL-2.0 */
/* How much a test does of what it could do thousands of times. */
#ifndef FAULTLINE_TEST_AMOUNT_H
#define FAULTLINE_TEST_AMOUNT_H

#include <stdlib.h>
#include <string.h>

/* `part` in `make check`; `full` where the environment has UNITS=full, as `make units` does. */
static inline unsigned int amount(unsigned int full, unsigned int part)
{
	const char *units = getenv("UNITS");

	return units && !strcmp(units, "full") ? full : part;
}

#endif
