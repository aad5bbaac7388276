/* SPDX-License-Identifier: GPL-2.0 */
/* What a [device] with model=block can be told. */
#ifndef FAULTLINE_BLOCK_H
#define FAULTLINE_BLOCK_H

#include "injectors/emu/device_class.h"

struct block_settings {
	struct vhost_settings vhost;
	struct device_file file;
	__u64 file_bytes;	 /* of an unlinked file */
	bool file_direct;	 /* O_DIRECT */
	__u64 medium_latency_ns; /* what the medium takes for an I/O, besides the file's own time */
	__u64 medium_bytes_per_s; /* and its bandwidth, 0: no limit; per queue */
};

#endif
