/* SPDX-License-Identifier: GPL-2.0 */
/* What the events of queue pairs say (bpf/event_kinds.def), taken apart and in words. */
#ifndef FAULTLINE_PACKETS_H
#define FAULTLINE_PACKETS_H

#include <stdbool.h>
#include <string.h>

#include "lib/base/stream.h"

/* Packets of a run. */
static inline __u64 packets_count(const struct event *e)
{
	return e->group;
}

/* When the first packet of a run was dropped or sent again. */
static inline __u64 packets_since(const struct event *e)
{
	return e->length && e->length < e->time_ns ? e->length : e->time_ns;
}

/* "rdma", or "rdma/" and more. */
static inline bool packets_device(const struct device_info *device)
{
	return device && !strncmp(device->model, "rdma", 4) &&
	       (!device->model[4] || device->model[4] == '/');
}

/* "rts", ... of enum verbs_pair_state; libibverbs' "RNR_RETRY_EXC_ERR", ... of enum verbs_status. "unknown" else. */
const char *pair_state_name(unsigned int state);
const char *pair_status_name(unsigned int status);

#endif
