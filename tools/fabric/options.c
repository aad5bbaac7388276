// SPDX-License-Identifier: GPL-2.0
/* The keys of a job about a fabric: its own beside those of lib/fabric. */
#include "tools/fabric/options.h"

#include <pthread.h>
#include <string.h>

#include "lib/fabric/options.h"

#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))
#define OF(type, member) offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define RUN(member)	 OF(run_keys, member)
#define TRANSFER(member) OF(transfer_keys, member)
#define IO(member)	 OF(io_keys, member)
#define BYTES_MOST	 1099511627776.0

static const struct option_choice kinds[] = {
	{"write", SCENARIO_WRITE}, {"read", SCENARIO_READ}, {NULL, 0}};

static const struct option_row own_rows[] = {
	{"run", "scenario", OPTION_TEXT, RUN(scenario), .otherwise = "",
	 .meaning = "[transfer] or [io]; empty: each, as the last dimension of the sweep"},
	{"run", "bytes", OPTION_BYTES, RUN(bytes), 0, BYTES_MOST, "0",
	 .meaning = "of each of them; 0: what it says itself"},

	{"transfer", "from", OPTION_TEXT, TRANSFER(from), 1, .otherwise = NULL,
	 .meaning = "device, adapter or host that has the data; of a host it is RAM"},
	{"transfer", "to", OPTION_TEXT, TRANSFER(to), 1, .otherwise = NULL,
	 .meaning = "likewise that gets them"},
	{"transfer", "via", OPTION_TEXT, TRANSFER(via), .otherwise = "",
	 .meaning = "host whose RAM they go through: written there, then read by to="},
	{"transfer", "engine", OPTION_TEXT, TRANSFER(engine), .otherwise = "",
	 .meaning = "device or adapter that reads from= and writes to=",
	 .needs = {{"via", ""}, {"through", ""}}},
	{"transfer", "through", OPTION_TEXT, TRANSFER(through), .otherwise = "",
	 .meaning = "adapters by which it goes, with blanks between them; empty: the shortest way",
	 .needs = {{"via", ""}}},
	{"transfer", "kind", OPTION_CHOICE, TRANSFER(kind), .otherwise = "write", .choices = kinds,
	 .meaning = "from= writes (posted), or to= reads (not posted)",
	 .needs = {{"via", ""}, {"engine", ""}}},
	{"transfer", "bytes", OPTION_BYTES, TRANSFER(bytes), 1, BYTES_MOST, "4M",
	 .meaning = "of it"},
	{"transfer", "translated", OPTION_BOOL, TRANSFER(translated), .otherwise = "yes",
	 .meaning = "IOMMUs that are on translate it; no: as if they were off"},

	{"io", "cpu", OPTION_TEXT, IO(cpu), 1, .otherwise = NULL,
	 .meaning = "host of whose CPUs one asks for it"},
	{"io", "device", OPTION_TEXT, IO(device), 1, .otherwise = NULL,
	 .meaning = "NVMe controller"},
	{"io", "queue", OPTION_TEXT, IO(queue), .otherwise = "",
	 .meaning = "host or device that has the submission queue; empty: cpu="},
	{"io", "completions", OPTION_TEXT, IO(completions), .otherwise = "",
	 .meaning = "likewise the completion queue"},
	{"io", "data", OPTION_TEXT, IO(data), .otherwise = "", .meaning = "likewise the data"},
	{"io", "kind", OPTION_CHOICE, IO(kind), .otherwise = "read", .choices = kinds,
	 .meaning = "of the disk: data are written to memory by a read (posted), read by a write"},
	{"io", "bytes", OPTION_BYTES, IO(bytes), 1, BYTES_MOST, "4K", .meaning = "of it"},
	{"io", "media", OPTION_TIME, IO(media_ns), 0, 1e12, "0",
	 .meaning = "what the controller takes by itself"},
	{"io", "translated", OPTION_BOOL, IO(translated), .otherwise = "yes",
	 .meaning = "as of a transfer"},
};

static const struct option_section own_sections[] = {
	{"transfer", "Data from one node to another.", true},
	{"io", "A command of an NVMe controller.", true},
	{"run", "Which of them.", false},
	{"sweep", "NAME = SECTION.KEY: V1, V2 ... runs every combination.", false},
	{"expect", "NAME = EXPRESSION over results; the run fails if one is false.", false},
	{"short", "SECTION.KEY = VALUE: what --short replaces.", false},
};

static struct option_row rows[FABRIC_ROWS + COUNT(own_rows)];
static struct option_section sections[FABRIC_SECTIONS + COUNT(own_sections)];
static struct option_table table = {
	.rows = rows,
	.sections = sections,
	.section_count = FABRIC_SECTIONS + COUNT(own_sections),
	.columns = &fabric_job_columns,
	.help = "`faultline fabric --keys`",
};

static void fabric_job_join(void)
{
	table.row_count = fabric_rows_add(rows);
	memcpy(&rows[table.row_count], own_rows, sizeof(own_rows));
	table.row_count += COUNT(own_rows);
	memcpy(sections, fabric_sections, sizeof(fabric_sections));
	memcpy(&sections[FABRIC_SECTIONS], own_sections, sizeof(own_sections));
}

const struct option_table *fabric_job_options(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fabric_job_join);
	return &table;
}

static const struct job_column columns[FABRIC_COLUMNS] = {
	[FABRIC_HOPS] = {"hops", NULL, NULL, COLUMN_COUNT, 4, false,
			 "switches, adapters and roots that a transfer passes; RAM's once"},
	[FABRIC_ROOTS] = {"roots", NULL, NULL, COLUMN_COUNT, 5, false, "of them roots"},
	[FABRIC_CROSSINGS] = {"crossings", NULL, NULL, COLUMN_COUNT, 9, true,
			      "from one host to another, of all transactions' requests"},
	[FABRIC_TRANSLATIONS] = {"translations", NULL, NULL, COLUMN_COUNT, 12, true,
				 "by IOMMUs, likewise"},
	[FABRIC_LATENCY] = {"latency", NULL, NULL, COLUMN_DURATION, 9, false,
			    "until the first byte is there; of an I/O, until it is complete"},
	[FABRIC_PING] =
		{"ping", NULL, NULL, COLUMN_DURATION, 9, false,
		 "a word over and back: what one writes the other has, or reads as well where it is in RAM"},
	[FABRIC_TOTAL] = {"total", NULL, NULL, COLUMN_DURATION, 9, false,
			  "until the last byte is there"},
	[FABRIC_BANDWIDTH] = {"bandwidth", NULL, "bytes_per_s", COLUMN_REAL, 21, true,
			      "bytes by total"},
	[FABRIC_PEAK] = {"peak", NULL, "bytes_per_s", COLUMN_REAL, 16, true, "of very many bytes"},
	[FABRIC_REQUESTS] = {"requests", NULL, NULL, COLUMN_COUNT, 8, true,
			     "packets that engines send: reads, or writes with data"},
	[FABRIC_PIECES] = {"pieces", NULL, NULL, COLUMN_COUNT, 8, false,
			   "what they are behind a root that splits them"},
	[FABRIC_DELAYS] = {"delays", NULL, NULL, COLUMN_DURATION, 9, true,
			   "one way, of all that is passed, of all transactions"},
	[FABRIC_CROSSED] = {"crossed", NULL, NULL, COLUMN_DURATION, 9, true,
			    "of that, what crossings take: adapters and cables"},
	[FABRIC_COMMAND_HOPS] = {"command_hops", NULL, NULL, COLUMN_COUNT, 12, true,
				 "of the CPU's write of an I/O's command"},
	[FABRIC_COMMAND] = {"command", NULL, NULL, COLUMN_DURATION, 9, true, NULL},
	[FABRIC_DOORBELL] = {"doorbell", NULL, NULL, COLUMN_DURATION, 9, true, NULL},
	[FABRIC_FETCH_HOPS] = {"fetch_hops", NULL, NULL, COLUMN_COUNT, 10, true,
			       "of the controller's read of the command"},
	[FABRIC_FETCH] = {"fetch", NULL, NULL, COLUMN_DURATION, 9, true, NULL},
	[FABRIC_DATA_HOPS] = {"data_hops", NULL, NULL, COLUMN_COUNT, 9, true, NULL},
	[FABRIC_DATA] = {"data", NULL, NULL, COLUMN_DURATION, 9, true, NULL},
	[FABRIC_COMPLETION_HOPS] = {"completion_hops", NULL, NULL, COLUMN_COUNT, 15, true, NULL},
	[FABRIC_COMPLETION] = {"completion", NULL, NULL, COLUMN_DURATION, 10, true, NULL},
	[FABRIC_REACH] =
		{"reach", NULL, NULL, COLUMN_DURATION, 9, true,
		 "one way over crossings, to fetch and to complete: what PIII 7.2 adds up"},
};

const struct job_columns fabric_job_columns = {
	.columns = columns,
	.count = FABRIC_COLUMNS,
	.heading = "columns of the table and names in [expect]; all of them are a model's.",
	.unknown = "a transfer's of an I/O, or an I/O's of a transfer",
	.help = "`faultline fabric --keys`",
};
