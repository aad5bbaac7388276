// SPDX-License-Identifier: GPL-2.0
/* What a trace needs, without a model: page classes, sharers, reuse distances, active sets. */
#include "lib/base/fail.h"
#include "lib/translate/pages.h"
#include "tools/sim/origin.h"
#include "tools/sim/progress.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT_ROWS    20

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

static int write_classes(struct writer *writer, const struct page_use *uses, size_t count)
{
	static const struct column columns[] = {
		{"class", NULL, COLUMN_TEXT, 8, false},
		{"size", NULL, COLUMN_BYTES, 6, false},
		{"pages", NULL, COLUMN_COUNT, 8, false},
		{"accesses", NULL, COLUMN_COUNT, 10, false},
		{"least", "per_page", COLUMN_COUNT, 14, true},
		{"most", "per_page", COLUMN_COUNT, 13, true},
		{"run", "accesses", COLUMN_REAL, 12, false},
		{"shared", "pages", COLUMN_COUNT, 12, false},
	};
	static const struct table table = {"classes", "Pages by class", columns, COUNT(columns)};
	struct class_sum sums[PAGE_CLASSES][3] = {0};
	int err = writer_begin(writer, &table);

	for (size_t i = 0; i < count; i++)
		add_use(&sums[uses[i].page_class][uses[i].shift / 9 - 1], &uses[i]);
	for (unsigned int class = 0; class < PAGE_CLASSES; class ++)
		for (unsigned int size = 0; !err && size < 3; size++) {
			const struct class_sum *s = &sums[class][size];

			if (!s->pages)
				continue;
			err = writer_row(writer, (union cell[]){{.text = page_class_name(class)},
								{.count = 4096ull << (9 * size)},
								{.count = s->pages},
								{.count = s->accesses},
								{.count = s->least},
								{.count = s->most},
								{.real = (double)s->accesses /
									 (double)(s->runs ?: 1)},
								{.count = s->shared}});
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

/* `store`: NULL if the trace is made up. */
static int write_tenants(struct writer *writer, const struct tenant_use *tenants, size_t count,
			 size_t limit, const struct store *store)
{
	static const struct column columns[] = {
		{"tenant", NULL, COLUMN_COUNT, 6, false},
		{"accesses", NULL, COLUMN_COUNT, 10, false},
		{"pages", NULL, COLUMN_COUNT, 8, false},
		{"first_accesses", NULL, COLUMN_COUNT, 14, true},
		{"run", "accesses", COLUMN_REAL, 12, false},
		{"reuse", "pages", COLUMN_COUNT, 11, false},
		{"active_99", "entries", COLUMN_COUNT, 17, false},
		{"active_999", "entries", COLUMN_COUNT, 18, true},
		{"active_all", "entries", COLUMN_COUNT, 18, true},
		{"recorded", NULL, COLUMN_COUNT, 10, true},
		{"left_out", NULL, COLUMN_COUNT, 10, true},
	};
	static const struct table table = {"tenants", "Tenants", columns, COUNT(columns)};
	int err = writer_begin(writer, &table);

	for (size_t i = 0; !err && i < count && i < limit; i++) {
		__u64 recorded = store ? recorded_of(store, tenants[i].tenant) : 0;

		err = writer_row(writer,
				 (union cell[]){{.count = tenants[i].tenant},
						{.count = tenants[i].accesses},
						{.count = tenants[i].pages},
						{.count = tenants[i].cold},
						{.real = (double)tenants[i].run / 1000},
						{.count = tenants[i].reuse_median},
						{.count = tenants[i].active99},
						{.count = tenants[i].active999},
						{.count = tenants[i].active_all},
						cell_if(store, recorded),
						cell_if(store, recorded - tenants[i].accesses)});
	}
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

static int write_pages(struct writer *writer, const struct page_use *uses, size_t count,
		       size_t limit)
{
	static const struct column columns[] = {
		{"tenant", NULL, COLUMN_COUNT, 6, false},
		{"address", NULL, COLUMN_ADDRESS, 18, false},
		{"size", NULL, COLUMN_BYTES, 6, false},
		{"class", NULL, COLUMN_TEXT, 8, false},
		{"accesses", NULL, COLUMN_COUNT, 9, false},
		{"runs", NULL, COLUMN_COUNT, 6, false},
		{"sharers", "tenants", COLUMN_COUNT, 15, false},
	};
	static const struct table table = {"pages", "Pages", columns, COUNT(columns)};
	int err = writer_begin(writer, &table);

	for (size_t i = 0; !err && i < count && i < limit; i++)
		err = writer_row(writer,
				 (union cell[]){{.count = uses[i].tenant},
						{.count = uses[i].iova},
						{.count = 1ull << uses[i].shift},
						{.text = page_class_name(uses[i].page_class)},
						{.count = uses[i].accesses},
						{.count = uses[i].runs},
						{.count = uses[i].sharers}});
	return err ? err : end_part(writer, "pages", limit, count);
}

static int write_distances(struct writer *writer, const __u64 *distances)
{
	static const struct column columns[] = {
		{"distance", "pages", COLUMN_COUNT, 14, false},
		{"reuses", NULL, COLUMN_COUNT, 12, false},
	};
	static const struct table table = {"distances", "Reuse distances", columns, COUNT(columns)};
	int err = writer_begin(writer, &table);

	for (size_t d = 0; !err && d < REUSE_DISTANCES; d++)
		if (distances[d])
			err = writer_row(writer,
					 (union cell[]){{.count = d}, {.count = distances[d]}});
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
		err = write_tenants(writer, tenants, tenants_count, limit, store);
	if (!err)
		err = write_pages(writer, uses, uses_count, limit);
	if (!err && whole)
		err = write_distances(writer, pages_distances(pages));
	return err;
}

static void show(void)
{
	progress_show(0, 0);
}

int sim_accesses(struct writer *writer, const struct sim_config *config, const struct store *store,
		 bool whole)
{
	struct pages *pages;
	int err = sim_pages(&pages, config, store, show);

	progress_end();
	if (err)
		return err;
	err = write_tables(writer, pages, store, whole);
	if (!err && store)
		err = write_not_reached(writer, config, store, pages);
	pages_destroy(pages);
	return err;
}
