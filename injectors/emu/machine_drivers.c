// SPDX-License-Identifier: GPL-2.0
/* What a device's driver is told of the machine: its workload, and who it shares one with. */
#include "injectors/emu/machine_private.h"
#include "injectors/emu/vhost/vhost_driver.h"

const struct traffic_config *machine_traffic(const struct machine *machine, __u32 device)
{
	for (__u32 i = 0; i < machine->config.traffic_count; i++)
		if (machine->config.traffics[i].device == device)
			return &machine->config.traffics[i];
	return NULL;
}

/* Ranks are spread over two devices, whose drivers know each other. */
static void find_ranks(const struct machine *machine, __u32 index, struct driver_setup *setup)
{
	for (__u32 i = 0; i < machine->config.ranks_count; i++) {
		const struct ranks_config *ranks = &machine->config.ranks[i];

		if (ranks->device != index && ranks->peer != index)
			continue;
		setup->ranks = ranks;
		setup->peer = machine->devices[ranks->device == index ? ranks->peer : ranks->device]
				      .driver;
	}
}

/* Likewise the two ends of a load. */
static void find_verbs(const struct machine *machine, __u32 index, struct driver_setup *setup)
{
	for (__u32 i = 0; i < machine->config.verbs_count; i++) {
		const struct verbs_load_config *verbs = &machine->config.verbs[i];

		if (verbs->device != index && verbs->peer != index)
			continue;
		setup->verbs = verbs;
		setup->peer = machine->devices[verbs->device == index ? verbs->peer : verbs->device]
				      .driver;
	}
}

static const struct device_driver *driver_for(const struct machine *machine,
					      const struct driver_setup *setup)
{
	const struct device_class *class = setup->device->class;

	if (machine->tenants[setup->device->tenant].config.backend == MEMORY_VM)
		return class->vm_driver ? class->vm_driver : &vhost_driver;
	return class->choose_driver ? class->choose_driver(setup) : class->driver;
}

int machine_build_driver(struct machine *machine, __u32 index)
{
	struct machine_device *device = &machine->devices[index];
	struct driver_setup setup = {
		.machine = machine,
		.index = index,
		.device = &device->config,
		.model = device->model,
		.channel = device->channel,
		.memory = machine->tenants[device->config.tenant].memory,
	};

	for (__u32 i = 0; i < machine->config.workload_count; i++)
		if (machine->config.workloads[i].device == index)
			setup.workload = &machine->config.workloads[i];
	setup.traffic = machine_traffic(machine, index);
	find_ranks(machine, index, &setup);
	find_verbs(machine, index, &setup);
	device->driver_ops = driver_for(machine, &setup);
	return driver_of(device)->create(&device->driver, &setup);
}
