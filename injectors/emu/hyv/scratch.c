// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/hyv/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/page.h"
#include "lib/base/fail.h"

#define MAPS_CHUNK 16384
#define AROUND_BYTES \
	(64ull << 10) /* what the kernel brings with a page of a file, of that alignment */

/* Pages of the run that begins here. */
static __u32 pages_in_run(const __u64 *pages, __u32 count)
{
	__u32 length = 1;

	while (length < count && pages[length] == pages[length - 1] + PAGE_BYTES)
		length++;
	return length;
}

__u32 scratch_runs(const __u64 *pages, __u32 count)
{
	__u32 runs = 0;

	for (__u32 at = 0; at < count; at += pages_in_run(pages + at, count - at))
		runs++;
	return runs;
}

static int open_proc(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);

	return file < 0 ? failed(-errno, "cannot open %s: %s", path, strerror(errno)) : file;
}

/* A line each. */
static long mappings_now(void)
{
	int file = open_proc("/proc/self/maps");
	char chunk[MAPS_CHUNK];
	long lines = 0;
	ssize_t got;

	if (file < 0)
		return file;
	while ((got = read(file, chunk, sizeof(chunk))) > 0) {
		const char *end = chunk + got;

		for (const char *at = chunk; (at = memchr(at, '\n', (size_t)(end - at))); at++)
			lines++;
	}
	close(file);
	return got < 0 ? failed(-EIO, "cannot read /proc/self/maps") : lines;
}

static long mappings_most(void)
{
	int file = open_proc("/proc/sys/vm/max_map_count");
	char text[32];
	ssize_t got;

	if (file < 0)
		return file;
	got = read(file, text, sizeof(text) - 1);
	close(file);
	if (got <= 0)
		return failed(-EIO, "cannot read /proc/sys/vm/max_map_count");
	text[got] = 0;
	return strtol(text, NULL, 10);
}

/* The reservation takes one besides. */
static int room_for(__u32 runs)
{
	long most = mappings_most(), now;

	if (most < 0)
		return (int)most;
	now = mappings_now();
	if (now < 0)
		return (int)now;
	if (now + 1 + SCRATCH_SPARE + (long)runs <= most)
		return 0;
	return failed(-ENOMEM,
		      "%u runs of pages need as many mappings: this process has %ld, and "
		      "vm.max_map_count allows %ld (%d are left to others)",
		      runs, now, most, SCRATCH_SPARE);
}

static int list_check(int memory, const __u64 *pages, __u32 count)
{
	struct stat status;

	if (!count || fstat(memory, &status))
		return failed(-EINVAL, "a scratch mapping of %u pages of no memory", count);
	for (__u32 i = 0; i < count; i++) {
		if (pages[i] & (PAGE_BYTES - 1) || pages[i] >= (__u64)status.st_size)
			return failed(-EINVAL,
				      "page %u at 0x%llx: accepted: multiples of 4096 below "
				      "0x%llx",
				      i, pages[i], (__u64)status.st_size);
	}
	return 0;
}

static int map_runs(const struct scratch *scratch, int memory, const __u64 *pages, __u32 count)
{
	__u32 length;

	for (__u32 at = 0; at < count; at += length) {
		length = pages_in_run(pages + at, count - at);
		if (mmap(scratch->at + at * PAGE_BYTES, length * PAGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, memory,
			 (off_t)pages[at]) == MAP_FAILED)
			return failed(-errno, "cannot map page %u of %u for the host's driver: %s",
				      at, count, strerror(errno));
	}
	/* No guest that is started meanwhile has a view of another's memory. */
	if (madvise(scratch->at, scratch->bytes, MADV_DONTFORK))
		return failed(-errno, "cannot keep a scratch mapping from processes: %s",
			      strerror(errno));
	return 0;
}

/*
 * Many pages a fault, which by who pins for writing would be one each; asked for by one page of each that the kernel brings
 * together, as it looks for each page that it is asked for. Who pins brings what this could not.
 */
static void bring_pages(const struct scratch *scratch)
{
	uintptr_t at = (uintptr_t)scratch->at, end = at + scratch->bytes;

	/* In small runs there are few pages around. */
	if (scratch->runs > scratch->bytes / AROUND_BYTES + 1) {
		(void)madvise(scratch->at, scratch->bytes, MADV_POPULATE_READ);
		return;
	}
	for (; at < end; at = (at | (AROUND_BYTES - 1)) + 1)
		(void)madvise((void *)at, PAGE_BYTES, MADV_POPULATE_READ);
}

int scratch_map(struct scratch *scratch, int memory, const __u64 *pages, __u32 count)
{
	int error = list_check(memory, pages, count);
	__u64 bytes = count * PAGE_BYTES;
	void *reserved;
	__u32 runs;

	*scratch = (struct scratch){0};
	if (error)
		return error;
	runs = scratch_runs(pages, count);
	if (runs >= SCRATCH_SPARE)
		error = room_for(runs);
	if (error)
		return error;
	reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return failed(-errno, "cannot reserve %llu bytes: %s", bytes, strerror(errno));
	*scratch = (struct scratch){reserved, bytes, runs};
	error = map_runs(scratch, memory, pages, count);
	if (error)
		scratch_unmap(scratch);
	else
		bring_pages(scratch);
	return error;
}

void scratch_unmap(struct scratch *scratch)
{
	if (scratch->at)
		munmap(scratch->at, scratch->bytes);
	*scratch = (struct scratch){0};
}
