// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/keeper.h"

#include <stdio.h>

#include "lib/base/fail.h"
#include "lib/trace/trace.h"

int keeper_open(struct page_keeper *keeper, const char *path, const struct serve_options *options)
{
	const struct trace_writer_config config = {
		.path = path, .keep_ns = options->keep_ns, .max_bytes = options->keep_bytes};

	return trace_writer_open(&keeper->writer, &config);
}

static int keeper_failed(struct page_keeper *keeper, int error)
{
	if (!error)
		return 0;
	fprintf(stderr, "faultline: %s; nothing more is kept for the page\n", failure_text());
	keeper_close(keeper);
	return 0;
}

/* Hands a call on while there is somebody to take it. */
#define KEEP(call, type)                                                                       \
	static int keep_##call(void *self, type value)                                         \
	{                                                                                      \
		struct page_keeper *keeper = self;                                             \
		struct stream to;                                                              \
                                                                                               \
		if (!keeper->writer)                                                           \
			return 0;                                                              \
		to = trace_writer_stream(keeper->writer);                                      \
		return keeper_failed(keeper, to.ops->call ? to.ops->call(to.self, value) : 0); \
	}
KEEP(host, const struct host_info *)
KEEP(clock, const struct clock_anchor *)
KEEP(probe, const struct probe_info *)
KEEP(device, const struct device_info *)
KEEP(stack, const struct stack_info *)
KEEP(process, const struct process_info *)
KEEP(flow, const struct flow_info *)
KEEP(aggregate, const struct aggregate_frame *)
KEEP(loss, const struct loss_info *)
KEEP(tick, __u64)
KEEP(end, __u64)

static int keep_events(void *self, const struct event *events, size_t count)
{
	struct page_keeper *keeper = self;

	if (!keeper->writer)
		return 0;
	return keeper_failed(keeper,
			     stream_events(trace_writer_stream(keeper->writer), events, count));
}

struct stream keeper_stream(struct page_keeper *keeper)
{
	static const struct stream_ops ops = {
		.host = keep_host,
		.clock = keep_clock,
		.probe = keep_probe,
		.device = keep_device,
		.stack = keep_stack,
		.process = keep_process,
		.flow = keep_flow,
		.events = keep_events,
		.aggregate = keep_aggregate,
		.loss = keep_loss,
		.tick = keep_tick,
		.end = keep_end,
	};

	return (struct stream){&ops, keeper};
}

void keeper_close(struct page_keeper *keeper)
{
	if (keeper->writer)
		trace_writer_close(keeper->writer);
	keeper->writer = NULL;
}
