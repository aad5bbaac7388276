/* SPDX-License-Identifier: GPL-2.0 */
/* --host NAME: which hosts of a merged recording a verb tells of. */
#ifndef FAULTLINE_CLI_HOSTS_H
#define FAULTLINE_CLI_HOSTS_H

#include <argp.h>

#include "lib/trace/trace.h"

#define HOST_PATTERNS 64

struct host_options {
	const char *patterns[HOST_PATTERNS];
	size_t count; /* 0: all hosts */
};

/* For a struct host_options. */
extern const struct argp hosts_argp;

/* Whether a host of this name is asked for. */
bool hosts_want(const struct host_options *options, const char *name);
/* -EINVAL with the names that there are, if a pattern fits none of them. */
int hosts_check(const struct host_options *options, const char *path, const char *const *names,
		size_t count);
/* The same of all that are in a recording; of one that is not merged (hosts 0) its own host. */
int hosts_check_recording(const struct host_options *options, const char *path,
			  const struct trace_hosts *hosts);
/*
 * For verbs that tell of one host: the number of the only one that is asked for, 0 if the recording is of one
 * host. -EINVAL if there are several.
 */
int hosts_choose_one(const struct host_options *options, const char *path, __u32 *host);

#endif
