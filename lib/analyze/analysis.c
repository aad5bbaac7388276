// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct bundle {
	struct analysis parts; /* first: what callers hold */
	struct stream_fan fan;
	struct stream_fan within; /* who takes each event for itself */
	struct period_filter filter;
};

static const struct analyzer *const analyzers[] = {
#define ANALYZER(name)		 &name##_analyzer,
#define ANALYZER_OF_TABLES(name) &name##_analyzer,
#include "lib/analyze/analyzers.def"
};
#define ANALYZERS (sizeof(analyzers) / sizeof(analyzers[0]))

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

int analysis_write(const struct analysis *a, const struct analyzer *analyzer, struct writer *writer,
		   const struct table_wish *wish)
{
	int error = 0;

	for (size_t i = 0; i < ANALYZERS; i++) {
		const struct analyzer_table *t = analyzers[i]->tables;

		if (analyzer ? analyzer != analyzers[i] : analyzers[i]->of_a_verb)
			continue;
		for (; !error && t && t->write; t++)
			if (t->table)
				error = t->write(a, writer, wish);
	}
	return error;
}

int analysis_write_text(const struct analysis *a, struct writer *writer)
{
	int error = 0;

	for (unsigned int place = 1; !error && place <= REPORT_PLACES; place++)
		for (size_t i = 0; i < ANALYZERS; i++)
			for (const struct analyzer_table *t = analyzers[i]->tables;
			     !error && t && t->write; t++)
				if (t->place == place && (!t->has_rows || t->has_rows(a)))
					error = t->write(a, writer,
							 &(struct table_wish){.limit = t->rows,
									      .brief = true});
	return error;
}
