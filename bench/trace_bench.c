// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes and nanoseconds that one recorded event costs. Events are generated as capture delivers
 * them: page-fault storms on two CPUs over a region at random, in sequence, and on one CPU; and
 * the eight stages of I/O page faults of four devices. Prints "NAME VALUE UNIT" a line.
 *
 *	trace_bench [EVENTS [SHAPE [FILE]]]	FILE: keep the recording there
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/trace/trace.h"

#define BATCH	4096
#define DEVICES 4

static uint64_t seed;

/* xorshift64*: cheap enough not to be what is measured. */
static uint64_t next_random(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1d;
}

/* How long a fault takes: mostly near 700 ns, sometimes interrupted. */
static uint64_t gap(void)
{
	uint64_t r = next_random();

	return 450 + (r & 255) + ((r >> 8) & 127) + ((r >> 16) % 64 ? 0 : (r >> 24) & 16383);
}

static struct event trace_cpu_fault(uint64_t now, unsigned int cpu, uint64_t address)
{
	return (struct event){
		.time_ns = now,
		.address = address,
		.value = 6,
		.pid = 4711,
		.tid = 4711 + cpu,
		.kind = EVENT_CPU_FAULT,
		.queue = QUEUE_NONE,
		.cpu = (uint16_t)cpu,
		.flags = EVENT_WRITE,
	};
}

/* Random page and offset of an 8 GiB region, two threads. */
static void random_storm(struct event *events, size_t count, uint64_t *now)
{
	for (size_t i = 0; i < count; i++) {
		*now += gap() / 2;
		events[i] = trace_cpu_fault(*now, next_random() >> 63,
					    0x7f1000000000 + (next_random() & ((8ull << 30) - 8)));
	}
}

/* Each of two threads walks its own region, as storm and memset do. */
static void sequential_storm(struct event *events, size_t count, uint64_t *now)
{
	static uint64_t position[2];

	for (size_t i = 0; i < count; i++) {
		unsigned int cpu = next_random() >> 63;

		*now += gap() / 2;
		events[i] = trace_cpu_fault(
			*now, cpu, 0x7f1000000000 + cpu * (1ull << 32) + 4096 * position[cpu]++);
	}
}

static void single_storm(struct event *events, size_t count, uint64_t *now)
{
	static uint64_t position;

	for (size_t i = 0; i < count; i++) {
		*now += gap();
		events[i] =
			trace_cpu_fault(*now, 0, 0x7f1000000000 + 4096 * (position++ & 0xffffff));
	}
}

/* Faults of four devices, one after the other, each with its stages on the CPUs concerned. */
static void io_faults(struct event *events, size_t count, uint64_t *now)
{
	static uint32_t instances;
	static struct event fault;
	static unsigned int stage = FAULT_STAGES;

	for (size_t i = 0; i < count; i++) {
		if (stage == FAULT_STAGES) {
			stage = 0;
			fault = (struct event){
				.device = 1 + (uint32_t)(next_random() % DEVICES),
				.address = (next_random() & 0x3ffff) * 4096,
				.length = 4096,
				.pasid = PASID_NONE,
				.group = instances % 512,
				.instance = ++instances,
				.pid = 4711,
				.queue = (uint16_t)(next_random() >> 63),
				.flags = EVENT_READ | EVENT_LAST,
			};
		}
		*now += 300 + (next_random() & 4095);
		fault.time_ns = *now;
		fault.kind = (uint16_t)(EVENT_FAULT_DETECT + stage);
		fault.tid = 4712 + stage / 2;
		fault.cpu = (uint16_t)(stage / 2 & 1);
		fault.value = stage == 5 ? next_random() & 0xfffff000 : 0;
		events[i] = fault;
		stage++;
	}
}

static const struct shape {
	const char *name;
	void (*generate)(struct event *events, size_t count, uint64_t *now);
} shapes[] = {
	{"random", random_storm},
	{"sequential", sequential_storm},
	{"single", single_storm},
	{"iofault", io_faults},
};

static int tell_devices(struct stream stream)
{
	int err = 0;

	for (uint32_t handle = 1; !err && handle <= DEVICES; handle++) {
		struct device_info device = {.handle = handle, .kind = DEVICE_EMULATED};

		snprintf(device.name, sizeof(device.name), "bench/disk%u", handle);
		err = stream.ops->device(stream.self, &device);
	}
	return err;
}

static int tell_end(struct stream stream, size_t count, uint64_t now)
{
	struct loss_info loss = {.produced = count, .received = count};
	int err = stream.ops->loss(stream.self, &loss);

	return err ? err : stream.ops->end(stream.self, now);
}

static int write_shape(const struct shape *shape, const char *path, size_t count, double *ns)
{
	struct trace_writer_config config = {.path = path, .overwrite = true};
	static struct event events[BATCH];
	struct trace_writer *writer;
	uint64_t now = 1000000000, spent = 0, begin;
	struct stream stream;
	int err = trace_writer_open(&writer, &config);

	if (err)
		return err;
	stream = trace_writer_stream(writer);
	err = tell_devices(stream);
	for (size_t left = count; left && !err;) {
		size_t n = left < BATCH ? left : BATCH;

		shape->generate(events, n, &now);
		begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		err = stream_events(stream, events, n);
		spent += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		left -= n;
	}
	err = err ? err : tell_end(stream, count, now);
	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (trace_writer_close(writer))
		err = -1;
	spent += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	*ns = (double)spent / (double)count;
	return err;
}

static int count_events(void *self, const struct event *events, size_t count)
{
	uint64_t *sum = self;

	for (size_t i = 0; i < count; i++)
		*sum += events[i].kind != 0;
	return 0;
}

static int read_shape(const char *path, size_t count, double *ns)
{
	static const struct stream_ops ops = {.events = count_events};
	struct trace_read_config config = {.path = path};
	uint64_t sum = 0, begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = trace_read(&config, (struct stream){&ops, &sum});

	*ns = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)count;
	if (!err && sum != count)
		err = failed(-1, "read %llu of %zu events", (unsigned long long)sum, count);
	return err;
}

static int trace_measure(const struct shape *shape, const char *path, size_t count)
{
	double encode, decode;
	struct stat status;
	int err;

	seed = 88172645463325252;
	err = write_shape(shape, path, count, &encode);
	err = err ? err : read_shape(path, count, &decode);
	if (err || stat(path, &status)) {
		fprintf(stderr, "trace_bench: %s: %s\n", shape->name, failure_text());
		return 1;
	}
	printf("trace_%s_size %.3f bytes/event\n", shape->name,
	       (double)status.st_size / (double)count);
	printf("trace_%s_encode %.2f ns/event\n", shape->name, encode);
	printf("trace_%s_decode %.2f ns/event\n", shape->name, decode);
	return 0;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 3000017;
	char scratch[] = "/tmp/faultline-trace-bench-XXXXXX";
	const char *path = argc > 3 ? argv[3] : scratch;
	int status = 0, fd = argc > 3 ? -1 : mkstemp(scratch);

	if ((fd < 0 && path == scratch) || !count) {
		fputs("Usage: trace_bench [EVENTS [SHAPE [FILE]]]\n", stderr);
		return EXIT_USAGE;
	}
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (argc < 3 || !strcmp(argv[2], shapes[i].name))
			status |= trace_measure(&shapes[i], path, count);
	if (path == scratch)
		unlink(path);
	return status;
}
