/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers with units as people write them in job files and expectations.
 *
 *	bytes	4096 4K 2M 1G (powers of 1024)
 *	time	5ms 20us 300ns 2s 1m 1h (only 0 may lack a unit)
 *	rate	10 10/s 600/m
 *	real	0.99 99%
 *
 * They are read by lib/base/units.h, as everywhere.
 */
#ifndef FAULTLINE_QUANTITY_H
#define FAULTLINE_QUANTITY_H

#include <linux/types.h>
#include <stddef.h>

enum quantity_kind { QUANTITY_COUNT, QUANTITY_BYTES, QUANTITY_TIME, QUANTITY_RATE, QUANTITY_REAL };

/*
 * Parses the whole of `text`. Bytes and times come out in bytes and ns, rates per second.
 * Returns 0 or a negative errno (not such a number, trailing text, negative, too large); the caller
 * words the sentence, as it knows what it would have accepted.
 */
int quantity_parse(const char *text, enum quantity_kind kind, double *value);

/* As the first kind that fits. */
int quantity_parse_any(const char *text, double *value);

/* How a value of the kind is written back, for messages: "4K", "5ms", "10/s". */
const char *quantity_text(double value, enum quantity_kind kind, char *buffer, size_t size);

#endif
