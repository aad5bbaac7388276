// SPDX-License-Identifier: GPL-2.0
/* The keys of [verbs]. */
#include "injectors/emu/verbs/verbs_layout.h"
#include "injectors/job/options_private.h"

#define VERBS(member) FIELD(struct job_verbs, member)

static const struct option_choice tests[] = {
#define LOAD_TEST(name, moves) {#name, LOAD_##name},
#include "injectors/emu/verbs_load/verbs_load_tests.def"
#undef LOAD_TEST
	{NULL, 0}};
static const struct option_choice memories[] = {{"mode", LOAD_MEMORY_MODE},
						{"pin", LOAD_MEMORY_PIN},
						{"demand", LOAD_MEMORY_DEMAND},
						{NULL, 0}};

static const struct option_row rows[] = {
	{"verbs", "device", OPTION_TEXT, VERBS(device), .otherwise = "*",
	 .meaning = "devices that such a program runs on: a [device]'s name or a pattern over "
		    "TENANT/DEVICE; a device's peer is what it talks to"},
	{"verbs", "test", OPTION_CHOICE, VERBS(config.test), .otherwise = "read_latency",
	 .choices = tests,
	 .meaning =
		 "create_qp: a queue pair is created and destroyed; register: a region is, and "
		 "deregistered; read_latency: one read after the other; write_bandwidth: "
		 "outstanding writes; send: a message and its answer; kv: a read of a random key's "
		 "value; pressure: outstanding reads from anywhere in working_set, which begin with "
		 "machine.reclaim_percent out"},
	{"verbs", "memory", OPTION_CHOICE, VERBS(config.memory), .otherwise = "mode",
	 .choices = memories,
	 .meaning = "how its data's memory is registered: pin; demand: the device faults; mode: on "
		    "demand with the device's mode=odp, else pin"},
	{"verbs", "size", OPTION_BYTES, VERBS(config.size), 1, 1 * GIB, "4K",
	 .meaning = "of a transfer, of a value, or of the region that is registered"},
	{"verbs", "entries", OPTION_COUNT, VERBS(config.entries), 1, VERBS_DEPTH_MAX, "128",
	 .meaning = "work requests that each queue of the queue pair has room for: a power of two",
	 .needs = {{"test", "create_qp"}}},
	{"verbs", "outstanding", OPTION_COUNT, VERBS(config.outstanding), 1, LOAD_OUTSTANDING_MAX,
	 "10", .meaning = "transfers under way", .needs = {{"test", "write_bandwidth,pressure"}}},
	{"verbs", "events", OPTION_BOOL, VERBS(config.events), .otherwise = "no",
	 .meaning =
		 "arms its completion queue and waits for the event at a completion channel, once "
		 "it has polled all; else it only polls"},
	{"verbs", "no_syscalls", OPTION_BOOL, VERBS(config.no_syscalls), .otherwise = "no",
	 .meaning = "the kernel ends (seccomp) what polls at its first system call, which then is "
		    "in stopped_calls and errors"},
	{"verbs", "cpus", OPTION_CPUS, VERBS(config.cpus), .otherwise = "",
	 .meaning = "CPUs of its clients' threads; empty: all"},
	{"verbs", "keys", OPTION_COUNT, VERBS(config.keys), 1, 1e7, "10000",
	 .meaning = "of the store, each with a value of size", .needs = {{"test", "kv"}}},
	{"verbs", "clients", OPTION_COUNT, VERBS(config.clients), 1, LOAD_CLIENTS_MAX, "1",
	 .meaning = "that read from it, each with its own queue pair", .needs = {{"test", "kv"}}},
	{"verbs", "working_set", OPTION_BYTES, VERBS(config.working_set), 4 * KIB, 16 * GIB, "8M",
	 .meaning = "memory that is read at the peer, and as much that it is read into",
	 .multiple = 4 * KIB, .needs = {{"test", "pressure"}}},
	{"verbs", "piece", OPTION_BYTES, VERBS(config.piece), 4 * KIB, 1 * GIB, "1M",
	 .meaning = "of it in one region; regions that are refused are left out",
	 .multiple = 4 * KIB, .needs = {{"test", "pressure"}}},
	{"verbs", "slo", OPTION_TIME, VERBS(config.slo_ns), 0, 1e10, "10us",
	 .meaning = "what operations are to take at most, for over_slo"},
	{"verbs", "duration", OPTION_TIME, VERBS(config.duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "how long; 0: until operations; both: until either"},
	{"verbs", "operations", OPTION_COUNT, VERBS(config.operations), 0, 1e12, "0",
	 .meaning = "how many of each client; 0: until duration"},
	{"verbs", "verify", OPTION_BOOL, VERBS(config.verify), .otherwise = "no",
	 .meaning = "checks every byte that arrives"},
	{"verbs", "seed", OPTION_COUNT, VERBS(config.seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed"},
};

const struct option_rows verbs_rows = {rows, sizeof(rows) / sizeof(rows[0])};
