// SPDX-License-Identifier: GPL-2.0
/* What a trace needs, without a model: page classes, sharers, reuse distances, active sets. */
#include "lib/base/fail.h"
#include "lib/translate/pages.h"
#include "tools/sim/origin.h"
#include "tools/progress.h"

#define TEXT_ROWS 20

const char *const sim_accesses_tables[] = {"classes", "tenants", "pages", "distances", NULL};

struct class_sum {
	__u64 pages, accesses, least, most, runs, shared;
};

static void add_use(struct class_sum *sum, const struct page_use *use)
{
	if (!sum->pages || use->accesses < sum->least)
		sum->least = use->accesses;
	if (use->accesses > sum->most)
		sum->most = use->accesses;
	sum->pages++;
	sum->accesses += use->accesses;
	sum->runs += use->runs;
	sum->shared += use->sharers > 1;
}

struct access_class_row {
	unsigned int class, size;
	const struct class_sum *sum;
};

#define CLASSES(COLUMN)                                                    \
	COLUMN(class, none, TEXT, 8, SHOWN, page_class_name(row->class))   \
	COLUMN(size, none, BYTES, 6, SHOWN, 4096ull << (9 * row->size))    \
	COLUMN(pages, none, COUNT, 8, SHOWN, row->sum->pages)              \
	COLUMN(accesses, none, COUNT, 10, SHOWN, row->sum->accesses)       \
	COLUMN(least, per_page, COUNT, 14, WIDE, row->sum->least)          \
	COLUMN(most, per_page, COUNT, 13, WIDE, row->sum->most)            \
	COLUMN(run, accesses, REAL, 12, SHOWN,                             \
	       (double)row->sum->accesses / (double)(row->sum->runs ?: 1)) \
	COLUMN(shared, pages, COUNT, 12, SHOWN, row->sum->shared)
TABLE(classes, "Pages by class", CLASSES, struct access_class_row, void)

static int write_classes(struct writer *writer, const struct page_use *uses, size_t count)
{
	struct class_sum sums[PAGE_CLASSES][3] = {0};
	int err = writer_begin(writer, &classes_table);

	for (size_t i = 0; i < count; i++)
		add_use(&sums[uses[i].page_class][uses[i].shift / 9 - 1], &uses[i]);
	for (unsigned int class = 0; class < PAGE_CLASSES; class ++)
		for (unsigned int size = 0; !err && size < 3; size++) {
			const struct access_class_row row = {class, size, &sums[class][size]};

			if (row.sum->pages)
				err = writer_row(writer, &row);
		}
	return err ? err : writer_end(writer);
}

/* A terminal gets the first rows, and is told so. */
static int end_part(struct writer *writer, const char *table, size_t limit, size_t count)
{
	int err = writer_end(writer);

	if (err || count <= limit)
		return err;
	return writer_note(writer, "These are %zu of %zu %s; --table %s prints all.", limit, count,
			   table, table);
}

/* What was recorded of a tenant; more tenants than were recorded use recordings again. */
static __u64 recorded_of(const struct store *store, __u32 tenant)
{
	return store_tenant_records(store, tenant % store_tenants(store));
}

#define TENANTS(COLUMN)                                                 \
	COLUMN(tenant, none, COUNT, 6, SHOWN, row->tenant)              \
	COLUMN(accesses, none, COUNT, 10, SHOWN, row->accesses)         \
	COLUMN(pages, none, COUNT, 8, SHOWN, row->pages)                \
	COLUMN(first_accesses, none, COUNT, 14, WIDE, row->cold)        \
	COLUMN(run, accesses, REAL, 12, SHOWN, (double)row->run / 1000) \
	COLUMN(reuse, pages, COUNT, 11, SHOWN, row->reuse_median)       \
	COLUMN(active_99, entries, COUNT, 17, SHOWN, row->active99)     \
	COLUMN(active_999, entries, COUNT, 18, WIDE, row->active999)    \
	COLUMN(active_all, entries, COUNT, 18, WIDE, row->active_all)   \
	COLUMN(recorded, none, COUNT, 10, WIDE,                         \
	       context ? recorded_of(context, row->tenant) : CELL_NONE) \
	COLUMN(left_out, none, COUNT, 10, WIDE,                         \
	       context ? recorded_of(context, row->tenant) - row->accesses : CELL_NONE)
TABLE(tenants, "Tenants", TENANTS, struct tenant_use, struct store)

/* `store`: NULL if the trace is made up. */
static int accesses_write_tenants(struct writer *writer, const struct tenant_use *tenants,
				  size_t count, size_t limit, const struct store *store)
{
	int err = writer_begin_with(writer, &tenants_table, store);

	for (size_t i = 0; !err && i < count && i < limit; i++)
		err = writer_row(writer, &tenants[i]);
	return err ? err : end_part(writer, "tenants", limit, count);
}

/*
 * The trace ends with the first recording that does, or after trace.packets: what others have yet is in no
 * number. Less than a packet at the end of each is told by sim_command_left_out().
 */
static int write_not_reached(struct writer *writer, const struct sim_config *config,
			     const struct store *store, const struct pages *pages)
{
	__u32 tenants = config->as_recorded ? store_tenants(store) : config->trace.turns.tenants;
	__u64 recorded = 0, whole = 0, used = 0;
	const struct tenant_use *uses;
	char text[160];
	size_t count;

	for (__u32 i = 0; i < tenants; i++) {
		__u64 of_tenant = recorded_of(store, i);

		recorded += of_tenant;
		whole += of_tenant - of_tenant % config->requests;
	}
	uses = pages_tenants(pages, &count);
	for (size_t i = 0; i < count; i++)
		used += uses[i].accesses;
	if (used >= whole)
		return 0;
	snprintf(
		text, sizeof(text),
		"%llu of %llu, as tenants take turns until the first recording ends or trace.packets "
		"were taken",
		whole - used, recorded);
	if (!writer_is_text(writer))
		return writer_fact(writer, "not_reached", text);
	return writer_note(writer, "Recorded accesses that were not reached: %s.", text);
}

#define PAGES(COLUMN)                                                         \
	COLUMN(tenant, none, COUNT, 6, SHOWN, row->tenant)                    \
	COLUMN(address, none, ADDRESS, 18, SHOWN, row->iova)                  \
	COLUMN(size, none, BYTES, 6, SHOWN, 1ull << row->shift)               \
	COLUMN(class, none, TEXT, 8, SHOWN, page_class_name(row->page_class)) \
	COLUMN(accesses, none, COUNT, 9, SHOWN, row->accesses)                \
	COLUMN(runs, none, COUNT, 6, SHOWN, row->runs)                        \
	COLUMN(sharers, tenants, COUNT, 15, SHOWN, row->sharers)
TABLE(pages, "Pages", PAGES, struct page_use, void)

static int write_pages(struct writer *writer, const struct page_use *uses, size_t count,
		       size_t limit)
{
	int err = writer_begin(writer, &pages_table);

	for (size_t i = 0; !err && i < count && i < limit; i++)
		err = writer_row(writer, &uses[i]);
	return err ? err : end_part(writer, "pages", limit, count);
}

struct distance_row {
	size_t distance;
	__u64 reuses;
};

#define DISTANCES(COLUMN)                                        \
	COLUMN(distance, pages, COUNT, 14, SHOWN, row->distance) \
	COLUMN(reuses, none, COUNT, 12, SHOWN, row->reuses)
TABLE(distances, "Reuse distances", DISTANCES, struct distance_row, void)

static int write_distances(struct writer *writer, const __u64 *distances)
{
	int err = writer_begin(writer, &distances_table);

	for (size_t d = 0; !err && d < REUSE_DISTANCES; d++)
		if (distances[d])
			err = writer_row(writer, &(struct distance_row){d, distances[d]});
	return err ? err : writer_end(writer);
}

static int write_tables(struct writer *writer, const struct pages *pages, const struct store *store,
			bool whole)
{
	size_t uses_count, tenants_count, limit = whole ? SIZE_MAX : TEXT_ROWS;
	const struct page_use *uses = pages_uses(pages, &uses_count);
	const struct tenant_use *tenants = pages_tenants(pages, &tenants_count);
	int err = write_classes(writer, uses, uses_count);

	if (!err)
		err = accesses_write_tenants(writer, tenants, tenants_count, limit, store);
	if (!err)
		err = write_pages(writer, uses, uses_count, limit);
	if (!err && whole)
		err = write_distances(writer, pages_distances(pages));
	return err;
}

static void accesses_show(void)
{
	progress_show(0, 0, "packets");
}

int sim_accesses(struct writer *writer, const struct sim_config *config, const struct store *store,
		 bool whole)
{
	struct pages *pages;
	int err = sim_pages(&pages, config, store, accesses_show);

	progress_end();
	if (err)
		return err;
	err = write_tables(writer, pages, store, whole);
	if (!err && store)
		err = write_not_reached(writer, config, store, pages);
	pages_destroy(pages);
	return err;
}
