/* SPDX-License-Identifier: GPL-2.0 */
/* What each flow lost, and what TCP did about it. */
#ifndef FAULTLINE_FLOWS_H
#define FAULTLINE_FLOWS_H

#include "lib/analyze/analyzer.h"

#define FLOW_ROWS_MAX 65536

/* Of TCP, what the sockets of one device did: the host's own are those of DEVICE_NONE. */
struct flow_resent {
	__u64 segments, timeouts, probes, fast, synacks, failed;
};

struct flows;

/* All zero if nothing was sent again. */
struct flow_resent flows_of_device(const struct flows *flows, __u32 device);
/* Flows that found no room. */
__u64 flows_dropped(const struct flows *flows);
/* Most lost frames first. */
analyzer_write flows_write;

#endif
