/* SPDX-License-Identifier: GPL-2.0 */
/* Inside `faultline record`: options and the trigger. */
#ifndef FAULTLINE_RECORD_H
#define FAULTLINE_RECORD_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/capture/capture.h"
#include "lib/trace/trace.h"
#include "tools/record_snapshots.h"

/* "resolve>100ms" */
struct trigger_rule {
	unsigned int stage; /* enum stage, STAGES for the whole fault */
	__u64 beyond_ns;
};

struct record_options {
	struct capture_config capture;
	struct trace_writer_config writer;
	__u64 count;	/* events, 0: no limit */
	bool triggered; /* by `rule` */
	struct trigger_rule rule;
	__u64 around_ns; /* kept before and after a fault that matches the trigger */
	struct snapshots_config snapshots;
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
/* Whether something is to be saved and all of it has been recorded, or its beginning is about to go. */
bool trigger_is_due(const struct trigger *trigger, struct trace_writer *writer, __u64 now_ns);
/*
 * Saves it. The recording should have an account of loss that is younger than what is saved. An error is
 * one of the recorder; that something could not be saved is none.
 */
int trigger_save(struct trigger *trigger, struct trace_writer *writer, __u64 now_ns);
/* After the recording was closed, which holds what is newer than `kept_ns`: saves what is still pending. */
void trigger_finish(struct trigger *trigger, __u64 kept_ns);
struct snapshots_result trigger_result(const struct trigger *trigger);

#endif
