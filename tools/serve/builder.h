/* SPDX-License-Identifier: GPL-2.0 */
/* The process that makes pages: lib/base/child.h's, with a child of its own for each. */
#ifndef FAULTLINE_SERVE_BUILDER_H
#define FAULTLINE_SERVE_BUILDER_H

#include <linux/limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/analyze/slo.h"

#define BUILDER_SENTENCE 400
#define BUILDER_SECONDS	 60 /* a page may take so long */
#define BUILDER_REFRESH	 30 /* a page of live numbers is loaded again after so many seconds */

struct builder {
	char folder[PATH_MAX];	  /* private; removed at the end */
	char recording[PATH_MAX]; /* that it is of */
	char page[PATH_MAX];	  /* in the folder */
	__u32 host;		  /* of a merged recording, from 1; 0: it is of one host */
	bool live;		  /* somebody is writing the recording */
	const struct slo_set *slos;
};

struct builder_answer {
	int error; /* 0: the page is there */
	char sentence[BUILDER_SENTENCE];
};

/* Forks it; `socket` is our end: a byte asks for a page, a struct builder_answer comes back. It ends with the socket. */
int builder_start(const struct builder *builder, int *socket, pid_t *process);

#endif
