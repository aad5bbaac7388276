/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the NIC: its state, and what its files do for each other. With the device's lock held, unless it says else. */
#ifndef FAULTLINE_NIC_PRIVATE_H
#define FAULTLINE_NIC_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/device_class.h"
#include "injectors/emu/devices/engine.h"
#include "injectors/emu/nic/flow_table.h"
#include "injectors/emu/nic/frame.h"
#include "injectors/emu/nic/loss_runs.h"
#include "injectors/emu/nic/nic.h"
#include "injectors/emu/nic/rx_backup.h"
#include "injectors/emu/nic/rx_cache.h"
#include "injectors/emu/nic/rx_ring.h"
#include "injectors/emu/nic/toeplitz.h"
#include "injectors/emu/nic/frame_windows.h"
#include "injectors/emu/nic/wire.h"
#include "injectors/emu/vhost/vhost.h"
#include "injectors/net/network.h"

#define NIC_BATCH	32 /* frames that are taken off the wire at once */
#define NIC_RANGES	16 /* pieces of guest memory, each contiguous, that a frame may go to */
#define NIC_RANGE_BYTES (64 * PAGE_BYTES)
#define NIC_COMPLETIONS 64		      /* written by one DMA */
#define NIC_REPORTS	64		      /* accesses that are told together */
#define NIC_ACCOUNT_NS	(100 * NSEC_PER_MSEC) /* EVENT_RING_STATE */
#define NIC_RETRY_NS \
	NSEC_PER_MSEC /* where a page request was refused, nothing tells when to try again */
#define NIC_RETRY_DOUBLINGS 8
#define NIC_PREFAULT_MAX    63
#define NIC_NO_GROUP	    0xffff

/* References on buffers between presence and writing. */
struct nic_store {
	__u32 ranges;
	struct dma *range[NIC_RANGES + 1]; /* the one behind the last is spare */
	struct dma memory[NIC_RANGES + 1];
};

/* One outstanding request; `open` from port_request() to done(). */
struct nic_request {
	struct port_request request;
	struct nic_ring *ring;
	bool open;
	__u16 group[PORT_REQUEST_PAGES]; /* of each page */
	__u64 fault[PORT_REQUEST_PAGES]; /* its number in the truth log */
};

/* Absent pages of one frame's buffers, which are asked for together. */
struct nic_wants {
	__u64 page[PORT_REQUEST_PAGES];
	__u32 pages, buffers;
	__u64 behind; /* the position after the newest of these buffers */
};

/* Which fault a lost frame is blamed on. */
struct nic_blame {
	bool known;
	__u16 group;
	__u64 fault;
};

/*
 * How a receive ring reaches its guest: by the arrays and registers of layout.h (ring_channel.c), or by a virtqueue of a
 * virtual machine's (ring_virtqueue.c).
 */
struct ring_way {
	/* Reads what the guest has posted since, as far as that is there: rx_ring_post(). */
	void (*fetch)(struct nic_ring *ring);
	/* As ring_take(). */
	bool (*take)(struct nic_ring *ring, __u64 position, struct nic_store *store, __u64 *page);
	/* Pages of the buffer at `position` that are absent now, at most PORT_REQUEST_PAGES: how many. Nothing is asked for. */
	int (*absent)(struct nic_ring *ring, __u64 position, __u64 absent[PORT_REQUEST_PAGES]);
	/* Makes up to `count` completions from `published` on known. How many. */
	__u32 (*publish)(struct nic_ring *ring, __u32 count);
	/* Tells the guest of what is. */
	void (*interrupt)(struct nic_ring *ring);
};
extern const struct ring_way ring_channel, ring_virtqueue;

struct nic_ring {
	struct rx_ring state;
	struct nic *nic;
	const struct ring_way *way;
	struct nic_virtqueue *virtqueue; /* NULL: it is no virtual machine's */
	__u16 index;
	__u16 port_queue;   /* of its faults */
	__u32 prefix_bytes; /* of a header before each frame in its buffer */
	bool halted;
	const char *why;	 /* it is: one of halt_* */
	bool retry;		 /* something absent may be present now */
	__u64 retry_ns;		 /* try again then; 0: somebody will tell */
	__u64 ask_ns;		 /* no page is asked for before */
	__u64 fault_over_ns;	 /* when the newest of its requests was over; 0: none has been */
	unsigned int unanswered; /* times that it had to wait for that, since an answer came */
	bool refused;		 /* the newest request was, before anybody could answer it */
	struct nic_wants wants;	 /* of the frame that is being placed */
	__u32 placing;		 /* buffers that it needs */
	__u64 first_absent;	 /* of the frame that is being placed; 0: none */
	__u64 descriptor_page;	 /* what the newest fetch of descriptors found absent */
	__u64 absent_page;	 /* the page that the newest frame found absent */
	__u64 descriptors, completions; /* IOVAs of the two arrays */
	struct nic_descriptor *posted;	/* by slot */
	struct nic_completion *done;	/* by position modulo the depth, until it is published */
	__u64 published;		/* the head register */
	bool untold;			/* there are completions that no interrupt has told yet */
	__u64 oldest_ns;		/* since when */
	__u32 pending;			/* frames of that, where they count */
	struct io_range reports[NIC_REPORTS]; /* what was written and is not yet told */
	__u32 report_count;
	struct rx_queue *queue;	      /* the IOprovider's, of `backup` */
	struct nic_request *requests; /* fault_limit of them */
	struct loss_runs *runs;
	struct nic_counters rx;
	struct nic_registers *registers;
};

/* A frame that was taken off the wire, parsed. */
struct nic_frame {
	struct frame_info info;
	__u32 length; /* as it came; its bytes may be fewer */
	const unsigned char *bytes;
	__u64 arrived_ns;
};

struct nic {
	struct nic_settings settings;
	struct nic_layout layout;
	struct port *port;
	struct channel *channel;
	struct engine_model sender;
	struct engine *engine;
	struct vhost *vhost; /* instead: a virtual machine drives it */
	char full_name[136]; /* TENANT/DEVICE */
	__u32 rings_held;    /* by a message of its front-end's */
	__u32 steered;	     /* rings that frames are spread over */
	struct wire *wire;
	struct machine *machine;
	const char *name;
	__u32 index, queues, depth;
	__u32 frame_bytes;  /* of the longest */
	__u32 buffer_bytes; /* of a frame that a receive buffer takes */
	__u64 iova_offset;
	__u32 pasid;
	struct inject_table *injections;

	pthread_mutex_t lock;
	pthread_cond_t
		changed; /* something was resolved, posted or put into the backup ring: the provider's */
	int kick;	 /* eventfd: the receiving thread's */
	bool kicked;   /* atomic: there is something for it, beside the wire */
	bool stopping; /* atomic */
	bool begun;    /* the guest's driver is there: frames may be told */
	pthread_t receiver, provider;
	bool receiving, providing;

	struct rx_backup *backup;
	struct rx_cache *cache;
	struct flow_table *flows;
	struct steering steering;
	struct nic_store store; /* the receiving thread's */
	struct nic_store provider_store;
	struct dma fetch;     /* of descriptors and completions */
	struct dma probe;     /* of buffers that are asked for ahead */
	unsigned char *batch; /* NIC_BATCH frames */
	__u64 now_ns;	      /* as the receiving thread began with its batch */
	__u64 account_ns;     /* when the rings' state is told next */
	__u64 in, in_bytes;
	struct frame_totals *totals;
	struct frame_windows windows;
	__u64 stalls, stall_max_ns;
	__u64 lost_innocent;
	__u64 missed, missed_ns; /* by the wire, as it was told last, and when */
	bool networked;
	struct network network;
	struct nic_counters *tx; /* of each ring, atomic */
	struct nic_ring ring[];
};

static inline bool nic_stopping(const struct nic *nic)
{
	return __atomic_load_n(&nic->stopping, __ATOMIC_ACQUIRE);
}

/* nic.c */
int nic_start(void **device, struct port *port, const struct device_setup *setup);
void nic_stop(void *device);
extern const struct device_driver nic_driver, nic_vm_driver;
extern const struct device_class nic_class;

/* ring_channel.c */
/* Why a ring is stopped, and what its guest is told. */
extern const char halt_tail[], halt_descriptor[], halt_address[], halt_scattered[];

/* ring_virtqueue.c */
int ring_virtqueue_create(struct nic_ring *ring);
void ring_virtqueue_destroy(struct nic_ring *ring);
/* The virtqueue's thread: a chain that the driver has made available is a buffer, from now on until it is completed. */
int ring_virtqueue_post(struct nic_ring *ring, struct vhost_request *request);
/* Likewise: gives back what has been received. -EPROTO with a sentence: a buffer is not in the guest's memory any more. */
int ring_virtqueue_complete(struct nic_ring *ring);
/* Readable when there is something to complete. */
int ring_virtqueue_descriptor(const struct nic_ring *ring);
/* Buffers may be written, and no longer; in the end there are none. As of struct vhost_model. */
void ring_virtqueue_begins(struct nic_ring *ring);
int ring_virtqueue_rests(struct nic_ring *ring, bool finishes);
void ring_virtqueue_forget(struct nic_ring *ring);
/* Guest addresses of pages of what is posted, as far as its translation is known, each once a buffer; with the
 * lock. How many, of which up to `limit` are written. */
long ring_virtqueue_pages(struct nic_ring *ring, __u64 *pages, __u32 limit);
/* With the lock: waits, without it, while a front-end's message is carried out that stops rings for a moment. */
void nic_await_rings(struct nic *nic);

/* buffers.c: a ring's way to guest memory */
/* Tries, and says which pages of it are absent, at most PORT_REQUEST_PAGES; as port_dma_try(). */
int ring_try(struct nic_ring *ring, __u64 iova, __u64 length, bool write, struct dma *dma,
	     __u64 absent[PORT_REQUEST_PAGES]);
/* Which of these pages are absent now, at most PORT_REQUEST_PAGES: how many; no reference is kept. */
int ring_absent(struct nic_ring *ring, __u64 iova, __u64 length, __u64 absent[PORT_REQUEST_PAGES]);
/* 0 with references, 1: absent and asked for, *page being the first that is, or a negative errno. */
int ring_dma(struct nic_ring *ring, __u64 iova, __u64 length, bool write, struct dma *dma,
	     __u64 *page);
/* Between bytes and a DMA's pages, from `offset` of them on. */
void dma_copy_to(struct nic *nic, const struct dma *dma, __u64 offset, const void *bytes,
		 __u64 length);
static inline void ring_fetch(struct nic_ring *ring)
{
	ring->way->fetch(ring);
}
/* May the buffer of this position be written now? References are in nic->store (or the provider's); else its
 * pages are being asked for. */
bool ring_present(void *ring, __u64 position);
static inline bool ring_take(struct nic_ring *ring, __u64 position, struct nic_store *store,
			     __u64 *page)
{
	return ring->way->take(ring, position, store, page);
}
void store_prepare(struct nic_store *store);
void references_drop(struct nic *nic, struct nic_store *store);
/* Writes a frame into the buffers from `position` on, whose references the store has, and lets these go. `held`: it had to wait. */
void ring_write(struct nic_ring *ring, __u64 position, __u32 count, const struct nic_frame *frame,
		struct nic_store *store, bool held, __u64 now_ns);
/* These buffers come back with nothing in them. */
void ring_write_nothing(struct nic_ring *ring, __u64 position, __u32 count);
/* Tells the access log what has been written. */
void ring_report(struct nic_ring *ring);
/* Writes completions up to the head, as far as their pages are there, and moves the head register. */
void ring_tell_done(struct nic_ring *ring);

/* absent.c */
int requests_create(struct nic_ring *ring);
void requests_destroy(struct nic_ring *ring);
/* These pages, of descriptors or completions, are absent: asks for those that nobody has asked for. */
void ring_want(struct nic_ring *ring, const __u64 *pages, __u32 count, bool write);
/* Likewise pages of the buffer at `position`. What one frame lacks is asked for at once: as soon as as many buffers as
 * it needs (ring->placing) were found absent, and the rest by ring_ask(). */
void ring_want_buffer(struct nic_ring *ring, __u64 position, const __u64 *pages, __u32 count);
void ring_ask(struct nic_ring *ring);
/* The fault that is open for a page; of one that no request is for, as the ring has all that it may have, the oldest
 * that the ring waits for. Unknown: neither. */
struct nic_blame ring_blame(const struct nic_ring *ring, __u64 page);
bool nic_asks_for(const struct nic *nic, __u64 page);
/* Whether a request of this ring was open at or after that instant. */
bool ring_faulted_since(const struct nic_ring *ring, __u64 since_ns);

/* receive.c */
/* What is held for a ring that was stopped takes no room from others. */
void ring_discard_cached(struct nic_ring *ring);
/* A frame that was put aside, as it was when it came. */
struct nic_frame nic_frame_held(const struct nic *nic, const struct rx_frame *held);
void *nic_receive(void *nic);
/* The receiving thread has something to do beside the wire. Any thread, any lock. */
void nic_wake(struct nic *nic);

/* provider.c */
void *nic_provide(void *nic);
/* The ring was stopped: none of its frames in the backup ring will have buffers. */
void ring_give_up_held(struct nic_ring *ring);

/* account.c */
int account_create(struct nic *nic);
void account_destroy(struct nic *nic);
void account_lost(struct nic_ring *ring, const struct nic_frame *frame, enum loss_reason reason,
		  struct nic_blame blame);
void account_held(struct nic_ring *ring, const struct nic_frame *frame, enum hold_place place);
/* It is in its buffers; the guest sees it by the next head. held: where it had to wait, 0: nowhere. */
void account_delivered(struct nic_ring *ring, const struct nic_frame *frame, enum hold_place held);
/* The request of these groups is answered: what it cost is told before its faults resume. */
void account_fault_over(struct nic *nic, __u16 group);
/* Held frames were resolved: the guest sees so many descriptors more. */
void account_head(const struct nic_ring *ring, __u32 descriptors);
/* Held frames have been delivered, so many as could be now. */
void account_released(struct nic_ring *ring);
void account_tell(struct nic *nic, __u64 now_ns);
void account_end(struct nic *nic);

/* nic_vhost.c */
int nic_vhost_start(struct nic *nic, const struct device_setup *setup);
static inline bool nic_is_vm(const struct nic *nic)
{
	return *nic->settings.vhost.socket;
}

/* transmit.c */
int transmit_start(struct nic *nic);
void transmit_stop(struct nic *nic);

#endif
