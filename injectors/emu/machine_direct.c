// SPDX-License-Identifier: GPL-2.0
/* Whose an access to a tenant's memory is that found its page absent. */
#include "injectors/emu/machine_private.h"

static bool direct_begins(void *argument, struct memory_access *access)
{
	const struct tenant *tenant = argument;

	for (__u32 i = 0; i < tenant->device_count; i++) {
		const struct machine_device *device = &tenant->machine->devices[tenant->devices[i]];

		if (device->config.lookup == LOOKUP_UFFD && device->port &&
		    port_direct_begins(device->port, access))
			return true;
	}
	return false;
}

static void direct_ends(void *argument, const struct memory_access *access, bool major)
{
	(void)argument;
	port_direct_ends(access->device, access, major);
}

struct memory_watch machine_watch(struct tenant *tenant)
{
	return tenant->config.backend == MEMORY_VM
		       ? (struct memory_watch){direct_begins, direct_ends, tenant}
		       : (struct memory_watch){0};
}
