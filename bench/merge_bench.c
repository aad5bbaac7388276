// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time that merging recordings takes, beside reading them, and the memory that it takes for few and for
 * many of them. Each has I/O page faults of its own host and counts by the second. Prints "NAME VALUE UNIT"
 * a line.
 *
 *	merge_bench [EVENTS [FILES]]	of each recording; of the many
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/limits.h"
#include "lib/trace/merge.h"

#define BATCH	   1024
#define FEW	   2
#define TURNS	   3 /* the least counts */
#define GAP_NS	   20000
#define FILES_MOST 4000

static char folder[] = "/var/tmp/faultline-merge-bench-XXXXXX";
static char names[FILES_MOST][96];
static const char *inputs[FILES_MOST];

static uint64_t merge_bench_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1d;
}

static int tell_begin(struct stream stream, unsigned int number, __u64 start_ns)
{
	struct host_info host = {.start_ns = start_ns};
	const struct device_info device = {.handle = 1, .kind = DEVICE_EMULATED, .name = "vm/disk"};
	const struct clock_anchor anchor = {start_ns, 1700000000 * NSEC_PER_SEC};

	snprintf(host.hostname, sizeof(host.hostname), "node%u", number);
	snprintf(host.boot_id, sizeof(host.boot_id), "boot%u", number);
	return stream.ops->host(stream.self, &host)
		       ?: stream.ops->clock(stream.self, &anchor)
		       ?: stream.ops->device(stream.self, &device);
}

static int write_host_recording(unsigned int number, size_t count)
{
	const struct trace_writer_config config = {.path = names[number], .overwrite = true};
	__u64 start_ns = (number + 1) * 100 * NSEC_PER_SEC, now_ns = start_ns;
	static struct event events[BATCH];
	uint64_t seed = 88172645463325252 + number;
	struct trace_writer *writer;
	struct stream stream;
	int err = trace_writer_open(&writer, &config), closed;

	if (err)
		return err;
	stream = trace_writer_stream(writer);
	err = tell_begin(stream, number, start_ns);
	for (size_t left = count; !err && left;) {
		size_t n = left < BATCH ? left : BATCH;

		for (size_t i = 0; i < n; i++) {
			now_ns += merge_bench_random(&seed) % (2 * GAP_NS);
			events[i] = (struct event){
				.time_ns = now_ns,
				.address = (merge_bench_random(&seed) & 0x3ffff) * 4096,
				.length = 4096,
				.device = 1,
				.pasid = PASID_NONE,
				.instance = (__u32)(left / FAULT_STAGES),
				.kind = (__u16)(EVENT_FAULT_DETECT + i % FAULT_STAGES),
			};
		}
		err = stream_events(stream, events, n);
		left -= n;
	}
	err = err ?: stream.ops->end(stream.self, now_ns);
	closed = trace_writer_close(writer);
	return err ? err : closed;
}

static int count_event(void *self, const struct event *events, size_t count)
{
	uint64_t *sum = self;

	for (size_t i = 0; i < count; i++)
		*sum += events[i].kind != 0;
	return 0;
}

static int read_inputs(unsigned int files, size_t count)
{
	static const struct stream_ops ops = {.events = count_event};
	uint64_t sum = 0;
	int err = 0;

	for (unsigned int i = 0; !err && i < files; i++)
		err = trace_read(&(struct trace_read_config){.path = names[i]},
				 (struct stream){&ops, &sum});
	if (!err && sum != files * count)
		err = failed(-1, "read %" PRIu64 " of %zu events", sum, files * count);
	return err;
}

static int merge_inputs(unsigned int files, size_t count)
{
	char output[96];
	const struct trace_merge_config config = {
		.path = output, .overwrite = true, .inputs = inputs, .count = files};
	struct trace_merged merged;
	int err;

	(void)count;
	snprintf(output, sizeof(output), "%s/fleet.flt", folder);
	err = trace_merge(&config, &merged);
	trace_merged_free(&merged);
	return err;
}

/* In a process of its own, so that it is known what memory it took. */
static int measure_merge(const char *name, int (*work)(unsigned int, size_t), unsigned int files,
			 size_t count)
{
	uint64_t least = UINT64_MAX;
	long peak = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		struct rusage usage;
		uint64_t spent;
		int status;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (!child) {
			int err = work(files, count);

			if (err)
				fprintf(stderr, "merge_bench: %s\n", failure_text());
			_exit(err != 0);
		}
		if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status)
			return 1;
		spent = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NSEC_PER_SEC +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
		least = spent < least ? spent : least;
		peak = usage.ru_maxrss > peak ? usage.ru_maxrss : peak;
	}
	printf("%s_%u %.2f ns/event\n", name, files, (double)least / (double)files / (double)count);
	printf("%s_%u_peak %.1f MiB\n", name, files, (double)peak / 1024);
	return 0;
}

static int merge_bench(unsigned int files, size_t count)
{
	int status = 0;

	for (unsigned int i = 0; i < files; i++) {
		snprintf(names[i], sizeof(names[i]), "%s/%u.flt", folder, i);
		inputs[i] = names[i];
		if (write_host_recording(i, count)) {
			fprintf(stderr, "merge_bench: %s\n", failure_text());
			return 1;
		}
	}
	status |= measure_merge("merge_read", read_inputs, FEW, count);
	status |= measure_merge("merge", merge_inputs, FEW, count);
	status |= measure_merge("merge_read", read_inputs, files, count);
	status |= measure_merge("merge", merge_inputs, files, count);
	return status;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 20011;
	unsigned long files = argc > 2 ? strtoul(argv[2], NULL, 0) : 500;
	char command[128];
	int status;

	if (!count || files < FEW || files > FILES_MOST || !mkdtemp(folder)) {
		fputs("Usage: merge_bench [EVENTS [FILES]]\n", stderr);
		return EXIT_USAGE;
	}
	if (limits_need_files("merge_bench", files + 32))
		return EXIT_FAIL;
	status = merge_bench((unsigned int)files, count);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) || status;
}
