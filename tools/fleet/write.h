/* SPDX-License-Identifier: GPL-2.0 */
/* The accesses of a fleet as recordings, one a host. */
#ifndef FAULTLINE_TOOLS_FLEET_WRITE_H
#define FAULTLINE_TOOLS_FLEET_WRITE_H

#include "tools/fleet/fleet.h"

/*
 * Makes the folder, which must not be there, and in it host-1.flt, host-2.flt, ...: what machines use, by the second
 * and page, as capture counts it. -EINVAL with a sentence for a folder that is there or a fleet that is too large.
 */
int fleet_record(const struct fleet_config *config, const char *directory);

#endif
