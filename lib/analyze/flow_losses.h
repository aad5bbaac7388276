/* SPDX-License-Identifier: GPL-2.0 */
/* What each flow lost, and what TCP did about it. */
#ifndef FAULTLINE_FLOW_LOSSES_H
#define FAULTLINE_FLOW_LOSSES_H

#include "lib/analyze/analyzer.h"

#define FLOW_LOSSES_MAX 65536

/* Of TCP, what the sockets of one device did: the host's own are those of DEVICE_NONE. */
struct flow_resent {
	__u64 segments, timeouts, probes, fast, slow_start, synacks, failed;
};

struct flow_losses;

/* All zero if nothing was sent again. */
struct flow_resent flow_losses_of_device(const struct flow_losses *flows, __u32 device);
/* Flows that found no room. */
__u64 flow_losses_dropped(const struct flow_losses *flows);
/* Most lost frames first. */
analyzer_write flow_losses_write;

#endif
