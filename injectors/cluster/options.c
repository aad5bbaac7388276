// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/options.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/results.h"
#include "lib/base/clock.h"
#include "lib/fabric/cost.h"

#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))
#define OF(type, member) offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define CLUSTER(member)	 OF(cluster_keys, member)
#define HOST(member)	 OF(host_keys, member)
#define NODE(member)	 OF(node_keys, member)
#define LINK(member)	 OF(link_keys, member)
#define BORROW(member)	 OF(borrow_keys, member)
#define VM(member)	 OF(vm_keys, member)
#define CLIENT(member)	 OF(client_keys, member)
#define MANAGER(member)	 OF(manager_keys, member)
#define TARGET(member)	 OF(target_keys, member)
#define INJECT(member)	 OF(cluster_inject_keys, member)

#define MIB		1048576.0
#define GIB		(1024 * MIB)
#define HOST_MEMORY_MAX (3ull << 30)
#define HOUR		(3600 * NSEC_PER_SEC)
#define PAGE		4096.0
#define HUGE_PAGE	(2 * MIB)

static const struct option_choice cluster_models[] = {
	{"nvme", MODEL_NVME}, {"accel", MODEL_ACCEL}, {NULL, 0}};
static const struct option_choice hints[] = {{"cpu_reads", HINT_CPU_READS},
					     {"device_reads", HINT_DEVICE_READS},
					     {"peer", HINT_PEER},
					     {NULL, 0}};
static const struct option_choice cluster_kinds[] = {
	{"link_down", CLUSTER_LINK_DOWN},
	{"link_flap", CLUSTER_LINK_FLAP},
	{"window_full", CLUSTER_WINDOW_FULL},
	{"requesters_full", CLUSTER_REQUESTERS_FULL},
	{"rogue_dma", CLUSTER_ROGUE_DMA},
	{"unmap_in_flight", CLUSTER_UNMAP_IN_FLIGHT},
	{"revoke", CLUSTER_REVOKE},
	{"host_kill", CLUSTER_HOST_KILL},
	{"irq_late", CLUSTER_IRQ_LATE},
	{"irq_lost", CLUSTER_IRQ_LOST},
	{"noisy_client", CLUSTER_NOISY_CLIENT},
	{NULL, 0},
};

/* Of every section that can be made several of. */
#define COUNT_ROW(section, field)                                                               \
	{                                                                                       \
		section, "count", OPTION_COUNT, field, 0, 160, "0",                             \
			.meaning = "so many, called NAME0, NAME1 ...; % in the others' values " \
				   "is the number; 0: one, called NAME"                         \
	}

/* Of every section that asks for I/Os. */
#define ROW(...)            \
	{                   \
		__VA_ARGS__ \
	}
#define IO_ROWS(section, OF_IO)                                                                          \
	ROW(section, "ios", OPTION_COUNT, OF_IO(io.config.ios), 0, 1e12, "0",                            \
	    .meaning = "how many; 0: until the run ends"),                                               \
		ROW(section, "depth", OPTION_COUNT, OF_IO(io.config.depth), 1, 255, "1",                 \
		    .meaning = "of them under way at a time at most"),                                   \
		ROW(section, "block", OPTION_BYTES, OF_IO(io.config.block), 512, MIB, "4K",              \
		    .multiple = 512, .meaning = "bytes of one"),                                         \
		ROW(section, "write", OPTION_COUNT, OF_IO(io.config.write_percent), 0, 100, "50",        \
		    .meaning = "percent that write; others read"),                                       \
		ROW(section, "sequential", OPTION_BOOL, OF_IO(io.config.sequential),                     \
		    .otherwise = "no", .meaning = "one block after another; else at random"),            \
		ROW(section, "rate", OPTION_RATE, OF_IO(io.rate), 0, 1e9, "0",                           \
		    .meaning = "I/Os a second; 0: as fast as it goes"),                                  \
		ROW(section, "verify", OPTION_BOOL, OF_IO(io.config.verify), .otherwise = "yes",         \
		    .meaning =                                                                           \
			    "what is read must be what this user has written, or the disk's beginning"), \
		ROW(section, "region_start", OPTION_BYTES, OF_IO(io.config.region_start), 0,             \
		    0x1p46, "0", .multiple = 512, .meaning = "where on the disk it works",               \
		    .needs = {{"region", NULL}}),                                                        \
		ROW(section, "region", OPTION_BYTES, OF_IO(io.config.region_bytes), 0, 0x1p46,           \
		    "0", .multiple = 512,                                                                \
		    .meaning = "bytes from there on; 0: a share of its own"),                            \
		ROW(section, "group", OPTION_TEXT, OF_IO(io.group), .otherwise = "",                     \
		    .meaning = "results are told of all of a group together; empty: its NAME, "          \
			       "without the number that count= has added")

static const struct option_row cluster_rows[] = {
	{"cluster", "name", OPTION_TEXT, CLUSTER(name), .otherwise = "cluster",
	 .meaning = "how the plan of --dry-run calls it"},
	{"cluster", "timeout", OPTION_TIME, CLUSTER(timeout_ns), 1e6, 24 * HOUR, "60s",
	 .meaning = "a run that takes longer has failed"},
	{"cluster", "dead", OPTION_TIME, CLUSTER(dead_ns), 1e6, HOUR, "2s",
	 .meaning = "who does not answer for so long is taken for dead"},
	{"cluster", "duration", OPTION_TIME, CLUSTER(duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "the run ends then at the latest; 0: when all users with ios= are done"},
	{"cluster", "seed", OPTION_COUNT, CLUSTER(seed), 0, 9e15, "1",
	 .meaning = "of every random choice that has no seed of its own; --seed sets it"},
	{"cluster", "directory", OPTION_TEXT, CLUSTER(directory), .otherwise = "",
	 .meaning = "where files of disks lie; empty: in memory"},
};
static const struct option_row host_own_rows[] = {
	{"host", "memory", OPTION_BYTES, HOST(memory), HUGE_PAGE, HOST_MEMORY_MAX, "64M",
	 .multiple = HUGE_PAGE, .meaning = "RAM, from bus address 0 on"},
	{"host", "cpus", OPTION_CPUS, HOST(cpus), .otherwise = "",
	 .meaning = "that its processes run on; empty: all"},
	COUNT_ROW("host", HOST(count)),
};
static const struct option_row switch_own_rows[] = {COUNT_ROW("switch", NODE(count))};
static const struct option_row adapter_own_rows[] = {COUNT_ROW("adapter", NODE(count))};
static const struct option_row link_own_rows[] = {COUNT_ROW("link", LINK(count))};
static const struct option_row device_own_rows[] = {
	{"device", "model", OPTION_CHOICE, NODE(model), .otherwise = "nvme",
	 .choices = cluster_models,
	 .meaning =
		 "nvme: a controller with a disk; accel: memory in a BAR and an engine that copies"},
	{"device", "size", OPTION_BYTES, NODE(bytes), MIB, 64 * GIB, "16M", .multiple = PAGE,
	 .meaning = "of its disk, or its memory"},
	{"device", "queue_pairs", OPTION_COUNT, NODE(queue_pairs), 1, 64, "31",
	 .meaning = "of a controller, without the admin pair", .needs = {{"model", "nvme"}}},
	{"device", "functions", OPTION_COUNT, NODE(functions), 1, 8, "1",
	 .meaning = "that share its disk, each lent by itself", .needs = {{"model", "nvme"}}},
	{"device", "address_bits", OPTION_COUNT, NODE(address_bits), 32, 64, "64",
	 .meaning = "of the DMA addresses that it can make"},
	{"device", "intx", OPTION_BOOL, NODE(intx), .otherwise = "no",
	 .meaning = "it has a legacy interrupt only, which no bridge carries",
	 .needs = {{"model", "nvme"}}},
	COUNT_ROW("device", NODE(count)),
};
static const struct option_row user_rows[] = {
	{"borrow", "host", OPTION_TEXT, BORROW(host), 1, .otherwise = NULL,
	 .meaning = "[host] whose driver uses it; the device's own: local use"},
	{"borrow", "device", OPTION_TEXT, BORROW(device), 1, .otherwise = NULL,
	 .meaning = "[device]"},
	{"borrow", "function", OPTION_COUNT, BORROW(config.function), 0, 7, "0",
	 .meaning = "of it"},
	{"borrow", "adapters", OPTION_TEXT, BORROW(adapters), .otherwise = "",
	 .meaning = "\"A B\": of the borrower and of the lender; empty: the shortest way's"},
	{"borrow", "window", OPTION_BYTES, BORROW(config.window), PAGE, 64 * GIB, "4M",
	 .multiple = PAGE, .meaning = "of its DMA, which the lender maps once"},
	{"borrow", "at", OPTION_TIME, BORROW(config.at_ns), 0, 24 * HOUR, "0",
	 .meaning = "it borrows so long after the run's begin"},
	{"borrow", "for", OPTION_TIME, BORROW(config.for_ns), 0, 24 * HOUR, "0",
	 .meaning = "and returns it after this; 0: when its I/Os are done, or the run is"},
	{"borrow", "retry", OPTION_TIME, BORROW(config.retry_ns), 0, HOUR, "0",
	 .meaning = "refused or taken back, it asks again after this; 0: never"},
	{"borrow", "peer", OPTION_TEXT, BORROW(peer), .otherwise = "",
	 .meaning = "accel: [device] whose memory it copies to; empty: its host's RAM"},
	{"borrow", "bounce", OPTION_BOOL, BORROW(config.peer_bounce), .otherwise = "no",
	 .meaning = "through the borrower's RAM", .needs = {{"peer", "*"}}},
	COUNT_ROW("borrow", BORROW(count)),
	IO_ROWS("borrow", BORROW),

	{"vm", "host", OPTION_TEXT, VM(host), 1, .otherwise = NULL, .meaning = "[host] it runs on"},
	{"vm", "device", OPTION_TEXT, VM(device), 1, .otherwise = NULL,
	 .meaning = "[device] that is passed through to it"},
	{"vm", "function", OPTION_COUNT, VM(config.function), 0, 7, "0", .meaning = "of it"},
	{"vm", "low", OPTION_BYTES, VM(config.low), HUGE_PAGE, 2 * GIB, "8M", .multiple = PAGE,
	 .meaning = "guest memory from address 0 on"},
	{"vm", "high", OPTION_BYTES, VM(config.high), 0, 2 * GIB, "8M", .multiple = PAGE,
	 .meaning = "and from 4 GiB on"},
	{"vm", "added", OPTION_BYTES, VM(config.added), 0, GIB, "0", .multiple = PAGE,
	 .meaning = "plugged in later, which nobody maps"},
	{"vm", "added_at", OPTION_TIME, VM(config.added_ns), 0, 24 * HOUR, "0",
	 .meaning = "so long after its boot", .needs = {{"added", NULL}}},
	{"vm", "intx", OPTION_BOOL, VM(config.intx), .otherwise = "no",
	 .meaning = "its driver takes the legacy interrupt"},
	{"vm", "bus_master", OPTION_TIME, VM(config.bus_master_ns), 0, HOUR, "0",
	 .meaning = "the guest sets Bus Master so long after its boot"},
	COUNT_ROW("vm", VM(count)),
	IO_ROWS("vm", VM),

	{"client", "host", OPTION_TEXT, CLIENT(host), 1, .otherwise = NULL,
	 .meaning = "[host] its process runs on"},
	{"client", "device", OPTION_TEXT, CLIENT(device), 1, .otherwise = NULL,
	 .meaning = "[device] that it shares: one with a [manager]"},
	{"client", "queue", OPTION_CHOICE, CLIENT(config.queue_hint), .otherwise = "cpu_reads",
	 .choices = hints,
	 .meaning = "where its submission queue lies: in its own host's RAM, in the lender's, or "
		    "in a peer's memory"},
	{"client", "queue_peer", OPTION_TEXT, CLIENT(queue_peer), .otherwise = "",
	 .meaning = "[device] that is this peer", .needs = {{"queue", "peer"}}},
	{"client", "adapters", OPTION_TEXT, CLIENT(adapters), .otherwise = "",
	 .meaning = "of its host: \"PRIMARY\" or \"PRIMARY BACKUP\"; empty: the shortest way's, "
		    "no backup"},
	{"client", "io_timeout", OPTION_TIME, CLIENT(config.io_timeout_ns), 1e6, HOUR, "500ms",
	 .meaning = "a command that takes longer makes it look after its path"},
	{"client", "multicast_identify", OPTION_BOOL, CLIENT(config.multicast_identify),
	 .otherwise = "no",
	 .meaning = "before its I/Os it asks for one Identify, to all hosts at once"},
	COUNT_ROW("client", CLIENT(count)),
	IO_ROWS("client", CLIENT),

	{"manager", "host", OPTION_TEXT, MANAGER(host), 1, .otherwise = NULL,
	 .meaning = "[host] it runs on"},
	{"manager", "device", OPTION_TEXT, MANAGER(device), 1, .otherwise = NULL,
	 .meaning = "[device] that it shares out"},

	{"target", "host", OPTION_TEXT, TARGET(host), 1, .otherwise = NULL,
	 .meaning = "[host] it runs on: the device's"},
	{"target", "device", OPTION_TEXT, TARGET(device), 1, .otherwise = NULL,
	 .meaning = "[device] that it mediates"},
	{"target", "initiator", OPTION_TEXT, TARGET(initiator), 1, .otherwise = NULL,
	 .meaning = "[host] whose process asks for the I/Os"},
	{"target", "stage", OPTION_TIME, TARGET(stage_ns), 0, 1e9, "500ns",
	 .meaning = "model: what each of the five stages of its software takes an I/O"},
	IO_ROWS("target", TARGET),

	{"inject", "action", OPTION_CHOICE, INJECT(config.kind), .choices = cluster_kinds,
	 .meaning = "what is done to the cluster"},
	{"inject", "enabled", OPTION_BOOL, INJECT(enabled), .otherwise = "yes",
	 .meaning = "no: the section is checked and left out, as for a baseline"},
	{"inject", "at", OPTION_TIME, INJECT(config.at_ns), 0, 24 * HOUR, "0",
	 .meaning = "begin, from the run's; of host_kill without step="},
	{"inject", "for", OPTION_TIME, INJECT(config.for_ns), 0, 24 * HOUR, "0",
	 .meaning = "undone after this; 0: when the run ends"},
	{"inject", "host", OPTION_TEXT, INJECT(host), .otherwise = "",
	 .meaning = "[host]: whose process is killed", .needs = {{"action", "host_kill"}}},
	{"inject", "adapter", OPTION_TEXT, INJECT(adapter), .otherwise = "",
	 .meaning = "[adapter]: whose cable, or whose tables; empty: of all",
	 .needs = {{"action", "link_down,link_flap,window_full,requesters_full"}}},
	{"inject", "device", OPTION_TEXT, INJECT(device), .otherwise = "",
	 .meaning = "[device]; empty: all",
	 .needs = {{"action", "rogue_dma,unmap_in_flight,revoke,irq_late,irq_lost"}}},
	{"inject", "user", OPTION_TEXT, INJECT(user), .otherwise = "",
	 .meaning = "[client], [vm] or [target]: whose process is killed, or is noisy; empty: "
		    "the host's, or all",
	 .needs = {{"action", "host_kill,noisy_client"}}},
	{"inject", "wipe", OPTION_BOOL, INJECT(config.wipe), .otherwise = "no",
	 .meaning = "the adapters' tables are gone when the link is back",
	 .needs = {{"action", "link_flap"}}},
	{"inject", "delay", OPTION_TIME, INJECT(config.delay_ns), 0, HOUR, "1ms",
	 .meaning = "of an interrupt", .needs = {{"action", "irq_late"}}},
	{"inject", "probability", OPTION_COUNT, INJECT(config.probability), 1, 100, "100",
	 .meaning = "percent of candidates",
	 .needs = {{"action", "rogue_dma,unmap_in_flight,irq_late,irq_lost,noisy_client"}}},
	{"inject", "step", OPTION_TEXT, INJECT(step), .otherwise = "",
	 .meaning = "it is killed when it comes to this step (docs/smartio.md) first",
	 .needs = {{"action", "host_kill"}}},
	{"inject", "restart", OPTION_BOOL, INJECT(config.restart), .otherwise = "no",
	 .meaning = "begun anew after `for`", .needs = {{"action", "host_kill"}}},
	{"inject", "seed", OPTION_COUNT, INJECT(config.seed), 0, 9e15, "0",
	 .meaning = "0: from the cluster's seed"},
};

static const struct option_section cluster_sections[] = {
	{"cluster", "All of it.", false},
	{"host", "A machine: a process, its RAM, its IOMMU, its root complex.", true},
	{"switch", "Transparent, under a host; or between hosts.", true},
	{"adapter", "A non-transparent bridge.", true},
	{"device", "What is lent.", true},
	{"link", "A cable.", true},
	{"fabric", "What transactions take, as a model.", false},
	{"borrow", "Device Lending to a host, and its stock driver.", true},
	{"vm", "A guest with a device passed through.", true},
	{"client", "A process that shares a controller, with a queue pair of its own.", true},
	{"manager", "Who shares a controller out.", true},
	{"target", "The baseline: a process that mediates, as NVMe-oF does.", true},
	{"inject", "What is done to it while it runs.", true},
	{"sweep", "NAME = SECTION.KEY: V1, V2 ... runs every combination.", false},
	{"expect", "NAME = EXPRESSION over results; the run fails if one is false.", false},
	{"slo", "Objectives, which `faultline slo` checks.", false},
	{"short", "SECTION.KEY = VALUE: what --short replaces.", false},
};

static const struct {
	const char *type;
	size_t size;
	const struct option_row *rows; /* behind those of lib/fabric */
	size_t count;
} section_keys[] = {
	{"cluster", sizeof(struct cluster_keys), cluster_rows, COUNT(cluster_rows)},
	{"host", sizeof(struct host_keys), host_own_rows, COUNT(host_own_rows)},
	{"switch", sizeof(struct node_keys), switch_own_rows, COUNT(switch_own_rows)},
	{"adapter", sizeof(struct node_keys), adapter_own_rows, COUNT(adapter_own_rows)},
	{"device", sizeof(struct node_keys), device_own_rows, COUNT(device_own_rows)},
	{"link", sizeof(struct link_keys), link_own_rows, COUNT(link_own_rows)},
	{"fabric", sizeof(struct fabric_costs), NULL, 0},
	{"borrow", sizeof(struct borrow_keys), user_rows, COUNT(user_rows)},
	{"vm", sizeof(struct vm_keys), NULL, 0},
	{"client", sizeof(struct client_keys), NULL, 0},
	{"manager", sizeof(struct manager_keys), NULL, 0},
	{"target", sizeof(struct target_keys), NULL, 0},
	{"inject", sizeof(struct cluster_inject_keys), NULL, 0},
};

size_t cluster_section_size(const char *type)
{
	for (size_t i = 0; i < COUNT(section_keys); i++)
		if (!strcmp(section_keys[i].type, type))
			return section_keys[i].size;
	return 0;
}

static struct option_row rows[FABRIC_ROWS + COUNT(cluster_rows) + COUNT(host_own_rows) + 3 +
			      COUNT(device_own_rows) + COUNT(user_rows)];
static struct option_table table = {
	.rows = rows,
	.sections = cluster_sections,
	.section_count = COUNT(cluster_sections),
	.columns = &cluster_columns,
	.help = "`faultline-inject help --hosts`",
};

static void cluster_rows_add(const struct option_row *from, size_t count)
{
	if (count > COUNT(rows) - table.row_count)
		abort();
	if (count)
		memcpy(&rows[table.row_count], from, count * sizeof(*from));
	table.row_count += count;
}

static void cluster_rows_join(void)
{
	for (size_t i = 0; i < COUNT(section_keys); i++) {
		size_t count = 0;
		const struct option_row *fabric = fabric_rows(section_keys[i].type, &count);

		cluster_rows_add(fabric, fabric ? count : 0);
		cluster_rows_add(section_keys[i].rows, section_keys[i].count);
	}
}

const struct option_table *cluster_options(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, cluster_rows_join);
	return &table;
}
