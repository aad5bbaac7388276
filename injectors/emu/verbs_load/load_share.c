// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs_load/load_share.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define STEP_NS (200 * NSEC_PER_USEC)

struct load_share *load_share_create(const struct verbs_load_config *config)
{
	struct load_share *share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (share == MAP_FAILED) {
		failed(-errno, "%zu KiB that two guests share: mmap: %m", sizeof(*share) >> 10);
		return NULL;
	}
	share->config = *config;
	share->machine = getpid();
	share->users = 1;
	for (int end = 0; end < 2; end++)
		for (int client = 0; client < LOAD_CLIENTS_MAX; client++) {
			histogram_init(&share->counts[end][client].latency);
			histogram_init(&share->counts[end][client].undo);
		}
	return share;
}

void load_share_use(struct load_share *share)
{
	atomic_fetch_add(&share->users, 1);
}

void load_share_drop(struct load_share *share)
{
	if (atomic_fetch_sub(&share->users, 1) == 1)
		munmap(share, sizeof(*share));
}

void load_share_stop(struct load_share *share)
{
	atomic_store(&share->stopping, true);
}

void load_share_fail(struct load_share *share, int error, const char *sentence)
{
	bool first = !load_share_stopping(share) && !atomic_exchange(&share->wrong, true);

	if (first && error != -EPIPE)
		snprintf(share->error, sizeof(share->error), "%s",
			 *sentence ? sentence : strerror(-error));
	load_share_stop(share);
}

void load_share_reach(struct load_share *share, int end, enum load_stage stage)
{
	atomic_store(&share->stage[end], stage);
}

bool load_share_await(struct load_share *share, int end, enum load_stage stage)
{
	while (atomic_load(&share->stage[!end]) < stage) {
		if (load_share_stopping(share))
			return false;
		sleep_until(monotonic_ns() + STEP_NS);
	}
	return true;
}

bool load_share_await_pressure(struct load_share *share)
{
	while (share->presses && !atomic_load(&share->pressed)) {
		if (load_share_stopping(share))
			return false;
		sleep_until(monotonic_ns() + STEP_NS);
	}
	return true;
}

bool load_share_over(const struct load_share *share, int end)
{
	return atomic_load(&share->stage[end]) == LOAD_OVER;
}

static void load_add_counts(const struct verbs_load_counts *counts, struct verbs_load_result *sum)
{
	sum->operations += counts->operations;
	sum->bytes += counts->bytes;
	sum->errors += counts->errors;
	sum->mismatches += counts->mismatches;
	sum->over_slo += counts->over_slo;
	sum->cpu_ns += counts->cpu_ns;
	histogram_merge(&sum->latency, &counts->latency);
	histogram_merge(&sum->undo, &counts->undo);
	if (counts->start_ns && (!sum->start_ns || counts->start_ns < sum->start_ns))
		sum->start_ns = counts->start_ns;
	if (counts->end_ns > sum->end_ns)
		sum->end_ns = counts->end_ns;
}

void load_share_result(const struct load_share *share, struct verbs_load_result *sum)
{
	for (int end = 0; end < 2; end++) {
		for (int client = 0; client < LOAD_CLIENTS_MAX; client++)
			load_add_counts(&share->counts[end][client], sum);
		sum->refused += share->refused[end];
	}
	sum->errors += *share->error != '\0';
	sum->stopped_calls += share->stopped_calls;
	sum->kicks += share->kicks;
	sum->injections += share->injections;
	sum->guest = share->guest;
	sum->machine = share->machine_footprint;
}
