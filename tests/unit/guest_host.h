/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host for guests of their own process: memory, resource file, eventfds, and a thread that says hello and answers what comes by the
 * virtqueue or the mailbox. It has no device: objects are numbers.
 */
#ifndef FAULTLINE_TEST_GUEST_HOST_H
#define FAULTLINE_TEST_GUEST_HOST_H

#include <pthread.h>

#include "injectors/emu/hyv/virtqueue.h"
#include "injectors/emu/verbs/verbs_layout.h"

#define GUEST_HOST_MEMORY  (16u << 20)
#define GUEST_HOST_SHARE   (1u << 20) /* guest address of the device's share: the rest of memory */
#define GUEST_HOST_IOVA	   0x10000000ull
#define GUEST_HOST_HISTORY 4096

struct guest_host {
	struct hyv_hello hello; /* to be changed before guest_host_start() */
	int memory, resources, kick, inject, event, alarm, socket, guest_socket;
	int faults; /* the guest's, once it has said hello; -1 */
	unsigned char *base;
	struct hyv_shared *shared;
	struct hyv_hello_answer answer;
	pthread_t thread;
	_Atomic bool stop;
	/* By the thread. */
	_Atomic __u32 requests;
	struct verbs_request history[GUEST_HOST_HISTORY];
	__u64 list[GUEST_HOST_HISTORY]; /* of the last request that had one */
	__u32 next_number;
	__u64 kicks_seen; /* what the eventfd has told */
	/* What it does otherwise than it should. */
	_Atomic int refuse_kind, refuse_error; /* commands of that kind */
	_Atomic __u32 deaf;		       /* kicks that are not heard */
	/* Called before a command of any kind is answered. */
	void (*before)(struct guest_host *host, const struct verbs_command *command);
};

void guest_host_init(struct guest_host *host, enum rdma_mode mode);
void guest_host_start(struct guest_host *host);
/* As if it had died: nothing is answered, the socket ends. */
void guest_host_die(struct guest_host *host);
void guest_host_destroy(struct guest_host *host);
/* The last request of a kind. */
const struct verbs_request *guest_host_last(const struct guest_host *host,
					    enum verbs_command_kind kind);
/* Puts a completion event and injects. */
void guest_host_event(struct guest_host *host, __u32 number);
/* Writes an entry of a completion queue in guest memory, as the device. */
void guest_host_complete(struct guest_host *host, __u64 queue, __u32 depth, __u64 index,
			 const struct verbs_completion *completion);

#endif
