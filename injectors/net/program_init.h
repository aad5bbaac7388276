/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The first process of a program's PID namespace: starts it, collects what it prints, and ends all of it when the
 * machine ends, in whatever way. Its own end is the end of every process in the namespace.
 */
#ifndef FAULTLINE_NET_PROGRAM_INIT_H
#define FAULTLINE_NET_PROGRAM_INIT_H

#include <linux/types.h>
#include <sys/types.h>

#include "lib/base/program_words.h"

#define PROGRAM_ERRORS 1024 /* bytes of the end of stderr */

/* What it tells through its channel, first whether the program runs, then how it ended. */
struct program_word {
	enum {
		PROGRAM_STARTED,
		PROGRAM_REFUSED, /* `value`: errno */
		PROGRAM_ENDED,	 /* `value`: status as of waitpid() */
	} what;
	int value;
	char step[32]; /* what was refused */
	__u64 printed; /* bytes on stdout, of which the first are in the output's file */
	__u32 errors;  /* bytes of `error_text` */
	char error_text[PROGRAM_ERRORS];
};

#define PROGRAM_TERMINATE 't' /* what it is told, as one byte: SIGTERM to its process group */

/* What it needs; descriptors are its own. */
struct program_task {
	int machine; /* pidfd of whose end is the program's end */
	int channel;
	int output; /* file for what the program prints */
	__u64 output_most;
	int netns;
	uid_t uid;
	gid_t gid;
	const char *path;
	const char *group; /* directory of the cgroup that it is to be in, "": that of the host */
	struct program_words *words;
};

_Noreturn void program_init(const struct program_task *task);

#endif
