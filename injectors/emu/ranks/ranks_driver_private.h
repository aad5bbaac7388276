/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the ranks' driver share. */
#ifndef FAULTLINE_RANKS_DRIVER_PRIVATE_H
#define FAULTLINE_RANKS_DRIVER_PRIVATE_H

#include "injectors/emu/device_driver.h"
#include "injectors/emu/ranks/rank.h"

/* Of one device. */
struct ranks_driver {
	bool on_peer; /* the device is the second of the two */
	bool stopped;
	struct channel *channel;
	struct ranks_group *group; /* of both */
	struct ranks_layout layout;
	struct rank_memory memory;
	struct rank *rank; /* `created` of them */
	__u32 created;
};

/* ranks_driver_pages.c: as of struct device_driver */
long ranks_ring_pages(void *driver, unsigned int sides, __u64 *pages, __u32 limit);
__u64 ranks_buffer_bytes(void *driver);

#endif
