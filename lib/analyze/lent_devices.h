/* SPDX-License-Identifier: GPL-2.0 */
/* Devices of emulated hosts that are borrowed or shared, a row for each that somebody uses. */
#ifndef FAULTLINE_LENT_DEVICES_H
#define FAULTLINE_LENT_DEVICES_H

#include "lib/analyze/analyzer.h"

/* Table "lent". */
analyzer_write lent_devices_write;
/* How many rows it has. */
__u64 lent_devices_count(const struct analysis *analysis);

#endif
