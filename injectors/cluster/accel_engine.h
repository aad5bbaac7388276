/* SPDX-License-Identifier: GPL-2.0 */
/* The accelerator's copy engine, for the thread that runs it and for tests. */
#ifndef FAULTLINE_CLUSTER_ACCEL_ENGINE_H
#define FAULTLINE_CLUSTER_ACCEL_ENGINE_H

#include "injectors/cluster/accel.h"
#include "injectors/cluster/function.h"

struct accel_function {
	struct accel_device *device;
	__u32 function, resets, head;
	__u8 *bar, *memory;
	__u64 memory_bytes;
};
struct accel_device {
	struct cluster *cluster;
	__u32 device, function_count;
	struct accel_function *functions;
	__u32 stopped;
};

int accel_device_open(struct accel_device **device, struct cluster *cluster, __u32 index);
void accel_device_close(struct accel_device *device);
/* One command of each function: true: there was one. */
bool accel_device_turn(struct accel_device *device);

#endif
