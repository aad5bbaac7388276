/* SPDX-License-Identifier: GPL-2.0 */
/* The keys of [protector]: those of a policy (lib/protect/protect.h), wherever a job says what to pin. */
#ifndef FAULTLINE_JOB_PROTECTOR_OPTIONS_H
#define FAULTLINE_JOB_PROTECTOR_OPTIONS_H

#include "lib/job/options.h"
#include "lib/protect/protect.h"

enum protector_scope {
	PROTECTOR_DEVICE, /* a device and PASID is a domain */
	PROTECTOR_TENANT, /* all devices of a tenant are one */
};

/* What the section's struct begins with, in all tables that have these rows. */
struct protector_options {
	struct protect_keys keys;
	__u64 page_bytes; /* what is pinned at a time, a power of two */
	__u32 scope;	  /* enum protector_scope */
};

/*
 * For add_rows() and the like: rows of section "protector", `policy` the first of them, whose choices are the names of
 * policies.def; a table that knows more names has choices of its own.
 */
#define PROTECTOR_ROWS 15
extern const struct option_row protector_rows[PROTECTOR_ROWS];
/* The names of policies.def with their numbers; a name of NULL at the end. */
extern const struct option_choice protector_policies[];

#endif
