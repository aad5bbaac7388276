// SPDX-License-Identifier: GPL-2.0
#include "tools/top/batch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "tools/top/batch_view.h"
#include "tools/top/draw.h"
#include "tools/top/format.h"

static const struct column columns[] = {
	{"time", NULL, COLUMN_TIME, 30, true},
	{"device", NULL, COLUMN_TEXT, 13, false},
	{"owner", NULL, COLUMN_TEXT, 16, true},
	{"rate", "per_s", COLUMN_REAL, 6, false},
	{"faults", NULL, COLUMN_COUNT, 6, false},
	{"p50", NULL, COLUMN_DURATION, 6, false},
	{"p99", NULL, COLUMN_DURATION, 6, false},
	{"max", NULL, COLUMN_DURATION, 6, false},
	{"slowest", NULL, COLUMN_TEXT, 9, false},
	{"blocked", "percent", COLUMN_REAL, 8, false},
	{"slo", NULL, COLUMN_TEXT, 4, false},
	{"open", NULL, COLUMN_COUNT, 6, true},
	{"unfinished", NULL, COLUMN_COUNT, 10, true},
	{"inconsistent", NULL, COLUMN_COUNT, 12, true},
	{"overflowed", NULL, COLUMN_COUNT, 10, true},
	{"discarded", NULL, COLUMN_COUNT, 9, true},
	{"abandoned", NULL, COLUMN_COUNT, 9, true},
	{"bursts", NULL, COLUMN_COUNT, 6, true},
	{"footprint", NULL, COLUMN_BYTES, 9, true},
	{"io_rate", "per_s", COLUMN_REAL, 9, true},
	{"lost", "events", COLUMN_COUNT, 11, true},
	{"floor", NULL, COLUMN_TEXT, 20, true},
	{"self_cpu", "percent", COLUMN_REAL, 9, true},
	{"self_memory", NULL, COLUMN_BYTES, 11, true},
	{"merged", NULL, COLUMN_COUNT, 6, true},
	{"handle", NULL, COLUMN_COUNT, 6, true},
	{"ios", NULL, COLUMN_COUNT, 6, true},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static const struct table table = {
	.name = "top",
	.columns = columns,
	.column_count = COLUMNS,
};

struct batch {
	struct writer *writer;
	bool text;
	bool begun;
	bool marked;	/* a stage of this interval's table */
	size_t anchors; /* the writer knows so many */
	bool told;	/* which paths are watched */
	bool told_kept; /* what a flight recorder let go */
	size_t rows;
	struct batch_view *view; /* NULL: the devices */
};

int batch_open(struct batch **batch, const struct top_options *options, FILE *file)
{
	const struct writer_config config = {.format = options->to.format,
					     .path = options->to.path,
					     .file = file,
					     .growing = true};
	const char *const tables[] = {
		options->view == VIEW_FAULTS ? table.name : views[options->view]->name, NULL};
	struct batch *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return failed(-ENOMEM, "no memory for the output");
	made->text = options->to.format == OUTPUT_TEXT;
	made->rows = options->rows;
	error = writer_open(&made->writer, &config);
	if (!error && (error = writer_announce(made->writer, tables)))
		writer_abandon(made->writer);
	if (!error && options->view != VIEW_FAULTS)
		error = batch_view_open(&made->view, views[options->view], made->writer, file,
					made->text);
	if (error) {
		free(made);
		return error;
	}
	*batch = made;
	return 0;
}

/* Marked for people; `batch->marked` then owes them what the mark means. */
static const char *slowest_text(struct batch *batch, const struct live_latency *live,
				char text[STAGE_MARKED_TEXT])
{
	bool merged = live->slowest_stage < STAGES && live->stages[live->slowest_stage].merged;

	if (live->slowest_stage == STAGES)
		return "-";
	batch->marked |= merged && batch->text;
	return stage_marked_name(live->slowest_stage, merged && batch->text, text);
}

static int write_device(struct batch *batch, const struct top_model *model,
			const struct top_device *device)
{
	const struct live_latency *latency = top_latency(model, device);
	const struct live_device *live = &device->live;
	char floor[FLOOR_TEXT], slowest[STAGE_MARKED_TEXT];
	bool any = latency->count > 0, known = !(live->unknown & UNKNOWN_FAULTS),
	     judged = !(live->unknown & UNKNOWN_STATES);
	const union cell cells[COLUMNS] = {
		{.count = model->now_ns},
		{.text = device->name},
		{.text = device->owner},
		{.real = live->rate},
		cell_if(known, live->faults),
		cell_if(any, latency->p50_ns),
		cell_if(any, latency->p99_ns),
		cell_if(any, latency->max_ns),
		{.text = slowest_text(batch, latency, slowest)},
		{.real = live->blocked_percent},
		{.text = slo_text(live->slo)},
		cell_if(judged, live->open),
		cell_if(judged, live->unfinished),
		cell_if(judged, live->inconsistent),
		cell_if(!(live->unknown & UNKNOWN_OVERFLOWED), live->overflowed),
		cell_if(!(live->unknown & UNKNOWN_DISCARDED), live->discarded),
		cell_if(!(live->unknown & UNKNOWN_ABANDONED), live->abandoned),
		cell_if(known, live->bursts),
		cell_if(!(live->unknown & UNKNOWN_IO), live->footprint_bytes),
		{.real = device->io_rate},
		{.count = top_lost(&model->summary.loss)},
		{.text = floor_text(model->summary.floor, floor)},
		{.real = model->self_cpu_percent},
		{.count = model->self_memory_bytes},
		{.count = latency->slowest_stage < STAGES
				  ? latency->stages[latency->slowest_stage].merged
				  : 0},
		cell_if(live->handle, live->handle),
		cell_if(!(live->unknown & UNKNOWN_IO), device->ios),
	};

	return writer_row(batch->writer, cells);
}

/* The sum of the devices shown. Latencies do not add up. */
static int write_all(struct batch *batch, const struct top_model *model)
{
	struct top_device all = {.live = {.rate = model->rate,
					  .faults = model->faults,
					  .open = model->open,
					  .unknown = model->unknown,
					  .blocked_percent = NAN},
				 .name = "all"};

	for (unsigned int s = 0; s < LATENCY_SPANS; s++)
		all.live.latency[s].slowest_stage = STAGES;
	for (size_t i = 0; i < model->device_count; i++) {
		const struct live_device *live = &model->devices[i].live;

		all.live.unfinished += live->unfinished;
		all.live.inconsistent += live->inconsistent;
		all.live.overflowed += live->overflowed;
		all.live.discarded += live->discarded;
		all.live.abandoned += live->abandoned;
		all.live.unknown |= live->unknown;
		all.live.bursts += live->bursts;
		all.live.footprint_bytes += live->footprint_bytes;
		all.io_rate += model->devices[i].io_rate;
		all.ios += model->devices[i].ios;
		if (live->slo > all.live.slo)
			all.live.slo = live->slo;
	}
	return write_device(batch, model, &all);
}

static void write_totals(struct batch *batch, const struct top_model *model)
{
	const struct live_summary *summary = &model->summary;
	__u64 lost = top_lost(&summary->loss);
	char time[CLOCK_TEXT], rate[SHORT_TEXT], memory[SHORT_TEXT], elapsed[SHORT_TEXT];
	char totals[VIEW_TOTALS], span[SPAN_WORDS], times[SPAN_WORDS + 16] = "";
	char floor[FLOOR_TEXT];

	if (batch->view)
		snprintf(totals, sizeof(totals), "%s", model->table.totals);
	else if (model->unknown & UNKNOWN_FAULTS)
		snprintf(totals, sizeof(totals), "faults were not %swatched",
			 model->faults ? "all " : "");
	else
		snprintf(totals, sizeof(totals), "%s faults/s, %llu", short_real(rate, model->rate),
			 (unsigned long long)model->faults);
	if (views[model->view]->windowed)
		snprintf(times, sizeof(times), "; times %s", draw_span(model, span));
	writer_note(batch->writer,
		    "%s UTC: %s in %s%s; lost %llu of %llu events; probes %zu on, "
		    "%zu off%s; self %.1f%% CPU, %s%s",
		    clock_text(time, summary->clock, model->now_ns, false), totals,
		    short_span(elapsed, top_elapsed(model)), summary->floor ? " (floors)" : "",
		    (unsigned long long)lost, (unsigned long long)(top_received(summary) + lost),
		    summary->probes_on, summary->probes_off,
		    summary->probes_silent ? ", some silent" : "", model->self_cpu_percent,
		    short_bytes(memory, model->self_memory_bytes), times);
	if (summary->loss.turned_away)
		writer_note(batch->writer,
			    "Turned away: %llu calls of probes by other users' processes.",
			    summary->loss.turned_away);
	if (summary->floor)
		writer_note(batch->writer, "Counts are floors: %s.",
			    floor_text(summary->floor, floor));
}

static void write_worst(struct batch *batch, const struct top_model *model)
{
	char text[FINDING_TEXT];

	writer_note(batch->writer, "%s.", draw_finding_text(&model->worst, text));
}

/* Once: a recording has one beginning. */
static void tell_kept(struct batch *batch, const struct top_model *model)
{
	if (!batch->told_kept && *model->kept)
		writer_note(batch->writer, "%s", model->kept);
	batch->told_kept |= *model->kept;
}

/* The writer keeps what it was told: only what is new. */
static void tell_clock(struct batch *batch, const struct wall_clock *clock)
{
	for (; clock && batch->anchors < clock->count; batch->anchors++)
		writer_clock(batch->writer, &clock->anchors[batch->anchors]);
}

/* Once, as it does not change; then only that there is still nothing. */
static int write_nothing(struct batch *batch, const struct top_model *model)
{
	int error = writer_note(batch->writer, "No device.");

	for (int path = 0; !batch->told && !error && path < PATH_COUNT; path++)
		if (model->watched[path] != WATCHED_UNKNOWN)
			error = writer_note(batch->writer, "%s: %s", path_name(path),
					    watched_state_name(model->watched[path]));
	batch->told = true;
	return error;
}

static int write_devices(struct batch *batch, const struct top_model *model, const __u32 *order,
			 size_t count)
{
	int error = 0;

	if (!batch->begun && (count || !batch->text))
		error = writer_begin(batch->writer, &table);
	batch->begun = !batch->text;
	if (!batch->text)
		error = write_all(batch, model);
	for (size_t i = 0; i < count && !error; i++)
		error = write_device(batch, model, &model->devices[order[i]]);
	if (batch->text && count)
		error = writer_end(batch->writer);
	if (batch->marked)
		writer_note(batch->writer, STAGE_MERGED_NOTE);
	batch->marked = false;
	return error;
}

int batch_interval(struct batch *batch, const struct top_model *model, const __u32 *order,
		   size_t count)
{
	int error = 0;

	tell_clock(batch, model->summary.clock);
	if (batch->text) {
		write_totals(batch, model);
		write_worst(batch, model);
		tell_kept(batch, model);
		if (!count && !batch->view)
			error = write_nothing(batch, model);
	}
	if (batch->rows && count > batch->rows)
		count = batch->rows;
	if (batch->view)
		error = batch_view_interval(batch->view, model, order, count);
	else
		error = write_devices(batch, model, order, count);
	return error ? error : writer_flush(batch->writer);
}

int batch_close(struct batch *batch)
{
	int error;

	if (!batch)
		return 0;
	batch_view_close(batch->view);
	/* A JSON document without any interval is still a document with its table. */
	if (!batch->begun && !batch->text && !batch->view)
		batch->begun = !writer_begin(batch->writer, &table);
	if (batch->begun)
		writer_end(batch->writer);
	error = writer_close(batch->writer);
	free(batch);
	return error;
}
