// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/vhost/memory_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/page.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"

static bool region_wraps(const struct vhost_user_region *region)
{
	__u64 end;

	return __builtin_add_overflow(region->guest_physical, region->bytes, &end) ||
	       __builtin_add_overflow(region->user, region->bytes, &end);
}

static bool regions_overlap(const struct vhost_user_region *one,
			    const struct vhost_user_region *other)
{
	return one->guest_physical < other->guest_physical + other->bytes &&
	       other->guest_physical < one->guest_physical + one->bytes;
}

static int memory_region_check(const struct memory_table *table,
			       const struct vhost_user_region *region, __u64 bytes)
{
	const char *wrong = NULL;

	if (!region->bytes ||
	    (region->guest_physical | region->bytes | region->user | region->file_offset) &
		    (PAGE_BYTES - 1))
		wrong = "is not of whole pages";
	else if (region_wraps(region))
		wrong = "wraps around";
	else if (region->file_offset > bytes || region->bytes > bytes - region->file_offset)
		wrong = "leaves the tenant's memory";
	for (__u32 i = 0; i < table->count && !wrong; i++)
		if (regions_overlap(region, &table->region[i]))
			wrong = "overlaps another";
	return wrong ? failed(-EINVAL,
			      "memory region at guest physical 0x%llx, 0x%llx bytes, offset 0x%llx, %s",
			      region->guest_physical, region->bytes, region->file_offset, wrong)
		     : 0;
}

static bool is_memory_file(int one, int other)
{
	struct stat first, second;

	return !fstat(one, &first) && !fstat(other, &second) && same_file(&first, &second);
}

int memory_table_read(struct memory_table *table, const struct vhost_user_memory *memory,
		      const int *files, __u32 file_count, int memory_file, __u64 bytes)
{
	struct memory_table read = {0};
	int error = 0;

	if (!memory->count || memory->count > VHOST_USER_REGIONS || memory->count != file_count)
		return failed(
			-EINVAL,
			"a memory table of %u regions and %u files: accepted: 1 to %d of each",
			memory->count, file_count, VHOST_USER_REGIONS);
	for (__u32 i = 0; i < memory->count && !error; i++) {
		error = memory_region_check(&read, &memory->region[i], bytes);
		if (!error && !is_memory_file(files[i], memory_file))
			error = failed(
				-EINVAL,
				"memory region at guest physical 0x%llx is not of the tenant's memory: "
				"is libfaultline-vm.so preloaded, and share=on?",
				memory->region[i].guest_physical);
		read.region[read.count++] = memory->region[i];
	}
	if (!error)
		*table = read;
	return error;
}

int memory_table_guest(const struct memory_table *table, __u64 guest_physical, __u64 *guest_address,
		       __u64 *bytes)
{
	for (__u32 i = 0; i < table->count; i++) {
		const struct vhost_user_region *region = &table->region[i];
		__u64 offset = guest_physical - region->guest_physical;

		if (guest_physical < region->guest_physical || offset >= region->bytes)
			continue;
		*guest_address = region->file_offset + offset;
		*bytes = region->bytes - offset;
		return 0;
	}
	return -EINVAL;
}

int memory_table_user(const struct memory_table *table, __u64 user, __u64 *guest_address,
		      __u64 *bytes)
{
	for (__u32 i = 0; i < table->count; i++) {
		const struct vhost_user_region *region = &table->region[i];
		__u64 offset = user - region->user;

		if (user < region->user || offset >= region->bytes)
			continue;
		*guest_address = region->file_offset + offset;
		*bytes = region->bytes - offset;
		return 0;
	}
	return -EINVAL;
}
