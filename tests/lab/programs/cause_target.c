// SPDX-License-Identifier: GPL-2.0
/*
 * Page requests for memory of which it is known why it is not there:
 *
 *	cause_target FILE TRUTH
 *
 * FILE: at least 4 MB that can leave the page cache. The module's log goes to TRUTH. For each kind
 * of memory, prints what its own pagemap, /proc/vmstat and /proc/meminfo say:
 *
 *	NAME ADDRESS STRIDE PAGES  WAS_MAPPED WAS_SWAPPED IS_MAPPED MOVED  MAJOR SWAPPED_IN HUGE HUGETLB
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/real/iopf.h"

#define PAGE	   4096ul
#define HUGE	   (2ul << 20)
#define APART	   (128ul << 10) /* beyond what one fault maps around itself */
#define PAGES_MAX  64u
#define DROPPED_AT (2l << 20) /* in the file */
#define ANONYMOUS  (MAP_PRIVATE | MAP_ANONYMOUS)

struct memory {
	char *start;
	size_t stride;
	unsigned int pages;
	bool write, grouped;
};

static int file_fd;
static pid_t child;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "cause_target: %s: %s\n", what, strerror(errno));
	if (child)
		kill(child, SIGKILL);
	exit(1);
}

static char *map(size_t bytes, int protection, int flags, int fd, off_t at)
{
	char *start = mmap(NULL, bytes, protection, flags, fd, at);

	check(start != MAP_FAILED, "mmap");
	return start;
}

/* Starts where a huge page may; what is before and behind stays reserved. */
static char *map_aligned(size_t bytes, int advice)
{
	char *start = map(bytes + HUGE, PROT_READ | PROT_WRITE, ANONYMOUS, -1, 0);

	start += -(uintptr_t)start & (HUGE - 1);
	check(!madvise(start, bytes, advice), "madvise");
	return start;
}

static void fill(const struct memory *memory)
{
	for (unsigned int i = 0; i < memory->pages; i++)
		*(volatile uint64_t *)(memory->start + i * memory->stride) = i + 1;
}

/* The kinds of memory: each makes what a device shall then miss. */
static void make_fresh(struct memory *memory)
{
	memory->start = map_aligned(memory->pages * PAGE, MADV_NOHUGEPAGE);
}

static void make_filled(struct memory *memory)
{
	make_fresh(memory);
	fill(memory);
}

static void make_shared(struct memory *memory)
{
	make_filled(memory);
	child = fork();
	check(child >= 0, "fork");
	while (!child)
		pause();
}

static void make_cached(struct memory *memory)
{
	memory->stride = APART;
	memory->start = map(memory->pages * APART, PROT_READ, MAP_SHARED, file_fd, 0);
	for (unsigned int i = 0; i < memory->pages; i++)
		check(pwrite(file_fd, &i, sizeof(i), (off_t)(i * APART)) == sizeof(i), "pwrite");
}

static void make_dropped(struct memory *memory)
{
	size_t bytes = memory->pages * PAGE;
	char *content = calloc(1, bytes);
	unsigned char cached[PAGES_MAX];
	unsigned int left = 0;

	check(content, "calloc");
	check(pwrite(file_fd, content, bytes, DROPPED_AT) == (ssize_t)bytes, "pwrite");
	free(content);
	check(!fsync(file_fd), "fsync");
	errno = posix_fadvise(file_fd, DROPPED_AT, (off_t)bytes, POSIX_FADV_DONTNEED);
	check(!errno, "posix_fadvise");
	memory->start = map(bytes, PROT_READ, MAP_SHARED, file_fd, DROPPED_AT);
	check(!madvise(memory->start, bytes, MADV_RANDOM), "madvise");
	check(!mincore(memory->start, bytes, cached), "mincore");
	for (unsigned int i = 0; i < memory->pages; i++)
		left += cached[i] & 1;
	check(!left, "pages stay in the page cache");
}

static int make_file(size_t bytes)
{
	int fd = memfd_create("cause", MFD_CLOEXEC);

	check(fd >= 0 && !ftruncate(fd, (off_t)bytes), "memfd");
	return fd;
}

static void make_shmem(struct memory *memory)
{
	memory->start = map(memory->pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			    make_file(memory->pages * PAGE), 0);
}

static void make_beyond_end(struct memory *memory)
{
	memory->start = map((memory->pages + 1) * PAGE, PROT_READ, MAP_SHARED, make_file(PAGE), 0);
	memory->start += PAGE;
}

static void make_huge(struct memory *memory)
{
	memory->stride = HUGE;
	memory->start = map_aligned(memory->pages * HUGE, MADV_HUGEPAGE);
}

static void make_hugetlb(struct memory *memory)
{
	memory->stride = HUGE;
	memory->start =
		map(memory->pages * HUGE, PROT_READ | PROT_WRITE, ANONYMOUS | MAP_HUGETLB, -1, 0);
}

static void make_userfaultfd(struct memory *memory)
{
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	make_fresh(memory);
	range.range.start = (uintptr_t)memory->start;
	range.range.len = memory->pages * PAGE;
	check(fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range),
	      "userfaultfd");
}

static void make_read_only(struct memory *memory)
{
	make_filled(memory);
	check(!mprotect(memory->start, memory->pages * PAGE, PROT_READ), "mprotect");
}

static void make_unmapped(struct memory *memory)
{
	make_filled(memory);
	check(!munmap(memory->start, memory->pages * PAGE), "munmap");
}

static uint64_t page_entry(const char *address)
{
	static int pagemap = -1;
	uint64_t entry = 0;

	if (pagemap < 0)
		pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	check(pread(pagemap, &entry, sizeof(entry),
		    (off_t)((uintptr_t)address / PAGE * sizeof(entry))) == sizeof(entry),
	      "pagemap");
	return entry;
}

static bool is_mapped(uint64_t entry)
{
	return entry >> 63;
}
static bool is_swapped(uint64_t entry)
{
	return entry >> 62 & 1;
}
static uint64_t frame(uint64_t entry)
{
	return entry & ((1ull << 55) - 1);
}

static void make_swapped(struct memory *memory)
{
	unsigned int swapped = 0;

	make_filled(memory);
	for (int tries = 0; swapped < memory->pages && tries < 100; tries++) {
		check(!madvise(memory->start, memory->pages * PAGE, MADV_PAGEOUT), "madvise");
		usleep(10000);
		swapped = 0;
		for (unsigned int i = 0; i < memory->pages; i++)
			swapped += is_swapped(page_entry(memory->start + i * PAGE));
	}
	check(swapped == memory->pages, "pages stay in memory");
}

static const struct {
	const char *name;
	void (*make)(struct memory *memory);
	unsigned int pages;
	bool write, grouped;
} kinds[] = {
	{"anonymous", make_fresh, 13, true, true},
	{"zero", make_fresh, 11, false, true},
	{"present", make_filled, 23, false, true},
	{"shared", make_shared, 17, true, true},
	{"cached", make_cached, 7, false, true},
	{"dropped", make_dropped, 31, false, true},
	{"shmem", make_shmem, 5, true, true},
	{"huge", make_huge, 3, true, true},
	{"hugetlb", make_hugetlb, 2, true, true},
	{"swapped", make_swapped, 29, false, true},
	/* One that fails is the last of its group that is looked at: so each on its own. */
	{"userfaultfd", make_userfaultfd, 19, true, false},
	{"beyond-end", make_beyond_end, 37, false, false},
	{"read-only", make_read_only, 41, true, false},
	{"unmapped", make_unmapped, 43, false, false},
};

/* The number behind a word at the begin of a line. */
static long long number_of(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	long long number = -1;
	char line[256];

	check(file, path);
	while (number < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			number = strtoll(line + strlen(word), NULL, 10);
	fclose(file);
	check(number >= 0, word);
	return number;
}

enum { MAJOR, SWAPPED_IN, HUGE_PAGES, HUGETLB_FREE, COUNTERS };
static void read_counters(long long *counters)
{
	counters[MAJOR] = number_of("/proc/vmstat", "pgmajfault ");
	counters[SWAPPED_IN] = number_of("/proc/vmstat", "pswpin ");
	counters[HUGE_PAGES] = number_of("/proc/vmstat", "thp_fault_alloc ");
	counters[HUGETLB_FREE] = number_of("/proc/meminfo", "HugePages_Free:");
}

static void raise_all(const struct iopf_device *device, unsigned int pasid,
		      const struct memory *memory)
{
	struct faultline_request requests[PAGES_MAX];
	struct faultline_raise raise = {.count = memory->pages, .requests = (uintptr_t)requests};
	struct faultline_wait wait = {.timeout_ns = 20000000000};

	for (unsigned int i = 0; i < memory->pages; i++)
		requests[i] = (struct faultline_request){
			.address = (uintptr_t)(memory->start + i * memory->stride),
			.pasid = pasid,
			.group = FAULTLINE_GROUP_ANY,
			.permissions = memory->write ? FAULTLINE_WRITE : FAULTLINE_READ,
			.flags = !memory->grouped || i % 3 == 2 || i + 1 == memory->pages
					 ? FAULTLINE_LAST
					 : 0,
		};
	check(!iopf_call(device, FAULTLINE_IOC_RAISE, &raise, "cannot raise") &&
		      !iopf_call(device, FAULTLINE_IOC_WAIT, &wait, "cannot wait"),
	      failure_text());
}

static void miss(const struct iopf_device *device, unsigned int pasid, size_t kind)
{
	struct memory memory = {.pages = kinds[kind].pages,
				.stride = PAGE,
				.write = kinds[kind].write,
				.grouped = kinds[kind].grouped};
	unsigned int was_mapped = 0, was_swapped = 0, mapped = 0, moved = 0;
	long long before[COUNTERS], after[COUNTERS];
	uint64_t entries[PAGES_MAX];

	kinds[kind].make(&memory);
	for (unsigned int i = 0; i < memory.pages; i++) {
		entries[i] = page_entry(memory.start + i * memory.stride);
		was_mapped += is_mapped(entries[i]);
		was_swapped += is_swapped(entries[i]);
	}
	read_counters(before);
	raise_all(device, pasid, &memory);
	read_counters(after);
	for (unsigned int i = 0; i < memory.pages; i++) {
		uint64_t entry = page_entry(memory.start + i * memory.stride);

		mapped += is_mapped(entry);
		moved += is_mapped(entries[i]) && is_mapped(entry) &&
			 frame(entries[i]) != frame(entry);
	}
	printf("%s %p %zu %u  %u %u %u %u  %lld %lld %lld %lld\n", kinds[kind].name,
	       (void *)memory.start, memory.stride, memory.pages, was_mapped, was_swapped, mapped,
	       moved, after[MAJOR] - before[MAJOR], after[SWAPPED_IN] - before[SWAPPED_IN],
	       after[HUGE_PAGES] - before[HUGE_PAGES], before[HUGETLB_FREE] - after[HUGETLB_FREE]);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		child = 0;
	}
}

int main(int argc, char **argv)
{
	struct faultline_bind bind = {.device = 0};
	struct faultline_log_entry *entries;
	struct iopf_device device;
	__u64 first;
	size_t count;

	if (argc != 3) {
		fprintf(stderr, "Usage: cause_target FILE TRUTH\n");
		return 2;
	}
	file_fd = open(argv[1], O_RDWR | O_CLOEXEC);
	check(file_fd >= 0, argv[1]);
	check(!iopf_open(&device) && !iopf_call(&device, FAULTLINE_IOC_BIND, &bind, "cannot bind"),
	      failure_text());
	first = device.info.log_first + device.info.log_used;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		miss(&device, bind.pasid, kind);
	check(!iopf_log_read(&device, first, &entries, &count) &&
		      !iopf_truth_write(argv[2], &device, entries, count),
	      failure_text());
	free(entries);
	iopf_close(&device);
	return 0;
}
