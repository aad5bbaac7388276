/* SPDX-License-Identifier: GPL-2.0 */
/* Inside owners.c and owner_names.c. */
#ifndef FAULTLINE_OWNERS_PRIVATE_H
#define FAULTLINE_OWNERS_PRIVATE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "bpf/mappings.h"
#include "lib/capture/owners.h"
#include "lib/capture/symbols.h"

#define NAMES_MAX 65536 /* processes remembered; a name that does not fit is only untold */

/* Live mappings of one process with one stack on one device. */
struct live_group {
	struct {
		__u32 device; /* handle */
		__u32 pid;
		__u32 stack;
		__u32 code; /* LIVE_ALL, LIVE_OLD */
	} key;
	__u64 count, bytes;
	__u64 oldest_ns, oldest_address;
	UT_hash_handle hh;
};

struct owners_live_device {
	__u32 device; /* handle */
	__u64 count, bytes, old_count, old_bytes, pages;
	__u64 told; /* bit per gauge that was not 0 when last told */
	UT_hash_handle hh;
};

struct live_page {
	struct {
		__u64 page;
		__u64 device;
	} key;
	UT_hash_handle hh;
};

struct name {
	__u32 pid;
	char comm[16];
	char told[16];
	UT_hash_handle hh;
};

struct owners {
	struct owners_config config;
	struct symbols *symbols;
	struct live_group *groups;
	struct owners_live_device *devices;
	struct live_page *pages;
	struct name *names;
	__u64 classes; /* bit per size class that was seen */
	__u8 *stacks_told;
	__u64 next_snapshot_ns;
	bool lost_memory; /* a count could not be taken */
};

/* The process of this number goes by this name now. */
void owners_name(struct owners *owners, __u32 pid, const char comm[16]);

#endif
