// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs/verbs_ring.h"

#include <errno.h>

#include "lib/base/clock.h"

#define LOOK_NS (200 * NSEC_PER_MSEC) /* between two looks at whether the other side is there */

void verbs_ring_init(struct verbs_command_ring *ring, struct verbs_registers *registers,
		     void *commands)
{
	*ring = (struct verbs_command_ring){
		.registers = registers,
		.commands = commands,
		.next = atomic_load(&registers->written),
	};
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->freed, NULL);
}

void verbs_ring_destroy(struct verbs_command_ring *ring)
{
	pthread_cond_destroy(&ring->freed);
	pthread_mutex_destroy(&ring->lock);
}

/* Writes a command into the ring and rings. Returns its index. */
static __u64 command_send(struct verbs_command_ring *ring, const struct verbs_command *command)
{
	struct verbs_command *entry;
	__u64 index;

	pthread_mutex_lock(&ring->lock);
	while (ring->busy[ring->next % VERBS_COMMANDS])
		pthread_cond_wait(&ring->freed, &ring->lock);
	index = ring->next++;
	ring->busy[index % VERBS_COMMANDS] = true;
	entry = &ring->commands[index % VERBS_COMMANDS];
	*entry = *command;
	entry->error = -EINPROGRESS;
	atomic_store_explicit(&ring->registers->written, ring->next, memory_order_release);
	pthread_mutex_unlock(&ring->lock);
	doorbell_ring_shared(&ring->registers->commands);
	return index;
}

static int command_await(struct verbs_command_ring *ring, __u64 index)
{
	struct verbs_registers *registers = ring->registers;

	for (;;) {
		__u32 seen = __atomic_load_n(&registers->interrupts, __ATOMIC_SEQ_CST);

		if (atomic_load_explicit(&registers->answered, memory_order_acquire) > index)
			return 0;
		if (atomic_load(&registers->stopping))
			return -EPIPE;
		if (!verbs_interrupt_wait(registers, seen, ring->lost ? LOOK_NS : 0) &&
		    ring->lost(ring->argument))
			return -EPIPE;
	}
}

/* What has been waited for, or given up, leaves its place to the next. */
static void command_over(struct verbs_command_ring *ring, __u64 index)
{
	pthread_mutex_lock(&ring->lock);
	ring->busy[index % VERBS_COMMANDS] = false;
	pthread_cond_broadcast(&ring->freed);
	pthread_mutex_unlock(&ring->lock);
}

int verbs_ring_command(struct verbs_command_ring *ring, struct verbs_command *command)
{
	__u64 index;
	int error;

	if (atomic_load(&ring->registers->stopping))
		return -EPIPE;
	index = command_send(ring, command);
	error = command_await(ring, index);
	if (!error) {
		*command = ring->commands[index % VERBS_COMMANDS];
		error = command->error == -EINPROGRESS ? -EIO : command->error;
	}
	command_over(ring, index);
	return error;
}
