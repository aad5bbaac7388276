// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/page.h"
#include "lib/base/fail.h"

#define DATA_BYTES_MIN 65536

static int channel_check(const struct channel_config *config)
{
	unsigned int depth = config->queue_depth;
	__u64 rings;

	if (config->queues < 1 || config->queues > RING_QUEUES_MAX)
		return failed(-EINVAL, "queues=%u: accepted: 1 to %d", config->queues,
			      RING_QUEUES_MAX);
	if (depth < 2 || depth > config->depth_max || (depth & (depth - 1)))
		return failed(-EINVAL, "queue_depth=%u: accepted: powers of two from 2 to %d",
			      depth, config->depth_max);
	if (config->guest_address % PAGE_BYTES || config->bytes % PAGE_BYTES)
		return failed(-EINVAL, "device memory at 0x%llx, %llu bytes: not whole pages",
			      config->guest_address, config->bytes);
	rings = config->queues * ring_bytes(depth);
	if (config->bytes < rings + DATA_BYTES_MIN)
		return failed(
			-EINVAL,
			"a device with %u queues of depth %u needs at least %llu bytes of its "
			"tenant's memory, its share is %llu: give the tenant more memory",
			config->queues, depth, rings + DATA_BYTES_MIN, config->bytes);
	return 0;
}

int channel_create(struct channel **channel, const struct channel_config *config)
{
	struct channel *new;
	__u64 rings, *submitted_ns;
	size_t bytes, stamps;
	int err;

	err = channel_check(config);
	if (err)
		return err;
	bytes = sizeof(*new) + config->queues * sizeof(new->queue[0]);
	stamps = (size_t)config->queues * config->queue_depth * sizeof(*submitted_ns);
	new = aligned_alloc(64, (bytes + stamps + 63) & ~63ul);
	if (!new)
		return failed(-ENOMEM, "no memory for a channel of %u queues", config->queues);
	*new = (struct channel){.config = *config};
	submitted_ns = (__u64 *)((char *)new + bytes);
	memset(submitted_ns, 0, stamps);
	for (unsigned int q = 0; q < config->queues; q++)
		new->queue[q] = (struct channel_queue){
			.ring = config->guest_address + q * ring_bytes(config->queue_depth),
			.submitted_ns = submitted_ns + (size_t)q * config->queue_depth,
		};
	rings = config->without_rings ? 0 : config->queues * ring_bytes(config->queue_depth);
	new->data_address = config->guest_address + rings;
	new->data_bytes = config->bytes - rings;
	*channel = new;
	return 0;
}

void channel_destroy(struct channel *channel)
{
	free(channel);
}
