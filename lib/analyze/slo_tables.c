// SPDX-License-Identifier: GPL-2.0
/* The tables of the objectives: one row per objective and device, one row per violation. */
#include "lib/analyze/slo_data.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *slo_metric_name(enum slo_metric metric)
{
	static const char *const names[SLO_METRICS] = {
		"latency", "iops", "bandwidth", "fault_rate", "burst",
	};

	return metric < SLO_METRICS ? names[metric] : "unknown";
}

static bool has_metric(const struct slo_objective *o, enum slo_metric metric, double *target)
{
	switch (metric) {
	case SLO_LATENCY:
		*target = (double)o->latency_target_ns;
		return o->latency_target_ns;
	case SLO_IOPS:
		*target = o->min_iops;
		return o->min_iops > 0;
	case SLO_BANDWIDTH:
		*target = (double)o->min_bandwidth;
		return o->min_bandwidth;
	case SLO_FAULT_RATE:
		*target = o->fault_rate;
		return o->has_fault_rate;
	default:
		*target = o->burst;
		return o->has_burst;
	}
}

static bool is_of_ios(enum slo_metric metric)
{
	return metric == SLO_LATENCY || metric == SLO_IOPS || metric == SLO_BANDWIDTH;
}

/* What the devices of an objective had that can be judged. */
struct measured {
	size_t devices, watched; /* watched: their faults */
	__u64 windows;		 /* with I/O */
	__u64 violations[SLO_METRICS];
};

static struct measured measure(const struct slo *slo, const struct slo_objective *o)
{
	struct measured m = {0};

	for (__u32 h = 0; h < slo->devices.end; h = slots_next(&slo->devices, h)) {
		const struct device_slo *d = slots_find(&slo->devices, h);

		for (size_t i = 0; d && i < d->count; i++) {
			const struct judged *j = &d->judged[i];

			if (j->objective != o)
				continue;
			m.devices++;
			m.watched += !faults_unwatched(slo->reconstruction, h);
			m.windows += j->windows;
			for (unsigned int k = 0; k < SLO_METRICS; k++)
				m.violations[k] += j->violations[k];
		}
	}
	return m;
}

bool slo_fits(const struct slo *slo, size_t objective)
{
	return measure(slo, &slo->set->objectives[objective]).devices;
}

/* The first metric of the kind that was asked for and not violated: SLO_METRICS if there is none. */
static unsigned int missing(const struct slo_objective *o, const struct measured *m, bool of_ios)
{
	unsigned int k = 0;
	double target;

	while (k < SLO_METRICS && (is_of_ios((enum slo_metric)k) != of_ios || m->violations[k] ||
				   !has_metric(o, (enum slo_metric)k, &target)))
		k++;
	return k;
}

static const char *unwatched(const struct slo_objective *o, const struct measured *m,
			     char text[SLO_UNMEASURED_TEXT])
{
	unsigned int metric = missing(o, m, false);

	if (!m->devices)
		snprintf(text, SLO_UNMEASURED_TEXT,
			 "objective %s: no device fits '%s'; nothing was measured", o->name,
			 o->device);
	else if (!m->watched && metric < SLO_METRICS)
		snprintf(text, SLO_UNMEASURED_TEXT,
			 "objective %s: the faults of '%s' were not watched; its %s was not "
			 "measured",
			 o->name, o->device, slo_metric_name((enum slo_metric)metric));
	else
		return NULL;
	return text;
}

const char *slo_unwatched(const struct slo *slo, size_t objective, char text[SLO_UNMEASURED_TEXT])
{
	const struct slo_objective *o = &slo->set->objectives[objective];
	struct measured m = measure(slo, o);

	return unwatched(o, &m, text);
}

const char *slo_unmeasured(const struct slo *slo, size_t objective, char text[SLO_UNMEASURED_TEXT])
{
	const struct slo_objective *o = &slo->set->objectives[objective];
	struct measured m = measure(slo, o);
	unsigned int metric = missing(o, &m, true);

	if (unwatched(o, &m, text))
		return text;
	if (m.windows || metric == SLO_METRICS)
		return NULL;
	snprintf(text, SLO_UNMEASURED_TEXT,
		 "objective %s: no device that fits '%s' had I/O; its %s was not measured", o->name,
		 o->device, slo_metric_name((enum slo_metric)metric));
	return text;
}

struct row_limit {
	size_t limit, written, left_out;
};

/* An objective that no device fits. */
static int write_unfit(const struct slo_objective *o, struct writer *writer)
{
	int error = 0;

	for (unsigned int m = 0; !error && m < SLO_METRICS; m++) {
		double target;

		if (has_metric(o, (enum slo_metric)m, &target))
			error = writer_row(writer,
					   (union cell[]){
						   {.text = o->name},
						   {.text = ""},
						   {.text = slo_metric_name((enum slo_metric)m)},
						   {.real = target},
						   {.count = 0},
						   {.count = 0},
						   {.text = "unfit"},
					   });
	}
	return error;
}

/* Why nothing was measured of it; NULL if something was. */
static const char *lacks(const struct slo *slo, const struct judged *j, __u32 device,
			 enum slo_metric metric)
{
	if (is_of_ios(metric))
		return j->windows ? NULL : "no I/O";
	return faults_unwatched(slo->reconstruction, device) ? "no probe" : NULL;
}

static const char *state_of(const struct slo *slo, const struct judged *j, __u32 device,
			    enum slo_metric metric)
{
	return j->violations[metric] ? "VIOLATED" : lacks(slo, j, device, metric) ?: "ok";
}

bool slo_measured(const struct slo *slo, __u32 device)
{
	const struct device_slo *d = slots_find(&slo->devices, device);
	double target;

	for (size_t i = 0; d && i < d->count; i++)
		for (unsigned int m = 0; m < SLO_METRICS; m++)
			if (has_metric(d->judged[i].objective, (enum slo_metric)m, &target) &&
			    lacks(slo, &d->judged[i], device, (enum slo_metric)m))
				return false;
	return d && d->count;
}

static int write_objective(const struct slo *slo, const struct session *session,
			   struct writer *writer, const struct device_slo *d,
			   const struct judged *j, struct row_limit *rows)
{
	char text[DEVICE_NAME_TEXT];
	int error = 0;

	for (unsigned int m = 0; !error && m < SLO_METRICS; m++) {
		double target;

		if (!has_metric(j->objective, (enum slo_metric)m, &target))
			continue;
		if (rows->limit && rows->written >= rows->limit && !j->violations[m]) {
			rows->left_out++;
			continue;
		}
		rows->written++;
		error = writer_row(
			writer, (union cell[]){
					{.text = j->objective->name},
					{.text = session_device_name(session, d->device, text)},
					{.text = slo_metric_name((enum slo_metric)m)},
					{.real = target},
					{.count = j->windows},
					{.count = j->violations[m]},
					{.text = state_of(slo, j, d->device, (enum slo_metric)m)},
				});
	}
	return error;
}

int slo_write(const struct slo *slo, const struct session *session, struct writer *writer,
	      size_t limit)
{
	static const struct column columns[] = {
		{"slo", NULL, COLUMN_TEXT, 16, false},
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"metric", NULL, COLUMN_TEXT, 10, false},
		{"target", NULL, COLUMN_REAL, 10, true},
		{"io_windows", NULL, COLUMN_COUNT, 10, false},
		{"violations", NULL, COLUMN_COUNT, 10, false},
		{"state", NULL, COLUMN_TEXT, 8, false},
	};
	static const struct table table = {"slo", "Objectives", columns, COUNT(columns)};
	struct row_limit rows = {.limit = limit};
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; !error && h < slo->devices.end; h = slots_next(&slo->devices, h)) {
		const struct device_slo *d = slots_find(&slo->devices, h);

		for (size_t i = 0; !error && d && i < d->count; i++)
			error = write_objective(slo, session, writer, d, &d->judged[i], &rows);
	}
	for (size_t i = 0; !error && i < slo->set->count; i++) {
		if (!slo_fits(slo, i))
			error = write_unfit(&slo->set->objectives[i], writer);
	}
	error = error ? error : writer_end(writer);
	if (!error && rows.left_out)
		error = writer_note(writer, "... and %zu more that held.", rows.left_out);
	return error;
}

static const char *quantity(enum slo_metric metric, double value, char text[UNITS_TEXT])
{
	char size[UNITS_TEXT];

	switch (metric) {
	case SLO_LATENCY:
		return units_format_duration((__u64)value, text);
	case SLO_BANDWIDTH:
		snprintf(text, UNITS_TEXT, "%s/s", units_format_size((__u64)value, size));
		return text;
	case SLO_BURST:
		snprintf(text, UNITS_TEXT, "%.0f", value);
		return text;
	default:
		snprintf(text, UNITS_TEXT, "%.4g/s", value);
		return text;
	}
}

static int write_violation(const struct slo_violation *v, const struct session *session,
			   struct writer *writer)
{
	char name[DEVICE_NAME_TEXT], cause[SLO_CAUSE_TEXT], measured[UNITS_TEXT],
		target[UNITS_TEXT];
	const struct fault *f = v->faults ? &v->longest : NULL;

	return writer_row(writer, (union cell[]){
					  {.count = v->from_ns},
					  {.count = v->to_ns - v->from_ns},
					  {.text = v->objective->name},
					  {.text = session_device_name(session, v->device, name)},
					  {.text = slo_metric_name(v->metric)},
					  {.text = quantity(v->metric, v->measured, measured)},
					  {.text = quantity(v->metric, v->target, target)},
					  {.real = v->measured},
					  {.real = v->target},
					  {.count = v->ios},
					  {.count = v->slow_ios},
					  {.count = v->recorded_ios},
					  {.count = v->overlapped_ios},
					  {.count = v->faults},
					  {.text = v->stage < STAGES ? stage_name(v->stage) : ""},
					  {.count = v->stage < STAGES ? v->stage_ns : CELL_NONE},
					  {.count = f ? f->group : CELL_NONE},
					  {.count = f ? f->instance : CELL_NONE},
					  {.count = f ? f->address : CELL_NONE},
					  {.count = f ? fault_first_ns(f) : CELL_NONE},
					  {.text = slo_cause(v, session, cause)},
					  {.count = v->stage < STAGES ? v->merged : CELL_NONE},
				  });
}

int slo_write_sentence(const struct slo_violation *v, const struct session *session,
		       struct writer *writer)
{
	char name[DEVICE_NAME_TEXT], cause[SLO_CAUSE_TEXT], measured[UNITS_TEXT],
		target[UNITS_TEXT];
	char time[UNITS_TEXT], length[UNITS_TEXT], what[NAME_TEXT];

	snprintf(what, sizeof(what), "%s", slo_metric_name(v->metric));
	if (v->metric == SLO_LATENCY)
		snprintf(what, sizeof(what), "latency p%g of %llu I/Os",
			 v->objective->latency_percentile, v->ios);
	else if (v->metric == SLO_FAULT_RATE)
		snprintf(what, sizeof(what), "fault rate");
	else if (v->metric == SLO_BURST)
		snprintf(what, sizeof(what), "burst of faults");
	return writer_note(writer, "%s +%s %s, %s: %s %s, target %s. Cause: %s.",
			   session_when(session, v->from_ns, time),
			   units_format_duration(v->to_ns - v->from_ns, length), v->objective->name,
			   session_device_name(session, v->device, name), what,
			   quantity(v->metric, v->measured, measured),
			   quantity(v->metric, v->target, target), slo_cause(v, session, cause));
}

int slo_write_violations(const struct slo *slo, const struct session *session,
			 struct writer *writer)
{
	static const struct column columns[] = {
		{"window", NULL, COLUMN_TIME, 8, false},
		{"window_length", "ns", COLUMN_DURATION, 13, true},
		{"slo", NULL, COLUMN_TEXT, 10, false},
		{"device", NULL, COLUMN_TEXT, 14, false},
		{"metric", NULL, COLUMN_TEXT, 10, true},
		{"measured_text", NULL, COLUMN_TEXT, 9, true},
		{"target_text", NULL, COLUMN_TEXT, 9, true},
		{"measured", NULL, COLUMN_REAL, 12, true},
		{"target", NULL, COLUMN_REAL, 12, true},
		{"ios", NULL, COLUMN_COUNT, 8, true},
		{"slow_ios", NULL, COLUMN_COUNT, 8, true},
		{"recorded_ios", NULL, COLUMN_COUNT, 12, true},
		{"overlapped_ios", NULL, COLUMN_COUNT, 14, true},
		{"faults", NULL, COLUMN_COUNT, 6, true},
		{"stage", NULL, COLUMN_TEXT, 8, true},
		{"stage_time", "ns", COLUMN_DURATION, 10, true},
		{"group", NULL, COLUMN_COUNT, 6, true},
		{"instance", NULL, COLUMN_COUNT, 8, true},
		{"address", NULL, COLUMN_ADDRESS, 18, true},
		{"fault", NULL, COLUMN_TIME, 30, true},
		{"cause", NULL, COLUMN_TEXT, 0, false},
		{"merged", NULL, COLUMN_COUNT, 6, true},
	};
	static const struct table table = {"violations", "Violations", columns, COUNT(columns)};
	int error = writer_begin(writer, &table);

	for (size_t i = 0; !error && slo_violation(slo, i); i++)
		error = write_violation(slo_violation(slo, i), session, writer);
	return error ? error : writer_end(writer);
}
