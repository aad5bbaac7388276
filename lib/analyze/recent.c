// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/recent.h"

#include <errno.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/slots.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define KEEP_DEFAULT 64

struct device_recent {
	struct recent_counts counts; /* of what was handed over; `open` is not kept */
	__u64 over, given_up;	     /* not handed over; of these: given up by the device */
	struct fault faults[];	     /* modulo keep */
};

struct recent {
	size_t keep;
	struct slots devices; /* struct device_recent * */
};

static struct device_recent *recent_make(struct recent *r, __u32 device)
{
	struct device_recent **slot = slots_make(&r->devices, device);

	if (slot && !*slot)
		*slot = memory_calloc(1, sizeof(**slot) + r->keep * sizeof((*slot)->faults[0]));
	return slot ? *slot : NULL;
}

static const struct device_recent *recent_find(const struct recent *r, __u32 device)
{
	struct device_recent *const *slot = slots_find(&r->devices, device);

	return slot ? *slot : NULL;
}

static void recent_on_began(void *self, const struct fault *fault)
{
	struct device_recent *d = recent_make(self, fault->device);

	if (d)
		d->counts.began++;
}

static void recent_on_over(void *self, const struct fault *fault)
{
	struct device_recent *d = recent_make(self, fault->device);

	if (!d)
		return;
	d->over++;
	d->given_up += (fault->told_over & FAULT_TOLD_ABANDONED) != 0;
}

static void recent_on_finished(void *self, const struct fault *fault)
{
	struct recent *r = self;
	struct device_recent *d = recent_make(r, fault->device);

	if (!d)
		return;
	d->faults[d->counts.finished++ % r->keep] = *fault;
	d->over -= fault->told_over != 0;
	d->given_up -= (fault->told_over & FAULT_TOLD_ABANDONED) != 0;
	switch (fault->state) {
	case FAULT_COMPLETE:
		d->counts.complete++;
		break;
	case FAULT_UNFINISHED:
		d->counts.unfinished++;
		break;
	case FAULT_INCONSISTENT:
		d->counts.inconsistent++;
		break;
	case FAULT_DISCARDED:
		d->counts.discarded++;
		break;
	case FAULT_ABANDONED:
		d->counts.abandoned++;
		break;
	default:
		d->counts.overflowed++;
	}
}

int recent_create(struct recent **recent, struct faults *faults, size_t keep)
{
	struct recent *r = memory_calloc(1, sizeof(*r));

	*recent = r;
	if (!r)
		return failed(-ENOMEM, "no memory for the newest faults");
	r->keep = keep ? keep : KEEP_DEFAULT;
	slots_init(&r->devices, sizeof(struct device_recent *));
	return faults_subscribe(faults, (struct fault_sink){.began = recent_on_began,
							    .finished = recent_on_finished,
							    .over = recent_on_over,
							    .self = r});
}

void recent_destroy(struct recent *r)
{
	if (!r)
		return;
	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h)) {
		struct device_recent **slot = slots_find(&r->devices, h);

		if (slot)
			memory_free(*slot);
	}
	slots_free(&r->devices);
	memory_free(r);
}

size_t recent_faults(const struct recent *r, __u32 device, struct fault *faults, size_t max)
{
	const struct device_recent *d = recent_find(r, device);
	size_t filled = 0;

	while (d && filled < max && filled < r->keep && filled < d->counts.finished) {
		faults[filled] = d->faults[(d->counts.finished - 1 - filled) % r->keep];
		filled++;
	}
	return filled;
}

struct recent_counts recent_counts(const struct recent *r, __u32 device)
{
	const struct device_recent *d = recent_find(r, device);
	struct recent_counts counts;

	if (!d)
		return (struct recent_counts){0};
	counts = d->counts;
	counts.abandoned += d->given_up;
	counts.open = counts.began - counts.finished - d->over;
	return counts;
}

static void recent_live(const struct analysis *a, struct live_device *row)
{
	struct recent_counts counts = recent_counts(a->recent, row->handle);

	row->faults = counts.began;
	row->complete = counts.complete;
	row->open = counts.open;
	row->unfinished = counts.unfinished;
	row->inconsistent = counts.inconsistent;
	row->overflowed = counts.overflowed;
	row->discarded = counts.discarded;
	row->abandoned = counts.abandoned;
}

static int create_recent(struct analysis *a, const struct analysis_config *config)
{
	return recent_create(&a->recent, a->faults, config->last_faults);
}

DEFINE_ANALYZER_OF_FAULTS(recent, .device = recent_live)
