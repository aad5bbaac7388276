// SPDX-License-Identifier: GPL-2.0
/* The table of all keys of a job file. Order within a section is the order of the help. */
#include <errno.h>
#include <string.h>

#include "injectors/job/job.h"
#include "injectors/job/result.h"
#include "lib/base/clock.h"
#include "lib/job/quantity.h"
#include "lib/translate/tlb.h"

#define FIELD(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define MACHINE(member)	    FIELD(struct job_machine, member)
#define TENANT(member)	    FIELD(struct job_tenant, member)
#define DEVICE(member)	    FIELD(struct job_device, member)
#define WORKLOAD(member)    FIELD(struct job_workload, member)
#define INJECT(member)	    FIELD(struct job_injection, member)

#define KIB  1024.0
#define MIB  (1024 * KIB)
#define GIB  (1024 * MIB)
#define HOUR (3600 * NSEC_PER_SEC)

static const struct option_choice schedulers[] = {
	{"serial", SCHEDULER_SERIAL}, {"affined", SCHEDULER_AFFINED}, {NULL, 0}};
static const struct option_choice evictions[] = {
	{"minor", EVICT_MINOR}, {"major", EVICT_MAJOR}, {NULL, 0}};
static const struct option_choice backends[] = {
	{"pager", MEMORY_PAGER}, {"swap", MEMORY_SWAP}, {NULL, 0}};
static const struct option_choice models[] = {
	{"block", MODEL_BLOCK}, {"accel", MODEL_ACCEL}, {NULL, 0}};
static const struct option_choice page_sizes[] = {{"4K", false}, {"2M", true}, {NULL, 0}};
static const struct option_choice writes[] = {{"upgrade", false}, {"invalid", true}, {NULL, 0}};
static const struct option_choice lookups[] = {
	{"pa-bitmap", LOOKUP_PA_BITMAP}, {"ats", LOOKUP_ATS}, {NULL, 0}};
/* Not the oracle: a machine does not know its future. */
static const struct option_choice policies[] = {{"lru", REPLACE_LRU},
						{"lfu", REPLACE_LFU},
						{"random", REPLACE_RANDOM},
						{"fifo", REPLACE_FIFO},
						{NULL, 0}};
static const struct option_choice patterns[] = {{"sequential", PATTERN_SEQUENTIAL},
						{"random", PATTERN_RANDOM},
						{"zipf", PATTERN_ZIPF},
						{NULL, 0}};
static const struct option_choice injections[] = {{"evict", INJECTION_EVICT},
						  {"delay", INJECTION_DELAY},
						  {"cpu_hog", INJECTION_CPU_HOG},
						  {"response_lost", INJECTION_RESPONSE_LOST},
						  {"response_failure", INJECTION_RESPONSE_FAILURE},
						  {"overflow", INJECTION_OVERFLOW},
						  {"duplicate", INJECTION_DUPLICATE},
						  {NULL, 0}};
static const struct option_choice stages[] = {{"delivery", INJECT_DELIVERY},
					      {"dispatch", INJECT_DISPATCH},
					      {"resolve", INJECT_RESOLVE},
					      {"respond", INJECT_RESPOND},
					      {NULL, 0}};
static const struct option_choice distributions[] = {{"fixed", INJECT_FIXED},
						     {"uniform", INJECT_UNIFORM},
						     {"exponential", INJECT_EXPONENTIAL},
						     {NULL, 0}};
static const struct option_choice choices_of_pages[] = {
	{"next", EVICT_NEXT}, {"random", EVICT_RANDOM}, {"all", EVICT_ALL}, {NULL, 0}};
static const struct option_choice arrivals[] = {
	{"even", ARRIVAL_EVEN}, {"random", ARRIVAL_RANDOM}, {NULL, 0}};
static const struct option_choice loads[] = {{"spin", HOG_SPIN}, {"scan", HOG_SCAN}, {NULL, 0}};

static int parse_size(const struct option_row *row, char *word, struct workload_config *config)
{
	char *colon = strchr(word, ':');
	double size, weight = 1;

	if (colon) {
		*colon = '\0';
		if (quantity_parse(colon + 1, QUANTITY_COUNT, &weight) || weight < 1 ||
		    weight > 1e6)
			return -EINVAL;
	}
	if (config->size_count == WORKLOAD_SIZES || quantity_parse(word, QUANTITY_BYTES, &size))
		return -EINVAL;
	if (!option_in_range(row, size))
		return -ERANGE;
	config->sizes[config->size_count] = (__u64)size;
	config->size_weights[config->size_count++] = (__u32)weight;
	return 0;
}

static int parse_sizes(const struct option_row *row, const char *text, void *fields)
{
	struct workload_config *config = &((struct job_workload *)fields)->config;
	char copy[256], *word, *item, *rest = copy;
	int err = 0;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	config->size_count = 0;
	while (!err && (word = strsep(&rest, ","))) {
		__u32 before = config->size_count;

		/* Blanks may stand for commas and around them, but nothing may not stand for a size. */
		while (!err && (item = strsep(&word, " \t")))
			if (*item)
				err = parse_size(row, item, config);
		if (config->size_count == before)
			err = err ?: -EINVAL;
	}
	return err;
}

static const struct option_own own_sizes = {
	.name = "sizes",
	.beginning = "up to 8 sizes SIZE[:WEIGHT], each ",
	.bytes = true,
	.parse = parse_sizes,
};

/* Actions that have candidates. */
#define ARMED "evict,delay,response_lost,response_failure,overflow,duplicate"

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
		    "injected or reclaimed faults"},
	{"machine", "reclaim_percent", OPTION_COUNT, MACHINE(config.reclaim_percent), 0, 95, "0",
	 .meaning = "percent of each tenant's memory that a reclaimer keeps out"},
	{"machine", "reclaim_kind", OPTION_CHOICE, MACHINE(config.reclaim_kind),
	 .otherwise = "major", .choices = evictions,
	 .meaning = "what the reclaimer's pages come back from: a mapping (minor) or storage",
	 .needs = {{"reclaim_percent", NULL}}},
	{"machine", "reclaim_interval", OPTION_TIME, MACHINE(config.reclaim_interval_ns), 1e6, HOUR,
	 "100ms", .meaning = "time between two passes of the reclaimer",
	 .needs = {{"reclaim_percent", NULL}}},
	{"machine", "timeout", OPTION_TIME, MACHINE(timeout_ns), NSEC_PER_SEC, 24 * HOUR, "10m",
	 .meaning = "a run that lasts longer is stopped and has failed"},

	{"tenant", "count", OPTION_COUNT, TENANT(count), 1, MACHINE_TENANTS_MAX, "",
	 .meaning = "makes this many, called NAME0, NAME1, ...; without it one, called NAME"},
	{"tenant", "memory", OPTION_BYTES, TENANT(config.memory), 2 * MIB, 64 * GIB, "64M",
	 .meaning = "guest memory of each", .multiple = 2 * MIB},
	{"tenant", "backend", OPTION_CHOICE, TENANT(config.backend), .otherwise = "pager",
	 .choices = backends,
	 .meaning = "what pages the memory: a userfaultfd pager with a backing file, or the "
		    "kernel's own swap"},
	{"tenant", "cpus", OPTION_CPUS, TENANT(config.cpus), .otherwise = "",
	 .meaning = "CPUs of the tenant, such as 0-1,3; empty: all"},

	{"device", "model", OPTION_CHOICE, DEVICE(config.model), .otherwise = "block",
	 .choices = models,
	 .meaning = "block: reads and writes of a backing file; accel: a copy engine"},
	{"device", "tenant", OPTION_TEXT, DEVICE(tenant), .otherwise = "*",
	 .meaning = "tenants that get this device: a [tenant]'s name or a pattern such as vm*"},
	{"device", "count", OPTION_COUNT, DEVICE(count), 1, 64, "",
	 .meaning = "makes this many in each tenant, called NAME0, NAME1, ..."},
	{"device", "queues", OPTION_COUNT, DEVICE(config.queues), 1, 64, "1",
	 .meaning = "queues, each served by a thread of the device"},
	{"device", "queue_depth", OPTION_COUNT, DEVICE(config.queue_depth), 2, 1024, "64",
	 .meaning = "descriptors in each queue", .power_of_two = true},
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
	 .meaning = "how the device knows that a page is absent: VPRI's bitmap, or ATS with a "
		    "DevTLB"},
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
	{"device", "file", OPTION_TEXT, DEVICE(config.file), .otherwise = "",
	 .meaning = "backing file; empty: an unlinked one of file_bytes",
	 .needs = {{"model", "block"}}},
	{"device", "writable", OPTION_BOOL, DEVICE(config.file_writable), .otherwise = "no",
	 .meaning = "`file` may be written; a block device needs --yes-i-mean-it as well",
	 .needs = {{"model", "block"}, {"file", "*"}}},
	{"device", "file_bytes", OPTION_BYTES, DEVICE(config.file_bytes), 2 * MIB, 1024 * GIB,
	 "64M", .meaning = "size of the unlinked backing file", .multiple = 4 * KIB,
	 .needs = {{"model", "block"}, {"file", ""}}},
	{"device", "file_direct", OPTION_BOOL, DEVICE(config.file_direct), .otherwise = "no",
	 .meaning = "reads and writes the backing file with O_DIRECT",
	 .needs = {{"model", "block"}}},
	{"device", "medium_latency", OPTION_TIME, DEVICE(config.medium_latency_ns), 0, 1e8, "0",
	 .meaning = "what the medium takes for each I/O, one at a time in each queue",
	 .needs = {{"model", "block"}}},
	{"device", "medium_bandwidth", OPTION_BYTES, DEVICE(config.medium_bytes_per_s), 16 * MIB,
	 1024 * GIB, "", .meaning = "bytes per second of the medium, for each queue",
	 .needs = {{"model", "block"}}},

	{"workload", "device", OPTION_TEXT, WORKLOAD(device), .otherwise = "*",
	 .meaning = "devices that get this workload, each its own: a [device]'s name or a pattern "
		    "over TENANT/DEVICE"},
	{"workload", "read_percent", OPTION_COUNT, WORKLOAD(config.read_percent), 0, 100, "100",
	 .meaning = "percent of I/Os that read the disk, and so write memory",
	 .needs = {{"device.model", "block"}}},
	{"workload", "sizes", OPTION_OWN, WORKLOAD(config.sizes), 4 * KIB, 2 * MIB, "4K",
	 .own = &own_sizes, .meaning = "I/O sizes with optional weights, such as 4K:70, 64K:30",
	 .multiple = 4 * KIB},
	{"workload", "pattern", OPTION_CHOICE, WORKLOAD(config.pattern), .otherwise = "random",
	 .choices = patterns, .meaning = "order of buffers in memory and of blocks on disk"},
	{"workload", "zipf_theta", OPTION_REAL, WORKLOAD(config.zipf_theta), 0.01, 1.99, "0.9",
	 .meaning = "skew of the pattern; not 1", .needs = {{"pattern", "zipf"}}},
	{"workload", "depth", OPTION_COUNT, WORKLOAD(config.depth), 1, 1024, "1",
	 .meaning = "I/Os in flight per queue"},
	{"workload", "rate", OPTION_RATE, WORKLOAD(config.rate), 0, 1e7, "0",
	 .meaning = "I/Os per second over all queues; 0: as fast as possible"},
	{"workload", "duration", OPTION_TIME, WORKLOAD(config.duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "how long; 0: until count"},
	{"workload", "count", OPTION_COUNT, WORKLOAD(config.count), 0, 1e12, "0",
	 .meaning = "how many I/Os; 0: until duration"},
	{"workload", "buffer_bytes", OPTION_BYTES, WORKLOAD(config.buffer_bytes), 0, 64 * GIB, "0",
	 .meaning = "span of memory that data goes through; 0: half of the "
		    "device's share",
	 .multiple = 4 * KIB},
	{"workload", "verify", OPTION_BOOL, WORKLOAD(config.verify), .otherwise = "no",
	 .meaning = "checks the data of every read against what was written"},
	{"workload", "seed", OPTION_COUNT, WORKLOAD(config.seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed"},

	{"inject", "action", OPTION_CHOICE, INJECT(kind), .choices = injections,
	 .meaning = "what is done to the machine"},
	{"inject", "device", OPTION_TEXT, INJECT(device), .otherwise = "*",
	 .meaning = "devices it is done to, each on its own: a [device]'s name or a pattern over "
		    "TENANT/DEVICE",
	 .needs = {{"action", ARMED}}},
	{"inject", "enabled", OPTION_BOOL, INJECT(enabled), .otherwise = "yes",
	 .meaning = "no: the section is checked and left out, as for a baseline"},
	{"inject", "start", OPTION_TIME, INJECT(start_ns), 0, 24 * HOUR, "0",
	 .meaning = "begin, from the machine's start"},
	{"inject", "duration", OPTION_TIME, INJECT(duration_ns), 1e6, 24 * HOUR,
	 .meaning = "undone after this; or when the workloads are done, whichever is first"},
	{"inject", "probability", OPTION_COUNT, INJECT(probability), 1, 100, "100",
	 .meaning = "percent of candidates, as in the kernel's fault_attr",
	 .needs = {{"action", ARMED}}},
	{"inject", "interval", OPTION_COUNT, INJECT(interval), 1, 1e9, "1",
	 .meaning = "every Nth candidate only", .needs = {{"action", ARMED}}},
	{"inject", "times", OPTION_COUNT, INJECT(times), -1, 1e15, "-1",
	 .meaning = "at most so often, over all of its devices; -1: no limit",
	 .needs = {{"action", ARMED}}},
	{"inject", "seed", OPTION_COUNT, INJECT(seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed", .needs = {{"action", ARMED}}},
	{"inject", "stage", OPTION_CHOICE, INJECT(stage), .otherwise = "resolve", .choices = stages,
	 .meaning = "the stage of a fault that it lengthens", .needs = {{"action", "delay"}}},
	{"inject", "delay", OPTION_TIME, INJECT(delay_ns), 0, HOUR, "0",
	 .meaning = "fixed value, uniform's lower bound, exponential's mean",
	 .needs = {{"action", "delay"}}},
	{"inject", "delay_max", OPTION_TIME, INJECT(delay_max_ns), 0, HOUR, "0",
	 .meaning = "uniform's upper bound",
	 .needs = {{"action", "delay"}, {"distribution", "uniform"}}},
	{"inject", "distribution", OPTION_CHOICE, INJECT(distribution), .otherwise = "fixed",
	 .choices = distributions, .meaning = "how it varies", .needs = {{"action", "delay"}}},
	{"inject", "what", OPTION_CHOICE, INJECT(what), .otherwise = "next",
	 .choices = choices_of_pages,
	 .meaning = "those that the next I/Os will touch, random ones of the workload, or all "
		    "of the tenant",
	 .needs = {{"action", "evict"}}},
	{"inject", "kind", OPTION_CHOICE, INJECT(evict), .otherwise = "minor", .choices = evictions,
	 .meaning = "the frame is kept (minor) or its content written out (major)",
	 .needs = {{"action", "evict"}}},
	{"inject", "pages", OPTION_COUNT, INJECT(pages), 1, 1e6, "1", .meaning = "pages each time",
	 .needs = {{"action", "evict"}, {"what", "next,random"}}},
	{"inject", "rate", OPTION_RATE, INJECT(rate), 0, 1e5, "1/s",
	 .meaning = "events per second for each device; 0: none", .needs = {{"action", "evict"}}},
	{"inject", "burst", OPTION_COUNT, INJECT(burst), 1, 1000, "1",
	 .meaning = "evictions at each event, back to back", .needs = {{"action", "evict"}}},
	{"inject", "arrival", OPTION_CHOICE, INJECT(arrival), .otherwise = "even",
	 .choices = arrivals,
	 .meaning = "at equal distances and at once for all devices, or each at random",
	 .needs = {{"action", "evict"}}},
	{"inject", "threads", OPTION_COUNT, INJECT(threads), 1, 256, "1",
	 .meaning = "threads on each CPU", .needs = {{"action", "cpu_hog"}}},
	{"inject", "load", OPTION_CHOICE, INJECT(load), .otherwise = "spin", .choices = loads,
	 .meaning = "arithmetic only, or a scan of memory as a compressor does it",
	 .needs = {{"action", "cpu_hog"}}},
	{"inject", "cpus", OPTION_CPUS, INJECT(cpus), .otherwise = "",
	 .meaning = "where; empty: the CPUs of the tenants, where handlers run",
	 .needs = {{"action", "cpu_hog"}}},
};

static const struct option_section sections[] = {
	{"machine", "The host: its fault service and reclaimer.", false},
	{"tenant", "A virtual machine: memory and CPUs.", true},
	{"device", "A device in every tenant that its pattern names.", true},
	{"workload", "I/O on every device that its pattern names.", true},
	{"inject", "One thing that goes wrong, for a while.", true},
	{"slo",
	 "An objective for `faultline slo -c JOB.ini` over a recording of the run; its keys are in "
	 "docs/analysis.md.",
	 true},
	{"sweep",
	 "NAME = SECTION.KEY: V1, V2 ... runs every combination; baseline = SECTION.KEY=VALUE, ... "
	 "runs first.",
	 false},
	{"expect", "NAME = EXPRESSION over results; the run fails if one is false.", false},
	{"short", "SECTION.KEY = VALUE: what `run --short` replaces.", false},
};

const struct option_table job_options = {
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
	.sections = sections,
	.section_count = sizeof(sections) / sizeof(sections[0]),
	.columns = &job_columns,
	.help = "`faultline-inject help`",
};
