/* SPDX-License-Identifier: GPL-2.0 */
/* faultline timeline --verb, --slowest-verbs: single verbs of devices with a mode, stage by stage. */
#ifndef FAULTLINE_TIMELINE_VERBS_H
#define FAULTLINE_TIMELINE_VERBS_H

#include "lib/analyze/verb_calls.h"
#include "tools/offline.h"

struct kept_verb {
	struct verb_call call;
	size_t host;
};

struct timeline_verbs {
	struct offline *offline;
	const char *device;	/* pattern, NULL: any */
	__u64 token;		/* 0: any */
	__u64 slowest;		/* 0: none was said */
	struct kept_verb *kept; /* slowest first */
	size_t count;
	__u64 seen, matched;
};

/* Whether it is asked for. */
bool timeline_verbs_wanted(const struct timeline_verbs *verbs);
/* For struct offline_verb's begin() and write(). */
int timeline_verbs_begin(struct timeline_verbs *verbs, struct offline *offline);
int timeline_verbs_write(struct timeline_verbs *verbs, struct offline *offline);

#endif
