// SPDX-License-Identifier: GPL-2.0
#include "lib/base/memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/units.h"

/* Relaxed throughout: these are counts, and nothing else is read because of them. */
static __u64 most = UINT64_MAX, used;
static bool limit_reached, system_refused;

/* Takes its part of the limit before there is anything: of two threads one is refused. */
static bool memory_take(__u64 bytes)
{
	if (__atomic_add_fetch(&used, bytes, __ATOMIC_RELAXED) <= most)
		return true;
	__atomic_sub_fetch(&used, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&limit_reached, true, __ATOMIC_RELAXED);
	return false;
}

/* What malloc() really gave is what memory_free() will give back. */
static void *memory_settle(void *memory, size_t asked)
{
	__u64 got = memory ? malloc_usable_size(memory) : 0;

	__atomic_add_fetch(&used, got - asked, __ATOMIC_RELAXED);
	if (!memory)
		__atomic_store_n(&system_refused, true, __ATOMIC_RELAXED);
	return memory;
}

void *memory_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX / 2;
	return memory_take(bytes) ? memory_settle(calloc(1, bytes), bytes) : NULL;
}

/* While it moves there are both: that is when memory is most. */
void *memory_realloc(void *memory, size_t size)
{
	size_t before = memory ? malloc_usable_size(memory) : 0;
	void *moved;

	if (!memory_take(size))
		return NULL;
	moved = memory_settle(realloc(memory, size), size);
	if (moved)
		__atomic_sub_fetch(&used, before, __ATOMIC_RELAXED);
	return moved;
}

void memory_free(void *memory)
{
	if (memory)
		__atomic_sub_fetch(&used, malloc_usable_size(memory), __ATOMIC_RELAXED);
	free(memory);
}

void memory_limit(__u64 bytes)
{
	most = bytes;
	limit_reached = system_refused = false;
}

__u64 memory_limit_now(void)
{
	return most;
}

__u64 memory_used(void)
{
	return __atomic_load_n(&used, __ATOMIC_RELAXED);
}

bool memory_ran_out(void)
{
	return __atomic_load_n(&limit_reached, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&system_refused, __ATOMIC_RELAXED);
}

const char *memory_ran_out_text(char text[MEMORY_TEXT])
{
	char size[UNITS_TEXT];

	text[0] = '\0';
	if (limit_reached)
		snprintf(text, MEMORY_TEXT, "--max-memory %s was reached",
			 units_format_size(most, size));
	else if (system_refused)
		snprintf(text, MEMORY_TEXT, "the system gave no more memory");
	return text;
}

/* "NAME:   123 kB" of a file of /proc, in bytes; 0 if it is not there. */
static __u64 proc_bytes(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	unsigned long long kib = 0;
	size_t length = strlen(name);
	char line[256];

	while (file && !kib && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ':' &&
		    sscanf(line + length + 1, "%llu kB", &kib) != 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

__u64 memory_limit_default(void)
{
	__u64 half = proc_bytes("/proc/meminfo", "MemTotal") / 2;

	return half > MEMORY_LIMIT_LEAST ? half : MEMORY_LIMIT_LEAST;
}

void memory_keep_to(__u64 bytes)
{
	__u64 available = proc_bytes("/proc/meminfo", "MemAvailable");
	__u64 data = proc_bytes("/proc/self/status", "VmData");
	struct rlimit limit;

	if (available && bytes > available)
		bytes = available;
	if (bytes == UINT64_MAX || getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur <= data + bytes)
		return;
	limit.rlim_cur = data + bytes;
	setrlimit(RLIMIT_DATA, &limit);
}
