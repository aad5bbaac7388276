/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which process a PASID means, as EVENT_PASID_ATTACH and _DETACH tell. Bounded: what does not fit is
 * not known, and its faults have no process.
 */
#ifndef FAULTLINE_PASIDS_H
#define FAULTLINE_PASIDS_H

#include "bpf/event.h"

struct pasid_process {
	__u32 pid;
	char comm[16];
};

struct pasids;

/* NULL without memory. */
struct pasids *pasids_create(void);
void pasids_destroy(struct pasids *pasids);
void pasids_event(struct pasids *pasids, const struct event *event);
/* Of this device, or of every device; NULL if it is not known. */
const struct pasid_process *pasids_find(const struct pasids *pasids, __u32 device, __u32 pasid);

#endif
