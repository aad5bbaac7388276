// SPDX-License-Identifier: GPL-2.0
#include <stddef.h>
#include <string.h>

#include "injectors/emu/nic/rx_ring.h"

#define RX_POLICY(name) extern const struct rx_policy rx_policy_##name;
#include "injectors/emu/nic/policies.def"

const struct rx_policy *const rx_policies[] = {
#define RX_POLICY(name) &rx_policy_##name,
#include "injectors/emu/nic/policies.def"
	NULL,
};

const struct rx_policy *rx_policy_find(const char *name)
{
	for (const struct rx_policy *const *policy = rx_policies; *policy; policy++)
		if (!strcmp((*policy)->name, name))
			return *policy;
	return NULL;
}
