/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's half of the virtqueue (hyv_layout.h). Each word of the guest's is read once, into a copy that is then checked: indices,
 * lengths, addresses, and the chain's length, which a loop exceeds. What the host has counted itself it never reads back.
 */
#ifndef FAULTLINE_HYV_VIRTQUEUE_HOST_H
#define FAULTLINE_HYV_VIRTQUEUE_HOST_H

#include <stdbool.h>

#include "injectors/emu/hyv/virtqueue.h"

struct virtqueue_host {
	unsigned char *area; /* HYV_CONTROL_BYTES, the virtqueue first */
	__u64 guest_address; /* of it */
	__u16 taken, used;   /* chains */
};

struct virtqueue_chain {
	struct verbs_request request;
	__u64 *list; /* room for the entries of HYV_CONTROL_BYTES */
	__u32 listed;
	__u16 head;
	int error; /* its parts do not fit together: the answer it gets; 0: they do */
	unsigned char *answer;
};

void virtqueue_host_init(struct virtqueue_host *queue, void *area, __u64 guest_address);
/* 1: the next chain; 0: there is none; -EPROTO with a sentence: it makes no sense, and nothing of this queue will. */
int virtqueue_host_take(struct virtqueue_host *queue, struct virtqueue_chain *chain);
/* Answers it. True: the guest wants to be told. */
bool virtqueue_host_answer(struct virtqueue_host *queue, const struct virtqueue_chain *chain,
			   const struct verbs_answer *answer);

#endif
