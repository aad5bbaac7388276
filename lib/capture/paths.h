/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel paths: what a host can show or not, in the words of who asks. bpf/paths.def lists them.
 *
 * A path is a file of lib/capture/paths/ that says all there is to say of it, and a line there. Capture,
 * `doctor` and the choice of probes by --kind go over the registry. Its BPF programs are a file of bpf/.
 */
#ifndef FAULTLINE_PATHS_H
#define FAULTLINE_PATHS_H

#include <linux/types.h>
#include <stddef.h>

struct capture;
struct device_info;
struct device_key;
struct device_state;
struct probe_row;

enum path_id {
	PATH_NONE, /* of a probe that another version knew */
#define PATH(NAME, name, probes) PATH_##NAME,
#include "bpf/paths.def"
#undef PATH
	PATH_COUNT,
};

/* When user space does something for a path beside its events. */
enum path_step {
	STEP_OPEN,     /* the capture is opened */
	STEP_ATTACHED, /* every probe that can be is in place; nothing is recorded yet */
	STEP_BEGIN,    /* the last before programs are let go */
	STEP_POLL,     /* before each pass over the rings */
	STEP_SECOND,   /* once a second */
	STEP_ENDED,    /* processes have ended: those of capture.ended, which is sorted */
	STEP_FINISH,   /* programs have stopped and rings are drained */
	STEP_RELEASED, /* all that was before the end has been pushed: what is so at the end */
	STEP_CLOSE,    /* whatever was not reached before; its result says nothing */
	PATH_STEPS,
};

typedef int path_step_fn(struct capture *capture, __u64 now_ns);

struct path {
	const char *name; /* "kernel page requests" */
	/* What a kernel or a host must have for it: the remedy where nothing of it is there. */
	const char *needs;
	const struct probe_row *rows;
	size_t row_count;
	path_step_fn *steps[PATH_STEPS]; /* NULL: nothing is to be done then */
	/* What is to be said of its own kind of devices (enum device_kind) beside their name and driver. */
	__u32 device_kind;
	void (*describe)(const struct device_key *key, const struct device_state *state,
			 struct device_info *info);
};

/* "other probes" for PATH_NONE. */
const char *path_name(enum path_id path);
const char *path_needs(enum path_id path);
/* PATH_NONE for NULL. */
enum path_id path_of(const struct probe_row *row);
/* Describes a device by the path that it is of, if there is one. */
void paths_describe(const struct device_key *key, const struct device_state *state,
		    struct device_info *info);
/* Takes a step of every path, up to the first error. */
int paths_take(struct capture *capture, enum path_step step, __u64 now_ns);

#endif
