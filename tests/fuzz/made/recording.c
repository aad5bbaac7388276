// SPDX-License-Identifier: GPL-2.0
#include "tests/fuzz/made/recording.h"

#include <stdio.h>
#include <stdlib.h>

#include "bpf/histogram.h"
#include "lib/capture/probes.h"
#include "lib/trace/dictionary.h"
#include "lib/trace/pack.h"
#include "lib/trace/records.h"

#define START_NS 1000000000000ull
#define EVENTS	 32
#define ROWS	 12
#define STEPS	 256
#define LENGTH	 (4u << 20)
#define CLAIMED	 5000	       /* records of a claim at most, each of no bytes */
#define JUMP	 0x7fffffffull /* in time, at most: `top` shows each second of it */

struct maker {
	struct bytes in;
	struct trace_buffer *out, payload, scratch;
	__u64 now_ns, sequence;
	__u32 group;
};

/* What is told again where a segment needs it lies in a frame of several. */
static enum trace_frame_type wrap(struct maker *m, enum trace_frame_type type)
{
	m->scratch.size = 0;
	trace_put_record(&m->scratch, (__u8)type, m->payload.bytes, m->payload.size);
	m->payload.size = 0;
	trace_buffer_put(&m->payload, m->scratch.bytes, m->scratch.size);
	return TRACE_RECORDS;
}

static void put_frame(struct maker *m, enum trace_frame_type type, __u32 count, __u64 first_ns)
{
	__u8 how = take_byte(&m->in), wrapped = (__u8)(how < 8 ? wrap(m, type) : type);
	struct trace_frame_header header = {
		.type = wrapped,
		.count = count,
		.recording = 7,
		.sequence = m->sequence++,
		.raw_length = (__u32)m->payload.size,
		.stored_length = (__u32)m->payload.size,
		.first_ns = first_ns,
		.last_ns = m->now_ns,
	};

	if (how == 255)
		header.flags = TRACE_REPEATED;
	trace_seal(&header, m->payload.bytes);
	trace_buffer_put(m->out, &header, sizeof(header));
	trace_buffer_put(m->out, m->payload.bytes, m->payload.size);
	m->payload.size = 0;
}

static void put_host(struct maker *m)
{
	struct host_info host = {.cpus = 2, .page_size = 4096, .start_ns = START_NS};

	take_text(&m->in, host.hostname, sizeof(host.hostname));
	take_text(&m->in, host.devices, sizeof(host.devices));
	take_text(&m->in, host.kinds, sizeof(host.kinds));
	if (take_byte(&m->in) > 200)
		host.start_ns = take_number(&m->in);
	trace_put_host(&m->payload, &host);
	put_frame(m, TRACE_HOST, 1, m->now_ns);
}

static void put_clock(struct maker *m)
{
	struct clock_anchor anchor = {m->now_ns, 1795269723000000000ull + m->now_ns};

	if (take_byte(&m->in) > 128) {
		anchor.monotonic_ns = take_number(&m->in);
		anchor.realtime_ns = take_number(&m->in);
	}
	trace_put_clock(&m->payload, &anchor);
	put_frame(m, TRACE_CLOCK, 1, m->now_ns);
}

static void put_probe(struct maker *m)
{
	struct probe_info probe = {.state = take_below(&m->in, 4)};
	unsigned int id = take_byte(&m->in);

	if (id < PROBE_COUNT)
		snprintf(probe.name, sizeof(probe.name), "%s", probe_row(id)->name);
	else
		take_text(&m->in, probe.name, sizeof(probe.name));
	take_text(&m->in, probe.reason, sizeof(probe.reason));
	probe.hits = take_number(&m->in);
	probe.emitted = take_number(&m->in);
	probe.lost = take_number(&m->in);
	probe.missed = take_number(&m->in);
	trace_put_probe(&m->payload, &probe);
	put_frame(m, TRACE_PROBE, 1, m->now_ns);
}

static void put_device(struct maker *m)
{
	struct device_info device = {
		.handle = take_below(&m->in, 7),
		.kind = take_below(&m->in, DEVICE_KIND_MAX + 1),
		.iommu_group = -1,
		.pid = take_byte(&m->in),
		.queues = (__u32)take_number(&m->in),
		.memory = take_number(&m->in),
		.first_ns = m->now_ns,
		.source_id = take_number(&m->in),
		.mapped_at = take_number(&m->in),
	};

	if (take_byte(&m->in) > 250)
		device.handle = (__u32)take_number(&m->in);
	take_text(&m->in, device.name, sizeof(device.name));
	take_text(&m->in, device.comm, sizeof(device.comm));
	snprintf(device.model, sizeof(device.model), "%s", take_byte(&m->in) & 1 ? "block" : "");
	trace_put_device(&m->payload, &device);
	put_frame(m, TRACE_DEVICE, 1, m->now_ns);
}

static void put_flow(struct maker *m)
{
	struct flow_info flow = {.id = take_below(&m->in, 5), .device = take_below(&m->in, 7)};

	flow.family = take_byte(&m->in);
	flow.protocol = take_byte(&m->in);
	flow.ethertype = (__u16)take_number(&m->in);
	flow.source_port = (__u16)take_number(&m->in);
	take_bytes(&m->in, flow.source, sizeof(flow.source));
	take_bytes(&m->in, flow.destination, sizeof(flow.destination));
	trace_put_flow(&m->payload, &flow);
	put_frame(m, TRACE_FLOW, 1, m->now_ns);
}

static void put_texts(struct maker *m, bool stack)
{
	static struct stack_info of_stack;
	struct process_info process = {.pid = take_byte(&m->in), .first_ns = m->now_ns};

	if (stack) {
		of_stack.id = take_byte(&m->in);
		of_stack.depth = take_byte(&m->in);
		take_text(&m->in, of_stack.text, sizeof(of_stack.text));
		trace_put_stack(&m->payload, &of_stack);
	} else {
		take_text(&m->in, process.comm, sizeof(process.comm));
		trace_put_process(&m->payload, &process);
	}
	put_frame(m, stack ? TRACE_STACK : TRACE_PROCESS, 1, m->now_ns);
}

static void put_counters(struct maker *m, enum trace_frame_type type)
{
	unsigned int counters = type == TRACE_LOSS ? 14 : type == TRACE_KEPT ? 3 : 1;

	for (unsigned int i = 0; i < counters; i++)
		trace_buffer_put_u64(&m->payload, type == TRACE_END && take_byte(&m->in) < 200
							  ? m->now_ns
							  : take_number(&m->in));
	put_frame(m, type, 1, m->now_ns);
}

/* Any, but seldom one that becomes more pages than a fuzzer has time for. */
static __u64 take_length(struct maker *m)
{
	__u64 length = take_number(&m->in);

	return take_byte(&m->in) < 250 ? length & (LENGTH - 1) : length;
}

static void take_event(struct maker *m, struct event *event)
{
	*event = (struct event){
		.time_ns = m->now_ns += take_number(&m->in) & 0x3fffffff,
		.kind = take_below(&m->in, EVENT_KIND_MAX + 1),
		.device = take_below(&m->in, 5),
		.group = take_below(&m->in, 4),
		.instance = take_below(&m->in, 3),
		.pasid = take_byte(&m->in) & 3 ? PASID_NONE : take_byte(&m->in),
		.address = take_number(&m->in) << 12,
		.length = take_length(m),
		.value = take_number(&m->in),
		.pid = take_below(&m->in, 5),
		.tid = take_below(&m->in, 5),
		.queue = take_byte(&m->in) & 1 ? QUEUE_NONE : 0,
		.cpu = take_below(&m->in, 3),
		.code = take_byte(&m->in),
		.flags = take_byte(&m->in),
	};
}

/* The stages of one fault, but for those left out; the second byte has the order and the pace. */
static size_t take_fault(struct maker *m, struct event events[FAULT_STAGES])
{
	__u8 stages = take_byte(&m->in), how = take_byte(&m->in);
	struct event first;
	size_t count = 0;

	take_event(m, &first);
	first.device = 1 + how % 3;
	first.group = how & 8 ? first.group : ++m->group;
	for (__u16 stage = 0; stage < FAULT_STAGES; stage++) {
		if (!(stages & (1u << stage)))
			continue;
		events[count] = first;
		events[count].kind = EVENT_FAULT_DETECT + stage;
		events[count].time_ns = m->now_ns += (__u64)how << (how & 16 ? 16 : 4);
		events[count].flags |= how & 32 || stage < 3 ? 0 : EVENT_GROUP;
		count++;
	}
	return count;
}

static void put_events(struct maker *m, bool faults)
{
	struct event events[EVENTS];
	__u64 values[2 * EVENTS], first_ns = m->now_ns;
	size_t wanted = 1 + take_below(&m->in, faults ? EVENTS / FAULT_STAGES : EVENTS), count = 0;
	struct trace_tick tick = {0, m->now_ns};
	__u32 ticks = take_byte(&m->in) & 1;

	while (wanted--) {
		if (faults)
			count += take_fault(m, events + count);
		else
			take_event(m, &events[count++]);
	}
	tick.position = take_below(&m->in, EVENTS);
	trace_buffer_put_u32(&m->payload, ticks);
	trace_columns_encode(&trace_event_layout, events, count, values, &m->payload, NULL);
	trace_columns_encode(&trace_tick_layout, &tick, ticks, values, &m->payload, NULL);
	put_frame(m, TRACE_EVENTS, (__u32)count, first_ns);
}

static void put_aggregate(struct maker *m)
{
	struct aggregate_row rows[ROWS] = {0};
	struct aggregate_bin bins[ROWS];
	struct aggregate_page pages[ROWS];
	struct aggregate_frame frame = {
		.window = m->now_ns / AGGREGATE_WINDOW_NS + take_below(&m->in, 4),
		.incomplete = take_byte(&m->in) == 255,
		.row_count = take_below(&m->in, ROWS + 1),
		.bin_count = ROWS,
		.page_count = take_below(&m->in, ROWS + 1),
		.rows = rows,
		.bins = bins,
		.pages = pages,
	};

	for (__u32 i = 0; i < frame.row_count; i++) {
		rows[i].key = (struct aggregate_key){
			.window = frame.window - (take_byte(&m->in) > 250),
			.device = take_below(&m->in, 5),
			.pid = take_below(&m->in, 3),
			.kind = take_byte(&m->in) & 1 ? EVENT_IO_COMPLETE
						      : take_below(&m->in, EVENT_KIND_MAX + 1),
			.code = take_below(&m->in, 8),
			.flags = take_byte(&m->in),
		};
		rows[i].counts =
			(struct aggregate_counts){take_number(&m->in), take_number(&m->in),
						  take_number(&m->in), take_number(&m->in)};
		rows[i].histogram = take_byte(&m->in) > 250 ? (__u32)take_number(&m->in) : i;
		rows[i].bins = take_byte(&m->in) & 1;
	}
	for (__u32 i = 0; i < ROWS; i++) {
		bins[i].bucket = take_number(&m->in) % HISTOGRAM_BUCKETS;
		bins[i].count = (__u32)take_number(&m->in);
		pages[i] = (struct aggregate_page){
			take_number(&m->in), take_below(&m->in, 5), (__u32)take_number(&m->in),
			(__u32)take_number(&m->in), take_below(&m->in, 3)};
	}
	if (trace_put_aggregate(&m->payload, &frame, &m->scratch))
		abort();
	m->now_ns = (frame.window + 1) * AGGREGATE_WINDOW_NS;
	put_frame(m, TRACE_AGGREGATE, 1, frame.window * AGGREGATE_WINDOW_NS);
}

/* Columns without planes: a count is all that there is of so many records. */
static void put_claim(struct maker *m, unsigned int columns)
{
	while (columns--) {
		static const __u8 delta[] = {1, 0, 0, 0};

		trace_buffer_put(&m->payload, delta, sizeof(delta));
		trace_buffer_put_u64(&m->payload, take_below(&m->in, 3)); /* base, of each step */
		trace_buffer_put_u64(&m->payload, take_number(&m->in));	  /* start */
	}
}

static void put_claims(struct maker *m)
{
	__u32 count = (__u32)(take_number(&m->in) % CLAIMED);

	if (take_byte(&m->in) & 1) {
		trace_buffer_put_u32(&m->payload, 0);
		put_claim(m, 15);
		put_claim(m, 2);
		put_frame(m, TRACE_EVENTS, count, m->now_ns);
		return;
	}
	trace_buffer_put_u64(&m->payload, m->now_ns / AGGREGATE_WINDOW_NS);
	trace_buffer_put_u8(&m->payload, 0);
	for (int i = 0; i < 3; i++)
		trace_buffer_put_u32(&m->payload, take_byte(&m->in) & 1 ? count : 0);
	put_claim(m, 13);
	put_claim(m, 2);
	put_claim(m, 5);
	put_frame(m, TRACE_AGGREGATE, 1, m->now_ns);
}

static void put_raw(struct maker *m)
{
	__u8 type = take_below(&m->in, 16), count = take_byte(&m->in);
	size_t size = take_byte(&m->in);
	void *bytes = trace_buffer_reserve(&m->payload, size + 1);

	take_bytes(&m->in, bytes, size);
	m->payload.size += size;
	put_frame(m, type, count, take_number(&m->in));
}

static void put_step(struct maker *m)
{
	switch (take_below(&m->in, 20)) {
	case 0:
		put_host(m);
		break;
	case 1:
		put_clock(m);
		break;
	case 2:
	case 3:
		put_probe(m);
		break;
	case 4:
	case 5:
		put_device(m);
		break;
	case 6:
		put_flow(m);
		break;
	case 7:
		put_texts(m, take_byte(&m->in) & 1);
		break;
	case 8:
		put_counters(m, take_byte(&m->in) & 1 ? TRACE_LOSS : TRACE_KEPT);
		break;
	case 9:
		put_raw(m);
		break;
	case 10:
		put_claims(m);
		break;
	case 11:
	case 12:
	case 13:
		put_aggregate(m);
		break;
	case 14:
		m->now_ns += take_number(&m->in) & JUMP;
		break;
	case 15:
	case 16:
		put_events(m, false);
		break;
	default:
		put_events(m, true);
	}
}

void make_recording(struct trace_buffer *out, const uint8_t *data, size_t size)
{
	struct trace_file_header file = {
		.version = TRACE_VERSION, .event_version = EVENT_VERSION, .recording = 7};
	struct maker m = {.in = {data, size}, .out = out, .now_ns = START_NS};

	out->size = 0;
	trace_seal_file(&file);
	trace_buffer_put(out, &file, sizeof(file));
	for (int steps = 0; m.in.left && steps < STEPS; steps++)
		put_step(&m);
	if (!(size & 1))
		put_counters(&m, TRACE_END);
	trace_buffer_free(&m.payload);
	trace_buffer_free(&m.scratch);
}
