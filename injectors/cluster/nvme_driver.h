/* SPDX-License-Identifier: GPL-2.0 */
/* The stock NVMe driver, between its files. Nothing in it knows where its device is. */
#ifndef FAULTLINE_CLUSTER_NVME_DRIVER_H
#define FAULTLINE_CLUSTER_NVME_DRIVER_H

#include "injectors/cluster/nvme.h"

#define NVME_DEPTH_MAX (NVME_QUEUE_ENTRIES - 1)

struct nvme_pair {
	struct nvme_command *commands;
	struct nvme_completion *completions;
	__u64 commands_at, completions_at; /* for the device */
	__u32 number, entries, tail, head, vector;
	__u32 interrupts; /* seen */
	__u16 phase;
};

struct nvme_slot {
	struct io_next io;
	void *buffer;
	__u64 address; /* of the buffer, for the device */
	__u64 begin_ns;
	__u32 entry;	 /* of the queue: its command's */
	__u64 issued_ns; /* the last time; begin_ns: the first */
	__u32 retries;
	bool used, asked_abort;
};

struct nvme_driver {
	struct bus *bus;
	struct nvme_pair admin, io;
	__u32 depth, outstanding;
	__u16 admin_id;
	__u64 block;
	struct nvme_slot *slots;
	__u64 *lists; /* PRP lists, a page for each slot */
	__u64 lists_at;
	struct nvme_slot *waiting; /* has an I/O for which there was no room in the window */
	__u64 disk_bytes;
};

/* nvme_driver_probe.c */
int nvme_driver_probe(struct nvme_driver *driver);
/* Off and on again: its pairs are empty then, whatever was in them. */
int nvme_driver_restart(struct nvme_driver *driver);
/* Its registers can be read now; whether it is gone for good is nvme_driver_state()'s to say. */
bool nvme_driver_reaches(struct nvme_driver *driver);
void nvme_driver_remove(struct nvme_driver *driver, bool gone);
int nvme_driver_admin(struct nvme_driver *driver, struct nvme_command *command,
		      struct nvme_completion *completion);
/* False: the next completion is not there yet. */
bool nvme_pair_reap(struct nvme_driver *driver, struct nvme_pair *pair,
		    struct nvme_completion *completion);
/* Puts it into the queue; nvme_pair_ring() tells the device. Returns its entry. */
__u32 nvme_pair_put(struct nvme_pair *pair, const struct nvme_command *command);
void nvme_pair_ring(struct nvme_driver *driver, struct nvme_pair *pair);
/* 0, or why it is gone. */
int nvme_driver_state(struct nvme_driver *driver);

#endif
