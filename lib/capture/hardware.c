// SPDX-License-Identifier: GPL-2.0
/* What devices count themselves, read by user space beside the events of the kernel. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/capture/inside.h"
#include "lib/capture/rdma_counters.h"

/* The handle of an RDMA device: the same whoever has met it first, this or the kernel side. */
static __u32 rdma_handle(struct capture *c, const char *name)
{
	const struct device_key key = {.kind = DEVICE_IB, .source = rdma_device_source(name)};
	struct device_info info = {
		.kind = DEVICE_IB,
		.iommu_group = -1,
		.first_ns = monotonic_ns(),
	};

	snprintf(info.name, sizeof(info.name), "%.*s", DEVICE_TEXT - 1, name);
	rdma_device_model(name, info.model);
	return device_table_enter(c->devices, &key, &info);
}

static int take_rdma_counter(void *self, const char *name, const struct event *event)
{
	struct capture *c = self;
	struct event copy = *event;

	copy.device = rdma_handle(c, name);
	if (copy.device == HANDLE_DROPPED)
		return 0;
	c->rdma_events++;
	return merge_push(c->merge, source_local(c), &copy);
}

int capture_read_hardware(struct capture *c, __u64 now_ns)
{
	int error = 0;

	if (probe_set_info(c->probes, PROBE_RDMA_COUNTERS)->state != PROBE_ON)
		return 0;
	if (!c->rdma)
		/* The module that brings such devices has been loaded under our eyes. */
		return rdma_counters_create(&c->rdma, NULL, c->attached, now_ns);
	error = rdma_counters_poll(c->rdma, now_ns, take_rdma_counter, c);
	probe_set_read(c->probes, PROBE_RDMA_COUNTERS, rdma_counters_reads(c->rdma),
		       c->rdma_events);
	return error;
}

int capture_finish_hardware(struct capture *c)
{
	int error = 0;

	if (!c->rdma)
		return 0;
	error = rdma_counters_finish(c->rdma, take_rdma_counter, c);
	probe_set_read(c->probes, PROBE_RDMA_COUNTERS, rdma_counters_reads(c->rdma),
		       c->rdma_events);
	return error;
}
