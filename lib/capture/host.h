/* SPDX-License-Identifier: GPL-2.0 */
/* What a recording says of the host and of its clocks. */
#ifndef FAULTLINE_HOST_H
#define FAULTLINE_HOST_H

#include "lib/base/stream.h"

void host_describe(struct host_info *host);
/* Realtime at a monotonic instant, taken between two readings of the latter. */
void host_anchor(struct clock_anchor *anchor);
/* Whether the two clocks have moved apart by more than 1 ms: a step, where slewing takes seconds. */
bool host_clock_stepped(const struct clock_anchor *before, const struct clock_anchor *now);

#endif
