// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/recording.h"

#include "lib/base/fail.h"
#include "tests/unit/test.h"

struct trace_writer *recording_open(const struct trace_writer_config *config)
{
	struct trace_writer *writer;

	if (trace_writer_open(&writer, config))
		fail_msg("%s", failure_text());
	return writer;
}

struct stream recording_begin(struct trace_writer **writer,
			      const struct trace_writer_config *config, __u64 start_ns,
			      __u64 wall_ns)
{
	const struct host_info host = {.hostname = "node", .start_ns = start_ns};
	const struct clock_anchor anchor = {start_ns, wall_ns};
	const struct device_info device = {.handle = 1, .kind = DEVICE_EMULATED, .name = "t/d"};
	struct stream stream;

	*writer = recording_open(config);
	stream = trace_writer_stream(*writer);
	stream.ops->host(stream.self, &host);
	if (wall_ns)
		stream.ops->clock(stream.self, &anchor);
	stream.ops->device(stream.self, &device);
	return stream;
}
