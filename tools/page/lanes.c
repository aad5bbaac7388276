// SPDX-License-Identifier: GPL-2.0
#include "tools/page/lanes.h"

#include "lib/analyze/slo.h"
#include "lib/output/html.h"
#include "tools/page/page_private.h"

#define LANES_MAX   24
#define LANE_HEIGHT 18
#define LANE_WIDTH  1000
#define LANE_TEXT   (2 * NAME_TEXT + DEVICE_NAME_TEXT)

/* The first violation of each stands for all of its lane. */
struct page_lanes {
	const struct slo_violation *first[LANES_MAX];
	size_t count;
	size_t left_out; /* of those that have no lane */
};

static bool in_lane(const struct slo_violation *a, const struct slo_violation *b)
{
	return a->objective == b->objective && a->metric == b->metric && a->device == b->device;
}

static void lanes_find(const struct page_draft *page, struct page_lanes *lanes)
{
	const struct slo *slo = page->analysis->slo;
	const struct slo_violation *v;

	*lanes = (struct page_lanes){0};
	for (size_t i = 0; slo && (v = slo_violation(slo, i)); i++) {
		size_t lane = 0;

		while (lane < lanes->count && !in_lane(lanes->first[lane], v))
			lane++;
		if (lane == LANES_MAX)
			lanes->left_out++;
		else if (lane == lanes->count)
			lanes->first[lanes->count++] = v;
	}
}

struct lane_span {
	__u64 from_ns, to_ns;
};

/* The next run of its violations from `*index` on; those closer to each other than a bin are one. */
static bool lane_next(const struct page_draft *page, const struct slo_violation *first,
		      size_t *index, struct lane_span *span)
{
	const struct slo *slo = page->analysis->slo;
	const struct slo_violation *v;
	bool any = false;

	for (; (v = slo_violation(slo, *index)); (*index)++) {
		if (!in_lane(first, v))
			continue;
		if (any && v->from_ns > span->to_ns + page->faults.bin_ns)
			return true;
		if (!any)
			*span = (struct lane_span){v->from_ns, v->to_ns};
		if (v->to_ns > span->to_ns)
			span->to_ns = v->to_ns;
		any = true;
	}
	return any;
}

static const char *lane_name(const struct page_draft *page, const struct slo_violation *v,
			     char text[LANE_TEXT])
{
	char device[DEVICE_NAME_TEXT];

	snprintf(text, LANE_TEXT, "%s: %s of %s", v->objective->name, slo_metric_name(v->metric),
		 session_device_name(page->analysis->session, v->device, device));
	return text;
}

static double lane_x(const struct page_draft *page, __u64 time_ns)
{
	const struct page_series *s = &page->faults;
	double length = (double)s->bin_ns * (double)s->count;

	return time_ns > s->begin_ns ? LANE_WIDTH * ((double)(time_ns - s->begin_ns) / length) : 0;
}

static void put_lane(const struct page_draft *page, const struct slo_violation *first, size_t lane)
{
	struct lane_span span;
	size_t index = 0;

	fputs("<path class=\"violated\" d=\"", page->out);
	while (lane_next(page, first, &index, &span)) {
		double from = lane_x(page, span.from_ns), to = lane_x(page, span.to_ns);

		fprintf(page->out, "M%.1f %zuH%.1f", from, lane * LANE_HEIGHT + LANE_HEIGHT / 2,
			to < from + 1 ? from + 1 : to);
	}
	fputs("\"/>\n", page->out);
}

size_t page_lanes_svg(const struct page_draft *page)
{
	char text[LANE_TEXT];
	struct page_lanes lanes;

	lanes_find(page, &lanes);
	if (!lanes.count)
		return 0;
	fprintf(page->out,
		"<figure id=\"plot-objectives\"><figcaption>Objectives violated</figcaption>\n"
		"<svg class=\"lanes\" viewBox=\"0 0 %d %zu\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"Objectives violated\">\n",
		LANE_WIDTH, lanes.count * LANE_HEIGHT);
	for (size_t i = 0; i < lanes.count; i++)
		put_lane(page, lanes.first[i], i);
	fputs("</svg>\n<ol class=\"lanes\">", page->out);
	for (size_t i = 0; i < lanes.count; i++) {
		fputs("<li>", page->out);
		html_text(page->out, lane_name(page, lanes.first[i], text));
		fputs("</li>", page->out);
	}
	fputs("</ol>\n", page->out);
	if (lanes.left_out)
		fprintf(page->out, "<p>And %zu violations of other objectives and devices.</p>\n",
			lanes.left_out);
	fputs("</figure>\n", page->out);
	return lanes.count;
}

void page_lanes_json(const struct page_draft *page)
{
	char text[LANE_TEXT];
	struct page_lanes lanes;

	lanes_find(page, &lanes);
	for (size_t i = 0; i < lanes.count; i++) {
		struct lane_span span;
		size_t index = 0;
		const char *next = "";

		fprintf(page->out, "%s\n{\"label\":", i ? "," : "");
		page_json_text(page->out, lane_name(page, lanes.first[i], text));
		fputs(",\"spans\":[", page->out);
		while (lane_next(page, lanes.first[i], &index, &span)) {
			fprintf(page->out, "%s[%lld,%lld]", next,
				(long long)(span.from_ns - page->faults.begin_ns),
				(long long)(span.to_ns - page->faults.begin_ns));
			next = ",";
		}
		fputs("]}", page->out);
	}
}
