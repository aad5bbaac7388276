// SPDX-License-Identifier: GPL-2.0
/*
 * A process whose pages are to be evicted, and which tells from its own side what became of them:
 *
 *	page_target KIND PAGES [FILE]
 *
 * KIND: anonymous, shmem, file (a mapping of FILE, which is made if it is missing), twice (shmem
 * mapped two times). Prints "ADDRESS PID" and then obeys one word a line of standard input:
 *
 *	read, write	touches each page once: "MINOR MAJOR MIN_US P50_US MAX_US WRONG" of its own
 *			rusage and clock; WRONG: pages whose content is not what was written
 *	present		"MAPPED CACHED": by its own pagemap, and by mincore()
 *	lock		mlock()s all of it: "locked"
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define PAGE 4096ul

struct region {
	volatile uint64_t *words;
	size_t pages;
};

static int open_backing(const char *kind, const char *path, size_t bytes)
{
	struct stat status;
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
		      : memfd_create("guest", MFD_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) ||
	    (S_ISREG(status.st_mode) && ftruncate(fd, (off_t)bytes))) {
		fprintf(stderr, "page_target: %s %s: %s\n", kind, path ? path : "",
			strerror(errno));
		exit(1);
	}
	return fd;
}

static volatile uint64_t *page(const struct region *region, size_t i)
{
	return region->words + i * (PAGE / sizeof(uint64_t));
}

static uint64_t content(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ull;
}

static void fill(const struct region *region)
{
	for (size_t i = 0; i < region->pages; i++)
		*page(region, i) = content(i);
}

static struct region make_region(const char *kind, size_t pages, const char *path)
{
	size_t bytes = pages * PAGE;
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct region region = {.pages = pages};
	void *second = NULL, *memory;

	if (strcmp(kind, "anonymous") != 0) {
		fd = open_backing(kind, path, bytes);
		flags = MAP_SHARED;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (!strcmp(kind, "twice"))
		second = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, fd, 0);
	if (memory == MAP_FAILED || second == MAP_FAILED) {
		perror("page_target: mmap");
		exit(1);
	}
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	region.words = memory;
	fill(&region);
	/* Clean pages can leave the page cache; without readahead each comes back on its own. */
	if (fd >= 0)
		fsync(fd);
	madvise(memory, bytes, MADV_RANDOM);
	if (second)
		for (size_t i = 0; i < pages; i++)
			*(volatile char *)((char *)second + i * PAGE);
	return region;
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

struct measured {
	long minor, major;
	uint64_t *times;
	size_t wrong;
};

static void measure(const struct region *region, int writing, struct measured *measured)
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < region->pages; i++) {
		uint64_t begin = monotonic_ns();

		if (writing)
			page(region, i)[1] = begin;
		measured->wrong += *page(region, i) != content(i);
		measured->times[i] = monotonic_ns() - begin;
	}
	getrusage(RUSAGE_SELF, &after);
	measured->minor = after.ru_minflt - before.ru_minflt;
	measured->major = after.ru_majflt - before.ru_majflt;
}

static void touch(const struct region *region, int writing)
{
	uint64_t word[64];
	struct region small = {word, 1};
	struct measured measured = {.times = malloc(region->pages * sizeof(uint64_t))};

	if (!measured.times)
		exit(1);
	memset(measured.times, 0, region->pages * sizeof(uint64_t));
	/* Once in vain: our own code and clock shall not fault in what is measured. */
	measure(&small, writing, &measured);
	measured.wrong = 0;
	measure(region, writing, &measured);
	qsort(measured.times, region->pages, sizeof(uint64_t), by_value);
	printf("%ld %ld %llu %llu %llu %zu\n", measured.minor, measured.major,
	       (unsigned long long)(measured.times[0] / NSEC_PER_USEC),
	       (unsigned long long)(measured.times[region->pages / 2] / NSEC_PER_USEC),
	       (unsigned long long)(measured.times[region->pages - 1] / NSEC_PER_USEC),
	       measured.wrong);
	free(measured.times);
}

static void present(const struct region *region)
{
	unsigned char *cached = malloc(region->pages);
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t in_table = 0, in_memory = 0;

	if (!cached || pagemap < 0 ||
	    mincore((void *)(uintptr_t)region->words, region->pages * PAGE, cached))
		exit(1);
	for (size_t i = 0; i < region->pages; i++) {
		off_t at = (off_t)(((uintptr_t)page(region, i) / PAGE) * sizeof(uint64_t));
		uint64_t entry = 0;

		if (pread(pagemap, &entry, sizeof(entry), at) == sizeof(entry))
			in_table += entry >> 63;
		in_memory += cached[i] & 1;
	}
	printf("%zu %zu\n", in_table, in_memory);
	close(pagemap);
	free(cached);
}

int main(int argc, char **argv)
{
	struct region region;
	char word[32];

	if (argc < 3 || argc > 4 || atol(argv[2]) <= 0) {
		fprintf(stderr, "Usage: page_target anonymous|shmem|file|twice PAGES [FILE]\n");
		return 2;
	}
	region = make_region(argv[1], (size_t)atol(argv[2]), argc == 4 ? argv[3] : NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%p %d\n", (void *)(uintptr_t)region.words, getpid());
	while (scanf("%31s", word) == 1) {
		if (!strcmp(word, "read") || !strcmp(word, "write"))
			touch(&region, !strcmp(word, "write"));
		else if (!strcmp(word, "present"))
			present(&region);
		else if (!strcmp(word, "lock") &&
			 !mlock((void *)(uintptr_t)region.words, region.pages * PAGE))
			puts("locked");
		else
			printf("cannot %s\n", word);
	}
	return 0;
}
