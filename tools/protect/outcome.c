// SPDX-License-Identifier: GPL-2.0
/* What the domains of a point come to together. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/fail.h"
#include "tools/protect/study.h"

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

void study_rates(struct study_total *rates, const struct study_domain *d)
{
	const double memory = (double)d->memory_pages, none = (double)d->faults_none;

	rates->footprint = percent_of((double)d->counts.pages, memory);
	/* Pins of one domain may move reclaim to another: then it is below 0. */
	rates->avoided = percent_of(none - (double)d->counts.faults, none);
	rates->oracle =
		d->oracle_avoided == CELL_NONE ? NAN : percent_of((double)d->oracle_avoided, none);
	rates->pinned_mean = percent_of(d->counts.pinned_mean, memory);
	rates->pinned_max = percent_of((double)d->counts.policy.pinned_max, memory);
	rates->rpr = rates->pinned_mean > 0 ? rates->avoided / rates->pinned_mean : NAN;
}

static void add_counts(struct what_if_counts *sum, const struct what_if_counts *counts)
{
	sum->accesses += counts->accesses;
	sum->pages += counts->pages;
	sum->pages_told += counts->pages_told;
	sum->first_accesses += counts->first_accesses;
	sum->first_pinned += counts->first_pinned;
	sum->faults += counts->faults;
	sum->avoided += counts->avoided;
	sum->brought += counts->brought;
	sum->pinned_mean += counts->pinned_mean;
	sum->pinned_time += counts->pinned_time;
	sum->policy.pins += counts->policy.pins;
	sum->policy.unpins += counts->policy.unpins;
	sum->policy.useless += counts->policy.useless;
	sum->policy.untracked += counts->policy.untracked;
}

static int add_domain(struct study_total *total, const struct study_domain *domain)
{
	struct study_total own = {0};

	study_rates(&own, domain);
	total->pinned_max = fmax(total->pinned_max, own.pinned_max);
	total->domains++;
	add_counts(&total->sum.counts, &domain->counts);
	total->sum.faults_none += domain->faults_none;
	for (size_t c = 0; c < STUDY_CLASSES; c++) {
		total->sum.classes[c].pages += domain->classes[c].pages;
		total->sum.classes[c].faults_none += domain->classes[c].faults_none;
		total->sum.classes[c].faults += domain->classes[c].faults;
	}
	return pin_oracle_join(&total->sum.oracle, &domain->oracle);
}

int study_total(struct study_total *total, const struct study *study, size_t point)
{
	const bool interval = study->configs[point].rule == WHAT_IF_INTERVAL;
	double pinned_max;
	unsigned __int128 taken;
	int err = 0;

	*total = (struct study_total){.pinned_max = NAN};
	snprintf(total->sum.name, sizeof(total->sum.name), "total");
	for (size_t t = 0; t < study->tenant_count; t++) {
		const struct study_outcome *o = &study->outcomes[point * study->tenant_count + t];

		total->sum.memory_pages += o->memory_pages;
		for (size_t d = 0; !err && d < o->domain_count; d++)
			if (o->domains[d].counts.accesses)
				err = add_domain(total, &o->domains[d]);
	}
	pinned_max = total->pinned_max;
	total->sum.oracle_avoided = CELL_NONE;
	if (!err && interval)
		total->sum.oracle_avoided = pin_oracle_avoided(
			&total->sum.oracle, total->sum.counts.pinned_time, &taken);
	pin_oracle_free(&total->sum.oracle);
	study_rates(total, &total->sum);
	total->pinned_max = pinned_max;
	return err;
}

void study_values(double *values, const struct study_total *t)
{
	const struct what_if_counts *counts = &t->sum.counts;
	const struct study_class *classes = t->sum.classes;
	const double below_50 = (double)(classes[0].faults_none + classes[1].faults_none);

	values[STUDY_DOMAINS] = (double)t->domains;
	values[STUDY_ACCESSES] = (double)counts->accesses;
	values[STUDY_PAGES] = (double)counts->pages;
	values[STUDY_PAGES_TOLD] = (double)counts->pages_told;
	values[STUDY_FOOTPRINT] = t->footprint;
	values[STUDY_FIRST_PINNED] = (double)counts->first_pinned;
	values[STUDY_FAULTS_NONE] = (double)t->sum.faults_none;
	values[STUDY_FAULTS] = (double)counts->faults;
	values[STUDY_AVOIDED] = t->avoided;
	values[STUDY_PINNED_MEAN] = t->pinned_mean;
	values[STUDY_PINNED_MAX] = t->pinned_max;
	values[STUDY_PINS] = (double)counts->policy.pins;
	values[STUDY_UNPINS] = (double)counts->policy.unpins;
	values[STUDY_USELESS] = (double)counts->policy.useless;
	values[STUDY_BROUGHT] = (double)counts->brought;
	values[STUDY_RPR] = t->rpr;
	values[STUDY_ORACLE_AVOIDED] = t->oracle;
	values[STUDY_PAGES_BELOW_10] = percent_of((double)classes[0].pages, (double)counts->pages);
	/* Which pages would have faulted without pins a run with them cannot tell under rule reclaim. */
	values[STUDY_FAULTS_BELOW_50] =
		isnan(t->oracle) ? NAN : percent_of(below_50, (double)t->sum.faults_none);
}
