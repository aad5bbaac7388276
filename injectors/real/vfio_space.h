/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The I/O address space of a driver in user space: a VFIO container with the type1 IOMMU, or an
 * address space of iommufd. What it maps it counts itself, as truth for those who watch.
 */
#ifndef FAULTLINE_REAL_VFIO_SPACE_H
#define FAULTLINE_REAL_VFIO_SPACE_H

#include <linux/types.h>
#include <stdbool.h>

#define SPACE_GROUPS 16

enum space_kind { SPACE_TYPE1, SPACE_IOMMUFD };

struct space_counts {
	__u64 maps, maps_failed;
	__u64 unmaps, unmaps_failed;
	__u64 mapped, unmapped; /* bytes */
	int map_errno;		/* of the latest refusal, 0: none */
};

struct space {
	enum space_kind kind;
	int fd;	    /* /dev/vfio/vfio or /dev/iommu */
	__u32 ioas; /* iommufd's name of it */
	int groups[SPACE_GROUPS];
	int group_numbers[SPACE_GROUPS];
	unsigned int group_count;
	struct space_counts counts;
};

/* -ENODEV with a sentence: this kernel has it not, or its module is not loaded. */
int space_open(struct space *space, enum space_kind kind);
void space_close(struct space *space);
/* A descriptor of the device, which translates through this space from now on. */
int space_add_device(struct space *space, const char *address);
/* Counted; a refusal is a result: its sentence is left to the caller. Returns a negative errno. */
int space_map(struct space *space, void *memory, __u64 iova, __u64 bytes);
int space_unmap(struct space *space, __u64 iova, __u64 bytes);

const char *space_kind_name(enum space_kind kind);

#endif
