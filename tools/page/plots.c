// SPDX-License-Identifier: GPL-2.0
/* The plots of a page: as SVG for whoever has no script, and their numbers for the one that we have. */
#include <math.h>
#include <string.h>

#include "lib/analyze/session.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"
#include "lib/output/html.h"
#include "tools/page/lanes.h"
#include "tools/page/page_private.h"

#define SVG_WIDTH  1000
#define SVG_HEIGHT 120
#define SERIES_MAX 3

enum curve_kind {
	CURVE_COUNT, /* how many values a bin has */
	CURVE_BARS,  /* from 0 to the greatest */
	CURVE_RANGE, /* from the least to the greatest */
};

struct plot_curve {
	const char *label;
	enum curve_kind kind;
	const struct page_series *series;
};

struct plot {
	const char *id, *title;
	bool time; /* values are ns, drawn on a logarithmic scale */
	struct plot_curve curves[SERIES_MAX];
};

#define PLOTS 4

static void page_plots(const struct page_draft *page, struct plot plots[PLOTS])
{
	const struct plot all[PLOTS] = {
		{"plot-faults", "Faults", false, {{"faults", CURVE_COUNT, &page->faults}}},
		{"plot-latency",
		 "Time of faults, first to last stage seen",
		 true,
		 {{"faults", CURVE_RANGE, &page->faults}}},
		{"plot-ios", "I/Os per second", false, {{"I/Os", CURVE_BARS, &page->ios}}},
		{"plot-io-latency",
		 "Latency of I/Os",
		 true,
		 {{"recorded one by one", CURVE_RANGE, &page->io_single},
		  {"slowest of each second", CURVE_RANGE, &page->io_most},
		  {"mean of each second", CURVE_RANGE, &page->io_mean}}},
	};

	memcpy(plots, all, sizeof(all));
}

static bool plot_any(const struct plot *plot)
{
	for (size_t i = 0; i < SERIES_MAX; i++)
		if (plot->curves[i].series && page_series_any(plot->curves[i].series))
			return true;
	return false;
}

/* From where to where a curve goes in these bins. */
static bool curve_span(const struct plot_curve *curve, const struct page_bin *bin, double *low,
		       double *high)
{
	*low = curve->kind == CURVE_RANGE ? (double)bin->least : 0;
	*high = curve->kind == CURVE_COUNT ? (double)bin->count : (double)bin->most;
	return bin->count;
}

struct plot_scale {
	double low, high;
	bool logarithmic;
};

static struct plot_scale plot_scale(const struct plot *plot)
{
	struct plot_scale scale = {INFINITY, 1, plot->time};
	double low, high;

	for (size_t c = 0; c < SERIES_MAX && plot->curves[c].series; c++)
		for (size_t i = 0; i < SVG_WIDTH; i++) {
			struct page_bin bin =
				page_series_column(plot->curves[c].series, i, SVG_WIDTH);

			if (!curve_span(&plot->curves[c], &bin, &low, &high))
				continue;
			scale.low = fmin(scale.low, low);
			scale.high = fmax(scale.high, high);
		}
	if (!scale.logarithmic)
		scale.low = 0;
	scale.low = scale.logarithmic ? fmax(scale.low, 1) / 1.2 : scale.low;
	return scale;
}

static double plot_y(const struct plot_scale *scale, double value)
{
	double share = scale->logarithmic ? log(fmax(value, scale->low) / scale->low) /
						    log(fmax(scale->high / scale->low, 1.01))
					  : (value - scale->low) / (scale->high - scale->low);

	return (SVG_HEIGHT - 4) * (1 - share) + 2;
}

static void put_curve(FILE *out, const struct plot_scale *scale, const struct plot_curve *curve,
		      size_t number)
{
	double low, high;

	fprintf(out, "<path class=\"c%zu\" d=\"", number);
	for (size_t i = 0; i < SVG_WIDTH; i++) {
		struct page_bin bin = page_series_column(curve->series, i, SVG_WIDTH);

		if (curve_span(curve, &bin, &low, &high))
			fprintf(out, "M%zu %.0fV%.0f", i, plot_y(scale, low) + 1,
				plot_y(scale, high) - 1);
	}
	fputs("\"/>\n", out);
}

static void put_value(FILE *out, const struct plot *plot, double value)
{
	char text[UNITS_TEXT];

	if (plot->time)
		fputs(units_format_duration((__u64)value, text), out);
	else
		fprintf(out, "%.0f", value);
}

/* What the plot says in words; for a count per bin, how long those are. */
static void put_caption(const struct page_draft *page, const struct plot *plot,
			const struct plot_scale *scale)
{
	char text[UNITS_TEXT];

	fputs("<figcaption>", page->out);
	html_text(page->out, plot->title);
	if (plot->curves[0].kind == CURVE_COUNT) {
		/* Of a column of the SVG, which may hold several bins. */
		const struct page_series *s = plot->curves[0].series;

		fprintf(page->out, " within <span class=\"bin\">%s</span>",
			units_format_duration(s->bin_ns * s->count /
						      (s->count < SVG_WIDTH ? s->count : SVG_WIDTH),
					      text));
	}
	fputs(", at most <b class=\"most\">", page->out);
	put_value(page->out, plot, scale->high);
	fputs("</b></figcaption>\n", page->out);
}

static void put_plot(const struct page_draft *page, const struct plot *plot)
{
	struct plot_scale scale = plot_scale(plot);

	fprintf(page->out, "<figure id=\"%s\">", plot->id);
	put_caption(page, plot, &scale);
	fprintf(page->out,
		"<svg class=\"plot\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"",
		SVG_WIDTH, SVG_HEIGHT);
	html_text(page->out, plot->title);
	fputs("\">\n", page->out);
	for (size_t c = 0; c < SERIES_MAX && plot->curves[c].series; c++)
		put_curve(page->out, &scale, &plot->curves[c], c);
	fputs("</svg>\n", page->out);
	if (plot->curves[1].series) {
		fputs("<p class=\"key\">", page->out);
		for (size_t c = 0; c < SERIES_MAX && plot->curves[c].series; c++)
			fprintf(page->out, "<span><i class=\"c%zu\"></i>%s</span> ", c,
				plot->curves[c].label);
		fputs("</p>\n", page->out);
	}
	fputs("</figure>\n", page->out);
}

void page_write_plots(const struct page_draft *page)
{
	const struct session *session = page->analysis->session;
	char from[SESSION_WHEN_TEXT], to[SESSION_WHEN_TEXT];
	struct plot plots[PLOTS];
	size_t told = 0;

	page_plots(page, plots);
	fprintf(page->out, "<p id=\"span\">%s to %s</p>\n<div id=\"plots\">\n",
		session_when(session, page->faults.begin_ns, from),
		session_when(session,
			     page->faults.begin_ns + page->faults.bin_ns * page->faults.count, to));
	for (size_t i = 0; i < PLOTS; i++)
		if (plot_any(&plots[i])) {
			put_plot(page, &plots[i]);
			told++;
		}
	told += page_lanes_svg(page);
	fputs("</div>\n", page->out);
	if (!told)
		fputs("<p>Neither a fault nor an I/O was recorded.</p>\n", page->out);
}

/* Printable ASCII without what ends an element. */
void page_json_text(FILE *out, const char *text)
{
	struct printable shown = printable_of(text);

	putc('"', out);
	for (const char *c = shown.text; *c; c++)
		if (strchr("\"\\<>&", *c))
			fprintf(out, "\\u%04x", *c);
		else
			putc(*c, out);
	putc('"', out);
}

static void put_bins(const struct page_draft *page, const struct plot_curve *curve)
{
	const struct page_series *s = curve->series;
	const char *next = "";

	fprintf(page->out,
		"{\"label\":\"%s\",\"kind\":%u,\"begin_ns\":%lld,\"bin_ns\":%llu,\"bins\":[",
		curve->label, curve->kind, (long long)(s->begin_ns - page->faults.begin_ns),
		s->bin_ns);
	for (size_t i = 0; i < s->count; i++)
		if (s->bins[i].count) {
			fprintf(page->out, "%s[%zu,%llu,%llu,%llu]", next, i, s->bins[i].least,
				s->bins[i].most, s->bins[i].count);
			next = ",";
		}
	fputs("]}", page->out);
}

void page_write_data(const struct page_draft *page)
{
	__u64 wall = wall_clock_at(session_clock(page->analysis->session), page->faults.begin_ns);
	struct plot plots[PLOTS];
	const char *next = "";

	page_plots(page, plots);
	fprintf(page->out,
		"<script type=\"application/json\" id=\"data\">{\"wall_ns\":\"%llu\",\"span_ns\":%llu,"
		"\"plots\":[",
		wall, page->faults.bin_ns * page->faults.count);
	for (size_t i = 0; i < PLOTS; i++) {
		if (!plot_any(&plots[i]))
			continue;
		fprintf(page->out, "%s\n{\"id\":\"%s\",\"time\":%s,\"series\":[", next, plots[i].id,
			plots[i].time ? "true" : "false");
		for (size_t c = 0; c < SERIES_MAX && plots[i].curves[c].series; c++) {
			fputs(c ? ",\n" : "", page->out);
			put_bins(page, &plots[i].curves[c]);
		}
		fputs("]}", page->out);
		next = ",";
	}
	fputs("],\"lanes\":[", page->out);
	page_lanes_json(page);
	fputs("]}</script>\n", page->out);
}
