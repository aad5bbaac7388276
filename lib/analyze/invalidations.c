// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/invalidations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/analyze/hash.h"
#include "lib/analyze/pool.h"
#include "lib/analyze/slots.h"
#include "lib/base/fail.h"
#include "lib/capture/probes.h"

#define STEP(kind) (1u << (EVENT_INVALIDATE_##kind - EVENT_INVALIDATE_START))

/* A host that forgets to free leaves its invalidations open; the oldest make room. */
#define OPEN_MAX 65536

struct token_key {
	__u64 token;
	__u32 device;
	__u32 zero;
};

/* What several devices are told of at once: the memory that is freed is the same. */
struct memory_key {
	__u64 token;
	__u32 pid; /* of the machine: tokens are its own */
	__u32 zero;
};

struct memory_freed {
	struct memory_key key;
	__u32 open; /* devices whose invalidation has begun and not ended */
	bool counted;
	UT_hash_handle hh;
};

struct open_invalidation {
	struct token_key key;
	struct invalidation step;
	struct memory_freed *memory;
	bool left_out; /* it began outside of the period */
	struct open_invalidation *prev, *next;
	UT_hash_handle hh;
};

struct invalidations {
	struct open_invalidation *by_token, *by_age;
	struct memory_freed *memory;
	struct pool pool, memory_pool;
	struct period period;
	struct invalidation_totals all;
	__u8 off;	      /* bit per step whose probe is off */
	struct slots devices; /* struct invalidation_totals * */
	struct invalidation_sink sink;
};

static void totals_init(struct invalidation_totals *totals)
{
	for (unsigned int i = 0; i < INVALIDATION_INTERVALS; i++)
		histogram_init(&totals->intervals[i]);
	histogram_init(&totals->total);
}

static struct invalidation_totals *totals_of(struct invalidations *inv, __u32 device)
{
	struct invalidation_totals **slot = slots_make(&inv->devices, device);

	if (!slot)
		return NULL;
	if (!*slot) {
		*slot = memory_calloc(1, sizeof(**slot));
		if (*slot)
			totals_init(*slot);
	}
	return *slot;
}

static bool in_order(const struct invalidation *step)
{
	__u64 before = 0;

	for (unsigned int i = 0; i < INVALIDATION_STEPS; i++) {
		if (!(step->seen & 1u << i))
			continue;
		if (step->at[i] < before)
			return false;
		before = step->at[i];
	}
	return true;
}

static void add_times(struct invalidation_totals *totals, const struct invalidation *step)
{
	for (unsigned int i = 0; i < INVALIDATION_INTERVALS; i++)
		if ((step->seen >> i & 3) == 3)
			histogram_add(&totals->intervals[i], step->at[i + 1] - step->at[i]);
	if (step->seen & STEP(START) && step->seen & STEP(FREED))
		histogram_add(&totals->total, step->at[INVALIDATION_STEPS - 1] - step->at[0]);
}

/* `frees`: its memory counts here. `off`: steps that could not be seen. */
static void invalidations_add(struct invalidation_totals *totals, const struct invalidation *step,
			      bool frees, __u8 off)
{
	const unsigned int all = (1u << INVALIDATION_STEPS) - 1;

	if (!((step->seen | off) & STEP(FREED))) {
		totals->counts.unfinished++;
		return;
	}
	if ((step->seen | off) != all || !in_order(step)) {
		totals->counts.inconsistent++;
		return;
	}
	totals->counts.complete++;
	if (frees) {
		totals->counts.bytes += step->length;
		totals->counts.written_out += !!(step->flags & EVENT_MAJOR);
	}
	add_times(totals, step);
}

/* The memory of an invalidation that begins, shared with the other devices that are told. */
static struct memory_freed *memory_of(struct invalidations *inv, const struct event *e)
{
	const struct memory_key key = {e->value, e->pid, 0};
	struct memory_freed *memory;

	HASH_FIND(hh, inv->memory, &key, sizeof(key), memory);
	if (!memory) {
		memory = pool_take(&inv->memory_pool);
		if (!memory)
			return NULL;
		memory->key = key;
		HASH_ADD(hh, inv->memory, key, sizeof(key), memory);
		if (!memory->hh.tbl) {
			pool_give(&inv->memory_pool, memory);
			return NULL;
		}
	}
	memory->open++;
	return memory;
}

static void memory_let_go(struct invalidations *inv, struct memory_freed *memory)
{
	if (--memory->open)
		return;
	HASH_DEL(inv->memory, memory);
	pool_give(&inv->memory_pool, memory);
}

static void invalidations_count(struct invalidations *inv, struct open_invalidation *open)
{
	struct invalidation_totals *device = totals_of(inv, open->step.device);
	__u64 complete = inv->all.counts.complete;

	invalidations_add(&inv->all, &open->step, !open->memory->counted, inv->off);
	open->memory->counted |= inv->all.counts.complete != complete;
	if (device)
		invalidations_add(device, &open->step, true, inv->off);
}

static void invalidations_close_one(struct invalidations *inv, struct open_invalidation *open)
{
	if (!open->left_out) {
		invalidations_count(inv, open);
		if (inv->sink.closed)
			inv->sink.closed(inv->sink.self, &open->step);
	}
	memory_let_go(inv, open->memory);
	HASH_DEL(inv->by_token, open);
	DL_DELETE(inv->by_age, open);
	pool_give(&inv->pool, open);
}

static struct open_invalidation *
invalidations_begin(struct invalidations *inv, const struct token_key *key, const struct event *e)
{
	struct invalidation_totals *device = totals_of(inv, e->device);
	struct open_invalidation *open;

	if (HASH_COUNT(inv->by_token) >= OPEN_MAX)
		invalidations_close_one(inv, inv->by_age);
	open = pool_take(&inv->pool);
	if (!open)
		return NULL;
	open->key = *key;
	open->step.token = e->value;
	open->step.device = e->device;
	open->step.pasid = e->pasid;
	open->memory = memory_of(inv, e);
	if (!open->memory) {
		pool_give(&inv->pool, open);
		return NULL;
	}
	HASH_ADD(hh, inv->by_token, key, sizeof(*key), open);
	if (!open->hh.tbl) {
		memory_let_go(inv, open->memory);
		pool_give(&inv->pool, open);
		return NULL;
	}
	DL_APPEND(inv->by_age, open);
	open->left_out = !period_has(&inv->period, e->time_ns);
	if (open->left_out)
		return open;
	inv->all.counts.began++;
	if (device)
		device->counts.began++;
	return open;
}

static int invalidations_step(struct invalidations *inv, const struct event *e)
{
	const struct token_key key = {e->value, e->device, 0};
	unsigned int index = e->kind - EVENT_INVALIDATE_START;
	struct open_invalidation *open;

	HASH_FIND(hh, inv->by_token, &key, sizeof(key), open);
	if (!open)
		open = invalidations_begin(inv, &key, e);
	if (!open)
		return failed(-ENOMEM, "no memory for another open invalidation");
	if (!(open->step.seen & (1u << index)))
		open->step.at[index] = e->time_ns;
	open->step.seen |= (__u8)(1u << index);
	open->step.flags |= e->flags;
	if (e->length > open->step.length) {
		open->step.address = e->address;
		open->step.length = e->length;
	}
	if (e->kind == EVENT_INVALIDATE_FREED)
		invalidations_close_one(inv, open);
	return 0;
}

static int invalidations_on_events(void *self, const struct event *events, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		if (events[i].kind >= EVENT_INVALIDATE_START &&
		    events[i].kind <= EVENT_INVALIDATE_FREED)
			error = invalidations_step(self, &events[i]);
	return error;
}

static int invalidations_on_probe(void *self, const struct probe_info *probe)
{
	const struct probe_row *row = probe_row_named(probe->name);
	struct invalidations *inv = self;
	unsigned int step;

	if (!row || row->kind < EVENT_INVALIDATE_START || row->kind > EVENT_INVALIDATE_FREED)
		return 0;
	step = 1u << (row->kind - EVENT_INVALIDATE_START);
	inv->off = (__u8)(probe->state == PROBE_ON ? inv->off & ~step : inv->off | step);
	return 0;
}

static int invalidations_on_end(void *self, __u64 end_ns)
{
	struct invalidations *inv = self;

	(void)end_ns;
	while (inv->by_age)
		invalidations_close_one(inv, inv->by_age);
	return 0;
}

int invalidations_create(struct invalidations **invalidations, const struct period *period)
{
	struct invalidations *inv = memory_calloc(1, sizeof(*inv));

	*invalidations = inv;
	if (!inv)
		return failed(-ENOMEM, "no memory for the invalidations");
	if (period)
		inv->period = *period;
	totals_init(&inv->all);
	pool_init(&inv->pool, sizeof(struct open_invalidation));
	pool_init(&inv->memory_pool, sizeof(struct memory_freed));
	slots_init(&inv->devices, sizeof(struct invalidation_totals *));
	return 0;
}

struct stream invalidations_stream(struct invalidations *inv)
{
	static const struct stream_ops ops = {.probe = invalidations_on_probe,
					      .events = invalidations_on_events,
					      .end = invalidations_on_end};

	return (struct stream){&ops, inv};
}

void invalidations_destroy(struct invalidations *inv)
{
	if (!inv)
		return;
	HASH_CLEAR(hh, inv->by_token);
	HASH_CLEAR(hh, inv->memory);
	pool_free(&inv->pool);
	pool_free(&inv->memory_pool);
	for (__u32 h = 0; h < inv->devices.end; h = slots_next(&inv->devices, h)) {
		struct invalidation_totals **slot = slots_find(&inv->devices, h);

		if (slot)
			memory_free(*slot);
	}
	slots_free(&inv->devices);
	memory_free(inv);
}

void invalidations_subscribe(struct invalidations *inv, struct invalidation_sink sink)
{
	inv->sink = sink;
}

const char *invalidation_interval_name(unsigned int interval)
{
	static const char *const names[INVALIDATION_INTERVALS] = {"told", "acked", "freed"};

	return interval < INVALIDATION_INTERVALS ? names[interval] : "unknown";
}

const struct invalidation_totals *invalidations_all(const struct invalidations *inv)
{
	return &inv->all;
}

const struct invalidation_totals *invalidations_of(const struct invalidations *inv, __u32 device)
{
	struct invalidation_totals *const *slot = slots_find(&inv->devices, device);

	return slot ? *slot : NULL;
}

static __u64 invalidations_percentile(const struct histogram *h, double percent)
{
	return count_if(h->count, histogram_percentile(h, percent));
}

struct invalidation_row {
	__u32 device;
	bool all;	   /* devices */
	bool freed, acked; /* whether these steps were watched */
	const struct invalidation_totals *totals;
};

#define INVALIDATIONS(COLUMN)                                                                      \
	COLUMN(device, none, TEXT, 16, SHOWN,                                                      \
	       row->all ? "all" : session_device_name(context, row->device, text))                 \
	COLUMN(began, none, COUNT, 7, SHOWN, row->totals->counts.began)                            \
	COLUMN(complete, none, COUNT, 8, WIDE, count_if(row->freed, row->totals->counts.complete)) \
	COLUMN(unfinished, none, COUNT, 10, WIDE,                                                  \
	       count_if(row->freed, row->totals->counts.unfinished))                               \
	COLUMN(inconsistent, none, COUNT, 12, WIDE,                                                \
	       count_if(row->freed && row->acked, row->totals->counts.inconsistent))               \
	COLUMN(written_out, none, COUNT, 11, WIDE,                                                 \
	       count_if(row->freed, row->totals->counts.written_out))                              \
	COLUMN(freed, none, BYTES, 7, SHOWN, count_if(row->freed, row->totals->counts.bytes))      \
	COLUMN(told_p50, ns, DURATION, 8, SHOWN,                                                   \
	       invalidations_percentile(&row->totals->intervals[0], 50))                           \
	COLUMN(acked_p50, ns, DURATION, 9, SHOWN,                                                  \
	       invalidations_percentile(&row->totals->intervals[1], 50))                           \
	COLUMN(freed_p50, ns, DURATION, 9, SHOWN,                                                  \
	       invalidations_percentile(&row->totals->intervals[2], 50))                           \
	COLUMN(total_p50, ns, DURATION, 9, WIDE,                                                   \
	       invalidations_percentile(&row->totals->total, 50))                                  \
	COLUMN(total_p99, ns, DURATION, 9, WIDE,                                                   \
	       invalidations_percentile(&row->totals->total, 99))                                  \
	COLUMN(total_max, ns, DURATION, 9, SHOWN,                                                  \
	       count_if(row->totals->total.count, row->totals->total.max))
TABLE(invalidations, "Invalidations (memory reclaimed)", INVALIDATIONS, struct invalidation_row,
      struct session)

void invalidations_write(const struct analysis *analysis, struct writer *writer,
			 const struct table_wish *wish)
{
	const struct invalidations *inv = analysis->invalidations;
	struct invalidation_row row = {
		.all = true,
		.freed = !(inv->off & STEP(FREED)),
		.acked = !(inv->off & STEP(ACK)),
		.totals = &inv->all,
	};

	writer_begin_with(writer, &invalidations_table, analysis->session);
	if (inv->all.counts.began)
		writer_row(writer, &row);
	row.all = false;
	for (__u32 h = 0; !wish->brief && h < inv->devices.end; h = slots_next(&inv->devices, h)) {
		row.device = h;
		row.totals = invalidations_of(inv, h);
		if (row.totals && row.totals->counts.began)
			writer_row(writer, &row);
	}
	writer_end(writer);
}

static bool invalidations_has_rows(const struct analysis *a)
{
	return invalidations_all(a->invalidations)->counts.began;
}

static int create_invalidations(struct analysis *a, const struct analysis_config *config)
{
	return invalidations_create(&a->invalidations, &config->period);
}

static const struct analyzer_table tables[] = {
	{&invalidations_table, invalidations_write, invalidations_has_rows}, {0}};

DEFINE_ANALYZER(invalidations, .tables = tables, .chapter = REPORT_IO)
