/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's side of the handover from the inside.
 *
 *	handover.c		life, state and who asks for it
 *	handover_serve.c	the thread: the socket, its messages, the end of QEMU
 *	handover_message.c	one message, whole and as it should be, or none
 *	handover_peer.c		who is at the other end
 */
#ifndef FAULTLINE_EMU_VM_HANDOVER_PRIVATE_H
#define FAULTLINE_EMU_VM_HANDOVER_PRIVATE_H

#include <pthread.h>

#include "bpf/page.h"
#include "injectors/emu/memory.h"
#include "injectors/emu/vm/handover.h"
#include "injectors/vm/handover.h"

#define VM_REGIONS_MAX 64

struct memory_view;

/* What one mapping of QEMU's has of the memory; written by the thread, with the lock. */
struct vm_mapped {
	__u64 base, bytes, start;
	struct memory_view *view;
};

struct vm_handover {
	struct vm_handover_config config;
	char socket[128];
	__u64 bytes; /* of the memory */
	int listening, stop, changed;
	int connection, process; /* of the one QEMU, its pidfd; -1: none */
	int second;		 /* one that is to be refused; -1 */
	pthread_t thread;
	bool running;

	/* The thread's own. */
	__u64 taken; /* bytes of the memory that were offered and served */
	__u64 asked; /* bytes of the offer that is open; 0: none */
	bool stray;  /* one who is no QEMU has been told of */

	pthread_mutex_t lock;
	pthread_cond_t turned;
	struct vm_status status;
	struct vm_mapped mapped[VM_REGIONS_MAX]; /* status.regions of them */
};

/* handover_serve.c */
void *vm_handover_main(void *handover);
/* handover.c: a new state, with a sentence or "". */
void vm_handover_turn(struct vm_handover *handover, enum vm_state state, const char *sentence);

/* handover_message.c */

union vm_message {
	struct vm_message_header header;
	struct vm_ask ask;
	struct vm_region region;
	struct vm_answer answer;
};
/*
 * One that is of a kind that QEMU sends, whole, and has a descriptor if its kind has one, else -1. 0; -EAGAIN: none is there;
 * -EPIPE: the other end has gone; -EPROTO with a sentence, and no descriptor is left open.
 */
int vm_message_receive(int socket, union vm_message *message, int *descriptor);
/* `descriptor` -1: none. The sentence is that of the last failure if there is an error. -EPIPE. */
int vm_message_answer(int socket, enum vm_message_kind kind, int error, __u64 offset,
		      int descriptor);

/* handover_peer.c */

/* Who is connected: its process, and what its arguments say. -EINVAL, -ESRCH with a sentence: it is refused. `*process`: a pidfd. */
int vm_peer_look(int socket, struct vm_status *status, int *process);

#endif
