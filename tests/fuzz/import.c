// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes import_file(), and what plays and looks at the translations that it took. The first byte
 * chooses the format, the second how packets are made of them; the rest is the file. `import --seeds
 * DIR` writes first inputs.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/buffer.h"
#include "lib/trace/trace.h"
#include "lib/translate/import.h"
#include "lib/translate/pages.h"
#include "tests/fuzz/made/seeds.h"

#define CHOICES	  2
#define PACKETS	  5000
#define BATCH	  16
#define ADDRESSES (1ull << 57)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory = -1;
static char path[64];

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void put_file(const uint8_t *data, size_t size)
{
	if (memory < 0) {
		memory = memfd_create("fuzz", MFD_CLOEXEC);
		require(memory >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	}
	require(!ftruncate(memory, 0));
	require(pwrite(memory, data, size, 0) == (ssize_t)size);
}

static void check_packet(const struct model_packet *packet, __u32 tenants, __u32 requests)
{
	require(packet->source < tenants && packet->count == requests);
	for (__u32 i = 0; i < requests; i++) {
		__u32 shift = packet->requests[i].page_shift;

		require(packet->requests[i].iova < ADDRESSES);
		require(shift == 12 || shift == 21 || shift == 30);
	}
}

/* Plays what was taken, merged or as recorded, as the second byte says. */
static void play(const struct store *store, uint8_t choice)
{
	const struct turns_config turns = {
		.order = choice >> 2 & 3,
		.tenants = 1 + (choice >> 4) * 3u,
		.turn = 1 + (choice & 1),
		.share_count = choice >> 7 ? 2 : 0,
		.shares = {1, 3},
	};
	const struct store_play_config config = {
		.requests = 1 + (choice & 3),
		.packets = PACKETS,
		.turns = choice == UINT8_MAX ? NULL : &turns,
	};
	__u32 tenants = config.turns ? turns.tenants : store_tenants(store);
	struct model_packet packets[BATCH];
	struct store_play *player;
	struct pages *pages;
	int count;

	if (store_play_create(&player, store, &config))
		return;
	require(!pages_create(&pages));
	while ((count = store_play_next(player, packets, BATCH)) > 0)
		for (int i = 0; i < count; i++) {
			check_packet(&packets[i], tenants, config.requests);
			require(!pages_take(pages, &packets[i]));
		}
	require(!count && !pages_finish(pages));
	pages_destroy(pages);
	store_play_destroy(player);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_missing missing;
	struct store *store;
	int err;

	if (size < CHOICES)
		return 0;
	put_file(data + CHOICES, size - CHOICES);
	require(!store_create(&store));
	err = import_file(store, path, data[0] % IMPORT_FORMATS, 0, &missing);
	require(!err || err == -EINVAL || err == -EPROTO || err == -EBADMSG);
	/* Whoever refuses says what would be accepted, or that it is no recording or damaged. */
	require(err != -EINVAL || strstr(failure_text(), "accepted: "));
	require(err || store_records(store) || data[0] % IMPORT_FORMATS == IMPORT_HYPERSIO);
	if (store_records(store))
		play(store, data[1]);
	store_destroy(store);
	return 0;
}

static void write_seed(const char *directory, const char *name, enum import_format format,
		       const void *bytes, size_t size)
{
	struct trace_buffer seed = {0};

	trace_buffer_put_u8(&seed, 0x31); /* how packets are made */
	trace_buffer_put(&seed, bytes, size);
	seed_write(directory, name, (uint8_t)format, seed.bytes, seed.size);
	trace_buffer_free(&seed);
}

static void write_flt(const char *directory)
{
	const struct event event = {
		.time_ns = 1, .kind = EVENT_IO_COMPLETE, .address = 0x1800, .length = 8192};
	char recording[256];
	const struct trace_writer_config config = {.path = recording, .overwrite = true};
	struct trace_writer *writer;
	struct stream stream;
	uint8_t bytes[4096];
	size_t size;
	FILE *file;

	snprintf(recording, sizeof(recording), "%s/seed.flt", directory);
	require(!trace_writer_open(&writer, &config));
	stream = trace_writer_stream(writer);
	require(!stream.ops->events(stream.self, &event, 1) && !stream.ops->end(stream.self, 2));
	require(!trace_writer_close(writer));
	file = fopen(recording, "r");
	require(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	unlink(recording);
	write_seed(directory, "flt", IMPORT_FLT, bytes, size);
}

static void write_seeds(const char *directory)
{
	static const char lines[] =
		"1@2.000003:vtd_iotlb_page_update IOTLB page update sid 0x10 iova 0xffffe000 slpte "
		"0x1516d003 level 0x2 domain 0x4\n"
		"vtd_iotlb_page_hit IOTLB page hit sid 0x11 iova 0xffffe040 pmask 0xfffffffffffff000 "
		"slpte 0x87 domain 0x4\nsomething else\n";
	static char long_line[1100]; /* more than a line may have */
	static const __u64 records[2][6] = {
		{4ull << 48 | 16ull << 32 | 1, 0xbbe00000, ~0ull << 21, 2, 0x87, ~0ull},
		{5ull << 48 | 17ull << 32 | 1, 0x34800000, ~0ull << 12, 1, 0x3, 0},
	};

	write_seed(directory, "lines", IMPORT_QEMU, lines, sizeof(lines) - 1);
	memset(long_line, 'x', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\n';
	write_seed(directory, "long", IMPORT_QEMU, long_line, sizeof(long_line));
	write_seed(directory, "records", IMPORT_HYPERSIO, records, sizeof(records));
	write_flt(directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	write_seeds(directory);
	exit(0);
}
