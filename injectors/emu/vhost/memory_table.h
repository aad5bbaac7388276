/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a front-end says of a guest's memory (SET_MEM_TABLE), checked: every region lies in the tenant's own file, so that a guest
 * address is an offset in it and nothing else can be reached.
 */
#ifndef FAULTLINE_MEMORY_TABLE_H
#define FAULTLINE_MEMORY_TABLE_H

#include "injectors/emu/vhost/vhost_protocol.h"

struct memory_table {
	__u32 count;
	struct vhost_user_region region[VHOST_USER_REGIONS];
};

/*
 * `files`: the descriptors that came with the message, `file_count` of them; they stay the caller's. `memory_file`: the tenant's, of
 * `bytes`. -EINVAL with a sentence: a region is no whole pages, wraps around, overlaps another's guest physical addresses, leaves the file, or
 * is of another file.
 */
int memory_table_read(struct memory_table *table, const struct vhost_user_memory *memory,
		      const int *files, __u32 file_count, int memory_file, __u64 bytes);

/* The guest address of a guest physical (a front-end's user) one, and how many bytes follow it in its region; -EINVAL: in none. */
int memory_table_guest(const struct memory_table *table, __u64 guest_physical, __u64 *guest_address,
		       __u64 *bytes);
int memory_table_user(const struct memory_table *table, __u64 user, __u64 *guest_address,
		      __u64 *bytes);

#endif
