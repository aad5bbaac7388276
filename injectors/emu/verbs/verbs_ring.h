/* SPDX-License-Identifier: GPL-2.0 */
/* The guest's half of the command ring (verbs_layout.h): 64-byte commands in guest memory, registers beside it. */
#ifndef FAULTLINE_VERBS_RING_H
#define FAULTLINE_VERBS_RING_H

#include <pthread.h>
#include <stdbool.h>

#include "injectors/emu/verbs/verbs_registers.h"

struct verbs_command_ring {
	struct verbs_registers *registers;
	struct verbs_command *commands;
	pthread_mutex_t lock;
	pthread_cond_t freed; /* an entry of the ring */
	__u64 next;	      /* command */
	bool busy[VERBS_COMMANDS];
	/* Whether who answers has ended without a word; asked as long as an answer is missing. NULL: it does not. */
	bool (*lost)(void *argument);
	void *argument;
};

void verbs_ring_init(struct verbs_command_ring *ring, struct verbs_registers *registers,
		     void *commands);
void verbs_ring_destroy(struct verbs_command_ring *ring);
/* -EPIPE; -EIO: the ring was broken by its guest; else the answer's. Any thread. */
int verbs_ring_command(struct verbs_command_ring *ring, struct verbs_command *command);

#endif
