// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/nic_rig.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/sentence.h"
#include "lib/base/array.h"
#include "tests/unit/told.h"

void nic_rig_begin(struct nic_rig *rig)
{
	memset(rig, 0, sizeof(*rig));
}

void nic_rig_add(struct nic_rig *rig, struct event event)
{
	assert_true(
		array_grow(&rig->events, &rig->room, rig->count + 1, sizeof(event), ARRAY_PLAIN));
	rig->events[rig->count++] = event;
}

static struct event told_event(__u16 kind, __u64 time, __u32 flow)
{
	return (struct event){
		.kind = kind,
		.time_ns = NIC_START + time,
		.device = flow == FLOW_ELSEWHERE ? NIC_OTHER : NIC_ONE,
		.pasid = PASID_NONE,
		.tid = flow,
	};
}

static __u64 range_of(__u32 first, __u32 length)
{
	return (__u64)first << 32 | (__u32)(first + length);
}

struct event told_lost(__u64 time, __u64 since, __u32 flow, __u32 first, __u32 length, __u32 frames,
		       enum loss_reason reason, __u32 instance)
{
	struct event e = told_event(EVENT_FRAMES_LOST, time, flow);

	e.address = range_of(first, length);
	e.length = (__u64)frames << 32 | length;
	e.value = NIC_START + since;
	e.code = (__u8)reason;
	e.group = instance ? 5 : 0;
	e.instance = instance;
	return e;
}

struct event told_recovered(__u64 time, __u32 flow, __u32 first, __u32 length)
{
	struct event e = told_event(EVENT_FRAMES_RECOVERED, time, flow);

	e.address = range_of(first, length);
	e.length = length;
	return e;
}

struct event told_resent(__u64 time, __u32 flow, __u32 first, __u32 length,
			 enum tcp_recovery recovery, __u64 timeout)
{
	struct event e = told_event(EVENT_TCP_RETRANSMIT, time, flow);

	e.address = range_of(first, length);
	e.length = length;
	e.group = 1;
	e.code = (__u8)recovery;
	e.value = timeout;
	e.queue = QUEUE_NONE;
	return e;
}

struct event told_error(__u64 time, __u32 flow, int error)
{
	struct event e = told_event(EVENT_TCP_ERROR, time, flow);

	e.value = (__u64)error;
	e.queue = QUEUE_NONE;
	return e;
}

struct event told_ring(__u64 time, __u16 queue, enum ring_side side, __u64 frames, __u64 bytes,
		       __u32 lost)
{
	struct event e = told_event(EVENT_RING_STATE, time, 0);

	e.queue = queue;
	e.code = (__u8)side;
	e.value = frames;
	e.length = bytes;
	e.tid = lost;
	return e;
}

void nic_rig_fault(struct nic_rig *rig, __u32 instance, __u64 from, __u64 total)
{
	static const __u64 before[] = {0, 10 * US, 20 * US, 30 * US};
	static const __u64 after[] = {70 * US, 50 * US, 20 * US, 0};

	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		__u64 at = k < 4 ? before[k] : total - after[k - 4];
		struct event e = told_event((__u16)(EVENT_FAULT_DETECT + k), from + at, 0);

		e.group = 5;
		e.instance = instance;
		e.address = 4096;
		nic_rig_add(rig, e);
	}
}

/* Equal times stay in the order in which they were told. */
static void sort_by_time(struct event *events, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct event e = events[i];
		size_t at = i;

		for (; at && events[at - 1].time_ns > e.time_ns; at--)
			events[at] = events[at - 1];
		events[at] = e;
	}
}

static void tell_devices(const struct nic_rig *rig, struct stream to)
{
	const struct host_info host = {.hostname = "moon", .start_ns = NIC_START};
	struct device_info device = {
		.handle = NIC_ONE,
		.kind = DEVICE_EMULATED,
		.name = "vm/net",
		.model = "nic/drop",
		.pid = 7,
		.pid_start_ns = rig->pid_start_ns,
		.first_ns = NIC_START,
	};

	to.ops->host(to.self, &host);
	to.ops->device(to.self, &device);
	device.handle = NIC_OTHER;
	strcpy(device.name, "vm1/net");
	strcpy(device.model, "nic");
	to.ops->device(to.self, &device);
}

static void tell_flows(struct stream to)
{
	const __u8 client[16] = {10, 77, 0, 2}, server[16] = {10, 77, 0, 1};

	for (__u32 id = FLOW_IN; id <= FLOW_UDP; id++) {
		struct flow_info flow = {
			.id = id,
			.device = id == FLOW_ELSEWHERE ? NIC_OTHER : NIC_ONE,
			.family = AF_INET,
			.protocol = id == FLOW_UDP ? IPPROTO_UDP : IPPROTO_TCP,
			.source_port = id == FLOW_OUT ? 5201 : 40002,
			.destination_port = id == FLOW_OUT ? 40002 : 5201,
		};

		memcpy(flow.source, id == FLOW_OUT ? server : client, 16);
		memcpy(flow.destination, id == FLOW_OUT ? client : server, 16);
		to.ops->flow(to.self, &flow);
	}
}

void nic_rig_run(struct nic_rig *rig, size_t chunk)
{
	struct stream to;
	__u64 end;

	sort_by_time(rig->events, rig->count);
	assert_int_equal(analysis_create(&rig->analysis, &rig->config), 0);
	to = analysis_stream(rig->analysis);
	tell_devices(rig, to);
	tell_flows(to);
	told_in_batches(to, rig->events, rig->count, chunk);
	end = rig->end_ns ? NIC_START + rig->end_ns : rig->events[rig->count - 1].time_ns;
	assert_int_equal(to.ops->tick(to.self, end), 0);
	if (!rig->goes_on)
		assert_int_equal(to.ops->end(to.self, end), 0);
}

size_t nic_rig_rows(struct nic_rig *rig, analyzer_write *write)
{
	return told_rows(&rig->rows, rig->analysis, write);
}

union cell nic_rig_cell(const struct nic_rig *rig, size_t row, const char *column)
{
	return told_cell(&rig->rows, row, column);
}

const char *nic_rig_words(const struct nic_rig *rig, size_t rank, char text[NIC_WORDS])
{
	size_t count = 0;
	const struct stall **list = stalls_longest(rig->analysis->stalls,
						   session_last_ns(rig->analysis->session), &count);
	struct sentence words = {0};

	assert_non_null(list);
	assert_true(rank < count);
	stall_tell(list[rank], rig->analysis->session, &words);
	snprintf(text, NIC_WORDS, "%.*s", NIC_WORDS - 1, words.text);
	free(list);
	return text;
}

void nic_rig_end(struct nic_rig *rig)
{
	analysis_destroy(rig->analysis);
	rows_free(&rig->rows);
	free(rig->events);
	memset(rig, 0, sizeof(*rig));
}
