// SPDX-License-Identifier: GPL-2.0
/* The detail screen: where one device's faults spend their time, and the latest of them. */
#include <stdio.h>
#include <string.h>

#include "lib/analyze/unknown.h"
#include "tools/top/draw.h"
#include "tools/top/format.h"

#define STAGE_NAME_WIDTH 9
#define NUMBER_WIDTH	 6
/* A stage that takes more than this share is the one to look at. */
#define SHARE_DOMINANT 0.5

/* Who the device is. */
static void add_identity(struct line *line, const struct top_device *device)
{
	const struct device_info *info = &device->info;
	static const char *const kinds[DEVICE_KIND_MAX] = {
		"device", "emulated",	    "PCI",	    "platform", "block", "IB",
		"netdev", "VFIO container", "IOMMU domain",
	};
	char text[SHORT_TEXT];

	line_add(line, 0, STYLE_STRONG, "%s", device->name);
	line_add(line, 2, STYLE_PLAIN, "%s %s",
		 kinds[info->kind < DEVICE_KIND_MAX ? info->kind : DEVICE_UNKNOWN], info->model);
	if (info->vm[0])
		line_add(line, 1, STYLE_PLAIN, "VM %s", info->vm);
	if (info->pid)
		line_add(line, 3, STYLE_PLAIN, "owner %s:%u", info->comm, info->pid);
	if (info->iommu_group >= 0)
		line_add(line, 6, STYLE_PLAIN, "group %d", info->iommu_group);
	if (info->queues)
		line_add(line, 5, STYLE_PLAIN, "queues %u", info->queues);
	if (info->memory)
		line_add(line, 4, STYLE_PLAIN, "reaches %s", short_bytes(text, info->memory));
}

static const char *duration_or_dash(char *text, __u64 ns)
{
	return ns ? short_duration(text, ns) : "-";
}

/* What became of its faults, and what else happened to it. */
static void add_fate(struct line *line, const struct top_device *device,
		     const struct top_detail *detail)
{
	const struct live_device *live = &device->live;
	char text[SHORT_TEXT], peak[SHORT_TEXT], last[SHORT_TEXT];

	bool judged = !(live->unknown & UNKNOWN_STATES);

	line_add(line, 0, STYLE_PLAIN, "complete %s",
		 judged ? short_count(text, live->complete) : "-");
	if (live->unfinished && judged)
		line_add(line, 1, STYLE_WARN, "unfinished %s", short_count(text, live->unfinished));
	line_add_bad(line, 1, "inconsistent", live->inconsistent, !judged);
	line_add_bad(line, 1, "overflowed", live->overflowed, live->unknown & UNKNOWN_OVERFLOWED);
	line_add_bad(line, 1, "discarded", live->discarded, live->unknown & UNKNOWN_DISCARDED);
	line_add_bad(line, 1, "abandoned", live->abandoned, live->unknown & UNKNOWN_ABANDONED);
	if (live->bursts)
		line_add(line, 2, STYLE_WARN, "bursts %s (peak %s/s)",
			 short_count(text, live->bursts), short_count(peak, live->peak));
	if (detail->invalidations)
		line_add(line, 3, STYLE_PLAIN, "invalidations %s (p50 %s, p99 %s)",
			 short_count(text, detail->invalidations),
			 duration_or_dash(peak, detail->invalidation_p50_ns),
			 duration_or_dash(last, detail->invalidation_p99_ns));
	if (live->ios)
		line_add(line, 4, STYLE_PLAIN, "I/O %s/s, %s of %s met a fault",
			 short_real(text, device->io_rate), short_count(peak, live->faulted_ios),
			 short_count(last, live->ios));
	if (live->slo != LIVE_SLO_NONE)
		line_add(line, 1, style_of_slo(live->slo), "SLO %s, %s violations",
			 slo_text(live->slo), short_count(text, live->slo_violations));
}

static void draw_about(struct canvas *canvas, const struct top_picture *picture,
		       const struct top_device *device)
{
	const struct rectangle *about = &picture->layout->about;
	struct line who = {0}, what = {0};

	add_identity(&who, device);
	line_draw(canvas, about->row, 0, about->columns, &who);
	if (about->rows < 2)
		return;
	add_fate(&what, device, picture->detail);
	line_draw(canvas, about->row + 1, 0, about->columns, &what);
}

/* What a row of the stage table shows; a whole fault looks like a stage with all of the time. */
static void draw_stage(struct canvas *canvas, const struct rectangle *area, int row,
		       const char *name, const struct live_stage *stage, bool dominant)
{
	enum style style = stage->count ? STYLE_PLAIN : STYLE_DIM;
	int column = area->column + STAGE_NAME_WIDTH + 1;
	char cells[5][SHORT_TEXT] = {"-", "-", "-", "-", "-"};

	if (row >= area->rows)
		return;
	if (dominant)
		style = STYLE_STRONG;
	row += area->row;
	canvas_text(canvas, row, area->column, STAGE_NAME_WIDTH, style, name);
	if (stage->merged)
		canvas_glyph(canvas, row, column - 1, '+', STYLE_WARN);
	short_count(cells[0], stage->count);
	if (stage->count) {
		short_duration(cells[1], stage->p50_ns);
		short_duration(cells[2], stage->p99_ns);
		short_duration(cells[3], stage->max_ns);
		snprintf(cells[4], SHORT_TEXT, "%.0f%%", stage->share * 100);
	}
	for (int i = 0; i < 5; i++, column += NUMBER_WIDTH + 1)
		canvas_right(canvas, row, column, NUMBER_WIDTH, style, cells[i]);
	canvas_bar(canvas, row, column, area->column + area->columns - column, stage->share,
		   dominant ? STYLE_WARN : STYLE_PLAIN);
}

static void draw_stages(struct canvas *canvas, const struct top_picture *picture,
			const struct live_latency *live)
{
	const struct rectangle *area = &picture->layout->stages;
	const struct live_stage whole = {.count = live->count,
					 .p50_ns = live->p50_ns,
					 .p99_ns = live->p99_ns,
					 .max_ns = live->max_ns,
					 .share = live->count ? 1 : 0};

	if (!area->rows)
		return;
	canvas_style(canvas, area->row, area->column, area->columns, STYLE_HEAD);
	canvas_text(canvas, area->row, area->column, area->columns, STYLE_HEAD,
		    "STAGE       COUNT    P50    P99    MAX  SHARE");
	/* The whole fault comes last: on a low screen the stages matter more. */
	for (unsigned int stage = 0; stage < STAGES; stage++)
		draw_stage(canvas, area, (int)stage + 1, stage_name(stage), &live->stages[stage],
			   live->stages[stage].share > SHARE_DOMINANT);
	draw_stage(canvas, area, STAGES + 1, "whole", &whole, false);
}

static void draw_history(struct canvas *canvas, const struct top_picture *picture,
			 const struct top_device *device)
{
	const struct rectangle *area = &picture->layout->history;
	struct rectangle plot = *area;
	char head[96], peak_text[SHORT_TEXT], now[SHORT_TEXT];
	__u32 shown, skip;
	float peak = 0;

	if (!area->rows)
		return;
	shown = device->history_count < (__u32)area->columns ? device->history_count
							     : (__u32)area->columns;
	skip = device->history_count - shown;
	for (__u32 i = skip; i < device->history_count; i++)
		if (device->history[i] > peak)
			peak = device->history[i];
	canvas_style(canvas, area->row, area->column, area->columns, STYLE_HEAD);
	snprintf(head, sizeof(head), "FAULTS/s  now %s  peak %s  last %us",
		 short_real(now, device->live.rate), short_real(peak_text, peak), shown);
	canvas_text(canvas, area->row, area->column, area->columns, STYLE_HEAD, head);
	plot.row++;
	plot.rows--;
	canvas_sparkline(canvas, &plot, device->history + skip, shown, peak, STYLE_PLAIN);
}

static enum style style_of_fault(const struct fault *fault)
{
	if (fault->state == FAULT_INCONSISTENT || fault->state == FAULT_OVERFLOWED ||
	    fault->code != RESPONSE_SUCCESS)
		return STYLE_BAD;
	return fault->state == FAULT_COMPLETE ? STYLE_PLAIN : STYLE_WARN;
}

static void fault_line(char *text, size_t size, const struct fault *fault, unsigned int unknown,
		       const struct wall_clock *clock)
{
	char time[CLOCK_TEXT], number[SHORT_TEXT] = "-", queue[SHORT_TEXT] = "-";
	__u64 total = fault_total_ns(fault);
	struct stage_times times;
	size_t used;

	if (fault->queue != QUEUE_NONE)
		snprintf(queue, sizeof(queue), "%u", fault->queue);
	if (total)
		short_duration(number, total);
	used = (size_t)snprintf(text, size, "%-12.12s %12llx %2s %c%c%c %5s",
				clock_text(time, clock, fault_first_ns(fault), true),
				(unsigned long long)fault->address, queue,
				fault->flags & EVENT_READ ? 'R' : '-',
				fault->flags & EVENT_WRITE ? 'W' : '-',
				fault->flags & EVENT_MAJOR  ? 'M'
				: fault_effort_known(fault) ? '-'
							    : '?',
				number);
	stage_times(fault, &times);
	for (unsigned int stage = 0; stage < STAGES && used < size; stage++) {
		bool measured = times.measured & 1u << stage;

		used += (size_t)snprintf(text + used, size - used, "%c%5s",
					 times.merged & 1u << stage ? '+' : ' ',
					 measured ? short_duration(number, times.ns[stage]) : "-");
	}
	if (used < size)
		snprintf(text + used, size - used, "  %s, response %s",
			 unknown_state_name(unknown, fault->state), fault_response_name(fault));
}

static void draw_faults(struct canvas *canvas, const struct top_picture *picture)
{
	const struct rectangle *area = &picture->layout->faults;
	const struct top_detail *detail = picture->detail;
	const struct top_device *device = top_find(picture->model, detail->device);
	unsigned int unknown = device ? device->live.unknown : 0;
	size_t first = (size_t)picture->view->fault_first;
	char text[192];

	if (!area->rows)
		return;
	canvas_style(canvas, area->row, area->column, area->columns, STYLE_HEAD);
	canvas_text(canvas, area->row, area->column, area->columns, STYLE_HEAD,
		    "LAST FAULTS       ADDRESS  Q RWM TOTAL REQST DELIV DISPT RESOL   MAP RESPD "
		    "RESUM  STATE");
	if (!detail->fault_count)
		canvas_text(canvas, area->row + 1, area->column, area->columns, STYLE_DIM, "none");
	if (first >= detail->fault_count)
		first = detail->fault_count ? detail->fault_count - 1 : 0;
	for (size_t i = 0; i + 1 < (size_t)area->rows && first + i < detail->fault_count; i++) {
		const struct fault *fault = &detail->faults[first + i];

		fault_line(text, sizeof(text), fault, unknown, picture->model->summary.clock);
		canvas_text(canvas, area->row + 1 + (int)i, area->column, area->columns,
			    style_of_fault(fault), text);
	}
}

void draw_detail(struct canvas *canvas, const struct top_picture *picture)
{
	const struct top_device *device = top_find(picture->model, picture->detail->device);

	if (!device) {
		canvas_text(canvas, picture->layout->body.row, 0, canvas->columns, STYLE_WARN,
			    "This device is not shown any more; q goes back.");
		return;
	}
	if (picture->layout->about.rows)
		draw_about(canvas, picture, device);
	draw_stages(canvas, picture, top_latency(picture->model, device));
	draw_history(canvas, picture, device);
	draw_faults(canvas, picture);
}
