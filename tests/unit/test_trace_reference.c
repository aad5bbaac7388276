// SPDX-License-Identifier: GPL-2.0
/* What is written must be what docs/flt-format.md says: an independent reader tells the calls. */
#include "tests/unit/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/trace/merge.h"
#include "tests/unit/stream_log.h"

#define PYTHON	"/usr/bin/python3" /* for which the modules are packaged */
#define READER	"tests/reference/flt_read.py"
#define N(x)	(uint64_t)(x)
#define PAIR	" %" PRIu64 " %" PRIu64
#define QUARTET PAIR PAIR

static void print_text(FILE *file, const char *text)
{
	putc(' ', file);
	for (; *text; text++)
		fprintf(file, "%02x", (unsigned char)*text);
}

static int print_host(void *self, const struct host_info *host)
{
	fputs("host", self);
	print_text(self, host->hostname);
	print_text(self, host->kernel);
	print_text(self, host->boot_id);
	print_text(self, host->version);
	print_text(self, host->command);
	fprintf(self, " %u %u %" PRIu64, host->cpus, host->page_size, N(host->start_ns));
	print_text(self, host->devices);
	print_text(self, host->kinds);
	fputc('\n', self);
	return 0;
}

static int print_clock(void *self, const struct clock_anchor *anchor)
{
	fprintf(self, "clock" PAIR "\n", N(anchor->monotonic_ns), N(anchor->realtime_ns));
	return 0;
}

static int print_probe(void *self, const struct probe_info *probe)
{
	fputs("probe", self);
	print_text(self, probe->name);
	print_text(self, probe->attach);
	print_text(self, probe->reason);
	fprintf(self, " %u" QUARTET "\n", probe->state, N(probe->hits), N(probe->emitted),
		N(probe->lost), N(probe->missed));
	return 0;
}

static int print_device(void *self, const struct device_info *device)
{
	fprintf(self, "device %u %u", device->handle, device->kind);
	print_text(self, device->name);
	print_text(self, device->model);
	print_text(self, device->vm);
	print_text(self, device->comm);
	fprintf(self, " %d %u" PAIR " %" PRIu64 " %u" PAIR " %" PRIu64 "\n", device->iommu_group,
		device->pid, N(device->pid_start_ns), N(device->cgroup), N(device->source_id),
		device->queues, N(device->memory), N(device->first_ns), N(device->mapped_at));
	return 0;
}

static int print_stack(void *self, const struct stack_info *stack)
{
	fprintf(self, "stack %u %u", stack->id, stack->depth);
	print_text(self, stack->text);
	fprintf(self, "\n");
	return 0;
}

static int print_process(void *self, const struct process_info *process)
{
	fprintf(self, "process %u %" PRIu64, process->pid, N(process->first_ns));
	print_text(self, process->comm);
	fprintf(self, "\n");
	return 0;
}

static int print_flow(void *self, const struct flow_info *flow)
{
	fprintf(self, "flow %u %u %u %u %u %u %u ", flow->id, flow->device, flow->family,
		flow->protocol, flow->ethertype, flow->source_port, flow->destination_port);
	for (size_t i = 0; i < sizeof(flow->source); i++)
		fprintf(self, "%02x", flow->source[i]);
	fputc(' ', self);
	for (size_t i = 0; i < sizeof(flow->destination); i++)
		fprintf(self, "%02x", flow->destination[i]);
	fputc('\n', self);
	return 0;
}

static int print_events(void *self, const struct event *events, size_t count)
{
	for (const struct event *e = events; e < events + count; e++)
		fprintf(self, "event" QUARTET " %u %u %u %u %u %u %u %u %u %u %u\n", N(e->time_ns),
			N(e->address), N(e->length), N(e->value), e->device, e->pasid, e->group,
			e->instance, e->pid, e->tid, e->kind, e->queue, e->cpu, e->code, e->flags);
	return 0;
}

static int print_aggregate(void *self, const struct aggregate_frame *frame)
{
	fprintf(self, "aggregate %" PRIu64 " %d %zu %zu %zu\n", N(frame->window), frame->incomplete,
		frame->row_count, frame->bin_count, frame->page_count);
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];

		fprintf(self, "row %" PRIu64 " %u %u %u %u %u %u" QUARTET " %u %u\n",
			N(row->key.window), row->key.device, row->key.pid, row->key.kind,
			row->key.queue, row->key.code, row->key.flags, N(row->counts.count),
			N(row->counts.bytes), N(row->counts.latency_sum_ns),
			N(row->counts.latency_max_ns), row->histogram, row->bins);
	}
	for (size_t i = 0; i < frame->bin_count; i++)
		fprintf(self, "bin %u %u\n", frame->bins[i].bucket, frame->bins[i].count);
	for (size_t i = 0; i < frame->page_count; i++) {
		const struct aggregate_page *page = &frame->pages[i];

		fprintf(self, "page %" PRIu64 " %u %u %u %u\n", N(page->page), page->device,
			page->reads, page->writes, page->pasid);
	}
	return 0;
}

static int print_loss(void *self, const struct loss_info *loss)
{
	fprintf(self, "loss" QUARTET QUARTET QUARTET QUARTET " %" PRIu64 "\n", N(loss->produced),
		N(loss->received), N(loss->lost), N(loss->missed), N(loss->late),
		N(loss->state_failed), N(loss->access_lost), N(loss->access_received),
		N(loss->damaged_bytes), N(loss->damaged_frames), N(loss->access_missed),
		N(loss->machines_missed), N(loss->machines_unknown), N(loss->filtered),
		N(loss->turned_away), N(loss->unwritten_events), N(loss->unwritten_windows));
	return 0;
}

static int print_kept(void *self, const struct kept_info *kept)
{
	fprintf(self, "kept" PAIR " %" PRIu64 "\n", N(kept->from_ns), N(kept->segments),
		N(kept->events));
	return 0;
}

static int print_tick(void *self, __u64 now_ns)
{
	fprintf(self, "tick %" PRIu64 "\n", N(now_ns));
	return 0;
}

static int print_end(void *self, __u64 end_ns)
{
	fprintf(self, "end %" PRIu64 "\n", N(end_ns));
	return 0;
}

static const struct stream_ops print_ops = {
	.host = print_host,
	.clock = print_clock,
	.probe = print_probe,
	.device = print_device,
	.stack = print_stack,
	.process = print_process,
	.flow = print_flow,
	.events = print_events,
	.aggregate = print_aggregate,
	.loss = print_loss,
	.kept = print_kept,
	.tick = print_tick,
	.end = print_end,
};

/* What the reader prints of it, with what is `more` on its command line. */
static void check_lines(const char *path, const char *more, const char *expected, size_t size)
{
	char command[256], *line = NULL;
	size_t room = 0, at = 0;
	FILE *reader;
	ssize_t n;

	snprintf(command, sizeof(command), PYTHON " " READER " %s%s", path, more);
	reader = popen(command, "r");
	assert_non_null(reader);
	while ((n = getline(&line, &room, reader)) > 0) {
		assert_true(at + (size_t)n <= size);
		assert_memory_equal(line, expected + at, n);
		at += (size_t)n;
	}
	assert_int_equal(pclose(reader), 0);
	assert_int_equal(at, size);
	free(line);
}

/* As a host of a merged recording it is told the same. */
static void check_merged(const char *path, const char *expected, size_t size)
{
	char fleet[64];
	const struct trace_merge_config config = {.path = fleet, .inputs = &path, .count = 1};
	struct trace_merged merged;

	snprintf(fleet, sizeof(fleet), "%s.merged", path);
	assert_int_equal(trace_merge(&config, &merged), 0);
	trace_merged_free(&merged);
	check_lines(fleet, " 1", expected, size);
	unlink(fleet);
}

static void check_reader(const struct random_stream *random)
{
	char path[] = "/tmp/faultline-reference-XXXXXX", *expected = NULL;
	struct trace_writer_config config = {.path = path, .overwrite = true};
	struct trace_writer *writer;
	size_t size;
	FILE *memory;

	close(mkstemp(path));
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	assert_int_equal(random_stream_push(random, trace_writer_stream(writer)), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	memory = open_memstream(&expected, &size);
	assert_int_equal(random_stream_push(random, (struct stream){&print_ops, memory}), 0);
	fclose(memory);

	check_lines(path, "", expected, size);
	check_merged(path, expected, size);
	free(expected);
	unlink(path);
}

static void an_independent_reader_agrees(void **state)
{
	struct random_stream storm = {.seed = 1, .events = 20011, .records = true, .end = true};
	struct random_stream wild = {
		.seed = 2, .events = 4001, .wild = true, .records = true, .end = true};

	if (access(READER, R_OK) || system(PYTHON " -c 'import zstandard, xxhash' 2>/dev/null")) {
		print_message("skip - needs python3-zstandard and python3-xxhash\n");
		skip();
	}
	check_reader(&storm);
	check_reader(&wild);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_independent_reader_agrees),
	};

	return cmocka_run_group_tests_name("trace reference", tests, NULL, NULL);
}
