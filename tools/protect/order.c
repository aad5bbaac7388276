// SPDX-License-Identifier: GPL-2.0
/* Names and order of what a recording's accesses are of, which are known at its end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "tools/protect/study.h"

static void name_units(struct study_recording *recording)
{
	char text[DEVICE_NAME_TEXT];

	for (size_t t = 0; t < recording->tenant_count; t++) {
		struct study_tenant *tenant = recording->tenants[t];

		/* What tells devices of one name apart is known only now. */
		if (tenant->device)
			snprintf(tenant->name, sizeof(tenant->name), "%s",
				 session_device_name(recording->session, tenant->device, text));
		for (size_t i = 0; i < tenant->unit_count; i++) {
			struct study_unit *unit = &tenant->units[i];
			const char *name =
				session_device_name(recording->session, unit->device, text);

			if (unit->pasid == PASID_NONE)
				snprintf(unit->name, sizeof(unit->name), "%s", name);
			else
				snprintf(unit->name, sizeof(unit->name), "%s@%u", name,
					 unit->pasid);
		}
	}
}

static int unit_order(const void *one, const void *other)
{
	const struct study_unit *a = one, *b = other;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->pasid < b->pasid ? -1 : a->pasid > b->pasid;
}

/* As their devices and PASIDs are numbered, not as they happened to be met. */
static int order_units(struct study_tenant *tenant)
{
	__u32 *places = memory_calloc(tenant->unit_count + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < tenant->unit_count; i++)
		tenant->units[i].met = (__u32)i;
	qsort(tenant->units, tenant->unit_count, sizeof(*tenant->units), unit_order);
	for (size_t i = 0; i < tenant->unit_count; i++)
		places[tenant->units[i].met] = (__u32)i;
	for (size_t i = 0; i < tenant->count; i++)
		tenant->accesses[i].unit = places[tenant->accesses[i].unit];
	memory_free(places);
	return 0;
}

static int tenant_order(const void *one, const void *other)
{
	const struct study_tenant *const *a = one, *const *b = other;

	return unit_order((*a)->units, (*b)->units);
}

int study_order(struct study_recording *recording)
{
	int err = 0;

	name_units(recording);
	for (size_t i = 0; !err && i < recording->tenant_count; i++)
		err = order_units(recording->tenants[i]);
	/* One without a unit found no memory for it. */
	for (size_t i = 0; i < recording->tenant_count; i++)
		if (!recording->tenants[i]->unit_count)
			return failed(-ENOMEM, "%s: no memory for its devices", recording->path);
	if (!err && recording->tenant_count)
		qsort(recording->tenants, recording->tenant_count, sizeof(struct study_tenant *),
		      tenant_order);
	return err ? failed(err, "%s: no memory for its devices", recording->path) : 0;
}
