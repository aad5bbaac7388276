// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs_load/load_host.h"

#include <stdint.h>
#include <stdlib.h>

#include "injectors/emu/hyv/guest_process.h"
#include "injectors/emu/hyv/hyv_host.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/rdma/rdma.h"
#include "lib/base/clock.h"

#define END_NS NSEC_PER_SEC /* for a guest to take down what it has, before it is killed */

int load_host_start(struct guest_process **process, const struct driver_setup *setup,
		    struct load_guest *guest)
{
	struct guest_process_config config = {
		.name = setup->device->name,
		.socket_count = 1,
		.run = load_guest_run,
		.argument = guest,
		.network = -1,
	};
	int socket, error = hyv_host_invite(rdma_host(setup->model), &socket);

	if (error)
		return error;
	config.sockets = &socket;
	return guest_process_start(process, &config);
}

void load_host_stop(struct guest_process *process, const struct driver_setup *setup)
{
	int status;

	guest_process_wait(process, END_NS, &status);
	guest_process_stop(process);
	guest_process_free(process);
	hyv_host_evict_guest(rdma_host(setup->model));
}

void load_host_count(const struct driver_setup *setup, struct verbs_load_hosts *sum)
{
	struct hyv_host *host = rdma_host(setup->model);
	struct hyv_stats *stats = host ? calloc(1, sizeof(*stats)) : NULL;

	sum->engine_ns = rdma_engine_ns(setup->model);
	rdma_least(setup->model, sum->least_ns);
	for (int step = 0; step < RDMA_STEPS; step++)
		if (sum->least_ns[step] == UINT64_MAX)
			sum->least_ns[step] = 0;
	if (!stats)
		return;
	hyv_host_stats(host, stats);
	sum->registered_most = stats->registered_most;
	for (int role = 0; role < PIN_ROLES; role++)
		sum->pinned_most[role] = stats->pinned_most[role];
	sum->refused = stats->refused_quota + stats->refused_rights + stats->refused_pins +
		       stats->refused_mappings + stats->refused_injected;
	sum->remaps = stats->remaps;
	sum->remaps_skipped = stats->remap_skipped;
	sum->unequal = stats->unequal;
	free(stats);
}
