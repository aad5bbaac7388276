/* SPDX-License-Identifier: GPL-2.0 */
/* Inside `faultline record`: options, the wrapped command, the trigger. */
#ifndef FAULTLINE_RECORD_H
#define FAULTLINE_RECORD_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/capture/capture.h"
#include "lib/trace/trace.h"

/* "resolve>100ms" */
struct trigger_rule {
	unsigned int stage; /* enum stage, STAGES for the whole fault */
	__u64 beyond_ns;
};

struct record_options {
	struct capture_config capture;
	struct trace_writer_config writer;
	__u64 duration_ns; /* 0: no limit */
	__u64 count;	   /* events, 0: no limit */
	bool triggered;	   /* by `rule` */
	struct trigger_rule rule;
	__u64 around_ns; /* kept before and after a fault that matches the trigger */
	bool as_root;
	bool quiet;
	char **command; /* NULL terminated; NULL: none */
};

/* Parses the command line; returns an exit code >= 0 to end with, or -1 to go on. */
int record_parse(int argc, char **argv, struct record_options *options);

int trigger_parse(const char *text, struct trigger_rule *rule);

/* Saves what surrounds the faults that match, out of the flight recorder's files. */
struct trigger;

int trigger_create(struct trigger **trigger, const struct record_options *options);
void trigger_destroy(struct trigger *trigger);
struct stream trigger_stream(struct trigger *trigger);
/* Saves once all that is to be kept has been recorded. */
int trigger_poll(struct trigger *trigger, __u64 now_ns, struct trace_writer *writer);
/* After the recording was closed: saves what is still pending. */
int trigger_finish(struct trigger *trigger);

/*
 * The wrapped command: forked early, held until command_go(), so that probes and filter are in
 * place before its first instruction. It dies with the recorder; and what it has started, in whatever
 * session or group, ends with a recording that ends by its limits or by a signal. What a command leaves
 * behind that ended by itself is not the recorder's to end.
 */
struct command {
	const char *name;
	pid_t pid; /* 0: none or ended */
	int go;	   /* write end of the pipe that holds it */
	int told;  /* read end of the pipe that says why it could not be run */
	int status;
	bool ended;
	bool alive; /* it, or anything that it has started */
	bool told_to_end;
};

/*
 * Forks and holds the command. Runs it as the sudo caller, if there is one, unless `as_root` or the
 * command is the emulator itself (`emulator`, may be NULL), which only root can run.
 */
int command_prepare(struct command *command, char **argv, bool as_root, const char *emulator);
/* Lets it go and waits until it runs; why it cannot is an error. */
int command_go(struct command *command);
/* Notes whether it has ended; false once nothing that it has started is left, either. */
bool command_is_alive(struct command *command);
/* Asks it and all that it has started to end. */
void command_signal(struct command *command, int signal);
/* Kills what is still there if it was asked to end or is still running itself, waits. */
void command_end(struct command *command);
/* Its status as a shell would give it: 0 to 255. */
int command_exit_code(const struct command *command);

#endif
