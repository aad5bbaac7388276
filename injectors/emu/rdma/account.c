// SPDX-License-Identifier: GPL-2.0
/* What is counted and told of a device's queue pairs. */
#include "injectors/emu/machine.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"

/* Numbers the waits of all machines of this process. */
static atomic_ullong next_token = 1;

__u64 account_token(void *device)
{
	(void)device;
	return atomic_fetch_add_explicit(&next_token, 1, memory_order_relaxed);
}

/* The fault that an event is because of, if it is one that observers ask that of. */
static struct observe_fault fault_of(const struct rdma_pair *pair,
				     const struct transport_event *event)
{
	bool memory = event->kind == TRANSPORT_RNR_SENT ||
		      (event->kind == TRANSPORT_PAUSED && event->code != RDMA_WAIT_RNR) ||
		      (event->kind == TRANSPORT_DROPPED &&
		       (event->code == RDMA_DROP_FAULT || event->code == RDMA_DROP_RESPONSE));

	return memory ? fault_unit_open(pair, event->side) : (struct observe_fault){0};
}

void account_event(void *argument, struct queue_pair *transport,
		   const struct transport_event *event)
{
	struct rdma *device = argument;
	const struct rdma_pair *pair = pair_find(device, transport_pair_number(transport));

	/* As it is created it has no place yet. */
	if (!pair)
		return;
	if (event->kind == TRANSPORT_ERROR)
		device->totals.errors++;
	observe_transport(device->observe, pair->number, event, fault_of(pair, event));
}

void account_lost_packet(struct rdma *device, const struct rdma_pair *pair,
			 const struct rdma_packet *packet, __u64 now_ns)
{
	const struct transport_event event = {
		.kind = TRANSPORT_DROPPED,
		.code = RDMA_DROP_WIRE,
		.psn = packet->psn,
		.now_ns = now_ns,
	};

	observe_transport(device->observe, pair->number, &event, (struct observe_fault){0});
}

static void sum_counters(struct transport_counters *sum, const struct transport_counters *one)
{
	/* All of them are counts, of one size. */
	_Static_assert(sizeof(*sum) % sizeof(__u64) == 0, "counts alone");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(__u64); i++)
		((__u64 *)sum)[i] += ((const __u64 *)one)[i];
}

void account_pair_gone(struct rdma *device, const struct rdma_pair *pair)
{
	const struct transport_counters *counters = transport_counters(pair->transport);

	observe_state(device->observe, pair->number, transport_state(pair->transport), counters);
	sum_counters(&device->totals.transport, counters);
}

void account_state(struct rdma *device, __u64 now_ns)
{
	if (now_ns < device->state_ns)
		return;
	device->state_ns = now_ns + OBSERVE_STATE_NS;
	for (__u32 i = 0; i < device->settings->queue_pairs; i++) {
		const struct rdma_pair *pair = device->pairs[i];

		if (pair)
			observe_state(device->observe, pair->number,
				      transport_state(pair->transport),
				      transport_counters(pair->transport));
	}
	observe_counters(device->observe, now_ns);
	if (device_has_mode(device))
		queues_reap(device);
}

void rdma_count_command(struct rdma *device, enum verbs_command_kind kind, bool failed,
			__u64 time_ns)
{
	if (kind >= VERBS_COMMAND_KINDS)
		return;
	pthread_mutex_lock(&device->counting);
	device->totals.commands[kind]++;
	device->totals.commands_failed[kind] += failed;
	device->totals.command_ns[kind] += time_ns;
	pthread_mutex_unlock(&device->counting);
}

void rdma_count_pinned(struct rdma *device, __s64 bytes)
{
	struct rdma_totals *totals = &device->totals;

	pthread_mutex_lock(&device->counting);
	totals->pinned += (__u64)bytes;
	if (totals->pinned > totals->pinned_most)
		totals->pinned_most = totals->pinned;
	pthread_mutex_unlock(&device->counting);
}

void account_totals(struct rdma *device, struct rdma_totals *totals)
{
	struct region_counters regions;

	pthread_mutex_lock(&device->counting);
	*totals = device->totals;
	pthread_mutex_unlock(&device->counting);
	for (__u32 i = 0; i < device->settings->queue_pairs; i++)
		if (device->pairs[i])
			sum_counters(&totals->transport,
				     transport_counters(device->pairs[i]->transport));
	region_counters(device->regions, &regions);
	totals->registered = regions.registered;
	totals->registered_most = regions.registered_most;
	machine_mapped(device->place.machine, device->place.index, &totals->mapped,
		       &totals->mapped_most);
	rdma_link_totals(device->link, totals);
}
