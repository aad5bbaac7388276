// SPDX-License-Identifier: GPL-2.0
#include "tools/explain/wanted.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/sentence.h"
#include "lib/analyze/session.h"

#define ACCEPTED \
	"accepted: DEVICE@TIME, such as 'vm0/disk@14:02:03.25', --row N, --slowest or --all"

/* What the last digit of a time is worth: of "14:02" a minute, of "+1.25s" 10 ms. */
static __u64 time_worth(const char *text, const struct units_time *time)
{
	static const struct {
		const char *unit;
		__u64 ns;
	} units[] = {{"ns", 1},
		     {"us", NSEC_PER_USEC},
		     {"ms", NSEC_PER_MSEC},
		     {"s", NSEC_PER_SEC},
		     {"m", 60 * NSEC_PER_SEC},
		     {"h", 3600 * NSEC_PER_SEC},
		     {"d", 86400 * NSEC_PER_SEC}};
	const char *point = strchr(text, '.'), *colon = strchr(text, ':');
	bool relative = time->base == UNITS_TIME_AFTER_START || time->base == UNITS_TIME_BEFORE_END;
	__u64 worth = NSEC_PER_SEC;
	const char *unit = text + strcspn(text, "nmushd");

	for (size_t i = 0; relative && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].unit))
			worth = units[i].ns;
	if (!relative && !point && colon && (!strchr(colon + 1, ':')))
		worth = 60 * NSEC_PER_SEC;
	for (const char *digit = point ? point + 1 : ""; isdigit((unsigned char)*digit); digit++)
		worth /= 10;
	return worth ? worth : 1;
}

int wanted_parse(const char *text, struct wanted_time *at)
{
	const char *sign = strrchr(text, '@');
	int err;

	/* "@1795269723.5" is a time by itself. */
	if (sign && sign > text && sign[-1] == '@')
		sign--;
	if (!sign || sign == text || !sign[1])
		return failed(-EINVAL, "'%s': names no fault; " ACCEPTED, text);
	at->text = text;
	at->time_text = sign + 1;
	err = units_parse_time(at->time_text, &at->time);
	if (err)
		return err;
	at->worth_ns = time_worth(at->time_text, &at->time);
	at->device = strndup(text, (size_t)(sign - text));
	return at->device ? 0 : failed(-ENOMEM, "no memory for a device's name");
}

int wanted_resolve(struct explain_wanted *wanted, const struct offline *o)
{
	const struct wanted_time *at = &wanted->at;
	const struct window_options window = {
		.has_since = true, .since = at->time, .since_text = at->time_text};
	struct trace_summary **summaries;
	struct period *periods;
	int err = 0;

	if (!at->text || wanted->spans)
		return 0;
	if (!strcmp(o->path, "-"))
		return failed(-EINVAL, "a time needs a file: of standard input it is not known "
				       "before when it began; accepted: --row N, --slowest, --all");
	summaries = calloc(o->count, sizeof(struct trace_summary *));
	periods = calloc(o->count, sizeof(*periods));
	wanted->spans = calloc(o->count, sizeof(*wanted->spans));
	if (!summaries || !periods || !wanted->spans)
		err = failed(-ENOMEM, "no memory for %zu hosts", o->count);
	for (size_t i = 0; !err && i < o->count; i++)
		summaries[i] = &o->hosts[i].summary;
	if (!err && o->count == 1)
		err = common_resolve_window(&window, summaries[0], periods);
	else if (!err)
		err = common_resolve_hosts(&window, summaries, periods, o->count);
	/* A wall-clock time that was written is read back to within a nanosecond. */
	for (size_t i = 0; !err && i < o->count; i++)
		wanted->spans[i] =
			(struct wanted_span){periods[i].since_ns ? periods[i].since_ns - 1 : 0,
					     periods[i].since_ns + at->worth_ns};
	free(summaries);
	free(periods);
	return err;
}

static __u64 duration_of(const struct fault *fault)
{
	return fault_last_ns(fault) - fault_first_ns(fault);
}

static void judge_near(struct wanted_fault_near *near, const struct wanted_span *span)
{
	__u64 from = fault_known_ns(&near->fault), to = fault_end_ns(&near->fault);

	near->distance_ns = from > span->from_ns ? from - span->from_ns : span->from_ns - from;
	near->rank = from >= span->from_ns && from <= span->to_ns  ? RANK_STARTS
		     : from < span->from_ns && to >= span->from_ns ? RANK_OPEN
								   : RANK_NEAR;
}

/* Before the other: nearer, or slower; of equals the one that ended first. */
static bool is_nearer(const struct explain_wanted *wanted, const struct wanted_fault_near *a,
		      const struct wanted_fault_near *b)
{
	if (wanted->slowest)
		return duration_of(&a->fault) > duration_of(&b->fault);
	return a->rank != b->rank ? a->rank < b->rank : a->distance_ns < b->distance_ns;
}

static __u64 wanted_insert(struct explain_wanted *wanted, const struct wanted_fault_near *near)
{
	size_t most = wanted->slowest ? 1 : WANTED_NEAREST, at = wanted->count;

	while (at > 0 && is_nearer(wanted, near, &wanted->near[at - 1]))
		at--;
	if (at == most)
		return 0;
	if (wanted->count == most)
		explanation_free(&wanted->near[--wanted->count].explanation);
	memmove(&wanted->near[at + 1], &wanted->near[at],
		(wanted->count - at) * sizeof(wanted->near[0]));
	wanted->near[at] = *near;
	wanted->count++;
	return near->row;
}

__u64 wanted_look(struct explain_wanted *wanted, const struct offline *o, const struct fault *fault)
{
	struct wanted_fault_near near = {.fault = *fault, .row = ++wanted->seen, .host = o->host};

	if (wanted->row)
		return near.row == wanted->row ? wanted_insert(wanted, &near) : 0;
	if (wanted->slowest)
		return wanted_insert(wanted, &near);
	if (!wanted->at.text)
		return near.row;
	if (!session_device_fits(o->analysis->session, fault->device, wanted->at.device))
		return 0;
	judge_near(&near, &wanted->spans[o->host]);
	if (near.rank != RANK_NEAR)
		wanted->ranks[near.rank]++;
	return wanted_insert(wanted, &near);
}

void wanted_keep(struct explain_wanted *wanted, const struct explanation *explanation, size_t host)
{
	for (size_t i = 0; i < wanted->count; i++) {
		struct wanted_fault_near *near = &wanted->near[i];

		if (near->row == explanation->row && near->host == host && !near->explained)
			near->explained = explanation_copy(&near->explanation, explanation);
	}
}

static void tell_candidates(const struct explain_wanted *wanted, struct offline *o,
			    struct sentence *words)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const struct wanted_fault_near *near = &wanted->near[i];
		char name[DEVICE_NAME_TEXT], when[SESSION_WHEN_TEXT];
		const struct session *session;

		offline_turn(o, near->host);
		session = o->analysis->session;
		if (!session_wall_time(session, fault_known_ns(&near->fault), when))
			session_when(session, fault_known_ns(&near->fault), when);
		sentence_add(words, "%s%s@%s 0x%llx (--row %llu)", i ? ", " : "",
			     session_device_name(session, near->fault.device, name), when,
			     near->fault.address, near->row);
	}
}

static int no_such_fault(const struct explain_wanted *wanted, struct offline *o)
{
	__u64 starts = wanted->ranks[RANK_STARTS], open = wanted->ranks[RANK_OPEN];
	struct sentence words = {0};

	if (!wanted->seen)
		return failed(-EINVAL, "%s: no fault was recorded in the time asked for", o->path);
	if (wanted->row)
		return failed(-EINVAL, "--row %llu: accepted: 1 to %llu, the faults of %s",
			      wanted->row, wanted->seen, o->path);
	tell_candidates(wanted, o, &words);
	if (!wanted->count)
		return failed(-EINVAL, "'%s': none of %llu faults is of such a device; " ACCEPTED,
			      wanted->at.text, wanted->seen);
	if (starts || open)
		return failed(-EINVAL, "'%s': %llu faults %s then: %s%s; accepted: one of these",
			      wanted->at.text, starts ? starts : open,
			      starts ? "began" : "were open", words.text,
			      (starts ? starts : open) > wanted->count ? ", ..." : "");
	return failed(-EINVAL, "'%s': no fault then; the nearest: %s; " ACCEPTED, wanted->at.text,
		      words.text);
}

struct wanted_fault_near *wanted_find(struct explain_wanted *wanted, struct offline *o)
{
	enum wanted_rank rank = wanted->ranks[RANK_STARTS] ? RANK_STARTS : RANK_OPEN;

	if (wanted->count && (wanted->row || wanted->slowest))
		return &wanted->near[0];
	if (wanted->count && wanted->ranks[rank] == 1)
		return &wanted->near[0];
	no_such_fault(wanted, o);
	return NULL;
}

void wanted_free(struct explain_wanted *wanted)
{
	for (size_t i = 0; i < wanted->count; i++)
		explanation_free(&wanted->near[i].explanation);
	free(wanted->spans);
	free(wanted->at.device);
}
