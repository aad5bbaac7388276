// SPDX-License-Identifier: GPL-2.0
/*
 * Touches a new page every 10 ms until it is ended, and says of each page what its own clock showed:
 * "ADDRESS BEFORE_NS AFTER_NS", CLOCK_MONOTONIC. A recorder that watches this process has a page
 * fault of each page that was touched while it recorded, and of no other.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "lib/base/clock.h"

#define PAGE  4096ul
#define PAGES (1ul << 16)

int main(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	volatile char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || madvise((void *)memory, PAGES * PAGE, MADV_NOHUGEPAGE))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < PAGES; i++) {
		__u64 before = monotonic_ns();

		memory[i * PAGE] = 1;
		printf("%lx %llu %llu\n", (unsigned long)(memory + i * PAGE), before,
		       monotonic_ns());
		nanosleep(&pause, NULL);
	}
	return 0;
}
