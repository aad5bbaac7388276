// SPDX-License-Identifier: GPL-2.0
/*
 * A page-fault storm with a known number of faults: touches PAGES pages, drops them, again, ROUNDS
 * times. Prints "faults NS": how many user page faults the loop made and how long they took. With
 * --wait it stops itself (SIGSTOP) before the storm, so that tools can be attached by pid.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static char *storm_region(const char *kind, size_t bytes)
{
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *region;

	if (!strcmp(kind, "shmem")) {
		fd = memfd_create("storm", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)bytes))
			return NULL;
		flags = MAP_SHARED;
	}
	region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (region == MAP_FAILED)
		return NULL;
	/* One fault a page, whatever the host's huge-page policy is. */
	madvise(region, bytes, MADV_NOHUGEPAGE);
	return region;
}

static void storm_touch(volatile char *region, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		region[i * PAGE] = 1;
}

int main(int argc, char **argv)
{
	uint64_t begin, busy = 0;
	size_t pages, rounds;
	char *region;

	if (argc < 4) {
		fprintf(stderr, "Usage: storm anon|shmem PAGES ROUNDS [--wait]\n");
		return 2;
	}
	pages = strtoul(argv[2], NULL, 10);
	rounds = strtoul(argv[3], NULL, 10);
	region = storm_region(argv[1], pages * PAGE);
	if (!region || !pages) {
		fprintf(stderr, "storm: cannot map %zu pages of %s: %s\n", pages, argv[1],
			strerror(errno));
		return 1;
	}
	/* Warm everything that the measured loop itself needs. */
	storm_touch(region, 1);
	now_ns();
	if (argc > 4)
		raise(SIGSTOP);
	for (size_t round = 0; round < rounds; round++) {
		madvise(region, pages * PAGE, MADV_DONTNEED);
		if (!strcmp(argv[1], "shmem"))
			madvise(region, pages * PAGE, MADV_REMOVE);
		begin = now_ns();
		storm_touch(region, pages);
		busy += now_ns() - begin;
	}
	printf("%zu %llu\n", pages * rounds, (unsigned long long)busy);
	return 0;
}
