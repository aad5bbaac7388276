// SPDX-License-Identifier: GPL-2.0
#include "tools/top/collect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/unknown.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define SECOND_SLACK_NS (NSEC_PER_SEC / 20)
/* Capture has told of a second's I/Os so long after it: its own grace and time to read them. */
#define TOLD_AFTER_NS 300000000ull

/* Rate of a device by the second; the model's copy may be frozen while this goes on. */
struct curve {
	__u64 observed; /* faults at the last observation */
	double rate;	/* between the last two */
	__u64 lost;	/* frames, at the last observation */
	double loss_rate;
	__u64 faults;	/* when the curve last got a value */
	__u64 ios;	/* of the seconds told so far */
	double io_rate; /* of those told at last */
	bool io_known;
	__u32 count;
	float values[TOP_HISTORY];
};

struct collector {
	struct analysis *analysis;
	const struct collect_filter *filter;
	struct live_device *rows; /* as last observed */
	size_t devices;
	__u64 now_ns, interval_ns;
	struct curve *curves; /* by handle */
	size_t room;
	struct top_tables tables;
	struct worst worst;
	__u64 window_ns, looked_ns; /* looked_ns: how long it was in the last look */
	bool window_cut;
	__u64 curve_ns; /* when the curves last got a value */
	__u64 told_ns;	/* the end of the seconds whose I/Os were told */
	__u64 cpu_ns;	/* of this process, at... */
	__u64 wall_ns;	/* ...this time of its own clock */
	double cpu_percent;
};

int collector_create(struct collector **collector, struct analysis *analysis,
		     const struct collect_filter *filter, __u64 window_ns)
{
	struct collector *made = calloc(1, sizeof(*made));

	if (!made)
		return failed(-ENOMEM, "no memory for the live view");
	made->analysis = analysis;
	made->filter = filter;
	made->window_ns = made->looked_ns = window_ns;
	made->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	made->wall_ns = clock_ns(CLOCK_MONOTONIC);
	*collector = made;
	return 0;
}

void collector_destroy(struct collector *collector)
{
	if (!collector)
		return;
	tables_free(&collector->tables);
	free(collector->rows);
	free(collector->curves);
	free(collector);
}

static int collect_make_room(struct collector *collector, size_t devices)
{
	size_t room = collector->room ? collector->room : 16;
	struct live_device *rows;
	struct curve *curves;

	if (devices <= collector->room)
		return 0;
	while (room < devices)
		room *= 2;
	rows = reallocarray(collector->rows, room, sizeof(*rows));
	if (rows)
		collector->rows = rows;
	curves = reallocarray(collector->curves, room, sizeof(*curves));
	if (curves)
		collector->curves = curves;
	if (!rows || !curves)
		return failed(-ENOMEM, "no memory for %zu devices", devices);
	memset(curves + collector->room, 0, (room - collector->room) * sizeof(*curves));
	collector->room = room;
	return 0;
}

static void curve_push(struct curve *curve, float value)
{
	if (curve->count == TOP_HISTORY)
		memmove(curve->values, curve->values + 1,
			(TOP_HISTORY - 1) * sizeof(curve->values[0]));
	else
		curve->count++;
	curve->values[curve->count - 1] = value;
}

/* Time without any event counts, too: it is the negative answer's. */
static __u64 start_ns(const struct collector *collector)
{
	__u64 kept_from_ns = session_kept(collector->analysis->session)->from_ns, first_ns;
	struct live_summary summary;

	live_summary(collector->analysis, &summary);
	first_ns =
		summary.host && summary.host->start_ns ? summary.host->start_ns : summary.first_ns;
	return kept_from_ns > first_ns ? kept_from_ns : first_ns;
}

/* How long after the look before, or after the start, now_ns is. */
static __u64 elapsed_ns(const struct collector *collector, __u64 now_ns)
{
	__u64 from = collector->now_ns ? collector->now_ns : start_ns(collector);

	return from && now_ns > from ? now_ns - from : collector->interval_ns;
}

/* From totals, so that the rates of all intervals add up to the total exactly. */
static void measure_rates(struct collector *collector, __u64 elapsed)
{
	for (size_t i = 0; i < collector->devices; i++) {
		struct curve *curve = &collector->curves[i];
		__u64 faults = collector->rows[i].faults;

		curve->rate = (double)(faults - curve->observed) * 1e9 / (double)elapsed;
		curve->observed = faults;
		curve->loss_rate = (double)(collector->rows[i].frames_lost - curve->lost) * 1e9 /
				   (double)elapsed;
		curve->lost = collector->rows[i].frames_lost;
	}
}

/*
 * I/Os are told by the second, so their rate is over the seconds told since the last look, whole ones: a shorter
 * interval has the rate of the newest. At the end all are told.
 */
static void measure_ios(struct collector *collector, __u64 now_ns, bool ended)
{
	__u64 from = collector->told_ns ? collector->told_ns : start_ns(collector);
	__u64 to = now_ns > TOLD_AFTER_NS ? now_ns - TOLD_AFTER_NS : 0;
	__u64 span;

	to = ended ? now_ns : to - to % AGGREGATE_WINDOW_NS;
	span = to > from ? to - from : 0;
	if (!ended && span < AGGREGATE_WINDOW_NS)
		return;
	collector->told_ns = to;
	for (size_t i = 0; i < collector->devices; i++) {
		struct curve *curve = &collector->curves[i];
		__u64 ios = ios_before(collector->analysis, collector->rows[i].handle,
				       ended ? UINT64_MAX : to);

		if (span)
			curve->io_rate = (double)(ios - curve->ios) * 1e9 / (double)span;
		curve->io_known |= !!span;
		curve->ios = ios;
	}
}

/*
 * Every second that has passed since the last call that found one gets the mean rate of that time.
 * Intervals of a second are a little longer or shorter than that, which must not cost a value.
 */
static void extend_curves(struct collector *collector)
{
	__u64 now_ns = collector->now_ns;
	__u64 elapsed, seconds;

	if (!collector->curve_ns)
		collector->curve_ns = start_ns(collector);
	elapsed = now_ns > collector->curve_ns ? now_ns - collector->curve_ns : 0;
	seconds = (elapsed + SECOND_SLACK_NS) / NSEC_PER_SEC;
	if (!seconds)
		return;
	collector->curve_ns = now_ns;
	for (size_t i = 0; i < collector->devices; i++) {
		struct curve *curve = &collector->curves[i];
		__u64 faults = collector->rows[i].faults;
		double rate = (double)(faults - curve->faults) * 1e9 / (double)elapsed;

		for (__u64 k = 0; k < seconds && k < TOP_HISTORY; k++)
			curve_push(curve, (float)rate);
		curve->faults = faults;
	}
}

static bool collect_is_shown(const struct collect_filter *filter, const struct device_info *info)
{
	bool shown = !filter->device_count && !filter->pid_count;

	for (size_t i = 0; i < filter->device_count; i++)
		shown |= device_name_fits(info, filter->devices[i]);
	for (size_t i = 0; i < filter->pid_count; i++)
		shown |= filter->pids[i] == info->pid;
	return shown;
}

static void describe_owner(char *text, size_t size, const struct device_info *info)
{
	if (info->vm[0])
		snprintf(text, size, "%s", info->vm);
	else if (info->pid)
		snprintf(text, size, "%.16s:%u", info->comm, info->pid);
	else
		snprintf(text, size, "kernel");
}

static void take_device(const struct collector *collector, struct top_model *model,
			const struct live_device *row, const struct curve *curve)
{
	const struct session *session = collector->analysis->session;
	struct top_device *device = &model->devices[model->device_count++];
	char text[DEVICE_NAME_TEXT];

	snprintf(device->name, sizeof(device->name), "%s",
		 session_device_name(session, row->handle, text));
	device->live = *row;
	device->info = *row->info;
	device->live.info = NULL;
	device->ios = curve->ios;
	device->io_rate = row->unknown & UNKNOWN_IO || !curve->io_known ? NAN : curve->io_rate;
	device->live.rate = row->unknown & UNKNOWN_FAULTS ? NAN : curve->rate;
	describe_owner(device->owner, sizeof(device->owner), &device->info);
	device->history_count = curve->count;
	memcpy(device->history, curve->values, sizeof(device->history));
	model->faults += row->faults;
	model->open += row->open;
	model->rate += curve->rate;
	model->rings |= row->rings;
	model->loss_rate += curve->loss_rate;
}

/* What a device's number lacks the sum of all lacks, too. */
static void note_unknown(const struct collector *collector, struct top_model *model)
{
	model->unknown = 0;
	for (size_t i = 0; i < collector->devices; i++)
		model->unknown |= collector->rows[i].unknown;
	if (faults_watched(collector->analysis->faults) == FAULTS_NOT_WATCHED)
		model->unknown |= UNKNOWN_FAULTS | UNKNOWN_STATES;
	if (model->unknown & UNKNOWN_FAULTS)
		model->rate = NAN;
}

static void measure_self(struct collector *collector)
{
	__u64 cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);

	/* Too short a time would show the cost of one drawing as if it went on all the time. */
	if (wall - collector->wall_ns < NSEC_PER_SEC / 20)
		return;
	collector->cpu_percent =
		(double)(cpu - collector->cpu_ns) * 100 / (double)(wall - collector->wall_ns);
	collector->cpu_ns = cpu;
	collector->wall_ns = wall;
}

static __u64 resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (__u64)pages * (__u64)sysconf(_SC_PAGESIZE);
}

static void look_at_window(struct collector *collector, __u64 now_ns, __u64 elapsed)
{
	if (!collector->window_ns)
		return;
	collector->looked_ns = elapsed > collector->window_ns ? elapsed : collector->window_ns;
	collector->window_cut = live_look(collector->analysis, now_ns, collector->looked_ns);
}

int collect_observe(struct collector *collector, __u64 now_ns, __u64 interval_ns, bool ended)
{
	size_t devices = live_devices(collector->analysis, now_ns, interval_ns, NULL, 0);
	int error = collect_make_room(collector, devices);
	__u64 elapsed;

	if (error)
		return error;
	collector->interval_ns = interval_ns;
	elapsed = elapsed_ns(collector, now_ns);
	look_at_window(collector, now_ns, elapsed);
	collector->devices = live_devices(collector->analysis, now_ns, elapsed, collector->rows,
					  collector->room);
	error = tables_look(&collector->tables, collector->analysis, elapsed);
	worst_find(collector->analysis, &collector->worst);
	measure_rates(collector, elapsed);
	measure_ios(collector, now_ns, ended);
	collector->now_ns = now_ns;
	extend_curves(collector);
	measure_self(collector);
	return error;
}

int collect_model(struct collector *collector, struct top_model *model)
{
	if (model->device_room < collector->room) {
		struct top_device *more =
			reallocarray(model->devices, collector->room, sizeof(*more));

		if (!more)
			return failed(-ENOMEM, "no memory for %zu devices", collector->devices);
		model->devices = more;
		model->device_room = collector->room;
	}
	live_summary(collector->analysis, &model->summary);
	if (model->summary.host)
		snprintf(model->host, sizeof(model->host), "%s", model->summary.host->hostname);
	model->summary.host = NULL;
	model->summary.first_ns = start_ns(collector);
	session_kept_text(collector->analysis->session, model->kept);
	/* The first screen is from before the first interval. */
	model->now_ns = collector->now_ns ? collector->now_ns : start_ns(collector);
	if (!collector->now_ns)
		worst_find(collector->analysis, &collector->worst);
	model->interval_ns = collector->interval_ns;
	model->device_count = 0;
	model->faults = model->open = 0;
	model->rate = model->loss_rate = 0;
	model->rings = false;
	for (size_t i = 0; i < collector->devices; i++)
		if (collect_is_shown(collector->filter, collector->rows[i].info))
			take_device(collector, model, &collector->rows[i], &collector->curves[i]);
	for (int path = 0; path < PATH_COUNT; path++)
		model->watched[path] = watched_path(collector->analysis->session,
						    collector->analysis->silent, path)
					       .state;
	note_unknown(collector, model);
	model->self_cpu_percent = collector->cpu_percent;
	model->self_memory_bytes = resident_bytes();
	model->window_ns = collector->looked_ns;
	model->window_cut = collector->window_cut;
	model->worst = collector->worst;
	for (unsigned int v = 0; v < VIEWS; v++)
		model->counts[v] = collector->tables.now[v][LATENCY_SINCE_START].count;
	return collect_table(collector, model);
}

int collect_table(struct collector *collector, struct top_model *model)
{
	return tables_copy(&collector->tables, model->view, model->span, &model->table);
}

int collect_row(struct collector *collector, struct top_detail *detail,
		const struct top_view *shown)
{
	const struct view *view = views[shown->view];
	int error = 0;

	detail->row = shown->selected;

	top_detail_free(detail); /* another view may have more tables */
	for (int i = 0; !error && i < VIEW_TABLES && view->tables[i]; i++) {
		struct writer *writer;

		error = rows_writer(&writer, &detail->tables[i]);
		if (error)
			break;
		view->tables[i](collector->analysis, writer,
				&(struct table_wish){.span = shown->span});
		error = writer_close(writer);
	}
	return error;
}

void collect_detail(struct collector *collector, struct top_detail *detail, __u32 device)
{
	const struct invalidation_totals *invalidations =
		invalidations_of(collector->analysis->invalidations, device);
	size_t open;

	detail->device = device;
	detail->invalidations = detail->invalidation_p50_ns = detail->invalidation_p99_ns = 0;
	if (invalidations) {
		detail->invalidations = invalidations->counts.began;
		detail->invalidation_p50_ns = histogram_percentile(&invalidations->total, 50);
		detail->invalidation_p99_ns = histogram_percentile(&invalidations->total, 99);
	}
	open = live_open_faults(collector->analysis, device, detail->faults, TOP_FAULTS);
	if (open > TOP_FAULTS)
		open = TOP_FAULTS;
	detail->fault_count = open + live_faults(collector->analysis, device, detail->faults + open,
						 TOP_FAULTS - open);
}
