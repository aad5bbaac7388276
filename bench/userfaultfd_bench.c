// SPDX-License-Identifier: GPL-2.0
/*
 * What a page fault costs that a second thread resolves through userfaultfd, with nothing around
 * it: the peer of the emulated machine's fault round trip, whose pager works this way. One thread
 * touches absent pages of a memfd whose page is there (a minor fault), the other maps them. Prints
 * "NAME VALUE UNIT" a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/page.h"
#include "lib/base/clock.h"

#define PAGES 20011ul

static void userfaultfd_give_up(const char *what)
{
	fprintf(stderr, "userfaultfd_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Nobody would wake the other thread if this one returned early. */
static void *resolve(void *argument)
{
	int descriptor = *(int *)argument;

	for (size_t i = 0; i < PAGES; i++) {
		struct uffdio_continue map = {0};
		struct uffd_msg message;

		if (read(descriptor, &message, sizeof(message)) != sizeof(message))
			userfaultfd_give_up("reading a fault");
		map.range.start = message.arg.pagefault.address & ~(PAGE_BYTES - 1);
		map.range.len = PAGE_BYTES;
		if (ioctl(descriptor, UFFDIO_CONTINUE, &map))
			userfaultfd_give_up("mapping a page");
	}
	return NULL;
}

static int userfaultfd_by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A shared mapping whose pages exist but are not mapped; -1 and errno if this host cannot. */
static int userfaultfd_watch(volatile char **region)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_MINOR_SHMEM};
	struct uffdio_register watched = {.mode = UFFDIO_REGISTER_MODE_MINOR};
	int memory = memfd_create("userfaultfd_bench", MFD_CLOEXEC);
	int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *filler;

	if (memory < 0 || descriptor < 0 || ftruncate(memory, PAGES * PAGE_BYTES))
		return -1;
	filler = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	*region = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (filler == MAP_FAILED || *region == MAP_FAILED)
		return -1;
	memset(filler, 1, PAGES * PAGE_BYTES);
	watched.range.start = (uintptr_t)*region;
	watched.range.len = PAGES * PAGE_BYTES;
	if (ioctl(descriptor, UFFDIO_API, &api) || ioctl(descriptor, UFFDIO_REGISTER, &watched))
		return -1;
	return descriptor;
}

int main(void)
{
	static uint64_t taken[PAGES];
	volatile char *region;
	int descriptor = userfaultfd_watch(&region);
	pthread_t thread;

	if (descriptor < 0)
		userfaultfd_give_up("no userfaultfd of memfds on this host");
	if (pthread_create(&thread, NULL, resolve, &descriptor))
		userfaultfd_give_up("no second thread");
	for (size_t i = 0; i < PAGES; i++) {
		uint64_t begin = monotonic_ns();

		region[i * PAGE_BYTES] = 2;
		taken[i] = monotonic_ns() - begin;
	}
	pthread_join(thread, NULL);
	qsort(taken, PAGES, sizeof(taken[0]), userfaultfd_by_value);
	printf("userfaultfd_p50 %llu ns\n", (unsigned long long)taken[PAGES / 2]);
	printf("userfaultfd_p90 %llu ns\n", (unsigned long long)taken[PAGES * 90 / 100]);
	return 0;
}
