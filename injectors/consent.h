/* SPDX-License-Identifier: GPL-2.0 */
/* What the user allows an injector to touch though Faultline has not started it: each --yes-i-mean-it NAME. */
#ifndef FAULTLINE_CONSENT_H
#define FAULTLINE_CONSENT_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define CONSENTS_MAX 64

struct consents {
	const char *names[CONSENTS_MAX]; /* as they were written; borrowed */
	size_t count;
};

enum { CONSENT_OPTION = 0x500 };

/* The row of a struct argp_option table, in one of its groups. */
#define CONSENT_OPTIONS(group)                                                                       \
	{                                                                                            \
		"yes-i-mean-it", CONSENT_OPTION, "NAME", 0,                                          \
			"Consent to touch what Faultline has not started: exactly this; repeatable", \
			group                                                                        \
	}

/* For a parser's CONSENT_OPTION. */
void consent_add(struct consents *consents, const char *name, struct argp_state *state);
/* Whether the user named exactly this: a process, a device, a cgroup, a file. */
bool consent_given(const struct consents *consents, const char *name);

#endif
