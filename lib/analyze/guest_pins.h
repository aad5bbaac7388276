/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of guests that is registered and pinned, by who pins it. */
#ifndef FAULTLINE_GUEST_PINS_H
#define FAULTLINE_GUEST_PINS_H

#include "lib/analyze/analyzer.h"

/* Table "pins": a row a device. */
analyzer_write guest_pins_write;
/* How many rows it has. */
__u64 guest_pins_count(const struct analysis *analysis);
/* Bytes pinned now, of all devices and roles. */
__u64 guest_pins_bytes(const struct analysis *analysis);

#endif
