// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/verb_calls.h"

#include <errno.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/session.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/verb_names.h"

struct open_verbs {
	struct verb_call *calls; /* VERB_CALLS_OPEN, by token; NULL: nothing told */
};

struct verb_calls {
	const struct session *session;
	struct verb_sink sink;
	struct slots devices; /* struct open_verbs */
	bool began;	      /* its table */
};

static void verb_over(struct verb_calls *v, struct verb_call *call)
{
	if (call->seen && v->sink.ended && period_has(session_period(v->session), call->start_ns))
		v->sink.ended(v->sink.self, call);
	*call = (struct verb_call){.seen = 0};
}

/* The place of a token, which another one may have had. NULL: no memory. */
static struct verb_call *verb_open(struct verb_calls *v, const struct event *e)
{
	struct open_verbs *open = slots_make(&v->devices, e->device);
	struct verb_call *call;

	if (open && !open->calls)
		open->calls = memory_calloc(VERB_CALLS_OPEN, sizeof(*open->calls));
	if (!open || !open->calls)
		return NULL;
	call = &open->calls[e->group % VERB_CALLS_OPEN];
	if (call->seen && call->token != e->group)
		verb_over(v, call);
	call->device = e->device;
	call->token = e->group;
	return call;
}

static void verb_answered(struct verb_calls *v, const struct event *e)
{
	struct verb_call *call = verb_open(v, e);

	if (!call)
		return;
	/* A new guest counts from 1 again. */
	if (call->seen && call->took_ns)
		verb_over(v, call);
	*call = (struct verb_call){
		.start_ns = e->address,
		.took_ns = e->value,
		.bytes = e->length,
		.device = e->device,
		.token = e->group,
		.key = e->instance,
		.runs = e->tid,
		.error = e->queue,
		.kind = e->code,
		.seen = 1,
	};
}

static void verb_staged(struct verb_calls *v, const struct event *e)
{
	struct verb_call *call = e->code < VERB_WAKE ? verb_open(v, e) : NULL;

	if (!call)
		return;
	if (!call->seen) {
		call->start_ns = e->address;
		call->kind = (__u8)e->queue;
		call->key = e->instance;
		call->seen = 1;
	}
	call->stage_ns[e->code] = e->value;
}

static void verb_woken(struct verb_calls *v, const struct event *e)
{
	struct verb_call *call = verb_open(v, e);

	if (!call || !call->seen) /* answered before this was recorded */
		return;
	call->stage_ns[VERB_WAKE] = e->value;
	verb_over(v, call);
}

static int verb_calls_on_events(void *self, const struct event *events, size_t count)
{
	struct verb_calls *v = self;

	for (size_t i = 0; v->sink.ended && i < count; i++) {
		if (events[i].kind == EVENT_VERB)
			verb_answered(v, &events[i]);
		else if (events[i].kind == EVENT_VERB_STAGE)
			verb_staged(v, &events[i]);
		else if (events[i].kind == EVENT_VERB_WOKEN)
			verb_woken(v, &events[i]);
	}
	return 0;
}

static int verb_calls_on_end(void *self, __u64 end_ns)
{
	struct verb_calls *v = self;

	(void)end_ns;
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&v->devices, h)) {
		struct open_verbs *open = slots_find(&v->devices, h);

		for (unsigned int i = 0; open && open->calls && i < VERB_CALLS_OPEN; i++)
			verb_over(v, &open->calls[i]);
	}
	return 0;
}

static struct stream verb_calls_stream(struct verb_calls *v)
{
	static const struct stream_ops ops = {.events = verb_calls_on_events,
					      .end = verb_calls_on_end};

	return (struct stream){&ops, v};
}

static int create_verb_calls(struct analysis *a, const struct analysis_config *config)
{
	struct verb_calls *v = a->verb_calls = memory_calloc(1, sizeof(*v));

	(void)config;
	if (!v)
		return failed(-ENOMEM, "no memory for single verbs");
	v->session = a->session;
	slots_init(&v->devices, sizeof(struct open_verbs));
	return 0;
}

static void verb_calls_destroy(struct verb_calls *v)
{
	if (!v)
		return;
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&v->devices, h)) {
		struct open_verbs *open = slots_find(&v->devices, h);

		if (open)
			memory_free(open->calls);
	}
	slots_free(&v->devices);
	memory_free(v);
}

int verb_calls_follow(struct verb_calls *v, struct verb_sink sink)
{
	if (v->sink.ended)
		return failed(-EBUSY, "somebody follows verbs already");
	v->sink = sink;
	return 0;
}

#define STAGE_OF(row, stage) count_or_none((row)->stage_ns[stage])
#define VERB_CALLS(COLUMN)                                                                     \
	COLUMN(start, none, TIME, 12, SHOWN, row->start_ns)                                    \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(token, none, COUNT, 6, SHOWN, row->token)                                       \
	COLUMN(verb, none, TEXT, 15, SHOWN, verb_kind_name(row->kind))                         \
	COLUMN(key, none, COUNT, 6, WIDE, row->key)                                            \
	COLUMN(memory, bytes, BYTES, 7, SHOWN, row->bytes)                                     \
	COLUMN(runs, none, COUNT, 5, WIDE, row->runs)                                          \
	COLUMN(error, none, COUNT, 5, SHOWN, row->error)                                       \
	COLUMN(total, none, DURATION, 8, SHOWN, count_or_none(row->took_ns))                   \
	COLUMN(syscall, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_SYSCALL))                  \
	COLUMN(queue, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_QUEUE))                      \
	COLUMN(kick, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_KICK))                        \
	COLUMN(filter, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_FILTER))                    \
	COLUMN(pin, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_PIN))                          \
	COLUMN(remap, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_REMAP))                      \
	COLUMN(driver, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_DRIVER))                    \
	COLUMN(install, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_INSTALL))                  \
	COLUMN(reply, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_REPLY))                      \
	COLUMN(wake, none, DURATION, 8, WIDE, STAGE_OF(row, VERB_WAKE))
TABLE(verb_calls, "Single verbs", VERB_CALLS, struct verb_call, struct session)

void verb_calls_add(const struct analysis *a, struct writer *writer, const struct verb_call *call)
{
	if (!a->verb_calls->began)
		writer_begin_with(writer, &verb_calls_table, a->session);
	a->verb_calls->began = true;
	writer_row(writer, call);
}

static void verb_calls_write(const struct analysis *a, struct writer *writer,
			     const struct table_wish *wish)
{
	(void)wish;
	if (!a->verb_calls->began)
		writer_begin_with(writer, &verb_calls_table, a->session);
	writer_end(writer);
	a->verb_calls->began = false;
}

static const struct analyzer_table tables[] = {{&verb_calls_table, verb_calls_write}, {0}};

DEFINE_ANALYZER(verb_calls, .tables = tables, .of_a_verb = true)
