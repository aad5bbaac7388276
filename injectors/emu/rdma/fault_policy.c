// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/rdma/fault_policy.h"

#include <stddef.h>
#include <string.h>

#define FAULT_POLICY(name) extern const struct fault_policy fault_policy_##name;
#include "injectors/emu/rdma/fault_policies.def"

const struct fault_policy *const fault_policies[] = {
#define FAULT_POLICY(name) &fault_policy_##name,
#include "injectors/emu/rdma/fault_policies.def"
	NULL,
};

const struct fault_policy *fault_policy_find(const char *name)
{
	for (const struct fault_policy *const *policy = fault_policies; *policy; policy++)
		if (!strcmp((*policy)->name, name))
			return *policy;
	return NULL;
}
