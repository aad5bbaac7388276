// SPDX-License-Identifier: GPL-2.0
#include "lib/job/protector_options.h"

#include "lib/base/clock.h"

#define OPTIONS(member) \
	offsetof(struct protector_options, member), sizeof(((struct protector_options *)0)->member)
#define KEYS(member) OPTIONS(keys.member)
#define DAY	     (86400.0 * NSEC_PER_SEC)

/* Policies that have adp's two blocks; that learn; that look ahead. */
#define BLOCKS "adp,tuned,spatial"

enum {
#define PROTECT_POLICY(name) POLICY_##name,
#include "lib/protect/policies.def"
};

const struct option_choice protector_policies[] = {
#define PROTECT_POLICY(name) {#name, POLICY_##name},
#include "lib/protect/policies.def"
	{NULL, 0},
};

static const struct option_choice overflows[] = {
	{"drop", PROTECT_OVERFLOW_DROP}, {"refuse", PROTECT_OVERFLOW_REFUSE}, {NULL, 0}};
static const struct option_choice scopes[] = {
	{"device", PROTECTOR_DEVICE}, {"tenant", PROTECTOR_TENANT}, {NULL, 0}};

const struct option_row protector_rows[PROTECTOR_ROWS] = {
	{"protector", "policy", OPTION_CHOICE, KEYS(policy), .otherwise = "adp",
	 .choices = protector_policies, .meaning = "who says what is pinned (docs/protect.md)"},
	{"protector", "scope", OPTION_CHOICE, OPTIONS(scope), .otherwise = "device",
	 .choices = scopes,
	 .meaning = "what has blocks of its own: a device and PASID, or all devices of a tenant"},
	{"protector", "page", OPTION_BYTES, OPTIONS(page_bytes), 4096, 1 << 30, "2M",
	 .meaning = "what is pinned at a time", .power_of_two = true},
	{"protector", "active", OPTION_REAL, KEYS(active), 0, 1, "30%",
	 .meaning = "share of the memory that is tracked and not pinned at most",
	 .needs = {{"policy", BLOCKS}}},
	{"protector", "inactive", OPTION_REAL, KEYS(inactive), 0, 1, "5%",
	 .meaning = "share of the memory that is pinned at most", .needs = {{"policy", BLOCKS}}},
	{"protector", "overflow", OPTION_CHOICE, KEYS(overflow), .otherwise = "drop",
	 .choices = overflows,
	 .meaning = "what makes way where as much is pinned already: the oldest page, or the "
		    "new one",
	 .needs = {{"policy", BLOCKS}}},
	{"protector", "scan", OPTION_TIME, KEYS(scan_ns), 1000, DAY, "20s",
	 .meaning = "between two looks for pages that became idle", .needs = {{"policy", BLOCKS}}},
	{"protector", "promote_after", OPTION_TIME, KEYS(promote_after_ns), 0, DAY, "180s",
	 .meaning = "idle for so long a page is pinned", .needs = {{"policy", BLOCKS}}},
	{"protector", "demote_after", OPTION_TIME, KEYS(demote_after_ns), 0, DAY, "30s",
	 .meaning = "from an access to a pinned page until it is let go",
	 .needs = {{"policy", BLOCKS}}},
	{"protector", "lru", OPTION_REAL, KEYS(lru), 0, 1, "10%",
	 .meaning = "share of the memory that is pinned at most", .needs = {{"policy", "lru"}}},
	{"protector", "fault_after", OPTION_TIME, KEYS(fault_after_ns), 0, DAY, "300s",
	 .meaning = "idle for longer a page is expected to be gone",
	 .needs = {{"policy", "tuned"}}},
	{"protector", "learn", OPTION_TIME, KEYS(learn_ns), 1000, DAY, "600s",
	 .meaning = "between two decisions on what was learned", .needs = {{"policy", "tuned"}}},
	{"protector", "run", OPTION_COUNT, KEYS(run), 1, PROTECT_RUN_MAX, "3",
	 .meaning = "steps of one stride that make a run", .needs = {{"policy", "spatial"}}},
	{"protector", "ahead", OPTION_COUNT, KEYS(ahead), 1, PROTECT_RUN_MAX, "4",
	 .meaning = "pages pinned ahead of a run", .needs = {{"policy", "spatial"}}},
	{"protector", "expect", OPTION_TIME, KEYS(expect_ns), 0, DAY, "30s",
	 .meaning = "so long they wait for it", .needs = {{"policy", "spatial"}}},
};
