// SPDX-License-Identifier: GPL-2.0
/* Traces of translations: made up, imported, merged, and what they need. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "lib/translate/import.h"
#include "lib/translate/pages.h"
#include "lib/translate/tenants.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char path[64];

static const char *file_of(const void *bytes, size_t size)
{
	int fd;

	strcpy(path, "/tmp/faultline-translations-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	return path;
}

static int import_text(struct store *store, const char *text, __u32 number)
{
	int err = import_file(store, file_of(text, strlen(text)), IMPORT_AUTO, number);

	unlink(path);
	return err;
}

static size_t play(struct store *store, __u32 requests, const struct turns_config *turns,
		   struct model_packet *packets, int room)
{
	struct store_play *player;
	int count;

	assert_int_equal(store_play_create(&player, store, requests, turns), 0);
	count = store_play_next(player, packets, room);
	assert_true(count >= 0);
	if (count < room)
		assert_int_equal(store_play_next(player, packets, room), 0);
	store_play_destroy(player);
	return (size_t)count;
}

/* Lines as QEMU 7.2 prints them with --trace 'vtd_iotlb_page*', among others. */
static const char qemu[] =
	"vtd_inv_desc_iotlb_pages iotlb invalidate domain 0x1 addr 0x0 mask 0x3f\n"
	"123@1668.5:vtd_iotlb_page_update IOTLB page update sid 0x18 iova 0xfffff000 slpte 0x8003 "
	"domain 0x2\n"
	"123@1668.6:vtd_iotlb_page_hit IOTLB page hit sid 0x20 iova 0x34800040 slpte 0x7003 domain "
	"0x3\n"
	"123@1668.7:vtd_iotlb_page_hit IOTLB page hit sid 0x18 iova 0xbbe00000 slpte 0x87 domain 0x2 "
	"level 2\n"
	"vtd_iotlb_page_hit IOTLB page hit sid 0x20 iova 0x40000000 slpte 0x87 domain 0x3 mask "
	"0xffffffffc0000000\n";

static void qemus_lines_are_understood(void **state)
{
	struct model_packet packets[8];
	struct store *store;

	(void)state;
	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_text(store, qemu, 0), 0);
	assert_int_equal(store_records(store), 4);
	assert_int_equal(store_tenants(store), 2);
	assert_int_equal(play(store, 1, NULL, packets, 8), 4);
	assert_int_equal(packets[0].source, 0);
	assert_int_equal(packets[0].requests[0].iova, 0xfffff000);
	assert_int_equal(packets[1].source, 1);
	assert_int_equal(packets[1].requests[0].iova, 0x34800000);
	assert_int_equal(packets[2].requests[0].page_shift, 21);
	assert_int_equal(packets[3].requests[0].page_shift, 30);
	/* Two translations a packet: played where the first of each was recorded. */
	assert_int_equal(play(store, 2, NULL, packets, 8), 2);
	assert_int_equal(packets[1].source, 1);
	assert_int_equal(packets[1].requests[1].iova, 0x40000000);
	store_destroy(store);
}

static void bad_lines_are_named_by_their_number(void **state)
{
	static const char *const bad[] = {
		"\nvtd_iotlb_page_hit x sid 0x18 iova 0x1000 domain 0x12345\n",
		"\nvtd_iotlb_page_hit x sid 0x18 domain 0x1\n",
		"\nvtd_iotlb_page_hit x sid -1 iova 0x1000 domain 0x1\n",
		"\nvtd_iotlb_page_hit x sid 0x18 iova 0xfffffffffffff000 domain 0x1\n",
		"\nvtd_iotlb_page_hit x sid 0x18 iova 0x1000 domain 0x1 level 7\n",
		"\nvtd_iotlb_page_hit x sid 0x18 iova 0x1000 domain 0x1 mask 0xff\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct store *store;

		assert_int_equal(store_create(&store), 0);
		assert_int_equal(import_text(store, bad[i], 0), -EINVAL);
		assert_non_null(strstr(failure_text(), ":2: "));
		assert_non_null(strstr(failure_text(), "accepted"));
		assert_int_equal(store_records(store), 0);
		store_destroy(store);
	}
}

static void put(unsigned char *bytes, __u64 value, int count)
{
	for (int i = 0; i < count; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
}

static void hypersios_records_are_understood(void **state)
{
	unsigned char records[3][48] = {{0}};
	struct model_packet packets[4];
	struct store *store;

	(void)state;
	for (int i = 0; i < 3; i++) {
		put(records[i], 1, 4);
		put(records[i] + 4, 7, 2);
		put(records[i] + 6, 9, 2);
		put(records[i] + 8, 0xbbe00000 + 0x200000ull * (__u64)i, 8);
		put(records[i] + 24, (__u64)i + 1, 8);
	}
	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_file(store, file_of(records, sizeof(records)), IMPORT_AUTO, 0), 0);
	unlink(path);
	assert_int_equal(play(store, 3, NULL, packets, 4), 1);
	for (__u32 i = 0; i < 3; i++)
		assert_int_equal(packets[0].requests[i].page_shift, 12 + 9 * i);
	put(records[1] + 24, 4, 8);
	assert_int_equal(import_file(store, file_of(records, sizeof(records)), IMPORT_AUTO, 1),
			 -EINVAL);
	assert_non_null(strstr(failure_text(), "record 2"));
	unlink(path);
	assert_int_equal(import_file(store, file_of(records, 100), IMPORT_AUTO, 1), -EPROTO);
	assert_int_equal(import_file(store, path, IMPORT_HYPERSIO, 1), -EINVAL);
	unlink(path);
	assert_int_equal(import_file(store, "/nonexistent", IMPORT_AUTO, 1), -ENOENT);
	store_destroy(store);
}

/* A recording with I/Os of two devices; one I/O spans three pages. */
static void recordings_give_their_accesses(void **state)
{
	const struct trace_writer_config config = {.path = "/tmp/faultline-translations.flt",
						   .overwrite = true};
	struct event events[4] = {
		{.time_ns = 1,
		 .kind = EVENT_IO_COMPLETE,
		 .device = 1,
		 .address = 0x1000,
		 .length = 4096,
		 .pasid = PASID_NONE},
		{.time_ns = 2,
		 .kind = EVENT_FAULT_DETECT,
		 .device = 1,
		 .address = 0x9000,
		 .pasid = PASID_NONE},
		{.time_ns = 3,
		 .kind = EVENT_IO_COMPLETE,
		 .device = 2,
		 .address = 0x2800,
		 .length = 8192,
		 .pasid = PASID_NONE},
		{.time_ns = 4,
		 .kind = EVENT_IO_COMPLETE,
		 .device = 1,
		 .address = 0x3000,
		 .length = 1,
		 .pasid = PASID_NONE},
	};
	struct trace_writer *writer;
	struct model_packet packets[8];
	struct stream stream;
	struct store *store;

	(void)state;
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	stream = trace_writer_stream(writer);
	assert_int_equal(stream.ops->events(stream.self, events, 4), 0);
	assert_int_equal(stream.ops->end(stream.self, 5), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(store_create(&store), 0);
	assert_int_equal(import_file(store, config.path, IMPORT_AUTO, 0), 0);
	unlink(config.path);
	assert_int_equal(store_tenants(store), 2);
	assert_int_equal(play(store, 1, NULL, packets, 8), 5);
	assert_int_equal(packets[1].requests[0].iova, 0x2000);
	assert_int_equal(packets[3].requests[0].iova, 0x4000);
	assert_int_equal(packets[4].source, 0);
	store_destroy(store);
}

/* The paper's rule: equal turns, each from his beginning, until the first has no more. */
static void merging_stops_with_the_first_who_is_exhausted(void **state)
{
	struct turns_config turns = {ORDER_ROUND_ROBIN, 5, 2, 100, 1};
	static struct model_packet packets[4096];
	struct store *store;
	size_t count;

	(void)state;
	assert_int_equal(store_create(&store), 0);
	for (__u64 i = 0; i < 40; i++)
		assert_int_equal(store_add(store, 10, i << 12, 12), 0);
	for (__u64 i = 0; i < 31; i++)
		assert_int_equal(store_add(store, 20, i << 12, 12), 0);
	/* Tenants 1 and 3 have 10 packets of three; the one translation left over is not played. */
	count = play(store, 3, &turns, packets, 4096);
	assert_int_equal(count, 5 * 10 + 2);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(packets[i].source, i / 2 % 5);
		assert_int_equal(packets[i].requests[0].iova >> 12, (i / 10 * 2 + i % 2) * 3);
	}
	turns.tenants = 0;
	assert_int_equal(store_play_create(&(struct store_play *){NULL}, store, 3, &turns),
			 -EINVAL);
	store_destroy(store);
}

static void orders_give_each_tenant_his_share(void **state)
{
	struct turns_config config = {ORDER_RANDOM, 64, 1, 100, 3};
	unsigned int counts[64];
	struct turns turns;

	(void)state;
	for (int order = 0; order < ORDER_COUNT; order++) {
		unsigned int least = UINT32_MAX, most = 0;

		config.order = order;
		memset(counts, 0, sizeof(counts));
		assert_int_equal(turns_begin(&turns, &config), 0);
		for (int i = 0; i < 640000; i++)
			counts[turns_next(&turns)]++;
		turns_end(&turns);
		for (int i = 0; i < 64; i++) {
			least = counts[i] < least ? counts[i] : least;
			most = counts[i] > most ? counts[i] : most;
		}
		if (order == ORDER_ROUND_ROBIN)
			assert_int_equal(least, most);
		else if (order != ORDER_ZIPF)
			assert_true(least > 8500 && most < 11500);
		else /* 1 / rank: the first 1/H(64) = 21%, the second half of it, ... */
			for (int i = 0; i < 8; i++)
				assert_true(abs((int)counts[i] - 134920 / (i + 1)) <
					    2500 / (i + 1) + 600);
	}
}

/* Figure 8's three groups, from the trace that was made to have them. */
static void page_classes_are_found_again(void **state)
{
	struct model_packet packets[64];
	struct tenants_config config;
	const struct tenant_use *tenants;
	const struct page_use *uses;
	struct tenants *trace;
	struct pages *pages;
	size_t count, classes[PAGE_CLASSES] = {0};
	int got;

	(void)state;
	tenants_preset(&config, TENANTS_MEDIASTREAM);
	config.turns.tenants = 3;
	config.packets = 600000;
	config.tenant_packets_min = config.tenant_packets_max = 0;
	config.first_touches = 7;
	assert_int_equal(tenants_create(&trace, &config), 0);
	assert_int_equal(pages_create(&pages), 0);
	while ((got = tenants_next(trace, packets, 64)) > 0)
		for (int i = 0; i < got; i++)
			assert_int_equal(pages_take(pages, &packets[i]), 0);
	assert_int_equal(pages_finish(pages), 0);
	uses = pages_uses(pages, &count);
	assert_int_equal(count, 3 * (1 + 32 + 1 + 70));
	for (size_t i = 0; i < count; i++) {
		classes[uses[i].page_class]++;
		assert_int_equal(uses[i].sharers, 3);
		if (uses[i].page_class == PAGE_STARTUP)
			assert_int_equal(uses[i].accesses, 7);
	}
	assert_int_equal(classes[PAGE_HOT], 3 * 2);
	assert_int_equal(classes[PAGE_DATA], 3 * 32);
	assert_int_equal(classes[PAGE_STARTUP], 3 * 70);
	tenants = pages_tenants(pages, &count);
	assert_int_equal(count, 3);
	/* Ring, mailbox and one data page for nearly all; every page for all. */
	assert_int_equal(tenants[0].active99, 3);
	assert_int_equal(tenants[0].active_all, 34);
	pages_destroy(pages);
	tenants_destroy(trace);
}

static void traces_that_cannot_be_are_refused(void **state)
{
	struct tenants_config good, bad;
	struct tenants *trace;

	(void)state;
	tenants_preset(&good, TENANTS_IPERF3);
#define REFUSED(change)                                                  \
	do {                                                             \
		bad = good;                                              \
		change;                                                  \
		assert_int_equal(tenants_create(&trace, &bad), -EINVAL); \
	} while (0)
	REFUSED(bad.turns.tenants = 0);
	REFUSED(bad.turns.tenants = 65537);
	REFUSED(bad.turns.turn = 0);
	REFUSED(bad.turns.zipf_exponent = 401);
	REFUSED(bad.data.shift = 13);
	REFUSED(bad.data.first += 4096);
	REFUSED(bad.data.count = 0);
	REFUSED(bad.streams = bad.data.count + 1);
	REFUSED(bad.run = 0);
	REFUSED(bad.tenant_packets_min = bad.tenant_packets_max + 1);
	REFUSED(bad.tenant_packets_min = bad.tenant_packets_max = 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qemus_lines_are_understood),
		cmocka_unit_test(bad_lines_are_named_by_their_number),
		cmocka_unit_test(hypersios_records_are_understood),
		cmocka_unit_test(recordings_give_their_accesses),
		cmocka_unit_test(merging_stops_with_the_first_who_is_exhausted),
		cmocka_unit_test(orders_give_each_tenant_his_share),
		cmocka_unit_test(page_classes_are_found_again),
		cmocka_unit_test(traces_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
