// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/proc.h"

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FRAME	((1ull << 55) - 1)
#define MLOCKED_BIT	33 /* shown since 2.6.32, though not part of the uapi header */
#define RUN_PAGES	512
#define USER_END	(1ull << 47) /* of addresses that every process has */

static int pages_open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return failed(-ENOENT,
			      "%s: not there: the process has ended, or the kernel was built "
			      "without CONFIG_PROC_PAGE_MONITOR",
			      path);
	return failed(-errno, "%s: %s; run as root", path, strerror(errno));
}

int pages_open(struct process_pages *pages, pid_t pid)
{
	char path[64];

	*pages = (struct process_pages){.pid = pid, .pagemap = -1, .flags = -1, .counts = -1};
	snprintf(path, sizeof(path), "%s/%d/pagemap", proc_root(), pid);
	pages->pagemap = pages_open_file(path);
	if (pages->pagemap >= 0)
		pages->flags = pages_open_file("/proc/kpageflags");
	if (pages->flags >= 0)
		pages->counts = pages_open_file("/proc/kpagecount");
	if (pages->counts >= 0)
		return 0;
	pages_close(pages);
	return pages->pagemap < 0 ? -EPERM : -EACCES;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void pages_close(struct process_pages *pages)
{
	close_one(&pages->pagemap);
	close_one(&pages->flags);
	close_one(&pages->counts);
}

static int read_word(int fd, __u64 index, __u64 *word)
{
	ssize_t got = pread(fd, word, sizeof(*word), (off_t)(index * sizeof(*word)));

	if (got == sizeof(*word))
		return 0;
	/* A frame beyond memory: of a device. */
	*word = 0;
	return got == 0 ? -ERANGE : -errno;
}

static void describe_frame(const struct process_pages *pages, struct page_state *state)
{
	__u64 flags, mapped;

	if (read_word(pages->flags, state->frame, &flags) ||
	    read_word(pages->counts, state->frame, &mapped))
		return;
	state->own = mapped <= 1;
	state->locked = flags & (1ull << KPF_UNEVICTABLE | 1ull << MLOCKED_BIT);
	state->hugetlb = flags & (1ull << KPF_HUGE);
	state->huge = flags & (1ull << KPF_THP);
	state->anonymous = flags & (1ull << KPF_ANON);
	state->shared_memory = !state->anonymous && flags & (1ull << KPF_SWAPBACKED);
	state->zero = flags & (1ull << KPF_ZERO_PAGE);
	state->swap_cache = flags & (1ull << KPF_SWAPCACHE);
	state->ordinary = !(flags & (1ull << KPF_NOPAGE | 1ull << KPF_SLAB | 1ull << KPF_PGTABLE |
				     1ull << KPF_HWPOISON | 1ull << KPF_OFFLINE)) &&
			  mapped > 0;
}

static void page_describe(const struct process_pages *pages, __u64 entry, struct page_state *state)
{
	*state = (struct page_state){
		.present = entry & PAGEMAP_PRESENT,
		.swapped = !(entry & PAGEMAP_PRESENT) && entry & PAGEMAP_SWAPPED,
	};
	if (!state->present)
		return;
	state->frame = entry & PAGEMAP_FRAME;
	describe_frame(pages, state);
}

/* How many addresses from the first on lie one after the other. */
static size_t run_length(const __u64 *addresses, size_t count)
{
	size_t run = 1;

	while (run < count && run < RUN_PAGES && addresses[run] == addresses[run - 1] + PAGE_BYTES)
		run++;
	return run;
}

int pages_read(const struct process_pages *pages, const __u64 *addresses, size_t count,
	       struct page_state *states)
{
	__u64 entries[RUN_PAGES];

	for (size_t at = 0, run; at < count; at += run) {
		off_t offset = (off_t)((addresses[at] >> PAGE_BITS) * sizeof(__u64));
		ssize_t got;

		run = run_length(addresses + at, count - at);
		memset(entries, 0, sizeof(entries));
		got = pread(pages->pagemap, entries, run * sizeof(__u64), offset);
		/* It reads as empty once the process's memory is gone. */
		if (got < 0 || (got == 0 && addresses[at] < USER_END))
			return failed(-ESRCH, "process %d: its pagemap cannot be read: %s",
				      pages->pid, got ? strerror(errno) : "it has ended");
		for (size_t i = 0; i < run; i++) {
			page_describe(pages, entries[i], &states[at + i]);
			if (states[at + i].present && !states[at + i].frame)
				return failed(-EPERM,
					      "/proc/%d/pagemap shows no frame numbers: "
					      "CAP_SYS_ADMIN is missing, run as root",
					      pages->pid);
		}
	}
	return 0;
}

bool pages_in_swap_cache(const struct process_pages *pages, __u64 frame)
{
	__u64 flags;

	return !read_word(pages->flags, frame, &flags) && flags & (1ull << KPF_SWAPCACHE);
}

int pages_cached(pid_t pid, const struct process_mapping *mapping, __u64 address, size_t count,
		 unsigned char *cached)
{
	char path[96];
	void *window;
	int fd, err;

	snprintf(path, sizeof(path), "%s/%d/map_files/%llx-%llx", proc_root(), pid, mapping->start,
		 mapping->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	window = mmap(NULL, count * PAGE_BYTES, PROT_NONE, MAP_SHARED, fd,
		      (off_t)(mapping->offset + (address - mapping->start)));
	close(fd);
	if (window == MAP_FAILED)
		return -ENOENT;
	err = mincore(window, count * PAGE_BYTES, cached) ? -ENOENT : 0;
	munmap(window, count * PAGE_BYTES);
	return err;
}
