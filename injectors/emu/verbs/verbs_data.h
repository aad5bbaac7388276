/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's side of data: post and poll are loads and stores of guest memory. No command, no system call, no lock that control
 * takes. One thread at a time for a queue pair's send queue, one for its receive queue, one for a completion queue.
 *
 * A place in a send or receive queue is free again once a completion of its entry, or of a later one of that queue, was polled:
 * who sends without VERBS_SEND_SIGNALED has to signal at least one of a queue's depth. Poll what a pair has completed
 * before it is destroyed: what is left in the completion queue then still comes.
 */
#ifndef FAULTLINE_VERBS_DATA_H
#define FAULTLINE_VERBS_DATA_H

#include "injectors/emu/verbs/verbs_control.h"

/* -ENOMEM: the queue is full (as ibv_post_send()); -EINVAL: more than VERBS_SGE_MAX pieces. */
int verbs_post_send(struct verbs_pair *pair, const struct verbs_send *send);
/* Entries that the send queue has room for now. */
__u32 verbs_send_room(const struct verbs_pair *pair);
int verbs_post_recv(struct verbs_pair *pair, const struct verbs_receive *receive);
/* Returns how many it took, up to `count`. */
int verbs_poll_cq(struct verbs_queue *queue, int count, struct verbs_completion *completions);
/* Waits until there is one that has not been polled; one eventfd. deadline: CLOCK_MONOTONIC, 0: never. -ETIMEDOUT, -EPIPE (the
 * device has stopped, and there is none). */
int verbs_wait_cq(struct verbs_queue *queue, __u64 deadline_ns);
/* Into a shared receive queue; as verbs_post_recv(). Any pair of it takes it. */
int verbs_post_srq_recv(struct verbs_srq *srq, const struct verbs_receive *receive);
/* Wants one event by its channel for the next completion (ibv_req_notify_cq). Those that have come by then raise none: poll once
 * more between this and the wait. */
void verbs_arm_cq(struct verbs_queue *queue);
/* Waits for an event of a channel's queues (ibv_get_cq_event): the one path of data that needs the host. As verbs_wait_cq(). */
int verbs_get_cq_event(struct verbs_channel *channel, struct verbs_queue **queue,
		       __u64 deadline_ns);

#endif
