/* SPDX-License-Identifier: GPL-2.0 */
/* What a recording says of the host and of its clocks. */
#ifndef FAULTLINE_HOST_H
#define FAULTLINE_HOST_H

#include "lib/base/stream.h"

void host_describe(struct host_info *host);
/* Realtime at a monotonic instant, taken between two readings of the latter. */
void host_anchor(struct clock_anchor *anchor);

#endif
