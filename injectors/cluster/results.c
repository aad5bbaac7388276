// SPDX-License-Identifier: GPL-2.0
/* The columns of results; their values: results_fill.c. */
#include "injectors/cluster/results.h"

#include <math.h>
#include <stdio.h>

static const struct job_column cluster_all[CLUSTER_COLUMNS] = {
	[CLUSTER_SECONDS] = {"time", NULL, "ns", COLUMN_DURATION, 9, false,
			     "from the run's begin until its users were told to end"},
	[CLUSTER_IOS] = {"ios", NULL, NULL, COLUMN_COUNT, 8, false,
			 "I/Os that succeeded, of all users"},
	[CLUSTER_IOPS] = {"iops", NULL, NULL, COLUMN_REAL, 9, false, "the same per second"},
	[CLUSTER_BYTES] = {"bytes", NULL, "bytes", COLUMN_COUNT, 12, true, "that they moved"},
	[CLUSTER_ERRORS] =
		{"errors", NULL, NULL, COLUMN_COUNT, 7, false,
		 "I/Os that failed, which ios leaves out; a result, not an error of the run"},
	[CLUSTER_WRONG] = {"wrong", NULL, NULL, COLUMN_COUNT, 6, false,
			   "reads that returned other data than they must (verify=yes)"},
	[CLUSTER_ACKNOWLEDGED] = {"acknowledged", NULL, NULL, COLUMN_COUNT, 12, true,
				  "writes that were said to be done"},
	[CLUSTER_LATENCY] = {"latency_model", NULL, "ns", COLUMN_DURATION, 13, false,
			     "mean of I/Os that succeeded, in the model's time"},
	[CLUSTER_LATENCY_MAX] = {"latency_model_max", NULL, "ns", COLUMN_DURATION, 17, true,
				 "the longest, in the model's time"},
	[CLUSTER_WAIT] = {"wait", NULL, "ns", COLUMN_DURATION, 9, true,
			  "the longest that anybody waited for an I/O, in real time"},
	[CLUSTER_FAIRNESS] = {"fairness", NULL, NULL, COLUMN_REAL, 8, true,
			      "Jain's index of users' I/Os: 1: equal; 1/n: one has all"},
	[CLUSTER_SOFTWARE_STAGES] =
		{"software_stages", NULL, NULL, COLUMN_COUNT, 15, true,
		 "of I/Os, in which other software than their user's took part"},
	[CLUSTER_COPIES] = {"copies", NULL, NULL, COLUMN_COUNT, 8, true,
			    "of I/Os' data, by that software"},
	[CLUSTER_BORROWS] = {"borrows", NULL, NULL, COLUMN_COUNT, 7, true,
			     "that were granted to [borrow]s"},
	[CLUSTER_BORROWS_REFUSED] = {"borrows_refused", NULL, NULL, COLUMN_COUNT, 15, true,
				     "that were not"},
	[CLUSTER_BORROWS_RETURNED] = {"borrows_returned", NULL, NULL, COLUMN_COUNT, 16, true,
				      "that their borrower ended"},
	[CLUSTER_BORROWS_REVOKED] = {"borrows_revoked", NULL, NULL, COLUMN_COUNT, 15, true,
				     "that their lender ended"},
	[CLUSTER_BORROWS_LOST] = {"borrows_lost", NULL, NULL, COLUMN_COUNT, 12, true,
				  "whose lender died, or whose way lost its tables"},
	[CLUSTER_TIME_TO_BORROW] = {"time_to_borrow", NULL, "ns", COLUMN_DURATION, 14, true,
				    "mean of [borrow]s' last ones, from asking to mapped windows"},
	[CLUSTER_FAILOVERS] = {"failovers", NULL, NULL, COLUMN_COUNT, 9, true,
			       "of clients to their other queue pair, or to a new one"},
	[CLUSTER_RESUBMITTED] = {"resubmitted", NULL, NULL, COLUMN_COUNT, 11, true,
				 "commands that were sent again as they had not been carried out"},
	[CLUSTER_KNOWN_DONE] = {"known_done", NULL, NULL, COLUMN_COUNT, 10, true,
				"commands that had been, though nobody had been told"},
	[CLUSTER_UNKNOWN] = {"unknown", NULL, NULL, COLUMN_COUNT, 7, true,
			     "commands of which nobody could tell: an error each"},
	[CLUSTER_ADMIN_REFUSED] = {"admin_refused", NULL, NULL, COLUMN_COUNT, 13, true,
				   "calls of clients that no manager took"},
	[CLUSTER_PAIRS] = {"pairs", NULL, NULL, COLUMN_COUNT, 6, true,
			   "queue pairs that were created for clients"},
	[CLUSTER_CLIENT_MAPS] = {"client_maps", NULL, NULL, COLUMN_COUNT, 11, true,
				 "of clients' memory for their controllers: a pair that goes on in "
				 "its old windows adds none"},
	[CLUSTER_LONGEST_TURNS] = {"longest_turns", NULL, NULL, COLUMN_COUNT, 13, true,
				   "most I/Os of others that ended while one of a client waited"},
	[CLUSTER_DELIVERIES] = {"deliveries", NULL, NULL, COLUMN_COUNT, 10, true,
				"of Identify by multicast, with equal checksums"},
	[CLUSTER_GUESTS_PINNED] = {"guests_pinned", NULL, "bytes", COLUMN_COUNT, 13, true,
				   "of guests' memory, at most of each"},
	[CLUSTER_GUESTS_INTERRUPTS] = {"guests_interrupts", NULL, NULL, COLUMN_COUNT, 17, true,
				       "that were relayed to guests"},
	[CLUSTER_GUESTS_LATE] = {"guests_late", NULL, NULL, COLUMN_COUNT, 11, true,
				 "of them: delayed by injections"},
	[CLUSTER_GUESTS_LOST] = {"guests_lost", NULL, NULL, COLUMN_COUNT, 11, true,
				 "interrupts of guests that injections have lost"},
	[CLUSTER_GUESTS_UNMAPPED] =
		{"guests_unmapped", NULL, NULL, COLUMN_COUNT, 15, true,
		 "buffers that guests gave to their devices in memory that these "
		 "cannot reach"},
	[CLUSTER_RESETS] = {"resets", NULL, NULL, COLUMN_COUNT, 6, true, "of controllers"},
	[CLUSTER_APPLIED_TWICE] = {"applied_twice", NULL, NULL, COLUMN_COUNT, 13, true,
				   "blocks whose last write was applied more than once"},
	[CLUSTER_FUNCTION_TURNS] =
		{"function_turns", NULL, NULL, COLUMN_COUNT, 14, true,
		 "most turns that other functions of a device had while commands of one waited: one "
		 "of each is an equal share"},
	[CLUSTER_LOST_WRITES] = {"lost_writes", NULL, NULL, COLUMN_COUNT, 11, true,
				 "posted writes that vanished in an adapter"},
	[CLUSTER_ALL_ONES] = {"all_ones", NULL, NULL, COLUMN_COUNT, 8, true,
			      "reads that an adapter answered with all ones"},
	[CLUSTER_STRAY] = {"stray_dma", NULL, "bytes", COLUMN_COUNT, 9, true,
			   "of devices, that landed in memory which is not their users'"},
	[CLUSTER_REFUSED] = {"refused", NULL, NULL, COLUMN_COUNT, 7, true,
			     "transactions of devices that an IOMMU had no translation for"},
	[CLUSTER_FAULTS] = {"iommu_faults", NULL, NULL, COLUMN_COUNT, 12, true,
			    "that IOMMUs counted"},
	[CLUSTER_SPLITS] = {"pieces", NULL, NULL, COLUMN_COUNT, 9, true,
			    "requests that devices' reads were behind the last root, by the model"},
	[CLUSTER_FETCH_HOPS] = {"fetch_hops", NULL, NULL, COLUMN_COUNT, 10, true,
				"of the longest way that a command was fetched over"},
	[CLUSTER_FETCH_HOPS_LEAST] = {"fetch_hops_least", NULL, NULL, COLUMN_COUNT, 16, true,
				      "of the shortest"},
	[CLUSTER_MMIO_HOPS] = {"mmio_hops", NULL, NULL, COLUMN_COUNT, 9, true,
			       "of the longest way of CPUs' accesses for a device"},
	[CLUSTER_DATA_HOPS] = {"data_hops", NULL, NULL, COLUMN_COUNT, 9, true,
			       "of the longest way of data"},
	[CLUSTER_DATA_WRITES] = {"data_transactions", NULL, NULL, COLUMN_COUNT, 17, true,
				 "of devices, with data"},
	[CLUSTER_WINDOWS_MOST] = {"windows_most", NULL, NULL, COLUMN_COUNT, 12, true,
				  "entries of an adapter's look-up table in use at once, of the "
				  "adapter that had most"},
	[CLUSTER_WINDOWS_LEFT] = {"windows_left", NULL, NULL, COLUMN_COUNT, 12, true,
				  "in use after the run: 0, or the run has failed"},
	[CLUSTER_REQUESTERS_LEFT] = {"requesters_left", NULL, NULL, COLUMN_COUNT, 15, true,
				     "entries of requester tables, likewise"},
	[CLUSTER_MAPPED_LEFT] = {"mapped_left", NULL, "bytes", COLUMN_COUNT, 11, true,
				 "in IOMMUs, likewise"},
	[CLUSTER_PINNED_LEFT] = {"pinned_left", NULL, "bytes", COLUMN_COUNT, 11, true,
				 "of hosts' RAM, likewise"},
	[CLUSTER_MEMORY_CHANGED] =
		{"memory_changed", NULL, NULL, COLUMN_COUNT, 14, true,
		 "hosts in whose RAM something changed that nobody had allocated"},
	[CLUSTER_KILLED] = {"killed", NULL, NULL, COLUMN_COUNT, 6, true, "processes"},
	[CLUSTER_FAILED] =
		{"failed", NULL, NULL, COLUMN_COUNT, 6, true,
		 "users that ended with an error; the run's exit status is 1 then, unless "
		 "[expect] names failed"},
	[CLUSTER_INJECTED] = {"injected", NULL, NULL, COLUMN_COUNT, 8, true,
			      "injections that have begun"},
	[CLUSTER_SEEN_LOST] = {"seen_lost", NULL, NULL, COLUMN_COUNT, 9, true,
			       "records for observers that found no room"},
};

static const struct job_column group_all[GROUP_COLUMNS] = {
	[GROUP_IOS] = {"ios", NULL, NULL, COLUMN_COUNT, 8, true, NULL},
	[GROUP_ERRORS] = {"errors", NULL, NULL, COLUMN_COUNT, 7, true, NULL},
	[GROUP_WRONG] = {"wrong", NULL, NULL, COLUMN_COUNT, 6, true, NULL},
	[GROUP_ACKNOWLEDGED] = {"acknowledged", NULL, NULL, COLUMN_COUNT, 12, true, NULL},
	[GROUP_LATENCY] = {"latency_model", NULL, "ns", COLUMN_DURATION, 13, true, NULL},
	[GROUP_WAIT] = {"wait", NULL, "ns", COLUMN_DURATION, 9, true, NULL},
	[GROUP_FAIRNESS] = {"fairness", NULL, NULL, COLUMN_REAL, 8, true, NULL},
	[GROUP_LEAST] = {"least", NULL, NULL, COLUMN_COUNT, 8, true, NULL},
};

#define CLUSTER_HEADING                                                                           \
	"columns of the table and names in [expect]; times in ns. Of each group as well, as "     \
	"GROUP_ios: ios, errors, wrong, acknowledged, latency_model, wait, fairness, and least: " \
	"I/Os of its user that had fewest."
#define CLUSTER_UNKNOWN_TEXT "nobody of whom this could be said, or a run that failed"
#define CLUSTER_HELP	     "`faultline-inject help --hosts results`"

const struct job_columns cluster_columns = {
	.columns = cluster_all,
	.count = CLUSTER_COLUMNS,
	.heading = CLUSTER_HEADING,
	.unknown = CLUSTER_UNKNOWN_TEXT,
	.help = CLUSTER_HELP,
};

void cluster_columns_of(struct cluster_result_columns *columns, const struct cluster_plan *plan)
{
	size_t count = CLUSTER_COLUMNS;

	memcpy(columns->column, cluster_all, sizeof(cluster_all));
	for (__u32 g = 0; g < plan->group_count; g++)
		for (int c = 0; c < GROUP_COLUMNS; c++, count++) {
			char *name = columns->names[count - CLUSTER_COLUMNS];

			snprintf(name, sizeof(columns->names[0]), "%s_%s", plan->groups[g].name,
				 group_all[c].name);
			columns->column[count] = group_all[c];
			columns->column[count].name = name;
		}
	columns->columns = cluster_columns;
	columns->columns.columns = columns->column;
	columns->columns.count = count;
}

void cluster_result_clear(struct cluster_result *result)
{
	*result = (struct cluster_result){0};
	for (int i = 0; i < CLUSTER_VALUES; i++)
		result->values[i] = NAN;
}
