// SPDX-License-Identifier: GPL-2.0
/* faultline doctor: what this host, or a recording's, can show and what not, path by path, and why. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/session.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/watched.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/run_directory.h"
#include "lib/capture/capture.h"
#include "lib/capture/emulator.h"
#include "lib/cli/cli.h"
#include "lib/cli/hosts.h"
#include "tools/common.h"
#include "tools/doctor_host.h"
#include "tools/doctor_paths.h"
#include "tools/verbs.h"

#define PAUSE_NS 20000000

struct doctor {
	struct output_options output;
	struct capture_config capture;
	const char *recording; /* NULL: this host */
	const char *inputs[2]; /* the same, NULL at the end */
	__u64 watch_ns;	       /* 0: programs are loaded, nothing is attached */
	struct host_options hosts;
	struct analysis *analysis;
	struct writer *writer;
	struct host_check checks[HOST_CHECKS];
	size_t check_count; /* 0: of a recording */
	int damage;	    /* of the recording: -EBADMSG, with the sentence */
	char sentence[1024];
};

#define DOCTOR(member) CLI_FIELD(struct doctor, member)

static const struct cli_option doctor_options[] = {
	{"emulator", 0, "PATH", "Binary of the emulated machines", CLI_TEXT,
	 DOCTOR(capture.emulator)},
	{"watch", 0, "DURATION",
	 "Attach the probes for so long and count what they see: finds those that are silent",
	 CLI_TIME, DOCTOR(watch_ns), 1},
	{"attach", 0, "PROBE=FUNCTION",
	 "With --watch: look at this kernel function instead, as record does; repeatable", CLI_LIST,
	 DOCTOR(capture.moved), .most = CAPTURE_FILTERS,
	 .count = offsetof(struct doctor, capture.moved_count)},
	{"verbose", 'v', NULL,
	 "Print every probe and all of the host, too, and what the kernel's verifier says of "
	 "refused programs",
	 CLI_FLAG, DOCTOR(capture.verbose)},
	{0},
};

static int doctor_check(void *input)
{
	const struct doctor *doctor = input;
	const struct capture_config *capture = &doctor->capture;

	if (doctor->recording && doctor->watch_ns)
		return failed(-EINVAL, "--watch watches this host: it takes no recording");
	if (capture->moved_count && !doctor->watch_ns)
		return failed(-EINVAL, "--attach %s: accepted: with --watch", capture->moved[0]);
	if (doctor->recording && capture->emulator)
		return failed(-EINVAL,
			      "--emulator %s: accepted: of this host, not with a recording",
			      capture->emulator);
	if (!doctor->recording && doctor->hosts.count)
		return failed(-EINVAL, "--host %s: accepted: with a recording",
			      doctor->hosts.patterns[0]);
	if (!doctor->recording && memory_limit_now() != memory_limit_default())
		return failed(-EINVAL, "--max-memory: accepted: with a recording");
	if (capture->emulator && emulator_check(capture->emulator))
		return failed(-EINVAL, "--%s", failure_text());
	return 0;
}

static const struct cli doctor_cli = {
	.tables = (const struct cli_table[]){{doctor_options}, {0}},
	.children =
		(const struct cli_child[]){{&output_argp, offsetof(struct doctor, output), true},
					   {&memory_argp, 0, true},
					   {&hosts_argp, offsetof(struct doctor, hosts), true},
					   {0}},
	.arguments = "[FILE]",
	.argument = offsetof(struct doctor, recording),
	.check = doctor_check,
	.about =
		"Tells what this host can show and what not, a line a path, and what would change it. Programs "
		"are loaded for a moment, nothing is attached or changed. Of a recording FILE it tells what "
		"that could show.\v"
		"EXAMPLES:\n"
		"  sudo faultline doctor\n"
		"  sudo faultline doctor --watch 10s\n"
		"  faultline doctor run.flt\n"
		"  sudo faultline doctor --json --table probes",
};

/* Before the output is begun: whether the recording can be read. */
static int check_recording(const struct doctor *doctor)
{
	const struct window_options whole = {0};
	struct trace_summary summary = {0};
	struct period period;
	int error = common_open_recording(doctor->recording, &whole, &period, &summary);

	trace_summary_free(&summary);
	return error ? failed(error, "%s%s", failure_text(),
			      destination_hint(&doctor->output.to, doctor->recording))
		     : 0;
}

static int read_recording(struct doctor *doctor)
{
	struct trace_read_config reading = {.path = doctor->recording};
	int error = hosts_choose_one(&doctor->hosts, reading.path, &reading.host);

	if (error)
		return error;
	error = trace_read(&reading, analysis_stream(doctor->analysis));
	/* What a damaged one still holds is told, and then what is wrong with it. */
	if (error != -EBADMSG)
		return failed_input(error);
	doctor->damage = error;
	snprintf(doctor->sentence, sizeof(doctor->sentence), "%s", failure_text());
	return 0;
}

/* The host at its work: what is attached can be told from what is hit. */
static int doctor_watch(struct doctor *doctor)
{
	struct stream sink = analysis_stream(doctor->analysis);
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct capture *capture;
	int error = capture_open(&capture, &doctor->capture);

	if (error)
		return error;
	error = capture_attach(capture, sink);
	for (__u64 end = monotonic_ns() + doctor->watch_ns; !error && monotonic_ns() < end;) {
		int pushed = capture_poll(capture, sink);

		error = pushed < 0 ? pushed : 0;
		nanosleep(&pause, NULL);
	}
	if (!error)
		error = capture_finish(capture, sink);
	capture_close(capture);
	return error;
}

static int look(struct doctor *doctor)
{
	const struct analysis_config config = {.without_footprint = true};
	int error = analysis_create(&doctor->analysis, &config);

	if (error)
		return error;
	if (doctor->recording)
		return read_recording(doctor);
	doctor->check_count = host_checks(doctor->checks, doctor->capture.emulator);
	return doctor->watch_ns
		       ? doctor_watch(doctor)
		       : capture_probe_report(&doctor->capture, analysis_stream(doctor->analysis));
}

struct probe_line {
	const struct probe_info *probe;
	char silent[SILENT_TEXT]; /* what it says if it is; else "" */
};

static const char *probe_state(const struct probe_line *row)
{
	if (row->silent[0])
		return "silent";
	return row->probe->state == PROBE_ON ? "ok" : "off";
}

#define PROBES(COLUMN)                                           \
	COLUMN(probe, none, TEXT, 18, SHOWN, row->probe->name)   \
	COLUMN(state, none, TEXT, 6, SHOWN, probe_state(row))    \
	COLUMN(attach, none, TEXT, 33, WIDE, row->probe->attach) \
	COLUMN(hits, none, COUNT, 9, WIDE, row->probe->hits)     \
	COLUMN(reason, none, TEXT, 0, SHOWN, row->silent[0] ? row->silent : row->probe->reason)
TABLE(probes, "Probes", PROBES, struct probe_line, void)

static int write_probes(struct doctor *doctor)
{
	const struct session *session = doctor->analysis->session;
	int error = writer_begin(doctor->writer, &probes_table);

	for (size_t i = 0; !error && i < session_probe_count(session); i++) {
		struct probe_line row = {session_probe(session, i), ""};

		silent_sentence(doctor->analysis->silent, row.probe, row.silent);
		error = writer_row(doctor->writer, &row);
	}
	return error ? error : writer_end(doctor->writer);
}

#define HOST(COLUMN)                                                      \
	COLUMN(what, none, TEXT, 16, SHOWN, row->name)                    \
	COLUMN(state, none, TEXT, 7, SHOWN, row->good ? "ok" : "missing") \
	COLUMN(finding, none, TEXT, 0, SHOWN, row->finding)               \
	COLUMN(remedy, none, TEXT, 0, SHOWN, row->remedy)
TABLE(host, "Host", HOST, struct host_check, void)

static int doctor_write_host(struct doctor *doctor, bool text)
{
	struct table table = host_table;
	int error;

	table.column_count -= text; /* without its remedies */
	error = writer_begin(doctor->writer, &table);
	for (size_t i = 0; !error && i < doctor->check_count; i++)
		error = writer_row(doctor->writer, &doctor->checks[i]);
	return error ? error : writer_end(doctor->writer);
}

/* What concerns no single path; lockdown in any case, as it is what one asks for. */
static int write_notes(struct doctor *doctor)
{
	const struct session *session = doctor->analysis->session;
	size_t on = 0;

	writer_note(doctor->writer, "%s", "");
	for (size_t i = 0; i < doctor->check_count; i++) {
		const struct host_check *check = &doctor->checks[i];

		if (!check->good && !check->path && !check->untold)
			writer_note(doctor->writer, "%s: %s. To change that: %s.", check->name,
				    check->finding, check->remedy);
		else if (!strcmp(check->name, "lockdown"))
			writer_note(doctor->writer, "%s: %s.", check->name, check->finding);
	}
	watched_write_since(doctor->analysis->session, doctor->writer);
	silent_write_findings(doctor->analysis, doctor->writer);
	for (size_t i = 0; i < session_probe_count(session); i++)
		on += session_probe(session, i)->state == PROBE_ON;
	return writer_note(
		doctor->writer, "%zu of %zu probes %s%s.", on, session_probe_count(session),
		doctor->recording || doctor->watch_ns ? "were attached" : "can be attached",
		doctor->capture.verbose ? "" : "; -v lists them");
}

/* What was lost may have been what a probe would have shown; this host's account is not of a recording. */
static int write_limits(struct doctor *doctor)
{
	unsigned int floor = doctor->recording ? floor_of(doctor->analysis) : 0;
	char text[FLOOR_TEXT];

	session_write_kept(doctor->analysis->session, doctor->writer);
	if (doctor->recording && doctor->output.to.format == OUTPUT_JSON)
		writer_fact(doctor->writer, "complete", common_complete(doctor->analysis->session));
	if (!floor)
		return writer_error(doctor->writer);
	return writer_is_text(doctor->writer)
		       ? writer_note(doctor->writer, "Counts are floors: %s.",
				     floor_text(floor, text))
		       : writer_fact(doctor->writer, "floor", floor_text(floor, text));
}

static int write_everything(struct doctor *doctor)
{
	bool text = doctor->output.to.format == OUTPUT_TEXT;
	bool whole = !text || doctor->capture.verbose || doctor->output.table;
	int error = doctor_write_paths(doctor->analysis, doctor->checks, doctor->check_count,
				       doctor->writer, text);

	error = error ? error : write_notes(doctor);
	error = error ? error : write_limits(doctor);
	if (!error && whole)
		error = write_probes(doctor);
	if (!error && whole)
		error = doctor_write_host(doctor, text);
	return error;
}

int verb_doctor(int argc, char **argv)
{
	static const char *const tables[] = {"paths", "probes", "host", NULL};
	struct doctor doctor = {};
	unsigned int floor = 0;
	char kept[KEPT_TEXT] = "", stopped[STOPPED_TEXT] = "";
	int error, status, damage = EXIT_OK;

	error = cli_parse(&doctor_cli, argc, argv, &doctor);
	if (error)
		return EXIT_USAGE;
	doctor.inputs[0] = doctor.recording;
	error = doctor.recording ? check_recording(&doctor) : run_directory_check();
	if (!error)
		error = common_open_writer(&doctor.writer, &doctor.output, doctor.inputs, tables);
	if (error)
		return common_failed(error);
	error = look(&doctor);
	if (!error)
		error = write_everything(&doctor);
	if (!error && doctor.recording) {
		floor = floor_of(doctor.analysis);
		session_kept_text(doctor.analysis->session, kept);
		session_stopped_text(doctor.analysis->session, stopped);
	}
	analysis_destroy(doctor.analysis);
	if (error) {
		writer_abandon(doctor.writer);
		return common_failed(error);
	}
	error = writer_close(doctor.writer);
	if (!error)
		common_aside(&doctor.output, stopped);
	status = error ? common_failed(error) : common_limits(&doctor.output, kept, floor);
	if (doctor.damage)
		damage = common_failed(failed(doctor.damage, "%s", doctor.sentence));
	return error || !damage ? status : damage;
}
