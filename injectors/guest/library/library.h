/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libibverbs' interface (version 1.14, struct layouts of <infiniband/verbs.h>) over a device in the guest's process: what a
 * program has as a struct ibv_* is the first part of one of these. The library is preloaded: the program's calls are bound to it before
 * libibverbs.so.1 is asked, whose other functions (names of states, rates) stay as they are. 0 or a positive errno as libibverbs'.
 */
#ifndef FAULTLINE_LIBRARY_H
#define FAULTLINE_LIBRARY_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/guest/guest_open.h"

/* One socket of FAULTLINE_VERBS; opened with the first list of devices, and there until the program ends. */
struct library_device {
	struct ibv_device device; /* first */
	struct verbs_device *verbs;
	const struct hyv_hello *hello;
	struct verbs_limits limits;
	int socket;
	pthread_mutex_t
		lock; /* of all below, and of what channels and completion queues say it is */
	struct verbs_channel *channel; /* of all of the program's channels, NULL before the first */
	bool refusal_said;
};

struct library_context {
	struct library_device *device;
	bool fatal_told;	    /* under the device's lock */
	struct verbs_context verbs; /* last: the program has its last part */
};

struct library_channel {
	struct ibv_comp_channel channel; /* first */
	struct verbs_channel *verbs;
};

struct library_cq {
	struct ibv_cq cq; /* first */
	struct verbs_queue *queue;
	pthread_spinlock_t poll;
	void *memory;
	__u64 bytes;
	struct library_cq *next; /* of all */
	__u32 got;		 /* events that the program has got; under the lock of all */
	__u32 async_got;
};

struct library_mr {
	struct ibv_mr mr; /* first */
	struct guest_mr region;
};

struct library_srq {
	struct ibv_srq srq; /* first */
	struct verbs_srq *verbs;
	pthread_spinlock_t post;
	__u32 depth;
	void *memory;
	__u64 bytes;
};

/* Inline data waits here for its DMA: a place for each entry of the send queue, free as the entry is. */
struct library_inline {
	unsigned char *memory;
	__u64 bytes;
	__u32 place; /* bytes of one, 0: no inline data */
	struct verbs_mr mr;
};

struct library_qp {
	struct ibv_qp_ex ex; /* first */
	struct verbs_pair *pair;
	pthread_spinlock_t send, receive;
	struct ibv_qp_attr attributes; /* as it was modified */
	struct ibv_qp_cap cap;
	bool signal_all;
	__u32 send_depth;
	__u64 sent;
	struct library_inline inline_data;
	void *memory;
	__u64 bytes;
	struct library_wr
		*building;	 /* of wr_start() to wr_complete(), NULL: none (work_requests.c) */
	struct library_qp *next; /* of all */
	__u32 async_got;	 /* as of a completion queue */
};

static inline struct library_context *context_of(struct ibv_context *context)
{
	struct verbs_context *verbs =
		(struct verbs_context *)((char *)context - offsetof(struct verbs_context, context));

	return (struct library_context *)((char *)verbs - offsetof(struct library_context, verbs));
}

static inline struct library_device *device_of_context(struct ibv_context *context)
{
	return context_of(context)->device;
}

/* errno, for who returns NULL or -1; takes a negative errno, as all inside. The host's refusals are said once a device. */
void *library_refused(struct library_device *device, const char *what, int error);
/* A positive errno, likewise. */
int library_error(struct library_device *device, const char *what, int error);
/* Has the host gone? */
bool library_host_gone(const struct library_device *device);
/* An epoll that is readable once it has; -errno. */
int host_end_descriptor(const struct library_device *device);
/* async.c: an epoll that is readable once the host has gone or something has failed; -errno. */
int async_descriptor(const struct library_device *device);
/* What the program has as verbs' queue or pair, NULL: it is being destroyed; an event of it has been got. */
struct library_cq *library_cq_failed(const struct verbs_queue *queue);
struct library_qp *library_qp_failed(const struct verbs_pair *pair);
/* Has memory of the guest's, cleared, in whole pages; *bytes is rounded. NULL: errno says why. */
void *library_memory(struct library_device *device, __u64 *bytes, __u64 *guest_address);

/* The handlers of struct ibv_context_ops. */
void library_data_ops(struct ibv_context_ops *ops);
int library_notify(struct ibv_cq *cq, int solicited_only);
struct ibv_qp *library_create_qp_ex(struct ibv_context *context,
				    struct ibv_qp_init_attr_ex *attributes);
int library_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attributes,
		       size_t size);
/* The calls of struct ibv_qp_ex, of those operations that `operations` (enum ibv_qp_create_send_ops_flags) has. */
int library_extended_ops(struct library_qp *qp, __u64 operations);
void library_extended_free(struct library_qp *qp);

#endif
