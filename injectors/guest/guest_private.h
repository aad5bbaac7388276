/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of a guest's process share. */
#ifndef FAULTLINE_GUEST_PRIVATE_H
#define FAULTLINE_GUEST_PRIVATE_H

#include "bpf/page.h"
#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/verbs/verbs_handles.h"
#include "injectors/emu/verbs/verbs_ring.h"
#include "injectors/guest/guest_open.h"
#include "injectors/guest/virtqueue_guest.h"

/* Runs of pages, first fit; a bit a page. */
struct page_runs {
	pthread_mutex_t lock;
	__u64 *taken;
	__u64 pages, free;
};

/* -ENOMEM. */
int page_runs_init(struct page_runs *runs, __u64 pages);
void page_runs_destroy(struct page_runs *runs);
/* The first of `count` pages in a row; -ENOMEM. */
__s64 page_runs_take(struct page_runs *runs, __u64 count);
void page_runs_give(struct page_runs *runs, __u64 first, __u64 count);

/* The guest's half of the completion events; the lock is its own. */
struct guest_events {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool sleeping;				      /* somebody does, for all */
	struct verbs_queue *queues[VERBS_QUEUES_MAX]; /* by number modulo that */
};

/* A page of the guest's that a region of the program's own memory has. */
struct adopted_page {
	__u64 here;    /* where the program has seen it last */
	__u32 regions; /* that have it, 0: none */
};

struct adoptions {
	pthread_mutex_t lock;	   /* one at a time */
	struct adopted_page *page; /* by number, from device->start on; NULL: not yet */
	__u64 count;		   /* that are in a region */
	__u64 inode;		   /* of the guest's memory */
	__u32 major, minor;
	int faults; /* a userfaultfd of this process alone, -1: not yet */
};

struct guest_device {
	struct hyv_hello hello;
	struct verbs_device *device;
	int socket, descriptor[HYV_DESCRIPTORS], faults; /* faults: a userfaultfd, -1 */
	struct hyv_shared *shared;
	_Atomic bool gone;
	struct pinner *pinner; /* NULL: the mode has no pins of the guest's own */
	struct virtqueue_guest queue;
	struct verbs_command_ring ring; /* mode passthrough, instead */
	pthread_mutex_t list_lock;	/* likewise: the room for a list */
	/* Held for writing while what a thread of the program's may hold a lock on cannot be written (guest_adopt.c). */
	pthread_rwlock_t commands;
	struct guest_events events;
	struct page_runs pages,
		owned; /* of the guest's memory, from device->start; of VERBS_OWNED */
	struct adoptions adoptions;
	struct guest_device *next; /* of this process's (guest_fork.c) */
	bool child;		   /* this process is a child of the one that is the guest */
};

static inline struct guest_device *guest_device_of(const struct verbs_device *device)
{
	return device->transport_data;
}

static inline bool guest_by_mailbox(const struct guest_device *guest)
{
	return guest->hello.mode == RDMA_MODE_PASSTHROUGH;
}

/* guest_open.c */

/* A userfaultfd of this process; a negative errno with a sentence. */
int guest_faults_open(const struct guest_device *guest);
/* Frees all of it: the last that is done for a device. */
void guest_end(struct verbs_device *device);

/* guest_transport.c */
extern const struct verbs_transport guest_transport;
bool guest_gone(struct verbs_device *device);
/* Of a thread that holds `commands` for writing, or for whom that is done. */
extern _Thread_local bool guest_commands_held;
/* This process's view of its own pages again, where the host's were. */
int guest_restore(struct guest_device *guest, __u64 guest_address, __u64 bytes);
/* Maps `bytes` of the resource file over guest pages, then has the host do so; back again on failure. */
int guest_overlay(struct guest_device *guest, __u64 guest_address, __u64 bytes,
		  enum verbs_resource resource, __u64 offset);

/* guest_events.c */
void guest_events_init(struct guest_events *events);
void guest_events_destroy(struct guest_events *events);
void guest_events_end(struct guest_device *guest);
int guest_queue_begin(struct verbs_queue *queue);
void guest_queue_end(struct verbs_queue *queue);
bool guest_queue_wait(struct verbs_queue *queue, __u64 *seen, __u64 deadline_ns);
int guest_channel_begin(struct verbs_channel *channel);
void guest_channel_end(struct verbs_channel *channel);
void guest_channel_add(struct verbs_channel *channel, struct verbs_queue *queue);
int guest_channel_descriptor(struct verbs_channel *channel);
int guest_channel_wait(struct verbs_channel *channel, struct verbs_queue **queue,
		       __u64 deadline_ns);

/* adoptions.c */
void adoptions_init(struct adoptions *adoptions);
void adoptions_destroy(struct guest_device *guest);

/* guest_fork.c */

/* From now on a child of this process gets memory of its own where regions are; until the end of the device. */
void guest_fork_begin(struct guest_device *guest);
void guest_fork_end(struct guest_device *guest);

#endif
