// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/base/fail.h"

#define KIND_ANY  0xffff
#define QUEUE_ANY 0xfffe

struct group_key {
	__u32 device; /* DEVICE_NONE with both others ANY: all */
	__u16 queue;
	__u16 kind;
};

struct keyed_group {
	struct group_key key;
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

static struct keyed_group *find(const struct stages *stages, struct group_key key)
{
	struct keyed_group *keyed;

	HASH_FIND(hh, stages->groups, &key, sizeof(key), keyed);
	return keyed;
}

static struct keyed_group *make(struct stages *stages, struct group_key key)
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

static void add_keyed(struct stages *stages, struct group_key key, const struct fault *fault,
		      const struct stage_times *times)
{
	struct keyed_group *keyed = find(stages, key);

	if (!keyed)
		keyed = make(stages, key);
	if (keyed)
		stage_group_add(&keyed->group, fault->seen, times, fault_total_ns(fault));
	else
		stages->dropped++;
}

static void on_finished(void *self, const struct fault *fault)
{
	struct stages *stages = self;
	struct stage_times times;

	if (fault->state != FAULT_COMPLETE)
		return;
	stage_times(fault, &times);
	stage_group_add(&stages->all, fault->seen, &times, fault_total_ns(fault));
	add_keyed(stages, (struct group_key){fault->device, QUEUE_ANY, KIND_ANY}, fault, &times);
	if (fault->queue != QUEUE_NONE)
		add_keyed(stages, (struct group_key){fault->device, fault->queue, KIND_ANY}, fault,
			  &times);
	add_keyed(stages, (struct group_key){fault->device, QUEUE_ANY, fault_kind_of(fault)}, fault,
		  &times);
}

int stages_create(struct stages **stages, struct faults *faults)
{
	struct stages *s = memory_calloc(1, sizeof(*s));

	*stages = s;
	if (!s)
		return failed(-ENOMEM, "no memory for the stage histograms");
	stage_group_init(&s->all);
	return faults_subscribe(faults, (struct fault_sink){NULL, on_finished, s});
}

void stages_destroy(struct stages *stages)
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

const char *fault_kind_name(unsigned int kind)
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

static const struct stage_group *group_of(const struct stages *stages, struct group_key key)
{
	const struct keyed_group *keyed = find(stages, key);

	return keyed ? &keyed->group : NULL;
}

const struct stage_group *stages_of_device(const struct stages *stages, __u32 device)
{
	return group_of(stages, (struct group_key){device, QUEUE_ANY, KIND_ANY});
}

const struct stage_group *stages_of_queue(const struct stages *stages, __u32 device, __u16 queue)
{
	return group_of(stages, (struct group_key){device, queue, KIND_ANY});
}

const struct stage_group *stages_of_kind(const struct stages *stages, __u32 device,
					 enum fault_kind kind)
{
	return group_of(stages, (struct group_key){device, QUEUE_ANY, (__u16)kind});
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

static int write_histogram(struct writer *writer, const union cell scope[3], const char *stage,
			   const struct histogram *h, __u64 merged)
{
	return writer_row(writer, (union cell[]){
					  scope[0],
					  scope[1],
					  scope[2],
					  {.text = stage},
					  {.count = h->count},
					  {.count = merged},
					  {.count = (__u64)histogram_mean(h)},
					  {.count = histogram_percentile(h, 50)},
					  {.count = histogram_percentile(h, 90)},
					  {.count = histogram_percentile(h, 99)},
					  {.count = histogram_percentile(h, 99.9)},
					  {.count = h->max},
					  {.count = h->sum},
					  {.count = histogram_beyond(h, 99)},
					  {.count = histogram_beyond(h, 99.9)},
				  });
}

static int write_group(struct writer *writer, const union cell scope[3],
		       const struct stage_group *group)
{
	bool text = writer_is_text(writer);
	char name[STAGE_MARKED_TEXT];
	int error = 0;

	for (unsigned int s = 0; !error && s < STAGES; s++)
		if (group->stages[s].count)
			error = write_histogram(
				writer, scope, stage_marked_name(s, text && group->merged[s], name),
				&group->stages[s], group->merged[s]);
	return error ? error : write_histogram(writer, scope, "total", &group->total, 0);
}

static int by_key(const struct keyed_group *a, const struct keyed_group *b)
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

int stages_write(struct stages *stages, const struct session *session, struct writer *writer,
		 bool whole)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 10, false},
		{"queue", NULL, COLUMN_COUNT, 5, true},
		{"kind", NULL, COLUMN_TEXT, 13, false},
		{"stage", NULL, COLUMN_TEXT, 9, false},
		{"count", NULL, COLUMN_COUNT, 6, false},
		{"merged", NULL, COLUMN_COUNT, 6, true},
		{"mean", "ns", COLUMN_DURATION, 7, false},
		{"p50", "ns", COLUMN_DURATION, 7, false},
		{"p90", "ns", COLUMN_DURATION, 7, true},
		{"p99", "ns", COLUMN_DURATION, 7, false},
		{"p999", "ns", COLUMN_DURATION, 7, true},
		{"max", "ns", COLUMN_DURATION, 7, false},
		{"sum", "ns", COLUMN_DURATION, 8, true},
		{"beyond_p99", NULL, COLUMN_COUNT, 9, true},
		{"beyond_p999", NULL, COLUMN_COUNT, 9, true},
	};
	const size_t count = sizeof(columns) / sizeof(columns[0]);
	struct column brief[sizeof(columns) / sizeof(columns[0])];
	const struct table table = {"stages", "Stages", whole ? columns : brief, count};
	struct keyed_group *keyed;
	char text[DEVICE_NAME_TEXT];
	int error;

	/* What says `all` in every row says nothing. */
	memcpy(brief, columns, sizeof(brief));
	brief[0].wide = true;
	brief[2].wide = true;
	HASH_SORT(stages->groups, by_key);
	error = writer_begin(writer, &table);
	if (!error && stages->all.faults)
		error = write_group(
			writer,
			(union cell[]){{.text = "all"}, {.count = CELL_NONE}, {.text = "all"}},
			&stages->all);
	for (keyed = whole ? stages->groups : NULL; !error && keyed; keyed = keyed->hh.next) {
		const struct group_key *key = &keyed->key;
		bool queue = key->queue != QUEUE_ANY;

		error = write_group(
			writer,
			(union cell[]){
				{.text = session_device_name(session, key->device, text)},
				{.count = queue ? key->queue : CELL_NONE},
				{.text = fault_kind_name(key->kind)},
			},
			&keyed->group);
	}
	error = error ? error : writer_end(writer);
	if (!error && writer_wants(writer, table.name) && any_merged(&stages->all))
		error = writer_note(writer, STAGE_MERGED_NOTE);
	return error;
}
