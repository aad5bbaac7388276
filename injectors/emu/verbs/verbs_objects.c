// SPDX-License-Identifier: GPL-2.0
/* The objects of a device as its backend keeps them: each with the memory that is pinned for it. */
#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/pins.h"
#include "injectors/emu/verbs/verbs_backend_private.h"
#include "lib/base/fail.h"

bool backend_within(const struct backend_range *share, __u64 address, __u64 bytes)
{
	return address >= share->address && bytes <= share->bytes &&
	       address - share->address <= share->bytes - bytes;
}

__u64 backend_pages(__u64 address, __u64 bytes)
{
	return ((address + bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)) -
	       (address & ~(PAGE_BYTES - 1));
}

static void count_pinned(struct verbs_backend *backend, __s64 bytes)
{
	pthread_mutex_lock(&backend->lock);
	backend->stats.pinned += (__u64)bytes;
	pthread_mutex_unlock(&backend->lock);
	if (backend->config.ops->pinned)
		backend->config.ops->pinned(backend->config.device, bytes);
}

static void count_object(struct verbs_backend *backend, __u32 *objects, __u32 more)
{
	pthread_mutex_lock(&backend->lock);
	*objects += more;
	pthread_mutex_unlock(&backend->lock);
}

int backend_pin(struct verbs_backend *backend, __u64 address, __u64 bytes, bool write)
{
	int error =
		machine_pin(backend->config.machine, backend->config.index, address, bytes, write);

	if (!error) {
		count_pinned(backend, (__s64)backend_pages(address, bytes));
		return 0;
	}
	pthread_mutex_lock(&backend->lock);
	snprintf(backend->refusal, sizeof(backend->refusal), "%s", failure_text());
	pthread_mutex_unlock(&backend->lock);
	return error;
}

void backend_unpin(struct verbs_backend *backend, __u64 address, __u64 bytes)
{
	if (!machine_unpin(backend->config.machine, backend->config.index, address, bytes))
		count_pinned(backend, -(__s64)backend_pages(address, bytes));
}

struct backend_region *backend_region(struct verbs_backend *backend, __u64 key)
{
	struct backend_region *region = &backend->regions[(key >> 8) % VERBS_REGIONS_MAX];

	return key && region->key == key ? region : NULL;
}

struct backend_queue *backend_queue(struct verbs_backend *backend, __u64 number)
{
	struct backend_queue *queue = &backend->queues[number % VERBS_QUEUES_MAX];

	return queue->memory.bytes && queue->number == number ? queue : NULL;
}

struct backend_pair *backend_pair(struct verbs_backend *backend, __u64 number)
{
	struct backend_pair *pair = &backend->pairs[number % VERBS_QUEUE_PAIRS_MAX];

	return pair->memory.bytes && pair->number == number ? pair : NULL;
}

int backend_region_create(struct verbs_backend *backend, const struct backend_region *region,
			  __u32 *key)
{
	const struct verbs_region_setup setup = {
		.iova = region->address + backend->iova_offset,
		.bytes = region->bytes,
		.kind = (enum verbs_region)region->kind,
		.rights = region->rights,
	};
	bool pinned = region->kind == VERBS_PINNED;
	int error = 0;

	if (pinned)
		error = backend_pin(backend, region->address, region->bytes,
				    region->rights & (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE));
	if (error)
		return error;
	error = backend->config.ops->create_region(backend->config.device, &setup, key);
	if (error) {
		if (pinned)
			backend_unpin(backend, region->address, region->bytes);
		return error;
	}
	backend->regions[(*key >> 8) % VERBS_REGIONS_MAX] = *region;
	backend->regions[(*key >> 8) % VERBS_REGIONS_MAX].key = *key;
	count_object(backend, &backend->stats.regions, 1);
	return 0;
}

int backend_region_destroy(struct verbs_backend *backend, struct backend_region *region)
{
	int error = backend->config.ops->destroy_region(backend->config.device, region->key);

	if (error)
		return error;
	if (region->kind == VERBS_PINNED)
		backend_unpin(backend, region->address, region->bytes);
	region->key = 0;
	count_object(backend, &backend->stats.regions, -1u);
	return 0;
}

static int queue_make(struct verbs_backend *backend, const struct verbs_queue_setup *setup,
		      const struct backend_range *memory, __u32 *number)
{
	int error = backend->config.ops->create_queue(backend->config.device, setup, number);

	if (error)
		return error;
	backend->queues[*number % VERBS_QUEUES_MAX] = (struct backend_queue){
		.memory = *memory,
		.number = *number,
		.eventfd = setup->eventfd,
	};
	atomic_store(&backend->registers.eventfd[*number % VERBS_QUEUES_MAX], setup->eventfd);
	count_object(backend, &backend->stats.queues, 1);
	return 0;
}

static int descriptor_take(struct verbs_backend *backend)
{
	eventfd_t told;
	int descriptor;

	if (!backend->spares) {
		descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		return descriptor < 0 ? -errno : descriptor;
	}
	descriptor = backend->spare[--backend->spares];
	(void)eventfd_read(descriptor, &told);
	return descriptor;
}

static void descriptor_leave(struct verbs_backend *backend, int descriptor)
{
	backend->spare[backend->spares++] = descriptor;
}

int backend_queue_create(struct verbs_backend *backend, __u64 address, __u32 depth, __u32 *number)
{
	const struct backend_range memory = {address, verbs_completion_bytes(depth)};
	struct verbs_queue_setup setup = {
		.iova = address + backend->iova_offset,
		.depth = depth,
		.eventfd = descriptor_take(backend),
	};
	int error;

	if (setup.eventfd < 0)
		return setup.eventfd;
	error = backend_pin(backend, memory.address, memory.bytes, true);
	if (!error) {
		error = queue_make(backend, &setup, &memory, number);
		if (error)
			backend_unpin(backend, memory.address, memory.bytes);
	}
	if (error)
		descriptor_leave(backend, setup.eventfd);
	return error;
}

int backend_queue_destroy(struct verbs_backend *backend, struct backend_queue *queue)
{
	int error = backend->config.ops->destroy_queue(backend->config.device, queue->number);

	if (error)
		return error;
	atomic_store(&backend->registers.eventfd[queue->number % VERBS_QUEUES_MAX], -1);
	descriptor_leave(backend, queue->eventfd);
	backend_unpin(backend, queue->memory.address, queue->memory.bytes);
	queue->memory.bytes = 0;
	count_object(backend, &backend->stats.queues, -1u);
	return 0;
}

int backend_pair_create(struct verbs_backend *backend, __u64 address,
			struct verbs_pair_setup *setup, __u32 *number)
{
	const struct backend_range memory = {
		address, verbs_pair_bytes(setup->send_depth, setup->receive_depth)};
	int error = backend_pin(backend, memory.address, memory.bytes, true);

	if (error)
		return error;
	setup->iova = address + backend->iova_offset;
	error = backend->config.ops->create_pair(backend->config.device, setup, number);
	if (error) {
		backend_unpin(backend, memory.address, memory.bytes);
		return error;
	}
	backend->pairs[*number % VERBS_QUEUE_PAIRS_MAX] = (struct backend_pair){
		.memory = memory,
		.number = *number,
		.send_queue = setup->send_queue,
		.receive_queue = setup->receive_queue,
	};
	backend_queue(backend, setup->send_queue)->users++;
	backend_queue(backend, setup->receive_queue)->users++;
	count_object(backend, &backend->stats.pairs, 1);
	return 0;
}

int backend_pair_destroy(struct verbs_backend *backend, struct backend_pair *pair)
{
	int error = backend->config.ops->destroy_pair(backend->config.device, pair->number);

	if (error)
		return error;
	backend_unpin(backend, pair->memory.address, pair->memory.bytes);
	backend_queue(backend, pair->send_queue)->users--;
	backend_queue(backend, pair->receive_queue)->users--;
	pair->memory.bytes = 0;
	count_object(backend, &backend->stats.pairs, -1u);
	return 0;
}

void backend_destroy_all(struct verbs_backend *backend)
{
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++)
		if (backend->pairs[i].memory.bytes)
			(void)backend_pair_destroy(backend, &backend->pairs[i]);
	for (__u32 i = 0; i < VERBS_QUEUES_MAX; i++)
		if (backend->queues[i].memory.bytes)
			(void)backend_queue_destroy(backend, &backend->queues[i]);
	for (__u32 i = 0; i < VERBS_REGIONS_MAX; i++)
		if (backend->regions[i].key)
			(void)backend_region_destroy(backend, &backend->regions[i]);
	while (backend->spares)
		close(backend->spare[--backend->spares]);
}
