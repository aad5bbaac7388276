// SPDX-License-Identifier: GPL-2.0
#include "lib/fabric/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/fabric/cost.h"

#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))
#define OF(type, member) offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define HOST(member)	 OF(fabric_host_keys, member)
#define NODE(member)	 OF(fabric_node_keys, member)
#define LINK(member)	 OF(fabric_link_keys, member)
#define COST(member)	 OF(fabric_costs, member)
#define DELAY_MOST	 1e9
#define RATE_MOST	 1e15
#define TABLE_MOST	 65536

/* Their values are what they add at most, in ns (PV 7.1.5); of PM8536 it is the mean. */
static const struct option_choice chips[] = {
	{"pex8733", 132}, {"pex8796", 150}, {"pm8536", 170}, {NULL, 0}};

static const struct option_row rows[] = {
	{"host", "iommu", OPTION_BOOL, HOST(iommu), .otherwise = "no",
	 .meaning = "translates what its devices send, and what comes in by its adapters"},
	{"host", "delay", OPTION_TIME, HOST(delay_ns), 0, DELAY_MOST, "200ns",
	 .meaning = "of a packet that passes its root; half where a path begins or ends there"},

	{"switch", "under", OPTION_TEXT, NODE(under), .otherwise = "",
	 .meaning = "host or switch; empty: it stands between hosts, joined by [link]"},
	{"switch", "chip", OPTION_CHOICE, NODE(chip), .otherwise = "pex8796", .choices = chips,
	 .meaning = "whose delay it has", .needs = {{"delay", "0"}}},
	{"switch", "delay", OPTION_TIME, NODE(delay_ns), 0, DELAY_MOST, "0",
	 .meaning = "of a packet that passes; 0: its chip's"},

	{"adapter", "under", OPTION_TEXT, NODE(under), 1, .otherwise = NULL,
	 .meaning = "host, or a switch of one"},
	{"adapter", "delay", OPTION_TIME, NODE(delay_ns), 0, DELAY_MOST, "177ns",
	 .meaning = "of a packet that passes"},
	{"adapter", "bar", OPTION_BYTES, NODE(bar_bytes), 1 << 20, 1099511627776.0, "1G",
	 .meaning = "size of the BAR that its windows share", .power_of_two = true},
	{"adapter", "bar_high", OPTION_BOOL, NODE(bar_high), .otherwise = "yes",
	 .meaning = "the BAR lies above 4 GiB"},
	{"adapter", "windows", OPTION_COUNT, NODE(windows), 1, TABLE_MOST, "256",
	 .meaning = "entries of its look-up table", .power_of_two = true},
	{"adapter", "requesters", OPTION_COUNT, NODE(requesters), 3, TABLE_MOST, "32",
	 .meaning = "entries of its requester table, of which CPUs have 2"},

	{"device", "under", OPTION_TEXT, NODE(under), 1, .otherwise = NULL,
	 .meaning = "host, or a switch of one"},

	{"link", "between", OPTION_TEXT, LINK(between), 1, .otherwise = NULL,
	 .meaning = "\"A B\": adapters, or switches between hosts"},
	{"link", "delay", OPTION_TIME, LINK(delay_ns), 0, DELAY_MOST, "5ns",
	 .meaning = "of its cable: 5 ns a metre"},
	{"link", "rate", OPTION_RATE, LINK(bytes_per_s), 1e3, RATE_MOST, "6.9e9/s",
	 .meaning = "usable bytes in each direction"},

	{"fabric", "memory", OPTION_TIME, COST(memory_ns), 0, DELAY_MOST, "100ns",
	 .meaning = "until RAM answers a read"},
	{"fabric", "device", OPTION_TIME, COST(device_ns), 0, DELAY_MOST, "100ns",
	 .meaning = "until a device's register or memory does"},
	{"fabric", "translate", OPTION_TIME, COST(translate_ns), 0, DELAY_MOST, "0",
	 .meaning = "an IOMMU's part, on top of its root's delay"},
	{"fabric", "payload", OPTION_COUNT, COST(payload), 32, 4096, "256",
	 .meaning = "bytes of a write packet at most (MPS)", .power_of_two = true},
	{"fabric", "request", OPTION_COUNT, COST(request), 32, 4096, "256",
	 .meaning = "bytes that a read asks for at a time (MRRS)", .power_of_two = true},
	{"fabric", "split", OPTION_COUNT, COST(split), 0, 4096, "64",
	 .meaning = "bytes of a read request at most behind a root that it passes; 0: any",
	 .power_of_two = true},
	{"fabric", "outstanding", OPTION_COUNT, COST(outstanding), 1, 65536, "64",
	 .meaning = "reads that an engine has under way at a time"},
	{"fabric", "split_outstanding", OPTION_COUNT, COST(split_outstanding), 1, 65536, "54",
	 .meaning = "reads that a root passes on at a time", .needs = {{"split", NULL}}},
	{"fabric", "rate", OPTION_RATE, COST(bytes_per_s), 1e3, RATE_MOST, "13.8e9/s",
	 .meaning = "usable bytes of an endpoint's link"},
	{"fabric", "root_rate", OPTION_RATE, COST(root_bytes_per_s), 1e3, RATE_MOST, "11e9/s",
	 .meaning = "bytes of writes that a root passes on"},
};
_Static_assert(COUNT(rows) <= FABRIC_ROWS, "fabric_rows_add()");

const struct option_section fabric_sections[FABRIC_SECTIONS] = {
	{"host", "A machine: its root complex, with RAM and CPUs.", true},
	{"switch", "Transparent, under a host; or between hosts.", true},
	{"adapter", "A non-transparent bridge.", true},
	{"device", "An endpoint.", true},
	{"link", "A cable.", true},
	{"fabric", "What transactions take.", false},
};

const struct option_row *fabric_rows(const char *section, size_t *count)
{
	const struct option_row *first = NULL;

	*count = 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].section, section) != 0)
			continue;
		first = first ?: &rows[i];
		++*count;
	}
	return first;
}

size_t fabric_rows_add(struct option_row *to)
{
	memcpy(to, rows, sizeof(rows));
	return COUNT(rows);
}

static const struct option_table fabric_table = {
	.rows = rows,
	.row_count = COUNT(rows),
	.sections = fabric_sections,
	.section_count = FABRIC_SECTIONS,
};

int fabric_fill(const struct job_section *section, void *fields)
{
	struct job_section own = *section;
	int err;

	own.entry_count = 0;
	own.entries = calloc(section->entry_count + 1, sizeof(own.entries[0]));
	if (!own.entries)
		return failed(-ENOMEM, "no memory for the keys of [%s]", section->type);
	for (size_t i = 0; i < section->entry_count; i++)
		if (option_row_find(&fabric_table, section->type, section->entries[i].key))
			own.entries[own.entry_count++] = section->entries[i];
	err = options_fill(&fabric_table, &own, fields);
	free(own.entries);
	return err;
}
