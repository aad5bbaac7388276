/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A vhost-user front-end and a virtio driver of our own, in this process: what QEMU and a guest's kernel do, a step at a time, so that tests can
 * do any of them wrong. The guest's memory is the tenant's, by the mapping of its CPUs.
 *
 * Guest physical addresses: the first half of the memory from 0 on, the second from FRONTEND_HIGH on, as on a PC with more than 4 GiB.
 * In the first half are the rings and what requests have of their own; data is where the test wants it.
 */
#ifndef FAULTLINE_TESTS_VHOST_FRONTEND_H
#define FAULTLINE_TESTS_VHOST_FRONTEND_H

#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <stdbool.h>

#include "bpf/page.h"
#include "injectors/emu/vhost/vhost_protocol.h"

#define FRONTEND_HIGH	(1ull << 32)
#define FRONTEND_USER	0x7e0000000000ull /* the front-end's user address of guest address 0 */
#define FRONTEND_QUEUES 4
#define FRONTEND_RINGS	0x10000 /* guest address: of queue q 0x10000 further each */
#define FRONTEND_OWN \
	0x100000 /* of requests: 64 KiB for each slot's header, status and indirect table */
#define FRONTEND_BIT(name) (1ull << (name))

/* All that makes the device as good as it can be. */
#define FRONTEND_FEATURES                                                               \
	(FRONTEND_BIT(VIRTIO_F_VERSION_1) | FRONTEND_BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
	 FRONTEND_BIT(VIRTIO_RING_F_EVENT_IDX) | FRONTEND_BIT(VHOST_USER_F_PROTOCOL_FEATURES))
#define FRONTEND_PROTOCOL                                                                         \
	(FRONTEND_BIT(VHOST_USER_PROTOCOL_F_MQ) | FRONTEND_BIT(VHOST_USER_PROTOCOL_F_REPLY_ACK) | \
	 FRONTEND_BIT(VHOST_USER_PROTOCOL_F_CONFIG) |                                             \
	 FRONTEND_BIT(VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD))

struct frontend_queue {
	int kick, call, error;
	__u16 index;
	__u32 size;
	__u64 rings; /* guest address */
	struct vring ring;
	__u16 published, reaped;
	__u16 next; /* descriptor that is tried first */
	bool busy[1024];
};

struct frontend_iommu;

struct frontend {
	int socket;
	struct frontend_iommu *iommu; /* vhost_iommu.h; NULL: addresses are guest physical */
	unsigned char *memory;	      /* as the guest's CPUs have it */
	__u64 bytes;
	int file; /* of the memory */
	__u64 features, protocol;
	int inflight; /* file, -1: none */
	__u64 inflight_bytes;
	__u16 inflight_queues, inflight_size;
	struct frontend_queue queue[FRONTEND_QUEUES];
};

/* Connects; nothing has been said. */
void frontend_connect(struct frontend *front, const char *path, unsigned char *memory, __u64 bytes,
		      int file);
/* Hangs up. The rings, the in-flight region and what the driver knows of both stay. */
void frontend_hang_up(struct frontend *front);
void frontend_close(struct frontend *front);

/* Sends a message. True: all of it, with its descriptors. */
bool frontend_send(struct frontend *front, __u32 request, const void *payload, __u32 bytes,
		   const int *files, __u32 count);
/* Of a request: its answer's payload; with its descriptor if `file`. False: the other side has hung up. */
bool frontend_answer(struct frontend *front, __u32 request, void *payload, __u32 *bytes, int *file);
/* Sends with NEED_REPLY, and waits: what the device said of it, 0: well done. -1: it has hung up. */
int frontend_ask(struct frontend *front, __u32 request, const void *payload, __u32 bytes,
		 const int *files, __u32 count);
__u64 frontend_get(struct frontend *front, __u32 request);

/* Features (those of `wanted` that are offered), protocol features, owner, memory table. */
void frontend_negotiate(struct frontend *front, __u64 wanted);
int frontend_set_memory(struct frontend *front);
/* A new in-flight region, or the one that there is. */
void frontend_set_inflight(struct frontend *front, __u16 queues, __u16 size);
/* New, empty rings. And all that starts the device on it. */
void frontend_make_queue(struct frontend *front, __u16 index, __u32 size);
int frontend_start_queue(struct frontend *front, __u16 index, __u16 base);
/* GET_VRING_BASE; -1: it has hung up. */
int frontend_stop_queue(struct frontend *front, __u16 index);

/* The guest physical address of a guest address; behind an IOMMU its IOVA. */
__u64 frontend_physical(const struct frontend *front, __u64 guest_address);

/* A request of virtio-blk: header, data in pieces, status. */
struct frontend_io {
	__u32 type;
	__u64 sector;
	struct {
		__u64 guest_address;
		__u32 bytes;
	} piece[8];
	__u32 pieces;
	bool indirect;
};
/* Puts it into the available ring without a kick; returns its head, -1: the ring is full. */
int frontend_submit(struct frontend *front, __u16 index, const struct frontend_io *io);
void frontend_kick(struct frontend *front, __u16 index);
/* Where its status is, 0xff until it has one. */
unsigned char *frontend_status(struct frontend *front, __u16 index, __u16 head);
/* The next of the used ring; waits for it, as long as the connection lives. -1: it does not, or the queue is broken. */
int frontend_reap(struct frontend *front, __u16 index, __u32 *bytes);
/* Likewise if there is one already; -1: none. */
int frontend_poll(struct frontend *front, __u16 index, __u32 *bytes);
/* One request, to its end: its status, -1. */
int frontend_do(struct frontend *front, __u16 index, const struct frontend_io *io);

/* One descriptor, as the test wants it. And a head into the available ring. */
void frontend_descriptor(struct frontend *front, __u16 index, __u16 at, struct vring_desc value);
void frontend_publish(struct frontend *front, __u16 index, __u16 head);
/* Waits until the queue is broken (its error descriptor) or the connection ends. True: broken. */
bool frontend_broken(struct frontend *front, __u16 index);

#endif
