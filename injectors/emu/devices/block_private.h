/* SPDX-License-Identifier: GPL-2.0 */
/* A disk from the inside: what its two faces share, the emulated machine's rings (block.c) and virtio-blk (block_vhost.c). */
#ifndef FAULTLINE_BLOCK_PRIVATE_H
#define FAULTLINE_BLOCK_PRIVATE_H

#include "injectors/emu/devices/block_file.h"
#include "injectors/emu/vhost/vhost.h"

struct engine;

struct block {
	struct engine *engine; /* or ... */
	struct vhost *vhost;
	struct port *port; /* with `vhost` */
	char name[136];	   /* TENANT/DEVICE */
	struct block_file file;
	bool direct, read_only;
	__u16 queues;
	__u64 medium_latency_ns, medium_bytes_per_s;
	struct histogram *latency;   /* with `vhost`, of each queue's I/Os: the queue's thread's */
	struct histogram *latencies; /* whom they are given to in the end; may be NULL */
};

/* Memory that is yet to be moved, and where in the file. */
struct block_vector {
	struct iovec *iov;
	int count;
	__u64 offset;
};
/* All of it, or the negative errno of what stopped it, with `left` where it stopped. */
int block_transfer(int descriptor, struct block_vector *left, bool read);

/*
 * A file in the page cache answers in a microsecond, as no disk does. The queue waits for what its
 * medium would take, before the data moves: no page is held meanwhile.
 */
void block_wait_for_medium(const struct block *block, __u64 bytes);

/* Serves a virtual machine at the socket of its settings. */
int block_vhost_start(struct block *block, struct port *port, const struct device_setup *setup);
void block_vhost_stop(struct block *block);

#endif
