// SPDX-License-Identifier: GPL-2.0
/* The kinds of commands that devices with a mode have besides; most of them work by the ring, too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/device.h"
#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/verbs/verbs_backend_objects.h"

#define RIGHTS_SHIFT 8
#define HIGH_HALF    32

int command_alloc_domain(struct verbs_backend *backend, struct verbs_command *command)
{
	/* From where the last was found: a number is not another's soon. */
	for (__u32 i = 1; i < BACKEND_DOMAINS; i++) {
		__u32 number = (backend->next_domain + i) % BACKEND_DOMAINS;

		if (backend->domains[number].used)
			continue;
		backend->domains[number] = (struct backend_domain){.used = true};
		backend->next_domain = number;
		command->result[0] = number;
		return 0;
	}
	return -ENOSPC;
}

int command_dealloc_domain(struct verbs_backend *backend, struct verbs_command *command)
{
	__u64 number = command->argument[0];

	if (!number || !backend_domain_valid(backend, number))
		return -ENOENT;
	if (backend->domains[number].users)
		return -EBUSY;
	backend->domains[number].used = false;
	return 0;
}

/* Page by page, as DMA is. */
static int read_words(const struct verbs_backend *backend, __u64 iova, __u64 *to, __u64 bytes)
{
	const struct verbs_backend_config *config = &backend->config;
	int error = 0;

	for (__u64 done = 0, piece; !error && done < bytes; done += piece) {
		__u64 room = PAGE_BYTES - (iova + done) % PAGE_BYTES;

		piece = bytes - done < room ? bytes - done : room;
		error = port_dma_read(config->port, 0, config->channel->config.pasid, iova + done,
				      (char *)to + done, piece);
	}
	return error;
}

/* A list by the command ring lies in guest memory that is control's, or, where control has but the ring, the guest's. */
static int read_page_list(const struct verbs_backend *backend, __u64 address,
			  struct verbs_memory *memory)
{
	const struct verbs_backend_config *config = &backend->config;
	__u64 ring_end = config->channel->data_address + PAGE_BYTES;
	const struct backend_range area = {ring_end, config->control_bytes
							     ? config->control_bytes - PAGE_BYTES
							     : backend->share.bytes};
	__u64 bytes = memory->page_count * sizeof(*memory->pages);

	if (address % sizeof(*memory->pages) || !backend_within(&area, address, bytes))
		return -EFAULT;
	return read_words(backend, address + backend->iova_offset, memory->pages, bytes);
}

/* The object's own copy of what the command's list says. */
static int copy_list(const struct verbs_backend *backend, __u64 address,
		     struct verbs_memory *memory)
{
	int error = 0;

	if (backend->list ? backend->listed != memory->page_count || address : !address)
		return -EINVAL;
	memory->pages = malloc(memory->page_count * sizeof(*memory->pages));
	if (!memory->pages)
		return -ENOMEM;
	if (backend->list)
		memcpy(memory->pages, backend->list, memory->page_count * sizeof(*memory->pages));
	else
		error = read_page_list(backend, address, memory);
	for (__u32 i = 0; !error && i < memory->page_count; i++) {
		if (memory->pages[i] % PAGE_BYTES)
			error = -EINVAL;
		else if (!backend_within(&backend->share, memory->pages[i], PAGE_BYTES))
			error = -EFAULT;
	}
	memory->address = memory->pages[0];
	return error;
}

static int range_pages_of(const struct verbs_command *command, __u32 *count)
{
	__u64 skipped = command->argument[0] % PAGE_BYTES, bytes = command->argument[1];

	if (!bytes || bytes > (__u64)HYV_LIST_MAX * PAGE_BYTES - skipped ||
	    command->argument[0] + bytes < bytes)
		return -EINVAL;
	*count = (__u32)((skipped + bytes + PAGE_BYTES - 1) >> PAGE_BITS);
	return 0;
}

int command_register_pages(struct verbs_backend *backend, struct verbs_command *command)
{
	const __u64 *argument = command->argument;
	struct backend_region region = {
		.address = argument[0],
		.bytes = argument[1],
		.kind = (__u8)argument[2],
		.rights = (__u8)(argument[2] >> RIGHTS_SHIFT),
		.domain = (__u16)argument[3],
		.memory = {.bytes = argument[1]},
	};
	int error = backend_rights_valid(argument[2] >> RIGHTS_SHIFT);
	__u32 key;

	if (error || (region.kind != VERBS_PINNED && region.kind != VERBS_DEMAND))
		return -EINVAL;
	if (!backend_domain_valid(backend, argument[3]))
		return -ENOENT;
	error = range_pages_of(command, &region.memory.page_count);
	if (!error)
		error = copy_list(backend, argument[4], &region.memory);
	if (!error)
		error = backend_find(backend, &region.memory);
	if (!error && region.memory.owned)
		error = -EFAULT;
	if (error) {
		free(region.memory.pages);
		return error;
	}
	error = backend_region_create(backend, &region, &key);
	command->result[0] = error ? 0 : key;
	return error;
}

int command_create_shared(struct verbs_backend *backend, struct verbs_command *command)
{
	const __u64 *argument = command->argument;
	struct verbs_shared_setup setup = {.depth = (__u32)argument[1],
					   .domain = (__u32)argument[2]};
	struct verbs_memory memory;
	__u32 number;
	int error;

	if (!backend->config.ops->create_shared)
		return -EOPNOTSUPP;
	if (!backend_depth_valid(argument[1]))
		return -EINVAL;
	if (!backend_domain_valid(backend, argument[2]))
		return -ENOENT;
	error = backend_rings(backend, argument[0], verbs_shared_bytes(setup.depth), &memory);
	if (!error)
		error = backend_shared_create(backend, &memory, &setup, &number);
	command->result[0] = error ? 0 : number;
	return error;
}

int command_destroy_shared(struct verbs_backend *backend, struct verbs_command *command)
{
	struct backend_shared *shared = backend_shared(backend, command->argument[0]);

	if (!shared)
		return -ENOENT;
	return shared->users ? -EBUSY : backend_shared_destroy(backend, shared);
}

static int pair_of_valid(struct verbs_backend *backend, const struct verbs_pair_setup *setup)
{
	bool own = setup->shared == VERBS_NO_SRQ;

	if (!backend_depth_valid(setup->send_depth) ||
	    (!backend_depth_valid(setup->receive_depth) && (own || setup->receive_depth)))
		return -EINVAL;
	if (!backend_queue(backend, setup->send_queue) ||
	    !backend_queue(backend, setup->receive_queue) ||
	    !backend_domain_valid(backend, setup->domain) ||
	    (!own && !backend_shared(backend, setup->shared)))
		return -ENOENT;
	return 0;
}

int command_create_pair_of(struct verbs_backend *backend, struct verbs_command *command)
{
	const struct verbs_host_ops *host = backend->config.host_ops;
	const __u64 *argument = command->argument;
	struct verbs_pair_setup setup = {
		.send_depth = (__u32)argument[1],
		.receive_depth = (__u32)(argument[1] >> HIGH_HALF),
		.send_queue = (__u32)argument[2],
		.receive_queue = (__u32)(argument[2] >> HIGH_HALF),
		.domain = (__u32)argument[3],
		.shared = (__u32)(argument[3] >> HIGH_HALF),
		.doorbells = host && host->doorbells ? host->doorbells(backend->config.host) : NULL,
	};
	struct verbs_memory memory;
	__u32 number;
	int error = pair_of_valid(backend, &setup);

	if (!error)
		error = backend_rings(backend, argument[0],
				      verbs_pair_bytes(setup.send_depth, setup.receive_depth),
				      &memory);
	if (!error)
		error = backend_pair_create(backend, &memory, &setup, &number);
	if (error)
		return error;
	command->result[0] = number;
	command->result[1] = setup.doorbells ? number % VERBS_QUEUE_PAIRS_MAX : VERBS_OWN_LINE;
	return 0;
}

/* Numbered from 1: a guest whose channel has number 0 has none at its host (verbs_handles.h), and does not say when it ends. */
int command_create_channel(struct verbs_backend *backend, struct verbs_command *command)
{
	for (__u32 i = 0; i < BACKEND_CHANNELS; i++) {
		if (backend->channels[i])
			continue;
		backend->channels[i] = true;
		command->result[0] = i + 1;
		return 0;
	}
	return -ENOSPC;
}

int command_destroy_channel(struct verbs_backend *backend, struct verbs_command *command)
{
	__u64 number = command->argument[0];

	if (!number || number > BACKEND_CHANNELS || !backend->channels[number - 1])
		return -ENOENT;
	backend->channels[number - 1] = false;
	return 0;
}

int command_map(struct verbs_backend *backend, struct verbs_command *command)
{
	const struct verbs_host_ops *host = backend->config.host_ops;
	const __u64 *argument = command->argument;

	if (!host || !host->map)
		return -EOPNOTSUPP;
	if (!argument[1] || argument[0] % PAGE_BYTES || argument[1] % PAGE_BYTES ||
	    argument[2] >= VERBS_RESOURCES || argument[3] % PAGE_BYTES)
		return -EINVAL;
	if (!backend_within(&backend->share, argument[0], argument[1]))
		return -EFAULT;
	return host->map(backend->config.host, argument[0], argument[1],
			 (enum verbs_resource)argument[2], argument[3]);
}

static bool within(const struct verbs_memory *memory, const struct backend_range *range)
{
	return memory->owned && backend_within(range, memory->address, memory->bytes);
}

bool backend_owned_used(const struct verbs_backend *backend, const struct backend_range *range)
{
	for (__u32 i = 0; i < VERBS_QUEUES_MAX; i++)
		if (within(&backend->queues[i].memory, range))
			return true;
	for (__u32 i = 0; i < VERBS_SRQS_MAX; i++)
		if (within(&backend->shared[i].memory, range))
			return true;
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++)
		if (within(&backend->pairs[i].memory, range))
			return true;
	return false;
}

bool backend_lines_used(const struct verbs_backend *backend)
{
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++)
		if (backend->pairs[i].memory.bytes && backend->pairs[i].line)
			return true;
	return false;
}

int command_unmap(struct verbs_backend *backend, struct verbs_command *command)
{
	const struct verbs_host_ops *host = backend->config.host_ops;

	if (!host || !host->unmap)
		return -EOPNOTSUPP;
	return host->unmap(backend->config.host, command->argument[0], command->argument[1]);
}

int command_post(struct verbs_backend *backend, struct verbs_command *command)
{
	if (!backend->config.ops->posted)
		return -EOPNOTSUPP;
	if (command->argument[1] > 1)
		return -EINVAL;
	if (!backend_pair(backend, command->argument[0]))
		return -ENOENT;
	return backend->config.ops->posted(backend->config.device, (__u32)command->argument[0]);
}
