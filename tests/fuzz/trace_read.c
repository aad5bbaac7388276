// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes trace_read(). The first byte chooses: 0 takes the rest as a file as it is; any other value
 * takes it as the payload of one frame of that type behind sound checksums, without which hardly
 * any input would get past the headers; of a merged recording, if its flags say so. `trace_read --seeds DIR` writes first inputs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/histogram.h"
#include "lib/trace/pack.h"
#include "lib/trace/trace.h"
#include "tests/fuzz/made/recording.h"
#include "tests/fuzz/made/seeds.h"
#include "tests/unit/stream_log.h"

#define TYPES	    (TRACE_RECORDS + 3) /* of frames, some unknown ones among them */
#define MERGED	    0x80 /* in the byte of flags; the next lower bit: of the second host */
#define RECORDINGS  200
#define FRAMES_EACH 4 /* of a type, as seeds */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory = -1;
static char path[64];
static const struct stream_ops *log_ops;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void open_memory(void)
{
	memory = memfd_create("fuzz", MFD_CLOEXEC);
	require(memory >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
}

static void put(const void *bytes, size_t size, off_t at)
{
	require(pwrite(memory, bytes, size, at) == (ssize_t)size);
}

/* A file of one frame. Byte 0 is its type, 1 its flags, 2 its count, 3 the factor of both lengths. */
static void put_frame(const uint8_t *data, size_t size)
{
	struct trace_file_header file = {
		.version = TRACE_VERSION, .event_version = EVENT_VERSION, .recording = 7};
	struct trace_frame_header header = {.recording = 7, .last_ns = UINT64_MAX};

	if (size < 4)
		return;
	header.type = data[0] % TYPES;
	if (data[1] & MERGED) {
		file.version = TRACE_VERSION_MERGED;
		header.host = 1 + (data[1] >> 6 & 1);
	}
	header.flags = data[1] & (TRACE_COMPRESSED | TRACE_REPEATED | TRACE_NAMED);
	header.count = data[2] * (data[3] & 1 ? 97u : 1u);
	header.stored_length = (__u32)size - 4;
	header.raw_length = header.stored_length * (data[3] >> 4 ? data[3] >> 4 : 1);
	trace_seal_file(&file);
	trace_seal(&header, data + 4);
	put(&file, sizeof(file), 0);
	put(&header, sizeof(header), sizeof(file));
	put(data + 4, size - 4, sizeof(file) + sizeof(header));
}

/* A row's bins are within the frame, and each is a bucket that there is: whoever gets it relies on that. */
static int hear_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct stream_log *log = self;

	for (size_t i = 0; i < frame->row_count; i++)
		for (__u32 n = 0; n < frame->rows[i].bins; n++)
			require(frame->bins[frame->rows[i].histogram + (size_t)n].bucket <
				HISTOGRAM_BUCKETS);
	return log_ops->aggregate(log, frame);
}

static struct stream hear(struct stream_log *log)
{
	static struct stream_ops ops;
	struct stream inner = stream_log(log);

	log_ops = inner.ops;
	ops = *log_ops;
	ops.aggregate = hear_aggregate;
	return (struct stream){&ops, log};
}

/* The first and the last of those that it claims to have. */
static void read_hosts_of(size_t count)
{
	struct trace_summary *summaries = calloc(count, sizeof(*summaries));
	struct stream *sinks = calloc(count, sizeof(*sinks));
	struct stream_log first, last = {0};
	int err;

	require(summaries && sinks && count <= TRACE_HOSTS_MAX);
	sinks[0] = hear(&first);
	if (count > 1)
		sinks[count - 1] = stream_log(&last);
	err = trace_read_hosts(&(struct trace_read_config){.path = path}, sinks, count);
	require(err || first.calls[LOG_END] == 1);
	stream_log_free(&first);
	stream_log_free(&last);
	trace_summarize_hosts(path, summaries, count);
	for (size_t i = 0; i < count; i++)
		trace_summary_free(&summaries[i]);
	free(summaries);
	free(sinks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_read_config reading = {.path = path};
	struct trace_summary summary;
	struct trace_hosts hosts;
	struct stream_log log;
	int err;

	if (!size)
		return 0;
	if (memory < 0)
		open_memory();
	require(!ftruncate(memory, 0));
	if (data[0])
		put_frame(data, size);
	else
		put(data + 1, size - 1, 0);
	err = trace_read(&reading, hear(&log));
	/* Whoever gets no error was told of nothing damaged but a cut end, and had an end. */
	require(err || (log.calls[LOG_END] == 1 && (!log.loss.damaged_frames || log.loss.cut)));
	stream_log_free(&log);
	trace_summarize(path, &summary);
	trace_summary_free(&summary);
	if (!trace_hosts_read(path, &hosts) && hosts.count)
		read_hosts_of(hosts.count);
	trace_hosts_free(&hosts);
	return 0;
}

static void write_frame(const char *directory, const char *name,
			const struct trace_frame_header *header, const __u8 *payload)
{
	const __u8 choices[] = {header->flags, (__u8)header->count, 0};

	struct trace_buffer seed = {0};
	char other[64];

	trace_buffer_put(&seed, choices, sizeof(choices));
	trace_buffer_put(&seed, payload, header->stored_length);
	seed_write(directory, name, header->type, seed.bytes, seed.size);
	seed.bytes[0] |= MERGED;
	snprintf(other, sizeof(other), "%s-merged", name);
	seed_write(directory, other, header->type, seed.bytes, seed.size);
	trace_buffer_free(&seed);
}

/* Of each type of frame some, of small recordings, which are not compressed: changes change their columns. */
static void write_frames(const char *directory)
{
	unsigned int written[TYPES] = {0}, seed = 1;
	struct trace_frame_header header;
	struct trace_buffer made = {0};
	uint8_t bytes[400];
	char name[32];

	for (int turn = 0; turn < RECORDINGS; turn++) {
		seed_bytes(&seed, bytes, sizeof(bytes));
		make_recording(&made, bytes, sizeof(bytes));
		for (size_t at = sizeof(struct trace_file_header); at < made.size;) {
			memcpy(&header, made.bytes + at, sizeof(header));
			at += sizeof(header);
			if (header.type < TYPES && written[header.type] < FRAMES_EACH) {
				snprintf(name, sizeof(name), "frame%u.%u", header.type,
					 written[header.type]++);
				write_frame(directory, name, &header, made.bytes + at);
			}
			at += header.stored_length;
		}
	}
	trace_buffer_free(&made);
}

/* A recording as a whole, and frames. */
static void write_seeds(const char *directory)
{
	struct random_stream random = {.seed = 5, .events = 997, .records = true, .end = true};
	char recording[256];
	struct trace_writer_config config = {.path = recording, .overwrite = true};
	static uint8_t bytes[1 << 20];
	struct trace_writer *writer;
	size_t size;
	FILE *file;

	snprintf(recording, sizeof(recording), "%s/seed.flt", directory);
	require(!trace_writer_open(&writer, &config));
	require(!random_stream_push(&random, trace_writer_stream(writer)));
	require(!trace_writer_close(writer));
	file = fopen(recording, "r");
	require(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	unlink(recording);
	seed_write(directory, "file", 0, bytes, size);
	write_frames(directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	write_seeds(directory);
	exit(0);
}
