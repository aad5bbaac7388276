// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"

#include <errno.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct bundle {
	struct analysis parts; /* first: what callers hold */
	struct stream_fan fan;
	struct stream_fan within; /* who takes each event for itself */
	struct period_filter filter;
};

#define ANALYZER(name)		 &name##_analyzer,
#define ANALYZER_OF_OTHERS(name) &name##_analyzer,
const struct analyzer *const analyzers[] = {
#include "lib/analyze/analyzers.def"
	NULL};
#define ANALYZERS (sizeof(analyzers) / sizeof(analyzers[0]) - 1)

/* Those of the period are fed first. Who was not created has no stream. */
static int connect_all(struct bundle *b, const struct period *period)
{
	int error;

	b->filter = (struct period_filter){*period, stream_fan(&b->within)};
	error = stream_fan_add(&b->fan, period_stream(&b->filter));
	for (size_t i = 0; !error && i < ANALYZERS; i++) {
		struct stream stream = {0};

		if (analyzers[i]->stream)
			stream = analyzers[i]->stream(&b->parts);
		if (stream.self)
			error = stream_fan_add(analyzers[i]->of_period ? &b->within : &b->fan,
					       stream);
	}
	return error;
}

static int create_parts(struct analysis *a, const struct analysis_config *config)
{
	int error = 0;

	for (size_t i = 0; !error && i < ANALYZERS; i++)
		if (analyzers[i]->create)
			error = analyzers[i]->create(a, config);
	return error;
}

int analysis_create(struct analysis **analysis, const struct analysis_config *config)
{
	static const struct analysis_config defaults;
	struct bundle *b = memory_calloc(1, sizeof(*b));
	int error;

	*analysis = NULL;
	if (!b)
		return failed(-ENOMEM, "no memory for an analysis");
	if (!config)
		config = &defaults;
	b->fan.stops = true;
	error = create_parts(&b->parts, config);
	if (!error)
		error = connect_all(b, &config->period);
	if (error) {
		analysis_destroy(&b->parts);
		return error;
	}
	*analysis = &b->parts;
	return 0;
}

struct stream analysis_stream(struct analysis *analysis)
{
	return stream_fan(&((struct bundle *)analysis)->fan);
}

void analysis_destroy(struct analysis *a)
{
	if (!a)
		return;
	for (size_t i = ANALYZERS; i-- > 0;)
		if (analyzers[i]->destroy)
			analyzers[i]->destroy(a);
	memory_free(a);
}

void analysis_tables(const struct analyzer *analyzer, const char *names[ANALYSIS_TABLES])
{
	size_t count = 0;

	while (names[count])
		count++;
	for (size_t i = 0; i < ANALYZERS; i++) {
		const struct analyzer_table *t = analyzers[i]->tables;

		if (analyzer ? analyzer != analyzers[i] : analyzers[i]->of_a_verb)
			continue;
		for (; t && t->write && count < ANALYSIS_TABLES - 1; t++)
			if (t->table)
				names[count++] = t->table->name;
	}
}

int analysis_write_hosts(const struct analysis *const *hosts, size_t count,
			 const struct analyzer *analyzer, struct writer *writer,
			 const struct table_wish *wish)
{
	for (size_t i = 0; i < ANALYZERS; i++) {
		const struct analyzer_table *t = analyzers[i]->tables;

		if (analyzer ? analyzer != analyzers[i] : analyzers[i]->of_a_verb)
			continue;
		for (; t && t->write; t++)
			for (size_t host = 0; t->table && host < count; host++) {
				if (count > 1)
					writer_host(writer, host);
				t->write(hosts[host], writer, wish);
			}
	}
	return writer_error(writer);
}

int analysis_write(const struct analysis *a, const struct analyzer *analyzer, struct writer *writer,
		   const struct table_wish *wish)
{
	return analysis_write_hosts(&a, 1, analyzer, writer, wish);
}

int analysis_write_findings(const struct analysis *a, struct writer *writer)
{
	for (int chapter = 0; chapter < REPORT_CHAPTERS; chapter++)
		for (size_t i = 0; i < ANALYZERS; i++)
			if ((int)analyzers[i]->chapter == chapter && analyzers[i]->findings)
				analyzers[i]->findings(a, writer);
	return writer_error(writer);
}

static bool is_in_text(const struct analysis *a, const struct analyzer_table *table)
{
	return table->in_text && table->in_text(a);
}

/* Tables of faults and of I/Os are set off from the sentences. */
static bool is_set_off(const struct analysis *a)
{
	for (size_t i = 0; i < ANALYZERS; i++)
		for (const struct analyzer_table *t = analyzers[i]->tables; t && t->write; t++)
			if (analyzers[i]->chapter <= REPORT_IO && t->table && is_in_text(a, t))
				return true;
	return false;
}

static void write_chapter(const struct analysis *a, struct writer *writer, int chapter)
{
	for (size_t i = 0; i < ANALYZERS; i++) {
		const struct analyzer_table *t = analyzers[i]->tables;

		if ((int)analyzers[i]->chapter != chapter)
			continue;
		for (; t && t->write; t++)
			if (is_in_text(a, t))
				t->write(a, writer,
					 &(struct table_wish){.limit = t->rows, .brief = true});
	}
}

int analysis_write_text(const struct analysis *a, struct writer *writer)
{
	analysis_write_findings(a, writer);
	if (is_set_off(a))
		writer_note(writer, "%s", "");
	for (int chapter = 0; chapter < REPORT_CHAPTERS; chapter++)
		write_chapter(a, writer, chapter);
	return writer_error(writer);
}
