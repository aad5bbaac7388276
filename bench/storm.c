// SPDX-License-Identifier: GPL-2.0
/*
 * A page-fault storm with a known number of faults: touches PAGES pages, drops them, again, ROUNDS
 * times. Prints "FAULTS NS CPU_NS": how many user page faults the loop made, how long they took and
 * how much CPU time of this thread. With --wait it stops itself (SIGSTOP) before the storm, so that
 * tools can be attached by pid; with --scatter it does not walk the pages in order.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bpf/page.h"
#include "lib/base/clock.h"

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

/* Touches every page once; `order` is NULL or a permutation of the pages. */
static void storm_touch(volatile char *region, size_t pages, const size_t *order)
{
	for (size_t i = 0; i < pages; i++)
		region[(order ? order[i] : i) * PAGE_BYTES] = 1;
}

static size_t *storm_order(size_t pages)
{
	size_t *order = malloc(pages * sizeof(*order));

	for (size_t i = 0; order && i < pages; i++) {
		size_t other = (size_t)random() % (i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	return order;
}

static bool has_option(int argc, char **argv, const char *option)
{
	for (int i = 4; i < argc; i++)
		if (!strcmp(argv[i], option))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	uint64_t begin, begin_cpu, busy = 0, cpu = 0;
	size_t pages, rounds, *order = NULL;
	char *region;

	if (argc < 4) {
		fprintf(stderr, "Usage: storm anon|shmem PAGES ROUNDS [--wait] [--scatter]\n");
		return 2;
	}
	pages = strtoul(argv[2], NULL, 10);
	rounds = strtoul(argv[3], NULL, 10);
	region = storm_region(argv[1], pages * PAGE_BYTES);
	if (!region || !pages) {
		fprintf(stderr, "storm: cannot map %zu pages of %s: %s\n", pages, argv[1],
			strerror(errno));
		return 1;
	}
	/* Warm everything that the measured loop itself needs. */
	if (has_option(argc, argv, "--scatter"))
		order = storm_order(pages);
	storm_touch(region, 1, NULL);
	monotonic_ns();
	if (has_option(argc, argv, "--wait"))
		raise(SIGSTOP);
	for (size_t round = 0; round < rounds; round++) {
		madvise(region, pages * PAGE_BYTES, MADV_DONTNEED);
		if (!strcmp(argv[1], "shmem"))
			madvise(region, pages * PAGE_BYTES, MADV_REMOVE);
		begin = monotonic_ns();
		begin_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		storm_touch(region, pages, order);
		cpu += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu;
		busy += monotonic_ns() - begin;
	}
	printf("%zu %llu %llu\n", pages * rounds, (unsigned long long)busy,
	       (unsigned long long)cpu);
	free(order);
	return 0;
}
