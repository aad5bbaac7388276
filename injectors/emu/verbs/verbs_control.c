// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs/verbs_control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/verbs/verbs_backend.h"
#include "injectors/emu/verbs/verbs_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* Writes a command into the ring and rings. Returns its index. */
static __u64 command_send(struct verbs_device *device, const struct verbs_command *command)
{
	struct verbs_command *entry;
	__u64 index;

	pthread_mutex_lock(&device->lock);
	while (device->busy[device->next % VERBS_COMMANDS])
		pthread_cond_wait(&device->freed, &device->lock);
	index = device->next++;
	device->busy[index % VERBS_COMMANDS] = true;
	entry = &device->commands[index % VERBS_COMMANDS];
	*entry = *command;
	entry->error = -EINPROGRESS;
	atomic_store_explicit(&device->registers->written, device->next, memory_order_release);
	pthread_mutex_unlock(&device->lock);
	doorbell_ring(&device->registers->commands);
	return index;
}

static int command_await(struct verbs_registers *registers, __u64 index)
{
	for (;;) {
		__u32 seen = __atomic_load_n(&registers->interrupts, __ATOMIC_SEQ_CST);

		if (atomic_load_explicit(&registers->answered, memory_order_acquire) > index)
			return 0;
		if (atomic_load(&registers->stopping))
			return -EPIPE;
		verbs_interrupt_wait(registers, seen);
	}
}

/* What has been waited for, or given up, leaves its place to the next. */
static void command_over(struct verbs_device *device, __u64 index, __u16 kind, int error,
			 __u64 time_ns)
{
	struct verbs_control_stats *stats = &device->stats[kind];

	pthread_mutex_lock(&device->lock);
	device->busy[index % VERBS_COMMANDS] = false;
	stats->commands++;
	stats->refused += error < 0;
	stats->time_ns += time_ns;
	pthread_cond_broadcast(&device->freed);
	pthread_mutex_unlock(&device->lock);
}

/* The guest has but a number; who reads the run's messages wants to know why, of a pin with its numbers. */
static int command_refused(const struct verbs_device *device, __u16 kind, int error)
{
	char why[256] = "";

	if (!error || error == -EPIPE || !device->backend)
		return error;
	if (error == -ENOMEM)
		verbs_backend_refusal(device->backend, why, sizeof(why));
	return *why ? failed(error, "%s", why)
		    : failed(error, "command %u of an RDMA device: %s", kind, strerror(-error));
}

static int command_do(struct verbs_device *device, struct verbs_command *command)
{
	__u64 start_ns = monotonic_ns(), index;
	__u16 kind = command->kind;
	int error;

	if (atomic_load(&device->registers->stopping))
		return -EPIPE;
	index = command_send(device, command);
	error = command_await(device->registers, index);
	if (!error) {
		*command = device->commands[index % VERBS_COMMANDS];
		error = command->error == -EINPROGRESS ? -EIO : command->error;
	}
	command_over(device, index, kind, error, monotonic_ns() - start_ns);
	return command_refused(device, kind, error);
}

void verbs_memory(const struct verbs_device *device, __u64 *guest_address, __u64 *bytes,
		  __u64 *iova_offset)
{
	const struct channel_config *config = &device->channel->config;

	*guest_address = device->channel->data_address + PAGE_BYTES;
	*bytes = config->guest_address + config->bytes - *guest_address;
	*iova_offset = config->iova_offset;
}

/* As the guest's CPU sees it; NULL: it is not the guest's to use, which the backend will say. */
static void *own_memory(const struct verbs_device *device, __u64 guest_address, __u64 bytes)
{
	__u64 start, size, offset;

	verbs_memory(device, &start, &size, &offset);
	if (guest_address % PAGE_BYTES || guest_address < start || bytes > size ||
	    guest_address - start > size - bytes)
		return NULL;
	return guest_memory_cpu(device->memory, guest_address);
}

int verbs_attach(struct verbs_device **device, struct verbs_registers *registers,
		 const struct channel *channel, struct guest_memory *memory)
{
	struct verbs_command open = {.kind = VERBS_OPEN};
	struct verbs_device *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for the guest's side of an RDMA device");
	new->registers = registers;
	new->channel = channel;
	new->memory = memory;
	new->commands = guest_memory_cpu(memory, channel->data_address);
	new->next = atomic_load(&registers->written);
	pthread_mutex_init(&new->lock, NULL);
	pthread_cond_init(&new->freed, NULL);
	error = command_do(new, &open);
	if (error)
		verbs_close(new);
	else
		*device = new;
	return error ? failed(error, "the RDMA device does not open: %s", strerror(-error)) : 0;
}

static void queue_forget(struct verbs_queue *queue)
{
	struct verbs_device *device = queue->device;
	struct verbs_queue **link = &device->queues;

	pthread_mutex_lock(&device->lock);
	while (*link && *link != queue)
		link = &(*link)->next;
	if (*link)
		*link = queue->next;
	pthread_mutex_unlock(&device->lock);
	if (queue->eventfd >= 0)
		close(queue->eventfd);
	free(queue);
}

void verbs_shutdown(struct verbs_device *device)
{
	verbs_registers_stop(device->registers);
}

void verbs_close(struct verbs_device *device)
{
	struct verbs_queue *queue;

	if (!device)
		return;
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++)
		if (atomic_load(&device->pairs[i].live))
			(void)verbs_destroy_qp(&device->pairs[i]);
	while ((queue = device->queues)) {
		struct verbs_command destroy = {.kind = VERBS_DESTROY_CQ,
						.argument = {queue->number}};

		(void)command_do(device, &destroy);
		queue_forget(queue);
	}
	pthread_cond_destroy(&device->freed);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

int verbs_query_device(struct verbs_device *device, struct verbs_limits *limits)
{
	struct verbs_command query = {.kind = VERBS_QUERY_DEVICE};
	int error = command_do(device, &query);

	if (!error)
		*limits = verbs_unpack_limits(query.result);
	return error;
}

int verbs_reg_mr(struct verbs_device *device, struct verbs_mr *mr, __u64 guest_address, __u64 bytes,
		 enum verbs_region kind, unsigned int rights)
{
	struct verbs_command command = {
		.kind = VERBS_REGISTER,
		.argument = {guest_address, bytes, kind, rights},
	};
	__u64 start, size, offset;
	int error = command_do(device, &command);

	if (error)
		return error;
	verbs_memory(device, &start, &size, &offset);
	*mr = (struct verbs_mr){
		.key = (__u32)command.result[0],
		.address = (kind == VERBS_IMPLICIT ? start : guest_address) + offset,
		.bytes = kind == VERBS_IMPLICIT ? size : bytes,
		.kind = kind,
	};
	return 0;
}

int verbs_dereg_mr(struct verbs_device *device, const struct verbs_mr *mr)
{
	struct verbs_command command = {.kind = VERBS_DEREGISTER, .argument = {mr->key}};

	return command_do(device, &command);
}

int verbs_advise_mr(struct verbs_device *device, const struct verbs_mr *mr, __u64 guest_address,
		    __u64 bytes, bool write)
{
	struct verbs_command command = {
		.kind = VERBS_ADVISE,
		.argument = {mr->key, guest_address, bytes, write},
	};

	return command_do(device, &command);
}

static int queue_known(struct verbs_queue *queue, __u32 number)
{
	struct verbs_device *device = queue->device;
	int descriptor = atomic_load(&device->registers->eventfd[number % VERBS_QUEUES_MAX]);

	queue->number = number;
	queue->eventfd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	if (queue->eventfd < 0)
		return -errno;
	pthread_mutex_lock(&device->lock);
	queue->next = device->queues;
	device->queues = queue;
	pthread_mutex_unlock(&device->lock);
	return 0;
}

int verbs_create_cq(struct verbs_device *device, struct verbs_queue **queue, __u64 guest_address,
		    __u32 depth)
{
	struct verbs_command command = {.kind = VERBS_CREATE_CQ,
					.argument = {guest_address, depth}};
	struct verbs_queue *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	*new = (struct verbs_queue){.device = device, .depth = depth, .eventfd = -1};
	new->words = own_memory(device, guest_address, verbs_completion_bytes(depth));
	if (new->words) {
		memset(new->words, 0, verbs_completion_bytes(depth));
		new->words->armed = VERBS_UNARMED;
		new->entries = (void *)(new->words + 1);
	}
	error = command_do(device, &command);
	if (error) {
		free(new);
		return error;
	}
	error = queue_known(new, (__u32)command.result[0]);
	if (error)
		(void)verbs_destroy_cq(new);
	else
		*queue = new;
	return error;
}

int verbs_destroy_cq(struct verbs_queue *queue)
{
	struct verbs_command command = {.kind = VERBS_DESTROY_CQ, .argument = {queue->number}};
	int error = command_do(queue->device, &command);

	/* A device that has stopped has none any more. */
	if (error && error != -EPIPE)
		return error;
	queue_forget(queue);
	return error;
}

static void ring_begin(struct verbs_ring *ring, void *entries, __u64 *word, __u32 depth)
{
	ring->entries = entries;
	ring->word = word;
	ring->depth = depth;
	atomic_store(&ring->posted, 0);
	atomic_store(&ring->freed, 0);
}

int verbs_create_qp(struct verbs_device *device, struct verbs_pair **pair,
		    const struct verbs_pair_attributes *attributes)
{
	struct verbs_command command = {
		.kind = VERBS_CREATE_QP,
		.argument = {attributes->guest_address, attributes->send_depth,
			     attributes->receive_depth, attributes->send_queue->number,
			     attributes->receive_queue->number},
	};
	__u64 bytes = verbs_pair_bytes(attributes->send_depth, attributes->receive_depth);
	struct verbs_pair_words *words = own_memory(device, attributes->guest_address, bytes);
	struct verbs_send *sends;
	struct verbs_pair *new;
	int error;

	if (words)
		memset(words, 0, bytes);
	error = command_do(device, &command);
	if (error)
		return error;
	new = &device->pairs[command.result[0] % VERBS_QUEUE_PAIRS_MAX];
	sends = (void *)(words + 1);
	new->device = device;
	new->send_queue = attributes->send_queue;
	new->receive_queue = attributes->receive_queue;
	ring_begin(&new->send, sends, &words->sent, attributes->send_depth);
	ring_begin(&new->receive, sends + attributes->send_depth, &words->received,
		   attributes->receive_depth);
	atomic_store(&new->number, (__u32)command.result[0]);
	atomic_store_explicit(&new->live, true, memory_order_release);
	*pair = new;
	return 0;
}

int verbs_destroy_qp(struct verbs_pair *pair)
{
	struct verbs_command command = {.kind = VERBS_DESTROY_QP,
					.argument = {verbs_pair_number(pair)}};
	int error;

	/* Before another can have its place. */
	atomic_store(&pair->live, false);
	error = command_do(pair->device, &command);
	if (error && error != -EPIPE)
		atomic_store(&pair->live, true);
	return error;
}

__u32 verbs_pair_number(const struct verbs_pair *pair)
{
	return atomic_load_explicit(&pair->number, memory_order_relaxed);
}

int verbs_modify_qp(struct verbs_pair *pair, enum verbs_pair_state state, __u32 peer, bool loopback)
{
	struct verbs_command command = {
		.kind = VERBS_MODIFY_QP,
		.argument = {verbs_pair_number(pair), state, peer, loopback ? VERBS_LOOPBACK : 0},
	};

	return command_do(pair->device, &command);
}

int verbs_query_qp(struct verbs_pair *pair, enum verbs_pair_state *state)
{
	struct verbs_command command = {.kind = VERBS_QUERY_QP,
					.argument = {verbs_pair_number(pair)}};
	int error = command_do(pair->device, &command);

	if (!error)
		*state = (enum verbs_pair_state)command.result[0];
	return error;
}

void verbs_control_stats(struct verbs_device *device,
			 struct verbs_control_stats stats[VERBS_COMMAND_KINDS])
{
	pthread_mutex_lock(&device->lock);
	memcpy(stats, device->stats, sizeof(device->stats));
	pthread_mutex_unlock(&device->lock);
}
