// SPDX-License-Identifier: GPL-2.0
/* The keys of [machine]. */
#include "injectors/job/options_private.h"
#include "lib/translate/tlb.h"

#define MACHINE(member) FIELD(struct job_machine, member)

static const struct option_choice schedulers[] = {
	{"serial", SCHEDULER_SERIAL}, {"affined", SCHEDULER_AFFINED}, {NULL, 0}};

/* Of the opposite. */
static const struct option_choice wakes[] = {{"yes", false}, {"no", true}, {NULL, 0}};
static const struct option_choice orders[] = {
	{"random", RECLAIM_RANDOM}, {"idle", RECLAIM_IDLE}, {NULL, 0}};

static const struct option_row rows[] = {
	{"machine", "name", OPTION_TEXT, MACHINE(config.name), .otherwise = "machine",
	 .meaning =
		 "how the plan of --dry-run calls the machine; recordings call it by its process"},
	{"machine", "scheduler", OPTION_CHOICE, MACHINE(config.scheduler), .otherwise = "serial",
	 .choices = schedulers,
	 .meaning =
		 "who runs fault handlers: one thread for all, or one for each CPU of each tenant, "
		 "bound to it (VPRI 6.1)"},
	{"machine", "request_queue_entries", OPTION_COUNT, MACHINE(config.request_queue_entries), 2,
	 65536, "1024", .meaning = "size of the page request queue", .power_of_two = true},
	{"machine", "event_queue_entries", OPTION_COUNT, MACHINE(config.event_queue_entries), 2,
	 65536, "256", .meaning = "size of the event message queue", .power_of_two = true,
	 .needs = {{"device.lookup", "pa-bitmap"}}},
	{"machine", "handler_backlog", OPTION_COUNT, MACHINE(config.handler_backlog), 1, 512, "8",
	 .meaning = "page request groups at a device's msi_cpu before another CPU "
		    "of the tenant is chosen",
	 .needs = {{"scheduler", "affined"}}},
	{"machine", "iotlb_entries", OPTION_COUNT, MACHINE(config.iotlb.entries), 0, 65536, "0",
	 .meaning = "size of the IOTLB that the devices share; 0: none, a DevTLB's "
		    "miss walks the page tables",
	 .power_of_two = true, .needs = {{"device.lookup", "ats"}}},
	{"machine", "iotlb_ways", OPTION_COUNT, MACHINE(config.iotlb.ways), 1, TLB_WAYS_MAX, "8",
	 .meaning = "entries in a set of the IOTLB", .power_of_two = true,
	 .needs = {{"iotlb_entries", NULL}}},
	{"machine", "iotlb_policy", OPTION_CHOICE, MACHINE(config.iotlb.policy), .otherwise = "lru",
	 .choices = policies, .meaning = "which entry of a set of the IOTLB makes way",
	 .needs = {{"iotlb_entries", NULL}}},
	{"machine", "directory", OPTION_TEXT, MACHINE(config.directory), .otherwise = "",
	 .meaning = "where unlinked backing files live; empty: $TMPDIR or /var/tmp"},
	{"machine", "seed", OPTION_COUNT, MACHINE(config.seed), 0, 9e15, "1",
	 .meaning = "seed of every random choice that has no seed of its own; --seed sets it"},
	{"machine", "premap", OPTION_BOOL, MACHINE(config.premap), .otherwise = "yes",
	 .meaning = "present pages are mapped for the devices at the start, so that only what is "
		    "injected or reclaimed faults",
	 .needs = {{"memory_limit", "0"}}},
	{"machine", "reclaim_percent", OPTION_COUNT, MACHINE(config.reclaim_percent), 0, 95, "0",
	 .meaning = "percent of each tenant's memory that a reclaimer keeps out"},
	{"machine", "reclaim_kind", OPTION_CHOICE, MACHINE(config.reclaim_kind),
	 .otherwise = "major", .choices = evictions,
	 .meaning = "what the reclaimer's pages come back from: a mapping (minor) or storage",
	 .needs = {{"reclaim_percent", NULL}}},
	{"machine", "reclaim_interval", OPTION_TIME, MACHINE(config.reclaim_interval_ns), 1e6, HOUR,
	 "100ms", .meaning = "time between two passes of the reclaimer",
	 .needs = {{"reclaim_percent", NULL}}},
	{"machine", "reclaim_order", OPTION_CHOICE, MACHINE(config.reclaim_order),
	 .otherwise = "random", .choices = orders,
	 .meaning = "which present pages it takes: any, or those first that no device has used for "
		    "longest, by the accessed bits of the IOPTs"},
	{"machine", "reclaim_scan", OPTION_TIME, MACHINE(config.reclaim_scan_ns), 1e6, HOUR,
	 "100ms", .meaning = "time between two looks at the accessed bits",
	 .needs = {{"reclaim_order", "idle"}}},
	{"machine", "memory_limit", OPTION_BYTES, MACHINE(config.memory_limit), 0, MIB *GIB, "0",
	 .meaning =
		 "host memory that all tenants have together, at least 2M: what does not fit goes to "
		 "the pager's file or to swap, the least used first, and pins beyond are refused; "
		 "premap has no effect then. 0: no limit"},
	{"machine", "access_log_buffers", OPTION_COUNT, MACHINE(config.access_log_buffers), 2, 64,
	 "8",
	 .meaning =
		 "buffers of the access log that each device has posted; what finds none is lost "
		 "to the log, and counted (accesses_lost)"},
	{"machine", "access_log_records", OPTION_COUNT, MACHINE(config.access_log_records), 0,
	 65536, "0",
	 .meaning =
		 "records of each buffer, from 2; one of an I/O of 17 ms and more is two. 0: 512 "
		 "for up to 64 devices, 64 beyond"},
	{"machine", "access_log_interval", OPTION_TIME, MACHINE(config.access_log_interval_ns), 1e5,
	 HOUR, "5ms", .meaning = "time between two looks of the access log's owner at the buffers"},
	{"machine", "access_log_wake", OPTION_CHOICE, MACHINE(config.access_log_punctual),
	 .otherwise = "yes", .choices = wakes,
	 .meaning =
		 "a device that has reached its last buffer wakes the owner; no: it comes at its "
		 "interval only, so that what the buffers cannot hold meanwhile is lost"},
	{"machine", "tenants", OPTION_TEXT, MACHINE(tenants), .otherwise = "*",
	 .meaning =
		 "those that take part: a [tenant]'s name or a pattern such as vm*. The others are "
		 "checked and left out, with what is theirs: so that a sweep may set machines "
		 "beside each other that have nothing in common"},
	{"machine", "timeout", OPTION_TIME, MACHINE(timeout_ns), NSEC_PER_SEC, 24 * HOUR, "10m",
	 .meaning = "a run that lasts longer is stopped and has failed"},
};

const struct option_rows machine_rows = {rows, sizeof(rows) / sizeof(rows[0])};
