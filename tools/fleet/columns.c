// SPDX-License-Identifier: GPL-2.0
/* What a point of a fleet comes to: the columns of table "results". */
#include "tools/fleet/options.h"
#include "tools/fleet/results.h"

#define MODEL(at, prefix, what)                                                                                             \
	[(at) + FLEET_COUNT] = {prefix "_devices",                                                                          \
				NULL,                                                                                       \
				NULL,                                                                                       \
				COLUMN_COUNT,                                                                               \
				11,                                                                                         \
				true,                                                                                       \
				what ", a row of `fleet_devices` each: one a machine and day"},                             \
		[(at) + FLEET_FAULTS] = {prefix "_faults", NULL, NULL, COLUMN_COUNT, 12, true,                              \
					 "of all"},                                                                         \
		[(at) + FLEET_MEAN] = {prefix "_mean",                                                                      \
				       NULL,                                                                                \
				       NULL,                                                                                \
				       COLUMN_REAL,                                                                         \
				       sizeof(prefix "_mean") - 1,                                                          \
				       false,                                                                               \
				       "faults of a device and day"},                                                       \
		[(at) + FLEET_P50] = {prefix "_p50", NULL, NULL, COLUMN_COUNT, 9, true, NULL},                              \
		[(at) + FLEET_P99] = {prefix "_p99", NULL, NULL, COLUMN_COUNT, 9, true, NULL},                              \
		[(at) + FLEET_MOST] = {prefix "_max", NULL, NULL, COLUMN_COUNT, 9, true, NULL},                             \
		[(at) + FLEET_AVOIDED] = {prefix "_avoided",                                                                \
					  NULL,                                                                             \
					  NULL,                                                                             \
					  COLUMN_REAL,                                                                      \
					  sizeof(prefix "_avoided") - 1,                                                    \
					  false,                                                                            \
					  "share of the faults that there are without a policy"},                           \
		[(at) + FLEET_BURSTS] = {prefix "_bursts",                                                                  \
					 NULL,                                                                              \
					 NULL,                                                                              \
					 COLUMN_COUNT,                                                                      \
					 12,                                                                                \
					 true,                                                                              \
					 "times with more than 5 faults within a second"},                                  \
		[(at) + FLEET_PEAK] = {prefix "_peak",                                                                      \
				       NULL,                                                                                \
				       NULL,                                                                                \
				       COLUMN_COUNT,                                                                        \
				       10,                                                                                  \
				       true,                                                                                \
				       "most faults of one device within a second"},                                        \
		[(at) + FLEET_FOOTPRINT] =                                                                                  \
			{prefix "_footprint",                                                                               \
			 NULL,                                                                                              \
			 NULL,                                                                                              \
			 COLUMN_REAL,                                                                                       \
			 15,                                                                                                \
			 true,                                                                                              \
			 "share of a machine's memory that a device has used, mean"},                                       \
		[(at) + FLEET_FOOTPRINT_P95] =                                                                              \
			{prefix "_footprint_p95", NULL, NULL, COLUMN_REAL, 19, true, NULL},                                 \
		[(at) + FLEET_FOOTPRINT_P98] =                                                                              \
			{prefix "_footprint_p98", NULL, NULL, COLUMN_REAL, 19, true, NULL},                                 \
		[(at) + FLEET_PINNED] =                                                                                     \
			{prefix "_pinned",                                                                                  \
			 NULL,                                                                                              \
			 NULL,                                                                                              \
			 COLUMN_REAL,                                                                                       \
			 12,                                                                                                \
			 true,                                                                                              \
			 "share of a machine's memory, mean over time and devices"},                                        \
		[(at) + FLEET_PINNED_MOST] = {prefix "_pinned_max",                                                         \
					      NULL,                                                                         \
					      NULL,                                                                         \
					      COLUMN_REAL,                                                                  \
					      16,                                                                           \
					      true,                                                                         \
					      "the most at any time, mean over devices"},                                   \
		[(at) + FLEET_PINNED_END] =                                                                                 \
			{prefix "_pinned_end",		 NULL, NULL, COLUMN_REAL, 16, true,                                 \
			 "at the end, mean over devices"},                                                                  \
		[(at) + FLEET_RPR] = {prefix "_rpr",                                                                        \
				      NULL,                                                                                 \
				      NULL,                                                                                 \
				      COLUMN_REAL,                                                                          \
				      9,                                                                                    \
				      true,                                                                                 \
				      "percent of faults avoided over percent of memory pinned"},                           \
		[(at) + FLEET_FIRST_PINNED] =                                                                               \
			{prefix "_first_pinned",                                                                            \
			 NULL,                                                                                              \
			 NULL,                                                                                              \
			 COLUMN_REAL,                                                                                       \
			 17,                                                                                                \
			 true,                                                                                              \
			 "share of first uses of pages that were pinned already, of which policy `spatial` alone has any"}, \
		[(at) + FLEET_USELESS] =                                                                                    \
			{prefix "_useless",                                                                                 \
			 NULL,                                                                                              \
			 NULL,                                                                                              \
			 COLUMN_REAL,                                                                                       \
			 13,                                                                                                \
			 true,                                                                                              \
			 "share of pins whose page was let go before anybody used it"},                                     \
		[(at) + FLEET_SHRINKS] =                                                                                    \
			{prefix "_shrinks",                                                                                 \
			 NULL,                                                                                              \
			 NULL,                                                                                              \
			 COLUMN_REAL,                                                                                       \
			 13,                                                                                                \
			 true,                                                                                              \
			 "share of minutes at whose end less is pinned than at their "                                      \
			 "beginning, mean over devices"},                                                                   \
		[(at) + FLEET_GROWING] =                                                                                    \
			{prefix "_growing",                                                                                 \
			 NULL,                                                                                              \
			 NULL,                                                                                              \
			 COLUMN_REAL,                                                                                       \
			 13,                                                                                                \
			 true,                                                                                              \
			 "share of the pages that were used first in the second half of "                                   \
			 "the time"},                                                                                       \
		[(at) + FLEET_PAGES_FEW] = {prefix "_pages_under_10",                                                       \
					    NULL,                                                                           \
					    NULL,                                                                           \
					    COLUMN_REAL,                                                                    \
					    20,                                                                             \
					    true,                                                                           \
					    "share of the pages with fewer than 10 accesses"},                              \
		[(at) + FLEET_PAGES_TWICE] = {prefix "_pages_over_2",                                                       \
					      NULL,                                                                         \
					      NULL,                                                                         \
					      COLUMN_REAL,                                                                  \
					      18,                                                                           \
					      true,                                                                         \
					      "share of the pages with more than 2"},                                       \
		[(at) + FLEET_FAULTS_FEW] =                                                                                 \
			{prefix "_faults_under_10",                                                                         \
			 NULL,                                                                                              \
			 NULL,                                                                                              \
			 COLUMN_REAL,                                                                                       \
			 21,                                                                                                \
			 true,                                                                                              \
			 "share of the faults without a policy that were on pages with "                                    \
			 "fewer than 10 accesses"},                                                                         \
		[(at) + FLEET_FAULTS_SOME] = {                                                                              \
			prefix "_faults_under_50", NULL, NULL, COLUMN_REAL, 21, true,                                       \
			"likewise, fewer than 50"}

static const struct job_column columns[FLEET_COLUMNS] = {
	MODEL(0, "nic", "NICs"),
	MODEL(FLEET_MODEL_COLUMNS, "block", "block devices"),
	[FLEET_MACHINES] = {"machines", NULL, NULL, COLUMN_COUNT, 9, true, NULL},
	[FLEET_BURSTING] = {"bursting", NULL, NULL, COLUMN_REAL, 10, true,
			    "share of machines and days with a burst"},
	[FLEET_MACHINE_PINNED] = {"pinned", NULL, NULL, COLUMN_REAL, 10, true,
				  "share of a machine's memory, by all of its devices, mean"},
	[FLEET_ACCESSES] = {"accesses", NULL, NULL, COLUMN_COUNT, 12, true, "of all devices"},
};

const struct job_columns fleet_columns = {
	.columns = columns,
	.count = FLEET_COLUMNS,
	.heading = "columns of the table and names in [expect]; shares are 0 to 1.",
	.unknown = "no device of that model, nothing to avoid, or nothing pinned",
	.help = "`faultline fleet --keys`",
};
