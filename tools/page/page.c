// SPDX-License-Identifier: GPL-2.0
#include "tools/page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/floor.h"
#include "lib/base/fail.h"
#include "lib/output/html.h"
#include "tools/page/assets.h"
#include "tools/page/page_private.h"

/* Nothing is asked for, and no script or style runs but those that are here. */
static void put_policy(FILE *out)
{
	fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
	      "form-action 'none'; img-src data:; style-src",
	      out);
	for (size_t i = 0; i < page_asset_count; i++)
		if (page_assets[i].style)
			fprintf(out, " '%s'", page_assets[i].hash);
	fputs("; script-src", out);
	for (size_t i = 0; i < page_asset_count; i++)
		if (!page_assets[i].style)
			fprintf(out, " '%s'", page_assets[i].hash);
	fputs("\">\n", out);
}

static void put_assets(FILE *out, bool style)
{
	const char *element = style ? "style" : "script", *licence;
	size_t size;

	for (size_t i = 0; i < page_asset_count; i++) {
		const struct page_asset *asset = &page_assets[i];

		if (asset->style != style)
			continue;
		licence = asset->others ? page_licence(&size) : NULL;
		if (licence)
			fprintf(out, "<!-- uPlot:\n%.*s-->\n", (int)size, licence);
		fprintf(out, "<%s>", element);
		fwrite(asset->begin, 1, (size_t)(asset->end - asset->begin), out);
		fprintf(out, "</%s>\n", element);
	}
}

static void put_title(const struct page_draft *page)
{
	html_text(page->out, page->part->name[0] ? page->part->name : "a host without a name");
}

static void page_begin(const struct page_draft *page, const struct page_options *options)
{
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n", page->out);
	put_policy(page->out);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n",
	      page->out);
	if (options->refresh_seconds)
		fprintf(page->out, "<meta http-equiv=\"refresh\" content=\"%u\">\n",
			options->refresh_seconds);
	fputs("<title>Faultline: ", page->out);
	put_title(page);
	fputs("</title>\n", page->out);
	put_assets(page->out, true);
	fputs("</head>\n<body>\n<header><h1>", page->out);
	put_title(page);
	fputs("</h1>\n<nav aria-label=\"Sections\"><a href=\"#findings\">Findings</a> "
	      "<a href=\"#time\">Over time</a> <a href=\"#devices\">Devices</a> "
	      "<a href=\"#stages\">Stages</a> <a href=\"#slowest\">Slowest faults</a> ",
	      page->out);
	if (page->analysis->slo)
		fputs("<a href=\"#objectives\">Objectives</a> ", page->out);
	fputs("<a href=\"#more\">More</a> <a href=\"#lost\">Lost</a> <a href=\"#unseen\">Not seen</a></nav>"
	      "</header>\n<main>\n",
	      page->out);
}

static void page_end(const struct page_draft *page)
{
	fputs("</main>\n<footer><p>Written by Faultline " FAULTLINE_VERSION ". ", page->out);
	fputs(page_has_plots()
		      ? "Plots by uPlot, whose licence stands in this page's source."
		      : "This Faultline was built without uPlot: plots are SVG, without zoom.",
	      page->out);
	fputs("</p></footer>\n", page->out);
	page_write_data(page);
	put_assets(page->out, false);
	fputs("</body></html>\n", page->out);
}

/* With the first error; what it wrote then is no page. */
static int put_section(const struct page_draft *page, const char *id, const char *title,
		       int (*write)(const struct page_draft *page))
{
	int err;

	fprintf(page->out, "<section id=\"%s\"><h2>%s</h2>\n", id, title);
	err = write(page);
	fputs("</section>\n", page->out);
	return err;
}

static int write_time(const struct page_draft *page)
{
	page_write_plots(page);
	return 0;
}

static int write_slowest(const struct page_draft *page)
{
	if (!page->slowest_count)
		fputs("<p>No fault was recorded.</p>\n", page->out);
	else
		page_write_slowest(page);
	return page_write_faults(page);
}

static int page_put(const struct page_draft *page, const struct page_options *options)
{
	int err;

	page_begin(page, options);
	err = page_write_head(page);
	err = err ?: put_section(page, "time", "Over time", write_time);
	err = err ?: put_section(page, "devices", "Devices", page_write_devices);
	err = err ?: put_section(page, "stages", "Stages", page_write_stages);
	err = err ?: put_section(page, "slowest", "Slowest faults", write_slowest);
	if (page->analysis->slo)
		err = err ?: put_section(page, "objectives", "Objectives", page_write_objectives);
	err = err ?: put_section(page, "more", "More tables", page_write_rest);
	err = err ?: page_write_limits(page);
	page_end(page);
	if (!err && ferror(page->out))
		err = failed(errno ? -errno : -EIO, "the page cannot be written: %s",
			     strerror(errno ? errno : EIO));
	return err;
}

static int page_read(struct page_draft *page)
{
	const struct trace_read_config reading = {.path = page->part->path,
						  .host = page->part->number};
	struct stream_fan fan = {.sinks = {analysis_stream(page->analysis), page_stream(page)},
				 .count = 2};

	int err = trace_read(&reading, stream_fan(&fan));

	return err == -EISDIR ? failed_input(err) : err;
}

int page_write(const struct export_part *part, const struct page_options *options, FILE *out)
{
	const struct analysis_config config = {.without_footprint = true, .slos = options->slos};
	struct page_draft *page = calloc(1, sizeof(*page));
	int err, damage = 0;

	if (!page)
		return failed(-ENOMEM, "no memory for a page");
	page->part = part;
	page->out = out;
	err = analysis_create(&page->analysis, &config);
	err = err ?: page_collect(page);
	err = err ?: page_read(page);
	if (err == -EBADMSG)
		damage = err, err = 0;
	err = err ?: page_put(page, options);
	if (!err && options->floor)
		*options->floor = floor_of(page->analysis);
	analysis_destroy(page->analysis);
	free(page);
	return err ?: damage;
}
