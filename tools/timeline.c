// SPDX-License-Identifier: GPL-2.0
/* faultline timeline: single faults, stage by stage. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/asked.h"
#include "lib/analyze/fault_table.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stage_bar.h"
#include "lib/analyze/unknown.h"
#include "lib/base/printable.h"
#include "tools/offline.h"
#include "tools/verbs.h"

#define SLOWEST_DEFAULT 20
#define SLOWEST_MAX	100000
#define BAR_WIDTH	50

struct timeline {
	struct offline offline; /* first: what offline_run() hands to its verb */
	const char *device;	/* pattern, NULL: any */
	bool by_id;
	__u32 group;
	__u32 instance; /* 0: any */
	bool all;
	__u64 slowest;
	struct fault *kept; /* slowest first */
	size_t count;
	__u64 seen; /* within the time asked for */
	__u64 matched;
	int error;
};

enum { KEY_SLOWEST = 0x200, KEY_FAULT, KEY_ALL };

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Which faults:", 3},
	{"slowest", KEY_SLOWEST, "N", 0, "The N slowest of those that match (20)", 0},
	{"all", KEY_ALL, NULL, 0, "Every fault that matches, as they ended", 0},
	{"device", 'd', "PATTERN", 0, "Only devices of this name, such as 'tenant0/*'", 0},
	{"fault", KEY_FAULT, "GROUP[.INSTANCE]", 0, "Only this page request group", 0},
	{0},
};

static void parse_fault(struct timeline *timeline, char *argument, struct argp_state *state)
{
	char *dot = strchr(argument, '.');
	__u64 group, instance = 0;

	if (dot)
		*dot = '\0';
	if (units_parse_count(argument, 0, UINT32_MAX, &group) ||
	    (dot && units_parse_count(dot + 1, 0, UINT32_MAX, &instance)))
		common_option_failed(state, "--fault");
	timeline->by_id = true;
	timeline->group = (__u32)group;
	timeline->instance = (__u32)instance;
}

static error_t timeline_parse(int key, char *argument, struct argp_state *state)
{
	struct timeline *timeline = state->input;

	switch (key) {
	case KEY_SLOWEST:
		if (units_parse_count(argument, 1, SLOWEST_MAX, &timeline->slowest))
			common_option_failed(state, "--slowest");
		return 0;
	case KEY_ALL:
		timeline->all = true;
		return 0;
	case 'd':
		if (common_check_pattern(argument))
			common_option_failed(state, "--device");
		timeline->device = argument;
		return 0;
	case KEY_FAULT:
		parse_fault(timeline, argument, state);
		return 0;
	case ARGP_KEY_END:
		if (timeline->all && timeline->slowest)
			usage_error(state, "--all and --slowest exclude each other");
		return 0;
	default:
		return offline_argument(&timeline->offline, key, argument, state);
	}
}

static const struct argp argp = {
	options,
	timeline_parse,
	"FILE",
	"Shows single faults of a recording, stage by stage.\v"
	"EXAMPLES:\n"
	"  faultline timeline run.flt --slowest 5\n"
	"  faultline timeline run.flt --device 'tenant0/*' --since +10s --until +11s\n"
	"  faultline timeline run.flt --fault 12.3\n"
	"  faultline timeline run.flt --all --csv=-\n\n"
	"A bar shows where in the whole its stage lies. A stage with * holds the time of stages "
	"before it that were not seen.",
	offline_children,
	NULL,
	NULL,
};

static bool timeline_matches(const struct timeline *t, const struct fault *fault)
{
	const struct session *session = t->offline.analysis->session;

	if (t->by_id &&
	    (fault->group != t->group || (t->instance && fault->instance != t->instance)))
		return false;
	return !t->device || session_device_fits(session, fault->device, t->device);
}

static __u64 duration(const struct fault *fault)
{
	return fault_last_ns(fault) - fault_first_ns(fault);
}

/* What only kernel paths tell: whose memory it was, and how its page came. */
static void print_kernel(const struct fault *fault)
{
	char text[UNITS_TEXT];

	if (fault->pasid != PASID_NONE)
		printf("PASID %u", fault->pasid);
	else
		printf("no PASID");
	if (fault->pid)
		printf(" of %s, pid %u", fault->comm[0] ? printable_of(fault->comm).text : "-",
		       fault->pid);
	printf("; consumer %s, cause %s", fault_consumer_name(fault), fault_cause_name(fault));
	if (fault->mm_ns)
		printf(", %s in handle_mm_fault", units_format_duration(fault->mm_ns, text));
	putchar('\n');
}

static void print_head(const struct session *session, const struct fault *fault)
{
	char name[DEVICE_NAME_TEXT], text[UNITS_TEXT], queue[24] = "", instance[24];
	__u64 start = fault_first_ns(fault);

	if (fault->queue != QUEUE_NONE)
		snprintf(queue, sizeof(queue), " queue %u", fault->queue);
	snprintf(instance, sizeof(instance), "%u.%u", fault->group, fault->instance);
	printf("%s%s  fault %s  iova 0x%llx\n",
	       printable_of(session_device_name(session, fault->device, name)).text, queue,
	       instance, fault->address);
	if (!start || !session_wall_time(session, start, text))
		snprintf(text, sizeof(text), "%llu ns", start);
	printf("%s  %s %s  %s, response %s", text, fault_access_name(fault),
	       fault_effort_name(fault),
	       unknown_state_name(unknown_numbers(session, fault->device), fault->state),
	       fault_response_name(fault));
	if (fault->handler_tid)
		printf(", CPU %u", fault->handler_cpu);
	if (fault->held_ns)
		printf(", held back %s", units_format_duration(fault->held_ns, text));
	putchar('\n');
	if (fault->kernel)
		print_kernel(fault);
}

static void print_fault(const struct session *session, const struct fault *fault)
{
	char bar[STAGE_BAR_MAX + 1], text[UNITS_TEXT];
	struct stage_times times;

	stage_times(fault, &times);
	print_head(session, fault);
	for (unsigned int s = 0; s < STAGES; s++) {
		stage_bar(&times, s, BAR_WIDTH, bar);
		printf("  %-8s%c %9s  %s\n", stage_name(s), times.merged & (1u << s) ? '*' : ' ',
		       times.measured & (1u << s) ? units_format_duration(times.ns[s], text) : "-",
		       bar);
	}
	printf("  %-8s  %9s\n\n", fault->state == FAULT_COMPLETE ? "total" : "seen",
	       units_format_duration(duration(fault), text));
}

static int timeline_put(struct timeline *t, const struct fault *fault)
{
	const struct analysis *a = t->offline.analysis;

	if (!offline_is_text(&t->offline)) {
		fault_table_add(a, t->offline.writer, fault);
		return writer_error(t->offline.writer);
	}
	print_fault(a->session, fault);
	return ferror(stdout) ? failed(-EIO, "standard output: cannot be written") : 0;
}

/* Slowest first; equal ones in the order they ended. */
static void timeline_keep(struct timeline *t, const struct fault *fault)
{
	size_t at = t->count;

	while (at > 0 && duration(&t->kept[at - 1]) < duration(fault))
		at--;
	if (at == t->slowest)
		return;
	if (t->count < t->slowest)
		t->count++;
	memmove(&t->kept[at + 1], &t->kept[at], (t->count - at - 1) * sizeof(*t->kept));
	t->kept[at] = *fault;
}

static void timeline_on_finished(void *self, const struct fault *fault)
{
	struct timeline *t = self;

	t->seen++;
	if (t->error || !timeline_matches(t, fault))
		return;
	t->matched++;
	if (t->all)
		t->error = timeline_put(t, fault);
	else
		timeline_keep(t, fault);
}

/* Whether there was none, or none of this kind. */
static int timeline_write_nothing(const struct timeline *t, struct writer *writer)
{
	const char *only = t->device && t->by_id ? "--device and --fault"
			   : t->device		 ? "--device"
						 : "--fault";

	if (t->seen)
		return writer_note(writer, "Of %llu faults none fits %s.", t->seen, only);
	return writer_note(
		writer,
		"No page request%s was recorded; `faultline report` says what was "
		"watched and what was not.",
		asked_for_everything(t->offline.analysis->session) ? "" : " of what was asked for");
}

static int write_timeline(struct offline *o)
{
	static const struct table_wish everything;
	struct timeline *t = (struct timeline *)o;
	int err = t->error;

	for (size_t i = 0; !err && i < t->count; i++)
		err = timeline_put(t, &t->kept[i]);
	if (err)
		return err;
	if (!offline_is_text(o)) {
		analysis_write(o->analysis, &fault_table_analyzer, o->writer, &everything);
		return offline_write_facts(o);
	}
	if (!t->matched)
		timeline_write_nothing(t, o->writer);
	else if (t->count < t->matched && !t->all)
		writer_note(o->writer, "The slowest %zu of %llu faults.", t->count, t->matched);
	return offline_write_limits(o);
}

static int timeline_begin(struct offline *o)
{
	struct timeline *t = (struct timeline *)o;
	int err;

	if (!t->slowest)
		t->slowest = SLOWEST_DEFAULT;
	t->kept = calloc(t->slowest, sizeof(*t->kept));
	if (!t->kept)
		return failed(-ENOMEM, "no memory for the %llu slowest faults", t->slowest);
	err = faults_subscribe(o->analysis->faults,
			       (struct fault_sink){NULL, timeline_on_finished, t});
	return err || !t->all ? err : offline_read_devices(o);
}

int verb_timeline(int argc, char **argv)
{
	static const struct offline_verb offline = {&fault_table_analyzer, timeline_begin,
						    write_timeline};
	const struct analysis_config config = {.without_footprint = true, .without_findings = true};
	struct timeline timeline = {0};
	int code;

	if (common_parse(&argp, 0, argc, argv, &timeline))
		return EXIT_USAGE;
	code = offline_run(&timeline.offline, &config, &offline);
	free(timeline.kept);
	return code;
}
