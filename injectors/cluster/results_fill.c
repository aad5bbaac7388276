// SPDX-License-Identifier: GPL-2.0
/* Results of a run that has ended: everything counted lies in shared memory. */
#include <math.h>
#include <stdio.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/guest.h"
#include "injectors/cluster/io_user.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/nvme.h"
#include "injectors/cluster/results.h"
#include "injectors/cluster/seen.h"
#include "injectors/cluster/share.h"

/* A user has starved that had less than this of its group's mean, of a group that has worked for long enough to tell. */
#define STARVED_SHARE 0.5
#define STARVED_IOS   10

static const struct io_counts no_counts;

static const struct io_counts *counts_of(const struct cluster *cluster,
					 const struct plan_user *user)
{
	return io_counts_of(cluster, user->io) ?: &no_counts;
}

struct user_sums {
	struct io_counts sum; /* longest_ns and model_longest_ns: the longest */
	double squares;
	__u64 least, users;
	const struct plan_user *worst;
};

static void user_sums_add(struct user_sums *sums, const struct io_counts *counts,
			  const struct plan_user *user)
{
	sums->sum.ios += counts->ios;
	sums->sum.bytes += counts->bytes;
	sums->sum.errors += counts->errors;
	sums->sum.wrong += counts->wrong;
	sums->sum.writes_acknowledged += counts->writes_acknowledged;
	sums->sum.model_ns += counts->model_ns;
	sums->sum.software_stages += counts->software_stages;
	sums->sum.copies += counts->copies;
	if (counts->longest_ns > sums->sum.longest_ns)
		sums->sum.longest_ns = counts->longest_ns;
	if (counts->model_longest_ns > sums->sum.model_longest_ns)
		sums->sum.model_longest_ns = counts->model_longest_ns;
	if (!sums->worst || counts->ios < sums->least) {
		sums->least = counts->ios;
		sums->worst = user;
	}
	sums->squares += (double)counts->ios * (double)counts->ios;
	sums->users++;
}

static double model_mean(const struct user_sums *sums)
{
	return sums->sum.ios ? (double)sums->sum.model_ns / (double)sums->sum.ios : NAN;
}

static double jain(const struct user_sums *sums)
{
	double sum = (double)sums->sum.ios;

	return sums->squares > 0 ? sum * sum / ((double)sums->users * sums->squares) : NAN;
}

static void fill_users(double *values, const struct user_sums *all, double seconds)
{
	values[CLUSTER_IOS] = (double)all->sum.ios;
	values[CLUSTER_IOPS] = seconds > 0 ? (double)all->sum.ios / seconds : NAN;
	values[CLUSTER_BYTES] = (double)all->sum.bytes;
	values[CLUSTER_ERRORS] = (double)all->sum.errors;
	values[CLUSTER_WRONG] = (double)all->sum.wrong;
	values[CLUSTER_ACKNOWLEDGED] = (double)all->sum.writes_acknowledged;
	values[CLUSTER_LATENCY] = model_mean(all);
	values[CLUSTER_LATENCY_MAX] = (double)all->sum.model_longest_ns;
	values[CLUSTER_WAIT] = (double)all->sum.longest_ns;
	values[CLUSTER_FAIRNESS] = jain(all);
	values[CLUSTER_SOFTWARE_STAGES] = (double)all->sum.software_stages;
	values[CLUSTER_COPIES] = (double)all->sum.copies;
}

static void fill_group(double *values, const struct user_sums *group)
{
	values[GROUP_IOS] = (double)group->sum.ios;
	values[GROUP_ERRORS] = (double)group->sum.errors;
	values[GROUP_WRONG] = (double)group->sum.wrong;
	values[GROUP_ACKNOWLEDGED] = (double)group->sum.writes_acknowledged;
	values[GROUP_LATENCY] = model_mean(group);
	values[GROUP_WAIT] = (double)group->sum.longest_ns;
	values[GROUP_FAIRNESS] = jain(group);
	values[GROUP_LEAST] = (double)group->least;
}

/* Whose device was never his has not starved of it: he was refused. */
static bool was_refused(const struct cluster *cluster, const struct plan_user *user)
{
	return user->kind == USER_BORROW && !borrow_results_of(cluster, user->index)->borrows;
}

static void tell_starved(struct cluster_result *result, const struct user_sums *group,
			 const struct cluster *cluster)
{
	const struct io_counts *counts = counts_of(cluster, group->worst);
	double mean = (double)group->sum.ios / (double)group->users;

	if (*result->starved || mean < STARVED_IOS || (double)group->least > mean * STARVED_SHARE ||
	    was_refused(cluster, group->worst))
		return;
	snprintf(result->starved, sizeof(result->starved),
		 "%s had %llu I/Os, others of its kind %.0f on average; its longest wait was "
		 "%.3f ms",
		 group->worst->name, group->least, mean, (double)counts->longest_ns / 1e6);
}

static void fill_all_users(struct cluster_result *result, const struct cluster *cluster,
			   const struct cluster_plan *plan)
{
	struct user_sums all = {0}, groups[PLAN_GROUPS] = {0};

	for (__u32 i = 0; i < plan->user_count; i++) {
		const struct plan_user *user = &plan->users[i];

		user_sums_add(&all, counts_of(cluster, user), user);
		user_sums_add(&groups[user->group], counts_of(cluster, user), user);
	}
	fill_users(result->values, &all, result->values[CLUSTER_SECONDS] / 1e9);
	for (__u32 g = 0; g < plan->group_count; g++) {
		fill_group(&result->values[CLUSTER_COLUMNS + g * GROUP_COLUMNS], &groups[g]);
		tell_starved(result, &groups[g], cluster);
	}
}

static void fill_borrows(double *values, const struct cluster *cluster)
{
	struct borrow_results sum = {0};
	__u64 ns = 0, with = 0;

	for (__u32 i = 0; i < cluster->config->borrow_count; i++) {
		const struct borrow_results *borrow = borrow_results_of(cluster, i);

		sum.borrows += borrow->borrows;
		sum.refused += borrow->refused;
		sum.returned += borrow->returned;
		sum.revoked += borrow->revoked;
		sum.lost += borrow->lost;
		ns += borrow->borrow_ns;
		with += borrow->borrows > 0;
	}
	values[CLUSTER_BORROWS] = sum.borrows;
	values[CLUSTER_BORROWS_REFUSED] = sum.refused;
	values[CLUSTER_BORROWS_RETURNED] = sum.returned;
	values[CLUSTER_BORROWS_REVOKED] = sum.revoked;
	values[CLUSTER_BORROWS_LOST] = sum.lost;
	values[CLUSTER_TIME_TO_BORROW] = with ? (double)ns / (double)with : NAN;
}

static void fill_guests(double *values, const struct cluster *cluster)
{
	struct guest_results sum = {0};

	for (__u32 i = 0; i < cluster->config->vm_count; i++) {
		const struct guest_results *guest = guest_results_of(cluster, i);

		sum.most_pinned += guest->most_pinned;
		sum.interrupts += guest->interrupts;
		sum.interrupts_late += guest->interrupts_late;
		sum.interrupts_lost += guest->interrupts_lost;
		sum.unmapped += guest->unmapped;
	}
	values[CLUSTER_GUESTS_PINNED] = (double)sum.most_pinned;
	values[CLUSTER_GUESTS_INTERRUPTS] = (double)sum.interrupts;
	values[CLUSTER_GUESTS_LATE] = (double)sum.interrupts_late;
	values[CLUSTER_GUESTS_LOST] = (double)sum.interrupts_lost;
	values[CLUSTER_GUESTS_UNMAPPED] = (double)sum.unmapped;
}

static void fill_clients(double *values, const struct cluster *cluster)
{
	struct share_counts sum = {0};

	for (__u32 i = 0; i < agent_count(cluster); i++) {
		const struct share_counts *counts = share_counts_of(cluster, i);

		if (!counts)
			continue;
		sum.failovers += counts->failovers;
		sum.resubmitted += counts->resubmitted;
		sum.known_done += counts->known_done;
		sum.unknown += counts->unknown;
		sum.admin_refused += counts->admin_refused;
		sum.pairs_created += counts->pairs_created;
		sum.windows_mapped += counts->windows_mapped;
		sum.deliveries += counts->deliveries;
		if (counts->longest_turns > sum.longest_turns)
			sum.longest_turns = counts->longest_turns;
	}
	values[CLUSTER_FAILOVERS] = sum.failovers;
	values[CLUSTER_RESUBMITTED] = sum.resubmitted;
	values[CLUSTER_KNOWN_DONE] = sum.known_done;
	values[CLUSTER_UNKNOWN] = sum.unknown;
	values[CLUSTER_ADMIN_REFUSED] = sum.admin_refused;
	values[CLUSTER_PAIRS] = sum.pairs_created;
	values[CLUSTER_CLIENT_MAPS] = sum.windows_mapped;
	values[CLUSTER_DELIVERIES] = sum.deliveries;
	values[CLUSTER_LONGEST_TURNS] = sum.longest_turns;
}

static void fill_devices(double *values, const struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	__u64 resets = 0, twice = 0, turns = 0;

	for (__u32 d = 0; d < config->device_count; d++) {
		if (config->devices[d].model != MODEL_NVME)
			continue;
		twice += nvme_applied_twice(cluster, d);
		for (__u32 f = 0; f < config->devices[d].functions; f++) {
			struct nvme_stats stats;

			nvme_stats(cluster, function_of(cluster, d, f), &stats);
			resets += stats.resets;
			turns = stats.most_passed > turns ? stats.most_passed : turns;
		}
	}
	values[CLUSTER_RESETS] = (double)resets;
	values[CLUSTER_APPLIED_TWICE] = (double)twice;
	values[CLUSTER_FUNCTION_TURNS] = (double)turns;
}

/* Of fetches of a device, and of others so far: 0: there were none. */
static __u16 fewest_hops(const struct cluster *cluster, __u32 device, __u16 least)
{
	struct path_stats way;

	for (__u32 w = 0; w < PATH_WAYS; w++)
		if (path_way_stats(cluster, device, PURPOSE_FETCH, w, &way) && way.hops &&
		    (!least || way.hops < least))
			least = way.hops;
	return least;
}

static void fill_paths(double *values, const struct cluster *cluster)
{
	__u64 refused = 0, pieces = 0, data = 0, stray = 0;
	__u16 fetch_hops = 0, fetch_least = 0, mmio_hops = 0, data_hops = 0;

	for (__u32 d = 0; d < cluster->config->device_count; d++) {
		stray += access_stray_bytes(cluster, d);
		for (int p = 0; p < PURPOSES; p++) {
			struct path_stats path;

			path_stats(cluster, d, (enum path_purpose)p, &path);
			refused += path.refused;
			pieces += path.pieces;
			if (p == PURPOSE_FETCH && path.hops > fetch_hops)
				fetch_hops = path.hops;
			if (p == PURPOSE_FETCH)
				fetch_least = fewest_hops(cluster, d, fetch_least);
			if (p == PURPOSE_MMIO && path.hops > mmio_hops)
				mmio_hops = path.hops;
			if (p == PURPOSE_DATA && path.hops > data_hops)
				data_hops = path.hops;
			data += p == PURPOSE_DATA ? path.transactions : 0;
		}
	}
	values[CLUSTER_STRAY] = (double)stray;
	values[CLUSTER_REFUSED] = (double)refused;
	values[CLUSTER_SPLITS] = (double)pieces;
	values[CLUSTER_FETCH_HOPS] = fetch_hops;
	values[CLUSTER_FETCH_HOPS_LEAST] = fetch_least;
	values[CLUSTER_MMIO_HOPS] = mmio_hops;
	values[CLUSTER_DATA_HOPS] = data_hops;
	values[CLUSTER_DATA_WRITES] = (double)data;
}

static void fill_hardware(double *values, const struct cluster *cluster)
{
	const struct fabric *fabric = cluster->config->fabric;
	__u64 lost = 0, ones = 0, faults = 0;
	__u32 most = 0;

	for (__u32 n = 0; n < fabric->node_count; n++) {
		struct ntb_stats stats;

		if (fabric->nodes[n].kind != FABRIC_ADAPTER)
			continue;
		ntb_stats(cluster, n, &stats);
		lost += stats.lost_writes;
		ones += stats.all_ones;
		most = stats.windows_most > most ? stats.windows_most : most;
	}
	for (__u32 h = 0; h < cluster->config->host_count; h++) {
		struct host_iommu_stats stats;

		host_iommu_stats(cluster, h, &stats);
		faults += stats.faults;
	}
	values[CLUSTER_LOST_WRITES] = (double)lost;
	values[CLUSTER_ALL_ONES] = (double)ones;
	values[CLUSTER_FAULTS] = (double)faults;
	values[CLUSTER_WINDOWS_MOST] = most;
}

void cluster_result_fill(struct cluster_result *result, const struct cluster *cluster,
			 const struct cluster_plan *plan, const struct cluster_outcome *outcome)
{
	double *values = result->values;

	values[CLUSTER_SECONDS] = (double)outcome->run_ns;
	fill_all_users(result, cluster, plan);
	fill_borrows(values, cluster);
	fill_guests(values, cluster);
	fill_clients(values, cluster);
	fill_devices(values, cluster);
	fill_paths(values, cluster);
	fill_hardware(values, cluster);
	values[CLUSTER_WINDOWS_LEFT] = (double)outcome->windows_left;
	values[CLUSTER_REQUESTERS_LEFT] = (double)outcome->requesters_left;
	values[CLUSTER_MAPPED_LEFT] = (double)outcome->mapped_left;
	values[CLUSTER_PINNED_LEFT] = (double)outcome->pinned_left;
	values[CLUSTER_MEMORY_CHANGED] = outcome->memory_changed;
	values[CLUSTER_KILLED] = outcome->killed;
	values[CLUSTER_FAILED] = outcome->failed;
	values[CLUSTER_INJECTED] = outcome->injected;
	values[CLUSTER_SEEN_LOST] = (double)seen_lost(cluster);
}
