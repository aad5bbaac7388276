// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes trace_read(). The first byte chooses: 0 takes the rest as a file as it is; any other value
 * takes it as the payload of one frame of that type behind sound checksums, without which hardly
 * any input would get past the headers. `trace_read --seeds DIR` writes first inputs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/trace/pack.h"
#include "lib/trace/trace.h"
#include "tests/unit/stream_log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory = -1;
static char path[64];

static void open_memory(void)
{
	memory = memfd_create("fuzz", MFD_CLOEXEC);
	if (memory < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
}

static void put(const void *bytes, size_t size, off_t at)
{
	if (pwrite(memory, bytes, size, at) != (ssize_t)size)
		abort();
}

/* A file of one frame. Byte 0 is its type, 1 its flags, 2 its count, 3 the factor of both lengths. */
static void put_frame(const uint8_t *data, size_t size)
{
	struct trace_file_header file = {
		.version = TRACE_VERSION, .event_version = EVENT_VERSION, .recording = 7};
	struct trace_frame_header header = {.recording = 7, .last_ns = UINT64_MAX};

	if (size < 4)
		return;
	header.type = data[0] % 12;
	header.flags = data[1] & 3;
	header.count = data[2] * (data[3] & 1 ? 97u : 1u);
	header.stored_length = (__u32)size - 4;
	header.raw_length = header.stored_length * (data[3] >> 4 ? data[3] >> 4 : 1);
	trace_seal_file(&file);
	trace_seal(&header, data + 4);
	put(&file, sizeof(file), 0);
	put(&header, sizeof(header), sizeof(file));
	put(data + 4, size - 4, sizeof(file) + sizeof(header));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_read_config reading = {.path = path};
	struct trace_summary summary;
	struct stream_log log;
	int err;

	if (!size)
		return 0;
	if (memory < 0)
		open_memory();
	if (ftruncate(memory, 0))
		abort();
	if (data[0])
		put_frame(data, size);
	else
		put(data + 1, size - 1, 0);
	err = trace_read(&reading, stream_log(&log));
	/* Whoever gets no error was told of nothing damaged but a cut end, and had an end. */
	if (!err && (log.calls[LOG_END] != 1 || (log.loss.damaged_frames && !log.loss.cut)))
		abort();
	stream_log_free(&log);
	trace_summarize(path, &summary);
	trace_summary_free(&summary);
	return 0;
}

static void write_seed(const char *directory, const char *name, uint8_t first, const void *bytes,
		       size_t size)
{
	char file_name[256];
	FILE *file;

	snprintf(file_name, sizeof(file_name), "%s/%s", directory, name);
	file = fopen(file_name, "w");
	if (!file)
		exit(1);
	putc(first, file);
	fwrite(bytes, 1, size, file);
	fclose(file);
}

/* A small recording as a whole, and the payload of each of its frames. */
static void write_seeds(const char *directory)
{
	struct random_stream random = {.seed = 5, .events = 997, .records = true, .end = true};
	char recording[256], name[64];
	struct trace_writer_config config = {.path = recording, .overwrite = true};
	static uint8_t bytes[1 << 20];
	struct trace_writer *writer;
	size_t size;
	FILE *file;

	snprintf(recording, sizeof(recording), "%s/seed.flt", directory);
	if (trace_writer_open(&writer, &config) ||
	    random_stream_push(&random, trace_writer_stream(writer)) || trace_writer_close(writer))
		exit(1);
	file = fopen(recording, "r");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	unlink(recording);
	write_seed(directory, "file", 0, bytes, size);
	for (size_t at = sizeof(struct trace_file_header); at < size;) {
		struct trace_frame_header header;
		uint8_t frame[1 << 16];

		memcpy(&header, bytes + at, sizeof(header));
		at += sizeof(header);
		frame[0] = header.flags;
		frame[1] = (uint8_t)header.count;
		frame[2] = 0;
		memcpy(frame + 3, bytes + at, header.stored_length);
		snprintf(name, sizeof(name), "frame%03llu", (unsigned long long)header.sequence);
		write_seed(directory, name, header.type, frame, header.stored_length + 3);
		at += header.stored_length;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "--seeds")) {
		write_seeds((*argv)[2]);
		exit(0);
	}
	return 0;
}
