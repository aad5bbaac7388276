// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/period.h"

/* Passes one call on as it is. */
#define PASS(call, ...)                                                                \
	do {                                                                           \
		const struct stream *sink = &((struct period_filter *)self)->sink;     \
		return sink->ops->call ? sink->ops->call(sink->self, __VA_ARGS__) : 0; \
	} while (0)

static int period_on_host(void *self, const struct host_info *host)
{
	PASS(host, host);
}

static int period_on_clock(void *self, const struct clock_anchor *anchor)
{
	PASS(clock, anchor);
}

static int period_on_probe(void *self, const struct probe_info *probe)
{
	PASS(probe, probe);
}

static int period_on_device(void *self, const struct device_info *device)
{
	PASS(device, device);
}

static int period_on_stack(void *self, const struct stack_info *stack)
{
	PASS(stack, stack);
}

static int period_on_process(void *self, const struct process_info *process)
{
	PASS(process, process);
}

static int period_on_flow(void *self, const struct flow_info *flow)
{
	PASS(flow, flow);
}

static int period_on_loss(void *self, const struct loss_info *loss)
{
	PASS(loss, loss);
}

static int period_on_kept(void *self, const struct kept_info *kept)
{
	PASS(kept, kept);
}

/* In runs: nearly always all of them are within, or none. */
static int period_on_events(void *self, const struct event *events, size_t count)
{
	const struct period_filter *filter = self;
	int error = 0;

	/* A live view asks for everything. */
	if (!filter->period.since_ns && !filter->period.until_ns)
		return stream_events(filter->sink, events, count);
	for (size_t i = 0, n; i < count && !error; i += n) {
		bool wanted = period_has(&filter->period, events[i].time_ns);

		n = 1;
		while (i + n < count &&
		       period_has(&filter->period, events[i + n].time_ns) == wanted)
			n++;
		if (wanted)
			error = stream_events(filter->sink, events + i, n);
	}
	return error;
}

static int period_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	const struct period_filter *filter = self;

	if (!period_has_window(&filter->period, frame->window))
		return 0;
	PASS(aggregate, frame);
}

static int period_on_tick(void *self, __u64 now_ns)
{
	const struct period_filter *filter = self;

	if (!period_has(&filter->period, now_ns))
		return 0;
	PASS(tick, now_ns);
}

static int period_on_end(void *self, __u64 end_ns)
{
	const struct period_filter *filter = self;
	__u64 until_ns = filter->period.until_ns;

	if (until_ns && end_ns > until_ns)
		end_ns = until_ns;
	PASS(end, end_ns);
}

_Static_assert(sizeof(struct stream_ops) == 13 * sizeof(void (*)(void)), "all calls are passed on");

struct stream period_stream(struct period_filter *filter)
{
	static const struct stream_ops ops = {
		.host = period_on_host,
		.clock = period_on_clock,
		.probe = period_on_probe,
		.device = period_on_device,
		.stack = period_on_stack,
		.process = period_on_process,
		.flow = period_on_flow,
		.events = period_on_events,
		.aggregate = period_on_aggregate,
		.loss = period_on_loss,
		.kept = period_on_kept,
		.tick = period_on_tick,
		.end = period_on_end,
	};

	return (struct stream){&ops, filter};
}
