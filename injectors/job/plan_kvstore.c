// SPDX-License-Identifier: GPL-2.0
/* Stores of a plan, and memory_limit: whether they fit their NICs' memory, and this host. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "injectors/job/plan_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

/* Rings and buffers of its NIC come first in the NIC's share; items are at its end. */
static int check_room(const struct plan_builder *b, const struct job_kvstore *store,
		      const struct device_config *device)
{
	__u64 share = b->plan->machine.tenants[device->tenant].memory /
			      b->tenant_devices[device->tenant] &
		      ~(PAGE_BYTES - 1);
	__u64 bytes = store->config.items * store->config.item_bytes + PAGE_BYTES;
	struct device_check check = {.where = store->where, .device = device};

	check.bytes = share > bytes ? share - bytes : 0;
	if (check.bytes && !device->class->check(&check))
		return 0;
	return failed(
		-EBADMSG,
		"%s: [kvstore %s] %llu items of %u bytes take %llu KiB; the share of %s of its "
		"tenant's memory is %llu KiB, with its rings and buffers; accepted: more memory, "
		"fewer or smaller items, or a smaller queue_depth",
		store->where, store->name, store->config.items, store->config.item_bytes,
		bytes >> 10, device->name, share >> 10);
}

static int plan_add_kvstore(struct plan_builder *b, const struct job_kvstore *store, __u32 device)
{
	struct machine_config *machine = &b->plan->machine;
	const struct device_config *on = &machine->devices[device];
	__u32 index = machine->kvstore_count;
	char models[256], full[PLAN_DEVICE_NAME];
	struct kvstore_config *config;
	int err;

	plan_device_name(b, device, full, sizeof(full));
	if (!plan_networked(on))
		return failed(
			-EBADMSG,
			"%s: [kvstore %s] device=%s: %s has no network; accepted: devices with "
			"model=%s%s%s",
			store->where, store->name, store->device, full,
			device_classes_text(device_class_has_network, " or ", models,
					    sizeof(models)),
			on->class->with_network ? " and " : "",
			on->class->with_network ? on->class->with_network : "");
	for (__u32 i = 0; i < index; i++)
		if (machine->kvstores[i].device == device)
			return failed(
				-EBADMSG,
				"%s: [kvstore %s] and [kvstore %s] both are for %s; accepted: one "
				"store a device",
				store->where, store->name, machine->kvstores[i].name, full);
	err = check_room(b, store, on);
	if (err)
		return err;
	if (!array_grow(&machine->kvstores, &b->kvstore_room, index + 1, sizeof(*config),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %u stores", index + 1);
	config = &machine->kvstores[index];
	*config = store->config;
	snprintf(config->name, sizeof(config->name), "%s", store->name);
	config->device = device;
	if (config->opposite && index % 2) {
		config->working_set = store->config.shift_to;
		config->shift_to = store->config.working_set;
	}
	if (!config->seed)
		config->seed = machine->seed * 3000017 + index + 1;
	machine->kvstore_count++;
	return 0;
}

int plan_kvstore(struct plan_builder *b, const struct job_kvstore *store)
{
	bool matched = false;
	int err = 0;

	for (__u32 d = 0; !err && d < b->plan->machine.device_count; d++) {
		if (!plan_device_fits(b, store->device, d))
			continue;
		matched = true;
		err = plan_add_kvstore(b, store, d);
	}
	return err || matched ? err : plan_no_device(b, store->where, store->device);
}

int plan_check_limit(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;
	__u64 host = (__u64)sysconf(_SC_PHYS_PAGES) * PAGE_BYTES;

	if (!machine->memory_limit)
		return 0;
	if (machine->reclaim_percent)
		return failed(
			-EBADMSG,
			"%s: [machine] memory_limit= and reclaim_percent= are two ways to keep "
			"memory out; accepted: one of them",
			b->job->machine.where);
	if (machine->memory_limit > host / 10 * 9)
		return failed(-EBADMSG,
			      "%s: [machine] memory_limit=%llu MiB; accepted: at most 90%% of this "
			      "host's %llu MiB",
			      b->job->machine.where, machine->memory_limit >> 20, host >> 20);
	return 0;
}
