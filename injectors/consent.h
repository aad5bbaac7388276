/* SPDX-License-Identifier: GPL-2.0 */
/* What the user allows an injector to touch though Faultline has not started it: each --yes-i-mean-it NAME. */
#ifndef FAULTLINE_CONSENT_H
#define FAULTLINE_CONSENT_H

#include "lib/cli/cli.h"

#define CONSENTS_MAX 64

struct consents {
	const char *names[CONSENTS_MAX]; /* as they were written; borrowed */
	size_t count;
};

/* --yes-i-mean-it NAME, for a struct consents */
extern const struct cli_option consent_options[];

/* Whether the user named exactly this: a process, a device, a cgroup, a file. */
bool consent_given(const struct consents *consents, const char *name);

#endif
