// SPDX-License-Identifier: GPL-2.0
/* How far transactions of lent devices go, for which purpose, and which got lost on the way. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/lent.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

enum path_counter {
	PATH_BYTES,
	PATH_TRANSACTIONS,
	PATH_PIECES,
	PATH_LOST,
	PATH_ALL_ONES,
	PATH_REFUSED,
};

struct path_account {
	struct lent_counters counters; /* by enum path_counter */
	__u32 way;		       /* hops << 16 | roots << 8 | crossings */
};

/* A device that several hosts use has several ways for a purpose. Of more than these, the last are counted as one. */
#define PATH_WAYS_MAX 16u
struct device_paths {
	struct path_account of[PURPOSES][PATH_WAYS_MAX];
};

struct paths {
	const struct session *session;
	struct slots devices; /* struct device_paths */
};

static struct path_account *path_row_of(struct path_account *ways, __u32 way)
{
	struct path_account *path = ways;

	while (path < &ways[PATH_WAYS_MAX - 1] && path->counters.last_ns && path->way != way)
		path++;
	return path;
}

static void take_path(struct paths *p, const struct event *e)
{
	const __u64 now[LENT_COUNTERS] = {
		[PATH_BYTES] = e->value,
		[PATH_TRANSACTIONS] = e->instance,
		[PATH_PIECES] = e->length,
		[PATH_LOST] = e->address >> 32,
		[PATH_ALL_ONES] = (__u32)e->address,
		[PATH_REFUSED] = e->pasid,
	};
	struct device_paths *device = slots_make(&p->devices, e->device);
	struct path_account *path;

	if (!device || e->code >= PURPOSES)
		return;
	path = path_row_of(device->of[e->code], e->group);
	path->way = e->group;
	lent_counters_take(&path->counters, p->session, e, now, 1u << PATH_TRANSACTIONS);
}

static int paths_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == EVENT_PATH_STATE)
			take_path(self, &events[i]);
	return 0;
}

static struct stream paths_stream(struct paths *p)
{
	static const struct stream_ops ops = {.events = paths_on_events};

	return (struct stream){&ops, p};
}

static int create_paths(struct analysis *a, const struct analysis_config *config)
{
	struct paths *p = a->paths = memory_calloc(1, sizeof(*p));

	(void)config;
	if (!p)
		return failed(-ENOMEM, "no memory for the paths of lent devices");
	p->session = a->session;
	slots_init(&p->devices, sizeof(struct device_paths));
	return 0;
}

static void paths_destroy(struct paths *p)
{
	if (!p)
		return;
	slots_free(&p->devices);
	memory_free(p);
}

struct path_line {
	__u32 device;
	unsigned int purpose;
	const struct path_account *path;
};

static const char *purpose_name(unsigned int purpose)
{
	static const char *const names[PURPOSES] = {
		[PURPOSE_MMIO] = "mmio",	   [PURPOSE_FETCH] = "fetch",
		[PURPOSE_DATA] = "data",	   [PURPOSE_COMPLETION] = "completion",
		[PURPOSE_INTERRUPT] = "interrupt", [PURPOSE_PEER] = "peer",
	};

	return names[purpose];
}

#define PATHS(COLUMN)                                                                              \
	COLUMN(device, none, TEXT, 12, SHOWN, session_device_name(context, row->device, text))     \
	COLUMN(purpose, none, TEXT, 10, SHOWN, purpose_name(row->purpose))                         \
	COLUMN(hops, none, COUNT, 4, SHOWN, row->path->way >> 16)                                  \
	COLUMN(roots, none, COUNT, 5, SHOWN, row->path->way >> 8 & 0xff)                           \
	COLUMN(crossings, none, COUNT, 9, WIDE, row->path->way & 0xff)                             \
	COLUMN(transactions, none, COUNT, 12, SHOWN, row->path->counters.grown[PATH_TRANSACTIONS]) \
	COLUMN(moved, bytes, BYTES, 6, SHOWN, row->path->counters.grown[PATH_BYTES])               \
	COLUMN(splits, none, COUNT, 6, SHOWN, row->path->counters.grown[PATH_PIECES])              \
	COLUMN(lost_writes, none, COUNT, 11, SHOWN, row->path->counters.grown[PATH_LOST])          \
	COLUMN(all_ones, none, COUNT, 8, WIDE, row->path->counters.grown[PATH_ALL_ONES])           \
	COLUMN(refused, none, COUNT, 7, WIDE, row->path->counters.grown[PATH_REFUSED])
TABLE(paths, "Paths of lent devices", PATHS, struct path_line, struct session)

static void paths_write(const struct analysis *a, struct writer *writer,
			const struct table_wish *wish)
{
	size_t rows = 0;

	writer_begin_with(writer, &paths_table, a->session);
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->paths->devices, h)) {
		const struct device_paths *device = slots_find(&a->paths->devices, h);

		for (unsigned int i = 0; device && i < PURPOSES * PATH_WAYS_MAX; i++) {
			const struct path_line line = {
				h, i / PATH_WAYS_MAX,
				&device->of[i / PATH_WAYS_MAX][i % PATH_WAYS_MAX]};

			if (line.path->counters.last_ns && (!wish->limit || rows++ < wish->limit))
				writer_row(writer, &line);
		}
	}
	writer_end(writer);
	if (wish->limit && rows > wish->limit)
		writer_note(writer, "... and %zu more paths.", rows - wish->limit);
}

static bool paths_have_rows(const struct analysis *a)
{
	return a->paths->devices.end;
}

static const struct analyzer_table tables[] = {
	{&paths_table, paths_write, paths_have_rows, REPORT_ROWS}, {0}};

DEFINE_ANALYZER(paths, .tables = tables, .chapter = REPORT_IO)
