// SPDX-License-Identifier: GPL-2.0
/*
 * What serving costs: DEVICES emulated devices that fault all the time, whose numbers are taken and served once a second
 * until it is ended.
 *
 *	serve_bench DEVICES ADDRESS:PORT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/device_kind.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tools/serve/server.h"

#define FAULTS_A_SECOND 1 /* of each device: what counting them costs is another figure */
#define BENCH_DEVICES	10000

static void tell_names(struct stream out, unsigned int devices)
{
	for (__u32 i = 1; i <= devices; i++) {
		struct device_info device = {
			.handle = i, .kind = DEVICE_EMULATED, .queues = 2, .memory = 1u << 30};

		snprintf(device.name, sizeof(device.name), "tenant%u/disk0", i);
		out.ops->device(out.self, &device);
	}
}

/* One fault of each device, a microsecond or so a stage. */
static void tell_faults(struct stream out, struct random *random, unsigned int devices,
			__u32 number)
{
	for (__u32 device = 1; device <= devices; device++) {
		struct event events[FAULT_STAGES];
		__u64 at_ns = monotonic_ns();

		for (unsigned int stage = 0; stage < FAULT_STAGES; stage++) {
			at_ns += 500 + random_below(random, 200000);
			events[stage] = (struct event){
				.time_ns = at_ns,
				.kind = (__u16)(EVENT_FAULT_DETECT + stage),
				.device = device,
				.queue = (__u16)(number % 2),
				.group = number,
				.instance = 1,
				.address = (__u64)number << 12,
				.length = 4096,
				.flags = EVENT_READ | EVENT_LAST,
			};
		}
		out.ops->events(out.self, events, FAULT_STAGES);
	}
}

static int bench_serve(struct server *server, unsigned int devices)
{
	const struct timespec second = {1, 0};
	struct stream out = server_stream(server);
	struct random random = {0};
	__u32 number = 1;
	int err = 0;

	random.state = 97;
	tell_names(out, devices);
	err = server_take(server, clock_ns(CLOCK_REALTIME)) ?: server_start(server);
	while (!err && !server_signals) {
		for (int i = 0; i < FAULTS_A_SECOND; i++)
			tell_faults(out, &random, devices, number++);
		err = server_take(server, clock_ns(CLOCK_REALTIME));
		server_tend(server);
		nanosleep(&second, NULL);
	}
	return err;
}

int main(int argc, char **argv)
{
	static struct server server;
	struct serve_options options = {
		.max_devices = BENCH_DEVICES, .no_state = true, .no_page = true};
	unsigned int devices = argc == 3 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	int err;

	if (!devices || devices > BENCH_DEVICES || listen_parse(argv[2], &options.listen)) {
		fprintf(stderr, "serve_bench: accepted: DEVICES ADDRESS:PORT\n");
		return EXIT_USAGE;
	}
	err = server_open(&server, &options);
	err = err ?: bench_serve(&server, devices);
	server_close(&server);
	return err ? failure_report(err) : EXIT_OK;
}
