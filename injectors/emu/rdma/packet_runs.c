// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/rdma/packet_runs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "injectors/emu/rdma/transport.h"
#include "lib/base/fail.h"

struct packet_runs {
	packet_run_tell tell;
	void *argument;
	__u32 pairs;
	struct packet_run open[][PACKET_RUN_KINDS];
};

int packet_runs_create(struct packet_runs **runs, __u32 pairs, packet_run_tell tell, void *argument)
{
	struct packet_runs *new;

	if (!pairs)
		return failed(-EINVAL, "no queue pairs: accepted: 1 and more");
	new = calloc(1, sizeof(*new) + pairs * sizeof(new->open[0]));
	if (!new)
		return failed(-ENOMEM, "no memory for runs of packets of %u queue pairs", pairs);
	new->tell = tell;
	new->argument = argument;
	new->pairs = pairs;
	*runs = new;
	return 0;
}

void packet_runs_destroy(struct packet_runs *runs)
{
	free(runs);
}

static void tell_packets(struct packet_runs *runs, struct packet_run *run)
{
	if (run->packets)
		runs->tell(runs->argument, run);
	run->packets = 0;
}

static bool run_goes_on(const struct packet_run *run, const struct packet_run *packet)
{
	return run->packets && run->end == packet->first && run->pair == packet->pair &&
	       run->code == packet->code && run->token == packet->token;
}

void packet_runs_add(struct packet_runs *runs, const struct packet_run *packet)
{
	struct packet_run *run = &runs->open[packet->pair % runs->pairs][packet->kind];

	if (!run_goes_on(run, packet)) {
		tell_packets(runs, run);
		*run = *packet;
		return;
	}
	run->end = packet->end;
	run->packets += packet->packets;
	/* One more, and its range would be the whole circle, which looks like none of it. */
	if (run->packets >= RDMA_PSN_MASK)
		tell_packets(runs, run);
}

void packet_runs_flush_pair(struct packet_runs *runs, __u32 pair)
{
	for (int kind = 0; kind < PACKET_RUN_KINDS; kind++) {
		struct packet_run *run = &runs->open[pair % runs->pairs][kind];

		if (run->pair == pair)
			tell_packets(runs, run);
	}
}

void packet_runs_flush(struct packet_runs *runs)
{
	for (__u32 i = 0; i < runs->pairs; i++)
		for (int kind = 0; kind < PACKET_RUN_KINDS; kind++)
			tell_packets(runs, &runs->open[i][kind]);
}
