/* SPDX-License-Identifier: GPL-2.0 */
/* The accelerator's stock driver, between its files. */
#ifndef FAULTLINE_CLUSTER_ACCEL_DRIVER_H
#define FAULTLINE_CLUSTER_ACCEL_DRIVER_H

#include <pthread.h>

#include "injectors/cluster/accel.h"

struct accel_driver {
	struct bus *bus;
	pthread_mutex_t lock; /* of its queue: peers' drivers of this process use it, too */
	__u32 tail, interrupts;
	__u32 peer;   /* function whose driver it needs; CLUSTER_NONE: of none */
	bool working; /* has I/Os to come; under the lock of all drivers */
};

/* accel_queue.c */
int accel_probe(struct accel_driver *driver);
/* Its own work is done: waits for those who need it, unless it is to stop. */
void accel_linger(struct accel_driver *driver, const int *stop);
void accel_remove(struct accel_driver *driver, bool gone);
/* `bus`: address that the device can reach; by parts where it is long. `peer`: it is a peer's memory. Adds what it takes to *model_ns. */
int accel_copy(struct accel_driver *driver, enum accel_opcode opcode, bool peer, __u64 bus,
	       __u64 local, __u64 bytes, __u64 *model_ns);
/* The same by the driver of another function of this host, once it runs. `memory` is mapped for it. -ENODEV. */
int accel_peer_copy(struct cluster *cluster, __u32 function, enum accel_opcode opcode, void *memory,
		    __u64 local, __u64 bytes, __u64 *model_ns);

#endif
