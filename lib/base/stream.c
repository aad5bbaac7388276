// SPDX-License-Identifier: GPL-2.0
#include "lib/base/stream.h"

#include <errno.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"

static bool has_stopped(const struct stream_fan *fan)
{
	return fan->stops && memory_ran_out();
}

/* Passes one call on to every sink that has it; the first error ends it, but where memory ran out all have the same. */
#define FAN(call, ...)                                                                          \
	do {                                                                                    \
		struct stream_fan *fan = self;                                                  \
		if (has_stopped(fan))                                                           \
			return 0;                                                               \
		for (size_t i = 0; i < fan->count; i++) {                                       \
			const struct stream *sink = &fan->sinks[i];                             \
			int error =                                                             \
				sink->ops->call ? sink->ops->call(sink->self, __VA_ARGS__) : 0; \
			if (error && !has_stopped(fan))                                         \
				return error;                                                   \
		}                                                                               \
		return 0;                                                                       \
	} while (0)

static int fan_host(void *self, const struct host_info *host)
{
	FAN(host, host);
}

static int fan_clock(void *self, const struct clock_anchor *anchor)
{
	FAN(clock, anchor);
}

static int fan_probe(void *self, const struct probe_info *probe)
{
	FAN(probe, probe);
}

static int fan_device(void *self, const struct device_info *device)
{
	FAN(device, device);
}

static int fan_stack(void *self, const struct stack_info *stack)
{
	FAN(stack, stack);
}

static int fan_process(void *self, const struct process_info *process)
{
	FAN(process, process);
}

static int fan_flow(void *self, const struct flow_info *flow)
{
	FAN(flow, flow);
}

static int fan_events(void *self, const struct event *events, size_t count)
{
	FAN(events, events, count);
}

static int fan_aggregate(void *self, const struct aggregate_frame *frame)
{
	FAN(aggregate, frame);
}

static int fan_loss(void *self, const struct loss_info *loss)
{
	FAN(loss, loss);
}

static int fan_kept(void *self, const struct kept_info *kept)
{
	FAN(kept, kept);
}

static int fan_tick(void *self, __u64 now_ns)
{
	FAN(tick, now_ns);
}

/* Whatever one says, all are told: each has what it holds to hand over. */
static int fan_end(void *self, __u64 end_ns)
{
	struct stream_fan *fan = self;
	int error = 0;

	for (size_t i = 0; i < fan->count; i++) {
		const struct stream *sink = &fan->sinks[i];
		int told = sink->ops->end ? sink->ops->end(sink->self, end_ns) : 0;

		error = error ? error : told;
	}
	return has_stopped(fan) ? 0 : error;
}

static const struct stream_ops fan_ops = {
	.host = fan_host,
	.clock = fan_clock,
	.probe = fan_probe,
	.device = fan_device,
	.stack = fan_stack,
	.process = fan_process,
	.flow = fan_flow,
	.events = fan_events,
	.aggregate = fan_aggregate,
	.loss = fan_loss,
	.kept = fan_kept,
	.tick = fan_tick,
	.end = fan_end,
};

int stream_fan_add(struct stream_fan *fan, struct stream sink)
{
	if (fan->count == STREAM_FANOUT)
		return failed(-ENOSPC, "more than %d readers of one stream", STREAM_FANOUT);
	fan->sinks[fan->count++] = sink;
	return 0;
}

struct stream stream_fan(struct stream_fan *fan)
{
	return (struct stream){.ops = &fan_ops, .self = fan};
}
