// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues. A pair takes an entry as a message needs one; none is given back, whatever becomes of the pair. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/rdma/rdma_private.h"

static const char hostile_shared[] = "a shared receive queue whose word goes back, or beyond it";

struct rdma_shared *shared_of(const struct rdma *device, __u32 number)
{
	return number < VERBS_SRQS_MAX ? device->shared[number] : NULL;
}

/* Nobody polls its word: what is posted is asked for when it is needed. */
static int shared_fetch(struct rdma_shared *shared)
{
	struct pair_ring *ring = &shared->ring;
	int error = 0;

	if (ring->fetched == ring->posted)
		error = pair_ring_read(ring, (const __u64 *)shared->memory.host, shared->depth);
	shared->first = ring->given;
	return error < 0 ? error
			 : pair_ring_fetch(ring, shared->memory.host + 64, shared->depth,
					   shared->receive);
}

bool shared_next(struct rdma_pair *pair, struct verbs_receive *receive)
{
	struct rdma_shared *shared = pair->shared;
	struct pair_ring *ring = &shared->ring;
	int fetched = 1;

	/* What is left is the other pairs'. */
	if (transport_state(pair->transport) == VERBS_ERROR)
		return false;
	if (ring->given == ring->fetched && !shared->broken)
		fetched = shared_fetch(shared);
	if (fetched == -EFAULT)
		port_dma_violation(pair->device->port, shared->memory.iova);
	shared->broken |= fetched < 0;
	if (shared->broken)
		pair_blame(pair, hostile_shared);
	if (shared->broken || !fetched)
		return false;
	*receive = shared->receive[ring->given - shared->first];
	pair->shared_entry = ring->given++;
	return true;
}

struct shared_call {
	const struct verbs_shared_setup *setup;
	__u32 number;
};

static int shared_place(struct rdma *device, void *argument)
{
	struct shared_call *call = argument;
	const struct verbs_shared_setup *setup = call->setup;
	struct rdma_shared *shared;
	int error;

	while (call->number < VERBS_SRQS_MAX && device->shared[call->number])
		call->number++;
	if (call->number == VERBS_SRQS_MAX)
		return -ENOSPC;
	shared = calloc(1, sizeof(*shared));
	if (!shared)
		return -ENOMEM;
	error = pinned_find(device, &shared->memory, setup->host, setup->iova,
			    verbs_shared_bytes(setup->depth));
	if (error) {
		free(shared);
		return error;
	}
	shared->number = call->number;
	shared->depth = setup->depth;
	shared->domain = setup->domain;
	device->shared[call->number] = shared;
	return 0;
}

int rdma_shared_create(struct rdma *device, const struct verbs_shared_setup *setup, __u32 *number)
{
	struct shared_call call = {.setup = setup};
	int error;

	if (!depth_valid(setup->depth) || setup->iova & (PAGE_BYTES - 1))
		return -EINVAL;
	error = engine_do(device, shared_place, &call);
	if (!error)
		*number = call.number;
	return error;
}

static int destroy_shared(struct rdma *device, void *argument)
{
	__u32 number = *(__u32 *)argument;
	struct rdma_shared *shared = shared_of(device, number);

	if (!shared)
		return -ENOENT;
	if (shared->users)
		return -EBUSY;
	device->shared[number] = NULL;
	free(shared);
	return 0;
}

int rdma_shared_destroy(struct rdma *device, __u32 number)
{
	return engine_do(device, destroy_shared, &number);
}
