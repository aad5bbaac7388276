// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/verbs.h"

#include <errno.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/hyv.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define VERB_WHOLE VERB_STAGES /* from the call to the answer */

struct verb_account {
	__u64 count, errors, bytes;
	struct histogram *of[VERB_STAGES + 1]; /* NULL: none has passed it */
};

struct device_verbs {
	struct verb_account *kinds; /* VERB_KINDS; NULL: nothing told */
};

struct verbs {
	const struct session *session;
	struct slots devices; /* struct device_verbs */
};

/* NULL: no such kind, or no memory. */
static struct verb_account *verb_account_of(struct verbs *v, __u32 handle, unsigned int kind)
{
	struct device_verbs *device = slots_make(&v->devices, handle);

	if (!device || kind >= VERB_KINDS)
		return NULL;
	if (!device->kinds)
		device->kinds = memory_calloc(VERB_KINDS, sizeof(*device->kinds));
	return device->kinds ? &device->kinds[kind] : NULL;
}

static void verb_took(struct verbs *v, const struct event *e, unsigned int kind, unsigned int stage)
{
	struct verb_account *account = verb_account_of(v, e->device, kind);
	struct histogram *h =
		account && stage <= VERB_WHOLE ? hyv_histogram(&account->of[stage]) : NULL;

	if (h)
		histogram_add(h, e->value);
}

static void take_verb(struct verbs *v, const struct event *e)
{
	struct verb_account *account = verb_account_of(v, e->device, e->code);

	if (!account)
		return;
	account->count++;
	account->errors += !!(e->flags & EVENT_MAJOR);
	account->bytes += e->length;
	verb_took(v, e, e->code, VERB_WHOLE);
}

static int verbs_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		if (e->kind == EVENT_VERB)
			take_verb(self, e);
		else if (e->kind == EVENT_VERB_STAGE && e->code < VERB_WAKE)
			verb_took(self, e, e->queue, e->code);
		else if (e->kind == EVENT_VERB_WOKEN)
			verb_took(self, e, e->code, VERB_WAKE);
	}
	return 0;
}

static struct stream verbs_stream(struct verbs *v)
{
	static const struct stream_ops ops = {.events = verbs_on_events};

	return (struct stream){&ops, v};
}

static int create_verbs(struct analysis *a, const struct analysis_config *config)
{
	struct verbs *v = a->verbs = memory_calloc(1, sizeof(*v));

	(void)config;
	if (!v)
		return failed(-ENOMEM, "no memory for the verbs of guests");
	v->session = a->session;
	slots_init(&v->devices, sizeof(struct device_verbs));
	return 0;
}

static void verbs_destroy(struct verbs *v)
{
	if (!v)
		return;
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&v->devices, h)) {
		struct device_verbs *device = slots_find(&v->devices, h);

		for (unsigned int kind = 0; device && device->kinds && kind < VERB_KINDS; kind++)
			for (unsigned int stage = 0; stage <= VERB_WHOLE; stage++)
				memory_free(device->kinds[kind].of[stage]);
		if (device)
			memory_free(device->kinds);
	}
	slots_free(&v->devices);
	memory_free(v);
}

static const struct verb_account *verb_account_find(const struct verbs *v, __u32 handle,
						    unsigned int kind)
{
	const struct device_verbs *device = slots_find(&v->devices, handle);

	return device && device->kinds && kind < VERB_KINDS ? &device->kinds[kind] : NULL;
}

__u64 verbs_count(const struct verbs *v, __u32 handle)
{
	__u64 count = 0;

	for (unsigned int kind = 0; kind < VERB_KINDS; kind++) {
		const struct verb_account *account = verb_account_find(v, handle, kind);

		count += account ? account->count : 0;
	}
	return count;
}

const struct histogram *verbs_stage(const struct verbs *v, __u32 handle, unsigned int kind,
				    unsigned int stage)
{
	const struct verb_account *account = verb_account_find(v, handle, kind);

	return account && stage <= VERB_WHOLE ? account->of[stage] : NULL;
}

struct verb_row {
	__u32 device;
	unsigned int kind, stage;
	const struct verb_account *account; /* of the whole verb only */
	const struct histogram *h;
};

static const char *verb_stage_row_name(unsigned int stage)
{
	return stage == VERB_WHOLE ? "total" : verb_stage_name(stage);
}

static __u64 verb_passed(const struct verb_row *row)
{
	return row->account ? row->account->count : row->h->count;
}

#define VERBS(COLUMN)                                                                          \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(verb, none, TEXT, 15, SHOWN, verb_kind_name(row->kind))                         \
	COLUMN(stage, none, TEXT, 8, SHOWN, verb_stage_row_name(row->stage))                   \
	COLUMN(count, none, COUNT, 7, SHOWN, verb_passed(row))                                 \
	COLUMN(errors, none, COUNT, 6, SHOWN,                                                  \
	       count_if(row->account, row->account ? row->account->errors : 0))                \
	COLUMN(p50, none, DURATION, 8, SHOWN, hyv_percentile(row->h, 50))                      \
	COLUMN(p99, none, DURATION, 8, SHOWN, hyv_percentile(row->h, 99))                      \
	COLUMN(max, none, DURATION, 8, WIDE, row->h->max)                                      \
	COLUMN(sum, none, DURATION, 8, WIDE, row->h->sum)                                      \
	COLUMN(memory, bytes, BYTES, 8, WIDE,                                                  \
	       count_if(row->account, row->account ? row->account->bytes : 0))
TABLE(verbs, "Verbs of guests, by stage", VERBS, struct verb_row, struct session)

/* The whole first. Returns how many rows there are with those. */
static size_t verbs_write_kind(const struct verbs *v, struct writer *writer, struct verb_row of,
			       size_t limit, size_t rows)
{
	const struct verb_account *account = verb_account_find(v, of.device, of.kind);

	for (unsigned int i = 0; account && i <= VERB_WHOLE; i++) {
		of.stage = i ? i - 1 : VERB_WHOLE;
		of.h = account->of[of.stage];
		of.account = i ? NULL : account;
		if (of.h && (!limit || rows++ < limit))
			writer_row(writer, &of);
	}
	return rows;
}

static void verbs_write(const struct analysis *a, struct writer *writer,
			const struct table_wish *wish)
{
	size_t rows = 0;

	writer_begin_with(writer, &verbs_table, a->session);
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->verbs->devices, h))
		for (unsigned int kind = 0; kind < VERB_KINDS; kind++)
			rows = verbs_write_kind(a->verbs, writer,
						(struct verb_row){.device = h, .kind = kind},
						wish->limit, rows);
	writer_end(writer);
	if (wish->limit && rows > wish->limit)
		writer_note(writer, "... and %zu more stages of verbs.", rows - wish->limit);
}

static bool verbs_have_rows(const struct analysis *a)
{
	return a->verbs->devices.end;
}

static const struct analyzer_table tables[] = {
	{&verbs_table, verbs_write, verbs_have_rows, REPORT_ROWS * 2ull}, {0}};

DEFINE_ANALYZER(verbs, .of_period = true, .tables = tables, .chapter = REPORT_RDMA)
