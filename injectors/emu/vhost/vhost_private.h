/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the vhost-user core.
 *
 *	vhost.c		  life, statistics
 *	vhost_socket.c	  listening, messages with their descriptors
 *	vhost_control.c	  the socket's thread: one front-end after another
 *	vhost_messages.c  what each message does
 *	vhost_vring.c	  those that set up a queue
 *	memory_table.c	  guest physical to guest addresses
 *	vhost_queue.c	  a queue's thread: orders, serving
 *	vhost_slots.c	  its requests: parked, told, tried again
 *	vhost_done.c	  those that are done
 *	vhost_fetch.c	  chains: from the available ring to a request
 *	virtqueue_ring.c  a queue's way to its rings
 *	vhost_request.c	  a request's way to its data
 *	vhost_kept.c	  likewise, of one that the model keeps
 *	vhost_next.c	  what comes next, for evictions
 *	inflight.c	  the region of in-flight requests
 *	vhost_iotlb.c	  with an IOMMU: translations that are known, and who goes by them
 *	vhost_iotlb_miss.c  those that are not, and are asked for
 *	iova_table.c	  ranges of IOVAs
 *
 * What the socket's thread sets up of a queue the queue's thread reads without a lock: the former changes it only while the latter
 * rests (queue_order()).
 */
#ifndef FAULTLINE_VHOST_PRIVATE_H
#define FAULTLINE_VHOST_PRIVATE_H

#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/vhost/inflight.h"
#include "injectors/emu/vhost/memory_table.h"
#include "injectors/emu/vhost/vhost.h"
#include "injectors/emu/vhost/vhost_iotlb.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define VHOST_MESSAGE_FILES VHOST_USER_REGIONS
#define RING_BATCH	    16 /* available entries read at once */

/* What a queue's thread is to do. All but RUN: until it is done, then rest. */
enum queue_order {
	QUEUE_REST,
	QUEUE_RUN,
	QUEUE_HOLD,  /* nothing more is begun; what is parked stays so */
	QUEUE_DRAIN, /* what has begun is finished */
	QUEUE_ABANDON, /* what has begun is forgotten: it is in the in-flight region, or lost with its front-end */
	QUEUE_END, /* the thread ends */
};

enum slot_state {
	SLOT_FREE,
	SLOT_STAGED, /* taken, and not begun: what comes next */
	SLOT_SERVED, /* by the model, now */
	SLOT_ASKED,  /* page requests are under way */
	SLOT_LATER,  /* tried again at retry_ns */
	SLOT_KEPT,   /* by the model */
	SLOT_MISSED, /* a translation is under way */
	SLOT_DONE,   /* and not in the used ring yet, whose translation is under way */
};

/* With an IOMMU: what of a stream has been reached, for reports: once the driver has it back its IOVAs may be others'. */
#define VHOST_PIECES 512
struct vhost_piece {
	__u64 at, guest_address;
	__u32 bytes;
	bool writable;
};

/* A descriptor's request. A slot for each descriptor of the table, by the head's number. */
struct vhost_slot {
	struct vhost_request request; /* first */
	struct port_request asked;
	enum slot_state state;
	int error;	  /* the next access to data returns it, once */
	int told;	  /* by the port's done() */
	__u32 pages_most; /* asked for at once: less after an overflow */
	__u32 tries;	  /* without success, for the pause until the next */
	__u64 retry_ns;
	__u64 miss;		   /* sequence number of the one that it waits for */
	struct vhost_piece *piece; /* with an IOMMU, VHOST_PIECES, of which there are ... */
	__u32 pieces;		   /* ... so many */
	struct vhost_slot
		*next; /* of the list that told ones are in, or staged, late, missed, done ones */
	struct vhost_segment segment[VHOST_SEGMENTS_MAX];
};

struct slot_list {
	struct vhost_slot *first, *last;
};

/* A split virtqueue by guest addresses, or IOVAs, each part contiguous. */
struct vhost_ring {
	__u64 descriptors, available, used;
	__u32 size;
};

struct vhost_queue {
	struct vhost *vhost;
	__u16 index;
	pthread_t thread;
	bool running; /* there is a thread */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* `order` or `resting` */
	enum queue_order order; /* with the lock; read without, too */
	bool resting;

	/* As the front-end said, for the next start; the socket's thread's. */
	__u32 size;
	__u64 descriptors_at, available_at, used_at; /* user addresses, or IOVAs */
	bool addressed, enabled, polled;
	bool broken;	       /* by either, while the other does not look */
	int kick, call, error; /* -1: none */

	/* Set up while the thread rests. */
	struct vhost_ring ring;
	bool started;			 /* begun since it was set up */
	struct inflight_queue *inflight; /* NULL: none */
	__u16 base;
	struct vhost_slot *slots; /* of `slot_count`, each slot_bytes apart */
	__u32 slot_count;
	size_t slot_bytes;
	void *scratch;

	/* The thread's own. */
	int wake;	/* also others': something was told, ordered */
	bool recovered; /* the in-flight region has been read since the start */
	__u16 next, available, used;
	__u64 seen_ns; /* when `available` was read */
	__u64 used_ns; /* when `used` was written: the driver has not seen that before */
	__u16 fetched, returned, batch[RING_BATCH];
	__u16 again
		[VHOST_SIZE_MAX]; /* heads to be taken anew, from `again_next` to `again_count` */
	__u16 again_count, again_next;
	__u64 counter; /* of in-flight requests */
	/* Slots that are not free; of these with page requests under way, and kept by the model. */
	__u32 open, asked, kept;
	__u64 drain_ns; /* when draining takes too long; 0: it is not draining */
	bool canceled;	/* it has */
	struct slot_list late, missed, done;
	struct queue_iotlb iotlb;
	struct slot_list staged;  /* with the device's lock */
	struct vring_desc *table; /* an indirect one, copied */
	pthread_mutex_t told_lock;
	struct slot_list told;
	_Atomic __u64 requests, parked, resubmitted;
};

/* What a driver has said nothing for, at a candidate of INJECT_DEVICE_RESTART. */
#define VHOST_RESTART_LOOK_NS (100 * NSEC_PER_MSEC)

struct vhost {
	struct vhost_config config;
	__u64 bytes; /* of the tenant's memory */
	char path[108];
	int listening, stop;
	__u64 socket_inode;
	pthread_t control;
	bool control_running;
	atomic_bool stopping;

	/* Of the connection; the socket's thread's, read by queues that run. */
	int connected, backend; /* sockets, -1: none */
	__u64 restart_look_ns;	/* when an injected restart may be next */
	__u64 features, protocol_features;
	struct memory_table table;
	struct vhost_iotlb iotlb;
	struct inflight *inflight;

	pthread_mutex_t lock; /* of these */
	pthread_cond_t changed;
	bool driven, is_connected;
	atomic_bool staging;
	__u64 staged; /* chains, so far */
	_Atomic __u64 connections, refused, broken, messages;
	_Atomic __u32 said; /* sentences */
	struct vhost_queue queue[];
};

/* Says the recorded sentence on stderr, with the device's name; no more than some dozens of a device's life. */
void vhost_say(struct vhost *vhost, const char *what);
static inline bool vhost_has(const struct vhost *vhost, unsigned int feature)
{
	return vhost->features >> feature & 1;
}
static inline bool vhost_has_protocol(const struct vhost *vhost, unsigned int feature)
{
	return vhost->protocol_features >> feature & 1;
}
/* Addresses of the driver's are IOVAs. */
static inline bool vhost_translates(const struct vhost *vhost)
{
	return vhost_has(vhost, VIRTIO_F_ACCESS_PLATFORM);
}
__u64 vhost_offered(const struct vhost *vhost);

/* vhost_socket.c */
int vhost_listen(struct vhost *vhost);
void vhost_unlisten(struct vhost *vhost);
struct vhost_files {
	__u32 count;
	int file[VHOST_MESSAGE_FILES]; /* -1: taken */
};
/*
 * The next message and what came with it; waits. 1; 0: the other side has hung up, or we do (INJECT_DEVICE_RESTART); -ECANCELED: the device
 * stops; -EPROTO with a sentence; the files are the caller's in any case.
 */
int vhost_receive(struct vhost *vhost, struct vhost_user_message *message,
		  struct vhost_files *files);
/* `file`: goes with it, -1: none. */
int vhost_send(int socket, const struct vhost_user_message *message, int file);
void vhost_files_close(struct vhost_files *files);
int vhost_files_take(struct vhost_files *files, __u32 index);

/* vhost_control.c */
void *vhost_control_thread(void *argument);

/* vhost_messages.c: 0, or -EPROTO with a sentence: the end of the connection. */
int vhost_handle(struct vhost *vhost, struct vhost_user_message *message,
		 struct vhost_files *files);
int vhost_reply(struct vhost *vhost, struct vhost_user_message *message, __u32 bytes, int file);

/* vhost_vring.c */
typedef int vhost_handler(struct vhost *vhost, struct vhost_user_message *message,
			  struct vhost_files *files);
vhost_handler vhost_set_vring_num, vhost_set_vring_addr, vhost_set_vring_base, vhost_get_vring_base,
	vhost_set_vring_kick, vhost_set_vring_call, vhost_set_vring_err, vhost_set_vring_enable;
/* Starts the queue if all is there for it. A ring that lies nowhere breaks it. */
void vring_start(struct vhost_queue *q);
/* All queues: in mid-flight, and on again. */
void vrings_hold(struct vhost *vhost);
void vrings_resume(struct vhost *vhost);
/* Ends what they do and forgets what was set up; `memory`: and what was said of it. */
void vrings_reset(struct vhost *vhost);

/* vhost_queue.c */
int queue_create(struct vhost_queue *q);
void queue_destroy(struct vhost_queue *q);
/* Waits until the order has been carried out, all but QUEUE_RUN and QUEUE_END. The socket's thread. */
void queue_order(struct vhost_queue *q, enum queue_order order);
void queue_wake(struct vhost_queue *q);
static inline enum queue_order queue_ordered(struct vhost_queue *q)
{
	return __atomic_load_n(&q->order, __ATOMIC_ACQUIRE);
}
static inline struct vhost_slot *queue_slot(const struct vhost_queue *q, __u16 head)
{
	return (struct vhost_slot *)((char *)q->slots + head * q->slot_bytes);
}

/*
 * vhost_slots.c
 */

/* Slots for a queue of q->size, all free; the thread rests. */
int queue_slots(struct vhost_queue *q);
void queue_slots_free(struct vhost_queue *q);
void slot_append(struct slot_list *list, struct vhost_slot *slot);
struct vhost_slot *slot_pop(struct slot_list *list);
/* Parks a request whose absent pages are in slot->asked. VHOST_PARKED or negative errno. */
int slot_ask(struct vhost_slot *slot);
/* It is tried again after a pause, longer each time that it has come to nothing. VHOST_PARKED. */
#define SLOT_PAUSE_NS 100000ull
int slot_later(struct vhost_slot *slot, __u64 pause_ns);

/* Parks a request whose translation is not known. VHOST_PARKED; -EINVAL: there is none. */
int slot_missed(struct vhost_slot *slot, __u64 iova, bool write);
/* The next whose translation has been answered; NULL. */
struct vhost_slot *slots_answered(struct vhost_queue *q);

/* The next whose page requests have come to something, for the queue to go on with unless its state says otherwise; NULL. */
struct vhost_slot *slots_told(struct vhost_queue *q);
/* The next that is to be tried again by now; NULL. And when the next will be: ~0: none. */
struct vhost_slot *slots_due(struct vhost_queue *q, __u64 now);
__u64 slots_next_ns(const struct vhost_queue *q);

/*
 * vhost_done.c
 */

/* Into the used ring, behind those that wait for its translation, and reported; it may wait, too. */
int slot_done(struct vhost_slot *slot);
/* Those that wait. -EAGAIN: they still do. */
int slots_use_done(struct vhost_queue *q);

/* vhost_fetch.c: the next chain. 1: *slot; 0: there is none; -EPROTO with a sentence; -ESHUTDOWN, -ECANCELED. */
int queue_fetch(struct vhost_queue *q, struct vhost_slot **slot);
/* Before the first: where it left off. */
int queue_recover(struct vhost_queue *q);

/*
 * virtqueue_ring.c: accesses to the rings, which wait for absent pages. -ESHUTDOWN: the machine stops; -ECANCELED: the queue is
 * abandoned; -EINVAL: out of memory's bounds. With an IOMMU, whose translations they do not wait for, addresses are IOVAs, and: -EAGAIN: one is
 * under way, the queue is woken; -EPROTO with a sentence: there is none.
 */
int virtqueue_read(struct vhost_queue *q, __u64 address, void *to, size_t bytes);
int virtqueue_write(struct vhost_queue *q, __u64 address, const void *from, size_t bytes);
int virtqueue_available_index(struct vhost_queue *q, __u16 *index);
int virtqueue_used_index(struct vhost_queue *q, __u16 *index);
/* Puts a chain into the used ring and tells the driver if it wants to know. -EAGAIN: it is not there, to be tried again. */
int virtqueue_put_used(struct vhost_queue *q, __u16 head, __u32 bytes);
/* Asks for a kick from now on. 1: something has been made available meanwhile. */
int virtqueue_ask_kick(struct vhost_queue *q);

/* memory_table.c's answer for an address of the driver's that is guest physical. -EINVAL: nowhere. */
int vhost_translate(struct vhost *vhost, __u64 address, __u64 *guest_address, __u64 *bytes);

/*
 * vhost_next.c
 */

/* Whether a chain that was taken is kept back. */
bool queue_stage(struct vhost_queue *q, struct vhost_slot *slot);
/* The next that was; NULL. Its state is SLOT_SERVED. */
struct vhost_slot *queue_unstage(struct vhost_queue *q);
void queue_stage_forget(struct vhost_queue *q);

#endif
