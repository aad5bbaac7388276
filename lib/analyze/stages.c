// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/stages.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/base/fail.h"

#define KIND_ANY  0xffff
#define QUEUE_ANY 0xfffe

struct stage_key {
	__u32 device; /* DEVICE_NONE with both others ANY: all */
	__u16 queue;
	__u16 kind;
};

struct keyed_group {
	struct stage_key key;
	struct stage_group group;
	UT_hash_handle hh;
};

struct stages {
	struct keyed_group *groups;
	struct stage_group all;
	__u64 dropped;
};

void stage_group_init(struct stage_group *group)
{
	memset(group, 0, sizeof(*group));
	for (unsigned int s = 0; s < STAGES; s++)
		histogram_init(&group->stages[s]);
	histogram_init(&group->total);
}

static struct keyed_group *stages_find(const struct stages *stages, struct stage_key key)
{
	struct keyed_group *keyed;

	HASH_FIND(hh, stages->groups, &key, sizeof(key), keyed);
	return keyed;
}

static struct keyed_group *stages_make(struct stages *stages, struct stage_key key)
{
	struct keyed_group *keyed;

	if (HASH_COUNT(stages->groups) >= STAGES_GROUPS_MAX)
		return NULL;
	keyed = memory_calloc(1, sizeof(*keyed));
	if (!keyed)
		return NULL;
	keyed->key = key;
	stage_group_init(&keyed->group);
	HASH_ADD(hh, stages->groups, key, sizeof(key), keyed);
	if (!keyed->hh.tbl) {
		memory_free(keyed);
		return NULL;
	}
	return keyed;
}

void stage_group_add(struct stage_group *group, __u8 seen, const struct stage_times *times,
		     __u64 total_ns)
{
	group->faults++;
	group->seen |= seen;
	for (unsigned int s = 0; s < STAGES; s++) {
		if (!(times->measured & (1u << s)))
			continue;
		histogram_add(&group->stages[s], times->ns[s]);
		if (times->merged & (1u << s)) {
			unsigned int before = stage_before(seen, s);

			group->merged[s]++;
			if (before > group->before[s])
				group->before[s] = (__u8)before;
		}
	}
	histogram_add(&group->total, total_ns);
}

static void add_keyed(struct stages *stages, struct stage_key key, const struct fault *fault,
		      const struct stage_times *times)
{
	struct keyed_group *keyed = stages_find(stages, key);

	if (!keyed)
		keyed = stages_make(stages, key);
	if (keyed)
		stage_group_add(&keyed->group, fault->seen, times, fault_total_ns(fault));
	else
		stages->dropped++;
}

static void stages_on_finished(void *self, const struct fault *fault)
{
	struct stages *stages = self;
	struct stage_times times;

	if (fault->state != FAULT_COMPLETE)
		return;
	stage_times(fault, &times);
	stage_group_add(&stages->all, fault->seen, &times, fault_total_ns(fault));
	add_keyed(stages, (struct stage_key){fault->device, QUEUE_ANY, KIND_ANY}, fault, &times);
	if (fault->queue != QUEUE_NONE)
		add_keyed(stages, (struct stage_key){fault->device, fault->queue, KIND_ANY}, fault,
			  &times);
	add_keyed(stages, (struct stage_key){fault->device, QUEUE_ANY, fault_kind_of(fault)}, fault,
		  &times);
}

static int create_stages(struct analysis *a, const struct analysis_config *config)
{
	struct stages *s = a->stages = memory_calloc(1, sizeof(*s));

	(void)config;
	if (!s)
		return failed(-ENOMEM, "no memory for the stage histograms");
	stage_group_init(&s->all);
	return faults_subscribe(a->faults, (struct fault_sink){NULL, stages_on_finished, s});
}

static void stages_destroy(struct stages *stages)
{
	struct keyed_group *keyed, *next;

	if (!stages)
		return;
	HASH_ITER(hh, stages->groups, keyed, next) {
		HASH_DEL(stages->groups, keyed);
		memory_free(keyed);
	}
	memory_free(stages);
}

enum fault_kind fault_kind_of(const struct fault *fault)
{
	unsigned int kind = fault->flags & EVENT_MAJOR	? FAULT_MAJOR_READ
			    : fault_effort_known(fault) ? FAULT_MINOR_READ
							: FAULT_UNKNOWN_READ;

	return (enum fault_kind)(kind + (fault->flags & EVENT_WRITE ? 1 : 0));
}

static const char *fault_kind_name(unsigned int kind)
{
	static const char *const names[FAULT_KINDS] = {
		"minor read",  "minor write",  "major read",
		"major write", "unknown read", "unknown write",
	};

	return kind < FAULT_KINDS ? names[kind] : "all";
}

const struct stage_group *stages_all(const struct stages *stages)
{
	return &stages->all;
}

static const struct stage_group *stages_group_of(const struct stages *stages, struct stage_key key)
{
	const struct keyed_group *keyed = stages_find(stages, key);

	return keyed ? &keyed->group : NULL;
}

const struct stage_group *stages_of_device(const struct stages *stages, __u32 device)
{
	return stages_group_of(stages, (struct stage_key){device, QUEUE_ANY, KIND_ANY});
}

const struct stage_group *stages_of_queue(const struct stages *stages, __u32 device, __u16 queue)
{
	return stages_group_of(stages, (struct stage_key){device, queue, KIND_ANY});
}

const struct stage_group *stages_of_kind(const struct stages *stages, __u32 device,
					 enum fault_kind kind)
{
	return stages_group_of(stages, (struct stage_key){device, QUEUE_ANY, (__u16)kind});
}

unsigned int stage_group_slowest(const struct stage_group *group, double *share)
{
	unsigned int slowest = STAGES;
	__u64 sum = 0;

	for (unsigned int s = 0; s < STAGES; s++) {
		sum += group->stages[s].sum;
		if (group->stages[s].count &&
		    (slowest == STAGES || group->stages[s].sum > group->stages[slowest].sum))
			slowest = s;
	}
	if (share)
		*share = slowest < STAGES && sum ? (double)group->stages[slowest].sum / (double)sum
						 : 0;
	return slowest;
}

const char *stage_group_label(const struct stage_group *group, unsigned int stage,
			      char text[STAGE_LABEL])
{
	return stage_label(stage, stage < STAGES ? group->before[stage] : 0, text);
}

__u64 stages_dropped(const struct stages *stages)
{
	return stages->dropped;
}

struct stage_row {
	const struct stage_key *key; /* NULL: all */
	const struct stage_group *group;
	const struct histogram *times;
	unsigned int stage; /* STAGES: the total */
	bool text;
};

static __u64 merged(const struct stage_row *row)
{
	return row->stage < STAGES ? row->group->merged[row->stage] : 0;
}

static const char *stage_text(const struct stage_row *row, char *text)
{
	return row->stage < STAGES ? stage_marked_name(row->stage, row->text && merged(row), text)
				   : "total";
}

#define STAGE_COLUMNS(COLUMN)                                                                   \
	COLUMN(device, none, TEXT, 10, SHOWN,                                                   \
	       row->key ? session_device_name(context, row->key->device, text) : "all")         \
	COLUMN(queue, none, COUNT, 5, WIDE,                                                     \
	       row->key && row->key->queue != QUEUE_ANY ? row->key->queue : CELL_NONE)          \
	COLUMN(kind, none, TEXT, 13, SHOWN, row->key ? fault_kind_name(row->key->kind) : "all") \
	COLUMN(stage, none, TEXT, 9, SHOWN, stage_text(row, text))                              \
	COLUMN(count, none, COUNT, 6, SHOWN, row->times->count)                                 \
	COLUMN(merged, none, COUNT, 6, WIDE, merged(row))                                       \
	COLUMN(mean, ns, DURATION, 7, SHOWN, (__u64)histogram_mean(row->times))                 \
	COLUMN(p50, ns, DURATION, 7, SHOWN, histogram_percentile(row->times, 50))               \
	COLUMN(p90, ns, DURATION, 7, WIDE, histogram_percentile(row->times, 90))                \
	COLUMN(p99, ns, DURATION, 7, SHOWN, histogram_percentile(row->times, 99))               \
	COLUMN(p999, ns, DURATION, 7, WIDE, histogram_percentile(row->times, 99.9))             \
	COLUMN(max, ns, DURATION, 7, SHOWN, row->times->max)                                    \
	COLUMN(sum, ns, DURATION, 8, WIDE, row->times->sum)                                     \
	COLUMN(beyond_p99, none, COUNT, 9, WIDE, histogram_beyond(row->times, 99))              \
	COLUMN(beyond_p999, none, COUNT, 9, WIDE, histogram_beyond(row->times, 99.9))
TABLE(stages, "Stages", STAGE_COLUMNS, struct stage_row, struct session)

static void write_group(struct writer *writer, const struct stage_key *key,
			const struct stage_group *group)
{
	struct stage_row row = {.key = key, .group = group, .text = writer_is_text(writer)};

	for (; row.stage < STAGES; row.stage++) {
		row.times = &group->stages[row.stage];
		if (row.times->count)
			writer_row(writer, &row);
	}
	row.times = &group->total;
	writer_row(writer, &row);
}

static int stages_by_key(const struct keyed_group *a, const struct keyed_group *b)
{
	if (a->key.device != b->key.device)
		return a->key.device < b->key.device ? -1 : 1;
	/* The device itself, then its kinds, then its queues. */
	if ((a->key.queue == QUEUE_ANY) != (b->key.queue == QUEUE_ANY))
		return a->key.queue == QUEUE_ANY ? -1 : 1;
	if (a->key.queue != b->key.queue)
		return a->key.queue < b->key.queue ? -1 : 1;
	if (a->key.kind != b->key.kind)
		return (__u16)(a->key.kind + 1) < (__u16)(b->key.kind + 1) ? -1 : 1;
	return 0;
}

static bool any_merged(const struct stage_group *group)
{
	for (unsigned int s = 0; s < STAGES; s++)
		if (group->merged[s])
			return true;
	return false;
}

/* Table "stages": a row per group and stage; unless `whole` only those of all faults together. */
static void stages_write(const struct analysis *analysis, struct writer *writer,
			 const struct table_wish *wish)
{
	struct stages *stages = analysis->stages;
	struct column columns[stages_columns];
	struct table table = stages_table;
	struct keyed_group *keyed;

	/* What says `all` in every row says nothing. */
	memcpy(columns, table.columns, sizeof(columns));
	for (size_t i = 0; i < stages_columns; i++)
		columns[i].wide |= !!wish->brief && (!strcmp(columns[i].name, "device") ||
						     !strcmp(columns[i].name, "kind"));
	table.columns = columns;
	HASH_SORT(stages->groups, stages_by_key);
	writer_begin_with(writer, &table, analysis->session);
	if (stages->all.faults)
		write_group(writer, NULL, &stages->all);
	for (keyed = !wish->brief ? stages->groups : NULL; keyed; keyed = keyed->hh.next)
		write_group(writer, &keyed->key, &keyed->group);
	writer_end(writer);
	if (writer_wants(writer, table.name) && any_merged(&stages->all))
		writer_note(writer, STAGE_MERGED_NOTE);
}

static bool stages_has_rows(const struct analysis *a)
{
	return stages_all(a->stages)->faults;
}

void stage_group_latency(const struct stage_group *group, struct live_latency *row)
{
	__u64 sum = 0;

	row->slowest_stage = STAGES;
	if (!group)
		return;
	row->slowest_stage = stage_group_slowest(group, NULL);
	row->count = group->faults;
	row->mean_ns = (__u64)histogram_mean(&group->total);
	row->p50_ns = histogram_percentile(&group->total, 50);
	row->p99_ns = histogram_percentile(&group->total, 99);
	row->p999_ns = histogram_percentile(&group->total, 99.9);
	row->max_ns = group->total.max;
	for (unsigned int s = 0; s < STAGES; s++)
		sum += group->stages[s].sum;
	for (unsigned int s = 0; s < STAGES; s++) {
		const struct histogram *h = &group->stages[s];

		row->stages[s] = (struct live_stage){
			.count = h->count,
			.merged = group->merged[s],
			.mean_ns = (__u64)histogram_mean(h),
			.p50_ns = histogram_percentile(h, 50),
			.p99_ns = histogram_percentile(h, 99),
			.max_ns = h->max,
			.share = sum ? (double)h->sum / (double)sum : 0,
		};
	}
}

static void stages_live(const struct analysis *a, struct live_device *row)
{
	stage_group_latency(stages_of_device(a->stages, row->handle),
			    &row->latency[LATENCY_SINCE_START]);
}

static const struct analyzer_table tables[] = {{&stages_table, stages_write, stages_has_rows}, {0}};

DEFINE_ANALYZER_OF_FAULTS(stages, .tables = tables, .chapter = REPORT_FAULTS, .device = stages_live)
