// SPDX-License-Identifier: GPL-2.0
#include "lib/base/cluster_step.h"

const char *lend_step_name(unsigned int step)
{
	static const char *const names[CLUSTER_STEPS] = {
#define CLUSTER_STEP(name, text) [STEP_##name] = (text),
#include "bpf/cluster_steps.def"
#undef CLUSTER_STEP
	};

	return step < CLUSTER_STEPS ? names[step] : "unknown";
}
