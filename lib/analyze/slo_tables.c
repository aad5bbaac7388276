// SPDX-License-Identifier: GPL-2.0
/* The tables of the objectives: one row per objective and device, one row per violation. */
#include "lib/analyze/analysis.h"
#include "lib/analyze/frames.h"
#include "lib/analyze/live.h"
#include "lib/analyze/slo_private.h"

#include <stdio.h>

#include "lib/base/units.h"

const char *slo_metric_name(enum slo_metric metric)
{
	static const char *const names[SLO_METRICS] = {
		"latency", "iops", "bandwidth", "fault_rate",
		"burst",   "loss", "stall",	"throughput",
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
	case SLO_LOSS:
		*target = o->loss;
		return o->has_loss;
	case SLO_STALL:
		*target = (double)o->max_stall_ns;
		return o->max_stall_ns;
	case SLO_THROUGHPUT:
		*target = (double)o->min_throughput;
		return o->min_throughput;
	default:
		*target = o->burst;
		return o->has_burst;
	}
}

/* What an objective is about, so that something can be measured. */
enum subject { SUBJECT_IOS, SUBJECT_FAULTS, SUBJECT_FRAMES };

static enum subject subject_of(enum slo_metric metric)
{
	if (slo_is_of_frames(metric))
		return SUBJECT_FRAMES;
	return metric == SLO_FAULT_RATE || metric == SLO_BURST ? SUBJECT_FAULTS : SUBJECT_IOS;
}

/* What the devices of an objective had that can be judged. */
struct measured {
	size_t devices, watched; /* watched: their faults */
	__u64 windows;		 /* with I/O */
	__u64 frame_windows;
	__u64 violations[SLO_METRICS];
};

static struct measured slo_measure(const struct slo *slo, const struct slo_objective *o)
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
			m.frame_windows += j->frame_windows;
			for (unsigned int k = 0; k < SLO_METRICS; k++)
				m.violations[k] += j->violations[k];
		}
	}
	return m;
}

void slo_each(const struct slo *slo,
	      void (*each)(void *argument, const struct slo_judgement *judgement), void *argument)
{
	for (__u32 h = 0; h < slo->devices.end; h = slots_next(&slo->devices, h)) {
		const struct device_slo *d = slots_find(&slo->devices, h);

		for (size_t i = 0; d && i < d->count; i++) {
			const struct judged *j = &d->judged[i];
			struct slo_judgement judgement = {j->objective, h,
							  j->windows + j->frame_windows, 0};

			for (unsigned int k = 0; k < SLO_METRICS; k++)
				judgement.violations += j->violations[k];
			each(argument, &judgement);
		}
	}
}

bool slo_fits(const struct slo *slo, size_t objective)
{
	return slo_measure(slo, &slo->set->objectives[objective]).devices;
}

/* The first metric of the subject that was asked for and not violated: SLO_METRICS if there is none. */
static unsigned int slo_missing(const struct slo_objective *o, const struct measured *m,
				enum subject subject)
{
	unsigned int k = 0;
	double target;

	while (k < SLO_METRICS && (subject_of((enum slo_metric)k) != subject || m->violations[k] ||
				   !has_metric(o, (enum slo_metric)k, &target)))
		k++;
	return k;
}

static const char *slo_metric_unwatched(const struct slo_objective *o, const struct measured *m,
					char text[SLO_UNMEASURED_TEXT])
{
	unsigned int metric = slo_missing(o, m, SUBJECT_FAULTS);

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
	struct measured m = slo_measure(slo, o);

	return slo_metric_unwatched(o, &m, text);
}

const char *slo_unmeasured(const struct slo *slo, size_t objective, char text[SLO_UNMEASURED_TEXT])
{
	const struct slo_objective *o = &slo->set->objectives[objective];
	struct measured m = slo_measure(slo, o);
	unsigned int ios = slo_missing(o, &m, SUBJECT_IOS);
	unsigned int frames = slo_missing(o, &m, SUBJECT_FRAMES);
	bool no_ios = !m.windows && ios < SLO_METRICS;

	if (slo_metric_unwatched(o, &m, text))
		return text;
	if (!no_ios && (m.frame_windows || frames == SLO_METRICS))
		return NULL;
	snprintf(text, SLO_UNMEASURED_TEXT,
		 "objective %s: no device that fits '%s' had %s; its %s was not measured", o->name,
		 o->device, no_ios ? "I/O" : "frames",
		 slo_metric_name((enum slo_metric)(no_ios ? ios : frames)));
	return text;
}

struct row_limit {
	size_t limit, written, left_out;
};

/* An objective of a device, by one of its metrics. */
struct objective_row {
	const struct slo_objective *objective;
	const __u32 *device; /* NULL: none fits */
	enum slo_metric metric;
	double target;
	__u64 windows, violations;
	const char *state;
};

#define OBJECTIVES(COLUMN)                                                          \
	COLUMN(slo, none, TEXT, 16, SHOWN, row->objective->name)                    \
	COLUMN(device, none, TEXT, 16, SHOWN,                                       \
	       row->device ? session_device_name(context, *row->device, text) : "") \
	COLUMN(metric, none, TEXT, 10, SHOWN, slo_metric_name(row->metric))         \
	COLUMN(target, none, REAL, 10, WIDE, row->target)                           \
	COLUMN(io_windows, none, COUNT, 10, SHOWN, row->windows)                    \
	COLUMN(violations, none, COUNT, 10, SHOWN, row->violations)                 \
	COLUMN(state, none, TEXT, 8, SHOWN, row->state)
TABLE(slo, "Objectives", OBJECTIVES, struct objective_row, struct session)

/* An objective that no device fits. */
static void write_unfit(const struct slo_objective *o, struct writer *writer)
{
	struct objective_row row = {.objective = o, .state = "unfit"};

	for (; row.metric < SLO_METRICS; row.metric++)
		if (has_metric(o, row.metric, &row.target))
			writer_row(writer, &row);
}

/* Why nothing was measured of it; NULL if something was. */
static const char *slo_lacks(const struct slo *slo, const struct judged *j, __u32 device,
			     enum slo_metric metric)
{
	if (subject_of(metric) == SUBJECT_IOS)
		return j->windows ? NULL : "no I/O";
	if (subject_of(metric) == SUBJECT_FRAMES)
		return j->frame_windows ? NULL : "no frame";
	return faults_unwatched(slo->reconstruction, device) ? "no probe" : NULL;
}

static const char *slo_state_of(const struct slo *slo, const struct judged *j, __u32 device,
				enum slo_metric metric)
{
	return j->violations[metric] ? "VIOLATED" : slo_lacks(slo, j, device, metric) ?: "ok";
}

bool slo_measured(const struct slo *slo, __u32 device)
{
	const struct device_slo *d = slots_find(&slo->devices, device);
	double target;

	for (size_t i = 0; d && i < d->count; i++)
		for (unsigned int m = 0; m < SLO_METRICS; m++)
			if (has_metric(d->judged[i].objective, (enum slo_metric)m, &target) &&
			    slo_lacks(slo, &d->judged[i], device, (enum slo_metric)m))
				return false;
	return d && d->count;
}

static void write_objective(const struct slo *slo, struct writer *writer,
			    const struct device_slo *d, const struct judged *j,
			    struct row_limit *rows)
{
	struct objective_row row = {.objective = j->objective, .device = &d->device};

	for (; row.metric < SLO_METRICS; row.metric++) {
		row.violations = j->violations[row.metric];
		row.windows = slo_is_of_frames(row.metric) ? j->frame_windows : j->windows;
		if (!has_metric(j->objective, row.metric, &row.target))
			continue;
		if (rows->limit && rows->written >= rows->limit && !row.violations) {
			rows->left_out++;
			continue;
		}
		rows->written++;
		row.state = slo_state_of(slo, j, d->device, row.metric);
		writer_row(writer, &row);
	}
}

void slo_write(const struct analysis *analysis, struct writer *writer,
	       const struct table_wish *wish)
{
	const struct slo *slo = analysis->slo;
	struct row_limit rows = {.limit = wish->limit};

	writer_begin_with(writer, &slo_table, analysis->session);
	for (__u32 h = 0; h < slo->devices.end; h = slots_next(&slo->devices, h)) {
		const struct device_slo *d = slots_find(&slo->devices, h);

		for (size_t i = 0; d && i < d->count; i++)
			write_objective(slo, writer, d, &d->judged[i], &rows);
	}
	for (size_t i = 0; i < slo->set->count; i++) {
		if (!slo_fits(slo, i))
			write_unfit(&slo->set->objectives[i], writer);
	}
	writer_end(writer);
	if (rows.left_out)
		writer_note(writer, "... and %zu more that held.", rows.left_out);
}

static const char *slo_quantity(enum slo_metric metric, double value, char text[UNITS_TEXT])
{
	char size[UNITS_TEXT];

	switch (metric) {
	case SLO_LATENCY:
	case SLO_STALL:
		return units_format_duration((__u64)value, text);
	case SLO_LOSS:
		snprintf(text, UNITS_TEXT, "%.4g%%", value);
		return text;
	case SLO_BANDWIDTH:
	case SLO_THROUGHPUT:
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

void slo_write_sentence(const struct slo_violation *v, const struct session *session,
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
	else if (v->metric == SLO_LOSS)
		snprintf(what, sizeof(what), "loss of %llu frames", v->frames);
	writer_note(writer, "%s +%s %s, %s: %s %s, target %s. Cause: %s.",
		    session_when(session, v->from_ns, time),
		    units_format_duration(v->to_ns - v->from_ns, length), v->objective->name,
		    session_device_name(session, v->device, name), what,
		    slo_quantity(v->metric, v->measured, measured),
		    slo_quantity(v->metric, v->target, target), slo_cause(v, session, cause));
}

static const struct fault *slo_longest(const struct slo_violation *violation)
{
	return violation->longest.device ? &violation->longest : NULL;
}

/* Of other objectives nobody looked. */
static const __u64 *lost_of(const struct slo_violation *v)
{
	static const __u64 none[LOSS_REASONS] = {CELL_NONE, CELL_NONE, CELL_NONE, CELL_NONE,
						 CELL_NONE, CELL_NONE, CELL_NONE, CELL_NONE};

	_Static_assert(LOSS_REASONS == 8, "one for each");
	return slo_is_of_frames(v->metric) ? v->lost : none;
}

static const char *flow_of(const struct slo_violation *v, const struct session *session,
			   char text[CELL_ROOM])
{
	return v->metric == SLO_STALL ? session_flow_text(session, v->flow, text) : "";
}

#define VIOLATIONS(COLUMN)                                                                         \
	COLUMN(window, none, TIME, 8, SHOWN, row->from_ns)                                         \
	COLUMN(window_length, ns, DURATION, 13, WIDE, row->to_ns - row->from_ns)                   \
	COLUMN(slo, none, TEXT, 10, SHOWN, row->objective->name)                                   \
	COLUMN(device, none, TEXT, 14, SHOWN, session_device_name(context, row->device, text))     \
	COLUMN(metric, none, TEXT, 10, WIDE, slo_metric_name(row->metric))                         \
	COLUMN(measured_text, none, TEXT, 9, WIDE, slo_quantity(row->metric, row->measured, text)) \
	COLUMN(target_text, none, TEXT, 9, WIDE, slo_quantity(row->metric, row->target, text))     \
	COLUMN(measured, none, REAL, 12, WIDE, row->measured)                                      \
	COLUMN(target, none, REAL, 12, WIDE, row->target)                                          \
	COLUMN(ios, none, COUNT, 8, WIDE, row->ios)                                                \
	COLUMN(slow_ios, none, COUNT, 8, WIDE, row->slow_ios)                                      \
	COLUMN(recorded_ios, none, COUNT, 12, WIDE, row->recorded_ios)                             \
	COLUMN(overlapped_ios, none, COUNT, 14, WIDE, row->overlapped_ios)                         \
	COLUMN(faults, none, COUNT, 6, WIDE, row->faults)                                          \
	COLUMN(stage, none, TEXT, 8, WIDE, row->stage < STAGES ? stage_name(row->stage) : "")      \
	COLUMN(stage_time, ns, DURATION, 10, WIDE, count_if(row->stage < STAGES, row->stage_ns))   \
	COLUMN(group, none, COUNT, 6, WIDE,                                                        \
	       slo_longest(row) ? slo_longest(row)->group : CELL_NONE)                             \
	COLUMN(instance, none, COUNT, 8, WIDE,                                                     \
	       slo_longest(row) ? slo_longest(row)->instance : CELL_NONE)                          \
	COLUMN(address, none, ADDRESS, 18, WIDE,                                                   \
	       slo_longest(row) ? slo_longest(row)->address : CELL_NONE)                           \
	COLUMN(fault, none, TIME, 30, WIDE,                                                        \
	       slo_longest(row) ? fault_first_ns(slo_longest(row)) : CELL_NONE)                    \
	COLUMN(cause, none, TEXT, 0, SHOWN, slo_cause(row, context, text))                         \
	COLUMN(merged, none, COUNT, 6, WIDE, count_if(row->stage < STAGES, row->merged))           \
	COLUMN(flow, none, TEXT, 33, WIDE, flow_of(row, context, text))                            \
	COLUMN(frames, none, COUNT, 8, WIDE, count_if(row->metric == SLO_LOSS, row->frames))       \
	FRAMES_LOST_COLUMNS(COLUMN, lost_of(row))                                                  \
	COLUMN(held, none, COUNT, 6, WIDE, count_if(slo_is_of_frames(row->metric), row->held))
TABLE(violations, "Violations", VIOLATIONS, struct slo_violation, struct session)

void slo_write_violations(const struct analysis *analysis, struct writer *writer,
			  const struct table_wish *wish)
{
	const struct slo *slo = analysis->slo;

	(void)wish;
	writer_begin_with(writer, &violations_table, analysis->session);
	for (size_t i = 0; slo_violation(slo, i); i++)
		writer_row(writer, slo_violation(slo, i));
	writer_end(writer);
}

static void slo_live(const struct analysis *a, struct live_device *row)
{
	struct slo_device_state state;

	if (!a->slo)
		return;
	state = slo_device(a->slo, row->handle);
	row->slo_violations = state.violations;
	if (!state.violations)
		row->slo = slo_measured(a->slo, row->handle) ? LIVE_SLO_OK : LIVE_SLO_NONE;
	else if (state.last_violation < state.last_window)
		row->slo = LIVE_SLO_WARNED;
	else
		row->slo = LIVE_SLO_VIOLATED;
}

static int create_slo(struct analysis *a, const struct analysis_config *config)
{
	int error;

	if (!config->slos)
		return 0;
	error = slo_create(&a->slo, config->slos, a->faults, &config->period);
	return error ?: slo_watch_frames(a->slo, a->rings, a->stalls);
}

static const struct analyzer_table tables[] = {
	{&slo_table, slo_write},
	{&violations_table, slo_write_violations},
	{0},
};

DEFINE_ANALYZER(slo, .tables = tables, .of_a_verb = true, .device = slo_live)
