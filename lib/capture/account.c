// SPDX-License-Identifier: GPL-2.0
/* What a live capture tells of itself: its probes and the account of loss. */
#include <string.h>

#include "lib/capture/capture_private.h"

static bool probe_changed(const struct probe_info *before, const struct probe_info *now)
{
	return before->state != now->state || before->hits != now->hits ||
	       before->lost != now->lost || before->missed != now->missed ||
	       strcmp(before->reason, now->reason) != 0 || !before->name[0];
}

int capture_report_probes(struct capture *c, struct stream sink)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_info *info = probe_set_info(c->probes, i);
		int error;

		if (!probe_changed(&c->told[i], info))
			continue;
		c->told[i] = *info;
		error = sink.ops->probe ? sink.ops->probe(sink.self, info) : 0;
		if (error)
			return error;
	}
	return 0;
}

/* Of its path's page requests, those are told that begin with what was asked for. */
static bool reports_requests(const struct capture *c, int i)
{
	bool emulated = path_of(probe_row(i)) == PATH_EMULATED;
	__u16 first = emulated ? EVENT_FAULT_DETECT : EVENT_FAULT_ISR;

	return capture_kind_asked(&c->config, probe_row(i)->kind) ||
	       !(capture_kind_asked(&c->config, first) ||
		 capture_kind_asked(&c->config, first + 1));
}

/*
 * Of one stage. What its probes emitted beside it, such as first sights of devices, is no request: those
 * that are told are what came, and what is in rings yet may be all of them.
 */
static __u64 count_filtered_of(const struct capture *c, int kind, __u64 undrained)
{
	__u64 told = c->taken[kind - EVENT_FAULT_DETECT] + undrained, seen = 0, emitted = 0;

	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_info *info = probe_set_info(c->probes, i);

		if (probe_row(i)->kind != kind || !reports_requests(c, i))
			continue;
		seen += info->hits - info->lost;
		emitted += info->emitted;
	}
	told = told < emitted ? told : emitted;
	return c->dropped[kind - EVENT_FAULT_DETECT] + (seen > told ? seen - told : 0);
}

/* Page requests that were seen and not asked for: those of the stage that has most of them. */
static __u64 count_filtered(const struct capture *c, __u64 emitted)
{
	__u64 most = 0;

	if (!c->config.device_count && capture_all_kinds(&c->config))
		return 0;
	for (int kind = EVENT_FAULT_DETECT; kind <= EVENT_FAULT_HANDLER; kind++) {
		__u64 filtered = count_filtered_of(c, kind, emitted - c->loss.received);

		most = filtered > most ? filtered : most;
	}
	return most;
}

/* While programs run, what they have put into the rings since these were drained is in a later account. */
static __u64 taken(const struct capture *c, __u64 emitted)
{
	return c->attached ? c->loss.received : emitted;
}

/* A machine of another run directory tells nobody here of itself; those that are counted may be among them. */
static void count_strangers(const struct capture *c, struct loss_info *loss)
{
	__u64 strangers = device_table_strangers(c->devices);

	if (strangers > loss->machines_missed + loss->machines_unknown)
		loss->machines_unknown = strangers - loss->machines_missed;
}

int capture_account(struct capture *c, struct stream sink)
{
	struct probe_totals totals;
	int error = probe_set_count(c->probes, &totals);

	if (error)
		return error;
	c->loss.lost = totals.lost;
	c->loss.missed = totals.missed;
	c->loss.turned_away = totals.turned_away;
	c->loss.produced =
		taken(c, totals.emitted) + totals.lost + totals.missed + totals.turned_away;
	c->loss.late = merge_late(c->merge);
	c->loss.filtered = count_filtered(c, totals.emitted);
	machines_loss(c->machines, &c->loss);
	count_strangers(c, &c->loss);
	c->loss.state_failed = __atomic_load_n(&c->maps.state->state_failed, __ATOMIC_RELAXED);
	error = capture_report_probes(c, sink);
	if (!error && sink.ops->loss)
		error = sink.ops->loss(sink.self, &c->loss);
	return error;
}
