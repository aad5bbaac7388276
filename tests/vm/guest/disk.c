// SPDX-License-Identifier: GPL-2.0
/* A disk: threads with parts of their own, and a note in its first block for the boot that follows. */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NOTE_MAGIC 0x6661756c746c696eu

/* In block 0, all of it: what an earlier boot left behind. */
struct note {
	uint64_t magic;
	uint64_t boots;
	uint64_t bytes;
	uint64_t
		generations; /* sum over all blocks of mixed generations: what was lost changes it */
};

/* One thread's part of the disk. */
struct part {
	struct load *load;
	int fd;
	bool direct;
	uint64_t first; /* block of LOAD_PAGE */
	uint64_t blocks;
	uint64_t random;
	char *memory; /* of memory_bytes, of which ... */
	char *buffer; /* ... this is the operation's */
	uint64_t memory_bytes;
	struct load_result done;
};

/* By block: 0 is never written (anything may be there), UINT32_MAX all zeroes. */
static uint32_t *generations;
#define ZEROES UINT32_MAX

static uint64_t all_blocks(const struct load_options *options)
{
	return options->disk_bytes / LOAD_PAGE;
}

static uint64_t parts(const struct load_options *options)
{
	return options->disk_threads + options->disk_buffered;
}

static uint64_t zero_wrong(const char *page)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < LOAD_PAGE; i++)
		wrong += page[i] != 0;
	return wrong;
}

static void verify(struct load *load, const char *buffer, uint64_t block, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++, block++, buffer += LOAD_PAGE) {
		uint32_t generation = generations[block];
		uint64_t wrong = 0;

		if (generation == ZEROES)
			wrong = zero_wrong(buffer);
		else if (generation)
			wrong = page_wrong_bytes(buffer, block, generation);
		if (wrong)
			load_wrong(load, "disk block", block, wrong);
	}
}

static bool read_blocks(struct part *part, uint64_t block, uint64_t count)
{
	uint64_t begin = clock_ns();
	ssize_t length =
		pread(part->fd, part->buffer, count * LOAD_PAGE, (off_t)(block * LOAD_PAGE));

	latency_add(&part->done.read, clock_ns() - begin);
	part->done.reads++;
	if (length != (ssize_t)(count * LOAD_PAGE))
		load_error(part->load, "read", length < 0 ? errno : EIO);
	return length == (ssize_t)(count * LOAD_PAGE);
}

static void write_blocks(struct part *part, uint64_t block, uint64_t count)
{
	uint64_t begin;
	ssize_t length;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t *generation = &generations[block + i];

		*generation = *generation == ZEROES ? 1 : *generation + 1;
		page_fill(part->buffer + i * LOAD_PAGE, block + i, *generation);
	}
	begin = clock_ns();
	length = pwrite(part->fd, part->buffer, count * LOAD_PAGE, (off_t)(block * LOAD_PAGE));
	latency_add(&part->done.write, clock_ns() - begin);
	part->done.writes++;
	if (length != (ssize_t)(count * LOAD_PAGE))
		load_error(part->load, "write", length < 0 ? errno : EIO);
}

static void zero_blocks(struct part *part, uint64_t block, uint64_t count)
{
	uint64_t range[2] = {block * LOAD_PAGE, count * LOAD_PAGE};

	if (ioctl(part->fd, BLKZEROOUT, range))
		load_error(part->load, "write zeroes", errno);
	part->done.zeroed++;
	for (uint64_t i = 0; i < count; i++)
		generations[block + i] = ZEROES;
}

/* What is discarded may read as anything: it is written at once. */
static void discard_blocks(struct part *part, uint64_t block, uint64_t count)
{
	uint64_t range[2] = {block * LOAD_PAGE, count * LOAD_PAGE};

	if (ioctl(part->fd, BLKDISCARD, range) && errno != EOPNOTSUPP)
		load_error(part->load, "discard", errno);
	part->done.discarded++;
	write_blocks(part, block, count);
}

static void operate(struct part *part)
{
	const struct load_options *options = part->load->options;
	uint64_t most = options->disk_block / LOAD_PAGE, kind = random_below(&part->random, 100);
	uint64_t count = 1 + random_below(&part->random, most < part->blocks ? most : part->blocks);
	uint64_t block = part->first + random_below(&part->random, part->blocks - count + 1);

	if (part->buffer + count * LOAD_PAGE > part->memory + part->memory_bytes)
		part->buffer = part->memory;
	if (kind < options->disk_write_percent)
		write_blocks(part, block, count);
	else if ((kind -= options->disk_write_percent) < options->disk_zero_percent && part->direct)
		zero_blocks(part, block, count);
	else if (kind - options->disk_zero_percent < options->disk_discard_percent && part->direct)
		discard_blocks(part, block, count);
	else if (read_blocks(part, block, count))
		verify(part->load, part->buffer, block, count);
	part->buffer += count * LOAD_PAGE;
	if (!part->direct && random_below(&part->random, 13) == 0) {
		if (fdatasync(part->fd))
			load_error(part->load, "flush", errno);
		part->done.flushes++;
		/* What is read next comes from the device. */
		posix_fadvise(part->fd, 0, 0, POSIX_FADV_DONTNEED);
	}
}

static bool part_open(struct part *part, struct load *load, uint64_t number, bool direct)
{
	const struct load_options *options = load->options;
	uint64_t usable = all_blocks(options) - 1;

	part->load = load;
	part->direct = direct;
	part->blocks = usable / parts(options);
	part->first = 1 + number * part->blocks;
	part->random = options->seed * 7919 + number + load->boots * 104729;
	part->memory_bytes = options->disk_buffer > options->disk_block ? options->disk_buffer
									: options->disk_block;
	part->memory = part->buffer = aligned_alloc(LOAD_PAGE, part->memory_bytes);
	part->fd = open(options->disk, O_RDWR | O_CLOEXEC | (direct ? O_DIRECT : 0));
	if (part->fd >= 0 && part->memory && part->blocks)
		return true;
	load_error(load, options->disk, part->fd < 0 ? errno : EINVAL);
	return false;
}

static void part_close(struct part *part)
{
	if (part->fd >= 0)
		close(part->fd);
	free(part->memory);
	free(part);
}

static void part_account(struct part *part, bool timed)
{
	struct load_result *result = &part->load->result;

	pthread_mutex_lock(&result->lock);
	result->reads += part->done.reads;
	result->writes += part->done.writes;
	result->zeroed += part->done.zeroed;
	result->discarded += part->done.discarded;
	result->flushes += part->done.flushes;
	if (timed) {
		latency_merge(&result->read, &part->done.read);
		latency_merge(&result->write, &part->done.write);
	}
	pthread_mutex_unlock(&result->lock);
}

static void part_run(struct load *load, uint64_t number, bool direct)
{
	struct part *part = calloc(1, sizeof(*part));
	uint64_t operations = load->options->disk_operations;

	if (!part) {
		load_error(load, "disk", ENOMEM);
		return;
	}
	if (part_open(part, load, number, direct)) {
		for (uint64_t i = 0; (!operations || i < operations) && !load_is_over(load); i++)
			operate(part);
		if (!direct && fdatasync(part->fd))
			load_error(load, "flush", errno);
		part->done.flushes += !direct;
		part_account(part, direct);
	}
	part_close(part);
}

static void disk_thread(struct load *load, uint64_t number)
{
	part_run(load, number, true);
}

static void buffered_thread(struct load *load, uint64_t number)
{
	part_run(load, load->options->disk_threads + number, false);
}

static uint64_t disk_threads(const struct load_options *options)
{
	return options->disk_bytes ? options->disk_threads : 0;
}

static uint64_t buffered_threads(const struct load_options *options)
{
	return options->disk_bytes ? options->disk_buffered : 0;
}

const struct work disk_work = {"disk", disk_threads, disk_thread};
const struct work buffered_work = {"buffered", buffered_threads, buffered_thread};

static uint64_t digest(uint64_t blocks)
{
	uint64_t sum = 0, state;

	for (uint64_t i = 1; i < blocks; i++) {
		state = i * 1000003 + generations[i];
		sum += random_below(&state, UINT64_MAX);
	}
	return sum;
}

/* What blocks of unknown content say they are: zeroes, a generation, or something that no boot wrote. */
static void learn(const char *buffer, uint64_t block, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const char *page = buffer + i * LOAD_PAGE;
		uint64_t generation;

		if (generations[block + i])
			continue;
		if (page_generation(page, block + i, &generation) && generation < ZEROES)
			generations[block + i] = (uint32_t)generation;
		else if (zero_wrong(page) == 0)
			generations[block + i] = ZEROES;
	}
}

/* Reads and verifies all of the disk but the note, once. These reads count, but are none of those that are timed. */
static void whole_disk(struct load *load)
{
	uint64_t blocks = all_blocks(load->options), most = load->options->disk_block / LOAD_PAGE;
	struct part *part = calloc(1, sizeof(*part));

	if (!part) {
		load_error(load, "disk", ENOMEM);
		return;
	}
	if (part_open(part, load, 0, true)) {
		for (uint64_t block = 1, count; block < blocks; block += count) {
			count = blocks - block < most ? blocks - block : most;
			if (!read_blocks(part, block, count))
				continue;
			learn(part->buffer, block, count);
			verify(load, part->buffer, block, count);
		}
		part_account(part, false);
	}
	part_close(part);
}

static bool note_io(struct load *load, struct note *note, bool write)
{
	char *block = aligned_alloc(LOAD_PAGE, LOAD_PAGE);
	int fd = open(load->options->disk, O_RDWR | O_CLOEXEC | O_DIRECT);
	ssize_t length = -1;

	if (fd >= 0 && block && write) {
		memset(block, 0, LOAD_PAGE);
		memcpy(block, note, sizeof(*note));
		length = pwrite(fd, block, LOAD_PAGE, 0);
		if (fdatasync(fd))
			length = -1;
	} else if (fd >= 0 && block) {
		length = pread(fd, block, LOAD_PAGE, 0);
		memcpy(note, block, sizeof(*note));
	}
	if (length != LOAD_PAGE)
		load_error(load, load->options->disk, errno);
	if (fd >= 0)
		close(fd);
	free(block);
	return length == LOAD_PAGE;
}

bool disk_begin(struct load *load)
{
	const struct load_options *options = load->options;
	struct note note;

	if (!options->disk_bytes || !parts(options))
		return true;
	generations = calloc(all_blocks(options), sizeof(*generations));
	if (!generations || !note_io(load, &note, false))
		return false;
	if (note.magic != NOTE_MAGIC || note.bytes != options->disk_bytes)
		return true;
	load->boots = note.boots;
	whole_disk(load);
	if (digest(all_blocks(options)) != note.generations)
		load_wrong(load, "disk of the boot before", note.boots, LOAD_PAGE);
	return true;
}

void disk_end(struct load *load)
{
	const struct load_options *options = load->options;
	struct note note = {NOTE_MAGIC, load->boots + 1, options->disk_bytes, 0};

	if (!generations)
		return;
	whole_disk(load);
	note.generations = digest(all_blocks(options));
	note_io(load, &note, true);
}
