// SPDX-License-Identifier: GPL-2.0
/* faultline record: live capture into a .flt recording. */
#include "tools/record.h"
#include "tools/record_answer.h"
#include "tools/record_room.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/floor.h"
#include "lib/base/clock.h"
#include "lib/base/command.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/printable.h"
#include "lib/base/run_directory.h"
#include "lib/base/signals.h"
#include "lib/base/units.h"
#include "lib/base/user.h"
#include "lib/capture/emulator.h"
#include "lib/capture/probes.h"
#include "tools/common.h"
#include "tools/verbs.h"

#define PROGRESS_NS	(2 * NSEC_PER_SEC)
#define TERMINATE_NS	(2 * NSEC_PER_SEC) /* for a command that was asked to end */
#define EVENTS_FOR_MEAN 1000
#define POLL_NS		(20 * NSEC_PER_MSEC)

static volatile sig_atomic_t signals;	  /* how many came */
static volatile sig_atomic_t last_signal; /* to hand on to the command, 0 if it has it already */

static void record_on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	signals++;
	/* The terminal's Ctrl-C reaches the whole process group, the command as well. */
	last_signal = info->si_code == SI_KERNEL ? 0 : number;
}

struct recording {
	struct record_options *options;
	struct capture *capture;
	struct trace_writer *writer;
	struct command command;
	struct trigger *trigger;
	struct stream_fan fan;
	struct stream sink;
	struct record_answer *answer;
	struct record_room room;
	struct loss_info loss;
	__u64 end_ns; /* of the recording, 0: not yet */
	__u64 next_progress_ns;
	__u64 refused;		  /* machines, told */
	__u64 terminate_ns;	  /* when the command gets killed, 0: not asked to end yet */
	char reason[REASON_TEXT]; /* last one told for a probe that is off */
	int handed_on;		  /* signals given to the command */
	bool attached;
};

static int note_loss(void *self, const struct loss_info *loss)
{
	((struct recording *)self)->loss = *loss;
	return 0;
}

/* What is missing is said at once: not first in the report of an hour's recording. */
static int note_probe(void *self, const struct probe_info *probe)
{
	struct recording *r = self;

	if (r->options->quiet || probe->state != PROBE_OFF || !probe_required(probe->name) ||
	    !strcmp(probe->reason, r->reason))
		return 0;
	snprintf(r->reason, sizeof(r->reason), "%s", probe->reason);
	fprintf(stderr, "faultline: %s and others are off: %s\n", printable_of(probe->name).text,
		printable_of(probe->reason).text);
	return 0;
}

static int note_end(void *self, __u64 end_ns)
{
	((struct recording *)self)->end_ns = end_ns;
	return 0;
}

static const struct stream_ops note_ops = {.loss = note_loss, .probe = note_probe, .end = note_end};

static __u64 lost_events(const struct loss_info *loss)
{
	return loss->lost + loss->missed + loss->access_lost + loss->access_missed;
}

static void print_progress(struct recording *r, __u64 now)
{
	char events[UNITS_TEXT], bytes[UNITS_TEXT], lost[UNITS_TEXT];
	struct trace_writer_stats stats;

	if (r->options->quiet || now < r->next_progress_ns || !isatty(STDERR_FILENO))
		return;
	r->next_progress_ns = now + PROGRESS_NS;
	trace_writer_stats(r->writer, &stats);
	fprintf(stderr, "\r%6llu s  %s events  %s  %s lost \033[K",
		capture_recorded_ns(r->capture) / NSEC_PER_SEC,
		units_format_count(stats.events, 12, events), units_format_size(stats.bytes, bytes),
		units_format_count(lost_events(&r->loss), 12, lost));
}

/* What became of what was written. */
static void print_kept(const struct recording *r, const struct trace_writer_stats *stats)
{
	char duration[UNITS_TEXT];

	if (stats->kept.from_ns)
		fprintf(stderr, "kept: the last %s; let go before: %llu events in %llu segments\n",
			units_format_duration(r->end_ns - stats->kept.from_ns, duration),
			stats->kept.events, stats->kept.segments);
	if (stats->unwritten_events || stats->unwritten_windows || stats->waiting)
		fprintf(stderr, "not kept %s: %llu events, %llu seconds of counts%s\n",
			trace_has_no_room(stats->unwritten_error) ? "for want of room"
								  : "as it could not be written",
			stats->unwritten_events, stats->unwritten_windows,
			stats->waiting ? ", and the recording's end with its account" : "");
	if (stats->unsynced_segments)
		fprintf(stderr, "may not be on the disk: %llu segment%s\n",
			stats->unsynced_segments, stats->unsynced_segments == 1 ? "" : "s");
}

static void print_summary(const struct recording *r, const struct trace_writer_stats *stats)
{
	char duration[UNITS_TEXT], bytes[UNITS_TEXT], text[FLOOR_TEXT];
	unsigned int floor = floor_of_loss(&r->loss, stats->incomplete_windows);

	if (r->options->quiet)
		return;
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	record_answer_print(r->answer);
	fprintf(stderr, "%s: %llu event%s in %s, %s, ", printable_of(r->options->writer.path).text,
		stats->events, stats->events == 1 ? "" : "s",
		units_format_duration(capture_recorded_ns(r->capture), duration),
		units_format_size(stats->bytes, bytes));
	/* Of a few events it would be the size of what surrounds them. */
	if (stats->events >= EVENTS_FOR_MEAN)
		fprintf(stderr, "%.1f bytes/event, ", (double)stats->bytes / stats->events);
	if (floor)
		fprintf(stderr, "%llu lost: numbers are floors (%s)%s\n", lost_events(&r->loss),
			floor_text(floor, text), r->loss.lost ? "; try a larger --ring-size" : "");
	else
		fprintf(stderr, "nothing lost\n");
	if (r->loss.turned_away)
		fprintf(stderr, "turned away: %llu calls of probes by other users' processes\n",
			r->loss.turned_away);
	print_kept(r, stats);
	if (r->command.ended && command_exit_code(&r->command) && !r->terminate_ns)
		fprintf(stderr, "the command ended with status %d\n",
			command_exit_code(&r->command));
}

static void tell_refused(struct recording *r)
{
	const struct capture_refusals *refusals = capture_refusals(r->capture);
	__u64 told = r->refused;

	r->refused = refusals->count;
	if (r->options->quiet || r->refused == told)
		return;
	fprintf(stderr, "faultline: an emulated machine is not met: %s",
		printable_of(refusals->last).text);
	if (r->refused - told > 1)
		fprintf(stderr, "; %llu more are not, either", r->refused - told - 1);
	fputc('\n', stderr);
}

static bool limit_reached(const struct recording *r)
{
	struct trace_writer_stats stats;

	if (capture_is_over(r->capture))
		return true;
	if (!r->options->count)
		return false;
	trace_writer_stats(r->writer, &stats);
	return stats.events >= r->options->count;
}

/*
 * Whether to stop. A running command is first asked to end, with all that it has started; then, or at a
 * second signal, what is left gets killed. Only the one who sent a signal may be kept waiting by the
 * command itself.
 */
static bool record_finished(struct recording *r, __u64 now)
{
	bool end = signals || limit_reached(r), alive;

	if (!r->options->command)
		return end;
	alive = command_is_alive(&r->command);
	if (r->terminate_ns)
		return !alive || signals > r->handed_on ||
		       (now > r->terminate_ns && !(signals && r->command.pid));
	if (!end || r->command.ended)
		return r->command.ended;
	r->terminate_ns = now + TERMINATE_NS;
	command_signal(&r->command, !signals ? SIGTERM : last_signal);
	r->handed_on = signals;
	return false;
}

static int record_run(struct recording *r)
{
	struct timespec pause = timespec_of_ns(POLL_NS);
	int pushed = 0;

	while (pushed >= 0) {
		__u64 now = monotonic_ns();

		pushed = capture_poll(r->capture, r->sink);
		if (pushed >= 0 && r->trigger && trigger_is_due(r->trigger, r->writer, now)) {
			int error = capture_account(r->capture, r->sink)
					    ?: trigger_save(r->trigger, r->writer, now);

			if (error)
				return error;
		}
		tell_refused(r);
		record_room_tell(&r->room, r->writer, r->options->writer.path);
		print_progress(r, now);
		if (record_finished(r, now))
			break;
		nanosleep(&pause, NULL);
	}
	return pushed < 0 ? pushed : 0;
}

static void watch_signals(void)
{
	const struct sigaction action = {.sa_sigaction = record_on_signal, .sa_flags = SA_SIGINFO};

	signals = 0;
	signals_catch_end(&action);
	signals_ignore(SIGPIPE);
}

static bool is_emulator(const char *program, const char *given)
{
	char emulator[PATH_MAX];
	struct stat ours, theirs;

	return !emulator_find(given, emulator, sizeof(emulator)) && !stat(emulator, &theirs) &&
	       command_find(program, &ours) && same_file(&ours, &theirs);
}

/* The emulator can only be run by root. */
static bool stays_root(const struct record_options *o)
{
	return o->as_root || is_emulator(o->command[0], o->capture.emulator);
}

/* Before anything is begun: whom the command is to run as must be known. */
static int check_user(const struct record_options *o)
{
	int error = o->command && !stays_root(o) ? user_check_sudo() : 0;

	return error ? failed(error, "%s; with --as-root COMMAND runs as root", failure_text()) : 0;
}

/* As the sudo caller, if there is one. */
static int prepare_command(struct recording *r)
{
	const struct record_options *o = r->options;
	struct command_user user;
	bool drop = !stays_root(o) && user_behind_sudo(&user.uid, &user.gid);

	/* What it prints is no part of a recording. */
	int output = strcmp(o->writer.path, "-") != 0 ? STDOUT_FILENO : STDERR_FILENO;

	return command_prepare(&r->command, o->command, drop ? &user : NULL, output)
		       ?: capture_add_pid(r->capture, r->command.pid);
}

/* The programs that are recorded are read, too: they are no place for the recording. */
static int check_place(const struct record_options *o)
{
	struct stat place, command, emulator;
	bool has_command = o->command && command_find(o->command[0], &command);
	bool has_emulator = o->capture.emulator && !stat(o->capture.emulator, &emulator);

	if (!o->writer.overwrite || stat(o->writer.path, &place))
		return 0;
	if ((has_command && same_file(&command, &place)) ||
	    (has_emulator && same_file(&emulator, &place)))
		return failed(-EINVAL,
			      "%s: is the program that is recorded; choose another name for the "
			      "recording",
			      o->writer.path);
	return 0;
}

static int open_writer(struct recording *r)
{
	const struct record_options *o = r->options;
	int error = trace_writer_open(&r->writer, &o->writer);

	if (error == -EEXIST && !o->writer.overwrite)
		error = failed(error, "%s, or let --force replace it", failure_text());
	if (error == -EINVAL && o->writer.max_bytes)
		error = failed_in(error, "--max-size");
	/* What had to go for it is told even if it does not come to record anything. */
	if (!error)
		record_room_tell(&r->room, r->writer, o->writer.path);
	return error;
}

static int record_start(struct recording *r)
{
	struct record_options *o = r->options;
	int error;

	o->writer.held = true;
	error = check_place(o) ?: check_user(o);
	if (!error)
		error = run_directory_check();
	if (!error)
		error = capture_open(&r->capture, &o->capture);
	if (!error)
		error = open_writer(r);
	if (error)
		return error;
	common_tell_run_directory(r->capture);
	error = stream_fan_add(&r->fan, trace_writer_stream(r->writer))
			?: stream_fan_add(&r->fan, (struct stream){&note_ops, r})
			?: record_answer_create(&r->answer)
			?: stream_fan_add(&r->fan, record_answer_stream(r->answer));
	if (!error && o->triggered)
		error = trigger_create(&r->trigger, o)
				?: stream_fan_add(&r->fan, trigger_stream(r->trigger));
	if (error)
		return error;
	r->sink = stream_fan(&r->fan);
	if (o->command)
		error = prepare_command(r);
	if (!error)
		error = capture_attach(r->capture, r->sink);
	r->attached = !error;
	if (!error && o->command)
		error = command_go(&r->command);
	/* Only now there is something to take the place of an earlier recording. */
	if (!error)
		error = trace_writer_commit(r->writer);
	if (!error && !o->quiet)
		record_room_tell_set_aside(r->writer, o->writer.path);
	if (!error && !o->quiet)
		fprintf(stderr, "recording into %s%s\n", printable_of(o->writer.path).text,
			o->command || o->capture.duration_ns || o->count ? "" : "; Ctrl-C ends it");
	return error;
}

/* Ends everything in order whatever has failed; returns the first error. */
static int record_finish(struct recording *r, int error, struct trace_writer_stats *stats)
{
	int more;

	command_end(&r->command);
	if (r->attached && !error)
		error = capture_finish(r->capture, r->sink);
	if (r->attached)
		tell_refused(r);
	if (r->writer) {
		trace_writer_settle(r->writer);
		record_room_tell(&r->room, r->writer, r->options->writer.path);
		trace_writer_stats(r->writer, stats);
		r->loss.unwritten_events = stats->unwritten_events;
		r->loss.unwritten_windows = stats->unwritten_windows;
		r->loss.cut |= stats->waiting;
		more = trace_writer_close(r->writer);
		if (!error)
			error = more;
	}
	if (r->trigger && r->attached && !error)
		trigger_finish(r->trigger, stats->kept.from_ns);
	return error;
}

/* A snapshot that could not be saved ended nothing, and is no success either. */
static int status_of(const struct recording *r, const struct trace_writer_stats *stats)
{
	struct snapshots_result snapshots = {0};
	int status;

	/* A command that was made to end says nothing by its status. */
	if (r->terminate_ns)
		status = signals ? EXIT_INTERRUPTED : EXIT_OK;
	else
		status = command_exit_code(&r->command);
	if (r->trigger)
		snapshots = trigger_result(r->trigger);
	if (snapshots.failed) {
		fprintf(stderr, "faultline: %llu of %llu snapshots could not be saved\n",
			snapshots.failed, snapshots.saved + snapshots.failed);
		return status ?: EXIT_FAIL;
	}
	if (!status && stats->unsynced_segments)
		status = EXIT_FAIL;
	if (!status && floor_of_loss(&r->loss, stats->incomplete_windows))
		status = EXIT_LOSS;
	return status;
}

/* Last: it waits for the kernel to detach, and everything has been written and said without it. */
static int record_end(struct recording *r, int status)
{
	capture_close(r->capture);
	record_answer_destroy(r->answer);
	trigger_destroy(r->trigger);
	return status;
}

int verb_record(int argc, char **argv)
{
	struct record_options options;
	struct recording r = {.options = &options};
	struct trace_writer_stats stats = {};
	int status = record_parse(argc, argv, &options);
	char sentence[1024];
	int error;

	if (status >= 0)
		return status;
	watch_signals();
	error = record_start(&r);
	if (!error)
		error = record_run(&r);
	snprintf(sentence, sizeof(sentence), "%s", failure_text());
	if (error) {
		record_finish(&r, error, &stats);
	} else {
		error = record_finish(&r, 0, &stats);
		snprintf(sentence, sizeof(sentence), "%s", failure_text());
	}
	if (error) {
		fprintf(stderr, "faultline: %s\n", sentence);
		return record_end(&r, error == -EINVAL ? EXIT_USAGE : exit_code_of(error));
	}
	print_summary(&r, &stats);
	return record_end(&r, status_of(&r, &stats));
}
