/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a driver and its device share besides guest memory: registers, doorbells, one interrupt.
 *
 * The machine creates a channel for each device, starts the device model on it, then gives it to
 * the one workload that drives the device. It must outlive both.
 */
#ifndef FAULTLINE_CHANNEL_H
#define FAULTLINE_CHANNEL_H

#include <stdbool.h>

#include "bpf/event.h"
#include "injectors/emu/doorbell.h"
#include "injectors/emu/ring.h"

/* What a [workload] asks of the device: its opcodes, and what the target of an I/O is. */
enum device_io {
	DEVICE_IO_NONE, /* nothing: the device has a driver of its own */
	DEVICE_IO_DISK, /* RING_READ and RING_WRITE of `disk_bytes` */
	DEVICE_IO_COPY, /* RING_COPY to elsewhere in its data */
};

struct channel_queue {
	struct doorbell doorbell __attribute__((aligned(64))); /* driver to device */
	__u64 ring;					       /* guest address of the rings */
	__u64 blocked_ns;    /* by the device: time paused on faults so far */
	__u64 *submitted_ns; /* by the driver, by descriptor id: its clock before it submitted */
} __attribute__((aligned(64)));

struct channel_config {
	__u16 queues;	   /* 1 to RING_QUEUES_MAX */
	__u16 queue_depth; /* power of two, 2 to depth_max */
	__u16 depth_max;   /* the model's, at most RING_DEPTH_MAX */
	enum device_io io; /* the model's */
	__u32 pasid;	   /* of everything the driver hands to the device, or PASID_NONE */
	/* The device's own share of its tenant's memory: the rings first, then data. */
	__u64 guest_address; /* page aligned */
	__u64 bytes;
	bool without_rings; /* it is data from the first byte on: somebody else drives the device */
	__u64 iova_offset;  /* IOVA = guest address + this; SVA: where user space has it */
};

struct channel {
	struct channel_config config;
	__u64 data_address; /* guest address of the first byte after the rings, page aligned */
	__u64 data_bytes;
	__u64 disk_bytes; /* by the model's start(): size of the disk, if it is one */
	bool disk_zeroed; /* the disk was empty at start */
	struct doorbell interrupt __attribute__((aligned(64))); /* device to driver */
	struct channel_queue queue[];
};

/* -EINVAL with a sentence if the share cannot hold the rings and 64 KiB of data. */
int channel_create(struct channel **channel, const struct channel_config *config);
void channel_destroy(struct channel *channel);

#endif
