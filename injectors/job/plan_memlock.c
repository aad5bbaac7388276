// SPDX-License-Identifier: GPL-2.0
/* What devices pin before anything runs, and what their tenants' memlock allows. */
#include <errno.h>

#include "injectors/job/plan_private.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

/* Bytes that the tenant's devices pin; *last is one of them. */
static __u64 tenant_pins(const struct plan_builder *b, __u32 tenant, __u32 *last)
{
	const struct machine_config *machine = &b->plan->machine;
	__u64 sum = 0;

	for (__u32 d = 0; d < machine->device_count; d++) {
		const struct device_config *device = &machine->devices[d];
		__u64 bytes = 0;

		if (device->tenant == tenant && device->class->pins)
			bytes = device->class->pins(device, plan_device_share(b, device));
		if (device->tenant == tenant)
			bytes += plan_ranks_pins(b, d) + plan_verbs_pins(b, d);
		/* Whole pages are pinned. */
		sum += whole_pages(bytes);
		if (bytes)
			*last = d;
	}
	return sum;
}

int plan_check_memlock(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;
	char full[PLAN_DEVICE_NAME], text[UNITS_TEXT];
	__u32 last = 0;

	for (__u32 t = 0; t < machine->tenant_count; t++) {
		__u64 memlock = machine->tenants[t].memlock;
		__u64 pins = memlock ? tenant_pins(b, t, &last) : 0;

		if (pins > memlock)
			return failed(
				-EBADMSG,
				"%s: memlock=%s of tenant %s: its devices pin %llu KiB as they "
				"start, %s among them; accepted: at least as much, 0 (no limit), or "
				"devices that do not pin",
				job_where(b->job, b->tenant_origins[t].where, "memlock"),
				units_format_size(memlock, text), machine->tenants[t].name,
				pins >> 10, plan_device_name(b, last, full, sizeof(full)));
	}
	return 0;
}
