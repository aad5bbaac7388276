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

struct batch_row {
	const struct top_model *model;
	const struct top_device *device;
	const struct live_latency *latency;
	char slowest[STAGE_MARKED_TEXT];
};

static __u64 batch_known(const struct batch_row *row, unsigned int number, __u64 value)
{
	return count_if(!(row->device->live.unknown & number), value);
}

/* How many faults the slowest stage holds the time of stages before it. */
static __u64 slowest_merged(const struct live_latency *latency)
{
	return latency->slowest_stage < STAGES ? latency->stages[latency->slowest_stage].merged : 0;
}

#define TOP(COLUMN)                                                                                \
	COLUMN(time, none, TIME, 30, WIDE, row->model->now_ns)                                     \
	COLUMN(device, none, TEXT, 13, SHOWN, row->device->name)                                   \
	COLUMN(owner, none, TEXT, 16, WIDE, row->device->owner)                                    \
	COLUMN(rate, per_s, REAL, 6, SHOWN, row->device->live.rate)                                \
	COLUMN(faults, none, COUNT, 6, SHOWN,                                                      \
	       batch_known(row, UNKNOWN_FAULTS, row->device->live.faults))                         \
	COLUMN(p50, none, DURATION, 6, SHOWN, count_if(row->latency->count, row->latency->p50_ns)) \
	COLUMN(p99, none, DURATION, 6, SHOWN, count_if(row->latency->count, row->latency->p99_ns)) \
	COLUMN(max, none, DURATION, 6, SHOWN, count_if(row->latency->count, row->latency->max_ns)) \
	COLUMN(slowest, none, TEXT, 9, SHOWN, row->slowest)                                        \
	COLUMN(blocked, percent, REAL, 8, SHOWN, row->device->live.blocked_percent)                \
	COLUMN(slo, none, TEXT, 4, SHOWN, slo_text(row->device->live.slo))                         \
	COLUMN(open, none, COUNT, 6, WIDE,                                                         \
	       batch_known(row, UNKNOWN_STATES, row->device->live.open))                           \
	COLUMN(unfinished, none, COUNT, 10, WIDE,                                                  \
	       batch_known(row, UNKNOWN_STATES, row->device->live.unfinished))                     \
	COLUMN(inconsistent, none, COUNT, 12, WIDE,                                                \
	       batch_known(row, UNKNOWN_STATES, row->device->live.inconsistent))                   \
	COLUMN(overflowed, none, COUNT, 10, WIDE,                                                  \
	       batch_known(row, UNKNOWN_OVERFLOWED, row->device->live.overflowed))                 \
	COLUMN(discarded, none, COUNT, 9, WIDE,                                                    \
	       batch_known(row, UNKNOWN_DISCARDED, row->device->live.discarded))                   \
	COLUMN(abandoned, none, COUNT, 9, WIDE,                                                    \
	       batch_known(row, UNKNOWN_ABANDONED, row->device->live.abandoned))                   \
	COLUMN(bursts, none, COUNT, 6, WIDE,                                                       \
	       batch_known(row, UNKNOWN_FAULTS, row->device->live.bursts))                         \
	COLUMN(footprint, none, BYTES, 9, WIDE,                                                    \
	       batch_known(row, UNKNOWN_IO, row->device->live.footprint_bytes))                    \
	COLUMN(io_rate, per_s, REAL, 9, WIDE, row->device->io_rate)                                \
	COLUMN(lost, events, COUNT, 11, WIDE, top_lost(&row->model->summary.loss))                 \
	COLUMN(floor, none, TEXT, 20, WIDE, floor_text(row->model->summary.floor, text))           \
	COLUMN(self_cpu, percent, REAL, 9, WIDE, row->model->self_cpu_percent)                     \
	COLUMN(self_memory, none, BYTES, 11, WIDE, row->model->self_memory_bytes)                  \
	COLUMN(merged, none, COUNT, 6, WIDE, slowest_merged(row->latency))                         \
	COLUMN(handle, none, COUNT, 6, WIDE, count_or_none(row->device->live.handle))              \
	COLUMN(ios, none, COUNT, 6, WIDE, batch_known(row, UNKNOWN_IO, row->device->ios))
TABLE(top, NULL, TOP, struct batch_row, void)

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
		options->view == VIEW_FAULTS ? top_table.name : views[options->view]->name, NULL};
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

static void batch_write_device(struct batch *batch, const struct top_model *model,
			       const struct top_device *device)
{
	struct batch_row row = {model, device, top_latency(model, device), "-"};
	bool merged = batch->text && slowest_merged(row.latency);

	/* Marked for people; `batch->marked` then owes them what the mark means. */
	batch->marked |= merged;
	if (row.latency->slowest_stage < STAGES)
		stage_marked_name(row.latency->slowest_stage, merged, row.slowest);
	writer_row(batch->writer, &row);
}

/* The sum of the devices shown. Latencies do not add up. */
static void batch_write_all(struct batch *batch, const struct top_model *model)
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
	batch_write_device(batch, model, &all);
}

static void write_totals(struct batch *batch, const struct top_model *model)
{
	const struct live_summary *summary = &model->summary;
	__u64 lost = top_lost(&summary->loss);
	char time[CLOCK_TEXT], rate[SHORT_TEXT], memory[SHORT_TEXT], elapsed[SHORT_TEXT];
	char totals[VIEW_TOTALS], span[SPAN_WORDS], times[SPAN_WORDS + 16] = "";
	char floor[FLOOR_TEXT], frames[SHORT_TEXT + 16] = "";

	if (model->rings && !batch->view)
		snprintf(frames, sizeof(frames), ", %s frames lost/s",
			 short_real(rate, model->loss_rate));
	if (batch->view)
		snprintf(totals, sizeof(totals), "%s", model->table.totals);
	else if (model->unknown & UNKNOWN_FAULTS)
		snprintf(totals, sizeof(totals), "faults were not %swatched%s",
			 model->faults ? "all " : "", frames);
	else
		snprintf(totals, sizeof(totals), "%s faults/s, %llu%s",
			 short_real(rate, model->rate), (unsigned long long)model->faults, frames);
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
static void batch_write_nothing(struct batch *batch, const struct top_model *model)
{
	writer_note(batch->writer, "No device.");
	for (int path = 0; !batch->told && path < PATH_COUNT; path++)
		if (model->watched[path] != WATCHED_UNKNOWN)
			writer_note(batch->writer, "%s: %s", path_name(path),
				    watched_state_name(model->watched[path]));
	batch->told = true;
}

static void write_devices(struct batch *batch, const struct top_model *model, const __u32 *order,
			  size_t count)
{
	if (!batch->begun && (count || !batch->text))
		writer_begin(batch->writer, &top_table);
	batch->begun = !batch->text;
	if (!batch->text)
		batch_write_all(batch, model);
	for (size_t i = 0; i < count; i++)
		batch_write_device(batch, model, &model->devices[order[i]]);
	if (batch->text && count)
		writer_end(batch->writer);
	if (batch->marked)
		writer_note(batch->writer, STAGE_MERGED_NOTE);
	batch->marked = false;
}

int batch_interval(struct batch *batch, const struct top_model *model, const __u32 *order,
		   size_t count)
{
	tell_clock(batch, model->summary.clock);
	if (batch->text) {
		write_totals(batch, model);
		write_worst(batch, model);
		tell_kept(batch, model);
		if (!count && !batch->view)
			batch_write_nothing(batch, model);
	}
	if (batch->rows && count > batch->rows)
		count = batch->rows;
	if (batch->view)
		writer_fail(batch->writer, batch_view_interval(batch->view, model, order, count));
	else
		write_devices(batch, model, order, count);
	return writer_flush(batch->writer);
}

int batch_close(struct batch *batch)
{
	int error;

	if (!batch)
		return 0;
	batch_view_close(batch->view);
	/* A JSON document without any interval is still a document with its table. */
	if (!batch->begun && !batch->text && !batch->view)
		batch->begun = !writer_begin(batch->writer, &top_table);
	if (batch->begun)
		writer_end(batch->writer);
	error = writer_close(batch->writer);
	free(batch);
	return error;
}
