// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/stage.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"
#include "tools/record.h"

/* From the end of what is kept until the merge and the reconstruction have surely passed it. */
#define SETTLE_NS NSEC_PER_SEC

/* A snapshot of a storm: what surrounds one fault, and so much of what follows. --keep holds it. */
#define STORM_NS (5 * NSEC_PER_SEC)

struct pending {
	__u64 since_ns, until_ns; /* to be kept */
	__u64 seen_ns;		  /* of its newest fault */
	__u64 worst_ns;
	unsigned int worst_stage,
		worst_before; /* which took it, how many before it are in it, too */
};

struct trigger {
	struct trigger_rule rule;
	const struct record_options *options;
	struct faults *faults;
	/* The second one begins before the first one is saved; that is before a third one could. */
	struct pending pending[2];
	unsigned int count;
	__u64 saved_ns; /* when that was for want of room in the recorder */
	struct snapshots_result result;
};

int trigger_parse(const char *text, struct trigger_rule *rule)
{
	const char *beyond = strchr(text, '>');
	size_t length = beyond ? (size_t)(beyond - text) : 0;
	int error;

	for (rule->stage = 0; rule->stage <= STAGES; rule->stage++) {
		const char *name = rule->stage == STAGES ? "total" : stage_name(rule->stage);

		if (length && strlen(name) == length && !strncmp(name, text, length)) {
			error = units_parse_duration_within(beyond + 1, 0, UNITS_DURATION_MOST,
							    &rule->beyond_ns);
			return error ? failed_in(error, "'%s'", text) : 0;
		}
	}
	return failed(
		-EINVAL,
		"invalid trigger '%s'; accepted: STAGE>TIME, such as resolve>100ms, STAGE one "
		"of request, delivery, dispatch, resolve, map, respond, resume, total",
		text);
}

/* Of a stage that was not seen the time is in the next: better a snapshot too many than none. */
static unsigned int holder_of(unsigned int stage, const struct stage_times *times, __u8 seen)
{
	for (unsigned int s = stage; s < STAGES; s++)
		if (times->measured & 1u << s)
			return s - stage_before(seen, s) <= stage ? s : STAGES;
	return STAGES;
}

static __u64 trigger_measured(const struct trigger_rule *rule, const struct fault *fault,
			      unsigned int *stage)
{
	struct stage_times times;

	*stage = STAGES;
	if (rule->stage == STAGES)
		return fault_total_ns(fault);
	stage_times(fault, &times);
	*stage = holder_of(rule->stage, &times, fault->seen);
	return *stage == STAGES ? 0 : times.ns[*stage];
}

/*
 * What follows shortly is kept in the same snapshot, so that a storm makes few and not hundreds; what follows
 * later in the next one, which goes on where this one ends, so that none is put off for as long as a storm lasts.
 */
static struct pending *pending_of(struct trigger *t, __u64 first_ns, __u64 last_ns)
{
	__u64 around = t->options->around_ns, until = last_ns + around;
	__u64 since = first_ns > around ? first_ns - around : 1;
	struct pending *last = t->count ? &t->pending[t->count - 1] : NULL, *p = last;

	if (!last || (until > last->since_ns + 2 * around + STORM_NS && t->count < 2)) {
		p = &t->pending[t->count++];
		*p = (struct pending){.since_ns = last && last_ns <= last->until_ns ? last->until_ns
										    : since};
	}
	if (p->until_ns < until)
		p->until_ns = until;
	if (p->seen_ns < last_ns)
		p->seen_ns = last_ns;
	return p;
}

static void fault_finished(void *self, const struct fault *fault)
{
	struct trigger *t = self;
	struct pending *p;
	unsigned int stage;
	__u64 ns = trigger_measured(&t->rule, fault, &stage);

	if (ns <= t->rule.beyond_ns)
		return;
	p = pending_of(t, fault_first_ns(fault), fault_last_ns(fault));
	if (p->worst_ns < ns) {
		p->worst_ns = ns;
		p->worst_stage = stage;
		p->worst_before = stage_before(fault->seen, stage);
	}
}

int trigger_create(struct trigger **trigger, const struct record_options *options)
{
	struct trigger *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return failed(-ENOMEM, "no memory for a trigger");
	t->options = options;
	t->rule = options->rule;
	error = faults_create(&t->faults, &(struct faults_config){0});
	if (!error)
		error = faults_subscribe(
			t->faults, (struct fault_sink){.finished = fault_finished, .self = t});
	if (error) {
		trigger_destroy(t);
		return error;
	}
	*trigger = t;
	return 0;
}

void trigger_destroy(struct trigger *trigger)
{
	if (!trigger)
		return;
	faults_destroy(trigger->faults);
	free(trigger);
}

struct stream trigger_stream(struct trigger *trigger)
{
	return faults_stream(trigger->faults);
}

static void trigger_save_one(struct trigger *t, const struct pending *p, __u64 kept_ns)
{
	char path[PATH_MAX], time[UNITS_TEXT], label[STAGE_LABEL];

	if (!snapshots_save(&t->options->snapshots, p->since_ns, p->until_ns, path, &t->result))
		return;
	if (kept_ns > p->since_ns)
		fprintf(stderr, "faultline: %s: its first %s had been let go; raise --max-size\n",
			printable_of(path).text,
			units_format_duration((kept_ns < p->until_ns ? kept_ns : p->until_ns) -
						      p->since_ns,
					      time));
	if (!t->options->quiet)
		fprintf(stderr, "saved %s: %s took %s\n", printable_of(path).text,
			p->worst_stage == STAGES
				? "a fault"
				: stage_label(p->worst_stage, p->worst_before, label),
			units_format_duration(p->worst_ns, time));
}

/* Whether the recorder is about to let go what the first one begins with. */
static bool is_endangered(const struct trigger *t, const struct trace_writer_stats *stats,
			  __u64 now_ns)
{
	return t->pending[0].since_ns < stats->next_from_ns && now_ns >= t->saved_ns + SETTLE_NS;
}

static bool trigger_is_over(const struct pending *p, __u64 now_ns)
{
	return now_ns >= p->until_ns + SETTLE_NS;
}

bool trigger_is_due(const struct trigger *trigger, struct trace_writer *writer, __u64 now_ns)
{
	struct trace_writer_stats stats;

	if (!trigger->count)
		return false;
	trace_writer_stats(writer, &stats);
	return trigger_is_over(&trigger->pending[0], now_ns) ||
	       is_endangered(trigger, &stats, now_ns);
}

/* As much of it as the merge has surely passed; what is left of it is the next one. */
static struct pending trigger_cut(struct pending *p, __u64 now_ns)
{
	struct pending early = *p;
	__u64 passed = now_ns - SETTLE_NS > p->seen_ns ? now_ns - SETTLE_NS : p->seen_ns + 1;

	if (passed < early.until_ns)
		early.until_ns = p->since_ns = passed;
	return early;
}

int trigger_save(struct trigger *trigger, struct trace_writer *writer, __u64 now_ns)
{
	struct pending *first = &trigger->pending[0], early;
	struct trace_writer_stats stats;
	int error = trace_writer_flush(writer);

	if (error)
		return error;
	trace_writer_stats(writer, &stats);
	early = trigger_is_over(first, now_ns) ? *first : trigger_cut(first, now_ns);
	if (early.until_ns == first->until_ns)
		*first = trigger->pending[--trigger->count];
	else
		trigger->saved_ns = now_ns;
	trigger_save_one(trigger, &early, stats.kept.from_ns);
	return 0;
}

void trigger_finish(struct trigger *trigger, __u64 kept_ns)
{
	for (unsigned int i = 0; i < trigger->count; i++)
		trigger_save_one(trigger, &trigger->pending[i], kept_ns);
	trigger->count = 0;
}

struct snapshots_result trigger_result(const struct trigger *trigger)
{
	return trigger->result;
}
