// SPDX-License-Identifier: GPL-2.0
/* Recordings of translations: what is understood, and what is refused with its place. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "lib/translate/import.h"

#define RECORDS	     3
#define RECORD_BYTES 48

static char path[64];

static const char *file_of(const void *bytes, size_t size)
{
	int fd;

	strcpy(path, "/tmp/faultline-import-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	return path;
}

static int import_bytes(struct store *store, const void *bytes, size_t size,
			enum import_format format, __u32 number)
{
	struct import_missing missing;
	int err = import_file(store, file_of(bytes, size), format, number, &missing);

	unlink(path);
	return err;
}

static int import_text(struct store *store, const char *text)
{
	return import_bytes(store, text, strlen(text), IMPORT_AUTO, 0);
}

static size_t play(struct store *store, __u32 requests, struct model_packet *packets, int room)
{
	struct store_play *player;
	int count;

	assert_int_equal(store_play_create(&player, store,
					   &(struct store_play_config){.requests = requests}),
			 0);
	count = store_play_next(player, packets, room);
	assert_in_range(count, 0, room - 1);
	assert_int_equal(store_play_next(player, packets, room), 0);
	store_play_destroy(player);
	return (size_t)count;
}

/*
 * As QEMU 7.2 prints them without and with -msg timestamp=on, as HyperSIO's QEMU 3.0 does with the page's
 * size, and with a large page that only the entry tells of; among other lines, one of them endless.
 */
static const char qemu[] =
	"vtd_inv_desc_iotlb_pages iotlb invalidate domain 0x1 addr 0x0 mask 0x3f\n"
	"vtd_iotlb_page_update IOTLB page update sid 0x18 iova 0xfffff000 slpte 0x8003 domain "
	"0x2\r\n"
	"123@1668.000006:vtd_iotlb_page_hit IOTLB page hit sid 0x20 iova 0x34800040 slpte 0x7003 "
	"domain 0x3\n"
	"vtd_iotlb_page_updated sid 0x18\n\n%2000d\n"
	"9@1.000007:vtd_iotlb_page_update IOTLB page update sid 0x18 iova 0xbbe00000 slpte 0x87 "
	"level 0x2 domain 0x2\n"
	"9@1.000008:vtd_iotlb_page_hit IOTLB page hit sid 0x20 iova 0x40000000 pmask "
	"0xffffffffc0000000 slpte 0x87 domain 0x3\n"
	"vtd_iotlb_page_hit IOTLB page hit sid 0x18 iova 0xbbe01000 slpte 0x4000087 domain 0x2\n";

static void qemus_lines_are_understood(void **state)
{
	static const __u64 iova[] = {0xfffff000, 0x34800000, 0xbbe00000, 0x40000000, 0xbbe01000};
	static const __u32 shift[] = {12, 12, 21, 30, 21}, tenant[] = {0, 1, 0, 1, 0};
	struct model_packet packets[8];
	struct store *store;
	char text[4096];

	snprintf(text, sizeof(text), qemu, 0);
	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_text(store, text), 0);
	assert_int_equal(store_tenants(store), 2);
	assert_int_equal(play(store, 1, packets, 8), COUNT(iova));
	for (size_t i = 0; i < COUNT(iova); i++) {
		assert_int_equal(packets[i].source, tenant[i]);
		assert_int_equal(packets[i].requests[0].iova, iova[i]);
		assert_int_equal(packets[i].requests[0].page_shift, shift[i]);
	}
	/* Two translations a packet: played where the first of each was recorded. */
	assert_int_equal(play(store, 2, packets, 8), 2);
	assert_int_equal(packets[1].source, 1);
	assert_int_equal(packets[1].requests[1].iova, 0x40000000);
	store_destroy(store);
}

static void bad_lines_are_named_by_their_number(void **state)
{
	static const char *const bad[] = {
		"sid 0x18 iova 0x1000 domain 0x12345",
		"sid 0x10018 iova 0x1000 domain 0x1",
		"sid 0x18 domain 0x1",
		"iova 0x1000 domain 0x1",
		"sid 0x18 iova 0x1000",
		"sid -1 iova 0x1000 domain 0x1",
		"sid 0x-1 iova 0x1000 domain 0x1",
		"sid 18 iova 0x1000 domain 0x1",
		"sid 0x iova 0x1000 domain 0x1",
		"sid 0x18 iova 0x domain 0x1",
		"sid 0x18 iova 0x1g00 domain 0x1",
		"sid 0x18 iova 0x1000 domain 0x1,",
		"sid 0x18 iova 0x1000 domain",
		"sid 0x18 iova 0x200000000000000 domain 0x1",
		"sid 0x18 iova 0x00000000000001000 domain 0x1",
		"sid 0x18 iova 0x1000 domain 0x1 level 0x0",
		"sid 0x18 iova 0x1000 domain 0x1 level 0x4",
		"sid 0x18 iova 0x1000 domain 0x1 mask 0xff",
		"sid 0x18 iova 0x1000 domain 0x1 pmask 0x0",
		"sid 0x18 iova 0x1000 domain 0x1 pmask 0xffffffffffffe000",
		"sid 0x18 iova 0x1000 domain 0x1 level 0x2 pmask 0xfffffffffffff000",
		"sid 0x18 iova 0x1000 slpte 0xg domain 0x1",
		/* Two lines that ran into one another. */
		"sid 0x18 iova 0x1000 slpte vtd_iotlb_page_hit sid 0x18 iova 0x2000 domain 0x1",
		"sid 0x18 iova 0x1000 domain 0x1 vtd_iotlb_page_hit sid 0x18 iova 0x2000 domain "
		"0x1",
	};
	char text[256];

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct store *store;

		snprintf(text, sizeof(text), "\nvtd_iotlb_page_hit IOTLB page hit %s\n", bad[i]);
		assert_int_equal(store_create(&store), 0);
		assert_int_equal(import_text(store, text), -EINVAL);
		assert_non_null(strstr(failure_text(), ":2: "));
		assert_non_null(strstr(failure_text(), "accepted"));
		assert_int_equal(store_records(store), 0);
		store_destroy(store);
	}
}

static void refused_line(struct store *store, const char *text, size_t size, const char *why)
{
	assert_int_equal(import_bytes(store, text, size, IMPORT_QEMU, 0), -EINVAL);
	assert_non_null(strstr(failure_text(), why));
	assert_non_null(strstr(failure_text(), ":2: "));
	assert_int_equal(store_records(store), 1);
}

#define LINE "vtd_iotlb_page_hit IOTLB page hit sid 0x18 iova 0x1000 slpte 0x3 domain 0x12\n"

/* Wherever a log ends, it gives the lines that are whole, or says which one is not. */
static void cut_lines_are_refused(void **state)
{
	static const char two[] = LINE LINE;
	size_t line = sizeof(LINE) - 1, name = strlen("vtd_iotlb_page_hit");
	struct store *store;
	char text[2048];

	for (size_t size = line; size <= 2 * line; size++) {
		assert_int_equal(store_create(&store), 0);
		if (size < line + name || size == 2 * line) {
			assert_int_equal(import_bytes(store, two, size, IMPORT_AUTO, 0), 0);
			assert_int_equal(store_records(store), 1 + (size == 2 * line));
		} else {
			refused_line(store, two, size, "newline");
		}
		store_destroy(store);
	}
	assert_int_equal(store_create(&store), 0);
	memcpy(text, two, sizeof(two));
	text[line + name + 3] = '\0';
	refused_line(store, text, 2 * line, "zero");
	store_destroy(store);
	assert_int_equal(store_create(&store), 0);
	snprintf(text, sizeof(text), LINE "vtd_iotlb_page_hit sid 0x1 %1100d\n", 0);
	refused_line(store, text, strlen(text), "1023");
	store_destroy(store);
}

static void put(unsigned char *bytes, __u64 value, int count)
{
	for (int i = 0; i < count; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
}

static void fill_records(unsigned char records[RECORDS][RECORD_BYTES])
{
	for (int i = 0; i < RECORDS; i++) {
		put(records[i], 1, 4);
		put(records[i] + 4, 7, 2);
		put(records[i] + 6, 9, 2);
		put(records[i] + 8, 0xbbe00000 + 0x200000ull * (__u64)i, 8);
		put(records[i] + 16, ~0ull << (12 + 9 * i), 8);
		put(records[i] + 24, (__u64)i + 1, 8);
		put(records[i] + 32, 0x87, 8);
		put(records[i] + 40, UINT64_MAX, 8);
	}
}

static void hypersios_records_are_understood(void **state)
{
	unsigned char records[RECORDS][RECORD_BYTES];
	struct model_packet packets[4];
	struct store *store;

	fill_records(records);
	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_bytes(store, records, sizeof(records), IMPORT_AUTO, 0), 0);
	assert_int_equal(play(store, 3, packets, 4), 1);
	for (__u32 i = 0; i < RECORDS; i++) {
		assert_int_equal(packets[0].requests[i].page_shift, 12 + 9 * i);
		assert_int_equal(packets[0].requests[i].iova, 0xbbe00000 + 0x200000ull * i);
	}
	/* The same source and domain of another file are another tenant. */
	assert_int_equal(import_bytes(store, records, sizeof(records), IMPORT_AUTO, 1), 0);
	assert_int_equal(store_tenants(store), 2);
	store_destroy(store);
}

/* Every field that says something, made wrong in the second record. */
static void bad_records_are_named_by_their_number(void **state)
{
	static const struct {
		int at, bytes;
		__u64 value;
	} wrong[] = {{0, 4, 0},	 {0, 4, 2},  {0, 4, UINT32_MAX}, {8, 8, 1ull << 57}, {16, 8, 0},
		     {24, 8, 0}, {24, 8, 4}, {24, 8, 1},	 {24, 8, UINT64_MAX}};
	unsigned char records[RECORDS][RECORD_BYTES];
	struct store *store;

	assert_int_equal(store_create(&store), 0);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		fill_records(records);
		put(records[1] + wrong[i].at, wrong[i].value, wrong[i].bytes);
		assert_int_equal(import_bytes(store, records, sizeof(records), IMPORT_AUTO, 0),
				 -EINVAL);
		assert_non_null(strstr(failure_text(), ":record 2: "));
		assert_non_null(strstr(failure_text(), "accepted"));
		assert_int_equal(store_records(store), i + 1);
	}
	fill_records(records);
	for (size_t size = 4; size < sizeof(records); size++) {
		char place[32];

		snprintf(place, sizeof(place), ":record %zu: ", size / RECORD_BYTES + 1);
		if (size % RECORD_BYTES) {
			assert_int_equal(import_bytes(store, records, size, IMPORT_AUTO, 0),
					 -EINVAL);
			assert_non_null(strstr(failure_text(), place));
		}
	}
	store_destroy(store);
}

/* A recording with I/Os of two devices, one of which spans three pages; what it lost is told. */
static void import_one_by_one(const char *kinds, __u64 counted_only)
{
	const struct trace_writer_config config = {.path = "/tmp/faultline-import.flt",
						   .overwrite = true};
	const struct loss_info lost = {
		.produced = 11, .received = 4, .lost = 7, .access_received = 29};
	struct event events[5] = {
		{.time_ns = 1, .kind = EVENT_IO_COMPLETE, .device = 1, .address = 0x1000},
		{.time_ns = 2, .kind = EVENT_FAULT_DETECT, .device = 1, .address = 0x9000},
		{.time_ns = 3, .kind = EVENT_IO_COMPLETE, .device = 2, .address = 0x2800},
		{.time_ns = 4, .kind = EVENT_IO_COMPLETE, .device = 1, .address = 0x3000},
		/* What the last one reads: no I/O of its own. */
		{.time_ns = 4,
		 .kind = EVENT_IO_COMPLETE,
		 .device = 1,
		 .address = 0x3000,
		 .code = IO_PART | IO_SOURCE},
	};
	static const __u32 lengths[] = {4096, 0, 8192, 1, 1};
	/* Thirteen I/Os, whatever the account has: its records are parts of I/Os, of any time. */
	const struct aggregate_row rows[] = {
		{.key = {.device = 1, .kind = EVENT_IO_COMPLETE}, .counts.count = 11},
		{.key = {.device = 2, .kind = EVENT_IO_COMPLETE}, .counts.count = 2},
		{.key = {.device = 2, .kind = EVENT_BLOCK_COMPLETE}, .counts.count = 101},
	};
	const struct aggregate_frame frame = {.row_count = COUNT(rows), .rows = rows};
	struct trace_writer *writer;
	struct model_packet packets[8];
	struct stream stream;
	struct store *store;
	struct import_missing missing;
	struct host_info host = {0};

	for (size_t i = 0; i < COUNT(events); i++) {
		events[i].length = lengths[i];
		events[i].pasid = PASID_NONE;
	}
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	stream = trace_writer_stream(writer);
	snprintf(host.kinds, sizeof(host.kinds), "%s", kinds);
	assert_int_equal(stream.ops->host(stream.self, &host), 0);
	assert_int_equal(stream.ops->events(stream.self, events, COUNT(events)), 0);
	assert_int_equal(stream.ops->aggregate(stream.self, &frame), 0);
	assert_int_equal(stream.ops->loss(stream.self, &lost), 0);
	assert_int_equal(stream.ops->end(stream.self, 5), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_file(store, config.path, IMPORT_AUTO, 0, &missing), 0);
	assert_int_equal(missing.loss.lost, 7);
	assert_int_equal(missing.taken, 3);
	assert_int_equal(missing.counted_only, counted_only);
	assert_int_equal(store_tenants(store), 2);
	assert_int_equal(play(store, 1, packets, 8), 6);
	assert_int_equal(packets[1].requests[0].iova, 0x2000);
	assert_int_equal(packets[3].requests[0].iova, 0x4000);
	assert_int_equal(packets[4].source, 0);
	unlink(config.path);
	store_destroy(store);
}

static void recordings_give_their_accesses(void **state)
{
	/* Ten I/Os of thirteen are not there one by one. */
	import_one_by_one("", 10);
	import_one_by_one("fault", 10);
	/* All that came while it was recorded are. */
	import_one_by_one("fault, io_complete", 0);
	import_one_by_one("io", 0);
}

/* A recorder that is killed, or still at work: what is there counts, and the end is missed. */
static void a_recording_without_end_is_told(void **state)
{
	const struct trace_writer_config config = {.path = "/tmp/faultline-import.flt",
						   .overwrite = true};
	const struct event event = {.time_ns = 1, .kind = EVENT_DMA_MAP, .address = 0x1000};
	struct trace_writer *writer;
	struct stream stream;
	struct store *store;
	struct import_missing missing;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	stream = trace_writer_stream(writer);
	assert_int_equal(stream.ops->events(stream.self, &event, 1), 0);
	assert_int_equal(trace_writer_flush(writer), 0);
	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_file(store, config.path, IMPORT_AUTO, 0, &missing), 0);
	assert_true(missing.loss.cut);
	assert_int_equal(store_records(store), 1);
	assert_int_equal(trace_writer_close(writer), 0);
	unlink(config.path);
	store_destroy(store);
}

static void what_is_no_file_of_ours_is_refused(void **state)
{
	static const unsigned char noise[96] = {1, 0, 0, 1, 0xff, 2, 7};
	struct import_missing missing;
	struct store *store;

	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_bytes(store, "", 0, IMPORT_AUTO, 0), -EPROTO);
	assert_non_null(strstr(failure_text(), "is empty"));
	assert_int_equal(import_bytes(store, noise, sizeof(noise), IMPORT_AUTO, 0), -EPROTO);
	assert_int_equal(import_bytes(store, noise, sizeof(noise), IMPORT_HYPERSIO, 0), -EINVAL);
	assert_int_equal(import_bytes(store, noise, sizeof(noise), IMPORT_FLT, 0), -EPROTO);
	assert_int_equal(import_bytes(store, noise, sizeof(noise), IMPORT_QEMU, 0), -EINVAL);
	assert_int_equal(import_text(store, "a log of something else\n"), -EINVAL);
	assert_non_null(strstr(failure_text(), "vtd_iotlb_page_hit"));
	assert_int_equal(import_file(store, "/nonexistent", IMPORT_AUTO, 0, &missing), -ENOENT);
	assert_int_equal(import_file(store, "/", IMPORT_AUTO, 0, &missing), -EPROTO);
	assert_non_null(strstr(failure_text(), "directory"));
	assert_int_equal(import_file(store, "/dev/zero", IMPORT_QEMU, 0, &missing), -EPROTO);
	file_of("", 0);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (int format = 0; format < IMPORT_FORMATS; format++)
		assert_int_equal(import_file(store, path, format, 0, &missing), -EPROTO);
	assert_non_null(strstr(failure_text(), "pipe"));
	unlink(path);
	assert_int_equal(store_records(store), 0);
	store_destroy(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qemus_lines_are_understood),
		cmocka_unit_test(bad_lines_are_named_by_their_number),
		cmocka_unit_test(cut_lines_are_refused),
		cmocka_unit_test(hypersios_records_are_understood),
		cmocka_unit_test(bad_records_are_named_by_their_number),
		cmocka_unit_test(recordings_give_their_accesses),
		cmocka_unit_test(a_recording_without_end_is_told),
		cmocka_unit_test(what_is_no_file_of_ours_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
