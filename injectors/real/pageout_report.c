// SPDX-License-Identifier: GPL-2.0
/* What became of the pages: one row a process and kind of page, and the same in sentences. */
#include <string.h>

#include "injectors/real/pageout.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"

void pageout_print(const void *self, FILE *file)
{
	const struct pageout *pageout = self;
	const struct pageout_options *options = pageout->options;

	for (size_t i = 0; i < pageout->aim_count; i++) {
		const struct aim *aim = &pageout->aims[i];

		fprintf(file, "process %d (%s)%s: %llu pages in %zu range%s\n", aim->target.pid,
			printable_of(aim->target.name).text,
			aim->target.ours ? ", started by Faultline" : "", aim->pages,
			aim->range_count, aim->range_count == 1 ? "" : "s");
		for (size_t r = 0; r < aim->range_count; r++) {
			const struct process_mapping *mapping =
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
	fprintf(file, "order %s, seed %llu; nothing was done\n", order_names[options->order],
		options->seed);
}

/* Of one process and kind of page. */
struct pageout_row {
	const struct aim *aim;
	enum page_kind kind;
	const __u64 *pages; /* by outcome */
	__u64 evicted, skipped;
};

#define OUTCOME(COLUMN, name, outcome) COLUMN(name, none, COUNT, 13, WIDE, row->pages[outcome])
#define PAGES(COLUMN)                                                      \
	COLUMN(pid, none, COUNT, 8, SHOWN, (__u64)row->aim->target.pid)    \
	COLUMN(comm, none, TEXT, 16, SHOWN, row->aim->target.name)         \
	COLUMN(kind, none, TEXT, 9, SHOWN, page_kind_name(row->kind))      \
	COLUMN(asked, none, COUNT, 12, SHOWN, row->evicted + row->skipped) \
	COLUMN(evicted, none, COUNT, 12, SHOWN, row->evicted)              \
	COLUMN(skipped, none, COUNT, 12, SHOWN, row->skipped)              \
	OUTCOME(COLUMN, to_swap, EVICTED_SWAP)                             \
	OUTCOME(COLUMN, to_swap_cache, EVICTED_SWAP_CACHE)                 \
	OUTCOME(COLUMN, to_storage, EVICTED_STORAGE)                       \
	OUTCOME(COLUMN, to_page_cache, EVICTED_CACHED)                     \
	OUTCOME(COLUMN, dropped, EVICTED_DROPPED)                          \
	OUTCOME(COLUMN, back, EVICTED_BACK)                                \
	OUTCOME(COLUMN, unmapped, SKIPPED_UNMAPPED)                        \
	OUTCOME(COLUMN, absent, SKIPPED_ABSENT)                            \
	OUTCOME(COLUMN, locked, SKIPPED_LOCKED)                            \
	OUTCOME(COLUMN, shared, SKIPPED_SHARED)                            \
	OUTCOME(COLUMN, hugetlb, SKIPPED_HUGETLB)                          \
	OUTCOME(COLUMN, zero_page, SKIPPED_ZERO)                           \
	OUTCOME(COLUMN, special, SKIPPED_SPECIAL)                          \
	OUTCOME(COLUMN, no_swap, SKIPPED_NO_SWAP)                          \
	OUTCOME(COLUMN, only_cold, SKIPPED_COLD)                           \
	OUTCOME(COLUMN, refused, SKIPPED_REFUSED)                          \
	OUTCOME(COLUMN, held, SKIPPED_HELD)                                \
	OUTCOME(COLUMN, gone, SKIPPED_GONE)
TABLE(pageout, "Pages", PAGES, struct pageout_row, void)

static int write_kind(struct writer *writer, const struct aim *aim, enum page_kind kind)
{
	struct pageout_row row = {aim, kind, aim->evictor.counts.pages[kind]};

	for (int outcome = 0; outcome < PAGE_OUTCOMES; outcome++)
		*(outcome < FIRST_SKIPPED ? &row.evicted : &row.skipped) += row.pages[outcome];
	return row.evicted || row.skipped ? writer_row(writer, &row) : 0;
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
						 outcome_phrases[outcome]);
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
			  order_names[options->order], options->seed, calls,
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

int pageout_report(const void *self, struct writer *writer)
{
	const struct pageout *pageout = self;
	int err = writer_begin(writer, &pageout_table);

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
