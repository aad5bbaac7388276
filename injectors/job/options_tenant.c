// SPDX-License-Identifier: GPL-2.0
/* The keys of [tenant]. */
#include "injectors/emu/verbs/verbs_layout.h"
#include "injectors/job/options_private.h"

#define TENANT(member) FIELD(struct job_tenant, member)

static const struct option_choice backends[] = {
	{"pager", MEMORY_PAGER}, {"swap", MEMORY_SWAP}, {"vm", MEMORY_VM}, {NULL, 0}};

static const struct option_choice rights[] = {
	{"all", VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ},
	{"remote_read", VERBS_LOCAL_WRITE | VERBS_REMOTE_READ},
	{"remote_write", VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE},
	{"local", VERBS_LOCAL_WRITE},
	{NULL, 0}};

static const struct option_choice processes[] = {{"machine", false}, {"own", true}, {NULL, 0}};

/* The field says the contrary. */
static const struct option_choice protections[] = {{"yes", false}, {"no", true}, {NULL, 0}};

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
		    "kernel's own swap; vm: that pager under a stock virtual machine of QEMU's, "
		    "whose guest drives the devices"},
	{"tenant", "qemu", OPTION_TEXT, TENANT(config.vm.arguments), .otherwise = "",
	 .meaning =
		 "arguments of qemu-system-x86_64, or another program's name and its arguments, words "
		 "as of a shell, without one: the machine is started and ended with the run, its "
		 "console captured. Memory and devices are added. Empty: somebody else starts it, with "
		 "the line of `faultline-inject vm --print-arguments`",
	 .needs = {{"backend", "vm"}}},
	{"tenant", "socket", OPTION_TEXT, TENANT(config.vm.socket), .otherwise = "",
	 .meaning = "path at which the virtual machine's memory is handed over; empty: one that "
		    "lasts as long as the run",
	 .needs = {{"backend", "vm"}}},
	{"tenant", "duration", OPTION_TIME, TENANT(config.vm.duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "the virtual machine is ended after this; 0: when its guest powers it off",
	 .needs = {{"backend", "vm"}}},
	{"tenant", "plug", OPTION_BYTES, TENANT(config.vm.plug_bytes), 0, 64 * GIB, "0",
	 .meaning =
		 "memory that is plugged into the virtual machine as it runs, beside memory=; its "
		 "guest's kernel needs memhp_default_state=online, or puts it to use itself",
	 .needs = {{"backend", "vm"}}, .multiple = 128 * MIB},
	{"tenant", "plug_at", OPTION_TIME, TENANT(config.vm.plug_at_ns), 0, 24 * HOUR, "0",
	 .meaning = "when that is, from its start; 0: as soon as QEMU takes commands",
	 .needs = {{"backend", "vm"}, {"qemu", "*"}, {"plug", NULL}}},
	{"tenant", "viommu", OPTION_BOOL, TENANT(config.vm.iommu), .otherwise = "no",
	 .meaning = "its devices sit behind QEMU's intel-iommu and translate by ATS; the guest's "
		    "kernel needs intel_iommu=on",
	 .needs = {{"backend", "vm"}}},
	{"tenant", "write_protect", OPTION_CHOICE, TENANT(config.unprotected), .otherwise = "yes",
	 .choices = protections,
	 .meaning = "a page is protected from the virtual machine's writes while it is evicted; "
		    "no: what is written meanwhile is lost, a control that breaks the guest",
	 .needs = {{"backend", "vm"}}},
	{"tenant", "quota_pinned", OPTION_BYTES, TENANT(config.quota.pinned_bytes), 0, 64 * GIB,
	 "0",
	 .meaning = "bytes that its guests may have registered at RDMA devices with mode=hybrid or "
		    "odp, whole pages, and most of a device with mode=passthrough; more is refused "
		    "(ENOMEM); 0: no limit"},
	{"tenant", "quota_regions", OPTION_COUNT, TENANT(config.quota.regions), 0,
	 VERBS_REGIONS_MAX, "0", .meaning = "memory regions likewise (ENOSPC)"},
	{"tenant", "quota_queue_pairs", OPTION_COUNT, TENANT(config.quota.queue_pairs), 0,
	 VERBS_QUEUE_PAIRS_MAX, "0", .meaning = "queue pairs likewise"},
	{"tenant", "quota_completion_queues", OPTION_COUNT, TENANT(config.quota.completion_queues),
	 0, VERBS_QUEUES_MAX, "0", .meaning = "completion queues likewise"},
	{"tenant", "quota_rights", OPTION_CHOICE, TENANT(config.quota.rights), .otherwise = "all",
	 .choices = rights,
	 .meaning = "what a region of theirs may be registered for: all; local writes and remote "
		    "reads, or remote writes, of the two; local writes. More is refused (EPERM)"},
	{"tenant", "process", OPTION_CHOICE, TENANT(own_process), .otherwise = "machine",
	 .choices = processes,
	 .meaning =
		 "where what a tenant's guest runs is: in the machine's process, or in one of its own "
		 "that has the tenant's memory mapped, and RDMA devices with mode=hybrid, "
		 "passthrough or odp; its end is the tenant's alone"},
	{"tenant", "program", OPTION_TEXT, TENANT(config.program), .otherwise = "",
	 .meaning =
		 "the command line, without a shell, that this process runs, with the verbs library "
		 "preloaded; of all tenants in one network namespace, where lo is up, each begun "
		 "after that of the tenant before. The run is over when all have ended, and has "
		 "failed if one has",
	 .needs = {{"process", "own"}}},
	{"tenant", "program_ready", OPTION_TEXT, TENANT(config.program_ready), .otherwise = "",
	 .meaning = "the port at which it listens once the next one may begin, such as tcp:18515; "
		    "empty: that begins at once",
	 .needs = {{"process", "own"}, {"program", "*"}}},
	{"tenant", "cpus", OPTION_CPUS, TENANT(config.cpus), .otherwise = "",
	 .meaning = "CPUs of the tenant, such as 0-1,3; empty: all"},
};

const struct option_rows tenant_rows = {rows, sizeof(rows) / sizeof(rows[0])};
