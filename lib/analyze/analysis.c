// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/footprint.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/session.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/stage_window.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/vfio.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct bundle {
	struct analysis parts; /* first: what callers hold */
	struct stream_fan fan;
	struct stream_fan within; /* who takes each event for itself */
	struct period_filter filter;
};

static int create_parts(struct analysis *a, const struct analysis_config *c)
{
	const struct faults_config faults = {.open_max = c->open_faults, .period = c->period};
	const struct footprint_config footprint = {c->history_windows, c->simulated_fault_ns,
						   c->period};
	int error = session_create(&a->session);

	if (!error)
		session_set_period(a->session, &c->period);

	error = error ? error : faults_create(&a->faults, &faults);
	error = error ? error : silent_create(&a->silent, a->session, a->faults);
	error = error ? error : invalidations_create(&a->invalidations, &c->period);
	error = error ? error : stages_create(&a->stages, a->faults);
	error = error ? error : queues_create(&a->queues, a->session, a->faults);
	error = error ? error : rates_create(&a->rates, a->faults, c->burst_faults);
	error = error ? error : counts_create(&a->counts, a->faults, c->history_windows);
	error = error ? error : recent_create(&a->recent, a->faults, c->last_faults);
	error = error ? error : ios_create(&a->ios);
	error = error ? error : vfio_create(&a->vfio, c->windowed, &c->period);
	error = error ? error : odp_create(&a->odp, a->session, a->faults, c->windowed);
	error = error ? error : iommu_faults_create(&a->iommu_faults, a->session);
	error = error ? error : mappings_create(&a->mappings, a->session);
	if (!error && c->windowed)
		error = stage_window_create(&a->stage_window, a->faults);
	if (!error && !c->without_footprint)
		error = footprint_create(&a->footprint, &footprint);
	if (!error && c->slos)
		error = slo_create(&a->slo, c->slos, a->faults, &c->period);
	return error;
}

static int connect_within(struct bundle *b, const struct period *period)
{
	struct analysis *a = &b->parts;
	int error = stream_fan_add(&b->within, session_stream(a->session));

	error = error ? error : stream_fan_add(&b->within, counts_stream(a->counts));
	error = error ? error : stream_fan_add(&b->within, ios_stream(a->ios));
	b->filter = (struct period_filter){*period, stream_fan(&b->within)};
	return error ? error : stream_fan_add(&b->fan, period_stream(&b->filter));
}

/* The session first: others' tables name devices. The faults before who judges with them. */
static int connect_all(struct bundle *b, const struct period *period)
{
	struct analysis *a = &b->parts;
	struct stream_fan *fan = &b->fan;
	int error = connect_within(b, period);

	error = error ? error : stream_fan_add(fan, faults_stream(a->faults));
	error = error ? error : stream_fan_add(fan, queues_stream(a->queues));
	error = error ? error : stream_fan_add(fan, silent_stream(a->silent));
	error = error ? error : stream_fan_add(fan, invalidations_stream(a->invalidations));
	error = error ? error : stream_fan_add(fan, vfio_stream(a->vfio));
	error = error ? error : stream_fan_add(fan, odp_stream(a->odp));
	error = error ? error : stream_fan_add(fan, iommu_faults_stream(a->iommu_faults));
	error = error ? error : stream_fan_add(fan, mappings_stream(a->mappings));
	if (!error && a->footprint)
		error = stream_fan_add(fan, footprint_stream(a->footprint));
	if (!error && a->slo)
		error = stream_fan_add(fan, slo_stream(a->slo));
	return error;
}

int analysis_create(struct analysis **analysis, const struct analysis_config *config)
{
	static const struct analysis_config defaults;
	struct bundle *b = memory_calloc(1, sizeof(*b));
	int error;

	*analysis = NULL;
	if (!b)
		return failed(-ENOMEM, "no memory for an analysis");
	if (!config)
		config = &defaults;
	b->fan.stops = true;
	error = create_parts(&b->parts, config);
	if (!error)
		error = connect_all(b, &config->period);
	if (error) {
		analysis_destroy(&b->parts);
		return error;
	}
	*analysis = &b->parts;
	return 0;
}

struct stream analysis_stream(struct analysis *analysis)
{
	return stream_fan(&((struct bundle *)analysis)->fan);
}

void analysis_destroy(struct analysis *a)
{
	if (!a)
		return;
	vfio_destroy(a->vfio);
	slo_destroy(a->slo);
	footprint_destroy(a->footprint);
	odp_destroy(a->odp);
	mappings_destroy(a->mappings);
	iommu_faults_destroy(a->iommu_faults);
	ios_destroy(a->ios);
	recent_destroy(a->recent);
	counts_destroy(a->counts);
	rates_destroy(a->rates);
	queues_destroy(a->queues);
	stage_window_destroy(a->stage_window);
	stages_destroy(a->stages);
	invalidations_destroy(a->invalidations);
	silent_destroy(a->silent);
	faults_destroy(a->faults);
	session_destroy(a->session);
	memory_free(a);
}
