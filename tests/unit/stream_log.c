// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/stream_log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/histogram.h"

static void put(struct stream_log *log, const void *bytes, size_t size)
{
	if (log->size + size > log->capacity) {
		log->capacity = 2 * (log->size + size);
		log->bytes = realloc(log->bytes, log->capacity);
	}
	memcpy(log->bytes + log->size, bytes, size);
	log->size += size;
}

static void begin(struct stream_log *log, int call)
{
	char name = (char)('A' + call);

	log->calls[call]++;
	log->run = 0;
	put(log, &name, 1);
}

static void put_u64(struct stream_log *log, __u64 value)
{
	put(log, &value, sizeof(value));
}

static void put_text(struct stream_log *log, const char *text)
{
	put(log, text, strlen(text) + 1);
}

static int log_host(void *self, const struct host_info *host)
{
	begin(self, LOG_HOST);
	put_text(self, host->hostname);
	put_text(self, host->kernel);
	put_text(self, host->boot_id);
	put_text(self, host->version);
	put_text(self, host->command);
	put_u64(self, host->cpus);
	put_u64(self, host->page_size);
	put_u64(self, host->start_ns);
	put_text(self, host->devices);
	put_text(self, host->kinds);
	return 0;
}

static int log_clock(void *self, const struct clock_anchor *anchor)
{
	begin(self, LOG_CLOCK);
	put(self, anchor, sizeof(*anchor));
	return 0;
}

static int log_probe(void *self, const struct probe_info *probe)
{
	begin(self, LOG_PROBE);
	put_text(self, probe->name);
	put_text(self, probe->attach);
	put_text(self, probe->reason);
	put_u64(self, probe->state);
	put(self, &probe->hits, 4 * sizeof(__u64));
	return 0;
}

static int log_device(void *self, const struct device_info *device)
{
	begin(self, LOG_DEVICE);
	put_u64(self, device->handle);
	put_u64(self, device->kind);
	put_text(self, device->name);
	put_text(self, device->model);
	put_text(self, device->vm);
	put_text(self, device->comm);
	put_u64(self, (__u64)device->iommu_group);
	put_u64(self, device->pid);
	put_u64(self, device->pid_start_ns);
	put_u64(self, device->cgroup);
	put_u64(self, device->source_id);
	put_u64(self, device->queues);
	put_u64(self, device->memory);
	put_u64(self, device->first_ns);
	put_u64(self, device->mapped_at);
	return 0;
}

static int log_stack(void *self, const struct stack_info *stack)
{
	begin(self, LOG_STACK);
	put_u64(self, stack->id);
	put_u64(self, stack->depth);
	put_text(self, stack->text);
	return 0;
}

static int log_process(void *self, const struct process_info *process)
{
	begin(self, LOG_PROCESS);
	put_u64(self, process->pid);
	put_u64(self, process->first_ns);
	put_text(self, process->comm);
	return 0;
}

static int log_flow(void *self, const struct flow_info *flow)
{
	begin(self, LOG_FLOW);
	put_u64(self, flow->id);
	put_u64(self, flow->device);
	put_u64(self, flow->family);
	put_u64(self, flow->protocol);
	put_u64(self, flow->ethertype);
	put_u64(self, flow->source_port);
	put_u64(self, flow->destination_port);
	put(self, flow->source, sizeof(flow->source));
	put(self, flow->destination, sizeof(flow->destination));
	return 0;
}

static int log_kept(void *self, const struct kept_info *kept)
{
	begin(self, LOG_KEPT);
	put(self, kept, sizeof(*kept));
	return 0;
}

static int log_events(void *self, const struct event *events, size_t count)
{
	struct stream_log *log = self;

	if (!log->run)
		begin(log, LOG_EVENTS);
	log->run = 1;
	put(log, events, count * sizeof(*events));
	log->events += count;
	for (size_t i = 0; i < count; i++) {
		if (!log->first_ns || events[i].time_ns < log->first_ns)
			log->first_ns = events[i].time_ns;
		if (events[i].time_ns > log->last_ns)
			log->last_ns = events[i].time_ns;
	}
	return 0;
}

static int log_aggregate(void *self, const struct aggregate_frame *frame)
{
	begin(self, LOG_AGGREGATE);
	put_u64(self, frame->window);
	put_u64(self, frame->incomplete);
	put_u64(self, frame->row_count);
	put_u64(self, frame->bin_count);
	put_u64(self, frame->page_count);
	put(self, frame->rows, frame->row_count * sizeof(*frame->rows));
	put(self, frame->bins, frame->bin_count * sizeof(*frame->bins));
	put(self, frame->pages, frame->page_count * sizeof(*frame->pages));
	return 0;
}

static int log_loss(void *self, const struct loss_info *loss)
{
	struct stream_log *log = self;

	begin(log, LOG_LOSS);
	put(log, loss, offsetof(struct loss_info, damaged_bytes));
	log->loss = *loss;
	return 0;
}

static int log_tick(void *self, __u64 now_ns)
{
	begin(self, LOG_TICK);
	put_u64(self, now_ns);
	return 0;
}

static int log_end(void *self, __u64 end_ns)
{
	struct stream_log *log = self;

	begin(log, LOG_END);
	put_u64(log, end_ns);
	log->end_ns = end_ns;
	return 0;
}

static const struct stream_ops log_ops = {
	.host = log_host,
	.clock = log_clock,
	.probe = log_probe,
	.device = log_device,
	.stack = log_stack,
	.process = log_process,
	.flow = log_flow,
	.events = log_events,
	.aggregate = log_aggregate,
	.loss = log_loss,
	.kept = log_kept,
	.tick = log_tick,
	.end = log_end,
};

struct stream stream_log(struct stream_log *log)
{
	memset(log, 0, sizeof(*log));
	return (struct stream){&log_ops, log};
}

void stream_log_free(struct stream_log *log)
{
	free(log->bytes);
	memset(log, 0, sizeof(*log));
}

__u64 stream_log_random(__u64 *seed)
{
	__u64 z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void wild_event(__u64 *seed, struct event *event)
{
	__u64 words[8];

	for (size_t i = 0; i < 8; i++) {
		words[i] = stream_log_random(seed);
		/* Any width of values, not only full ones. */
		if (words[i] & 1)
			words[i] >>= stream_log_random(seed) % 64;
	}
	memcpy(event, words, sizeof(*event));
	/* Of any width, but few: a reader does not believe many that were never told. */
	event->device = UINT32_MAX >> event->device % 32;
}

static void storm_event(__u64 *seed, __u64 *now_ns, struct event *event)
{
	*now_ns += 200 + stream_log_random(seed) % 2000;
	*event = (struct event){
		.time_ns = *now_ns,
		.address = 0x7f0000000000 + (stream_log_random(seed) % (1 << 18)) * 4096,
		.length = 4096,
		.value = 6,
		.pid = 4711,
		.tid = 4711 + (__u32)(stream_log_random(seed) % 2),
		.kind = EVENT_CPU_FAULT,
		.queue = QUEUE_NONE,
		.cpu = stream_log_random(seed) % 2,
		.flags = EVENT_WRITE,
	};
}

static int push_device(__u64 *seed, __u32 handle, __u64 now_ns, struct stream sink)
{
	struct device_info device = {
		.handle = handle,
		.kind = DEVICE_EMULATED,
		.iommu_group = (__s32)(stream_log_random(seed) % 5) - 1,
		.pid = 4711,
		.source_id = stream_log_random(seed),
		.cgroup = stream_log_random(seed),
		.memory = 1ull << 40,
		.first_ns = now_ns,
		.mapped_at = stream_log_random(seed),
	};

	snprintf(device.name, sizeof(device.name), "tenant%u/disk\xff", handle);
	snprintf(device.model, sizeof(device.model), "block");
	memset(device.comm, 'x', sizeof(device.comm) - 1);
	return sink.ops->device(sink.self, &device);
}

static int push_stack(__u64 *seed, struct stream sink)
{
	struct stack_info stack = {.id = (__u32)stream_log_random(seed)};
	size_t used = 0;

	stack.depth = 1 + stream_log_random(seed) % 40;
	for (__u32 i = 0; i < stack.depth && used < sizeof(stack.text); i++)
		used += (size_t)snprintf(stack.text + used, sizeof(stack.text) - used,
					 "%sfunction_%llx+0x%x", i ? "\n" : "",
					 stream_log_random(seed), i);
	return sink.ops->stack(sink.self, &stack);
}

static int push_process(__u64 *seed, __u64 now_ns, struct stream sink)
{
	struct process_info process = {.pid = (__u32)stream_log_random(seed), .first_ns = now_ns};

	memset(process.comm, 'p', stream_log_random(seed) % sizeof(process.comm));
	return sink.ops->process(sink.self, &process);
}

static int push_flow(__u64 *seed, __u32 device, struct stream sink)
{
	__u64 words[4] = {stream_log_random(seed), stream_log_random(seed), stream_log_random(seed),
			  stream_log_random(seed)};
	struct flow_info flow = {
		.id = (__u32)stream_log_random(seed),
		.device = device,
		.family = words[0] & 1 ? 2 : 10,
		.protocol = (__u8)words[1],
		.ethertype = (__u16)words[2],
		.source_port = (__u16)(words[2] >> 16),
		.destination_port = (__u16)(words[2] >> 32),
	};

	memcpy(flow.source, words, sizeof(flow.source));
	memcpy(flow.destination, words + 2, sizeof(flow.destination));
	return sink.ops->flow(sink.self, &flow);
}

static int push_aggregate(__u64 *seed, __u64 now_ns, struct stream sink)
{
	struct aggregate_row rows[17] = {0};
	struct aggregate_bin bins[37];
	struct aggregate_page pages[101];
	struct aggregate_frame frame = {
		.window = now_ns / AGGREGATE_WINDOW_NS,
		.incomplete = stream_log_random(seed) % 2,
		.row_count = stream_log_random(seed) % 18,
		.bin_count = 37,
		.page_count = stream_log_random(seed) % 102,
		.rows = rows,
		.bins = bins,
		.pages = pages,
	};

	for (__u32 i = 0; i < frame.row_count; i++) {
		rows[i].key.window = frame.window;
		rows[i].key.kind = EVENT_CPU_FAULT;
		rows[i].key.pid = (__u32)stream_log_random(seed);
		rows[i].counts.count = stream_log_random(seed);
		rows[i].histogram = 2 * i;
		rows[i].bins = 2;
	}
	for (__u32 i = 0; i < 37; i++)
		bins[i] = (struct aggregate_bin){i * 3, (__u32)stream_log_random(seed)};
	for (__u32 i = 0; i < 101; i++)
		pages[i] = (struct aggregate_page){i * 7, 1, (__u32)stream_log_random(seed) % 3,
						   (__u32)stream_log_random(seed), i % 2};
	return sink.ops->aggregate(sink.self, &frame);
}

static int push_record(__u64 *seed, __u32 *handle, __u64 now_ns, struct stream sink)
{
	struct loss_info loss = {.produced = stream_log_random(seed),
				 .lost = stream_log_random(seed)};
	struct probe_info probe = {.state = PROBE_ON, .hits = stream_log_random(seed)};
	struct clock_anchor anchor = {now_ns, stream_log_random(seed)};
	const struct kept_info kept = {now_ns, loss.lost % 97, loss.produced};

	snprintf(probe.name, sizeof(probe.name), "probe%u", (unsigned int)(loss.lost % 5));
	switch (stream_log_random(seed) % 16) {
	case 0:
		return push_device(seed, ++*handle, now_ns, sink);
	case 1:
		return push_aggregate(seed, now_ns, sink);
	case 2:
		return sink.ops->loss(sink.self, &loss);
	case 3:
		return sink.ops->probe(sink.self, &probe);
	case 4:
		return sink.ops->clock(sink.self, &anchor);
	case 5:
		return push_stack(seed, sink);
	case 6:
		return push_process(seed, now_ns, sink);
	case 7:
		return sink.ops->kept(sink.self, &kept);
	case 8:
		return push_flow(seed, *handle, sink);
	default:
		return sink.ops->tick(sink.self, now_ns);
	}
}

int random_stream_push(const struct random_stream *random, struct stream sink)
{
	struct host_info host = {.cpus = 2, .page_size = 4096, .start_ns = 1000000000};
	struct clock_anchor anchor = {1000000000, 1795269723000000000};
	__u64 seed = random->seed, now_ns = host.start_ns;
	__u32 handle = 0;
	struct event batch[331];
	int err;

	snprintf(host.hostname, sizeof(host.hostname), "node1");
	memset(host.kernel, 'k', sizeof(host.kernel) - 1);
	memset(host.devices, 'd', sizeof(host.devices) - 1);
	snprintf(host.kinds, sizeof(host.kinds), "fault, cpu_fault");
	err = sink.ops->host(sink.self, &host);
	err = err ? err : sink.ops->clock(sink.self, &anchor);
	for (size_t left = random->events; left && !err;) {
		size_t n = 1 + stream_log_random(&seed) % 331;

		n = n < left ? n : left;
		for (size_t i = 0; i < n; i++) {
			if (random->wild)
				wild_event(&seed, &batch[i]);
			else
				storm_event(&seed, &now_ns, &batch[i]);
		}
		left -= n;
		err = sink.ops->events(sink.self, batch, n);
		while (!err && random->records && stream_log_random(&seed) % 3)
			err = push_record(&seed, &handle, now_ns, sink);
	}
	if (!err && random->end)
		err = sink.ops->end(sink.self, now_ns + 1);
	return err;
}
