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
#include "tools/timeline_verbs.h"
#include "tools/verbs.h"

#define SLOWEST_DEFAULT 20
#define SLOWEST_MAX	100000
#define BAR_WIDTH	50

struct wanted_fault {
	bool given;
	__u32 group;
	__u32 instance; /* 0: any */
};

struct kept_fault {
	struct fault fault;
	size_t host;
};

struct timeline {
	struct offline offline; /* first: what offline_run() hands to its verb */
	const char *device;	/* pattern, NULL: any */
	struct wanted_fault wanted;
	bool all;
	__u64 slowest;
	struct kept_fault *kept; /* slowest first */
	size_t count;
	__u64 seen; /* within the time asked for */
	__u64 matched;
	int error;
	struct timeline_verbs verbs; /* instead of faults */
};

/* "GROUP[.INSTANCE]" */
static int timeline_parse_fault(const char *text, void *field)
{
	struct wanted_fault *wanted = field;
	char group[24];
	size_t length = strcspn(text, ".");
	__u64 number, instance = 0;
	int err;

	snprintf(group, sizeof(group), "%.*s", (int)length, text);
	err = units_parse_count(length < sizeof(group) ? group : text, 0, UINT32_MAX, &number);
	if (!err && text[length])
		err = units_parse_count(text + length + 1, 0, UINT32_MAX, &instance);
	if (!err)
		*wanted = (struct wanted_fault){true, (__u32)number, (__u32)instance};
	return err;
}

static int timeline_check_pattern(const char *text, void *field)
{
	(void)field;
	return common_check_pattern(text);
}

#define TIMELINE(member) CLI_FIELD(struct timeline, member)

static const struct cli_option timeline_options[] = {
	{.help = "Which faults:", .group = 3},
	{"slowest", 0, "N", "The N slowest of those that match (20)", CLI_COUNT, TIMELINE(slowest),
	 1, SLOWEST_MAX},
	{"all", 0, NULL, "Every fault that matches, as they ended", CLI_FLAG, TIMELINE(all)},
	{"device", 'd', "PATTERN", "Only devices of this name, such as 'tenant0/*'", CLI_TEXT,
	 TIMELINE(device), .parse = timeline_check_pattern},
	{"fault", 0, "GROUP[.INSTANCE]", "Only this page request group", CLI_OWN, TIMELINE(wanted),
	 .parse = timeline_parse_fault},
	{.help = "Verbs of devices with a mode (docs/hyv.md) instead of faults:", .group = 4},
	{"verb", 0, "TOKEN", "Only this one of each device", CLI_COUNT, TIMELINE(verbs.token), 1,
	 UINT32_MAX},
	{"slowest-verbs", 0, "N", "The N slowest that match", CLI_COUNT, TIMELINE(verbs.slowest), 1,
	 SLOWEST_MAX},
	{0},
};

static int timeline_check(void *input)
{
	const struct timeline *timeline = input;

	if (timeline->all && timeline->slowest)
		return failed(-EINVAL, "--all and --slowest exclude each other");
	if (timeline_verbs_wanted(&timeline->verbs) &&
	    (timeline->all || timeline->slowest || timeline->wanted.given))
		return failed(-EINVAL, "--verb and --slowest-verbs are of verbs, --all, --slowest "
				       "and --fault of faults: they exclude each other");
	return offline_check(input);
}

static const struct cli timeline_cli = {
	.tables = (const struct cli_table[]){{timeline_options}, {0}},
	OFFLINE_CLI,
	.check = timeline_check,
	.arguments = "FILE",
	.about =
		"Shows single faults of a recording, stage by stage.\v"
		"EXAMPLES:\n"
		"  faultline timeline run.flt --slowest 5\n"
		"  faultline timeline run.flt --device 'tenant0/*' --since +10s --until +11s\n"
		"  faultline timeline run.flt --fault 12.3\n"
		"  faultline timeline run.flt --all --csv=-\n"
		"  faultline timeline run.flt --slowest-verbs 3\n\n"
		"A bar shows where in the whole its stage lies. A stage with * holds the time of stages "
		"before it that were not seen.",
};

static bool timeline_matches(const struct timeline *t, const struct fault *fault)
{
	const struct session *session = t->offline.analysis->session;

	const struct wanted_fault *wanted = &t->wanted;

	if (wanted->given && (fault->group != wanted->group ||
			      (wanted->instance && fault->instance != wanted->instance)))
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

static void print_head(const struct offline *o, const struct fault *fault)
{
	const struct session *session = o->analysis->session;
	char name[DEVICE_NAME_TEXT], text[UNITS_TEXT], queue[24] = "", instance[24];
	__u64 start = fault_first_ns(fault);

	if (fault->queue != QUEUE_NONE)
		snprintf(queue, sizeof(queue), " queue %u", fault->queue);
	snprintf(instance, sizeof(instance), "%u.%u", fault->group, fault->instance);
	if (offline_has_hosts(o))
		printf("%s: ", printable_of(o->hosts[o->host].name).text);
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

static void print_fault(const struct offline *o, const struct fault *fault)
{
	char bar[STAGE_BAR_MAX + 1], text[UNITS_TEXT];
	struct stage_times times;

	stage_times(fault, &times);
	print_head(o, fault);
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
	if (!offline_is_text(&t->offline)) {
		fault_table_add(t->offline.analysis, t->offline.writer, fault);
		return writer_error(t->offline.writer);
	}
	print_fault(&t->offline, fault);
	/* What the kernel refuses is said where it is refused: the stream keeps no reason. */
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return failed(-EIO, "standard output: cannot be written: %s", strerror(errno));
}

/* Slowest first; equal ones in the order they ended. */
static void timeline_keep(struct timeline *t, const struct fault *fault)
{
	size_t at = t->count;

	while (at > 0 && duration(&t->kept[at - 1].fault) < duration(fault))
		at--;
	if (at == t->slowest)
		return;
	if (t->count < t->slowest)
		t->count++;
	memmove(&t->kept[at + 1], &t->kept[at], (t->count - at - 1) * sizeof(*t->kept));
	t->kept[at] = (struct kept_fault){*fault, t->offline.host};
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
	const char *only = t->device && t->wanted.given ? "--device and --fault"
			   : t->device			? "--device"
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

	for (size_t i = 0; !err && i < t->count; i++) {
		offline_turn(o, t->kept[i].host);
		err = timeline_put(t, &t->kept[i].fault);
	}
	if (err)
		return err;
	if (!offline_is_text(o)) {
		return offline_write_tables(o, &fault_table_analyzer, &everything);
	}
	if (!t->matched)
		timeline_write_nothing(t, o->writer);
	else if (t->count < t->matched && !t->all)
		writer_note(o->writer, "The slowest %zu of %llu faults.", t->count, t->matched);
	return offline_each(o, offline_write_limits);
}

static int timeline_begin(struct offline *o)
{
	struct timeline *t = (struct timeline *)o;
	int err;

	if (!t->slowest)
		t->slowest = SLOWEST_DEFAULT;
	if (!t->kept)
		t->kept = calloc(t->slowest, sizeof(*t->kept));
	if (!t->kept)
		return failed(-ENOMEM, "no memory for the %llu slowest faults", t->slowest);
	err = faults_subscribe(o->analysis->faults,
			       (struct fault_sink){NULL, timeline_on_finished, t});
	return err || !t->all ? err : offline_read_devices(o);
}

static int begin_verbs(struct offline *o)
{
	struct timeline *t = (struct timeline *)o;

	t->verbs.device = t->device;
	return timeline_verbs_begin(&t->verbs, o);
}

static int write_verbs(struct offline *o)
{
	return timeline_verbs_write(&((struct timeline *)o)->verbs, o);
}

int verb_timeline(int argc, char **argv)
{
	static const struct offline_verb offline = {&fault_table_analyzer, timeline_begin,
						    write_timeline};
	static const struct offline_verb of_verbs = {&verb_calls_analyzer, begin_verbs,
						     write_verbs};
	const struct analysis_config config = {.without_footprint = true, .without_findings = true};
	struct timeline timeline = {0};
	int code;

	if (cli_parse(&timeline_cli, argc, argv, &timeline))
		return EXIT_USAGE;
	code = offline_run(&timeline.offline, &config,
			   timeline_verbs_wanted(&timeline.verbs) ? &of_verbs : &offline);
	free(timeline.kept);
	free(timeline.verbs.kept);
	return code;
}
