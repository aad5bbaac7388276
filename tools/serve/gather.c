// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/gather.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/analyze/footprint.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/live.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queue_pairs.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/rings.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/stalls.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/vfio.h"

/* One pass over the devices. */
struct gathering {
	struct ledger *ledger;
	const struct analysis *analysis;
	const struct tally *tally;
};

static void gather_faults(const struct gathering *g, __u32 device, struct device_counts *counts)
{
	struct recent_counts recent = recent_counts(g->analysis->recent, device);
	const struct stage_group *group = stages_of_device(g->analysis->stages, device);
	const struct tally_device *tally = tally_device(g->tally, device);

	counts->began += recent.began;
	counts->overflowed += recent.overflowed;
	counts->discarded += recent.discarded;
	counts->abandoned += recent.abandoned;
	counts->unfinished += recent.unfinished;
	counts->bursts += rates_device(g->analysis->rates, device).bursts;
	counts->unrecoverable += iommu_faults_of_device(g->analysis->iommu_faults, device);
	for (unsigned int i = 0; tally && i < EFFORTS; i++)
		counts->over[i] += tally->over[i];
	for (unsigned int i = 0; tally && i < ANSWERS; i++)
		counts->answers[i] += tally->answers[i];
	if (!group)
		return;
	bounded_add(&counts->latency, &group->total);
	for (unsigned int s = 0; s < STAGES; s++)
		bounded_add(&counts->stages[s], &group->stages[s]);
}

static void gather_memory(const struct gathering *g, __u32 device, struct device_counts *counts)
{
	const struct invalidation_totals *invalidations =
		invalidations_of(g->analysis->invalidations, device);
	const struct odp_totals *odp = odp_of_device(g->analysis->odp, device);

	if (invalidations) {
		counts->invalidations += invalidations->counts.began;
		bounded_add(&counts->invalidation, &invalidations->total);
	}
	if (odp) {
		counts->odp_faults += odp->faults;
		counts->odp_pages += odp->pages;
	}
}

static void gather_io(const struct gathering *g, __u32 device, struct device_counts *counts)
{
	struct io_totals ios = ios_of_device(g->analysis, device);
	const struct ring_totals *rings = rings_of_device(g->analysis->rings, device);
	struct stall_device_totals stalls = stalls_of_device(g->analysis->stalls, device);

	counts->ios += ios.count;
	counts->io_bytes += ios.bytes;
	counts->ios_faulted += ios.faulted;
	counts->stalls += stalls.stalls;
	counts->stall_ns += stalls.ns;
	if (!rings)
		return;
	for (unsigned int side = RING_RX; side <= RING_TX; side++)
		counts->frames[side] += rings_frames_of_side(g->analysis->rings, device, side);
	for (unsigned int i = 0; i < LOSS_REASONS; i++)
		counts->lost[i] += rings->lost[i];
}

static void gather_now(const struct gathering *g, const struct device_info *info,
		       struct device_now *now)
{
	const struct analysis *a = g->analysis;
	struct recent_counts recent = recent_counts(a->recent, info->handle);
	__u64 peak = rates_device(a->rates, info->handle).peak;

	now->kind = info->kind;
	now->unknown =
		(now->there ? now->unknown : ~0u) & unknown_numbers(a->session, info->handle);
	now->there = true;
	now->may_fault |= info->kind == DEVICE_EMULATED || recent.began;
	now->nic |= rings_of_device(a->rings, info->handle) != NULL;
	now->rdma |= odp_of_device(a->odp, info->handle) != NULL;
	now->open += recent.open;
	now->peak = peak > now->peak ? peak : now->peak;
	if (a->footprint)
		now->footprint_bytes += footprint_device(a->footprint, info->handle).bytes;
	now->memory_bytes += info->memory;
}

static void count_port(const struct gathering *g, const char *name, unsigned int port,
		       const struct port_counts *counts)
{
	char number[16];
	struct ledger_row *row;

	snprintf(number, sizeof(number), "%u", port);
	row = ledger_row(g->ledger, LEDGER_PORT, name, number);
	for (unsigned int i = 0; row && i < RDMA_COUNTERS; i++)
		LEDGER_NOW(row, port_counts)->counters[i] += counts->counters[i];
}

static void gather_ports(const struct gathering *g, const struct ledger_row *device, __u32 handle)
{
	const struct tally_device *tally = tally_device(g->tally, handle);
	const struct port_counts none = {0};

	for (unsigned int port = 0; tally && tally->ports && port < TALLY_PORTS; port++)
		if (memcmp(&tally->ports[port], &none, sizeof(none)) != 0)
			count_port(g, device->name, port, &tally->ports[port]);
}

/* Of an emulated RDMA device, which has one port. */
static void gather_pairs(const struct gathering *g, const struct device_info *info,
			 struct ledger_row *row)
{
	struct pair_totals pairs;
	struct port_counts counts = {0};

	if (!queue_pairs_count(g->analysis->queue_pairs))
		return;
	pairs = queue_pairs_of_device(g->analysis->queue_pairs, info->handle);
	LEDGER_NOW(row, device_counts)->packets_resent += pairs.resent;
	row->is.device.rdma |= pairs.operations || pairs.resent;
	counts.counters[RDMA_RNR_SENT] = pairs.rnr_sent;
	counts.counters[RDMA_RNR_RECEIVED] = pairs.rnr_received;
	if (pairs.operations)
		count_port(g, row->name, 1, &counts);
}

static void gather_container(const struct gathering *g, const struct device_info *info)
{
	const struct vfio_container *vfio = vfio_container(g->analysis->vfio, info->handle);
	struct ledger_row *row;
	struct container_now *now;

	if (!vfio)
		return;
	row = ledger_row(g->ledger, LEDGER_CONTAINER, info->name, "");
	if (!row)
		return;
	now = &row->is.container;
	LEDGER_NOW(row, container_counts)->failures += vfio->failed;
	now->pinned_bytes += vfio->limits[LIMIT_MEMLOCK].seen ? vfio->limits[LIMIT_MEMLOCK].used
							      : vfio->pinned - vfio->unpinned;
	now->mappings += vfio->limits[LIMIT_DMA_ENTRIES].seen
				 ? vfio->limits[LIMIT_DMA_ENTRIES].used
				 : vfio->maps - vfio->unmaps - vfio->closed;
	/* Who may exceed it has none. */
	now->limit_bytes = vfio->limits[LIMIT_MEMLOCK].seen && !vfio->limits[LIMIT_MEMLOCK].exempt
				   ? vfio->limits[LIMIT_MEMLOCK].limit
				   : UINT64_MAX;
	now->mappings_limit = vfio->limits[LIMIT_DMA_ENTRIES].seen
				      ? vfio->limits[LIMIT_DMA_ENTRIES].limit
				      : UINT64_MAX;
	now->there = true;
}

static void gather_device(const struct gathering *g, const struct device_info *info)
{
	struct ledger_row *row;

	if (info->kind == DEVICE_VFIO_CONTAINER) {
		gather_container(g, info);
		return;
	}
	row = ledger_row(g->ledger, LEDGER_DEVICE, info->name, "");
	if (!row)
		return;
	gather_now(g, info, &row->is.device);
	gather_faults(g, info->handle, LEDGER_NOW(row, device_counts));
	gather_memory(g, info->handle, LEDGER_NOW(row, device_counts));
	gather_io(g, info->handle, LEDGER_NOW(row, device_counts));
	gather_ports(g, row, info->handle);
	gather_pairs(g, info, row);
}

static const char *name_of(const struct gathering *g, __u32 device)
{
	const struct device_info *info = session_device(g->analysis->session, device);

	return info ? info->name : LEDGER_OTHER;
}

static void gather_blocked(void *argument, __u32 device, __u64 blocked_ns)
{
	const struct gathering *g = argument;
	struct ledger_row *row = ledger_row(g->ledger, LEDGER_DEVICE, name_of(g, device), "");

	if (row)
		LEDGER_NOW(row, device_counts)->blocked_ns += blocked_ns;
}

static void gather_objective(void *argument, const struct slo_judgement *judgement)
{
	const struct gathering *g = argument;
	const char *device = ledger_device(g->ledger, name_of(g, judgement->device));
	struct ledger_row *row =
		ledger_row(g->ledger, LEDGER_OBJECTIVE, judgement->objective->name, device);

	if (!row)
		return;
	LEDGER_NOW(row, objective_counts)->windows += judgement->windows;
	LEDGER_NOW(row, objective_counts)->violations += judgement->violations;
}

static enum probe_condition condition_of(const struct session *session, size_t index,
					 bool was_attached)
{
	switch (session_probe(session, index)->state) {
	case PROBE_ON:
		return session_probe_is_silent(session, index) ? PROBE_IS_SILENT
							       : PROBE_IS_ATTACHED;
	case PROBE_DISABLED:
		return PROBE_IS_DISABLED;
	default:
		return was_attached ? PROBE_IS_LOST : PROBE_IS_OFF;
	}
}

/* Several of one name, such as those of several programs: what is best of them. */
static void gather_probe(const struct gathering *g, size_t index)
{
	const struct session *session = g->analysis->session;
	const struct probe_info *info = session_probe(session, index);
	struct ledger_row *row = ledger_row(g->ledger, LEDGER_PROBE, info->name, "");
	enum probe_condition condition;
	struct probe_now *now;

	if (!row)
		return;
	now = &row->is.probe;
	condition = condition_of(session, index, now->was_attached);
	now->condition = now->there && now->condition < condition ? now->condition : condition;
	now->there = true;
	LEDGER_NOW(row, probe_counts)->hits += info->hits;
	LEDGER_NOW(row, probe_counts)->lost += info->lost;
}

static void gather_probes(const struct gathering *g)
{
	for (size_t i = 0; i < session_probe_count(g->analysis->session); i++)
		gather_probe(g, i);
	for (struct ledger_row *row = g->ledger->first[LEDGER_PROBE]; row; row = row->next)
		row->is.probe.was_attached |=
			row->is.probe.there && row->is.probe.condition <= PROBE_IS_SILENT;
}

static void gather_host(const struct gathering *g, const struct gather_self *self)
{
	const struct loss_info *loss = session_loss(g->analysis->session);
	struct ledger_row *row = ledger_row(g->ledger, LEDGER_HOST, "", "");
	struct iommu_faults_counts unrecoverable;
	struct host_counts *counts;

	if (!row)
		return;
	counts = LEDGER_NOW(row, host_counts);
	iommu_faults_counts(g->analysis->iommu_faults, &unrecoverable);
	counts->events = session_events(g->analysis->session);
	counts->lost[LOST_RING] = loss->lost;
	counts->lost[LOST_RECURSION] = loss->missed;
	counts->lost[LOST_ACCESS_LOG] = loss->access_lost;
	counts->lost[LOST_MACHINES] = loss->access_missed;
	counts->lost[LOST_DISK] = loss->unwritten_events;
	counts->unseen = unrecoverable.unseen;
	counts->scrapes = self->scrapes;
	counts->textfile_failures = self->textfile_failures;
}

void gather_counts(struct ledger *ledger, const struct analysis *analysis,
		   const struct tally *tally, const struct gather_self *self)
{
	struct gathering g = {ledger, analysis, tally};
	__u32 h = 0;

	ledger_begin(ledger);
	while ((h = session_device_next(analysis->session, h)) < SESSION_DEVICES) {
		const struct device_info *info = session_device(analysis->session, h);

		if (info)
			gather_device(&g, info);
	}
	queues_each(analysis->queues, session_last_ns(analysis->session), gather_blocked, &g);
	if (analysis->slo)
		slo_each(analysis->slo, gather_objective, &g);
	gather_probes(&g);
	gather_host(&g, self);
	ledger_end(ledger);
}
