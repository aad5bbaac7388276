// SPDX-License-Identifier: GPL-2.0
/* What a study prints: a row a point and domain, and with --csv or --json all that stands behind it. */
#include <math.h>
#include <string.h>

#include "lib/base/fail.h"
#include "tools/protect/study.h"

const char *const study_tables[] = {
	"results",	   "protect", "protect_curve", "protect_pages", "protect_accesses",
	"protect_actions", NULL};

/* Those as long as the recording itself are written only by their names. */
bool study_wants(const struct study *study, const char *table)
{
	const bool long_one =
		!strcmp(table, "protect_accesses") || !strcmp(table, "protect_actions");

	if (study->output.table)
		return !strcmp(study->output.table, table);
	return !long_one;
}

static int study_write_results(const struct study *study, struct writer *writer)
{
	struct sweep_results results;
	int err = sweep_results_begin(&results, writer, "Results (model)", &study->sweep,
				      &study_columns);

	for (size_t point = 0; !err && point < study->sweep.points; point++)
		err = sweep_results_row(&results, writer, point,
					&study->values[point * STUDY_COLUMNS]);
	return err ? err : writer_end(writer);
}

struct protect_row {
	const struct study_domain *domain;
	const struct study_outcome *outcome; /* NULL: of a total */
	const struct study_config *config;
	const struct study_total *rates;
};

static const char *host_of(const struct study_outcome *outcome)
{
	return outcome ? outcome->tenant->recording->name : NULL;
}

static const char *tenant_name(const struct study_outcome *outcome)
{
	return outcome ? outcome->tenant->name : NULL;
}

static const char *policy_name(const struct study_config *config)
{
	const __u32 policy = config->protector.keys.policy;

	return policy == STUDY_ORACLE ? "oracle" : protect_policies[policy]->name;
}

static bool is_oracle(const struct study_config *config)
{
	return config->protector.keys.policy == STUDY_ORACLE;
}

/* Each at its own time: nobody knows how much at most all had at one. */
static __u64 most_pinned(const struct protect_row *row)
{
	return count_if(row->outcome && !is_oracle(row->config),
			row->domain->counts.policy.pinned_max);
}

#define COUNTS(row) (&(row)->domain->counts)
#define PROTECT(COLUMN)                                                            \
	COLUMN(domain, none, TEXT, 13, SHOWN, row->domain->name)                   \
	COLUMN(tenant, none, TEXT, 12, WIDE, tenant_name(row->outcome))            \
	COLUMN(host, none, TEXT, 12, WIDE, host_of(row->outcome))                  \
	COLUMN(memory, pages, COUNT, 9, WIDE, row->domain->memory_pages)           \
	COLUMN(accesses, none, COUNT, 9, WIDE, COUNTS(row)->accesses)              \
	COLUMN(touched, pages, COUNT, 9, WIDE, COUNTS(row)->pages)                 \
	COLUMN(touched, percent, REAL, 7, WIDE, row->rates->footprint)             \
	COLUMN(told, pages, COUNT, 9, WIDE, COUNTS(row)->pages_told)               \
	COLUMN(first_accesses, none, COUNT, 14, WIDE, COUNTS(row)->first_accesses) \
	COLUMN(first_pinned, none, COUNT, 12, WIDE, COUNTS(row)->first_pinned)     \
	COLUMN(faults_none, none, COUNT, 11, WIDE, row->domain->faults_none)       \
	COLUMN(faults, none, COUNT, 7, WIDE, COUNTS(row)->faults)                  \
	COLUMN(avoided, percent, REAL, 7, SHOWN, row->rates->avoided)              \
	COLUMN(pinned_mean, pages, REAL, 11, WIDE, COUNTS(row)->pinned_mean)       \
	COLUMN(pinned_mean, percent, REAL, 11, SHOWN, row->rates->pinned_mean)     \
	COLUMN(pinned_max, pages, COUNT, 10, WIDE, most_pinned(row))               \
	COLUMN(pinned_max, percent, REAL, 10, WIDE,                                \
	       is_oracle(row->config) ? NAN : row->rates->pinned_max)              \
	COLUMN(pins, none, COUNT, 8, WIDE, COUNTS(row)->policy.pins)               \
	COLUMN(unpins, none, COUNT, 8, WIDE, COUNTS(row)->policy.unpins)           \
	COLUMN(useless, none, COUNT, 8, WIDE, COUNTS(row)->policy.useless)         \
	COLUMN(brought, none, COUNT, 8, WIDE, COUNTS(row)->brought)                \
	COLUMN(rpr, none, REAL, 6, SHOWN, row->rates->rpr)                         \
	COLUMN(oracle_avoided, none, COUNT, 14, WIDE, row->domain->oracle_avoided) \
	COLUMN(oracle_avoided, percent, REAL, 14, WIDE, row->rates->oracle)        \
	COLUMN(untracked, none, COUNT, 9, WIDE, COUNTS(row)->policy.untracked)     \
	COLUMN(pinned_by, none, TEXT, 9, WIDE, policy_name(row->config))
TABLE(protect, "What would have been pinned (model)", PROTECT, struct protect_row, void)

static int write_total(const struct study *study, struct writer *writer,
		       const struct point_table *table, size_t point)
{
	struct study_total total;
	int err = study_total(&total, study, point);

	return err ? err
		   : point_table_put(table, writer, point,
				     &(struct protect_row){&total.sum, NULL, &study->configs[point],
							   &total});
}

/* Calls for each domain with an access, point by point. */
typedef int (*domain_writer)(const struct study *study, struct writer *writer,
			     const struct point_table *table, size_t point,
			     const struct study_outcome *outcome,
			     const struct study_domain *domain);

static int write_point(const struct study *study, struct writer *writer,
		       const struct point_table *table, size_t point, domain_writer each)
{
	int err = 0;

	for (size_t t = 0; t < study->tenant_count; t++) {
		const struct study_outcome *o = &study->outcomes[point * study->tenant_count + t];

		for (size_t d = 0; !err && d < o->domain_count; d++)
			if (o->domains[d].counts.accesses)
				err = each(study, writer, table, point, o, &o->domains[d]);
	}
	return err;
}

static int write_points(const struct study *study, struct writer *writer, const struct table *own,
			domain_writer each)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, &study->sweep, own);

	for (size_t point = 0; !err && point < study->sweep.points; point++)
		err = write_point(study, writer, &table, point, each);
	return err ? err : writer_end(writer);
}

static int write_domain(const struct study *study, struct writer *writer,
			const struct point_table *table, size_t point,
			const struct study_outcome *outcome, const struct study_domain *domain)
{
	struct study_total rates;

	study_rates(&rates, domain);
	return point_table_put(
		table, writer, point,
		&(struct protect_row){domain, outcome, &study->configs[point], &rates});
}

static int write_protect(const struct study *study, struct writer *writer)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, &study->sweep, &protect_table);

	for (size_t point = 0; !err && point < study->sweep.points; point++) {
		err = write_point(study, writer, &table, point, write_domain);
		if (!err)
			err = write_total(study, writer, &table, point);
	}
	return err ? err : writer_end(writer);
}

struct curve_row {
	const struct study_domain *domain;
	const struct study_outcome *outcome;
	const struct what_if_sample *sample;
	bool interval;
};

static double curve_percent(const struct curve_row *row, __u64 pages)
{
	return 100 * (double)pages / (double)row->domain->memory_pages;
}

#define CURVE(COLUMN)                                                                     \
	COLUMN(time, none, TIME, 15, SHOWN, row->sample->time_ns)                         \
	COLUMN(domain, none, TEXT, 13, SHOWN, row->domain->name)                          \
	COLUMN(tenant, none, TEXT, 12, WIDE, tenant_name(row->outcome))                   \
	COLUMN(host, none, TEXT, 12, WIDE, host_of(row->outcome))                         \
	COLUMN(footprint, pages, COUNT, 9, SHOWN, row->sample->pages)                     \
	COLUMN(footprint, percent, REAL, 9, WIDE, curve_percent(row, row->sample->pages)) \
	COLUMN(active, pages, COUNT, 7, SHOWN, row->sample->active)                       \
	COLUMN(active, percent, REAL, 7, WIDE, curve_percent(row, row->sample->active))   \
	COLUMN(inactive, pages, COUNT, 8, SHOWN, row->sample->pinned)                     \
	COLUMN(inactive, percent, REAL, 8, WIDE, curve_percent(row, row->sample->pinned)) \
	COLUMN(faults, none, COUNT, 7, SHOWN, row->sample->faults)                        \
	COLUMN(avoided, none, COUNT, 7, WIDE, count_if(row->interval, row->sample->avoided))
TABLE(protect_curve, "Footprint and pins over time (model)", CURVE, struct curve_row, void)

static int write_samples(const struct study *study, struct writer *writer,
			 const struct point_table *table, size_t point,
			 const struct study_outcome *outcome, const struct study_domain *domain)
{
	const bool interval = study->configs[point].rule == WHAT_IF_INTERVAL;
	int err = 0;

	for (size_t i = 0; !err && i < domain->sample_count; i++)
		err = point_table_put(
			table, writer, point,
			&(struct curve_row){domain, outcome, &domain->samples[i], interval});
	return err;
}

struct pages_row {
	const struct study_domain *domain;
	const struct study_outcome *outcome;
	const struct study_config *config;
	size_t class;
};

static double class_share(__u64 part, __u64 whole)
{
	return whole ? 100 * (double)part / (double)whole : NAN;
}

static const struct study_class *class_of_row(const struct pages_row *row)
{
	return &row->domain->classes[row->class];
}

static bool is_interval(const struct pages_row *row)
{
	return row->config->rule == WHAT_IF_INTERVAL;
}

#define PAGES(COLUMN)                                                                          \
	COLUMN(domain, none, TEXT, 13, SHOWN, row->domain->name)                               \
	COLUMN(tenant, none, TEXT, 12, WIDE, tenant_name(row->outcome))                        \
	COLUMN(host, none, TEXT, 12, WIDE, host_of(row->outcome))                              \
	COLUMN(below, accesses, COUNT, 8, SHOWN, study_classes[row->class])                    \
	COLUMN(pages, none, COUNT, 8, SHOWN, class_of_row(row)->pages)                         \
	COLUMN(pages, percent, REAL, 7, SHOWN,                                                 \
	       class_share(class_of_row(row)->pages, row->domain->counts.pages))               \
	COLUMN(faults_none, none, COUNT, 11, SHOWN,                                            \
	       count_if(is_interval(row), class_of_row(row)->faults_none))                     \
	COLUMN(faults_none, percent, REAL, 11, WIDE,                                           \
	       is_interval(row)                                                                \
		       ? class_share(class_of_row(row)->faults_none, row->domain->faults_none) \
		       : NAN)                                                                  \
	COLUMN(faults, none, COUNT, 7, SHOWN,                                                  \
	       count_if(!is_oracle(row->config), class_of_row(row)->faults))
TABLE(protect_pages, "Faults by accesses of their pages (model)", PAGES, struct pages_row, void)

static int write_page_classes(const struct study *study, struct writer *writer,
			      const struct point_table *table, size_t point,
			      const struct study_outcome *outcome,
			      const struct study_domain *domain)
{
	int err = 0;

	for (size_t c = 0; !err && c < STUDY_CLASSES; c++)
		err = point_table_put(
			table, writer, point,
			&(struct pages_row){domain, outcome, &study->configs[point], c});
	return err;
}

static int write_whole(const struct study *study, struct writer *writer)
{
	int err = 0;

	if (study_wants(study, "protect_curve"))
		err = write_points(study, writer, &protect_curve_table, write_samples);
	if (!err && study_wants(study, "protect_pages"))
		err = write_points(study, writer, &protect_pages_table, write_page_classes);
	if (!err && study_wants(study, "protect_accesses"))
		err = study_write_accesses(study, writer);
	if (!err && study_wants(study, "protect_actions"))
		err = study_write_actions(study, writer);
	return err;
}

int study_write(const struct study *study, struct writer *writer)
{
	int err = 0;

	/* A row a domain says it all where there is one; where a job expects something, it is of the sums. */
	if (study_whole(study) || job_text_section(study->text, "expect", NULL)->entry_count)
		err = study_write_results(study, writer);
	if (!err)
		err = write_protect(study, writer);
	return err || !study_whole(study) ? err : write_whole(study, writer);
}
