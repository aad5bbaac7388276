/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What becomes of a packet whose page is absent (NPF, ASPLOS'17, section 4): one function a side. The
 * packet has been gathered or scattered by nobody, and the transport stands where it stood before.
 *
 * A policy is a line in fault_policies.def and a file of its name.
 */
#ifndef FAULTLINE_RDMA_FAULT_POLICY_H
#define FAULTLINE_RDMA_FAULT_POLICY_H

#include "injectors/emu/rdma/transport.h"

struct fault_policy {
	const char *name;
	const char *meaning; /* one line of help */
	/* `position`: of the packet that was to be sent, or that arrived. */
	void (*absent[RDMA_SIDES])(struct queue_pair *pair, __u64 position, __u64 now_ns);
};

/* Every policy; the list ends with NULL. Index: rdma_settings.fault. */
extern const struct fault_policy *const fault_policies[];
const struct fault_policy *fault_policy_find(const char *name); /* NULL: none of that name */

#endif
