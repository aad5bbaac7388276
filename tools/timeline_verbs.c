// SPDX-License-Identifier: GPL-2.0
#include "tools/timeline_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/session.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"
#include "lib/base/verb_names.h"

#define VERBS_DEFAULT 20
#define VERB_BAR      50

bool timeline_verbs_wanted(const struct timeline_verbs *t)
{
	return t->token || t->slowest;
}

static void print_verb_head(const struct offline *o, const struct verb_call *call)
{
	char name[DEVICE_NAME_TEXT], text[UNITS_TEXT];
	const struct session *session = o->analysis->session;

	if (offline_has_hosts(o))
		printf("%s: ", printable_of(o->hosts[o->host].name).text);
	printf("%s  verb %u  %s",
	       printable_of(session_device_name(session, call->device, name)).text, call->token,
	       verb_kind_name(call->kind));
	if (call->key)
		printf(" %u", call->key);
	if (call->bytes)
		printf("  %s", units_format_size(call->bytes, text));
	if (call->runs)
		printf(", %u %s", call->runs, call->runs == 1 ? "run" : "runs");
	if (!session_wall_time(session, call->start_ns, text))
		snprintf(text, sizeof(text), "%llu ns", call->start_ns);
	printf("\n%s  %s\n", text,
	       !call->took_ns ? "its answer was not seen"
	       : call->error  ? strerror(call->error)
			      : "done");
}

/* Where a stage lies in the whole; one that took any time has a mark. */
static void print_verb_bar(const struct verb_call *call, unsigned int stage, __u64 total)
{
	__u64 before = 0;
	unsigned int from, to;

	for (unsigned int s = 0; s < stage; s++)
		before += call->stage_ns[s];
	from = (unsigned int)((long double)before * VERB_BAR / (long double)total);
	to = (unsigned int)((long double)(before + call->stage_ns[stage]) * VERB_BAR /
			    (long double)total);
	if (from >= VERB_BAR)
		from = VERB_BAR - 1;
	if (to <= from)
		to = from + 1;
	printf("%*s", (int)from, "");
	for (unsigned int at = from; at < to && at < VERB_BAR; at++)
		putchar('#');
	putchar('\n');
}

static void print_verb_stage(const struct verb_call *call, unsigned int stage, __u64 all)
{
	char text[UNITS_TEXT];

	if (!call->stage_ns[stage])
		return;
	printf("  %-8s  %9s  ", verb_stage_name(stage),
	       units_format_duration(call->stage_ns[stage], text));
	print_verb_bar(call, stage, all);
}

/* The wake comes after the answer, up to which the total is. */
static void print_verb(const struct offline *o, const struct verb_call *call)
{
	char text[UNITS_TEXT];
	__u64 all = 0;

	print_verb_head(o, call);
	for (unsigned int stage = 0; stage < VERB_STAGES; stage++)
		all += call->stage_ns[stage];
	for (unsigned int stage = 0; stage < VERB_WAKE; stage++)
		print_verb_stage(call, stage, all);
	printf("  %-8s  %9s\n", "total", units_format_duration(call->took_ns, text));
	print_verb_stage(call, VERB_WAKE, all);
	putchar('\n');
}

static int verb_put(const struct timeline_verbs *t, const struct verb_call *call)
{
	if (!offline_is_text(t->offline)) {
		verb_calls_add(t->offline->analysis, t->offline->writer, call);
		return writer_error(t->offline->writer);
	}
	print_verb(t->offline, call);
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return failed(-EIO, "standard output: cannot be written: %s", strerror(errno));
}

/* Slowest first; equal ones in the order they ended. */
static void verb_keep(struct timeline_verbs *t, const struct verb_call *call)
{
	size_t at = t->count;

	while (at > 0 && t->kept[at - 1].call.took_ns < call->took_ns)
		at--;
	if (at == t->slowest)
		return;
	if (t->count < t->slowest)
		t->count++;
	memmove(&t->kept[at + 1], &t->kept[at], (t->count - at - 1) * sizeof(*t->kept));
	t->kept[at] = (struct kept_verb){*call, t->offline->host};
}

static void verb_on_ended(void *self, const struct verb_call *call)
{
	struct timeline_verbs *t = self;
	const struct session *session = t->offline->analysis->session;

	t->seen++;
	if ((t->token && call->token != t->token) ||
	    (t->device && !session_device_fits(session, call->device, t->device)))
		return;
	t->matched++;
	verb_keep(t, call);
}

int timeline_verbs_begin(struct timeline_verbs *t, struct offline *o)
{
	t->offline = o;
	if (!t->slowest)
		t->slowest = VERBS_DEFAULT;
	if (!t->kept)
		t->kept = calloc(t->slowest, sizeof(*t->kept));
	if (!t->kept)
		return failed(-ENOMEM, "no memory for the %llu slowest verbs", t->slowest);
	return verb_calls_follow(o->analysis->verb_calls, (struct verb_sink){verb_on_ended, t});
}

int timeline_verbs_write(struct timeline_verbs *t, struct offline *o)
{
	static const struct table_wish everything;
	int err = 0;

	for (size_t i = 0; !err && i < t->count; i++) {
		offline_turn(o, t->kept[i].host);
		err = verb_put(t, &t->kept[i].call);
	}
	if (err)
		return err;
	if (!offline_is_text(o))
		return offline_write_tables(o, &verb_calls_analyzer, &everything);
	if (!t->seen)
		writer_note(o->writer, "No verb of a device with a mode was recorded; `faultline "
				       "report` says what was watched and what was not.");
	else if (!t->matched)
		writer_note(o->writer, "Of %llu verbs none fits.", t->seen);
	else if (t->count < t->matched)
		writer_note(o->writer, "The slowest %zu of %llu verbs.", t->count, t->matched);
	return offline_each(o, offline_write_limits);
}
