// SPDX-License-Identifier: GPL-2.0
/* The keys of a fleet: its machines, what memory is short of, and the policy. */
#include "tools/fleet/options.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

#define COUNT(array)	   (sizeof(array) / sizeof((array)[0]))
#define OF(type, member)   offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define FLEET(member)	   OF(fleet_config, member)
#define RULE(member)	   OF(fleet_config, rule.member)
#define POPULATION(member) OF(fleet_population, member)
#define SHAPE(member)	   OF(fleet_population, keys.member)
#define PAGE		   2097152.0
#define DAYS_MOST	   250.0
#define YEAR		   (365.0 * 86400e9)
#define DAY		   86400e9
#define NIC                          \
	{                            \
		"device", "nic,both" \
	}
#define BLOCK                          \
	{                              \
		"device", "block,both" \
	}

_Static_assert(!offsetof(struct fleet_config, protector), "rows of [protector] begin there");

static const struct option_choice rules[] = {
	{"interval", WHAT_IF_INTERVAL}, {"reclaim", WHAT_IF_RECLAIM}, {NULL, 0}};
static const struct option_choice devices[] = {{"nic", POPULATION_NIC},
					       {"block", POPULATION_BLOCK},
					       {"both", POPULATION_MODELS},
					       {NULL, 0}};

/* "8G" or "8G:16G:64G" */
static int parse_memories(const struct option_row *row, const char *text, void *fields)
{
	struct fleet_memories *memories = &((struct fleet_population *)fields)->memory;
	char copy[FLEET_MEMORIES * 24], *rest, *word;

	if (strlen(text) >= sizeof(copy) || !*text || *text == ':' || strstr(text, "::") ||
	    text[strlen(text) - 1] == ':')
		return -EINVAL;
	strcpy(copy, text);
	memories->count = 0;
	for (word = strtok_r(copy, ":", &rest); word; word = strtok_r(NULL, ":", &rest)) {
		__u64 *bytes = &memories->bytes[memories->count];

		if (memories->count == FLEET_MEMORIES || units_parse_size(word, bytes) ||
		    !option_in_range(row, (double)*bytes))
			return -EINVAL;
		memories->count++;
	}
	return 0;
}

static const struct option_own memories = {
	.name = "sizes",
	.beginning = "up to 16 sizes with : between them, each ",
	.bytes = true,
	.parse = parse_memories,
};

static const struct option_row own_rows[] = {
	{"fleet", "hours", OPTION_REAL, FLEET(hours), 0.01, DAYS_MOST * 24, "24",
	 .meaning = "virtual time; results are by days of 24"},
	{"fleet", "overcommit", OPTION_REAL, FLEET(overcommit), 0, 10, "10%",
	 .meaning = "so much more memory was given to machines than there is: on average over time "
		    "overcommit / (1 + overcommit) of each one's memory is to be taken",
	 .needs = {{"rule.kind", "reclaim"}}},
	{"fleet", "seed", OPTION_COUNT, FLEET(seed), 0, 1e15, "1", .meaning = "of all draws"},
	{"fleet", "resolution", OPTION_TIME, FLEET(resolution_ns), 1e6, 3600e9, "10s",
	 .meaning =
		 "uses of a page within one such step are one access; at most half of scan and of "
		 "promote_after"},
	{"fleet", "machines_per_host", OPTION_COUNT, FLEET(machines_per_host), 1, 4096, "16",
	 .meaning = "with --write: of a recording"},

	{"population", "count", OPTION_COUNT, POPULATION(count), 1, FLEET_MACHINES_MAX, "1",
	 .meaning = "of machines"},
	{"population", "memory", OPTION_OWN, POPULATION(memory), 64 * PAGE, 0x1p46, "8G",
	 .own = &memories, .multiple = PAGE,
	 .meaning = "of the machines, in turn if there are several sizes"},
	{"population", "device", OPTION_CHOICE, POPULATION(device), .otherwise = "both",
	 .choices = devices, .meaning = "what each machine has"},
	{"population", "nic_least", OPTION_REAL, SHAPE(nic_least), 0, 1, "1.5%", .needs = {NIC},
	 .meaning = "pages that a NIC uses, of the machine's memory: at least"},
	{"population", "nic_most", OPTION_REAL, SHAPE(nic_most), 0, 1, "3.9%", .needs = {NIC},
	 .meaning = "and at most, all sizes between as often"},
	{"population", "nic_large", OPTION_REAL, SHAPE(nic_large), 0, 1, "4%", .needs = {NIC},
	 .meaning = "share of NICs that use more"},
	{"population", "nic_large_most", OPTION_REAL, SHAPE(nic_large_most), 0, 1, "20.5%",
	 .needs = {NIC, {"nic_large", NULL}}, .meaning = "and up to so much"},
	{"population", "nic_hot", OPTION_REAL, SHAPE(nic_hot), 0, 1, "60%", .needs = {NIC},
	 .meaning = "share of these pages that traffic uses all the time: rings, buffers in use"},
	{"population", "nic_hot_gap", OPTION_TIME, SHAPE(nic_hot_gap_ns), 1e6, DAY, "60s",
	 .needs = {NIC},
	 .meaning = "between two uses of such a page, half to one and a half of it"},
	{"population", "nic_gap", OPTION_TIME, SHAPE(nic_gap_ns), 1e6, DAY, "30s", .needs = {NIC},
	 .meaning = "mean between two uses of another one; exponentially distributed"},
	{"population", "nic_drift", OPTION_REAL, SHAPE(nic_drift), 0, 1, "0.05%", .needs = {NIC},
	 .meaning = "of memory an hour: buffers that come to lie elsewhere"},
	{"population", "nic_bound", OPTION_REAL, SHAPE(nic_bound), 0, 1, "21%", .needs = {NIC},
	 .meaning = "of memory: where they may lie at all"},
	{"population", "nic_pauses", OPTION_REAL, SHAPE(nic_pauses), 0, 1000, "0", .needs = {NIC},
	 .meaning = "of traffic, a day: mean over NICs; 0: none. Large NICs have none"},
	{"population", "nic_pauses_spread", OPTION_REAL, SHAPE(nic_pauses_spread), 0, 5, "0",
	 .needs = {NIC, {"nic_pauses", NULL}}, .meaning = "sigma of their lognormal distribution"},
	{"population", "nic_pause", OPTION_TIME, SHAPE(nic_pause_ns), 1e9, YEAR, "30m",
	 .needs = {NIC, {"nic_pauses", NULL}}, .meaning = "mean length, exponentially distributed"},
	{"population", "nic_rate", OPTION_REAL, SHAPE(nic_rate), 0.01, 1e6, "30",
	 .needs = {NIC, {"nic_pauses", NULL}},
	 .meaning = "pages a second that traffic uses when it comes back"},
	{"population", "block_growth", OPTION_REAL, SHAPE(block_growth), 1e-6, 100, "49%",
	 .needs = {BLOCK}, .meaning = "of memory an hour of work: pages that the page cache adds"},
	{"population", "block_bound", OPTION_REAL, SHAPE(block_bound), 0, 1, "49.4%",
	 .needs = {BLOCK},
	 .meaning = "of memory: the page cache's most; then its oldest page is used anew"},
	{"population", "block_run", OPTION_REAL, SHAPE(block_run), 1, 1e6, "6", .needs = {BLOCK},
	 .meaning = "pages read one after another: mean, geometrically distributed"},
	{"population", "block_rate", OPTION_REAL, SHAPE(block_rate), 0.01, 1e6, "30",
	 .needs = {BLOCK}, .meaning = "pages a second of the fastest run; the slowest has a fifth"},
	{"population", "block_once", OPTION_REAL, SHAPE(block_once), 0, 1, "16%", .needs = {BLOCK},
	 .meaning = "share of pages not used again soon; others are up to 6 times"},
	{"population", "block_hot", OPTION_REAL, SHAPE(block_hot), 0, 1, "3.3%", .needs = {BLOCK},
	 .meaning = "of memory: pages used all the time, besides the page cache that grows"},
	{"population", "block_hot_gap", OPTION_TIME, SHAPE(block_hot_gap_ns), 1e6, DAY, "40s",
	 .needs = {BLOCK, {"block_hot", NULL}},
	 .meaning = "between two uses of such a page, half to one and a half of it"},
	{"population", "block_returning", OPTION_REAL, SHAPE(block_returning), 0, 1, "15%",
	 .needs = {BLOCK}, .meaning = "share of runs that are read again after minutes"},
	{"population", "block_returns", OPTION_REAL, SHAPE(block_returns), 1, 1000, "4",
	 .needs = {BLOCK, {"block_returning", NULL}},
	 .meaning = "how often: mean, geometrically distributed"},
	{"population", "block_return_least", OPTION_TIME, SHAPE(block_return_least_ns), 1e9, YEAR,
	 "150s", .needs = {BLOCK, {"block_returning", NULL}},
	 .meaning = "between two readings: at least"},
	{"population", "block_return_most", OPTION_TIME, SHAPE(block_return_most_ns), 1e9, YEAR,
	 "700s", .needs = {BLOCK, {"block_returning", NULL}},
	 .meaning = "and at most, of work; all times between as often"},
	{"population", "block_sessions", OPTION_REAL, SHAPE(block_sessions), 0, 1000, "0",
	 .needs = {BLOCK},
	 .meaning = "of work, a day: mean over devices; 0: they are always at work"},
	{"population", "block_sessions_spread", OPTION_REAL, SHAPE(block_sessions_spread), 0, 5,
	 "0", .needs = {BLOCK, {"block_sessions", NULL}},
	 .meaning = "sigma of their lognormal distribution"},
	{"population", "block_session", OPTION_TIME, SHAPE(block_session_ns), 1e9, YEAR, "30m",
	 .needs = {BLOCK, {"block_sessions", NULL}},
	 .meaning = "mean length, exponentially distributed"},

	{"rule", "kind", OPTION_CHOICE, RULE(rule), .otherwise = "reclaim", .choices = rules,
	 .meaning = "when an access faults: more than `idle` after the one before, or because the "
		    "memory manager has taken the page"},
	{"rule", "idle", OPTION_TIME, RULE(idle_ns), 1e9, YEAR, "300s",
	 .meaning = "interval: so long after its last use a page is gone",
	 .needs = {{"kind", "interval"}}},
	{"rule", "high", OPTION_REAL, RULE(share_high), 0, 1, "50%",
	 .meaning = "reclaim: of a machine's memory, what is taken at most",
	 .needs = {{"kind", "reclaim"}}},
	{"rule", "period", OPTION_TIME, RULE(share_period_ns), 1e9, YEAR, "20m",
	 .meaning = "reclaim: from one time of most to the next", .needs = {{"kind", "reclaim"}}},
	{"rule", "young", OPTION_TIME, RULE(young_ns), 0, 3600e9, "300s",
	 .meaning = "reclaim: what was used so recently is not taken",
	 .needs = {{"kind", "reclaim"}}},
};

static const struct option_section sections[] = {
	{"fleet", "How long, and how short memory is.", false},
	{"population", "Machines of one kind.", true},
	{"protector", "What is pinned; the keys are those of lib/protect.", false},
	{"rule", "Which accesses fault.", false},
	{"sweep", "NAME = SECTION.KEY: V1, V2 ... runs every combination.", false},
	{"expect", "NAME = EXPRESSION over results; the run fails if one is false.", false},
	{"short", "SECTION.KEY = VALUE: what --short replaces.", false},
};

static struct option_row rows[PROTECTOR_ROWS + COUNT(own_rows)];
static struct option_table table = {
	.rows = rows,
	.sections = sections,
	.section_count = COUNT(sections),
	.columns = &fleet_columns,
	.help = "`faultline fleet --keys`",
};

/* Each device is a domain, and its pages are of 2 MiB. */
static bool is_fixed(const struct option_row *row)
{
	return !strcmp(row->key, "scope") || !strcmp(row->key, "page");
}

static void fleet_join(void)
{
	for (size_t i = 0; i < PROTECTOR_ROWS; i++)
		if (!is_fixed(&protector_rows[i]))
			rows[table.row_count++] = protector_rows[i];
	memcpy(&rows[table.row_count], own_rows, sizeof(own_rows));
	table.row_count += COUNT(own_rows);
}

const struct option_table *fleet_options(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fleet_join);
	return &table;
}
