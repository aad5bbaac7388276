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

struct trigger {
	struct trigger_rule rule;
	const struct record_options *options;
	struct faults *faults;
	bool pending;
	__u64 since_ns, until_ns; /* to be kept */
	__u64 worst_ns;
	unsigned int worst_stage,
		worst_before; /* which took it, how many before it are in it, too */
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
	return failed(-EINVAL,
		      "'%s' is no trigger; accepted: STAGE>TIME, such as resolve>100ms, STAGE one "
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

static __u64 measured(const struct trigger_rule *rule, const struct fault *fault,
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

/* What follows shortly is kept in the same snapshot, so that a storm makes one and not hundreds. */
static void fault_finished(void *self, const struct fault *fault)
{
	struct trigger *t = self;
	unsigned int stage;
	__u64 ns = measured(&t->rule, fault, &stage), around = t->options->around_ns;
	__u64 first = fault_first_ns(fault), until = fault_last_ns(fault) + around;

	if (ns <= t->rule.beyond_ns)
		return;
	if (!t->pending) {
		t->pending = true;
		t->worst_ns = 0;
		t->since_ns = first > around ? first - around : 1;
		t->until_ns = until;
	} else if (until - t->since_ns < t->options->writer.keep_ns) {
		t->until_ns = until;
	}
	if (t->worst_ns < ns) {
		t->worst_ns = ns;
		t->worst_stage = stage;
		t->worst_before = stage_before(fault->seen, stage);
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

static void save(struct trigger *t)
{
	char path[PATH_MAX], time[UNITS_TEXT], label[STAGE_LABEL];
	bool saved =
		snapshots_save(&t->options->snapshots, t->since_ns, t->until_ns, path, &t->result);

	t->pending = false;
	if (saved && !t->options->quiet)
		fprintf(stderr, "saved %s: %s took %s\n", printable_of(path).text,
			t->worst_stage == STAGES
				? "a fault"
				: stage_label(t->worst_stage, t->worst_before, label),
			units_format_duration(t->worst_ns, time));
}

bool trigger_is_due(const struct trigger *trigger, __u64 now_ns)
{
	return trigger->pending && now_ns >= trigger->until_ns + SETTLE_NS;
}

int trigger_save(struct trigger *trigger, struct trace_writer *writer)
{
	int error = trace_writer_flush(writer);

	if (!error)
		save(trigger);
	return error;
}

void trigger_finish(struct trigger *trigger)
{
	if (trigger->pending)
		save(trigger);
}

struct snapshots_result trigger_result(const struct trigger *trigger)
{
	return trigger->result;
}
