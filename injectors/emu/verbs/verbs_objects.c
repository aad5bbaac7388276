// SPDX-License-Identifier: GPL-2.0
/* The objects of a device as its backend keeps them: each with the memory that is pinned for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/verbs/verbs_backend_objects.h"

static void count_object(struct verbs_backend *backend, __u32 *objects, __u32 more)
{
	pthread_mutex_lock(&backend->lock);
	*objects += more;
	pthread_mutex_unlock(&backend->lock);
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

struct backend_shared *backend_shared(struct verbs_backend *backend, __u64 number)
{
	struct backend_shared *shared = &backend->shared[number % VERBS_SRQS_MAX];

	return shared->memory.bytes && shared->number == number ? shared : NULL;
}

bool backend_domain_valid(const struct verbs_backend *backend, __u64 number)
{
	return number < BACKEND_DOMAINS && backend->domains[number].used;
}

/* The IOVAs of its pages, for the device; NULL: no memory. */
static __u64 *region_iovas(const struct verbs_backend *backend, const struct verbs_memory *memory)
{
	__u64 *iovas = malloc(memory->page_count * sizeof(*iovas));

	for (__u32 i = 0; iovas && i < memory->page_count; i++)
		iovas[i] = memory->pages[i] + backend->iova_offset;
	return iovas;
}

/* The device's part. */
static int region_install(struct verbs_backend *backend, const struct backend_region *region,
			  __u32 *key)
{
	struct verbs_region_setup setup = {
		.iova = region->address,
		.bytes = region->bytes,
		.kind = (enum verbs_region)region->kind,
		.rights = region->rights,
		.domain = region->domain,
	};
	__u64 *iovas = NULL;
	int error;

	if (region->memory.pages) {
		iovas = region_iovas(backend, &region->memory);
		if (!iovas)
			return -ENOMEM;
		setup.pages = iovas;
		setup.page_count = region->memory.page_count;
	} else {
		setup.iova += backend->iova_offset;
	}
	error = backend->config.ops->create_region(backend->config.device, &setup, key);
	free(iovas);
	return error;
}

/* Of a region that is not pinned nothing is kept but where it is. */
static struct verbs_memory kept_of(const struct backend_region *region)
{
	return region->kind == VERBS_PINNED ? region->memory : (struct verbs_memory){};
}

int backend_region_create(struct verbs_backend *backend, struct backend_region *region, __u32 *key)
{
	struct verbs_memory kept = kept_of(region);
	int error = backend_keep(backend, VERBS_A_REGION, &kept,
				 region->rights & (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE));

	if (!error)
		error = backend_kept(backend, VERBS_A_REGION, &kept,
				     region_install(backend, region, key));
	if (error) {
		free(region->memory.pages);
		return error;
	}
	if (region->kind == VERBS_PINNED)
		region->memory = kept;
	region->key = *key;
	backend->regions[(*key >> 8) % VERBS_REGIONS_MAX] = *region;
	backend->domains[region->domain].users++;
	count_object(backend, &backend->stats.regions, 1);
	return 0;
}

int backend_region_destroy(struct verbs_backend *backend, struct backend_region *region)
{
	int error = backend->config.ops->destroy_region(backend->config.device, region->key);

	if (error)
		return error;
	region->key = 0;
	backend->domains[region->domain].users--;
	if (region->kind != VERBS_PINNED) {
		free(region->memory.pages);
		region->memory = (struct verbs_memory){};
	}
	backend_release(backend, VERBS_A_REGION, &region->memory);
	count_object(backend, &backend->stats.regions, -1u);
	return 0;
}

static int queue_make(struct verbs_backend *backend, const struct verbs_queue_setup *setup,
		      const struct verbs_memory *memory, __u32 *number)
{
	int error = backend->config.ops->create_queue(backend->config.device, setup, number);

	if (error)
		return error;
	backend->queues[*number % VERBS_QUEUES_MAX] = (struct backend_queue){
		.memory = *memory,
		.number = *number,
		.eventfd = setup->eventfd,
	};
	if (setup->eventfd >= 0)
		atomic_store(&backend->own_registers.eventfd[*number % VERBS_QUEUES_MAX],
			     setup->eventfd);
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
	if (descriptor >= 0)
		backend->spare[backend->spares++] = descriptor;
}

/* In the engine's thread. */
static void backend_failed(void *argument, enum verbs_failing what, __u32 number)
{
	struct verbs_backend *backend = argument;
	const struct verbs_host_ops *host = backend->config.host_ops;

	if (host && host->failed)
		host->failed(backend->config.host, what, number);
	else
		verbs_registers_fail(&backend->own_registers, what, number);
}

int backend_queue_create(struct verbs_backend *backend, struct verbs_memory *memory, __u32 depth,
			 __u32 *number)
{
	const struct verbs_host_ops *host = backend->config.host_ops;
	struct verbs_queue_setup setup = {
		.iova = memory->address + backend->iova_offset,
		.host = memory->owned,
		.depth = depth,
		.eventfd = -1,
		.failed = backend_failed,
		.failed_of = backend,
	};
	int error;

	if (host && host->notify) {
		setup.notify = host->notify;
		setup.argument = backend->config.host;
	} else {
		setup.eventfd = descriptor_take(backend);
		if (setup.eventfd < 0)
			return setup.eventfd;
	}
	error = backend_keep(backend, VERBS_A_QUEUE, memory, true);
	if (!error)
		error = backend_kept(backend, VERBS_A_QUEUE, memory,
				     queue_make(backend, &setup, memory, number));
	if (error)
		descriptor_leave(backend, setup.eventfd);
	return error;
}

int backend_queue_destroy(struct verbs_backend *backend, struct backend_queue *queue)
{
	const struct verbs_host_ops *host = backend->config.host_ops;
	int error = backend->config.ops->destroy_queue(backend->config.device, queue->number);

	if (error)
		return error;
	if (queue->eventfd >= 0)
		atomic_store(&backend->own_registers.eventfd[queue->number % VERBS_QUEUES_MAX], -1);
	else if (host && host->forget)
		host->forget(backend->config.host, queue->number);
	descriptor_leave(backend, queue->eventfd);
	backend_release(backend, VERBS_A_QUEUE, &queue->memory);
	count_object(backend, &backend->stats.queues, -1u);
	return 0;
}

/* Whoever has the line next finds it as of one who has posted nothing. */
static struct verbs_pair_words *line_of(const struct verbs_pair_setup *setup, __u32 number)
{
	struct verbs_pair_words *lines = setup->doorbells;

	if (!lines)
		return NULL;
	return (void *)((char *)lines + number % VERBS_QUEUE_PAIRS_MAX * sizeof(*lines));
}

static int pair_create_of(struct verbs_backend *backend, const struct verbs_pair_setup *setup,
			  const struct verbs_memory *memory, __u32 *number)
{
	int error = backend->config.ops->create_pair(backend->config.device, setup, number);

	if (error)
		return error;
	backend->pairs[*number % VERBS_QUEUE_PAIRS_MAX] = (struct backend_pair){
		.memory = *memory,
		.number = *number,
		.send_queue = setup->send_queue,
		.receive_queue = setup->receive_queue,
		.domain = setup->domain,
		.shared = setup->shared,
		.line = line_of(setup, *number),
	};
	backend_queue(backend, setup->send_queue)->users++;
	backend_queue(backend, setup->receive_queue)->users++;
	backend->domains[setup->domain].users++;
	if (setup->shared != VERBS_NO_SRQ)
		backend_shared(backend, setup->shared)->users++;
	count_object(backend, &backend->stats.pairs, 1);
	return 0;
}

int backend_pair_create(struct verbs_backend *backend, struct verbs_memory *memory,
			struct verbs_pair_setup *setup, __u32 *number)
{
	int error = backend_keep(backend, VERBS_A_PAIR, memory, true);

	if (error)
		return error;
	setup->iova = memory->address + backend->iova_offset;
	setup->host = memory->owned;
	setup->failed = backend_failed;
	setup->failed_of = backend;
	return backend_kept(backend, VERBS_A_PAIR, memory,
			    pair_create_of(backend, setup, memory, number));
}

int backend_pair_destroy(struct verbs_backend *backend, struct backend_pair *pair)
{
	int error = backend->config.ops->destroy_pair(backend->config.device, pair->number);

	if (error)
		return error;
	if (pair->line)
		memset(pair->line, 0, sizeof(*pair->line));
	backend_queue(backend, pair->send_queue)->users--;
	backend_queue(backend, pair->receive_queue)->users--;
	backend->domains[pair->domain].users--;
	if (pair->shared != VERBS_NO_SRQ)
		backend_shared(backend, pair->shared)->users--;
	backend_release(backend, VERBS_A_PAIR, &pair->memory);
	count_object(backend, &backend->stats.pairs, -1u);
	return 0;
}

static int shared_make(struct verbs_backend *backend, const struct verbs_shared_setup *setup,
		       const struct verbs_memory *memory, __u32 *number)
{
	int error = backend->config.ops->create_shared(backend->config.device, setup, number);

	if (error)
		return error;
	backend->shared[*number % VERBS_SRQS_MAX] = (struct backend_shared){
		.memory = *memory, .number = *number, .domain = setup->domain};
	backend->domains[setup->domain].users++;
	return 0;
}

int backend_shared_create(struct verbs_backend *backend, struct verbs_memory *memory,
			  struct verbs_shared_setup *setup, __u32 *number)
{
	int error = backend_keep(backend, VERBS_A_SHARED, memory, true);

	if (error)
		return error;
	setup->iova = memory->address + backend->iova_offset;
	setup->host = memory->owned;
	return backend_kept(backend, VERBS_A_SHARED, memory,
			    shared_make(backend, setup, memory, number));
}

int backend_shared_destroy(struct verbs_backend *backend, struct backend_shared *shared)
{
	int error = backend->config.ops->destroy_shared(backend->config.device, shared->number);

	if (error)
		return error;
	backend->domains[shared->domain].users--;
	backend_release(backend, VERBS_A_SHARED, &shared->memory);
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
	for (__u32 i = 0; i < VERBS_SRQS_MAX; i++)
		if (backend->shared[i].memory.bytes)
			(void)backend_shared_destroy(backend, &backend->shared[i]);
	for (__u32 i = 0; i < VERBS_REGIONS_MAX; i++)
		if (backend->regions[i].key)
			(void)backend_region_destroy(backend, &backend->regions[i]);
	for (__u32 i = 1; i < BACKEND_DOMAINS; i++)
		backend->domains[i].used = false;
	backend->next_domain = 0;
	memset(backend->channels, 0, sizeof(backend->channels));
}

void backend_close_spares(struct verbs_backend *backend)
{
	while (backend->spares)
		close(backend->spare[--backend->spares]);
}
