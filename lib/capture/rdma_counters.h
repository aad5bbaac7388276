/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What RDMA devices count themselves: retransmissions, receiver-not-ready NAKs and the like.
 *
 * Read from sysfs (DEVICE/ports/PORT/hw_counters). A device's totals when it is first met are where
 * counting begins; one that appears later began at 0. What has moved since is told as one
 * EVENT_RDMA_COUNTER a counter, so that the sum of all is exact whatever the interval.
 */
#ifndef FAULTLINE_RDMA_COUNTERS_H
#define FAULTLINE_RDMA_COUNTERS_H

#include <linux/types.h>
#include <stddef.h>

#include "bpf/event.h"
#include "bpf/state.h"
#include "lib/base/stream.h"

#define RDMA_CLASS     "/sys/class/infiniband"
#define RDMA_READ_NS   100000000ull /* a read may ask the device: mlx5 sends a command to it */
#define RDMA_NAME_TEXT 64
#define RDMA_CACHE_NS  50000000ull /* the kernel keeps what it read this long at most: 10 to 12 ms */

struct rdma_counters;

/* `event` lacks its device, which `name` names. A negative errno stops the reading. */
typedef int (*rdma_counter_fn)(void *self, const char *name, const struct event *event);

/* `directory` NULL: RDMA_CLASS. No devices are no error. `fresh`: even those found now are new. */
int rdma_counters_create(struct rdma_counters **counters, const char *directory, bool fresh,
			 __u64 now_ns);
void rdma_counters_destroy(struct rdma_counters *counters);

/* Reads all devices, looks for new ones once a second. Cheap before RDMA_READ_NS have passed. */
int rdma_counters_poll(struct rdma_counters *counters, __u64 now_ns, rdma_counter_fn give,
		       void *self);
/* The final totals: waits for what the kernel has cached to expire, then reads. */
int rdma_counters_finish(struct rdma_counters *counters, rdma_counter_fn give, void *self);

size_t rdma_counters_devices(const struct rdma_counters *counters);
/* Passes over all files so far. */
__u64 rdma_counters_reads(const struct rdma_counters *counters);
/* The sum of what was told of a device's counter, over its ports. */
__u64 rdma_counters_told(const struct rdma_counters *counters, const char *name,
			 enum rdma_counter counter);

/* "rxe on eth0", or the driver of the hardware. */
void rdma_device_model(const char *name, char model[NAME_TEXT]);

#endif
