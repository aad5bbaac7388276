/* SPDX-License-Identifier: GPL-2.0 */
/* Steps of the state machines of emulated hosts that lend devices: the code of EVENT_LEND_STEP. */
#ifndef FAULTLINE_CLUSTER_STEP_H
#define FAULTLINE_CLUSTER_STEP_H

enum cluster_step {
#define CLUSTER_STEP(name, text) STEP_##name,
#include "bpf/cluster_steps.def"
#undef CLUSTER_STEP
	CLUSTER_STEPS,
};

/* "request", "grant", ..., "unknown". */
const char *lend_step_name(unsigned int step);

#endif
