// SPDX-License-Identifier: GPL-2.0
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct number_option {
	const char *key;
	size_t offset;
	const char *meaning;
};

#define NUMBER(key, meaning)                                      \
	{                                                         \
#key, offsetof(struct load_options, key), meaning \
	}

static const struct number_option numbers[] = {
	NUMBER(seed, "of all that is random"),
	NUMBER(seconds,
	       "after which threads end, whatever they had to do yet (0: when it is done)"),
	NUMBER(rounds, "of all of it: memory is given back after each"),
	NUMBER(rest_seconds, "between two rounds"),
	NUMBER(rest_balloon, "bytes that a balloon has to take and give back between two rounds"),
	NUMBER(await_memory, "bytes that the guest has to have before the first round: plugged in"),
	NUMBER(churn_bytes, "of anonymous memory that threads read, verify and write anew"),
	NUMBER(churn_threads, ""),
	NUMBER(churn_operations, "pages that each thread verifies (0: until time is up)"),
	NUMBER(counter_bytes, "of anonymous memory with a counter in each page"),
	NUMBER(counter_threads, ""),
	NUMBER(counter_operations, "counts of each thread (0: until time is up)"),
	NUMBER(flags_operations, "cmpxchg16b, with a look at what becomes of the flags"),
	NUMBER(tmpfs_files, "threads with a file of their own in a tmpfs"),
	NUMBER(tmpfs_bytes, "of each file"),
	NUMBER(tmpfs_rounds, "of writing it, reading it and verifying its checksum"),
	NUMBER(disk_bytes, "of the disk that are used; all of it is verified at the end"),
	NUMBER(disk_threads, "with O_DIRECT"),
	NUMBER(disk_buffered, "threads through the page cache, which they drop again and again"),
	NUMBER(disk_operations, "of each thread (0: until time is up)"),
	NUMBER(disk_block, "bytes of the largest operation, a multiple of 4K"),
	NUMBER(disk_buffer,
	       "bytes of memory that the operations of a thread go round (0: those of the largest)"),
	NUMBER(disk_write_percent, "of operations"),
	NUMBER(disk_zero_percent, "of operations: write zeroes"),
	NUMBER(disk_discard_percent, "of operations: discard, then written"),
	NUMBER(reboots, "before the guest ends; counted on the disk"),
};

static bool number(const char *text, uint64_t *value)
{
	char *end;
	unsigned long long read = strtoull(text, &end, 10);

	if (end == text)
		return false;
	if (*end == 'K' || *end == 'M' || *end == 'G') {
		read <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
		end++;
	}
	*value = read;
	return *end == '\0';
}

static bool text(const char *value, char *into, size_t size)
{
	return (size_t)snprintf(into, size, "%s", value) < size;
}

bool load_option(struct load_options *options, const char *word)
{
	const char *value = strchr(word, '=');
	size_t length = value ? (size_t)(value - word) : 0;

	if (!value)
		return false;
	value++;
	if (!strncmp(word, "disk=", length + 1))
		return !strncmp(value, "/dev/", 5) &&
		       text(value, options->disk, sizeof(options->disk));
	if (!strncmp(word, "end=", length + 1))
		return text(value, options->end, sizeof(options->end));
	if (!strncmp(word, "run=", length + 1))
		return text(value, options->run, sizeof(options->run));
	if (!strncmp(word, "net_address=", length + 1))
		return text(value, options->net_address, sizeof(options->net_address));
	if (!strncmp(word, "wrong=", length + 1))
		return text(value, options->wrong, sizeof(options->wrong));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strlen(numbers[i].key) == length && !strncmp(numbers[i].key, word, length))
			return number(value, (void *)((char *)options + numbers[i].offset));
	return false;
}

void load_options_init(struct load_options *options)
{
	*options = (struct load_options){
		.seed = 1,
		.rounds = 1,
		.disk = "/dev/vda",
		.disk_block = 65536,
		.disk_write_percent = 50,
		.end = "poweroff",
		.wrong = "count",
	};
}
