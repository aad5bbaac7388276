// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes journal_parse() and what a dry run of `faultline-inject recover` says of it. The first byte chooses:
 * below 64 the rest is the file as it is, else it is records with sound checksums. `journal --seeds DIR`
 * writes first inputs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "injectors/real/journal_file.h"
#include "injectors/real/journal_replay.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

#define MAGIC	0x314a4c46u
#define RECORDS 64

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_record(FILE *file, struct bytes *in, __u32 sequence)
{
	struct {
		__u32 magic;
		__u16 type, texts;
		__u32 sequence, bytes;
		char content[512];
	} record = {.magic = MAGIC, .sequence = sequence};
	__u64 checksum;
	char text[64];

	record.type = take_below(in, 9);
	record.texts = take_below(in, JOURNAL_TEXTS + 3);
	if (take_byte(in) == 255)
		record.sequence = (__u32)take_number(in);
	for (int i = 0; i < record.texts; i++) {
		take_text(in, text, sizeof(text));
		memcpy(record.content + record.bytes, text, strlen(text) + 1);
		record.bytes += (__u32)strlen(text) + 1;
	}
	if (take_byte(in) == 255 && record.bytes)
		record.bytes--; /* without the last NUL */
	if (take_byte(in) == 255)
		record.texts++; /* one more than there are */
	checksum = XXH64(&record, 16 + record.bytes, 0);
	fwrite(&record, 1, 16, file);
	fwrite(&checksum, 1, 8, file);
	fwrite(record.content, 1, record.bytes, file);
}

static void replay(int memory)
{
	unsigned int undone = 0, left = 0;
	size_t length;
	char *text;
	FILE *log = open_memstream(&text, &length);

	if (journal_replay(memory, true, log, &undone, &left) || undone)
		abort();
	fclose(log);
	for (const char *c = text; *c; c++)
		if ((*c < ' ' || *c > '~') && *c != '\n')
			abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int memory = -1;
	struct bytes in = {data, size};
	struct journal_content content;
	size_t length;
	char *bytes;
	FILE *file = open_memstream(&bytes, &length);

	if (memory < 0)
		memory = memfd_create("fuzz", MFD_CLOEXEC);
	if (take_byte(&in) < 64)
		fwrite(in.next, 1, in.left, file);
	else
		for (__u32 i = 0; in.left && i < RECORDS; i++)
			put_record(file, &in, i);
	fclose(file);
	if (journal_parse(bytes, length, &content) || content.valid > length)
		abort();
	journal_content_free(&content);
	if (ftruncate(memory, 0) || pwrite(memory, bytes, length, 0) != (ssize_t)length)
		abort();
	free(bytes);
	replay(memory);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const owner[JOURNAL_TEXTS] = {"4711", "123457", "boot"};
	static const char *const set[JOURNAL_TEXTS] = {"/sys/a", "old", "new"};
	static const char *const undone[JOURNAL_TEXTS] = {"1"};
	const char *directory = seeds_directory(*argc, *argv);
	char bytes[4096];
	ssize_t size;
	int file;

	if (!directory)
		return 0;
	file = memfd_create("seed", MFD_CLOEXEC);
	if (file < 0 || journal_append(file, JOURNAL_OWNER, 0, owner) ||
	    journal_append(file, JOURNAL_SET, 1, set) ||
	    journal_append(file, JOURNAL_UNDONE, 2, undone))
		abort();
	size = pread(file, bytes, sizeof(bytes), 0);
	seed_write(directory, "journal", 0, bytes, (size_t)size);
	seeds_write_random(directory, 255, 16);
	exit(0);
}
