// SPDX-License-Identifier: GPL-2.0
/* What each kind of command asks for: all of it is checked here, on the backend's own copy. */
#include <errno.h>

#include "injectors/emu/pins.h"
#include "injectors/emu/verbs/verbs_backend_objects.h"
#include "lib/base/clock.h"

#define RIGHTS	     (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define NUMBER_BITS  24		/* of a queue pair's number */
#define ADVISE_BYTES HUGE_BYTES /* brought in between two looks at whether the device stops */

static int command_limits(struct verbs_backend *backend, struct verbs_command *command)
{
	struct verbs_limits limits = {
		.queue_pairs = VERBS_QUEUE_PAIRS_MAX,
		.queues = VERBS_QUEUES_MAX,
		.regions = VERBS_REGIONS_MAX,
		.depth = VERBS_DEPTH_MAX,
		.pieces = VERBS_SGE_MAX,
	};

	backend->config.ops->limits(backend->config.device, &limits);
	verbs_pack_limits(&limits, command->result);
	return 0;
}

int backend_rights_valid(__u64 rights)
{
	if (rights & ~(__u64)RIGHTS)
		return -EINVAL;
	/* As ibv_reg_mr(): what others may write its owner may. */
	return rights & VERBS_REMOTE_WRITE && !(rights & VERBS_LOCAL_WRITE) ? -EINVAL : 0;
}

static int command_register(struct verbs_backend *backend, struct verbs_command *command)
{
	const __u64 *argument = command->argument;
	struct backend_region region = {.address = argument[0], .bytes = argument[1]};
	int error = argument[2] >= VERBS_REGIONS ? -EINVAL : backend_rights_valid(argument[3]);
	__u32 key;

	if (error)
		return error;
	if (argument[2] == VERBS_IMPLICIT) {
		if (region.address || region.bytes)
			return -EINVAL;
		region.address = backend->share.address;
		region.bytes = backend->share.bytes;
	}
	if (!region.bytes)
		return -EINVAL;
	if (!backend_domain_valid(backend, argument[4]))
		return -ENOENT;
	region.kind = (__u8)argument[2];
	region.rights = (__u8)argument[3];
	region.domain = (__u16)argument[4];
	region.memory = (struct verbs_memory){.address = region.address, .bytes = region.bytes};
	if (argument[2] != VERBS_IMPLICIT)
		error = backend_find(backend, &region.memory);
	if (!error && region.memory.owned)
		error = -EFAULT;
	if (!error)
		error = backend_region_create(backend, &region, &key);
	command->result[0] = error ? 0 : key;
	return error;
}

static int command_deregister(struct verbs_backend *backend, struct verbs_command *command)
{
	struct backend_region *region = backend_region(backend, command->argument[0]);

	return region ? backend_region_destroy(backend, region) : -ENOENT;
}

static int advise(struct verbs_backend *backend, __u64 address, __u64 bytes, bool write,
		  __u32 *pages)
{
	for (__u64 done = 0, piece; done < bytes; done += piece) {
		/* Up to a page's end: none is counted twice. */
		__u64 room = ADVISE_BYTES - ((address + done) & (PAGE_BYTES - 1));
		int error;

		if (atomic_load(&backend->stopping) || atomic_load(&backend->registers->stopping))
			return -ESHUTDOWN;
		piece = bytes - done < room ? bytes - done : room;
		error = machine_advise(backend->config.machine, backend->config.index,
				       address + done, piece, write);
		if (error)
			return error;
		*pages += (__u32)(backend_pages(address + done, piece) >> PAGE_BITS);
	}
	return 0;
}

/* `offset`: of the first byte in the region's first page. */
static int advise_list(struct verbs_backend *backend, const struct verbs_memory *memory,
		       __u64 offset, __u64 bytes, bool write, __u32 *pages)
{
	__u64 end = (offset + bytes + PAGE_BYTES - 1) >> PAGE_BITS;
	int error = 0;

	for (__u64 page = offset >> PAGE_BITS; !error && page < end; page++)
		error = advise(backend, memory->pages[page], PAGE_BYTES, write, pages);
	return error;
}

static int command_advise(struct verbs_backend *backend, struct verbs_command *command)
{
	const __u64 *argument = command->argument;
	const struct backend_region *region = backend_region(backend, argument[0]);
	const struct verbs_memory *memory;
	struct backend_range range;
	__u64 start_ns = monotonic_ns(), iova;
	__u32 pages = 0;
	int error;

	if (!region)
		return -ENOENT;
	memory = &region->memory;
	range = (struct backend_range){region->address, region->bytes};
	if (!argument[2] || argument[3] > 1)
		return -EINVAL;
	if (!backend_within(&range, argument[1], argument[2]))
		return -EFAULT;
	if (argument[3] && !(region->rights & VERBS_LOCAL_WRITE))
		return -EACCES;
	if (memory->pages) {
		__u64 offset = argument[1] - region->address + region->address % PAGE_BYTES;

		error = advise_list(backend, memory, offset, argument[2], argument[3], &pages);
		iova = memory->pages[offset >> PAGE_BITS] + offset % PAGE_BYTES;
	} else {
		error = advise(backend, argument[1], argument[2], argument[3], &pages);
		iova = argument[1];
	}
	if (backend->config.ops->advised)
		backend->config.ops->advised(backend->config.device, region->key,
					     iova + backend->iova_offset, argument[2], pages,
					     monotonic_ns() - start_ns, error);
	return error;
}

bool backend_depth_valid(__u64 depth)
{
	return depth && depth <= VERBS_DEPTH_MAX && !(depth & (depth - 1));
}

int backend_find(const struct verbs_backend *backend, struct verbs_memory *memory)
{
	const struct verbs_host_ops *host = backend->config.host_ops;

	if (!memory->pages && !backend_within(&backend->share, memory->address, memory->bytes))
		return -EFAULT;
	return host && host->find ? host->find(backend->config.host, memory, &memory->owned) : 0;
}

int backend_rings(const struct verbs_backend *backend, __u64 address, __u64 bytes,
		  struct verbs_memory *memory)
{
	*memory = (struct verbs_memory){.address = address, .bytes = bytes};
	return address % PAGE_BYTES ? -EINVAL : backend_find(backend, memory);
}

static int command_create_queue(struct verbs_backend *backend, struct verbs_command *command)
{
	const __u64 *argument = command->argument;
	struct verbs_memory memory;
	__u32 number;
	int error;

	if (!backend_depth_valid(argument[1]))
		return -EINVAL;
	error = backend_rings(backend, argument[0], verbs_completion_bytes((__u32)argument[1]),
			      &memory);
	if (!error)
		error = backend_queue_create(backend, &memory, (__u32)argument[1], &number);
	command->result[0] = error ? 0 : number;
	return error;
}

static int command_destroy_queue(struct verbs_backend *backend, struct verbs_command *command)
{
	struct backend_queue *queue = backend_queue(backend, command->argument[0]);

	if (!queue)
		return -ENOENT;
	return queue->users ? -EBUSY : backend_queue_destroy(backend, queue);
}

static int command_create_pair(struct verbs_backend *backend, struct verbs_command *command)
{
	const __u64 *argument = command->argument;
	struct verbs_pair_setup setup;
	struct verbs_memory memory;
	__u32 number;
	int error;

	if (!backend_depth_valid(argument[1]) || !backend_depth_valid(argument[2]))
		return -EINVAL;
	if (!backend_queue(backend, argument[3]) || !backend_queue(backend, argument[4]))
		return -ENOENT;
	setup = (struct verbs_pair_setup){
		.send_depth = (__u32)argument[1],
		.receive_depth = (__u32)argument[2],
		.send_queue = (__u32)argument[3],
		.receive_queue = (__u32)argument[4],
		.shared = VERBS_NO_SRQ,
	};
	error = backend_rings(backend, argument[0],
			      verbs_pair_bytes(setup.send_depth, setup.receive_depth), &memory);
	if (!error)
		error = backend_pair_create(backend, &memory, &setup, &number);
	command->result[0] = error ? 0 : number;
	return error;
}

static int command_modify_pair(struct verbs_backend *backend, struct verbs_command *command)
{
	const __u64 *argument = command->argument;

	if (!backend_pair(backend, argument[0]))
		return -ENOENT;
	if (argument[1] > VERBS_ERROR || argument[1] == VERBS_SQE_UNUSED ||
	    argument[2] >> NUMBER_BITS || argument[3] & ~(__u64)VERBS_LOOPBACK)
		return -EINVAL;
	return backend->config.ops->modify_pair(backend->config.device, (__u32)argument[0],
						(enum verbs_pair_state)argument[1],
						(__u32)argument[2], argument[3] & VERBS_LOOPBACK);
}

static int command_query_pair(struct verbs_backend *backend, struct verbs_command *command)
{
	enum verbs_pair_state state = VERBS_RESET;
	__u32 peer = 0;
	int error;

	if (!backend_pair(backend, command->argument[0]))
		return -ENOENT;
	error = backend->config.ops->query_pair(backend->config.device, (__u32)command->argument[0],
						&state, &peer);
	command->result[0] = state;
	command->result[1] = peer;
	return error;
}

static int command_destroy_pair(struct verbs_backend *backend, struct verbs_command *command)
{
	struct backend_pair *pair = backend_pair(backend, command->argument[0]);

	return pair ? backend_pair_destroy(backend, pair) : -ENOENT;
}

static const struct {
	int (*carry_out)(struct verbs_backend *backend, struct verbs_command *command);
	unsigned int arguments;
} kinds[VERBS_COMMAND_KINDS] = {
	[VERBS_OPEN] = {command_limits, 0},
	[VERBS_QUERY_DEVICE] = {command_limits, 0},
	[VERBS_REGISTER] = {command_register, 5},
	[VERBS_DEREGISTER] = {command_deregister, 1},
	[VERBS_ADVISE] = {command_advise, 4},
	[VERBS_CREATE_CQ] = {command_create_queue, 2},
	[VERBS_DESTROY_CQ] = {command_destroy_queue, 1},
	[VERBS_CREATE_QP] = {command_create_pair, 5},
	[VERBS_MODIFY_QP] = {command_modify_pair, 4},
	[VERBS_QUERY_QP] = {command_query_pair, 1},
	[VERBS_DESTROY_QP] = {command_destroy_pair, 1},
	[VERBS_ALLOC_PD] = {command_alloc_domain, 0},
	[VERBS_DEALLOC_PD] = {command_dealloc_domain, 1},
	[VERBS_REGISTER_PAGES] = {command_register_pages, 5},
	[VERBS_CREATE_SRQ] = {command_create_shared, 3},
	[VERBS_DESTROY_SRQ] = {command_destroy_shared, 1},
	[VERBS_CREATE_QP_OF] = {command_create_pair_of, 4},
	[VERBS_CREATE_CHANNEL] = {command_create_channel, 0},
	[VERBS_DESTROY_CHANNEL] = {command_destroy_channel, 1},
	[VERBS_MAP_RESOURCE] = {command_map, 4},
	[VERBS_UNMAP_RESOURCE] = {command_unmap, 2},
	[VERBS_POST] = {command_post, 2},
};

int backend_command(struct verbs_backend *backend, struct verbs_command *command)
{
	command->result[0] = command->result[1] = 0;
	if (command->kind >= VERBS_COMMAND_KINDS || !kinds[command->kind].carry_out)
		return -EOPNOTSUPP;
	if (command->reserved)
		return -EINVAL;
	for (unsigned int i = kinds[command->kind].arguments; i < 5; i++)
		if (command->argument[i])
			return -EINVAL;
	return kinds[command->kind].carry_out(backend, command);
}
