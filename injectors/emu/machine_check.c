// SPDX-License-Identifier: GPL-2.0
/* Which descriptions of a machine make sense: asked before anything of it is built. */
#include "injectors/emu/machine_private.h"

#include <errno.h>

#include "lib/base/fail.h"

static int takes_none(const struct workload_config *workload, const struct device_config *device)
{
	char models[256];

	device_classes_text(device_class_takes_workload, ", ", models, sizeof(models));
	return failed(-EINVAL,
		      "workload %s: device %s is of model %s, which takes none; accepted: %s",
		      workload->name, device->name, device->class->name, models);
}

static int check_workloads(const struct machine_config *config)
{
	for (__u32 i = 0; i < config->workload_count; i++) {
		const struct workload_config *workload = &config->workloads[i];

		if (workload->device >= config->device_count)
			return failed(-EINVAL, "workload %s: no device %u in a machine of %u",
				      workload->name, workload->device, config->device_count);
		if (!device_class_takes_workload(config->devices[workload->device].class))
			return takes_none(workload, &config->devices[workload->device]);
		for (__u32 n = 0; n < i; n++)
			if (config->workloads[n].device == workload->device)
				return failed(-EINVAL,
					      "workload %s: device %s has workload %s; "
					      "accepted: one for each device",
					      workload->name,
					      config->devices[workload->device].name,
					      config->workloads[n].name);
	}
	return 0;
}

int machine_check(const struct machine_config *config)
{
	if (config->tenant_count < 1 || config->tenant_count > MACHINE_TENANTS_MAX)
		return failed(-EINVAL, "%u tenants: accepted: 1 to %d", config->tenant_count,
			      MACHINE_TENANTS_MAX);
	if (config->device_count < 1 || config->device_count > MACHINE_DEVICES_MAX)
		return failed(-EINVAL, "%u devices: accepted: 1 to %d", config->device_count,
			      MACHINE_DEVICES_MAX);
	if (config->reclaim_percent > 95)
		return failed(-EINVAL, "reclaim_percent=%u: accepted: 0 (off) to 95",
			      config->reclaim_percent);
	for (__u32 i = 0; i < config->device_count; i++) {
		if (config->devices[i].tenant >= config->tenant_count)
			return failed(-EINVAL, "device %s: no tenant %u in a machine of %u",
				      config->devices[i].name, config->devices[i].tenant,
				      config->tenant_count);
		if (!config->devices[i].class)
			return failed(-EINVAL, "device %s: of no model", config->devices[i].name);
	}
	return check_workloads(config);
}
