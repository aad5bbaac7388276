// SPDX-License-Identifier: GPL-2.0
/* Damaged recordings: cut at every byte, flipped bits, lost and foreign bytes in the middle. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/base/fail.h"
#include "lib/trace/pack.h"
#include "lib/trace/trace.h"
#include "tests/unit/amount.h"
#include "tests/unit/stream_log.h"

/* Sanitizers see what one damaged file in so many shows; in full every cut is read without them. */
#ifdef __SANITIZE_ADDRESS__
#define FLIPS	 amount(307, 61)
#define CUT_STEP amount(7, 29)
#else
#define FLIPS	 amount(2003, 307)
#define CUT_STEP amount(1, 7)
#endif

/* A file in memory: on disk, replacing a file's content some thousand times waits for it. */
static char path[64];
static int memory;

/* One recording in memory, and where its frames are. */
static unsigned char *whole;
static size_t whole_size;
static size_t frames[4096], frame_count;
static struct stream_log expected;

static void read_whole(const char *name)
{
	FILE *file = fopen(name, "r");

	whole = malloc(1 << 22);
	whole_size = fread(whole, 1, 1 << 22, file);
	fclose(file);
	frame_count = 0;
	for (size_t at = sizeof(struct trace_file_header); at < whole_size;) {
		struct trace_frame_header header;

		memcpy(&header, whole + at, sizeof(header));
		assert_int_equal(header.magic, TRACE_FRAME_MAGIC);
		assert_int_equal(header.sequence, frame_count);
		frames[frame_count++] = at;
		at += sizeof(header) + header.stored_length;
	}
	frames[frame_count] = whole_size;
}

static int record(void **state)
{
	char name[] = "/tmp/faultline-damage-XXXXXX";
	struct trace_writer_config config = {.path = name, .overwrite = true};
	struct random_stream random = {.seed = 17, .events = 3989, .records = true, .end = true};
	struct trace_writer *writer;

	close(mkstemp(name));
	if (trace_writer_open(&writer, &config) ||
	    random_stream_push(&random, trace_writer_stream(writer)) || trace_writer_close(writer))
		return -1;
	read_whole(name);
	unlink(name);
	memory = memfd_create("damaged", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	return random_stream_push(&random, stream_log(&expected));
}

static int discard(void **state)
{
	free(whole);
	stream_log_free(&expected);
	return close(memory);
}

static void write_bytes(const unsigned char *bytes, size_t size)
{
	assert_int_equal(ftruncate(memory, 0), 0);
	assert_int_equal(pwrite(memory, bytes, size, 0), size);
}

static int read_back(struct stream_log *log)
{
	struct trace_read_config reading = {.path = path};

	return trace_read(&reading, stream_log(log));
}

/* The frame that holds this byte, frame_count for the file's header. */
static size_t frame_of(size_t at)
{
	for (size_t i = 0; i < frame_count; i++)
		if (at >= frames[i] && at < frames[i + 1])
			return i;
	return frame_count;
}

static void every_cut_reads_up_to_itself(void **state)
{
	for (size_t cut = 0; cut < whole_size; cut += CUT_STEP) {
		struct stream_log log;
		size_t last;
		int err;

		write_bytes(whole, cut);
		err = read_back(&log);
		if (cut < sizeof(struct trace_file_header)) {
			assert_int_equal(err, -EPROTO);
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(log.calls[LOG_END], 1);
		last = frame_of(cut);
		/* The last frame is the index: without it the recording is still complete. */
		assert_int_equal(log.loss.cut, last < frame_count - 1);
		assert_int_equal(log.loss.damaged_bytes, cut - frames[last]);
		assert_int_equal(log.loss.damaged_frames, cut > frames[last]);
		stream_log_free(&log);
	}
}

static void cuts_keep_what_is_before(void **state)
{
	for (size_t i = 0; i < frame_count; i++) {
		struct stream_log log;
		size_t tail = 1 + offsetof(struct loss_info, damaged_bytes) + 1 + sizeof(__u64);

		write_bytes(whole, frames[i]);
		assert_int_equal(read_back(&log), 0);
		if (i == frame_count - 1)
			tail = 0;
		assert_true(log.size >= tail && log.size - tail <= expected.size);
		assert_memory_equal(log.bytes, expected.bytes, log.size - tail);
		stream_log_free(&log);
	}
}

/* How many calls the frame of this number holds, by kind, and events. */
static void take_away(size_t *calls, size_t *events, size_t frame)
{
	static const int call_of[] = {
		[TRACE_HOST] = LOG_HOST,   [TRACE_CLOCK] = LOG_CLOCK,
		[TRACE_PROBE] = LOG_PROBE, [TRACE_DEVICE] = LOG_DEVICE,
		[TRACE_LOSS] = LOG_LOSS,   [TRACE_AGGREGATE] = LOG_AGGREGATE,
		[TRACE_STACK] = LOG_STACK, [TRACE_PROCESS] = LOG_PROCESS,
		[TRACE_KEPT] = LOG_KEPT,   [TRACE_FLOW] = LOG_FLOW,
	};
	struct trace_frame_header header;

	memcpy(&header, whole + frames[frame], sizeof(header));
	if (header.type == TRACE_EVENTS)
		*events -= header.count;
	else if (header.type != TRACE_END && header.type != TRACE_INDEX)
		calls[call_of[header.type]]--;
}

/* Everything but the damaged frames is there, and the damage is counted exactly. */
static void check_damage(const struct stream_log *log, const bool *damaged, bool header_damaged)
{
	size_t calls[LOG_CALLS], events = expected.events, count = 0, bytes = 0;
	bool end_damaged = false;

	memcpy(calls, expected.calls, sizeof(calls));
	for (size_t i = frame_count; i--;) {
		if (!damaged[i])
			continue;
		take_away(calls, &events, i);
		bytes += frames[i + 1] - frames[i];
		count++;
		end_damaged |= i == frame_count - 2;
	}
	calls[LOG_LOSS]++; /* reading's own account */
	if (header_damaged)
		bytes += sizeof(struct trace_file_header);
	assert_int_equal(log->loss.damaged_frames, count);
	assert_int_equal(log->loss.damaged_bytes, bytes);
	assert_int_equal(log->loss.cut, end_damaged);
	assert_int_equal(log->events, events);
	assert_int_equal(log->calls[LOG_HOST], calls[LOG_HOST]);
	assert_int_equal(log->calls[LOG_CLOCK], calls[LOG_CLOCK]);
	assert_int_equal(log->calls[LOG_PROBE], calls[LOG_PROBE]);
	assert_int_equal(log->calls[LOG_DEVICE], calls[LOG_DEVICE]);
	assert_int_equal(log->calls[LOG_AGGREGATE], calls[LOG_AGGREGATE]);
	assert_int_equal(log->calls[LOG_LOSS], calls[LOG_LOSS]);
	assert_int_equal(log->calls[LOG_FLOW], calls[LOG_FLOW]);
	assert_int_equal(log->calls[LOG_END], 1);
}

static void flipped_bits_cost_their_frames_only(void **state)
{
	unsigned char *bytes = malloc(whole_size);
	bool *damaged = calloc(frame_count + 1, sizeof(*damaged));
	__u64 seed = 2027;

	for (size_t flip = 0; flip < FLIPS; flip++) {
		size_t flips = 1 + stream_log_random(&seed) % 3;
		struct stream_log log;

		memcpy(bytes, whole, whole_size);
		memset(damaged, 0, frame_count + 1);
		for (size_t i = 0; i < flips; i++) {
			/* The last frame has its own test: nothing behind it tells its number. */
			size_t at = stream_log_random(&seed) % frames[frame_count - 1];

			/* Never the same bit twice: that would undo it. */
			if (damaged[frame_of(at)])
				continue;
			bytes[at] ^= (unsigned char)(1 << stream_log_random(&seed) % 8);
			damaged[frame_of(at)] = true;
		}
		write_bytes(bytes, whole_size);
		if (read_back(&log) == 0) {
			for (size_t i = 0; i <= frame_count; i++)
				assert_false(damaged[i]);
		} else {
			check_damage(&log, damaged, damaged[frame_count]);
		}
		stream_log_free(&log);
	}
	free(bytes);
	free(damaged);
}

static void a_damaged_last_frame_is_one(void **state)
{
	unsigned char *bytes = malloc(whole_size);
	struct stream_log log;

	for (size_t at = frames[frame_count - 1]; at < whole_size; at++) {
		memcpy(bytes, whole, whole_size);
		bytes[at] ^= 0x10;
		write_bytes(bytes, whole_size);
		assert_int_equal(read_back(&log), at < frames[frame_count - 1] + 64 ? -EBADMSG : 0);
		stream_log_free(&log);
	}
	free(bytes);
}

static void lost_and_foreign_bytes_are_skipped(void **state)
{
	unsigned char *bytes = malloc(2 * whole_size);
	__u64 seed = 40009;

	for (size_t turn = 0; turn < 211; turn++) {
		size_t from = sizeof(struct trace_file_header) +
			      stream_log_random(&seed) % (frames[frame_count - 2] - 41);
		size_t gone = 1 + stream_log_random(&seed) % 5000, first = frame_of(from), last;
		struct stream_log log;

		if (from + gone > frames[frame_count - 2])
			gone = frames[frame_count - 2] - from;
		last = frame_of(from + gone - 1);
		memcpy(bytes, whole, from);
		if (turn % 2) {
			for (size_t at = 0; at < gone; at++)
				bytes[from + at] = (unsigned char)~whole[from + at];
			memcpy(bytes + from + gone, whole + from + gone, whole_size - from - gone);
			write_bytes(bytes, whole_size);
		} else {
			memcpy(bytes + from, whole + from + gone, whole_size - from - gone);
			write_bytes(bytes, whole_size - gone);
		}
		assert_int_equal(read_back(&log), -EBADMSG);
		assert_int_equal(log.loss.damaged_frames, last - first + 1);
		assert_false(log.loss.cut);
		stream_log_free(&log);
	}
	free(bytes);
}

static void strict_reading_stops_at_damage(void **state)
{
	struct trace_read_config reading = {.path = path, .strict = true};
	unsigned char *bytes = malloc(whole_size);
	struct stream_log log;

	write_bytes(whole, whole_size);
	assert_int_equal(trace_read(&reading, stream_log(&log)), 0);
	stream_log_free(&log);
	memcpy(bytes, whole, whole_size);
	bytes[frames[7] + 70] ^= 1;
	write_bytes(bytes, whole_size);
	assert_int_equal(trace_read(&reading, stream_log(&log)), -EBADMSG);
	assert_int_equal(log.calls[LOG_END], 0);
	stream_log_free(&log);
	free(bytes);
}

/* Headers whose checksums hold, each claiming most of the file behind it as its payload. */
static void a_forged_file_does_not_take_forever(void **state)
{
	const size_t count = 100003, size = 40 + count * sizeof(struct trace_frame_header);
	unsigned char *bytes = malloc(size);
	struct trace_file_header file;
	struct stream_log log;
	clock_t begin = clock();

	memcpy(&file, whole, sizeof(file));
	memcpy(bytes, &file, sizeof(file));
	for (size_t i = 0; i < count; i++) {
		struct trace_frame_header header = {
			.recording = file.recording,
			.type = TRACE_EVENTS,
			.stored_length = (__u32)((count - i - 1) * sizeof(header) / 2),
		};

		memcpy(bytes + 40 + i * sizeof(header), &header, sizeof(header));
	}
	for (size_t i = count; i--;) {
		struct trace_frame_header *header = (void *)(bytes + 40 + i * sizeof(*header));

		/* Summing up what each claims would take longer than all that is tested. */
		header->magic = TRACE_FRAME_MAGIC;
		header->payload_checksum = 1;
		header->header_checksum = XXH3_64bits(header, 56);
	}
	write_bytes(bytes, size);
	assert_int_equal(read_back(&log), -EBADMSG);
	assert_int_equal(log.events, 0);
	assert_true(clock() - begin < 40 * CLOCKS_PER_SEC);
	stream_log_free(&log);
	free(bytes);
}

static void a_damaged_file_header_costs_nothing_else(void **state)
{
	unsigned char *bytes = malloc(whole_size);
	struct stream_log log;

	memcpy(bytes, whole, whole_size);
	bytes[8] = 2;
	write_bytes(bytes, whole_size);
	assert_int_equal(read_back(&log), -EBADMSG);
	assert_int_equal(log.events, expected.events);
	assert_int_equal(log.loss.damaged_frames, 0);
	assert_int_equal(log.loss.damaged_bytes, sizeof(struct trace_file_header));
	stream_log_free(&log);
	free(bytes);
}

static void a_later_version_is_named(void **state)
{
	struct trace_file_header header;
	unsigned char *bytes = malloc(whole_size);
	struct stream_log log;

	memcpy(bytes, whole, whole_size);
	memcpy(&header, bytes, sizeof(header));
	header.version = 3;
	trace_seal_file(&header);
	memcpy(bytes, &header, sizeof(header));
	write_bytes(bytes, whole_size);
	assert_int_equal(read_back(&log), -EPROTO);
	assert_non_null(strstr(failure_text(), "is of format 3 with events 1; this program reads"));
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cut_reads_up_to_itself),
		cmocka_unit_test(cuts_keep_what_is_before),
		cmocka_unit_test(flipped_bits_cost_their_frames_only),
		cmocka_unit_test(a_damaged_last_frame_is_one),
		cmocka_unit_test(lost_and_foreign_bytes_are_skipped),
		cmocka_unit_test(strict_reading_stops_at_damage),
		cmocka_unit_test(a_forged_file_does_not_take_forever),
		cmocka_unit_test(a_damaged_file_header_costs_nothing_else),
		cmocka_unit_test(a_later_version_is_named),
	};

	return cmocka_run_group_tests_name("trace damage", tests, record, discard);
}
