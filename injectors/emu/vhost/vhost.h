/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device that a virtual machine's front-end (QEMU) drives over vhost-user: the core, below any model.
 *
 * Standards: virtio 1.2 (split virtqueues, section 2.7; feature bits, section 6) and the vhost-user protocol as QEMU documents it
 * (docs/interop/vhost-user.rst); names are theirs. Back-end side: we listen, one front-end at a time is connected.
 *
 *	offered		VERSION_1, INDIRECT_DESC, EVENT_IDX, the model's own, PROTOCOL_FEATURES; ACCESS_PLATFORM if `iommu`
 *	protocol	MQ, REPLY_ACK, CONFIG, INFLIGHT_SHMFD, RESET_DEVICE, BACKEND_REQ
 *	not offered	packed rings, in-order, logging (so that the front-end refuses to migrate), hotplug slots: who acknowledges one is
 *			disconnected with a sentence
 *
 * The memory table must name the tenant's own memory file (guest_memory_file(), the inode is compared): nothing of a front-end's
 * is mapped. Guest physical addresses become guest addresses, offsets in that file, by it; DMA to them goes through the device's port
 * like every emulated device's: lookup, page requests, the fault service, the truth log. Rings are reached by the same faulting DMA, a queue
 * whose ring page is absent waits for it.
 *
 * A thread a virtqueue, one for the socket. A request whose data is absent is parked, and others of its queue go on
 * (VHOST_PARK), or its queue pauses (VHOST_PAUSE); either way the front-end may change the memory table, stop the queue, or hang up
 * meanwhile. What a stopped queue had begun it finishes, at most for VHOST_DRAIN_NS: what is not done by then, or when the front-end
 * hangs up, stays marked in the region of in-flight requests, and is done after the reconnect.
 *
 * Everything is hostile: rings, descriptors, indirect tables (copied, then checked), messages, sizes, descriptors that come with
 * them, the in-flight region. A ring that makes no sense is broken: its error descriptor is signalled, one sentence is on stderr,
 * the other queues go on, and the queue is back when the front-end sets it up again. A message that makes no sense is the end of the connection, not
 * of the device: the next front-end may connect.
 */
#ifndef FAULTLINE_VHOST_H
#define FAULTLINE_VHOST_H

#include "injectors/emu/device.h"
#include "injectors/emu/vhost/vhost_settings.h"

#define VHOST_QUEUES_MAX   64
#define VHOST_SIZE_MAX	   1024 /* of a virtqueue, as virtio-pci's most common limit */
#define VHOST_SEGMENTS_MAX 256	/* of a request; what is longer breaks the queue */
#define VHOST_CONFIG_MAX   256	/* bytes of configuration space, the protocol's limit */
#define VHOST_DRAIN_NS	   (5 * 1000000000ull)

struct vhost;
struct vhost_queue;
struct guest_memory;

/* Of a chain, in its order: guest physical, not yet translated. */
struct vhost_segment {
	__u64 address;
	__u32 length; /* bytes, not 0 */
};

/*
 * A chain that the driver has made available. The core's; a model gets it again and again until it is done. First come the segments
 * that the device reads, then those that it writes (virtio 1.2, 2.7.4.2): two streams of bytes.
 */
struct vhost_request {
	struct vhost_queue *queue;
	__u16 index;		  /* of the queue */
	__u16 head;		  /* descriptor */
	__u16 readable, writable; /* segments of each */
	__u64 readable_bytes, writable_bytes;
	struct vhost_segment *segment; /* readable ones first */
	__u64 start_ns;		       /* when it was seen to be available */
	bool faulted; /* a fault was open while it was under way: parked, or behind one */
	__u32 used; /* bytes that the model has written, for the used ring: set before it is done */
	void *own;  /* model->request_bytes of the model's own, zeroed when it is taken */
};

/* All of it runs in the queue's thread, but config(). What is NULL is not there. */
struct vhost_model {
	const char *name;
	__u64 features;	     /* device-specific bits */
	__u32 config_bytes;  /* of the configuration space */
	__u32 request_bytes; /* request->own */
	__u32 scratch_bytes; /* of each queue, page aligned */
	/* Fills the configuration space, `config_bytes` long. */
	void (*config)(void *model, void *space);
	/*
	 * Begins a request or goes on with it. 0: it is done, with what is in `used`; VHOST_PARKED: a vhost_request_ function
	 * returned that, call again when the pages have come; VHOST_KEPT: the model ends it later by vhost_request_done(). -ESHUTDOWN:
	 * the machine stops. -EPROTO with a sentence: it makes no sense and the queue is broken.
	 */
	int (*serve)(void *model, struct vhost_request *request, void *scratch);
	/* A descriptor to wait for beside the ring's, -1: none; and what to do as it can be read. */
	int (*event_descriptor)(void *model, __u16 queue);
	int (*event)(void *model, __u16 queue, void *scratch);
	/*
	 * The queue goes on, and rests: only in between may another thread of the model touch what requests that it has kept name, by
	 * vhost_request_locate() at that time. `finishes`: the front-end waits for what has been begun, so what is done is to be ended
	 * by vhost_request_done() now, and no request that is kept may be older than one that is ended. rests() may be called more than once.
	 */
	void (*begins)(void *model, __u16 queue);
	int (*rests)(void *model, __u16 queue, bool finishes);
	/* Translations have been taken back: returns when no other thread of the model goes by them. The socket's thread. */
	void (*taken_back)(void *model);
	/* The queue stops: requests that were kept are no longer the model's. */
	void (*forget)(void *model, __u16 queue);
	/* Reports a request that has been done, once it is in the used ring: calls port_ios_done(). */
	void (*report)(void *model, struct vhost_request *request, __u8 code, __u64 end_ns);
};

#define VHOST_PARKED 1
#define VHOST_KEPT   2

struct vhost_config {
	const char
		*socket;  /* path of the socket to listen on: made, 0600, and removed at the end */
	const char *name; /* in sentences: "vm/disk" */
	struct port *port;
	struct guest_memory *memory; /* backend pager */
	__u64 iova_offset;	     /* IOVA of the port = guest address + this */
	__u32 pasid;		     /* or PASID_NONE */
	__u16 queues;
	__u16 announced; /* what the front-end is told of that, where it counts in pairs; 0: all of them */
	enum vhost_on_fault on_fault;
	/* Data and rings go through the tenant's own mapping: an absent page is a fault in the kernel (lookup=uffd), no page request. */
	bool direct;
	/* With it, a control: where data is moved instead, guest_memory_unserved(); NULL: where rings are. */
	void *unserved;
	bool iommu; /* offers ACCESS_PLATFORM: descriptors and rings have IOVAs, which the front-end translates (vhost_iotlb.h) */
	__u32 iotlb_entries; /* with it: translations known at once; 0: VHOST_IOTLB_ENTRIES */
	__u64 features;	     /* device-specific bits of this one, beside the model's */
	const struct vhost_model *model;
	void *argument; /* the model's */
};

/* Listens, and serves from now on. Negative errno with a sentence. */
int vhost_start(struct vhost **vhost, const struct vhost_config *config);
/* After the port has been stopped: joins every thread, disconnects, removes the socket. NULL: nothing. */
void vhost_stop(struct vhost *vhost);

struct vhost_stats {
	__u64 requests;	   /* in the used ring */
	__u64 parked;	   /* times that one was */
	__u64 resubmitted; /* taken from the in-flight region after a reconnect */
	__u64 connections; /* front-ends so far */
	__u64 refused;	   /* messages that ended a connection */
	__u64 broken;	   /* queues that were, so far */
	__u64 messages;
	/* Of the guest's IOMMU: translations asked for, those that it has none of, taken back, and dropped for want of room. */
	__u64 untranslated, unmapped, taken_back, dropped;
	bool connected; /* now */
};
/* Any thread. */
void vhost_stats(struct vhost *vhost, struct vhost_stats *stats);
/* Waits until queue 0 runs, a driver has set it up. 0, -ETIMEDOUT. Any thread. */
int vhost_wait_driver(struct vhost *vhost, __u64 timeout_ns);

/*
 * For evictions of what comes next (device_driver.h: next_pages, send_next): from now on chains are taken but not begun, until `limit`
 * different pages of their data are known or `wait_ns` is over; guest addresses. Returns how many, or -ESHUTDOWN. An injector's thread,
 * one at a time. vhost_send_next() lets them go.
 */
long vhost_next_pages(struct vhost *vhost, __u64 *pages, __u32 limit, __u64 wait_ns);
void vhost_send_next(struct vhost *vhost);

/*
 * For models, in serve(), event() and report() of that queue. `writable`: the stream of bytes that the device writes, else the one that it
 * reads; `at` is a place in it. VHOST_PARKED: pages are absent and have been asked for, nothing is held. -EFAULT (outside
 * the guest's memory, or refused), -EIO (page requests fail, or the copy did), -ECANCELED, -ESHUTDOWN.
 */

/* Bytes from `at` on that lie together, at most `most` and 2 MiB: dma->length of them, held until vhost_request_dma_end(). */
int vhost_request_dma(struct vhost_request *request, bool writable, __u64 at, __u64 most,
		      struct dma *dma);
void vhost_request_dma_end(struct vhost_request *request, struct dma *dma);
/* Small ones. All or nothing with regard to VHOST_PARKED; -EINVAL: the stream is shorter. */
int vhost_request_read(struct vhost_request *request, __u64 at, void *to, size_t bytes);
int vhost_request_write(struct vhost_request *request, __u64 at, const void *from, size_t bytes);
/* Pieces for the access log, as guest addresses: of the bytes [at, at + bytes) of a stream, at most `room`; returns how many. */
__u32 vhost_request_ranges(struct vhost_request *request, bool writable, __u64 at, __u64 bytes,
			   struct io_range *ranges, __u32 room);
/*
 * Where a whole stream of bytes lies at this instant, for a model that keeps the request and whose threads do the DMA themselves: pieces as of
 * vhost_request_ranges(). Returns how many; -EAGAIN: a translation is not known and has been asked for, try again in a while; -EINVAL: some of
 * it lies nowhere, or there are more than `room`. Any thread, of a request that is kept. vhost_request_await(), in serve(), after -EAGAIN:
 * VHOST_PARKED until there is an answer, or negative errno.
 */
int vhost_request_locate(struct vhost_request *request, bool writable, struct io_range *ranges,
			 __u32 room);
int vhost_request_await(struct vhost_request *request, bool writable);
/* The same as far as it is known: -EAGAIN, and nobody is asked. For who does no DMA. */
int vhost_request_known(struct vhost_request *request, bool writable, struct io_range *ranges,
			__u32 room);
/* To be tried again in a while: VHOST_PARKED, for serve() to return. */
int vhost_request_retry(struct vhost_request *request);
/* Ends one that was kept. */
int vhost_request_done(struct vhost_request *request);
/* Whether the driver has accepted a feature, by its number (VIRTIO_F_VERSION_1). */
bool vhost_request_agreed(const struct vhost_request *request, unsigned int feature);

#endif
