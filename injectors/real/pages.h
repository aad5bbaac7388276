/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel says of another process's mappings and pages: /proc/PID/maps, pagemap, map_files,
 * and /proc/kpageflags and kpagecount of the frames behind them. Reading changes nothing.
 */
#ifndef FAULTLINE_REAL_PAGES_H
#define FAULTLINE_REAL_PAGES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/page.h"

enum page_kind {
	KIND_ANONYMOUS,	    /* also a file's page once it was copied on write */
	KIND_FILE,	    /* backed by storage */
	KIND_SHARED_MEMORY, /* tmpfs, memfd, shared anonymous: backed by swap */
	KIND_HUGETLB,
	KIND_SPECIAL, /* device memory, [vdso] and its like: nothing that can be evicted */
	KIND_NONE,    /* no mapping there */
	PAGE_KINDS,
};

const char *page_kind_name(enum page_kind kind);

struct process_mapping {
	__u64 start, end;
	__u64 offset; /* of `start` in the file */
	enum page_kind kind;
	bool writable, shared;
	char name[96]; /* path or [heap], "" if anonymous; the end of it if it is longer */
};

struct process_mappings {
	struct process_mapping *all; /* by address */
	size_t count;
};

/* -ESRCH: the process has ended. */
int mappings_read(struct process_mappings *mappings, pid_t pid);
void mappings_free(struct process_mappings *mappings);
/* NULL if nothing is mapped there. */
const struct process_mapping *mappings_find(const struct process_mappings *mappings, __u64 address);

/* One page of the process as of now. */
struct page_state {
	bool present, swapped;
	bool own; /* nobody else has the frame mapped */
	bool locked, hugetlb, huge, anonymous, shared_memory, zero, swap_cache;
	bool ordinary; /* the frame is memory that can be reclaimed in principle */
	__u64 frame;   /* 0 unless present */
};

struct process_pages {
	pid_t pid;
	int pagemap, flags, counts;
};

/* -EPERM with a sentence if the kernel does not show frame numbers to us. */
int pages_open(struct process_pages *pages, pid_t pid);
void pages_close(struct process_pages *pages);
/* Reads the states of `count` page addresses in ascending order. -ESRCH: the process has ended. */
int pages_read(const struct process_pages *pages, const __u64 *addresses, size_t count,
	       struct page_state *states);

/* Whether this frame, which was an anonymous page's before, is still kept for it. */
bool pages_in_swap_cache(const struct process_pages *pages, __u64 frame);

/*
 * Whether pages of a mapping's file are in the page cache, which is not told by pagemap: one byte
 * for each page from `address` on, bit 0 set if it is. -ENOENT: the file cannot be looked at.
 */
int pages_cached(pid_t pid, const struct process_mapping *mapping, __u64 address, size_t count,
		 unsigned char *cached);

#endif
