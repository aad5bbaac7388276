// SPDX-License-Identifier: GPL-2.0
/* The keys of [device] that all models have; each model has its own beside its code. */
#include "injectors/job/options_private.h"
#include "lib/translate/tlb.h"

#define DEVICE(member) FIELD(struct job_device, member)

static const struct option_choice page_sizes[] = {{"4K", false}, {"2M", true}, {NULL, 0}};
static const struct option_choice writes[] = {{"upgrade", false}, {"invalid", true}, {NULL, 0}};
static const struct option_choice lookups[] = {
	{"pa-bitmap", LOOKUP_PA_BITMAP}, {"ats", LOOKUP_ATS}, {"uffd", LOOKUP_UFFD}, {NULL, 0}};

static const struct option_row rows[] = {
	{"device", "model", OPTION_CHOICE, DEVICE(model), .otherwise = models_default,
	 .choices = models, .meaning = models_meaning},
	{"device", "tenant", OPTION_TEXT, DEVICE(tenant), .otherwise = "*",
	 .meaning = "tenants that get this device: a [tenant]'s name or a pattern such as vm*"},
	{"device", "count", OPTION_COUNT, DEVICE(count), 1, 64, "",
	 .meaning = "makes this many in each tenant, called NAME0, NAME1, ..."},
	{"device", "queues", OPTION_COUNT, DEVICE(config.queues), 1, 64, "1",
	 .meaning = "queues, each served by a thread of the device",
	 .needs = {{"model", models_with_rings}}},
	{"device", "queue_depth", OPTION_COUNT, DEVICE(config.queue_depth), 2, RING_DEPTH_MAX, "64",
	 .meaning = "descriptors in each queue", .power_of_two = true,
	 .needs = {{"model", models_with_rings}}},
	{"device", "group_pages", OPTION_COUNT, DEVICE(config.group_pages), 1, GROUP_PAGES_MAX, "1",
	 .meaning = "page requests that one group may hold"},
	{"device", "page_size", OPTION_CHOICE, DEVICE(config.huge), .otherwise = "4K",
	 .choices = page_sizes,
	 .meaning = "of the IOPT's entries at the start (premap); 2M: where they fit, split when a "
		    "part of one is evicted or becomes writable"},
	{"device", "read_only_percent", OPTION_COUNT, DEVICE(config.read_only_percent), 0, 100, "0",
	 .meaning =
		 "percent of the device's data pages, from the first on, that are mapped read-only"},
	{"device", "read_only_write", OPTION_CHOICE, DEVICE(config.refuse_writes),
	 .otherwise = "upgrade", .choices = writes,
	 .meaning =
		 "what becomes of a fault by a write to them: the page becomes writable until it "
		 "is evicted, or the response is INVALID",
	 .needs = {{"read_only_percent", NULL}}},
	{"device", "msi_cpu", OPTION_COUNT, DEVICE(config.msi_cpu), -1, 1023, "-1",
	 .meaning = "the tenant's CPU that the device interrupts, where its "
		    "faults are handled first; -1: it is polled, the least loaded CPU is chosen",
	 .needs = {{"machine.scheduler", "affined"}}},
	{"device", "page_requests", OPTION_COUNT, DEVICE(config.page_requests), 0,
	 PAGE_REQUESTS_MAX, "0",
	 .meaning = "page requests that the device may have unanswered (PCIe: Outstanding Page "
		    "Request Allocation); 0: no limit"},
	{"device", "lookup", OPTION_CHOICE, DEVICE(config.lookup), .otherwise = "pa-bitmap",
	 .choices = lookups,
	 .meaning = "how the device knows that a page is absent: VPRI's bitmap; ATS with a DevTLB; "
		    "uffd, of a virtual machine's device: it does not, its access faults in the "
		    "kernel, and there is no page request"},
	{"device", "devtlb_entries", OPTION_COUNT, DEVICE(config.devtlb.entries), 8, 65536, "64",
	 .meaning = "size of the DevTLB", .power_of_two = true, .needs = {{"lookup", "ats"}}},
	{"device", "devtlb_ways", OPTION_COUNT, DEVICE(config.devtlb.ways), 1, TLB_WAYS_MAX, "8",
	 .meaning = "entries in a set of the DevTLB; as many as devtlb_entries: fully associative",
	 .power_of_two = true, .needs = {{"lookup", "ats"}}},
	{"device", "devtlb_policy", OPTION_CHOICE, DEVICE(config.devtlb.policy), .otherwise = "lru",
	 .choices = policies,
	 .meaning = "which entry of a set makes way: least recently used, least often hit, drawn, "
		    "oldest",
	 .needs = {{"lookup", "ats"}}},
	{"device", "lookup_delay", OPTION_TIME, DEVICE(config.lookup_delay_ns), 0, 10e6, "0",
	 .meaning = "busy-waited at every lookup: what slower memory or a link would add"},
	{"device", "response_timeout", OPTION_TIME, DEVICE(config.response_timeout_ns), 1e6, HOUR,
	 "1s", .meaning = "a page response that takes longer is given up, the request repeated"},
	{"device", "reenable_delay", OPTION_TIME, DEVICE(config.reenable_ns), 0, HOUR, "1ms",
	 .meaning = "a response FAILURE disables the device's page requests; the host enables them "
		    "again after this"},
	{"device", "pasid", OPTION_BOOL, DEVICE(config.pasid), .otherwise = "no",
	 .meaning = "addresses are user addresses under a PASID (model=accel)"},
};

const struct option_rows device_rows = {rows, sizeof(rows) / sizeof(rows[0])};
