// SPDX-License-Identifier: GPL-2.0
/* The keys of [tenant]. */
#include "injectors/job/options_private.h"

#define TENANT(member) FIELD(struct job_tenant, member)

static const struct option_choice backends[] = {
	{"pager", MEMORY_PAGER}, {"swap", MEMORY_SWAP}, {NULL, 0}};

static const struct option_row rows[] = {
	{"tenant", "count", OPTION_COUNT, TENANT(count), 1, MACHINE_TENANTS_MAX, "",
	 .meaning = "makes this many, called NAME0, NAME1, ...; without it one, called NAME"},
	{"tenant", "memory", OPTION_BYTES, TENANT(config.memory), 2 * MIB, 64 * GIB, "64M",
	 .meaning = "guest memory of each", .multiple = 2 * MIB},
	{"tenant", "memlock", OPTION_BYTES, TENANT(config.memlock), 0, 64 * GIB, "0",
	 .meaning =
		 "bytes of it that devices may pin at once, a page as often as it is pinned; more "
		 "is refused (ENOMEM); 0: no limit"},
	{"tenant", "backend", OPTION_CHOICE, TENANT(config.backend), .otherwise = "pager",
	 .choices = backends,
	 .meaning = "what pages the memory: a userfaultfd pager with a backing file, or the "
		    "kernel's own swap"},
	{"tenant", "cpus", OPTION_CPUS, TENANT(config.cpus), .otherwise = "",
	 .meaning = "CPUs of the tenant, such as 0-1,3; empty: all"},
};

const struct option_rows tenant_rows = {rows, sizeof(rows) / sizeof(rows[0])};
