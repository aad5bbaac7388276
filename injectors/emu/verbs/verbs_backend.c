// SPDX-License-Identifier: GPL-2.0
/* The backend's thread: the command ring and the life of a device's control path. */
#include "injectors/emu/verbs/verbs_backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/device.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_backend_objects.h"
#include "lib/base/fail.h"

#define LOOK_AGAIN_NS (50 * NSEC_PER_MSEC)

void backend_count(struct verbs_backend *backend, __u16 kind, int error, __u64 took_ns)
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

static void backend_stepped(const struct verbs_backend *backend, enum verbs_ring_step step,
			    const struct verbs_command *command, __u64 index)
{
	const struct verbs_host_ops *ops = backend->config.host_ops;

	if (ops && ops->stepped)
		ops->stepped(backend->config.host, step, command, (__u32)index + 1);
}

/* Copies a command out of the ring, carries it out, writes its answer in its place. False: it cannot be read. */
static bool backend_answer(struct verbs_backend *backend, __u64 index,
			   struct verbs_command *command)
{
	const struct verbs_backend_config *config = &backend->config;
	__u64 iova = config->channel->data_address + backend->iova_offset +
		     index % VERBS_COMMANDS * sizeof(struct verbs_command);
	__u64 start_ns = monotonic_ns();
	__u32 pasid = config->channel->config.pasid;
	__u16 kind;

	if (port_dma_read(config->port, 0, pasid, iova, command, sizeof(*command)))
		return false;
	kind = command->kind;
	backend_stepped(backend, VERBS_RING_TAKEN, command, index);
	command->error = backend_command(backend, command);
	backend_stepped(backend, VERBS_RING_CARRIED_OUT, command, index);
	(void)port_dma_write(config->port, 0, pasid, iova, command, sizeof(*command));
	backend_count(backend, kind, command->error, monotonic_ns() - start_ns);
	return true;
}

static bool backend_stops(const struct verbs_backend *backend)
{
	return atomic_load(&backend->stopping) || atomic_load(&backend->registers->stopping);
}

/* Answers what has been written until now. */
static void backend_serve(struct verbs_backend *backend)
{
	struct verbs_registers *registers = backend->registers;
	__u64 written = atomic_load_explicit(&registers->written, memory_order_acquire);

	if (written - backend->answered > VERBS_COMMANDS) {
		pthread_mutex_lock(&backend->lock);
		backend->stats.broken++;
		pthread_mutex_unlock(&backend->lock);
		backend->answered = written;
		atomic_store_explicit(&registers->answered, written, memory_order_release);
		verbs_interrupt(registers);
	}
	while (backend->answered != written && !backend_stops(backend)) {
		__u64 index = backend->answered++;
		struct verbs_command command;
		bool was = backend_answer(backend, index, &command);

		atomic_store_explicit(&registers->answered, backend->answered,
				      memory_order_release);
		verbs_interrupt(registers);
		if (was)
			backend_stepped(backend, VERBS_RING_ANSWERED, &command, index);
	}
}

/* Another process may take back that it was rung: then we look again after a while. */
static __u64 look_again_ns(const struct verbs_backend *backend)
{
	return backend->registers != &backend->own_registers ? monotonic_ns() + LOOK_AGAIN_NS : 0;
}

static void *backend_main(void *argument)
{
	struct verbs_backend *backend = argument;
	struct doorbell *bell = &backend->registers->commands;

	thread_short_slices();
	while (!backend_stops(backend)) {
		__u32 seen = doorbell_count(bell);

		backend_serve(backend);
		if (!backend_stops(backend))
			doorbell_wait_shared(bell, seen, look_again_ns(backend));
	}
	return NULL;
}

/* The ring is control's, no object: no quota, no kernel pin. In mode passthrough it is pinned with all the rest. */
static int ring_pin(struct verbs_backend *backend)
{
	const struct verbs_backend_config *config = &backend->config;
	const struct verbs_memory ring = {.address = config->channel->data_address,
					  .bytes = PAGE_BYTES};
	int error;

	if (config->host_ops && !config->host_ops->pin)
		return 0;
	error = backend_machine_pin(config->machine, config->index, &ring, true);
	if (error)
		return error;
	backend->ring_pinned = true;
	if (config->ops->pinned)
		config->ops->pinned(config->device, PAGE_BYTES);
	backend->stats.pinned += PAGE_BYTES;
	return 0;
}

static void ring_unpin(struct verbs_backend *backend)
{
	const struct verbs_backend_config *config = &backend->config;

	if (!backend->ring_pinned)
		return;
	backend->ring_pinned = false;
	(void)machine_unpin(config->machine, config->index, config->channel->data_address,
			    PAGE_BYTES);
	if (config->ops->pinned)
		config->ops->pinned(config->device, -(__s64)PAGE_BYTES);
	pthread_mutex_lock(&backend->lock);
	backend->stats.pinned -= PAGE_BYTES;
	pthread_mutex_unlock(&backend->lock);
}

int backend_ring_start(struct verbs_backend *backend)
{
	int error = ring_pin(backend);

	if (error)
		return error;
	atomic_store(&backend->stopping, false);
	backend->answered = 0;
	error = thread_start(&backend->thread, NULL, backend_main, backend, "verbs-%s",
			     backend->config.name);
	backend->running = !error;
	return error;
}

void backend_ring_stop(struct verbs_backend *backend)
{
	if (backend->running) {
		atomic_store(&backend->stopping, true);
		doorbell_wake_shared(&backend->registers->commands);
		pthread_join(backend->thread, NULL);
		backend->running = false;
	}
}

static int backend_tables(struct verbs_backend *backend)
{
	backend->regions = calloc(VERBS_REGIONS_MAX, sizeof(*backend->regions));
	backend->domains = calloc(BACKEND_DOMAINS, sizeof(*backend->domains));
	if (!backend->regions || !backend->domains)
		return failed(-ENOMEM, "no memory for the regions of %s", backend->config.name);
	backend->domains[0].used = true;
	return 0;
}

int backend_make(struct verbs_backend **backend, const struct verbs_backend_config *config)
{
	const struct channel_config *channel = &config->channel->config;
	struct verbs_backend *new = aligned_alloc(64, (sizeof(*new) + 63) & ~63ul);
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for the commands of %s", config->name);
	*new = (struct verbs_backend){.config = *config, .iova_offset = channel->iova_offset};
	new->share.address = config->channel->data_address +
			     (config->control_bytes ? config->control_bytes : PAGE_BYTES);
	new->share.bytes = channel->guest_address + channel->bytes - new->share.address;
	verbs_registers_init(&new->own_registers);
	new->registers = config->registers ? config->registers : &new->own_registers;
	pthread_mutex_init(&new->lock, NULL);
	error = backend_tables(new);
	if (error)
		verbs_backend_destroy(new);
	else
		*backend = new;
	return error;
}

int verbs_backend_create(struct verbs_backend **backend, const struct verbs_backend_config *config)
{
	struct verbs_backend *new;
	int error = backend_make(&new, config);

	if (!error) {
		error = backend_ring_start(new);
		if (error)
			verbs_backend_destroy(new);
	}
	/* Who starts the device says which it is. */
	if (!error)
		*backend = new;
	return error;
}

void verbs_backend_stop(struct verbs_backend *backend)
{
	/* The descriptors that it tells are those of its own. */
	verbs_registers_stop(&backend->own_registers);
	if (backend->registers != &backend->own_registers) {
		atomic_store(&backend->registers->stopping, true);
		verbs_interrupt(backend->registers);
	}
	backend_ring_stop(backend);
	if (backend->regions && backend->domains)
		backend_destroy_all(backend);
	backend_close_spares(backend);
	ring_unpin(backend);
}

void verbs_backend_destroy(struct verbs_backend *backend)
{
	if (!backend)
		return;
	verbs_backend_stop(backend);
	pthread_mutex_destroy(&backend->lock);
	free(backend->domains);
	free(backend->regions);
	free(backend);
}

struct verbs_registers *verbs_backend_registers(struct verbs_backend *backend)
{
	return backend->registers;
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
