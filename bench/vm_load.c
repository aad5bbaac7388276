// SPDX-License-Identifier: GPL-2.0
/*
 * What a virtual machine's driver asks of a disk, without the machine: random I/Os of 4 KiB in one virtqueue, to and from all of the memory,
 * for the disk that listens at a socket. Begins when each page of memory has been written, and has been in an I/O once. Or, in its place,
 * touches of pages that the memory's host has taken away (each is looked for with mincore).
 *
 *	vm_load SOCKET read|write DEPTH SECONDS [DISK_BYTES]	prints "IOS NS DEVICE_CPU_NS DRIVER_CPU_NS P50_NS P99_NS"
 *	vm_load SOCKET touch COUNT				prints "TOUCHES P50_NS P99_NS"
 *
 * DEVICE_CPU_NS: of the process that listens.
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/vm_driver.h"
#include "bpf/page.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"

#define MEMORY	     (32ull << 20)
#define DISK_BYTES   (64ull << 20)
#define SECTOR	     512
#define SAMPLES_MOST (4u << 20)

static __u64 samples[SAMPLES_MOST];
static size_t sample_count;

static void sample_add(__u64 ns)
{
	if (sample_count < SAMPLES_MOST)
		samples[sample_count++] = ns;
}

static int compare_ns(const void *a, const void *b)
{
	const __u64 left = *(const __u64 *)a, right = *(const __u64 *)b;

	return (left > right) - (left < right);
}

static __u64 percentile(unsigned int percent)
{
	return sample_count ? samples[sample_count * percent / 100] : 0;
}

static __u64 task_ns(pid_t pid, const char *task)
{
	char path[320];
	__u64 ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, task);
	file = fopen(path, "r");
	if (file && fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return ns;
}

/* CPU time of the threads that a process has. */
static __u64 process_ns(pid_t pid)
{
	const struct dirent *task;
	char path[64];
	__u64 ns = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		err(1, "%s", path);
	while ((task = readdir(tasks)))
		if (*task->d_name != '.')
			ns += task_ns(pid, task->d_name);
	closedir(tasks);
	return ns;
}

static __u64 load_own_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec;
}

static struct random addresses;

static __u64 random_page(__u64 from, __u64 bytes)
{
	return from + random_below(&addresses, (bytes - from) / PAGE_BYTES) * PAGE_BYTES;
}

struct load_run {
	struct vm_driver driver;
	bool write;
	unsigned int depth;
	__u64 disk_bytes;
	__u64 begun[VM_DRIVER_MOST]; /* each slot's request */
};

static void load_submit(struct load_run *run, unsigned int slot, __u64 address)
{
	run->begun[slot] = monotonic_ns();
	vm_driver_submit(&run->driver, slot, run->write, random_page(0, run->disk_bytes) / SECTOR,
			 address, PAGE_BYTES);
}

/* Every page is there, and the device knows it. */
static void load_warm_up(struct load_run *run)
{
	for (__u64 at = 0; at < run->driver.bytes; at += PAGE_BYTES)
		((volatile unsigned char *)run->driver.memory)[at] |= 0;
	for (__u64 at = VM_DRIVER_OWN; at < run->driver.bytes; at += PAGE_BYTES) {
		load_submit(run, 0, at);
		vm_driver_kick(&run->driver);
		vm_driver_reap(&run->driver);
	}
}

static __u64 load_go(struct load_run *run, __u64 ns)
{
	const __u64 end = monotonic_ns() + ns;
	unsigned int open = run->depth;
	__u64 ios = 0, now;

	for (unsigned int slot = 0; slot < run->depth; slot++)
		load_submit(run, slot, random_page(VM_DRIVER_OWN, run->driver.bytes));
	while (open) {
		unsigned int slot;

		vm_driver_kick(&run->driver);
		slot = vm_driver_reap(&run->driver);
		now = monotonic_ns();
		sample_add(now - run->begun[slot]);
		ios++;
		if (now < end)
			load_submit(run, slot, random_page(VM_DRIVER_OWN, run->driver.bytes));
		else
			open--;
	}
	return ios;
}

static void run_load(struct load_run *run, double seconds)
{
	__u64 begin, device, driver, ios;

	load_warm_up(run);
	begin = monotonic_ns();
	device = process_ns(run->driver.peer);
	driver = load_own_ns();
	ios = load_go(run, (__u64)(seconds * NSEC_PER_SEC));
	device = process_ns(run->driver.peer) - device;
	driver = load_own_ns() - driver;
	begin = monotonic_ns() - begin;
	qsort(samples, sample_count, sizeof(samples[0]), compare_ns);
	printf("%llu %llu %llu %llu %llu %llu\n", ios, begin, device, driver, percentile(50),
	       percentile(99));
}

/* Pages that are away now, each touched once. */
static void touch_round(const struct vm_driver *driver, size_t most)
{
	static unsigned char present[MEMORY / PAGE_BYTES];

	if (mincore(driver->memory, driver->bytes, present))
		err(1, "mincore");
	for (__u64 at = VM_DRIVER_OWN; at < driver->bytes && sample_count < most; at += PAGE_BYTES)
		if (!(present[at / PAGE_BYTES] & 1)) {
			const __u64 begin = monotonic_ns();

			((volatile unsigned char *)driver->memory)[at] |= 1;
			sample_add(monotonic_ns() - begin);
		}
}

static void run_touches(struct load_run *run, size_t most)
{
	load_warm_up(run);
	while (sample_count < most) {
		touch_round(&run->driver, most);
		nanosleep(&(struct timespec){.tv_nsec = NSEC_PER_MSEC}, NULL);
	}
	qsort(samples, sample_count, sizeof(samples[0]), compare_ns);
	printf("%zu %llu %llu\n", sample_count, percentile(50), percentile(99));
}

int main(int argc, char **argv)
{
	static struct load_run run;
	const bool touch = argc == 4 && !strcmp(argv[2], "touch");

	if (!touch && (argc < 5 || argc > 6))
		errx(2,
		     "vm_load SOCKET read|write DEPTH SECONDS [DISK_BYTES] | SOCKET touch COUNT");
	run.write = !strcmp(argv[2], "write");
	run.depth = touch ? 1 : (unsigned int)atoi(argv[3]);
	run.disk_bytes = argc == 6 ? strtoull(argv[5], NULL, 10) : DISK_BYTES;
	if (!run.depth || run.depth > VM_DRIVER_MOST || run.disk_bytes < PAGE_BYTES)
		errx(2, "DEPTH is 1 to %u, DISK_BYTES a page or more", VM_DRIVER_MOST);
	vm_driver_open(&run.driver, argv[1], MEMORY);
	if (touch)
		run_touches(&run, (size_t)atoll(argv[3]));
	else
		run_load(&run, atof(argv[4]));
	return 0;
}
