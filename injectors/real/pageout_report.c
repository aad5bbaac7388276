// SPDX-License-Identifier: GPL-2.0
/* What became of the pages: one row a process and kind of page, and the same in sentences. */
#include <string.h>

#include "injectors/real/pageout.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"

enum { FIXED_COLUMNS = 6, COLUMNS = FIXED_COLUMNS + PAGE_OUTCOMES };

static const char *order_name(enum order_kind order)
{
	static const char *const names[] = {"sequential", "random", "zipf"};

	return names[order];
}

void pageout_print(const struct pageout *pageout, FILE *file)
{
	const struct pageout_options *options = pageout->options;

	for (size_t i = 0; i < pageout->aim_count; i++) {
		const struct aim *aim = &pageout->aims[i];

		fprintf(file, "process %d (%s)%s: %llu pages in %zu range%s\n", aim->target.pid,
			printable_of(aim->target.name).text,
			aim->target.ours ? ", started by Faultline" : "", aim->pages,
			aim->range_count, aim->range_count == 1 ? "" : "s");
		for (size_t r = 0; r < aim->range_count; r++) {
			const struct mapping *mapping =
				mappings_find(&aim->evictor.mappings, aim->ranges[r].start);

			fprintf(file, "  process_madvise %s 0x%llx-0x%llx %s %s\n",
				options->advice == EVICT_COLD ? "MADV_COLD" : "MADV_PAGEOUT",
				aim->ranges[r].start, aim->ranges[r].end,
				page_kind_name(mapping ? mapping->kind : KIND_NONE),
				printable_of(mapping ? mapping->name : "").text);
		}
		if (aim->cgroup[0])
			fprintf(file, "  write %s/memory.reclaim after each batch\n",
				printable_of(aim->cgroup).text);
	}
	fprintf(file, "order %s, seed %llu; nothing was done\n", order_name(options->order),
		options->seed);
}

static void fill_columns(struct column *columns)
{
	static const struct column fixed[FIXED_COLUMNS] = {
		{.name = "pid", .type = COLUMN_COUNT, .width = 8},
		{.name = "comm", .type = COLUMN_TEXT, .width = 16},
		{.name = "kind", .type = COLUMN_TEXT, .width = 9},
		{.name = "asked", .type = COLUMN_COUNT, .width = 12},
		{.name = "evicted", .type = COLUMN_COUNT, .width = 12},
		{.name = "skipped", .type = COLUMN_COUNT, .width = 12},
	};

	memcpy(columns, fixed, sizeof(fixed));
	for (int outcome = 0; outcome < PAGE_OUTCOMES; outcome++)
		columns[FIXED_COLUMNS + outcome] = (struct column){
			.name = outcome_info[outcome].name,
			.type = COLUMN_COUNT,
			.width = 13,
			.wide = true,
		};
}

static int write_kind(struct writer *writer, const struct aim *aim, enum page_kind kind)
{
	const __u64 *pages = aim->evictor.counts.pages[kind];
	__u64 evicted = 0, skipped = 0;
	union cell cells[COLUMNS];

	for (int outcome = 0; outcome < PAGE_OUTCOMES; outcome++) {
		cells[FIXED_COLUMNS + outcome].count = pages[outcome];
		if (outcome < FIRST_SKIPPED)
			evicted += pages[outcome];
		else
			skipped += pages[outcome];
	}
	if (!evicted && !skipped)
		return 0;
	cells[0].count = (__u64)aim->target.pid;
	cells[1].text = aim->target.name;
	cells[2].text = page_kind_name(kind);
	cells[3].count = evicted + skipped;
	cells[4].count = evicted;
	cells[5].count = skipped;
	return writer_row(writer, cells);
}

/* "evicted 31: 24 to storage, 7 still in the page cache" */
static int note_outcomes(struct writer *writer, const struct pageout *pageout, const char *verb,
			 int first, int end)
{
	char text[640] = "";
	size_t used = 0;
	__u64 all = 0;

	for (int outcome = first; outcome < end; outcome++) {
		__u64 pages = 0;

		for (size_t i = 0; i < pageout->aim_count; i++)
			for (int kind = 0; kind < PAGE_KINDS; kind++)
				pages += pageout->aims[i].evictor.counts.pages[kind][outcome];
		all += pages;
		if (pages && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu %s",
						 used ? ", " : ": ", pages,
						 outcome_info[outcome].phrase);
	}
	return writer_note(writer, "%s %llu%s", verb, all, text);
}

static int note_run(struct writer *writer, const struct pageout *pageout)
{
	const struct pageout_options *options = pageout->options;
	__u64 calls = 0, reclaims = 0, again = 0;
	char duration[UNITS_TEXT];
	int err, refusal = 0;

	for (size_t i = 0; i < pageout->aim_count; i++) {
		calls += pageout->aims[i].evictor.counts.calls;
		reclaims += pageout->aims[i].evictor.counts.reclaims;
		again += pageout->aims[i].evictor.counts.reclaim_again;
		if (pageout->aims[i].evictor.counts.refusal)
			refusal = pageout->aims[i].evictor.counts.refusal;
	}
	err = writer_note(writer, "%s order, seed %llu; %llu calls of process_madvise() in %s",
			  order_name(options->order), options->seed, calls,
			  units_format_duration(pageout->elapsed_ns, duration));
	if (!err && reclaims)
		err = writer_note(writer,
				  "%llu writes to memory.reclaim, %llu of them reclaimed less than "
				  "was asked for (EAGAIN)",
				  reclaims, again);
	if (!err && refusal)
		err = writer_note(writer, "process_madvise() said: %s", strerror(refusal));
	if (!err && pageout->behind)
		err = writer_note(writer, "%llu pages more were due, but the kernel takes its time",
				  pageout->behind);
	for (size_t i = 0; !err && i < pageout->aim_count; i++)
		if (!target_alive(&pageout->aims[i].target))
			err = writer_note(writer, "process %d has ended meanwhile",
					  pageout->aims[i].target.pid);
	return err;
}

int pageout_report(const struct pageout *pageout, struct writer *writer)
{
	struct column columns[COLUMNS];
	const struct table table = {
		.name = "pageout", .title = "Pages", .columns = columns, .column_count = COLUMNS};
	int err;

	fill_columns(columns);
	err = writer_begin(writer, &table);
	for (size_t i = 0; i < pageout->aim_count && !err; i++)
		for (int kind = 0; kind < PAGE_KINDS && !err; kind++)
			err = write_kind(writer, &pageout->aims[i], (enum page_kind)kind);
	if (!err)
		err = writer_end(writer);
	if (!err)
		err = note_outcomes(writer, pageout, "evicted", 0, FIRST_SKIPPED);
	if (!err)
		err = note_outcomes(writer, pageout, "skipped", FIRST_SKIPPED, PAGE_OUTCOMES);
	return err ? err : note_run(writer, pageout);
}
