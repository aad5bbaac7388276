// SPDX-License-Identifier: GPL-2.0
/* The backend's thread: the command ring and the life of a device's control path. */
#include "injectors/emu/verbs/verbs_backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/device.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_backend_private.h"
#include "lib/base/fail.h"

static void count_command(struct verbs_backend *backend, __u16 kind, int error, __u64 took_ns)
{
	struct verbs_command_stats *stats =
		&backend->stats.kind[kind < VERBS_COMMAND_KINDS ? kind : 0];

	pthread_mutex_lock(&backend->lock);
	stats->commands++;
	stats->refused += error < 0;
	stats->time_ns += took_ns;
	if (took_ns > stats->longest_ns)
		stats->longest_ns = took_ns;
	pthread_mutex_unlock(&backend->lock);
	if (backend->config.ops->commanded && kind && kind < VERBS_COMMAND_KINDS)
		backend->config.ops->commanded(backend->config.device,
					       (enum verbs_command_kind)kind, error, took_ns);
}

/* Copies a command out of the ring, carries it out, writes its answer in its place. */
static void backend_answer(struct verbs_backend *backend, __u64 index)
{
	const struct verbs_backend_config *config = &backend->config;
	__u64 iova = config->channel->data_address + backend->iova_offset +
		     index % VERBS_COMMANDS * sizeof(struct verbs_command);
	__u64 start_ns = monotonic_ns();
	__u32 pasid = config->channel->config.pasid;
	struct verbs_command command;
	__u16 kind;

	if (port_dma_read(config->port, 0, pasid, iova, &command, sizeof(command)))
		return;
	kind = command.kind;
	command.error = backend_command(backend, &command);
	(void)port_dma_write(config->port, 0, pasid, iova, &command, sizeof(command));
	count_command(backend, kind, command.error, monotonic_ns() - start_ns);
}

/* Answers what has been written until now. */
static void backend_serve(struct verbs_backend *backend)
{
	struct verbs_registers *registers = &backend->registers;
	__u64 written = atomic_load_explicit(&registers->written, memory_order_acquire);

	if (written - backend->answered > VERBS_COMMANDS) {
		pthread_mutex_lock(&backend->lock);
		backend->stats.broken++;
		pthread_mutex_unlock(&backend->lock);
		backend->answered = written;
		atomic_store_explicit(&registers->answered, written, memory_order_release);
		verbs_interrupt(registers);
	}
	while (backend->answered != written && !atomic_load(&registers->stopping)) {
		backend_answer(backend, backend->answered++);
		atomic_store_explicit(&registers->answered, backend->answered,
				      memory_order_release);
		verbs_interrupt(registers);
	}
}

static void *backend_main(void *argument)
{
	struct verbs_backend *backend = argument;
	struct doorbell *bell = &backend->registers.commands;

	while (!atomic_load(&backend->registers.stopping)) {
		__u32 seen = doorbell_count(bell);

		backend_serve(backend);
		if (!atomic_load(&backend->registers.stopping))
			doorbell_wait(bell, seen, 0);
	}
	return NULL;
}

static int backend_begin(struct verbs_backend *backend)
{
	const struct verbs_backend_config *config = &backend->config;
	int error = backend_pin(backend, config->channel->data_address, PAGE_BYTES, true);

	if (error)
		return error;
	backend->ring_pinned = true;
	error = thread_start(&backend->thread, NULL, backend_main, backend, "verbs-%s",
			     config->name);
	backend->running = !error;
	return error;
}

int verbs_backend_create(struct verbs_backend **backend, const struct verbs_backend_config *config)
{
	const struct channel_config *channel = &config->channel->config;
	struct verbs_backend *new = aligned_alloc(64, (sizeof(*new) + 63) & ~63ul);
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for the commands of %s", config->name);
	*new = (struct verbs_backend){.config = *config, .iova_offset = channel->iova_offset};
	new->share.address = config->channel->data_address + PAGE_BYTES;
	new->share.bytes = channel->guest_address + channel->bytes - new->share.address;
	verbs_registers_init(&new->registers);
	pthread_mutex_init(&new->lock, NULL);
	new->regions = calloc(VERBS_REGIONS_MAX, sizeof(*new->regions));
	error = new->regions ? backend_begin(new)
			     : failed(-ENOMEM, "no memory for the regions of %s", config->name);
	if (error) {
		verbs_backend_destroy(new);
		return failed_in(error, "device %s", config->name);
	}
	*backend = new;
	return 0;
}

void verbs_backend_stop(struct verbs_backend *backend)
{
	verbs_registers_stop(&backend->registers);
	if (backend->running) {
		doorbell_ring(&backend->registers.commands);
		pthread_join(backend->thread, NULL);
		backend->running = false;
	}
	if (backend->regions)
		backend_destroy_all(backend);
	if (backend->ring_pinned)
		backend_unpin(backend, backend->config.channel->data_address, PAGE_BYTES);
	backend->ring_pinned = false;
}

void verbs_backend_destroy(struct verbs_backend *backend)
{
	if (!backend)
		return;
	verbs_backend_stop(backend);
	pthread_mutex_destroy(&backend->lock);
	free(backend->regions);
	free(backend);
}

struct verbs_registers *verbs_backend_registers(struct verbs_backend *backend)
{
	return &backend->registers;
}

void verbs_backend_stats(struct verbs_backend *backend, struct verbs_backend_stats *stats)
{
	pthread_mutex_lock(&backend->lock);
	*stats = backend->stats;
	pthread_mutex_unlock(&backend->lock);
}

void verbs_backend_refusal(struct verbs_backend *backend, char *text, size_t size)
{
	pthread_mutex_lock(&backend->lock);
	snprintf(text, size, "%s", backend->refusal);
	pthread_mutex_unlock(&backend->lock);
}
