// SPDX-License-Identifier: GPL-2.0
/*
 * Block requests from issue to completion: latencies counted per second, disk and direction, and
 * one event for each that took longer than asked.
 */
#include "bpf/kernel.h"

#include "bpf/device.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* When a request was issued. Requests are reused from a fixed pool, so are their entries. */
MAP(issued, HASH, BLOCK_REQUESTS_MAX, __u64, __u64);

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *request)
{
	__u64 key = (__u64)request, now = bpf_ktime_get_ns();

	if (!probe_hit(PROBE_BLOCK_ISSUE))
		return 0;
	if (bpf_map_update_elem(&issued, &key, &now, BPF_ANY))
		state_failed();
	return 0;
}

static __always_inline struct device_state *disk_of(struct probe_counter *counter,
						    struct request *request)
{
	struct gendisk *disk = BPF_CORE_READ(request, q, disk);
	struct device_key key = {.kind = DEVICE_BLOCK};
	struct device_state fresh = {}, *device;

	if (!disk)
		return NULL;
	key.source = (__u64)BPF_CORE_READ(disk, major) << MINOR_BITS |
		     (__u32)BPF_CORE_READ(disk, first_minor);
	device = bpf_map_lookup_elem(&devices, &key);
	if (device)
		return device;
	bpf_probe_read_kernel_str(fresh.name, 32, disk->disk_name);
	return device_enter(counter, &key, &fresh);
}

static __always_inline __u8 operation_flags(__u32 operation)
{
	return operation & 1 ? EVENT_WRITE : EVENT_READ; /* odd ones carry data to the disk */
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, int status, unsigned int bytes)
{
	struct probe_counter *counter = probe_hit(PROBE_BLOCK_COMPLETE);
	__u64 key = (__u64)request, now = bpf_ktime_get_ns(), latency;
	struct aggregate_key counted = {
		.window = now / AGGREGATE_WINDOW_NS,
		.kind = EVENT_BLOCK_COMPLETE,
		.queue = QUEUE_NONE,
	};
	struct device_state *device;
	struct event *event;
	__u64 *start;

	start = bpf_map_lookup_elem(&issued, &key);
	if (!counter || !start)
		return 0;
	latency = now - *start;
	bpf_map_delete_elem(&issued, &key);
	device = disk_of(counter, request);
	if (device_dropped(device))
		return 0;
	counted.device = device ? device->id : DEVICE_NONE;
	counted.code = status ? IO_ERROR : IO_OK;
	counted.flags = operation_flags(request->cmd_flags & REQ_OP_MASK);
	if (!kind_single(EVENT_BLOCK_COMPLETE))
		aggregate_add(&counted, bytes, latency);
	if (!kind_single(EVENT_BLOCK_COMPLETE) && latency <= filter.slow_block_ns)
		return 0;
	event = event_reserve(counter, EVENT_BLOCK_COMPLETE);
	if (!event)
		return 0;
	event->address = request->__sector;
	event->length = bytes;
	event->value = latency;
	event->device = counted.device;
	event->code = counted.code;
	event->flags = counted.flags;
	event_submit(counter, event);
	return 0;
}
