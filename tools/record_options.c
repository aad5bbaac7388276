// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/command.h"
#include "lib/base/fail.h"
#include "lib/base/kinds.h"
#include "lib/base/units.h"
#include "lib/base/usage.h"
#include "tools/common.h"
#include "tools/record.h"

enum {
	OPTION_KIND = 256,
	OPTION_DISABLE,
	OPTION_ATTACH,
	OPTION_SLOW,
	OPTION_RING,
	OPTION_DURATION,
	OPTION_COUNT,
	OPTION_KEEP,
	OPTION_MAX_SIZE,
	OPTION_TRIGGER,
	OPTION_AROUND,
	OPTION_SNAPSHOTS,
	OPTION_SNAPSHOTS_SIZE,
	OPTION_AS_ROOT,
	OPTION_EMULATOR,
	OPTION_UNFINISHED,
	OPTION_OLD_MAPPING,
	OPTION_IOMMU_REGISTERS,
};

#define TRIGGER_SPARE_NS  (10 * NSEC_PER_SEC)
#define UNSAID		  UINT64_MAX
#define AROUND_DEFAULT_NS (5 * NSEC_PER_SEC)
#define SNAPSHOTS	  100
#define SNAPSHOTS_BYTES	  (1ull << 30)

static const char documentation[] =
	"Records I/O page faults and what surrounds them into a .flt file: around a COMMAND, for a "
	"time, up to a number of events, until Ctrl-C, or always, as a bounded flight recorder.\v"
	"COMMAND runs as the user who called sudo, unless --as-root is given or it is the emulator, "
	"which needs root. It starts after the probes are in place, its CPU faults are recorded one "
	"by one, and it does not outlive the recorder; nor does what it has started, if a limit or a "
	"signal ends the recording, or if the recorder is killed.\n\n"
	"Exit status: that of COMMAND if it failed; 1 or 4 if it could not be run; else 0, or 5 if events were lost (the numbers "
	"of the recording are then floors, and it says so).\n\n"
	"EXAMPLES:\n"
	"  sudo faultline record -o run.flt -- ./faultline-inject run burst.ini\n"
	"  sudo faultline record -d 'tenant0/*' --duration 10s -o ten.flt\n"
	"  sudo faultline record -p 4711 --kind cpu_fault -o - | faultline report -\n"
	"  sudo faultline record --keep 10m --max-size 1G -o always.flt\n"
	"  sudo faultline record --keep 1m --trigger 'resolve>100ms' -o always.flt";

static const struct argp_option option_table[] = {
	{"output", 'o', "FILE", 0, "Recording to create, '-' for stdout (faultline.flt)", 0},
	{"force", 'f', NULL, 0, "Replace an existing recording, once this one has begun", 0},
	{"device", 'd', "DEVICE", 0, "Only this device: name or shell pattern; repeatable", 1},
	{"pid", 'p', "PID", 0,
	 "Record the CPU page faults of this process one by one (others are counted); repeatable",
	 1},
	{"kind", OPTION_KIND, "KIND", 0, "Only these kinds of events: fault, cpu_fault, dma, ...",
	 1},
	{"attach", OPTION_ATTACH, "PROBE=FUNCTION", 0,
	 "Look at this kernel function instead, of the same arguments, where it was renamed; "
	 "repeatable",
	 1},
	{"disable-probe", OPTION_DISABLE, "NAME", 0, "Leave out this probe; repeatable", 1},
	{"emulator", OPTION_EMULATOR, "PATH", 0, "Binary of the emulated machines to watch", 1},
	{"slow", OPTION_SLOW, "TIME", 0, "Record I/O slower than this one by one (10ms)", 2},
	{"unfinished", OPTION_UNFINISHED, "TIME", 0, "Give a fault up after this (60s)", 2},
	{"old-mapping", OPTION_OLD_MAPPING, "TIME", 0,
	 "DMA mappings that live longer than this are listed apart (60s)", 2},
	{"iommu-registers", OPTION_IOMMU_REGISTERS, NULL, 0,
	 "Decode every VT-d fault, reading its record from the IOMMU's registers", 2},
	{"ring-size", OPTION_RING, "SIZE", 0, "Event ring per CPU, a power of two", 2},
	{"duration", OPTION_DURATION, "TIME", 0, "Stop after this time", 3},
	{"count", OPTION_COUNT, "N", 0, "Stop after this many events", 3},
	{"keep", OPTION_KEEP, "TIME", 0, "Flight recorder: keep at least the last TIME", 4},
	{"max-size", OPTION_MAX_SIZE, "SIZE", 0, "Flight recorder: never take more room", 4},
	{"trigger", OPTION_TRIGGER, "STAGE>TIME", 0,
	 "Save what surrounds a fault whose STAGE (request, delivery, dispatch, resolve, map, "
	 "respond, resume or total) took longer; implies --keep",
	 4},
	{"around", OPTION_AROUND, "TIME", 0, "How much to save before and after (5s)", 4},
	{"snapshots", OPTION_SNAPSHOTS, "N", 0, "Of what was saved keep at most this many (100)",
	 4},
	{"snapshots-size", OPTION_SNAPSHOTS_SIZE, "SIZE", 0,
	 "and at most this much (1G): the oldest go", 4},
	{"as-root", OPTION_AS_ROOT, NULL, 0, "Run COMMAND as root even under sudo", 5},
	{"quiet", 'q', NULL, 0, "No progress and no summary", 5},
	{"verbose", 'v', NULL, 0, "Print what the kernel's verifier says of refused programs", 5},
	{0},
};

/* An entry more for a repeatable option. */
static int add(const char *option, size_t *count, const char *text, struct argp_state *state)
{
	if (*count == CAPTURE_FILTERS)
		usage_error(state, "--%s %s: at most %d of them", option, text, CAPTURE_FILTERS);
	return (*count)++;
}

static void check(int error, const char *option, struct argp_state *state)
{
	if (error)
		usage_error(state, "--%s: %s", option, failure_text());
}

/* 0 would be "without a limit" or the default inside: nobody writes it to mean that. */
static void check_duration(const char *text, __u64 *ns, const char *option,
			   struct argp_state *state)
{
	check(units_parse_duration_within(text, 1, UNITS_DURATION_MOST, ns), option, state);
}

static error_t parse_filter(int key, char *text, struct argp_state *state)
{
	struct capture_config *capture = &((struct record_options *)state->input)->capture;
	__u64 number;

	switch (key) {
	case 'd':
		check(common_check_pattern(text), "device", state);
		capture->devices[add("device", &capture->device_count, text, state)] = text;
		return 0;
	case 'p':
		check(units_parse_count(text, 1, 1 << 22, &number), "pid", state);
		capture->pids[add("pid", &capture->pid_count, text, state)] = number;
		return 0;
	case OPTION_KIND:
		check(kinds_parse(text, &capture->kinds), "kind", state);
		return 0;
	case OPTION_ATTACH:
		capture->moved[add("attach", &capture->moved_count, text, state)] = text;
		return 0;
	case OPTION_DISABLE:
		capture->disabled[add("disable-probe", &capture->disabled_count, text, state)] =
			text;
		return 0;
	case 'v':
		capture->verbose = true;
		return 0;
	case OPTION_EMULATOR:
		capture->emulator = text;
		return 0;
	case OPTION_SLOW:
		check_duration(text, &capture->slow_io_ns, "slow", state);
		return 0;
	case OPTION_UNFINISHED:
		check_duration(text, &capture->unfinished_ns, "unfinished", state);
		return 0;
	case OPTION_OLD_MAPPING:
		check_duration(text, &capture->old_mapping_ns, "old-mapping", state);
		return 0;
	case OPTION_IOMMU_REGISTERS:
		capture->iommu_registers = true;
		return 0;
	case OPTION_RING:
		check(units_parse_size_within(text, 4096, 1 << 30, &number), "ring-size", state);
		capture->ring_bytes = number;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What a trigger saves must still be there: twice the time around a fault and some to spare. */
static void settle_trigger(struct record_options *o, struct argp_state *state)
{
	__u64 needed, needed_ms;

	if (o->around_ns != UNSAID && !o->triggered)
		usage_error(state, "--around: accepted: with --trigger STAGE>TIME");
	if ((o->snapshots.count || o->snapshots.bytes) && !o->triggered)
		usage_error(state, "--snapshots%s: accepted: with --trigger STAGE>TIME",
			    o->snapshots.count ? "" : "-size");
	if (!o->triggered)
		return;
	o->snapshots.recording = o->writer.path;
	o->snapshots.count = o->snapshots.count ?: SNAPSHOTS;
	o->snapshots.bytes = o->snapshots.bytes ?: SNAPSHOTS_BYTES;
	if (o->around_ns == UNSAID)
		o->around_ns = AROUND_DEFAULT_NS;
	needed = 2 * o->around_ns + TRIGGER_SPARE_NS;
	if (!strcmp(o->writer.path, "-"))
		usage_error(state, "--trigger: needs a file, not standard output");
	if (!o->writer.keep_ns)
		o->writer.keep_ns = needed;
	needed_ms = (needed + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	if (o->writer.keep_ns < needed)
		usage_error(state, "--keep: with --around this trigger needs at least %llu%s",
			    needed_ms % 1000 ? needed_ms : needed_ms / 1000,
			    needed_ms % 1000 ? "ms" : "s");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct record_options *o = state->input;
	const char *missing;

	switch (key) {
	case 'o':
		if (destination_name(&o->writer.path, "--output", text, true))
			usage_error(state, "%s", failure_text());
		return 0;
	case 'f':
		o->writer.overwrite = true;
		return 0;
	case OPTION_DURATION:
		check_duration(text, &o->capture.duration_ns, "duration", state);
		return 0;
	case OPTION_COUNT:
		check(units_parse_count(text, 1, UINT64_MAX, &o->count), "count", state);
		return 0;
	case OPTION_KEEP:
		check_duration(text, &o->writer.keep_ns, "keep", state);
		return 0;
	case OPTION_MAX_SIZE:
		check(units_parse_size_within(text, TRACE_RING_MINIMUM, 1ull << 60,
					      &o->writer.max_bytes),
		      "max-size", state);
		return 0;
	case OPTION_TRIGGER:
		check(trigger_parse(text, &o->rule), "trigger", state);
		o->triggered = true;
		return 0;
	case OPTION_AROUND:
		check(units_parse_duration_within(text, 0, UNITS_DURATION_MOST, &o->around_ns),
		      "around", state);
		return 0;
	case OPTION_SNAPSHOTS:
		check(units_parse_count(text, 1, UINT32_MAX, &o->snapshots.count), "snapshots",
		      state);
		return 0;
	case OPTION_SNAPSHOTS_SIZE:
		check(units_parse_size_within(text, 1, 1ull << 60, &o->snapshots.bytes),
		      "snapshots-size", state);
		return 0;
	case OPTION_AS_ROOT:
		o->as_root = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		missing = command_missing(o->command, state->quoted);
		if (missing)
			usage_error(state, "%s", missing);
		if (o->as_root && !o->command)
			usage_error(state, "--as-root: accepted: with a command behind --");
		common_check_emulator(o->capture.emulator, state);
		settle_trigger(o, state);
		return 0;
	default:
		return parse_filter(key, text, state);
	}
}

int record_parse(int argc, char **argv, struct record_options *options)
{
	static const struct argp argp = {
		option_table, parse, "[-- COMMAND [ARGUMENT...]]", documentation, NULL, NULL, NULL,
	};

	memset(options, 0, sizeof(*options));
	options->writer.path = "faultline.flt";
	options->around_ns = UNSAID;
	if (common_parse(&argp, ARGP_IN_ORDER, argc, argv, options))
		return EXIT_USAGE;
	return -1;
}
