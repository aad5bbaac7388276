// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/kinds.h"
#include "lib/base/units.h"
#include "lib/capture/emulator.h"
#include "lib/cli/cli.h"
#include "tools/common.h"
#include "tools/record.h"

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

static int record_check_pattern(const char *text, void *field)
{
	(void)field;
	return common_check_pattern(text);
}

static int record_add_pid(const char *text, void *fields)
{
	struct capture_config *capture = fields;
	__u64 pid;
	int err = units_parse_count(text, 1, 1 << 22, &pid);

	if (err)
		return err;
	if (capture->pid_count == CAPTURE_FILTERS)
		return failed(-EINVAL, "accepted: at most %d times", CAPTURE_FILTERS);
	capture->pids[capture->pid_count++] = pid;
	return 0;
}

static int record_parse_kinds(const char *text, void *kinds)
{
	return kinds_parse(text, kinds);
}

static int record_check_output(const char *text, void *field)
{
	(void)field;
	return destination_check(text, true);
}

static int record_parse_trigger(const char *text, void *fields)
{
	struct record_options *options = fields;

	options->triggered = true;
	return trigger_parse(text, &options->rule);
}

#define RECORD(member) CLI_FIELD(struct record_options, member)
#define RECORD_LIST(member, number)                      \
	RECORD(capture.member), .most = CAPTURE_FILTERS, \
				.count = offsetof(struct record_options, capture.number)

static const struct cli_option record_options[] = {
	{"output", 'o', "FILE",
	 "Recording to create (faultline.flt); - for stdout, while COMMAND's goes to stderr",
	 CLI_TEXT, RECORD(writer.path), .parse = record_check_output},
	{"force", 'f', NULL, "Replace an existing recording, once this one has begun", CLI_FLAG,
	 RECORD(writer.overwrite)},
	{"device", 'd', "DEVICE", "Only this device: name or shell pattern; repeatable", CLI_LIST,
	 RECORD_LIST(devices, device_count), .parse = record_check_pattern, .group = 1},
	{"pid", 'p', "PID",
	 "Record the CPU page faults of this process one by one (others are counted); repeatable",
	 CLI_OWN, RECORD(capture), .parse = record_add_pid, .group = 1},
	{"kind", 0, "KIND", "Only these kinds of events: fault, cpu_fault, dma, ...", CLI_OWN,
	 RECORD(capture.kinds), .parse = record_parse_kinds, .group = 1},
	{"attach", 0, "PROBE=FUNCTION",
	 "Look at this kernel function instead, of the same arguments, where it was renamed; "
	 "repeatable",
	 CLI_LIST, RECORD_LIST(moved, moved_count), .group = 1},
	{"disable-probe", 0, "NAME", "Leave out this probe; repeatable", CLI_LIST,
	 RECORD_LIST(disabled, disabled_count), .group = 1},
	{"emulator", 0, "PATH", "Binary of the emulated machines to watch", CLI_TEXT,
	 RECORD(capture.emulator), .group = 1},
	{"slow", 0, "TIME", "Record I/O slower than this one by one (10ms)", CLI_TIME,
	 RECORD(capture.slow_io_ns), 1, .group = 2},
	{"unfinished", 0, "TIME", "Give a fault up after this (60s)", CLI_TIME,
	 RECORD(capture.unfinished_ns), 1, .group = 2},
	{"old-mapping", 0, "TIME", "DMA mappings that live longer than this are listed apart (60s)",
	 CLI_TIME, RECORD(capture.old_mapping_ns), 1, .group = 2},
	{"tcp", 0, NULL, "TCP of all of the host, not only of emulated machines' networks",
	 CLI_FLAG, RECORD(capture.tcp), .group = 1},
	{"iommu-registers", 0, NULL,
	 "Decode every VT-d fault, reading its record from the IOMMU's registers", CLI_FLAG,
	 RECORD(capture.iommu_registers), .group = 2},
	{"ring-size", 0, "SIZE", "Event ring per CPU, a power of two", CLI_SIZE,
	 RECORD(capture.ring_bytes), 4096, 1 << 30, .group = 2},
	{"duration", 0, "TIME", "Stop after this time", CLI_TIME, RECORD(capture.duration_ns), 1,
	 .group = 3},
	{"count", 0, "N", "Stop after this many events, and those that came with them", CLI_COUNT,
	 RECORD(count), 1, .group = 3},
	{"keep", 0, "TIME", "Flight recorder: keep at least the last TIME", CLI_TIME,
	 RECORD(writer.keep_ns), 1, .group = 4},
	{"max-size", 0, "SIZE", "Flight recorder: never take more room", CLI_SIZE,
	 RECORD(writer.max_bytes), TRACE_RING_MINIMUM, .group = 4},
	{"set-aside", 0, NULL,
	 "What the flight recorder before has kept is set aside if it has ended, too, not only if "
	 "it died",
	 CLI_FLAG, RECORD(writer.set_aside), .group = 4},
	{"trigger", 0, "STAGE>TIME",
	 "Save what surrounds a fault whose STAGE (request, delivery, dispatch, resolve, map, "
	 "respond, resume or total) took longer; implies --keep",
	 CLI_OWN, .parse = record_parse_trigger, .group = 4},
	{"around", 0, "TIME", "How much to save before and after (5s)", CLI_TIME, RECORD(around_ns),
	 .group = 4},
	{"snapshots", 0, "N", "Of what was saved keep at most this many (100)", CLI_COUNT,
	 RECORD(snapshots.count), 1, UINT32_MAX, .group = 4},
	{"snapshots-size", 0, "SIZE", "and at most this much (1G): the oldest go", CLI_SIZE,
	 RECORD(snapshots.bytes), 1, .group = 4},
	{"as-root", 0, NULL, "Run COMMAND as root even under sudo", CLI_FLAG, RECORD(as_root),
	 .group = 5},
	{"quiet", 'q', NULL, "No progress and no summary", CLI_FLAG, RECORD(quiet), .group = 5},
	{"verbose", 'v', NULL, "Print what the kernel's verifier says of refused programs",
	 CLI_FLAG, RECORD(capture.verbose), .group = 5},
	{0},
};

/* What a trigger saves must still be there: twice the time around a fault and some to spare. */
static int record_settle_trigger(struct record_options *o)
{
	__u64 needed, needed_ms;

	if (o->around_ns != UNSAID && !o->triggered)
		return failed(-EINVAL, "--around: accepted: with --trigger STAGE>TIME");
	if ((o->snapshots.count || o->snapshots.bytes) && !o->triggered)
		return failed(-EINVAL, "--snapshots%s: accepted: with --trigger STAGE>TIME",
			      o->snapshots.count ? "" : "-size");
	if (!o->triggered)
		return 0;
	o->snapshots.recording = o->writer.path;
	o->snapshots.count = o->snapshots.count ?: SNAPSHOTS;
	o->snapshots.bytes = o->snapshots.bytes ?: SNAPSHOTS_BYTES;
	if (o->around_ns == UNSAID)
		o->around_ns = AROUND_DEFAULT_NS;
	needed = 2 * o->around_ns + TRIGGER_SPARE_NS;
	if (!strcmp(o->writer.path, "-"))
		return failed(-EINVAL, "--trigger: needs a file, not standard output");
	if (!o->writer.keep_ns)
		o->writer.keep_ns = needed;
	needed_ms = (needed + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	if (o->writer.keep_ns < needed)
		return failed(-EINVAL, "--keep: with --around this trigger needs at least %llu%s",
			      needed_ms % 1000 ? needed_ms : needed_ms / 1000,
			      needed_ms % 1000 ? "ms" : "s");
	return 0;
}

/* Once all is parsed: a trigger has brought its own --keep. */
static int record_check_set_aside(const struct record_options *o)
{
	if (o->writer.set_aside && o->writer.overwrite)
		return failed(-EINVAL, "--set-aside: accepted: without --force, which replaces");
	if (o->writer.set_aside && !o->writer.keep_ns && !o->writer.max_bytes)
		return failed(-EINVAL,
			      "--set-aside: accepted: of a flight recorder (--keep TIME or "
			      "--max-size SIZE)");
	return 0;
}

static int record_check(void *input)
{
	struct record_options *options = input;

	if (options->as_root && !options->command)
		return failed(-EINVAL, "--as-root: accepted: with a command behind --");
	if (options->capture.emulator && emulator_check(options->capture.emulator))
		return failed(-EINVAL, "--%s", failure_text());
	return record_settle_trigger(options) ?: record_check_set_aside(options);
}

int record_parse(int argc, char **argv, struct record_options *options)
{
	static const struct cli_table tables[] = {{record_options}, {0}};
	static const struct cli cli = {
		.tables = tables,
		.arguments = "[-- COMMAND [ARGUMENT...]]",
		.command = offsetof(struct record_options, command),
		.check = record_check,
		.about = documentation,
	};

	memset(options, 0, sizeof(*options));
	options->writer.path = "faultline.flt";
	options->around_ns = UNSAID;
	return cli_parse(&cli, argc, argv, options) ? EXIT_USAGE : -1;
}
