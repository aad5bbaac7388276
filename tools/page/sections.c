// SPDX-License-Identifier: GPL-2.0
/* Tables and sentences of a page: those of `report`, in the order in which somebody on call asks. */
#include <string.h>

#include "lib/analyze/fault_table.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/watched.h"
#include "lib/analyze/worst.h"
#include "lib/output/html.h"
#include "tools/offline.h"
#include "tools/page/page_private.h"

#define DEVICE_ROWS 300
#define OTHER_ROWS  50

static const char *const device_tables[] = {"summary", "io_devices", "queues", "devices", NULL};
static const char *const stage_tables[] = {"stages", NULL};
static const char *const objective_tables[] = {"slo", "violations", NULL};
static const char *const limit_tables[] = {"loss", "events", "probes", NULL};
/* Of single faults the page has the slowest, of every second the plots. */
static const char *const elsewhere_tables[] = {"faults", "rates", NULL};

static bool is_among_tables(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* There is nobody to ask: what an analysis leaves out has no instance. */
static bool has_no_instance(const struct analysis *a, const struct analyzer *analyzer)
{
	return (analyzer == &slo_analyzer && !a->slo) ||
	       (analyzer == &footprint_analyzer && !a->footprint);
}

static bool is_of_a_section(const char *name)
{
	return is_among_tables(name, device_tables) || is_among_tables(name, stage_tables) ||
	       is_among_tables(name, objective_tables) || is_among_tables(name, limit_tables) ||
	       is_among_tables(name, elsewhere_tables);
}

/* A section's: what it writes goes into the page. */
static int section_open(const struct page_draft *page, size_t most_rows, bool wide,
			struct writer **writer)
{
	const struct writer_config config = {
		.format = OUTPUT_HTML, .file = page->out, .most_rows = most_rows, .wide = wide};
	const struct wall_clock *clock = session_clock(page->analysis->session);
	int err = writer_open(writer, &config);

	for (size_t i = 0; !err && i < clock->count; i++)
		writer_clock(*writer, &clock->anchors[i]);
	return err;
}

/* Those tables in that order; NULL: those of no section. */
static void section_tables(const struct page_draft *page, struct writer *writer, const char *name)
{
	static const struct table_wish everything;

	for (size_t i = 0; analyzers[i]; i++) {
		const struct analyzer_table *t = analyzers[i]->tables;

		if (has_no_instance(page->analysis, analyzers[i]))
			continue;
		for (; t && t->write; t++) {
			if (!t->table)
				continue;
			if (name ? !strcmp(t->table->name, name) : !is_of_a_section(t->table->name))
				t->write(page->analysis, writer, &everything);
		}
	}
}

static int write_section(const struct page_draft *page, const char *const *names, size_t most_rows,
			 bool wide)
{
	struct writer *writer;
	int err = section_open(page, most_rows, wide, &writer);

	if (err)
		return err;
	for (; *names; names++)
		section_tables(page, writer, *names);
	return writer_close(writer);
}

static struct offline page_offline(const struct page_draft *page, struct writer *writer)
{
	return (struct offline){.output.to.format = OUTPUT_JSON,
				.path = page->part->path,
				.count = 1,
				.analysis = page->analysis,
				.writer = writer};
}

/* The worst in a sentence, what the recording is, and everything that was found. */
int page_write_head(const struct page_draft *page)
{
	struct writer *writer;
	struct offline offline;
	struct worst worst;
	int err = section_open(page, 0, false, &writer);

	if (err)
		return err;
	worst_find(page->analysis, &worst);
	fprintf(page->out, "<p class=\"worst severity%d\">", worst.severity);
	html_text(page->out, worst.text);
	fputs("</p>\n<dl>\n", page->out);
	offline = page_offline(page, writer);
	offline_write_facts(&offline);
	fputs("</dl>\n<section id=\"findings\"><h2>Findings</h2>\n", page->out);
	analysis_write_findings(page->analysis, writer);
	fputs("</section>\n", page->out);
	return writer_close(writer);
}

int page_write_devices(const struct page_draft *page)
{
	return write_section(page, device_tables, DEVICE_ROWS, false);
}

int page_write_stages(const struct page_draft *page)
{
	/* Its rows differ in columns that text leaves out. */
	return write_section(page, stage_tables, DEVICE_ROWS, true);
}

/* Every violation that has a row there has a sentence, too: why. */
int page_write_objectives(const struct page_draft *page)
{
	const struct analysis *a = page->analysis;
	char text[SLO_UNMEASURED_TEXT];
	struct writer *writer;
	int err = section_open(page, OTHER_ROWS, false, &writer);

	if (err)
		return err;
	for (size_t i = 0; i < OTHER_ROWS && slo_violation(a->slo, i); i++)
		slo_write_sentence(slo_violation(a->slo, i), a->session, writer);
	for (size_t i = 0; i < SLO_MAX && slo_unmeasured(a->slo, i, text); i++)
		writer_note(writer, "Not evaluated: %s.", text);
	if (!slo_violations(a->slo))
		writer_note(writer, "No objective was violated by what was recorded.");
	err = writer_close(writer);
	return err ? err : write_section(page, objective_tables, OTHER_ROWS, false);
}

/* The same faults as rows of the table `faults`. */
int page_write_faults(const struct page_draft *page)
{
	struct writer *writer;
	int err = section_open(page, 0, false, &writer);

	if (err)
		return err;
	writer_begin_with(writer, fault_table_columns, page->analysis->session);
	for (size_t i = 0; i < page->slowest_count; i++)
		fault_table_row(writer, page->analysis->session, &page->slowest[i]);
	writer_end(writer);
	return writer_close(writer);
}

int page_write_rest(const struct page_draft *page)
{
	struct writer *writer;
	int err = section_open(page, OTHER_ROWS, false, &writer);

	if (err)
		return err;
	section_tables(page, writer, NULL);
	return writer_close(writer);
}

int page_write_limits(const struct page_draft *page)
{
	const struct session *session = page->analysis->session;
	struct offline offline;
	struct writer *writer;
	int err = section_open(page, 0, false, &writer);

	if (err)
		return err;
	fputs("<section id=\"lost\"><h2>What was lost</h2>\n", page->out);
	offline = page_offline(page, writer);
	offline_write_limits(&offline);
	if (!floor_of(page->analysis))
		writer_note(writer, "Nothing: counts are exact.");
	section_tables(page, writer, "loss");
	section_tables(page, writer, "events");
	fputs("</section>\n<section id=\"unseen\"><h2>What was not seen</h2>\n", page->out);
	watched_write(session, page->analysis->silent, writer);
	unknown_write(session, writer);
	section_tables(page, writer, "probes");
	fputs("</section>\n", page->out);
	return writer_close(writer);
}
