// SPDX-License-Identifier: GPL-2.0
/* What a workload may be, and which parts of memory and disk it works on. */
#include <errno.h>
#include <stdint.h>

#include "injectors/emu/workload_private.h"
#include "lib/base/fail.h"

int workload_check(const struct workload_config *c)
{
	__u64 weights = 0;

	if (c->size_count < 1 || c->size_count > WORKLOAD_SIZES)
		return failed(-EINVAL, "workload %s: %u block sizes: accepted: 1 to %d", c->name,
			      c->size_count, WORKLOAD_SIZES);
	for (__u32 i = 0; i < c->size_count; i++) {
		if (!c->sizes[i] || c->sizes[i] % PAGE_BYTES || c->sizes[i] > RING_BYTES_MAX)
			return failed(-EINVAL,
				      "workload %s: block size %llu: accepted: multiples of 4096 "
				      "up to 2 MiB",
				      c->name, c->sizes[i]);
		weights += c->size_weights[i];
	}
	if (c->size_count > 1 && (!weights || weights > UINT32_MAX))
		return failed(-EINVAL, "workload %s: the weights of the block sizes sum to %llu",
			      c->name, weights);
	if (c->read_percent > 100)
		return failed(-EINVAL, "workload %s: read_percent=%u: accepted: 0 to 100", c->name,
			      c->read_percent);
	if (c->pattern == PATTERN_ZIPF &&
	    !(c->zipf_theta > 0 && c->zipf_theta < 2 && c->zipf_theta != 1))
		return failed(-EINVAL,
			      "workload %s: zipf_theta=%g: accepted: above 0, below 2, "
			      "not 1",
			      c->name, c->zipf_theta);
	if (!(c->rate >= 0 && c->rate <= 1e9))
		return failed(-EINVAL, "workload %s: rate=%g: accepted: 0 to 1e9 I/Os a second",
			      c->name, c->rate);
	if (!c->count && !c->duration_ns)
		return failed(-EINVAL, "workload %s: needs a count or a duration", c->name);
	return 0;
}

__u64 workload_largest(const struct workload_config *config)
{
	__u64 largest = 0;

	for (__u32 i = 0; i < config->size_count; i++)
		largest = config->sizes[i] > largest ? config->sizes[i] : largest;
	return largest;
}

int workload_plan(struct workload *w)
{
	const struct workload_config *c = &w->config;
	__u64 disk = w->channel->disk_bytes, largest = workload_largest(c);
	__u64 smallest = UINT64_MAX, needed, span;
	bool copies = w->channel->config.io == DEVICE_IO_COPY;

	if (c->depth < 1 || c->depth > w->channel->config.queue_depth)
		return failed(-EINVAL, "workload %s: depth=%u: accepted: 1 to the queue's %u",
			      c->name, c->depth, w->channel->config.queue_depth);
	for (__u32 i = 0; i < c->size_count; i++)
		smallest = c->sizes[i] < smallest ? c->sizes[i] : smallest;
	/* A copy engine has its sources in the lower half and its destinations in the upper. */
	needed = copies ? 2 * largest : largest;
	w->data_bytes = c->buffer_bytes;
	if (!w->data_bytes) {
		w->data_bytes = w->channel->data_bytes / 2;
		if (w->data_bytes < needed)
			w->data_bytes = w->channel->data_bytes;
	}
	w->data_bytes &= ~(PAGE_BYTES - 1);
	if (w->data_bytes > w->channel->data_bytes || w->data_bytes < needed)
		return failed(-EINVAL,
			      "workload %s: buffer of %llu bytes: accepted: %llu to the device's "
			      "share of %llu",
			      c->name, w->data_bytes, needed, w->channel->data_bytes);
	if (!copies && disk / PAGE_BYTES * PAGE_BYTES < largest)
		return failed(-EINVAL,
			      "workload %s: the disk of %llu bytes is smaller than an I/O "
			      "of %llu",
			      c->name, disk, largest);
	span = copies ? w->data_bytes / 2 & ~(PAGE_BYTES - 1) : w->data_bytes;
	pattern_init(&w->memory_pattern, c->pattern, span, smallest, c->zipf_theta,
		     random_next(&w->random));
	w->target_base = copies ? w->channel->data_address + span : 0;
	pattern_init(&w->target_pattern, c->pattern, copies ? span : disk, smallest, c->zipf_theta,
		     random_next(&w->random));
	return 0;
}
