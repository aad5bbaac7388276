/* SPDX-License-Identifier: GPL-2.0 */
/* Frames that the machine makes up for a NIC whose wire is no network: a [traffic NAME] section. */
#ifndef FAULTLINE_TRAFFIC_H
#define FAULTLINE_TRAFFIC_H

#include <linux/types.h>
#include <stdbool.h>

#define TRAFFIC_SIZES 8

struct traffic_config {
	char name[64];
	__u32 device; /* machine index */
	__u32 flows;
	__u64 sizes[TRAFFIC_SIZES]; /* of Ethernet frames, bytes, 64 to 9000 */
	__u32 size_weights[TRAFFIC_SIZES];
	__u32 size_count;
	double rate;	   /* frames per second over all flows, 0: as fast as possible */
	__u64 count;	   /* frames, 0: until `duration_ns` */
	__u64 duration_ns; /* 0: until `count` */
	bool verify;	   /* order and content of what arrives are checked */
	__u64 seed;
};

#endif
