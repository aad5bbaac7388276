// SPDX-License-Identifier: GPL-2.0
/*
 * A recording of so many faults, one of which takes SPIKE_NS: for the page of a million events, in which that one must
 * be seen, and for the time that a page of ten million takes.
 *
 *	page_bench FAULTS FILE.flt	eight events a fault
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/device_kind.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "lib/trace/trace.h"

#define SPIKE_NS 777777777ull
#define START_NS (1000 * NSEC_PER_SEC)
#define GAP_NS	 100000
#define DEVICES	 7

static void tell_bench_devices(struct stream out)
{
	for (__u32 i = 1; i <= DEVICES; i++) {
		struct device_info device = {.handle = i, .kind = DEVICE_EMULATED, .queues = 2};

		snprintf(device.name, sizeof(device.name), "vm%u/disk", i);
		out.ops->device(out.self, &device);
	}
}

/* One after the other; returns when it is over. */
static __u64 tell_made_fault(struct stream out, struct random *random, __u32 number, __u64 at_ns,
			     __u64 resolve_ns)
{
	struct event events[FAULT_STAGES];

	for (unsigned int stage = 0; stage < FAULT_STAGES; stage++) {
		if (stage)
			at_ns += stage == 4 ? resolve_ns : 500 + random_below(random, 2000);
		events[stage] = (struct event){
			.time_ns = at_ns,
			.kind = (__u16)(EVENT_FAULT_DETECT + stage),
			.device = 1 + number % DEVICES,
			.queue = (__u16)(number % 2),
			.pasid = 1,
			.group = number % 512,
			.instance = 1 + number / 512,
			.address = (__u64)number << 12,
			.length = 4096,
			.flags = EVENT_READ | EVENT_LAST,
		};
	}
	out.ops->events(out.self, events, FAULT_STAGES);
	return at_ns;
}

int main(int argc, char **argv)
{
	const struct host_info host = {.hostname = "bench", .start_ns = START_NS};
	const struct clock_anchor clock = {START_NS, 1795269723000000000};
	struct trace_writer_config config = {.overwrite = true};
	__u32 faults = argc == 3 ? (__u32)strtoul(argv[1], NULL, 10) : 0;
	struct random random = {7};
	struct trace_writer *writer;
	__u64 now = START_NS;
	struct stream out;

	if (!faults) {
		fprintf(stderr, "Usage: page_bench FAULTS FILE.flt\n");
		return EXIT_USAGE;
	}
	config.path = argv[2];
	if (trace_writer_open(&writer, &config))
		return failure_report(-EIO);
	out = trace_writer_stream(writer);
	out.ops->host(out.self, &host);
	out.ops->clock(out.self, &clock);
	tell_bench_devices(out);
	for (__u32 i = 0; i < faults; i++)
		now = tell_made_fault(out, &random, i, now + GAP_NS,
				      i == faults / 2 ? SPIKE_NS
						      : 2000 + random_below(&random, 50000));
	out.ops->end(out.self, now);
	return trace_writer_close(writer) ? failure_report(-EIO) : EXIT_OK;
}
