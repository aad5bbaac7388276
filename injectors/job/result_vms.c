// SPDX-License-Identifier: GPL-2.0
/* What virtual machines have come to: what their guests tell, and what the machine has counted of them. */
#include "injectors/job/result_private.h"

/* Without a workload the devices' own account is what there is. */
static void fill_ios(struct result *result, const struct machine_totals *totals, double seconds)
{
	double *v = result->values;

	v[RESULT_SECONDS] = seconds;
	v[RESULT_IOS] = (double)totals->ios;
	v[RESULT_ERRORS] = (double)totals->io_errors;
	result_fill_latency(result, &totals->vm_latencies);
	if (!(seconds > 0))
		return;
	v[RESULT_IOPS] = (double)totals->ios / seconds;
	v[RESULT_BYTES_PER_S] = (double)totals->io_bytes / seconds;
	v[RESULT_BLOCKED] = (double)totals->vm_open_ns / (seconds * 1e9 * totals->vm_queues);
}

void result_fill_vms(struct result *result, const struct result_input *input,
		     const struct machine_totals *totals)
{
	double *v = result->values;
	struct vms_outcome outcome;

	if (!input->vms)
		return;
	vms_outcome(input->vms, &outcome);
	if (!input->config->workload_count)
		fill_ios(result, totals, outcome.seconds);
	v[RESULT_VMS_ENDED] = outcome.ended;
	v[RESULT_GUEST_PANICS] = outcome.panicked;
	v[RESULT_GUESTS_SOUND] = outcome.sound;
	v[RESULT_CPU_FAULTS] = (double)totals->memory.view_faults;
	v[RESULT_EVICTIONS] = (double)(totals->memory.evicted_minor + totals->memory.evicted_major);
	v[RESULT_GIVEN_BACK] = (double)totals->memory.discarded;
	v[RESULT_PLUGGED] = (double)outcome.plugged;
	v[RESULT_BALLOONED] = (double)input->injected.ballooned;
	v[RESULT_SUSPENSIONS] = (double)input->injected.suspensions;
	v[RESULT_BYPASSED] = (double)totals->memory.bypassed;
	v[RESULT_PARKED] = (double)totals->vhost.parked;
	v[RESULT_CONNECTIONS] = (double)totals->vhost.connections;
	v[RESULT_RESUBMITTED] = (double)totals->vhost.resubmitted;
	v[RESULT_BROKEN_QUEUES] = (double)totals->vhost.broken;
	v[RESULT_REFUSED_MESSAGES] = (double)totals->vhost.refused;
	v[RESULT_VIOMMU_MISSES] = (double)totals->vhost.untranslated;
	v[RESULT_VIOMMU_UNMAPPED] = (double)totals->vhost.unmapped;
	v[RESULT_VIOMMU_INVALIDATIONS] = (double)totals->vhost.taken_back;
	v[RESULT_VIOMMU_DROPPED] = (double)totals->vhost.dropped;
	v[RESULT_OUT] = (double)totals->memory.out;
	for (int key = 0; key < GUEST_KEYS; key++)
		v[RESULT_GUEST + key] = outcome.values[key];
}
