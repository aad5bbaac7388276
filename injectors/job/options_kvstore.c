// SPDX-License-Identifier: GPL-2.0
/* The keys of [kvstore]. */
#include "injectors/job/options_private.h"

#define KVSTORE(member) FIELD(struct job_kvstore, member)

static const struct option_choice memories[] = {{"demand", false}, {"pin", true}, {NULL, 0}};

_Static_assert(KVSTORE_HEADER == 264 && KVSTORE_PORT == 11211, "as the help says");

static const struct option_row rows[] = {
	{"kvstore", "device", OPTION_TEXT, KVSTORE(device), .otherwise = "*",
	 .meaning = "NICs behind which there is such a store, each its own: a [device]'s name or a "
		    "pattern over TENANT/DEVICE"},
	{"kvstore", "memory", OPTION_CHOICE, KVSTORE(config.pin), .otherwise = "demand",
	 .choices = memories,
	 .meaning = "its items: demand: present as they are used; pin: registered with the NIC and "
		    "pinned before it starts, which it does not if they do not fit"},
	{"kvstore", "items", OPTION_COUNT, KVSTORE(config.items), 1, 16e6, "1024",
	 .meaning = "its capacity; once it is full the item makes way that was used longest ago"},
	{"kvstore", "item_size", OPTION_BYTES, KVSTORE(config.item_bytes), KVSTORE_ITEM_LEAST,
	 KVSTORE_ITEM_MOST, "4K",
	 .meaning = "guest memory for each, 264 bytes of key and lengths included"},
	{"kvstore", "clients", OPTION_COUNT, KVSTORE(config.clients), 1, KVSTORE_CLIENTS, "4",
	 .meaning = "TCP connections to its port 11211, each with one request at a time"},
	{"kvstore", "working_set", OPTION_COUNT, KVSTORE(config.working_set), 1, 16e6, "512",
	 .meaning = "keys that they ask for, uniformly; the store is filled with them first"},
	{"kvstore", "shift_at", OPTION_TIME, KVSTORE(config.shift_at_ns), 0, HOUR, "0",
	 .meaning = "when the working set becomes shift_to, from the end of the filling; 0: never"},
	{"kvstore", "shift_to", OPTION_COUNT, KVSTORE(config.shift_to), 1, 16e6, "512",
	 .meaning = "keys that they ask for from then on", .needs = {{"shift_at", NULL}}},
	{"kvstore", "opposite", OPTION_BOOL, KVSTORE(config.opposite), .otherwise = "no",
	 .meaning = "every second store begins with shift_to and goes to working_set",
	 .needs = {{"shift_at", NULL}}},
	{"kvstore", "set_percent", OPTION_COUNT, KVSTORE(config.set_percent), 0, 100, "10",
	 .meaning = "percent of requests that are sets; a get that misses is followed by one"},
	{"kvstore", "duration", OPTION_TIME, KVSTORE(config.duration_ns), 1e8, HOUR, "10s",
	 .meaning = "how long, from the instant at which all stores are filled"},
	{"kvstore", "seed", OPTION_COUNT, KVSTORE(config.seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed"},
};

const struct option_rows kvstore_rows = {rows, sizeof(rows) / sizeof(rows[0])};
